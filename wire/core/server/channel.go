package server

import (
	"sync"
	"sync/atomic"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// maxDeferred bounds the frames that wait behind a request that runs on a goroutine, in bytes; more pause the connection.
const maxDeferred = 1 << 20

// A channel is a session's channel, or channel 1 of a connection.
type channel struct {
	id       int64
	s        *Server
	sess     *broker.Session // nil on channel 1
	window   int32           // confirmation window, -1: none
	minLarge int             // chunk size of large bodies delivered

	// executor
	busy     atomic.Bool // a goroutine handles the channel's frames
	exec     sync.Mutex  // guards what follows
	deferred []byte      // frames that wait, back to back
	paused   bool        // the connection was paused because of them
	idle     *sync.Cond

	// mu guards where the channel sends. Without a confirmation window the connection
	// never changes and is read without it.
	mu            sync.Mutex
	conn          atomic.Pointer[conn]
	confirmations core.Confirmations
	away          bool // the connection broke: nothing is written, only kept
	resume        bool // deliveries were on when it broke

	producers map[int32]*broker.Producer

	streamMu sync.Mutex // a leaf
	streams  map[*stream]bool
	ended    bool // nothing is streamed any more

	headers []byte // of a large message whose body is coming
	large   broker.BodyWriter
	largeID int64
	whole   *message.Message // of that body, when it is complete and has to be sent where waiting is allowed
}

// confirms tells whether the channel has a confirmation window.
func (ch *channel) confirms() bool { return ch.window != -1 && ch.sess != nil }

func (ch *channel) resumable() bool {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	return ch.confirmations.Resumable()
}

// handle takes a frame of the read goroutine.
func (ch *channel) handle(w *broker.Work, f core.Frame) error {
	if !ch.busy.Load() {
		if ch.sess == nil {
			ch.start(w, f)
			return nil
		}
		if ch.sess.Unstored() && !core.OfLargeBody(f.Type) {
			ch.start(w, f)
			return nil
		}
		again, err := ch.packet(w, f)
		if again {
			ch.start(w, f)
		}
		return err
	}
	ch.exec.Lock()
	if !ch.busy.Load() {
		ch.exec.Unlock()
		return ch.handle(w, f)
	}
	ch.deferred = append(ch.deferred, f.Raw...)
	if len(ch.deferred) > maxDeferred && !ch.paused {
		ch.paused = true
		ch.conn.Load().tc.Pause()
	}
	ch.exec.Unlock()
	return nil
}

// start handles a frame, and those that come behind it, on a goroutine that may block.
func (ch *channel) start(w *broker.Work, f core.Frame) {
	w.Flush() // what this session has collected comes before
	first := append([]byte(nil), f.Raw...)
	ch.busy.Store(true)
	c := ch.conn.Load()
	ch.s.b.Go(func() { ch.work(c, first) })
}

// work handles frames and those that are deferred meanwhile, until none is left and the channel is idle.
func (ch *channel) work(c *conn, frames []byte) {
	w := ch.s.b.NewWork()
	var failed error
	for {
		if failed == nil { // nothing may be done after what could not be
			if failed = ch.run(w, frames); failed != nil {
				c.tc.Close(failed)
			}
		}
		w.Flush()
		if c.dirty.Load() {
			c.Flush()
		}
		ch.exec.Lock()
		frames = ch.deferred
		ch.deferred = nil
		resume := ch.paused
		ch.paused = false
		if len(frames) == 0 {
			ch.busy.Store(false)
			if ch.idle != nil {
				ch.idle.Broadcast()
			}
		}
		ch.exec.Unlock()
		if resume {
			c.tc.Resume()
		}
		if len(frames) == 0 {
			return
		}
	}
}

// run handles frames on a goroutine that may block.
func (ch *channel) run(w *broker.Work, frames []byte) error {
	if ch.sess != nil {
		ch.sess.MayBlock = true
		defer func() { ch.sess.MayBlock = false }()
	}
	for len(frames) > 0 {
		f, rest, _, err := core.Split(frames, 1<<31-1)
		if err != nil {
			return err
		}
		w.Begin()
		if ch.sess == nil {
			err = ch.conn.Load().controlPacket(f)
		} else if !ch.sess.Closed() {
			if !core.OfLargeBody(f.Type) {
				ch.sess.WaitStored()
			}
			_, err = ch.packet(w, f)
			w.Flush()
		}
		if err != nil {
			return err
		}
		frames = rest
	}
	return nil
}

// waitIdle waits until no goroutine handles the channel's frames.
func (ch *channel) waitIdle() {
	ch.exec.Lock()
	defer ch.exec.Unlock()
	if ch.idle == nil {
		ch.idle = sync.NewCond(&ch.exec)
	}
	for ch.busy.Load() {
		ch.idle.Wait()
	}
}

// lock takes what guards the channel's way out and returns the connection, nil while the channel is away.
func (ch *channel) lock() *conn {
	if !ch.confirms() {
		return ch.conn.Load()
	}
	ch.mu.Lock()
	if ch.away {
		return nil
	}
	return ch.conn.Load()
}

func (ch *channel) unlock() {
	if ch.confirms() {
		ch.mu.Unlock()
	}
}

// send appends a packet.
func (ch *channel) send(w *broker.Work, p core.Packet) {
	ch.sendFrame(w, core.Append(nil, ch.id, p, ch.conn.Load().v()))
}

func (ch *channel) sendFrame(w *broker.Work, frame []byte) {
	c := ch.lock()
	if ch.confirms() && core.Counted(core.Type(frame[4]), frame[core.HeaderSize:]) {
		ch.confirmations.Sent(frame)
	}
	if c != nil {
		c.out.Lock()
		c.out.Append(frame)
		c.out.Unlock()
	}
	ch.unlock()
	if c != nil {
		w.Touch(c)
	}
}

// Kinds of answers.
const (
	answerConfirm  uint8 = iota + 1 // nothing but the count of a confirmed packet
	answerNull                      // NULL_RESPONSE; the request had no correlation id
	answerNullCorr                  // NULL_RESPONSE with the request's correlation id
	answerXA                        // SESS_XA_RESP with success
)

// answerFor makes the answer of a request.
func (ch *channel) answerFor(kind uint8, f *core.Frame, correlation int64) broker.Answer {
	a := broker.Answer{Kind: kind, ID: correlation}
	if ch.confirms() && core.Counted(f.Type, f.Payload) {
		a.Size = int32(len(f.Raw))
	}
	return a
}

// done is the answer of a packet that gets no response: only a channel with confirmations has to know.
func (ch *channel) done(f *core.Frame) broker.Answer {
	if !ch.confirms() {
		return broker.Answer{}
	}
	a := ch.answerFor(answerConfirm, f, 0)
	a.Silent = true
	return a
}

// Answer implements broker.Client.
func (ch *channel) Answer(w *broker.Work, a broker.Answer, err error) {
	if err != nil && a.Kind != answerConfirm {
		ch.fail(w, a, err)
		return
	}
	ch.confirm(w, a.Size)
	switch a.Kind {
	case answerNull, answerNullCorr:
		if ch.confirms() {
			p := core.NullResponse{CorrelationID: a.ID}
			ch.sendFrame(w, p.Append(nil, ch.id, ch.conn.Load().v()))
			return
		}
		var frame [core.HeaderSize + 8]byte
		p := core.NullResponse{CorrelationID: a.ID}
		ch.sendFrame(w, p.Append(frame[:0], ch.id, ch.conn.Load().v()))
	case answerXA:
		ch.send(w, &core.XAResponse{})
	}
}

// fail answers with an exception: with the correlation id if the request had the field.
func (ch *channel) fail(w *broker.Work, a broker.Answer, err error) {
	e := broker.AsError(err)
	if e.Code == broker.InternalError {
		ch.s.log.Error("AMQ224016: caught exception", "session", ch.sess.Name, "remote", ch.conn.Load().RemoteAddr(), "error", err)
		e = &broker.Error{Code: e.Code} // what went wrong inside is for the operator
	}
	p := &core.Exception{Code: core.Code(e.Code), Message: buf.Of(e.Text)}
	if a.Kind == answerNullCorr {
		p.CorrelationID = buf.Of(a.ID)
	}
	ch.send(w, p)
	if a.Size > 0 {
		ch.mu.Lock()
		ch.confirmations.Refused(int(a.Size))
		ch.mu.Unlock()
	}
}

// confirm counts a packet that is done, before its response leaves.
func (ch *channel) confirm(w *broker.Work, size int32) {
	if size > 0 {
		ch.confirmed(w, func(c *core.Confirmations) (int32, bool) { return c.Received(int(size)) })
	}
}

// confirmed sends the confirmation that count finds due. It leaves under the lock that counts: a client counts packets as
// confirmed that are not when an older confirmation comes after a newer one.
func (ch *channel) confirmed(w *broker.Work, count func(*core.Confirmations) (id int32, due bool)) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	id, due := count(&ch.confirmations)
	if !due || ch.away {
		return
	}
	c := ch.conn.Load()
	p := core.PacketsConfirmed{CommandID: id}
	c.out.Lock()
	c.out.Append(p.Append(nil, ch.id))
	c.out.Unlock()
	w.Touch(c)
}

