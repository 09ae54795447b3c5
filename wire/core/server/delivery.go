package server

import (
	"sync"
	"sync/atomic"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/core"
)

// refSize is the size of a message from which its bytes are sent from where they lie instead of being copied.
const refSize = 16 << 10

// A sink writes the deliveries of one consumer.
type sink struct {
	ch     *channel
	stream atomic.Pointer[stream] // the large body on its way: nothing else may come before its end
}

// MarkDirty implements broker.Output.
func (s *sink) MarkDirty() bool { return s.ch.conn.Load().MarkDirty() }

// Flush implements broker.Output.
func (s *sink) Flush() { s.ch.conn.Load().Flush() }

// Plain implements broker.Sink.
func (s *sink) Plain() bool { c := s.ch.conn.Load(); return c.plain && !c.v().BeforeAddressChange() }

// QueueGone implements broker.Sink.
func (s *sink) QueueGone(k *broker.Consumer) {
	w := s.ch.s.b.NewWork()
	s.ch.stopStreams(k)
	s.ch.send(w, &core.DisconnectConsumer{ConsumerID: k.ID})
	w.Flush()
}

// Deliver implements broker.Sink.
func (s *sink) Deliver(k *broker.Consumer, m *message.Message, count int32) (int, broker.Outcome) {
	ch := s.ch
	if s.stream.Load() != nil {
		return 0, broker.Busy // its end makes the consumer ready
	}
	if m.Large() != nil {
		return s.deliverLarge(k, m, count)
	}
	block := m.Block()
	size := core.ReceiveFrameSize(len(block))
	c := ch.lock()
	defer ch.unlock()
	if c == nil {
		return 0, broker.Busy
	}
	if ch.confirms() && ch.confirmations.Full(size) {
		c.stall(k)
		return 0, broker.Busy
	}
	out := c.out
	out.Lock()
	defer out.Unlock()
	if out.Full() {
		c.stall(k)
		return 0, broker.Busy
	}
	switch {
	case ch.confirms() || c.v().BeforeAddressChange():
		frame, err := ch.receiveFrame(c, block, k.ID, count)
		if err != nil {
			ch.s.log.Error("cannot encode a message for an old client", "message", m.ID(), "error", err)
		}
		if ch.confirms() {
			ch.confirmations.Sent(frame)
		}
		out.Append(frame)
		size = len(frame)
	case len(block) >= refSize:
		p := out.Reserve(core.HeaderSize)
		core.AppendReceiveHeader(p[:0], ch.id, len(block))
		m.Retain()
		out.AppendRef(block, m)
		core.AppendReceiveTail(out.Reserve(size - core.HeaderSize - len(block))[:0], k.ID, count)
	default:
		p := core.AppendReceiveHeader(out.Reserve(size)[:0], ch.id, len(block))
		core.AppendReceiveTail(append(p, block...), k.ID, count)
	}
	return size, broker.Delivered
}

func (ch *channel) receiveFrame(c *conn, block []byte, consumer int64, count int32) ([]byte, error) {
	if c.v().BeforeAddressChange() {
		return core.AppendReceive1x(nil, ch.id, block, consumer, count)
	}
	frame := make([]byte, 0, core.ReceiveFrameSize(len(block)))
	frame = core.AppendReceiveHeader(frame, ch.id, len(block))
	return core.AppendReceiveTail(append(frame, block...), consumer, count), nil
}

// A stream sends the body of a large message in chunks, as credit and the output allow, on a goroutine of its own. It
// holds the message until the last chunk has been sent, whatever becomes of the reference meanwhile. While its channel is
// away it waits for the client to come back.
type stream struct {
	ch       *channel
	sink     *sink
	consumer *broker.Consumer
	m        *message.Message
	wake     chan struct{}
	done     chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	stopped bool
}

// deliverLarge sends the header frame and starts the stream.
func (s *sink) deliverLarge(k *broker.Consumer, m *message.Message, count int32) (int, broker.Outcome) {
	ch := s.ch
	c := ch.lock()
	if c == nil {
		ch.unlock()
		return 0, broker.Busy
	}
	p := core.ReceiveLarge{ConsumerID: k.ID, DeliveryCount: count, Size: m.Large().Size(), Headers: m.Headers()}
	frame := p.Append(nil, ch.id)
	c.out.Lock()
	if c.out.Full() || ch.confirms() && ch.confirmations.Full(len(frame)) {
		c.stall(k)
		c.out.Unlock()
		ch.unlock()
		return 0, broker.Busy
	}
	if ch.confirms() {
		ch.confirmations.Sent(frame)
	}
	c.out.Append(frame)
	c.out.Unlock()
	ch.unlock()
	m.Retain()
	st := &stream{ch: ch, sink: s, consumer: k, m: m, wake: make(chan struct{}, 1), done: make(chan struct{})}
	s.stream.Store(st)
	ch.streamMu.Lock()
	if ch.ended {
		st.stopped = true
	}
	if ch.streams == nil {
		ch.streams = map[*stream]bool{}
	}
	ch.streams[st] = true
	ch.streamMu.Unlock()
	ch.s.b.Go(st.run)
	return len(frame), broker.Streaming
}

