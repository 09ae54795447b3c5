package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/wire/core"
)

// ConsumerOptions tell how a consumer works.
type ConsumerOptions struct {
	Filter   string
	Browse   bool  // look without taking
	Priority int32 // higher ones are served first

	// Window is how many bytes the broker may send ahead. 0 is
	// Config.ConsumerWindow, and if that is 0 too the queue's default; negative
	// is no bound.
	Window int32

	// Slow is the protocol's window 0: the broker sends a message only when
	// Receive asks for one.
	Slow bool

	// OnMessage gets the messages on the read goroutine instead of Receive. The
	// Message is valid during the call. The body of a large message has gone to
	// OnChunk, piece by piece, when OnMessage is called for it.
	OnMessage func(*Message)
	OnChunk   func(m *Message, chunk []byte) // may be nil
}

// Consumer gets the messages of a queue.
type Consumer struct {
	s     *Session
	id    int64
	queue string
	opts  ConsumerOptions
	info  *core.QueueQueryResponse // what the broker told at creation

	// In OnMessage mode, of the read goroutine: the message being handled, the
	// headers of a large one, credits to give back.
	current Message
	headers []byte
	taken   int

	// Guarded by the session's lock.
	cond     sync.Cond // a message, a chunk or a marker has come, or the consumer ended
	window   int       // -1: no bound
	fifo     queue[*Message]
	consumed int        // bytes taken since the last FLOWTOKEN
	asked    bool       // Slow: a FLOWTOKEN(1) is out
	forced   int64      // sequence of the last FORCE_DELIVERY, from 0; -1: none
	marked   int64      // and of the last answer
	incoming *LargeBody // whose chunks come
	reading  *LargeBody // of the last message received
	ackID    int64      // cumulative ack that waits for more
	ackBytes int
	err      error
}

// NewConsumer creates a consumer. Nothing comes before Session.Start.
func (s *Session) NewConsumer(ctx context.Context, queue string, o ConsumerOptions) (*Consumer, error) {
	if o.Slow && o.OnMessage != nil {
		return nil, errors.New("core client: create consumer: Slow and OnMessage exclude each other")
	}
	if err := s.lock(ctx); err != nil {
		return nil, wrap(err, "create consumer on %s", queue)
	}
	c := &Consumer{s: s, id: int64(len(s.consumers)), queue: queue, opts: o, forced: -1, marked: -1}
	c.cond.L = &s.mu
	s.consumers = append(s.consumers, c)
	p, err := s.callLocked(ctx, c.creation(true), core.TypeQueueQueryResponseV3, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && c.err != nil {
		err = c.err
	}
	if err != nil {
		s.consumers[c.id] = nil
		return nil, wrap(err, "create consumer on %s", queue)
	}
	c.info = p.(*core.QueueQueryResponse)
	c.open()
	return c, nil
}

// open settles the window and gives the first credits. The session's lock is held.
func (c *Consumer) open() {
	cfg := &c.s.c.cfg
	c.window = int(c.opts.Window)
	if c.window == 0 && !cfg.SlowConsumers {
		c.window = int(cfg.ConsumerWindow)
		if c.window == 0 {
			c.window = int(c.info.DefaultConsumerWindowSize.Or(DefaultConsumerWindow))
		}
	}
	switch {
	case c.opts.Slow:
	case c.window == 0 && c.opts.OnMessage != nil:
		c.window = 1 // nobody asks for a message: one after the other
		c.give(1)
	case c.window == 0:
		c.opts.Slow = true
	case c.window < 0:
		c.window = -1
		c.give(-1)
	default:
		c.give(c.window)
	}
}

func (c *Consumer) creation(requiresResponse bool) *core.CreateConsumer {
	return &core.CreateConsumer{ConsumerID: c.id, QueueName: c.queue, Filter: optional(c.opts.Filter), BrowseOnly: c.opts.Browse,
		RequiresResponse: requiresResponse, Priority: c.opts.Priority}
}

// Queue returns what the broker told of the queue when the consumer was created.
func (c *Consumer) Queue() *core.QueueQueryResponse { return c.info }

// Session returns the consumer's session.
func (c *Consumer) Session() *Session { return c.s }

// give sends a FLOWTOKEN. The session's lock is held.
func (c *Consumer) give(credits int) {
	p := core.FlowToken{ConsumerID: c.id, Credits: int32(credits)}
	c.s.scratch = p.Append(c.s.scratch[:0], c.s.id)
	size := c.s.put(c.s.link, core.TypeFlowToken, c.s.scratch)
	if c.s.link != nil {
		c.s.link.flushSoon(size)
	}
}

// returnCredit gives the credits of a frame back once it is consumed; last is
// false for the pieces of a large message but its last. The session's lock is held.
func (c *Consumer) returnCredit(frame int, last bool) {
	switch {
	case c.window < 0 || c.err != nil:
	case c.opts.Slow:
		if last {
			frame-- // what is left is asked for by the next Receive
		}
		c.give(frame)
	default:
		c.consumed += frame
		if c.consumed >= max(1, c.window/2) {
			c.give(c.consumed)
			c.consumed = 0
		}
	}
}

// Receive waits for the next message.
func (c *Consumer) Receive(ctx context.Context) (*Message, error) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := c.receiveLocked(ctx)
	return m, wrap(err, "receive from %s", c.queue)
}