// flushConfirmations sends a confirmation that is owed, whatever the window.
func (ch *channel) flushConfirmations() {
	w := ch.s.b.NewWork()
	ch.confirmed(w, (*core.Confirmations).Flush)
	w.Flush()
}

// detach stops delivery until the client comes back.
func (ch *channel) detach() {
	ch.waitIdle()
	w := ch.s.b.NewWork()
	started := ch.sess.Started()
	ch.sess.Stop(w)
	ch.mu.Lock()
	ch.away = true
	ch.resume = started
	ch.mu.Unlock()
	w.Flush()
}

// closeRemotely closes the session by an operator's decision, soon. Its consumers are told; what else comes on the channel is
// dropped, as in Artemis: the protocol has no word for it.
func (ch *channel) closeRemotely() {
	ch.s.mu.Lock()
	defer ch.s.mu.Unlock()
	if !ch.s.stopped {
		ch.s.ends.Go(ch.closeNow)
	}
}

// closeNow does it while nobody else works for the session.
func (ch *channel) closeNow() {
	c := ch.conn.Load()
	c.control.waitIdle() // which may not have made the session known yet
	for c.life.Lock(); ch.conn.Load() != c; c.life.Lock() {
		c.life.Unlock()
		c = ch.conn.Load()
	}
	defer c.life.Unlock()
	c.handling.Lock()
	defer c.handling.Unlock()
	ch.waitIdle()
	if ch.sess.Closed() {
		return
	}
	w := ch.s.b.NewWork()
	consumers := ch.sess.Consumers()
	ch.abortLarge()
	ch.sess.Close(w, true)
	ch.endStreams()
	ch.s.unregister(ch)
	c.mu.Lock()
	c.channels.remove(ch.id)
	c.mu.Unlock()
	for _, k := range consumers {
		ch.send(w, &core.DisconnectConsumer{ConsumerID: k.ID})
	}
	w.Flush()
}

