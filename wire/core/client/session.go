package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// SessionOptions tell how a session works. The zero value is a transacted
// session: sends and acks wait for Commit.
type SessionOptions struct {
	AutoCommitSends, AutoCommitAcks bool
	XA                              bool
	PreAcknowledge                  bool   // the broker acknowledges at delivery; see also Config.PreAcknowledge
	DefaultAddress                  string // for messages without an address; empty: the first one sent to

	// MinLargeMessageSize overrides Config's, for the chunks the broker sends.
	MinLargeMessageSize int32
}

// Session is a session: an order of sends, acks and calls.
type Session struct {
	c    *Conn
	id   int64 // channel
	opts SessionOptions

	mu        sync.Mutex
	cond      sync.Cond // the link, credits or confirmations have changed, or the session ended
	name      string
	link      *link // nil while there is none
	err       error // the session is over
	conf      core.Confirmations
	calls     calls
	blocking  int64 // correlation id of the last blocking call; counts down from -1
	asyncID   int64 // correlation id of the last send not waited for; counts up from 0
	pending   sends
	started   bool
	metadata  []core.AddMetadata
	consumers []*Consumer // by id; nil: closed
	producers int32
	credits   map[string]*credits
	epoch     int  // counts how often the session was made anew
	worked    bool // the transaction has sends or acks in it
	doomed    bool // and lost them when the session was made anew
	xid       *buf.Xid
	scratch   []byte
	large     sync.Mutex // one large message at a time is sent
}

// NewSession creates a session. If the broker refuses this client's version,
// the lower ones are tried.
func (c *Conn) NewSession(ctx context.Context, o SessionOptions) (*Session, error) {
	if o.MinLargeMessageSize == 0 {
		o.MinLargeMessageSize = c.cfg.MinLargeMessageSize
	}
	o.PreAcknowledge = o.PreAcknowledge || c.cfg.PreAcknowledge
	l, err := c.lockSetup(ctx)
	if err != nil {
		return nil, err
	}
	defer c.setup.Unlock()
	c.mu.Lock()
	id := c.nextChannel
	c.nextChannel++
	c.mu.Unlock()
	s := &Session{c: c, id: id, opts: o, credits: map[string]*credits{}}
	s.cond.L = &s.mu
	s.reset()
	c.change(func(m map[int64]*Session) { m[id] = s })
	if err := s.create(ctx, l, false); err != nil {
		c.change(func(m map[int64]*Session) { delete(m, id) })
		return nil, fmt.Errorf("core client: create session: %w", err)
	}
	s.mu.Lock()
	s.link = l
	s.mu.Unlock()
	l.mu.Lock()
	ended := l.ended
	l.mu.Unlock()
	if ended { // lost may have come before the link was set
		s.detach(l)
	}
	return s, nil
}

// lockSetup returns the link with setup locked, so that no other can take its
// place before the session is made.
func (c *Conn) lockSetup(ctx context.Context) (*link, error) {
	for {
		l, err := c.await(ctx)
		if err != nil {
			return nil, err
		}
		c.setup.Lock()
		if c.current() == l {
			return l, nil
		}
		c.setup.Unlock()
	}
}

