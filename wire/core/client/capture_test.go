package client

import (
	"bytes"
	"sync"
	"testing"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/core"
)

// TestConfirmationsAsCaptured does what a real client did with a window of 500
// and a send acknowledgement handler, and must send the same bytes.
func TestConfirmationsAsCaptured(t *testing.T) {
	script := readCapture(t, "testdata/2.56.0-core-confirmations.txt")
	b, cb := newCaptureBroker(t, script)
	cfg := b.config()
	cfg.ConfirmationWindow = 500
	ctx := within(t)
	conn, err := Dial(ctx, cfg)
	must(t, err)
	if conn.NodeID() != "5c463f46-ecb1-11f1-8c1a-02fc00000001" || conn.Version() != 136 || len(conn.Topology()) != 1 {
		t.Errorf("node %q, version %d, %d nodes", conn.NodeID(), conn.Version(), len(conn.Topology()))
	}
	s, err := conn.NewSession(ctx, autoCommit)
	must(t, err)
	must(t, s.CreateQueue(ctx, QueueOptions{Name: "e.c", Durable: true, RoutingType: core.RoutingAnycast}))
	p, err := s.NewProducer(ctx, "e.c")
	must(t, err)
	eventually(t, "credits", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return p.credits.balance > 0
	})
	var done sync.WaitGroup
	done.Add(4)
	for i := range 4 {
		must(t, p.SendEncodedAsync(ctx, cb.message(t, i), func(err error) {
			if err != nil {
				t.Error(err)
			}
			done.Done()
		}))
	}
	s.Flush()
	done.Wait()
	must(t, p.Close(ctx))
	must(t, s.Close(ctx))
	must(t, conn.Close())
	if held := s.conf.Held(); held != 0 || s.conf.NextSent() != 10 { // the broker confirmed 0 to 9
		t.Errorf("%d bytes held, next packet is %d", held, s.conf.NextSent())
	}
}

// TestTransactionAsCaptured: rollbacks and a commit.
func TestTransactionAsCaptured(t *testing.T) {
	b, cb := newCaptureBroker(t, readCapture(t, "testdata/2.56.0-core-tx.txt"))
	cfg := b.config()
	cfg.AckBatchSize = 1 << 20
	ctx := within(t)
	conn, err := Dial(ctx, cfg)
	must(t, err)
	s, err := conn.NewSession(ctx, SessionOptions{})
	must(t, err)
	must(t, s.CreateQueue(ctx, QueueOptions{Name: "e.tx", Durable: true, RoutingType: core.RoutingAnycast}))
	p, err := s.NewProducer(ctx, "e.tx")
	must(t, err)
	s.Flush()
	eventually(t, "credits", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return p.credits.balance > 0
	})
	must(t, p.SendEncoded(ctx, cb.message(t, 0), false))
	must(t, p.SendEncoded(ctx, cb.message(t, 1), false))
	must(t, s.Commit(ctx))
	must(t, s.Start(ctx))
	c, err := s.NewConsumer(ctx, "e.tx", ConsumerOptions{})
	must(t, err)
	if q := c.Queue(); q.MessageCount != 2 || q.DefaultConsumerWindowSize.V != 2000 {
		t.Errorf("%+v", q)
	}
	for i, count := range []int32{1, 2, 3} {
		m, err := c.Receive(ctx)
		must(t, err)
		if m.ID() != 31 || m.DeliveryCount != count {
			t.Errorf("message %d, delivery count %d, want 31 and %d", m.ID(), m.DeliveryCount, count)
		}
		must(t, m.Ack())
		if i < 2 {
			must(t, s.Rollback(ctx, i == 0))
		}
	}
	must(t, s.Commit(ctx))
	must(t, c.Close(ctx))
	must(t, p.Close(ctx))
	must(t, s.Close(ctx))
	must(t, conn.Close())
}

// TestLargeAsCaptured: 5000 bytes in chunks of 2048. When credits are asked
// for is not compared: the real client counts a chunk after it was sent.
func TestLargeAsCaptured(t *testing.T) {
	leaveOut := []core.Type{core.TypeRequestCredits, core.TypeCredits, core.TypeFlowToken}
	script := readCapture(t, "testdata/2.56.0-core-large.txt", leaveOut...)
	b, _ := newCaptureBroker(t, script, leaveOut...)
	cfg := b.config()
	cfg.MinLargeMessageSize = 2048
	cfg.ProducerWindow = -1
	ctx := within(t)
	conn, err := Dial(ctx, cfg)
	must(t, err)
	s, err := conn.NewSession(ctx, autoCommit)
	must(t, err)
	must(t, s.CreateQueue(ctx, QueueOptions{Name: "e.l", Durable: true, RoutingType: core.RoutingAnycast}))
	p, err := s.NewProducer(ctx, "e.l")
	must(t, err)
	m := message.New("e.l", message.Default)
	m.Durable, m.Timestamp = true, 1796038195768
	must(t, p.SendLarge(ctx, m, bytes.NewReader(make([]byte, 5000))))
	must(t, s.Start(ctx))
	c, err := s.NewConsumer(ctx, "e.l", ConsumerOptions{})
	must(t, err)
	got, err := c.Receive(ctx)
	must(t, err)
	v, err := got.Core()
	must(t, err)
	if size, _ := v.Property(message.PropLargeSize).Int64(); !got.IsLarge() || got.large.Size() != 5000 || size != 5000 || got.ID() != 49 {
		t.Errorf("message %d, large %v, property %d", got.ID(), got.IsLarge(), size)
	}
	body, err := got.Body()
	must(t, err)
	chunk := make([]byte, 3000)
	if n, err := body.Read(chunk); n != 2048 || err != nil { // the capture ends before the next chunk
		t.Errorf("read %d, %v", n, err)
	}
	must(t, got.Ack())
	must(t, c.Close(ctx))
	if _, err := body.Read(chunk); err == nil {
		t.Error("the body can be read after the consumer was closed")
	}
	must(t, p.Close(ctx))
	must(t, s.Close(ctx))
	must(t, conn.Close())
}
