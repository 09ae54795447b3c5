package client

import (
	"context"
	"fmt"
	"slices"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// Producer sends messages to one address, or to the address of each message.
type Producer struct {
	s       *Session
	id      int32
	address string // empty: each message's own
	credits *credits
}

// credits are the producer credits of an address, shared by the session's
// producers. Guarded by the session's lock.
type credits struct {
	units    []byte // the address in UTF-16LE
	balance  int    // bytes that may be sent
	arriving int    // bytes asked for and not yet granted
	full     bool   // the broker said that the address is full
}

// NewProducer announces a producer for address; an empty one sends to any.
func (s *Session) NewProducer(ctx context.Context, address string) (*Producer, error) {
	if err := s.lock(ctx); err != nil {
		return nil, wrap(err, "create producer for %s", address)
	}
	defer s.mu.Unlock()
	s.producers++
	p := &Producer{s: s, id: s.producers, address: address}
	if address != "" {
		p.credits = s.creditsOf(address)
	}
	if !s.c.wireVersion().BeforeProducerMetrics() {
		s.putPacket(s.link, &core.CreateProducer{ID: p.id, Address: optional(address)})
	}
	s.link.flushSoon(0)
	return p, nil
}

// Address returns the producer's address, empty if it has none.
func (p *Producer) Address() string { return p.address }

// Close withdraws the producer.
func (p *Producer) Close(ctx context.Context) error {
	if p.s.c.wireVersion().BeforeProducerMetrics() {
		return nil
	}
	return wrap(p.s.send(ctx, &core.RemoveProducer{ID: p.id}), "close producer")
}

// creditsOf returns the credits of an address, asking for the first ones. mu is held.
func (s *Session) creditsOf(address string) *credits {
	units := buf.AppendSSUnits(nil, address)
	cr := s.credits[string(units)]
	if cr == nil {
		cr = &credits{units: units}
		s.credits[string(units)] = cr
		if s.c.cfg.ProducerWindow > 0 {
			s.request(cr, int(s.c.cfg.ProducerWindow)/2)
		}
	}
	return cr
}

// request asks for n bytes of credits. mu is held.
func (s *Session) request(cr *credits, n int) {
	if n <= 0 || s.link == nil {
		return
	}
	cr.arriving += n
	s.scratch = core.AppendCredits(s.scratch[:0], core.TypeRequestCredits, s.id, int32(n), cr.units)
	s.put(s.link, core.TypeRequestCredits, s.scratch)
}

// credited takes credits that the broker grants, with or without a complaint.
func (s *Session) credited(address []byte, n int, full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cr := s.credits[string(address)]
	if cr == nil {
		return
	}
	cr.balance += n
	cr.arriving = max(0, cr.arriving-n)
	cr.full = cr.full || full
	s.cond.Broadcast()
}

// acquire takes size bytes of credits, waiting for them. mu is held.
func (s *Session) acquire(ctx context.Context, cr *credits, size int) error {
	if s.c.cfg.ProducerWindow < 0 {
		return nil
	}
	needed := max(size, int(s.c.cfg.ProducerWindow)/2)
	if cr.balance+cr.arriving < needed {
		s.request(cr, needed-cr.arriving)
	}
	for {
		err := s.awaitLocked(ctx, func() bool { return s.link != nil && (cr.balance >= size || cr.full) })
		if err != nil {
			return err
		}
		if cr.full {
			cr.full, cr.balance = false, 0
			return &core.Error{Code: core.AddressFull, Message: fmt.Sprintf("AMQ219058: Address %q is full. Message encode size = %dB", buf.StringFromSS(cr.units), size)}
		}
		if cr.balance >= size {
			cr.balance -= size
			return nil
		}
	}
}

// Send sends a message. It waits for the broker's answer if the message is
// durable (unless Config.NoBlockOnDurableSend) or Config.BlockOnNonDurableSend
// is set; never in a transaction, whose commit answers for all. A message
// without an address gets the producer's. A body of MinLargeMessageSize and
// more is sent in chunks.
func (p *Producer) Send(ctx context.Context, m *message.Builder) error {
	cfg := &p.s.c.cfg
	wait := cfg.BlockOnNonDurableSend
	if m.Durable {
		wait = !cfg.NoBlockOnDurableSend
	}
	return p.sendBuilt(ctx, m, wait && p.s.opts.AutoCommitSends, nil)
}

// SendAsync sends a message without waiting. done is called once: with nil
// when the broker has the message (and, if it is durable, has it on disk), else
// with the failure. It is called on the connection's read goroutine, or on
// whichever goroutine ends the session.
func (p *Producer) SendAsync(ctx context.Context, m *message.Builder, done func(error)) error {
	return p.sendBuilt(ctx, m, false, done)
}

func (p *Producer) sendBuilt(ctx context.Context, m *message.Builder, wait bool, done func(error)) error {
	if m.Address == nil && p.address != "" {
		m.Address = &p.address
	}
	if len(m.Body)+4 > int(p.s.c.cfg.MinLargeMessageSize) {
		return p.sendLargeBody(ctx, m, wait, done)
	}
	cr := p.credits
	if m.Address != nil && *m.Address != p.address {
		p.s.mu.Lock()
		cr = p.s.creditsOf(*m.Address)
		p.s.mu.Unlock()
	}
	return p.send(ctx, cr, m.AppendTo(nil), wait, done)
}

// SendEncoded sends a MSG (the 2.x form) that the caller has encoded, to the
// address in it, which must be the producer's. msg is the caller's again when
// it returns. wait and not waiting are as in Send.
func (p *Producer) SendEncoded(ctx context.Context, msg []byte, wait bool) error {
	return p.send(ctx, p.credits, msg, wait, nil)
}

// SendEncodedAsync is SendEncoded without waiting; done as in SendAsync.
func (p *Producer) SendEncodedAsync(ctx context.Context, msg []byte, done func(error)) error {
	return p.send(ctx, p.credits, msg, false, done)
}

// send sends an encoded message. With wait it waits for the answer, with done
// it has it called, else none is asked for.
func (p *Producer) send(ctx context.Context, cr *credits, msg []byte, wait bool, done func(error)) error {
	s := p.s
	v := s.c.wireVersion()
	if v.BeforeAddressChange() {
		body, headers, err := core.SplitMessage(msg, core.VersionCurrent)
		if err != nil {
			return err
		}
		msg = core.AppendMessage(nil, body, headers, v)
	}
	if err := s.lock(ctx); err != nil {
		return wrap(err, "send to %s", p.address)
	}
	if cr != nil {
		if err := s.acquire(ctx, cr, len(msg)); err != nil {
			s.mu.Unlock()
			return wrap(err, "send to %s", p.address)
		}
	}
	s.worked = true
	l := s.link
	var k *call
	var correlation int64
	switch {
	case wait:
		k = s.newCall(core.TypeNullResponse, true)
		correlation = k.correlation
	case done != nil:
		s.asyncID++
		correlation = s.asyncID
		s.pending.push(sent{correlation: correlation, command: s.conf.NextSent(), done: done})
	}
	n := core.SendFrameSize(len(msg), v)
	l.out.Lock()
	frame := core.AppendSendHeader(l.out.Reserve(n)[:0], s.id, len(msg), v)
	frame = append(frame, msg...)
	frame = core.AppendSendTail(frame, wait || done != nil, correlation, p.id, v)
	s.conf.Sent(frame)
	size := l.out.Size()
	l.out.Unlock()
	s.mu.Unlock()
	if wait {
		_, err := s.answer(ctx, l, k)
		return wrap(err, "send to %s", p.address)
	}
	l.flushSoon(size)
	return nil
}

// sent is a message that was sent and is not waited for.
type sent struct {
	correlation int64
	command     int32 // its command id, if the session has a confirmation window
	done        func(error)
}

// sends are those without an answer yet, oldest first.
type sends struct{ queue[sent] }

// take removes the one with that correlation id: the oldest, unless the broker
// skipped one that a confirmation has covered.
func (q *sends) take(correlation int64) (sent, bool) {
	for i, p := range q.all() {
		switch {
		case p.correlation == correlation && i == 0:
			return q.pop(), true
		case p.correlation == correlation:
			q.list = slices.Delete(q.list, q.head+i, q.head+i+1)
			return p, true
		case p.correlation > correlation:
			return sent{}, false
		}
	}
	return sent{}, false
}

// upTo removes and returns those with a command id of at most id.
func (q *sends) upTo(id int32) []sent {
	var done []sent
	for q.len() > 0 && q.all()[0].command <= id {
		done = append(done, q.pop())
	}
	return done
}

// drain removes and returns all.
func (q *sends) drain() []sent {
	list := q.all()
	*q = sends{}
	return list
}