// create asks for the session on channel 1 and agrees on a version.
// After a failure it is asked for in the form of version 0, as real clients do.
func (s *Session) create(ctx context.Context, l *link, again bool) error {
	null := func(text string) buf.Null[string] { return buf.Null[string]{V: text, Valid: text != ""} }
	cfg := &s.c.cfg
	p := &core.CreateSession{
		Name: s.name, ChannelID: s.id, User: null(cfg.User), Password: buf.Null[string]{V: cfg.Password, Valid: cfg.User != ""},
		MinLargeMessageSize: s.opts.MinLargeMessageSize, XA: s.opts.XA,
		AutoCommitSends: s.opts.AutoCommitSends, AutoCommitAcks: s.opts.AutoCommitAcks,
		ConfirmationWindowSize: cfg.ConfirmationWindow, PreAcknowledge: s.opts.PreAcknowledge,
		DefaultAddress: null(s.opts.DefaultAddress), ClientID: null(cfg.ClientID),
	}
	highest := cfg.Version
	if v := s.c.wireVersion(); v != 0 {
		highest = min(v, highest)
	}
	for v := highest; ; v-- {
		p.Version, p.Form = v, 0
		if again || !v.ClientID() {
			p.Form = core.TypeCreateSession
		}
		answer, err := l.request(ctx, p, core.TypeCreateSessionResponse)
		if errors.Is(err, core.IncompatibleVersions) && v > core.VersionMin {
			continue
		}
		if err != nil {
			return err
		}
		s.c.agree(min(v, answer.(*core.CreateSessionResponse).ServerVersion))
		return nil
	}
}

// reset gives the session the state of one just created.
func (s *Session) reset() {
	s.name = newUUID()
	s.conf = core.NewConfirmations(s.c.cfg.ConfirmationWindow, resendLimit)
	s.blocking, s.asyncID = core.NoCorrelation, 0
}

// newUUID returns the text of a random UUID.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// Name returns the name under which the broker knows the session.
func (s *Session) Name() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.name
}

// Conn returns the session's connection.
func (s *Session) Conn() *Conn { return s.c }

// lock locks the session once it has a link whose output is not full, waiting
// for that. Without an error it returns with mu held.
func (s *Session) lock(ctx context.Context) error {
	for {
		s.mu.Lock()
		err := s.awaitLocked(ctx, func() bool {
			return s.link != nil && !s.conf.Full(1)
		})
		if err != nil {
			s.mu.Unlock()
			return err
		}
		l := s.link
		l.out.Lock()
		full := l.out.Full()
		l.out.Unlock()
		if !full {
			return nil
		}
		s.mu.Unlock()
		l.awaitRoom()
	}
}

// awaitLocked waits, with mu held, until ready is true. Before it sleeps it has
// the output written.
func (s *Session) awaitLocked(ctx context.Context, ready func() bool) error {
	if s.err == nil && ready() {
		return nil
	}
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		s.cond.Broadcast()
		s.mu.Unlock()
	})
	defer stop()
	flushed := false
	for {
		switch {
		case s.err != nil:
			return s.err
		case ready():
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !flushed && s.link != nil:
			l := s.link
			s.mu.Unlock()
			l.out.Flush()
			s.mu.Lock()
			flushed = true
		default:
			s.cond.Wait()
		}
	}
}

// put appends a frame to the output of l and returns what waits there. Without
// a link the frame is sent when the session is reattached, if it is. mu is held.
func (s *Session) put(l *link, t core.Type, frame []byte) (size int) {
	if s.conf.Enabled() && core.Counted(t, frame[core.HeaderSize:]) {
		s.conf.Sent(frame)
	}
	if l == nil {
		return 0
	}
	l.out.Lock()
	l.out.Append(frame)
	size = l.out.Size()
	l.out.Unlock()
	return size
}

// putPacket appends a packet. mu is held.
func (s *Session) putPacket(l *link, p core.Packet) (size int) {
	s.scratch = core.Append(s.scratch[:0], s.id, p, s.c.wireVersion())
	return s.put(l, p.Type(), s.scratch)
}

// send sends a packet that has no answer.
func (s *Session) send(ctx context.Context, p core.Packet) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	l := s.link
	size := s.putPacket(l, p)
	s.mu.Unlock()
	l.flushSoon(size)
	return nil
}

// call sends a request and waits for its answer. correlate, if there is one,
// puts the correlation id into the packet.
func (s *Session) call(ctx context.Context, p core.Packet, want core.Type, correlate func(int64)) (core.Packet, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	return s.callLocked(ctx, p, want, correlate)
}

