package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/saranga-mq/saranga/wire/core"
)

// retryCreate is how long to wait when the broker is not ready to create sessions.
const retryCreate = 10 * time.Millisecond

// lost handles the end of a link, on its read goroutine.
func (c *Conn) lost(l *link) {
	c.mu.Lock()
	if c.link != l {
		c.mu.Unlock()
		return
	}
	c.link = nil
	c.linkUp = make(chan struct{})
	again := !c.closed && c.cfg.ReconnectAttempts != 0
	if again {
		c.work.Go(func() { c.reconnect(l.err) })
	}
	c.mu.Unlock()
	for _, s := range *c.sessions.Load() {
		s.detach(l)
	}
	if !again {
		c.finish(l.err)
	}
}

// reconnect makes a new link and brings the sessions over.
func (c *Conn) reconnect(cause error) {
	c.setup.Lock()
	defer c.setup.Unlock()
	for {
		l, err := c.connect(c.ctx, c.cfg.ReconnectAttempts, c.NodeID())
		if err != nil {
			c.finish(fmt.Errorf("core client: the connection was lost (%w) and not made again: %w", cause, err))
			return
		}
		for _, s := range *c.sessions.Load() {
			if err := s.resume(c.ctx, l); err != nil {
				l.mu.Lock()
				ended := l.ended
				l.mu.Unlock()
				if ended {
					break
				}
				s.end(err)
			}
		}
		if c.use(l) {
			return
		}
		for _, s := range *c.sessions.Load() {
			s.detach(l)
		}
		if c.ctx.Err() != nil {
			l.fail(ErrClosed)
			return
		}
	}
}

// resume goes on with the session on a new link.
func (s *Session) resume(ctx context.Context, l *link) error {
	s.mu.Lock()
	name, last, resumable := s.name, s.conf.LastReceived(), s.conf.Resumable()
	s.mu.Unlock()
	if resumable {
		p, err := l.request(ctx, &core.ReattachSession{Name: name, LastConfirmedCommandID: last}, core.TypeReattachSessionResponse)
		if err != nil {
			return wrap(err, "reattach session %s", name)
		}
		if r := p.(*core.ReattachSessionResponse); r.Reattached && s.reattach(l, r.LastConfirmedCommandID) {
			return nil
		}
	}
	return s.recreate(ctx, l)
}

// reattach sends again what the broker has not got.
func (s *Session) reattach(l *link, last int32) bool {
	s.mu.Lock()
	frames, err := s.conf.Replay(last)
	if err != nil {
		s.mu.Unlock()
		return false
	}
	done := s.pending.upTo(last)
	l.out.Lock()
	l.out.Append(frames)
	l.out.Unlock()
	s.link = l
	s.cond.Broadcast()
	s.mu.Unlock()
	l.out.Flush()
	for _, p := range done {
		p.done(nil)
	}
	return true
}

// recreate makes the session anew: it has lost what was under way.
func (s *Session) recreate(ctx context.Context, l *link) error {
	s.mu.Lock()
	s.epoch++
	if s.worked && !(s.opts.AutoCommitSends && s.opts.AutoCommitAcks) {
		s.doomed = true
	}
	s.worked = false
	s.reset()
	failed := s.pending.drain()
	s.calls.fail(func(k *call) error {
		if k.commit {
			return &core.Error{Code: core.TransactionOutcomeUnknown, Message: "the connection was lost during the commit"}
		}
		return unblocked
	})
	for _, cr := range s.credits {
		cr.balance, cr.arriving, cr.full = 0, 0, false
	}
	for _, c := range s.consumers {
		if c != nil {
			c.lostLocked()
		}
	}
	s.mu.Unlock()
	for _, p := range failed {
		p.done(unblocked)
	}
	for {
		err := s.create(ctx, l, true)
		if err == nil {
			break
		}
		if !errors.Is(err, core.SessionCreationRejected) {
			return wrap(err, "create session again")
		}
		select {
		case <-time.After(retryCreate):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	s.mu.Lock()
	s.link = l
	for _, c := range s.consumers {
		if c != nil {
			s.recreateConsumer(l, c)
		}
	}
	if s.started {
		s.putPacket(l, &core.Start{})
	}
	for i := range s.metadata {
		s.putPacket(l, &s.metadata[i])
	}
	if s.xid != nil {
		s.putPacket(l, &core.XA{Op: core.TypeXAFailed, Xid: *s.xid})
	}
	if w := int(s.c.cfg.ProducerWindow); w > 0 {
		for _, cr := range s.credits {
			s.request(cr, w)
		}
	}
	s.cond.Broadcast()
	s.mu.Unlock()
	l.out.Flush()
	return nil
}

var unblocked = &core.Error{Code: core.Unblocked, Message: "the connection was lost before the broker answered"}

// lostLocked drops what the consumer has of the lost session.
func (c *Consumer) lostLocked() {
	interrupted := &core.Error{Code: core.LargeMessageInterrupted, Message: "the session was made anew while the message was being received"}
	for _, m := range c.fifo.all() {
		if m.large != nil {
			m.large.err = interrupted
		}
	}
	c.clearLocked(false)
	if c.incoming != nil {
		c.incoming.err = interrupted
		c.incoming = nil
	}
	c.consumed, c.taken = 0, 0
	c.cond.Broadcast()
}

// recreateConsumer creates a consumer, and its queue if that may be gone, and
// gives it its credits. Errors are silent, as the broker answers none.
func (s *Session) recreateConsumer(l *link, c *Consumer) {
	if q := c.info; q != nil && (!q.Durable || q.AutoCreated) {
		s.putPacket(l, &core.CreateQueueV2{
			CreateQueue: core.CreateQueue{Address: q.Address.V, Name: c.queue, Filter: q.Filter, Durable: q.Durable, Temporary: q.Temporary},
			AutoCreated: q.AutoCreated, RoutingType: q.RoutingType, MaxConsumers: q.MaxConsumers, PurgeOnNoConsumers: q.PurgeOnNoConsumers,
			QueueAttributes: q.QueueAttributes,
		})
	}
	s.putPacket(l, c.creation(false))
	switch {
	case !c.opts.Slow:
		c.give(c.window)
	case c.asked:
		c.give(1)
	}
	if c.forced > c.marked {
		s.putPacket(l, &core.ForceDelivery{ConsumerID: c.id, Sequence: c.forced})
	}
}
