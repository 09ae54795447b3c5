package broker_test

import (
	"slices"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
)

// Artemis' client throws away what it has received when it rolls a branch back, and Artemis returns all of it to the
// queue, not only what was acknowledged in the branch (ServerSessionImpl.doRollback).
func TestXARollbackReturnsWhatWasDelivered(t *testing.T) {
	b := brokertest.New(t, nil)
	b.CreateAnycast("q")
	c := b.Connect(brokertest.AutoCommit)
	for _, text := range []string{"1", "2", "3"} {
		if err := c.Send(brokertest.Text("q", text, message.Anycast)); err != nil {
			t.Fatal(err)
		}
	}
	xa := b.Connect(broker.SessionOptions{XA: true})
	x := broker.Xid{Format: 1, Global: "g", Branch: "b"}
	k, err := xa.Consume(broker.ConsumerOptions{Queue: "q"}, 3)
	if err != nil {
		t.Fatal(err)
	}
	got := k.Wait(3)
	xa.Act(func(w *broker.Work) {
		if err := xa.XAStart(w, x); err != nil {
			t.Error(err)
		}
	})
	if err := xa.Do(func(w *broker.Work, a broker.Answer) { xa.Acknowledge(w, k.ID, got[0].ID, false, a) }); err != nil {
		t.Fatal(err)
	}
	if err := xa.XAEnd(x); err != nil {
		t.Fatal(err)
	}
	if err := xa.Do(func(w *broker.Work, a broker.Answer) {
		if err := xa.XARollback(w, x, a); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if n := k.Outstanding(); n != 0 {
		t.Errorf("%d messages are still out", n)
	}
	xa.Act(func(w *broker.Work) { k.Grant(w, 3) })
	var texts []string
	var counts []int32
	for _, d := range k.Wait(6)[3:] {
		texts, counts = append(texts, d.Text), append(counts, d.Count)
	}
	if !slices.Equal(texts, []string{"1", "2", "3"}) || !slices.Equal(counts, []int32{2, 1, 1}) {
		t.Errorf("got %v with counts %v", texts, counts)
	}
}
