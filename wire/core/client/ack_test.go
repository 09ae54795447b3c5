package client

import (
	"errors"
	"testing"

	"github.com/saranga-mq/saranga/wire/core"
)

// TestStaleAck: an acknowledgement that waited for the connection while the session was made anew is not sent: the new
// session may have got other messages before that one, and the broker would take them for acknowledged.
func TestStaleAck(t *testing.T) {
	b := newFakeBroker(t, func(c *fakeConn) {
		c.serve(func(ch int64, p core.Packet) bool {
			if p.Type() == core.TypeStart {
				deliver(c, ch, 1, 100)
			}
			return false
		})
	})
	cfg := b.config()
	cfg.BlockOnAcknowledge = true
	ctx := within(t)
	s, err := dial(t, cfg).NewSession(ctx, autoCommit)
	must(t, err)
	c, err := s.NewConsumer(ctx, "q", ConsumerOptions{})
	must(t, err)
	must(t, s.Start(ctx))
	m, err := c.Receive(ctx)
	must(t, err)

	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	s.detach(l) // the connection is lost
	acked := make(chan error, 1)
	go func() { acked <- m.Ack() }()
	eventually(t, "the ack to wait for the connection", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.worked
	})
	s.mu.Lock()
	s.epoch++ // as recreate does
	s.link = l
	s.cond.Broadcast()
	s.mu.Unlock()
	if err := <-acked; !errors.Is(err, ErrRedelivered) {
		t.Errorf("got %v", err)
	}
	must(t, s.Close(ctx))
	for _, x := range b.conn(0).sent() {
		if x.packet.Type() == core.TypeAcknowledge {
			t.Errorf("sent %+v", x.packet)
		}
	}
}