// ReceiveTimeout waits for the next message for as long as timeout says, and
// then asks the broker whether there really is none (force delivery). Without
// a message it returns nil.
func (c *Consumer) ReceiveTimeout(ctx context.Context, timeout time.Duration) (*Message, error) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if timeout > 0 && c.fifo.len() == 0 {
		limited, cancel := context.WithTimeout(ctx, timeout)
		m, err := c.receiveLocked(limited)
		cancel()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return m, wrap(err, "receive from %s", c.queue)
		}
	}
	m, err := c.forceLocked(ctx)
	return m, wrap(err, "receive from %s", c.queue)
}

// receiveLocked waits for the next message.
func (c *Consumer) receiveLocked(ctx context.Context) (*Message, error) {
	if c.opts.OnMessage != nil {
		return nil, errors.New("the consumer has OnMessage")
	}
	c.ask()
	if err := c.awaitLocked(ctx, func() bool { return c.fifo.len() > 0 }); err != nil {
		return nil, err
	}
	return c.popLocked(), nil
}

// forceLocked asks for the next message and returns nil if there is none.
func (c *Consumer) forceLocked(ctx context.Context) (*Message, error) {
	if c.opts.OnMessage != nil {
		return nil, errors.New("the consumer has OnMessage")
	}
	c.ask()
	if c.fifo.len() == 0 {
		if err := c.s.awaitLocked(ctx, func() bool { return c.s.link != nil }); err != nil {
			return nil, err
		}
		c.forced++
		seq := c.forced
		c.s.putPacket(c.s.link, &core.ForceDelivery{ConsumerID: c.id, Sequence: seq})
		if err := c.awaitLocked(ctx, func() bool { return c.fifo.len() > 0 || c.marked >= seq }); err != nil {
			return nil, err
		}
	}
	if c.fifo.len() > 0 {
		return c.popLocked(), nil
	}
	if c.opts.Slow {
		c.asked = false
		c.give(0)
	}
	return nil, nil
}

// ask makes room for the next message: what is left unread of the last one's
// large body is thrown away, since its credits are needed, and a slow consumer
// lets the broker send one message.
func (c *Consumer) ask() {
	if c.reading != nil {
		c.reading.discardLocked()
		c.reading = nil
	}
	if c.opts.Slow && !c.asked && c.fifo.len() == 0 && c.err == nil {
		c.asked = true
		c.give(1)
	}
}

// awaitLocked waits on the consumer's condition until ready is true. Before it
// sleeps it has the output written.
func (c *Consumer) awaitLocked(ctx context.Context, ready func() bool) error {
	if ready() {
		return nil
	}
	s := c.s
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		c.cond.Broadcast()
		s.mu.Unlock()
	})
	defer stop()
	flushed := false
	for !ready() {
		switch {
		case c.err != nil:
			return c.err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !flushed && s.link != nil:
			l := s.link
			s.mu.Unlock()
			l.out.Flush()
			s.mu.Lock()
			flushed = true
		default:
			c.cond.Wait()
		}
	}
	return nil
}

// popLocked takes the next message.
func (c *Consumer) popLocked() *Message {
	m := c.fifo.pop()
	c.reading = m.large
	c.returnCredit(m.size, m.large == nil)
	c.asked = false
	return m
}

// errChunked is what reading the body of a large message in OnMessage returns.
var errChunked = errors.New("core client: the body was given to OnChunk")