// giveUp makes the channel one that cannot be reattached: its client has been silent for too long.
func (ch *channel) giveUp() {
	ch.mu.Lock()
	ch.confirmations = core.NewConfirmations(-1, 0)
	ch.mu.Unlock()
}

// waitAnswered waits until every request that was handled has been answered and counted: what the client sent is either
// confirmed by the reattachment or was never handled, and is sent again. False: the broker stops.
func (ch *channel) waitAnswered(w *broker.Work) bool {
	done := make(chan struct{})
	ch.sess.Done(w, broker.Answer{Inside: true, Call: func(*broker.Work) { close(done) }}, nil)
	w.Flush()
	select {
	case <-done:
		return true
	case <-ch.s.b.Done():
		return false
	}
}

// moveTo continues a detached channel on another connection, from the packet after last on.
func (ch *channel) moveTo(c *conn, last int32) bool {
	w := ch.s.b.NewWork()
	if !ch.waitAnswered(w) {
		return false
	}
	ch.mu.Lock()
	replay, err := ch.confirmations.Replay(last)
	if err != nil {
		old := ch.conn.Load()
		ch.mu.Unlock()
		ch.s.log.Warn("a session cannot be reattached", "session", ch.sess.Name, "remote", c.RemoteAddr(), "error", err)
		ch.s.unregister(ch) // its client begins anew: it gets back what this one has
		ch.endStreams()
		ch.abortLarge()
		ch.sess.Close(w, true)
		w.Flush()
		old.mu.Lock()
		old.channels.remove(ch.id)
		old.mu.Unlock()
		return false
	}
	old := ch.conn.Load()
	ch.conn.Store(c)
	ch.away = false
	ch.busy.Store(true) // what the client sends waits until the session is here
	response := core.Append(nil, core.ChannelSession, &core.ReattachSessionResponse{LastConfirmedCommandID: ch.confirmations.LastReceived(), Reattached: true}, c.v())
	c.mu.Lock()
	c.channels.put(ch)
	c.mu.Unlock()
	c.out.Lock()
	c.out.Append(response)
	c.out.Append(replay)
	c.out.Unlock()
	ch.mu.Unlock()
	ch.sess.Move(c.bc)
	if ch.resume {
		ch.sess.Start(w)
	}
	for _, k := range ch.sess.Consumers() {
		k.Ready(w) // it may have waited for the old connection
	}
	ch.pokeStreams(nil)
	w.Flush()
	c.Flush()
	ch.s.b.Go(func() { ch.work(c, nil) })
	ch.s.log.Info("a session was reattached", "session", ch.sess.Name, "from", old.RemoteAddr(), "to", c.RemoteAddr())
	return true
}
