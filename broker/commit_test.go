package broker_test

import (
	"errors"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
)

// TestDuplicateCommitWaits: who is told that a transaction is a duplicate takes the first one for safe, so that must be stored by then.
func TestDuplicateCommitWaits(t *testing.T) {
	b := brokertest.New(t, nil)
	b.CreateAnycast("q")
	send := func(c *brokertest.Client) {
		c.Act(func(w *broker.Work) {
			m := brokertest.Text("q", "m", message.Anycast)
			m.Durable = true
			m.Set(message.PropDuplicateID, []byte("once"))
			built, err := b.Pool().Build(m)
			if err != nil {
				t.Fatal(err)
			}
			_ = c.Session.Send(w, built, broker.SendOptions{Routing: message.Anycast})
			c.Commit(w, broker.Answer{Kind: 1})
		})
	}
	first, again := b.Connect(broker.SessionOptions{}), b.Connect(broker.SessionOptions{})
	b.Store.Hold()
	send(first)
	send(again)
	if a := again.Answers(); len(a) != 0 {
		t.Fatalf("told %v before the first transaction was stored", a)
	}
	b.Store.Tell(-1)
	if a := first.Answers(); len(a) != 1 || a[0].Err != nil {
		t.Errorf("the first commit: %v", a)
	}
	var refused *broker.Error
	if a := again.Answers(); len(a) != 1 || !errors.As(a[0].Err, &refused) || refused.Code != broker.DuplicateIDRejected {
		t.Errorf("the second commit: %v", a)
	}
}