// receive handles SESS_RECEIVE_MSG, on the read goroutine.
func (s *Session) receive(l *link, f core.Frame) error {
	var p core.Receive
	v := s.c.wireVersion()
	if err := p.Decode(f.Payload, v); err != nil {
		return err
	}
	if v.BeforeAddressChange() {
		body, headers, err := core.SplitMessage(p.Message, v)
		if err != nil {
			return err
		}
		p.Message = core.AppendMessage(nil, body, headers, core.VersionCurrent)
	}
	s.mu.Lock()
	c := s.consumer(p.ConsumerID)
	if c == nil {
		s.mu.Unlock()
		return nil
	}
	if c.opts.OnMessage != nil {
		epoch := s.epoch
		s.mu.Unlock()
		c.current.set(c, epoch, p.Message, p.DeliveryCount, len(f.Raw))
		c.opts.OnMessage(&c.current)
		c.handled(len(f.Raw))
		return nil
	}
	defer s.mu.Unlock()
	m := messagePool.Get().(*Message)
	m.set(c, s.epoch, l.keep(m.raw, p.Message), p.DeliveryCount, len(f.Raw))
	if p.DeliveryCount == 0 && c.forced > c.marked {
		if seq, ok := m.marker(); ok {
			c.marked = max(c.marked, seq)
			m.Release()
			c.cond.Broadcast()
			return nil
		}
	}
	c.fifo.push(m)
	c.cond.Signal()
	return nil
}

// marker returns the sequence of the answer to a FORCE_DELIVERY.
func (m *Message) marker() (seq int64, ok bool) {
	v, err := m.Core()
	if err != nil {
		return 0, false
	}
	return v.Property(core.ForcedDeliveryKey).Int64()
}

// handled gives the credits of a frame back in OnMessage mode.
func (c *Consumer) handled(frame int) {
	if c.window < 0 {
		return
	}
	if c.taken += frame; c.taken >= max(1, c.window/2) {
		c.s.mu.Lock()
		if c.err == nil {
			c.give(c.taken)
		}
		c.s.mu.Unlock()
		c.taken = 0
	}
}

// receiveLarge handles SESS_RECEIVE_LARGE_MSG, on the read goroutine.
func (s *Session) receiveLarge(l *link, f core.Frame) error {
	var p core.ReceiveLarge
	if err := p.Decode(f.Payload); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.consumer(p.ConsumerID)
	if c == nil {
		return nil
	}
	body := &LargeBody{c: c, size: p.Size}
	c.incoming = body
	if c.opts.OnMessage != nil {
		c.headers = core.AppendMessage(c.headers[:0], nil, p.Headers, core.VersionCurrent)
		c.current.set(c, s.epoch, c.headers, p.DeliveryCount, len(f.Raw))
		c.current.large = body
		body.err = errChunked
		s.mu.Unlock()
		c.handled(len(f.Raw))
		s.mu.Lock()
		return nil
	}
	m := new(Message)
	m.set(c, s.epoch, core.AppendMessage(nil, nil, p.Headers, core.VersionCurrent), p.DeliveryCount, len(f.Raw))
	m.large = body
	c.fifo.push(m)
	c.cond.Signal()
	return nil
}

// receiveContinuation handles SESS_RECEIVE_CONTINUATION, on the read goroutine.
func (s *Session) receiveContinuation(l *link, f core.Frame) error {
	var p core.ReceiveContinuation
	if err := p.Decode(f.Payload); err != nil {
		return err
	}
	s.mu.Lock()
	c := s.consumer(p.ConsumerID)
	if c == nil || c.incoming == nil {
		s.mu.Unlock()
		return nil
	}
	b := c.incoming
	if !p.Continues {
		c.incoming = nil
	}
	if c.opts.OnMessage != nil {
		s.mu.Unlock()
		if c.opts.OnChunk != nil {
			c.opts.OnChunk(&c.current, p.Body)
		}
		if !p.Continues {
			c.opts.OnMessage(&c.current)
		}
		c.handled(len(f.Raw))
		return nil
	}
	defer s.mu.Unlock()
	if b.discard {
		c.returnCredit(len(f.Raw), !p.Continues)
	} else {
		b.chunks = append(b.chunks, largeChunk{body: l.keep(nil, p.Body), frame: len(f.Raw), last: !p.Continues})
		c.cond.Broadcast()
	}
	return nil
}

// consumer returns a consumer that is open. mu is held.
func (s *Session) consumer(id int64) *Consumer {
	if id < 0 || id >= int64(len(s.consumers)) {
		return nil
	}
	return s.consumers[id]
}