// poke lets the stream look again whether it can go on.
func (st *stream) poke() {
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// stop ends the stream before its next chunk.
func (st *stream) stop() {
	st.mu.Lock()
	st.stopped = true
	st.mu.Unlock()
	st.poke()
}

func (st *stream) run() {
	defer close(st.done)
	body := st.m.Large()
	size := body.Size()
	var chunk *bodyChunk // read and not yet given to the output
	w := st.ch.s.b.NewWork()
	for off := int64(0); ; {
		if st.isStopped() {
			break
		}
		if st.consumer.Credit() <= 0 {
			<-st.wake
			continue
		}
		if chunk == nil {
			chunk = newChunk(int(min(size-off, int64(st.ch.minLarge))))
			if _, err := body.ReadAt(chunk.b, off); err != nil && len(chunk.b) > 0 {
				st.ch.s.log.Error("cannot read the body of a large message", "message", st.m.ID(), "error", err)
				st.ch.conn.Load().tc.Close(err)
				break
			}
		}
		n := int64(len(chunk.b))
		frame, outcome := st.send(chunk, off+n < size)
		if outcome == streamStopped {
			break
		}
		if outcome == streamFull {
			<-st.wake
			continue
		}
		off += n
		chunk = nil
		st.consumer.Spend(w, frame)
		w.Flush()
		st.ch.conn.Load().Flush()
		if off >= size {
			break
		}
	}
	if chunk != nil {
		chunk.Release()
	}
	st.ch.streamMu.Lock()
	delete(st.ch.streams, st)
	st.ch.streamMu.Unlock()
	st.m.Release()
	st.sink.stream.Store(nil)
	st.consumer.Ready(w)
	w.Flush()
}

func (st *stream) isStopped() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.stopped
}

type streamOutcome uint8

const (
	streamSent streamOutcome = iota
	streamFull
	streamStopped
)

// send appends one chunk.
func (st *stream) send(chunk *bodyChunk, more bool) (int, streamOutcome) {
	ch, p := st.ch, chunk.b
	size := core.ReceiveContinuationFrameSize(len(p))
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.stopped {
		return 0, streamStopped
	}
	c := ch.lock()
	defer ch.unlock()
	if c == nil {
		return 0, streamFull
	}
	c.out.Lock()
	defer c.out.Unlock()
	if c.out.Full() || ch.confirms() && ch.confirmations.Full(size) {
		return 0, streamFull
	}
	if len(p) >= refSize && !ch.confirms() {
		core.AppendReceiveContinuationHeader(c.out.Reserve(core.HeaderSize + 4)[:0], ch.id, len(p))
		c.out.AppendRef(p, chunk)
		core.AppendReceiveContinuationTail(c.out.Reserve(size - core.HeaderSize - 4 - len(p))[:0], more, st.consumer.ID)
		return size, streamSent
	}
	frame := core.AppendReceiveContinuationHeader(c.out.Reserve(size)[:0], ch.id, len(p))
	frame = core.AppendReceiveContinuationTail(append(frame, p...), more, st.consumer.ID)
	if ch.confirms() {
		ch.confirmations.Sent(frame)
	}
	chunk.Release()
	return size, streamSent
}

// A bodyChunk is memory for one chunk of a large body. The output releases it when it has been written.
type bodyChunk struct{ b []byte }

var chunks = sync.Pool{New: func() any { return new(bodyChunk) }}

func newChunk(n int) *bodyChunk {
	k := chunks.Get().(*bodyChunk)
	if cap(k.b) < n {
		k.b = make([]byte, n)
	}
	k.b = k.b[:n]
	return k
}

// Release implements transport.Releaser.
func (k *bodyChunk) Release() { chunks.Put(k) }

// pokeStreams lets the streams of the channel, or of one consumer, look again whether they can go on.
func (ch *channel) pokeStreams(k *broker.Consumer) {
	ch.streamMu.Lock()
	defer ch.streamMu.Unlock()
	for st := range ch.streams {
		if k == nil || st.consumer == k {
			st.poke()
		}
	}
}

// stopStreams ends the streams of the channel, or of one consumer, and returns them.
func (ch *channel) stopStreams(k *broker.Consumer) []*stream {
	ch.streamMu.Lock()
	defer ch.streamMu.Unlock()
	var list []*stream
	for st := range ch.streams {
		if k == nil || st.consumer == k {
			st.stop()
			list = append(list, st)
		}
	}
	return list
}

// abortStreams ends the streams of the channel, or of one consumer: none of their chunks is sent after it returns.
func (ch *channel) abortStreams(k *broker.Consumer) {
	for _, st := range ch.stopStreams(k) {
		<-st.done
	}
}

// withoutStreams ends the streams of the channel and does something before others can begin.
func (ch *channel) withoutStreams(w *broker.Work, do func()) {
	started := ch.sess.Started()
	ch.sess.Stop(w)
	ch.abortStreams(nil)
	do()
	if started {
		ch.sess.Start(w)
	}
}

// endStreams is abortStreams for good.
func (ch *channel) endStreams() {
	ch.streamMu.Lock()
	ch.ended = true
	ch.streamMu.Unlock()
	ch.abortStreams(nil)
}
