package broker_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
)

// TestStopEndsConnections: a connection that is still there when the broker stops is closed and waited for, and what it does
// at its end is stored.
func TestStopEndsConnections(t *testing.T) {
	b := brokertest.New(t, nil)
	b.CreateAnycast("q")
	p := b.Connect(brokertest.AutoCommit)
	if err := p.Send(brokertest.Text("q", "a", message.Anycast)); err != nil {
		t.Fatal(err)
	}
	p.Disconnect(false)
	var conn *broker.Connection
	w := b.NewWork()
	reader := make(chan struct{})
	conn = b.Broker.Connect("late", "127.0.0.1:1", "CORE", func(string) { close(reader) })
	conn.Await()
	s, err := conn.NewSession(broker.SessionOptions{Name: "late", Principal: security.Internal("late"), Client: ignore{}, AutoCommitSends: true, AutoCommitAcks: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start(w)
	k := &ignoring{}
	c, err := s.CreateConsumer(w, broker.ConsumerOptions{ID: 1, Queue: "q", Encodings: broker.CoreOnly, Sink: k})
	if err != nil {
		t.Fatal(err)
	}
	c.Grant(w, 10)
	w.Flush()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-reader
		s.Acknowledge(w, 1, k.id, true, broker.Answer{})
		conn.End(w, true)
	}()
	if err := b.Broker.Stop(); err != nil {
		t.Fatal(err)
	}
	if n := b.Store.Messages(); n != 0 {
		t.Errorf("%d messages are stored: the acknowledgement came after the store was closed", n)
	}
	if n := len(b.Connections()); n != 0 {
		t.Errorf("%d connections had not ended when the broker had stopped", n)
	}
	<-ended
}

// TestStopWaitsForGoroutines: what runs for a connection ends before the store is closed.
func TestStopWaitsForGoroutines(t *testing.T) {
	b := brokertest.New(t, nil)
	begun, done := make(chan struct{}), false
	b.Go(func() {
		close(begun)
		<-b.Done()
		done = true
	})
	<-begun
	if err := b.Broker.Stop(); err != nil {
		t.Fatal(err)
	}
	if !done {
		t.Error("Stop has not waited")
	}
}

// TestFailedStoreLetsWaitersGo: whoever waits for a store that has failed would keep the broker from stopping.
func TestFailedStoreLetsWaitersGo(t *testing.T) {
	b := brokertest.New(t, nil)
	b.Store.Hold()
	waited := make(chan error)
	go func() { waited <- b.Sync() }()
	b.Until("somebody to wait", func() bool { return b.Store.Waiting() == 1 })
	b.Store.Fail(errors.New("the disk is gone"))
	select {
	case err := <-waited:
		if !errors.Is(err, broker.ErrStoreFailed) {
			t.Error(err)
		}
	case <-time.After(brokertest.Deadline):
		t.Error("it waits for ever")
	}
}

type ignore struct{}

func (ignore) Answer(*broker.Work, broker.Answer, error) {}

// ignoring is a sink that notes the last message's id.
type ignoring struct{ id int64 }

func (*ignoring) MarkDirty() bool            { return false }
func (*ignoring) Flush()                     {}
func (*ignoring) Plain() bool                { return true }
func (*ignoring) QueueGone(*broker.Consumer) {}
func (k *ignoring) Deliver(_ *broker.Consumer, m *message.Message, _ int32) (int, broker.Outcome) {
	k.id = m.ID()
	return 1, broker.Delivered
}

// TestMetadataIsBounded: a client cannot fill the memory by telling about itself.
func TestMetadataIsBounded(t *testing.T) {
	b := brokertest.New(t, nil)
	refused := func(err error) bool { return err != nil && broker.AsError(err).Code == broker.IllegalState }
	c := b.Connect(brokertest.AutoCommit)
	for i := range 256 {
		if err := c.SetMetadata(strings.Repeat("k", i+1), "v", false); err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
	}
	if err := c.SetMetadata("one more", "v", false); !refused(err) {
		t.Errorf("one entry more: %v", err)
	}
	if err := c.SetMetadata("k", "changed", false); err != nil || c.Metadata()["k"] != "changed" {
		t.Errorf("a change: %v", err)
	}
	c = b.Connect(brokertest.AutoCommit)
	for range 3 {
		if err := c.SetMetadata("k", strings.Repeat("v", 256<<10-1), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.SetMetadata("k", strings.Repeat("v", 256<<10), false); !refused(err) {
		t.Errorf("one byte more: %v", err)
	}
	if err := c.SetMetadata("l", "", false); !refused(err) {
		t.Errorf("one key more: %v", err)
	}
	if err := c.SetMetadata("k", "", false); err != nil {
		t.Error(err)
	}
	if err := c.SetMetadata("l", strings.Repeat("v", 1000), false); err != nil {
		t.Error(err)
	}
}