// ack acknowledges m.
func (c *Consumer) ack(m *Message, individual bool) error {
	s := c.s
	id := m.ID()
	s.mu.Lock()
	switch {
	case c.err != nil:
		s.mu.Unlock()
		return wrap(c.err, "acknowledge message %d", id)
	case m.epoch != s.epoch:
		s.mu.Unlock()
		return ErrRedelivered
	case c.opts.Browse || s.opts.PreAcknowledge:
		s.mu.Unlock()
		return nil
	}
	s.worked = true
	if !individual {
		c.ackID = id
		if c.ackBytes += m.size; c.ackBytes < int(s.c.cfg.AckBatchSize) {
			s.mu.Unlock()
			return nil
		}
		c.ackBytes = 0
	}
	if s.c.cfg.BlockOnAcknowledge {
		s.mu.Unlock()
		return c.ackAnswered(m, id, individual)
	}
	size := c.putAck(id, individual)
	l := s.link
	s.mu.Unlock()
	if l != nil {
		l.flushSoon(size)
	}
	return nil
}

// ackAnswered sends an ack and waits for the answer. The session may be made anew while it waits for the connection: then
// the ack, which counts for all that was delivered before the message, must not be sent, since in the new session that may
// be messages that nobody has seen.
func (c *Consumer) ackAnswered(m *Message, id int64, individual bool) error {
	s := c.s
	if err := s.lock(context.Background()); err != nil {
		return wrap(err, "acknowledge message %d", id)
	}
	if m.epoch != s.epoch {
		s.mu.Unlock()
		return ErrRedelivered
	}
	p := &core.Acknowledge{Individual: individual, ConsumerID: c.id, MessageID: id, RequiresResponse: true}
	_, err := s.callLocked(context.Background(), p, core.TypeNullResponse, nil)
	return wrap(err, "acknowledge message %d", id)
}

func (c *Consumer) putAck(id int64, individual bool) (size int) {
	s := c.s
	p := core.Acknowledge{Individual: individual, ConsumerID: c.id, MessageID: id}
	s.scratch = p.Append(s.scratch[:0], s.id)
	return s.put(s.link, p.Type(), s.scratch)
}

// flushAcksLocked sends the acks that wait for more.
func (s *Session) flushAcksLocked() {
	for _, c := range s.consumers {
		if c != nil && c.ackBytes > 0 {
			c.ackBytes = 0
			c.putAck(c.ackID, false)
		}
	}
}

// Expired tells the broker that the message has expired, instead of an ack.
func (m *Message) Expired(ctx context.Context) error {
	return wrap(m.c.s.send(ctx, &core.Expired{ConsumerID: m.c.id, MessageID: m.ID()}), "expire message %d", m.ID())
}

// clearLocked drops what was not received, giving its credits back if give is set.
func (c *Consumer) clearLocked(give bool) {
	for _, m := range c.fifo.all() {
		if give {
			c.returnCredit(m.size, m.large == nil)
		}
		if m.large != nil && give {
			m.large.discardLocked()
		}
	}
	c.fifo = queue[*Message]{}
	c.ackBytes = 0
}

// Close closes the consumer. Messages not acknowledged go back to the queue.
func (c *Consumer) Close(ctx context.Context) error {
	s := c.s
	if err := s.lock(ctx); err != nil {
		return wrap(err, "close consumer of %s", c.queue)
	}
	if c.err != nil {
		s.mu.Unlock()
		return nil
	}
	if c.ackBytes > 0 {
		c.ackBytes = 0
		c.putAck(c.ackID, false)
	}
	s.consumers[c.id] = nil
	c.endLocked(ErrClosed)
	_, err := s.callLocked(ctx, &core.ConsumerClose{ConsumerID: c.id}, core.TypeNullResponse, nil)
	return wrap(err, "close consumer of %s", c.queue)
}

// endLocked lets all who wait for the consumer go.
func (c *Consumer) endLocked(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	if c.incoming != nil && c.incoming.err == nil {
		c.incoming.err = err
	}
	c.cond.Broadcast()
}

// disconnectConsumer handles DISCONNECT_CONSUMER: the queue is gone. The
// consumer is closed at the broker too, without waiting for the answer.
func (s *Session) disconnectConsumer(l *link, id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.consumer(id)
	if c == nil {
		return
	}
	s.consumers[id] = nil
	c.endLocked(&core.Error{Code: core.QueueDoesNotExist, Message: "the queue " + c.queue + " was destroyed"})
	s.newCall(core.TypeNullResponse, false)
	s.putPacket(l, &core.ConsumerClose{ConsumerID: id})
}
