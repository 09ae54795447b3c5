package server

import (
	"sync"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/core"
)

// refSize is the size of a message from which its bytes are sent from where they lie instead of being copied.
const refSize = 16 << 10

// A sink writes the deliveries of one consumer.
type sink struct {
	ch *channel
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
	s.ch.send(w, &core.DisconnectConsumer{ConsumerID: k.ID})
	w.Flush()
}

// Deliver implements broker.Sink.
func (s *sink) Deliver(k *broker.Consumer, m *message.Message, count int32) (int, broker.Outcome) {
	ch := s.ch
	if m.Large() != nil {
		return ch.deliverLarge(k, m, count)
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
// holds the message until the last chunk has been sent, whatever becomes of the reference meanwhile.
type stream struct {
	ch       *channel
	consumer *broker.Consumer
	m        *message.Message
	wake     chan struct{}
	done     chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	stopped bool
}

// deliverLarge sends the header frame and starts the stream.
func (ch *channel) deliverLarge(k *broker.Consumer, m *message.Message, count int32) (int, broker.Outcome) {
	c := ch.lock()
	if c == nil {
		ch.unlock()
		return 0, broker.Busy
	}
	c.out.Lock()
	if c.out.Full() {
		c.stall(k)
		c.out.Unlock()
		ch.unlock()
		return 0, broker.Busy
	}
	p := core.ReceiveLarge{ConsumerID: k.ID, DeliveryCount: count, Size: m.Large().Size(), Headers: m.Headers()}
	frame := p.Append(nil, ch.id)
	if ch.confirms() {
		ch.confirmations.Sent(frame)
	}
	c.out.Append(frame)
	c.out.Unlock()
	ch.unlock()
	m.Retain()
	st := &stream{ch: ch, consumer: k, m: m, wake: make(chan struct{}, 1), done: make(chan struct{})}
	c.stallMu.Lock()
	if c.streams == nil {
		c.streams = map[*stream]bool{}
	}
	c.streams[st] = true
	c.stallMu.Unlock()
	go st.run(c)
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

func (st *stream) run(c *conn) {
	defer close(st.done)
	body := st.m.Large()
	size := body.Size()
	chunk := make([]byte, min(int64(st.ch.minLarge), max(size, 1)))
	w := st.ch.s.b.NewWork()
	for off := int64(0); ; {
		if st.consumer.Credit() <= 0 {
			if st.waitStopped() {
				break
			}
			continue
		}
		n := int(min(size-off, int64(len(chunk))))
		if n > 0 {
			if _, err := body.ReadAt(chunk[:n], off); err != nil {
				st.ch.s.log.Error("cannot read the body of a large message", "message", st.m.ID(), "error", err)
				c.tc.Close(err)
				break
			}
		}
		frame, outcome := st.send(chunk[:n], off+int64(n) < size)
		if outcome == streamStopped {
			break
		}
		if outcome == streamFull {
			if st.waitStopped() {
				break
			}
			continue
		}
		off += int64(n)
		st.consumer.Spend(frame)
		c.Flush()
		if off >= size {
			break
		}
	}
	c.stallMu.Lock()
	delete(c.streams, st)
	c.stallMu.Unlock()
	st.m.Release()
	st.consumer.Ready(w)
	w.Flush()
}

// waitStopped waits to be woken and tells whether that was for the end.
func (st *stream) waitStopped() bool {
	<-st.wake
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
func (st *stream) send(p []byte, more bool) (int, streamOutcome) {
	ch := st.ch
	size := core.ReceiveContinuationFrameSize(len(p))
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.stopped {
		return 0, streamStopped
	}
	c := ch.lock()
	defer ch.unlock()
	if c == nil {
		return 0, streamStopped
	}
	c.out.Lock()
	defer c.out.Unlock()
	if c.out.Full() || ch.confirms() && ch.confirmations.Full(size) {
		return 0, streamFull
	}
	frame := core.AppendReceiveContinuationHeader(c.out.Reserve(size)[:0], ch.id, len(p))
	frame = core.AppendReceiveContinuationTail(append(frame, p...), more, st.consumer.ID)
	if ch.confirms() {
		ch.confirmations.Sent(frame)
	}
	return size, streamSent
}

// pokeStream lets the stream of a consumer go on, if there is one.
func (c *conn) pokeStream(k *broker.Consumer) {
	c.stallMu.Lock()
	for st := range c.streams {
		if st.consumer == k {
			st.poke()
		}
	}
	c.stallMu.Unlock()
}

// abortStreams ends the streams of the channel, or of one consumer: no chunk is sent after it returns.
func (ch *channel) abortStreams(_ *broker.Work, k *broker.Consumer) {
	c := ch.conn.Load()
	var list []*stream
	c.stallMu.Lock()
	for st := range c.streams {
		if st.ch == ch && (k == nil || st.consumer == k) {
			list = append(list, st)
		}
	}
	c.stallMu.Unlock()
	for _, st := range list {
		st.stop()
		<-st.done
	}
}