// callLocked is call with mu held, which it gives up.
func (s *Session) callLocked(ctx context.Context, p core.Packet, want core.Type, correlate func(int64)) (core.Packet, error) {
	k := s.newCall(want, correlate != nil)
	if correlate != nil {
		correlate(k.correlation)
	}
	_, k.commit = p.(*core.Commit)
	l := s.link
	s.putPacket(l, p)
	s.mu.Unlock()
	return s.answer(ctx, l, k)
}

// newCall queues a call. mu is held.
func (s *Session) newCall(want core.Type, correlated bool) *call {
	k := callPool.Get().(*call)
	k.want, k.correlation, k.commit = want, core.NoCorrelation, false
	s.blocking--
	if correlated && !s.c.wireVersion().BeforeAsyncResponseChange() {
		k.correlation = s.blocking
	}
	s.calls.waiting = append(s.calls.waiting, k)
	return k
}

// answer flushes and waits for the answer of k. If it does not come in
// CallTimeout the link is given up, and with it the order of answers.
func (s *Session) answer(ctx context.Context, l *link, k *call) (core.Packet, error) {
	l.out.Flush()
	a, gave := k.wait(ctx, s.c.cfg.CallTimeout)
	if !gave {
		if ctx.Err() == nil {
			l.fail(a.err)
		}
		return nil, a.err // k stays in the queue, so it is not used again
	}
	callPool.Put(k)
	return a.packet, a.err
}

// null is call for a request answered with NULL_RESPONSE.
func (s *Session) null(ctx context.Context, p core.Packet) error {
	_, err := s.call(ctx, p, core.TypeNullResponse, nil)
	return err
}

// Start lets the session's consumers get messages.
func (s *Session) Start(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	s.started = true
	l := s.link
	size := s.putPacket(l, &core.Start{})
	s.mu.Unlock()
	l.flushSoon(size)
	return nil
}

// Stop suspends delivery. Messages on their way still arrive.
func (s *Session) Stop(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	s.started = false
	_, err := s.callLocked(ctx, &core.Stop{}, core.TypeNullResponse, nil)
	return wrap(err, "stop session")
}

// Flush writes what has been sent and not yet written.
func (s *Session) Flush() { s.c.Flush() }

// AddMetadata attaches a key and a value that the broker shows with the session.
func (s *Session) AddMetadata(ctx context.Context, key, value string) error {
	return s.addMetadata(ctx, core.AddMetadata{Form: core.TypeAddMetadata2, Key: key, Data: value})
}

// AddUniqueMetadata is AddMetadata that fails with core.DuplicateMetadata when
// another session of the broker has the pair.
func (s *Session) AddUniqueMetadata(ctx context.Context, key, value string) error {
	return s.addMetadata(ctx, core.AddMetadata{Form: core.TypeUniqueAddMetadata, Key: key, Data: value})
}

func (s *Session) addMetadata(ctx context.Context, p core.AddMetadata) error {
	request := p
	request.RequiresConfirmation = true
	if err := s.null(ctx, &request); err != nil {
		return wrap(err, "add metadata %s", p.Key)
	}
	s.mu.Lock()
	s.metadata = append(s.metadata, p)
	s.mu.Unlock()
	return nil
}

// Close closes the session. A transaction is rolled back, messages not
// acknowledged go back to their queues.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return nil
	}
	if s.link == nil {
		s.mu.Unlock()
		s.end(ErrClosed)
		return nil
	}
	s.flushAcksLocked()
	_, err := s.callLocked(ctx, &core.Close{}, core.TypeNullResponse, nil)
	s.end(ErrClosed)
	return wrap(err, "close session")
}

// end lets all who wait for the session go.
func (s *Session) end(err error) {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return
	}
	s.err = err
	s.link = nil
	s.calls.fail(func(*call) error { return err })
	failed := s.pending.drain()
	for _, c := range s.consumers {
		if c != nil {
			c.endLocked(err)
		}
	}
	s.cond.Broadcast()
	s.mu.Unlock()
	s.c.change(func(m map[int64]*Session) { delete(m, s.id) })
	for _, p := range failed {
		p.done(err)
	}
}

// detach takes the link away if it is l.
func (s *Session) detach(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == l {
		s.link = nil
	}
}

// handle handles a frame of the session's channel, on the read goroutine.
func (s *Session) handle(l *link, f core.Frame) error {
	switch f.Type {
	case core.TypeReceive:
		if err := s.receive(l, f); err != nil {
			return err
		}
	case core.TypeReceiveLarge:
		if err := s.receiveLarge(l, f); err != nil {
			return err
		}
	case core.TypeReceiveContinuation:
		if err := s.receiveContinuation(l, f); err != nil {
			return err
		}
	case core.TypePacketsConfirmed:
		return s.confirmed(f)
	case core.TypeNullResponse:
		var p core.NullResponse
		if err := p.Decode(f.Payload, s.c.wireVersion()); err != nil {
			return err
		}
		s.count(l, f)
		s.answered(f.Type, p.CorrelationID, answer{})
		return nil
	case core.TypeCredits, core.TypeFailCredits:
		n, address, err := core.DecodeCredits(f.Payload)
		if err != nil {
			return err
		}
		s.credited(address, int(n), f.Type == core.TypeFailCredits)
	default:
		return s.handleOther(l, f)
	}
	s.count(l, f)
	return nil
}

func (s *Session) handleOther(l *link, f core.Frame) error {
	p, err := core.Decode(f.Type, f.Payload, s.c.wireVersion())
	if err != nil {
		return err
	}
	s.count(l, f)
	switch p := p.(type) {
	case *core.Exception:
		s.answered(f.Type, p.CorrelationID.Or(core.NoCorrelation), answer{err: p.Err()})
	case *core.XAResponse:
		s.answered(f.Type, p.CorrelationID.Or(core.NoCorrelation), answer{packet: p})
	case *core.DisconnectConsumer:
		s.disconnectConsumer(l, p.ConsumerID)
	default:
		s.answered(f.Type, core.NoCorrelation, answer{packet: p})
	}
	return nil
}

// count counts a packet that was handled, and confirms when it is time.
func (s *Session) count(l *link, f core.Frame) {
	if s.c.cfg.ConfirmationWindow < 0 || !core.Counted(f.Type, f.Payload) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, due := s.conf.Received(len(f.Raw)); due {
		p := core.PacketsConfirmed{CommandID: id}
		s.scratch = p.Append(s.scratch[:0], s.id)
		s.put(l, core.TypePacketsConfirmed, s.scratch)
	}
}

// confirmed handles PACKETS_CONFIRMED: sends it covers are done.
func (s *Session) confirmed(f core.Frame) error {
	var p core.PacketsConfirmed
	if err := p.Decode(f.Payload); err != nil {
		return err
	}
	s.mu.Lock()
	if !s.conf.Enabled() {
		s.mu.Unlock()
		return nil
	}
	if err := s.conf.Confirmed(p.CommandID); err != nil {
		s.mu.Unlock()
		return nil // the ends count differently; the count goes on from the broker's
	}
	done := s.pending.upTo(p.CommandID)
	s.cond.Broadcast()
	s.mu.Unlock()
	for _, d := range done {
		d.done(nil)
	}
	return nil
}

// answered gives an answer to the call or the send it belongs to.
func (s *Session) answered(t core.Type, correlation int64, a answer) {
	s.mu.Lock()
	if correlation > 0 {
		p, ok := s.pending.take(correlation)
		s.mu.Unlock()
		if ok {
			p.done(a.err)
		}
		return
	}
	k := s.calls.take(t, correlation)
	s.mu.Unlock()
	if k != nil {
		k.finish(a)
	}
}

// wrap says what was being done. An end of ctx or of the session stays recognizable.
func wrap(err error, doing string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("core client: "+doing+": %w", append(args, err)...)
}
