package server_test

import (
	"testing"

	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// Consumers, credit, acknowledgements, forced deliveries: core-protocol §6.3 to §6.6, §11 rows 14 to 19 and 37.

func TestCredit(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.CreateAnycast("q")
	p := w.client()
	p.sendTexts("q", "a", "b", "c", "d", "e")
	r, ok := p.ask(&core.CreateConsumer{QueueName: "q", RequiresResponse: true}).(*core.QueueQueryResponse)
	if !ok || r.ConsumerCount != 1 || r.MessageCount != 5 || r.Address != buf.Of("q") {
		t.Fatalf("%+v", r)
	}
	p.do(&core.Start{})
	p.quiet() // a new consumer has no credit
	p.do(&core.FlowToken{Credits: 1})
	a := p.messages(1, "a")[0]
	p.quiet() // one message may overdraw
	p.do(&core.FlowToken{Credits: int32(a.size) - 1})
	p.quiet()
	p.do(&core.FlowToken{Credits: 1})
	p.messages(1, "b")
	p.do(&core.FlowToken{Credits: 10_000}, &core.Stop{})
	p.messages(1, "c", "d", "e")
	is(t, p.next(), null())
	p.do(&core.FlowToken{Credits: 0})
	p.sendTexts("q", "f")
	p.do(&core.Start{})
	p.quiet() // 0 takes all credit away
	p.do(&core.FlowToken{Credits: -1})
	p.messages(1, "f")
	p.sendTexts2("q", "g", "h") // -1 lifts the limit for good
}

// sendTexts2 sends texts to the queue of the peer's own consumer: each comes before its answer or after it.
func (p *peer) sendTexts2(address string, texts ...string) {
	p.t.Helper()
	for _, s := range texts {
		p.do(&core.Send{Message: text(address, s, nil), RequiresResponse: true, CorrelationID: -5})
		for range 2 {
			switch x := p.next().(type) {
			case *core.Receive, *core.NullResponse:
			default:
				p.t.Errorf("got %+v", x)
			}
		}
	}
}

func TestUnknownAcknowledgement(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.CreateAnycast("q")
	p := w.client()
	p.sendTexts("q", "a", "b", "c")
	p.attach(5, "q", -1)
	list := p.messages(1, "a", "b", "c")
	refused := exception(104, "AMQ229027: Could not find reference on consumer ID=5, messageId = 777 queue = q")
	// alone it touches nothing else
	is(t, p.ask(&core.Acknowledge{Individual: true, ConsumerID: 5, MessageID: 777, RequiresResponse: true}), refused)
	p.quiet()
	is(t, p.ask(&core.Acknowledge{Individual: true, ConsumerID: 5, MessageID: list[1].id, RequiresResponse: true}), null())
	// cumulative it costs the consumer everything that is outstanding
	p.do(&core.Acknowledge{ConsumerID: 5, MessageID: 777, RequiresResponse: true})
	seen := map[string]int32{}
	for range 3 {
		f := p.nextFrame()
		if f.Type == core.TypeException {
			x, err := core.Decode(f.Type, append([]byte(nil), f.Payload...), 136)
			if err != nil {
				t.Fatal(err)
			}
			is(t, x, refused)
			continue
		}
		var r core.Receive
		if err := r.Decode(f.Payload, 136); err != nil {
			t.Fatal(err)
		}
		seen[parsed(t, r.Message)] = r.DeliveryCount
	}
	if len(seen) != 2 || seen["a"] != 2 || seen["c"] != 2 {
		t.Errorf("redelivered %v, want a and c with count 2", seen)
	}
}

// TestMixedAcknowledgements: clients mix both kinds on one consumer once priorities come.
func TestMixedAcknowledgements(t *testing.T) {
	w := newWorld(t, nil, nil)
	q := w.CreateAnycast("q")
	p := w.client()
	p.sendTexts("q", "a", "b", "c", "d")
	p.attach(0, "q", -1)
	list := p.messages(1, "a", "b", "c", "d")
	is(t, p.ask(&core.Acknowledge{Individual: true, MessageID: list[2].id, RequiresResponse: true}), null())
	is(t, p.ask(&core.Acknowledge{MessageID: list[1].id, RequiresResponse: true}), null())
	if n := q.MessageCount(); n != 1 {
		t.Errorf("%d messages, want d", n)
	}
	is(t, p.ask(&core.Acknowledge{MessageID: list[3].id, RequiresResponse: true}), null())
	if n := q.MessageCount(); n != 0 {
		t.Errorf("%d messages", n)
	}
}

func (p *peer) forced(seq int64) {
	p.t.Helper()
	f := p.nextFrame()
	var r core.Receive
	if f.Type != core.TypeReceive {
		p.t.Fatalf("got %v, want a forced delivery", f.Type)
	}
	if err := r.Decode(f.Payload, p.v); err != nil {
		p.t.Fatal(err)
	}
	r.Message = append([]byte(nil), r.Message...)
	if got, ok := marker(&r); !ok || got != seq || r.DeliveryCount != 0 {
		p.t.Errorf("got %d %t, count %d, want the forced delivery %d", got, ok, r.DeliveryCount, seq)
	}
}

func TestForcedDelivery(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.CreateAnycast("q")
	p := w.client()
	is(t, func() core.Packet { r := p.ask(&core.CreateConsumer{QueueName: "q"}, &core.Stop{}); return r }(), null())
	p.do(&core.ForceDelivery{Sequence: 9}) // not started, no credit
	p.forced(9)
	p.sendTexts("q", "a", "b")
	p.do(&core.Start{}, &core.ForceDelivery{Sequence: 10})
	p.forced(10) // no credit: it passes the messages
	p.do(&core.FlowToken{Credits: 1}, &core.ForceDelivery{Sequence: 11})
	p.messages(1, "a")
	p.forced(11)
	p.do(&core.FlowToken{Credits: -1}, &core.ForceDelivery{Sequence: 12})
	p.messages(1, "b")
	p.forced(12)
	// it is the same for a browser
	is(t, p.ask(&core.CreateConsumer{ConsumerID: 1, QueueName: "q", BrowseOnly: true}, &core.Stop{}), null())
	p.sendTexts("DLQ", "x")
	p.do(&core.Start{}, &core.FlowToken{ConsumerID: 1, Credits: -1}, &core.ForceDelivery{ConsumerID: 1, Sequence: 13})
	p.forced(13) // what is delivered to others is not shown
}

// TestBrowser: a browser is not counted, its acknowledgements have no effect, and it sees how often a message was delivered.
func TestBrowser(t *testing.T) {
	w := newWorld(t, nil, nil)
	q := w.CreateAnycast("q")
	p := w.client()
	p.sendTexts("q", "a", "b")
	r, ok := p.ask(&core.CreateConsumer{ConsumerID: 2, QueueName: "q", BrowseOnly: true, RequiresResponse: true}).(*core.QueueQueryResponse)
	if !ok || r.ConsumerCount != 0 {
		t.Fatalf("%+v", r)
	}
	p.do(&core.FlowToken{ConsumerID: 2, Credits: -1}, &core.Start{})
	list := p.messages(0, "a", "b")
	is(t, p.ask(&core.Acknowledge{ConsumerID: 2, MessageID: list[1].id, RequiresResponse: true}), null())
	if n := q.MessageCount(); n != 2 {
		t.Errorf("%d messages, want 2", n)
	}
}

// TestRollbackCounts: the counts of four messages after rollback(true), then the acknowledgement of two and rollback(false).
func TestRollbackCounts(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.CreateAnycast("q")
	w.client().sendTexts("q", "a", "b", "c", "d")
	p := w.connect(136).open(core.CreateSession{ConfirmationWindowSize: -1})
	p.attach(0, "q", -1)
	p.messages(1, "a", "b", "c", "d")
	counts := func(considerLast bool, want ...int32) (list []got) {
		t.Helper()
		is(t, p.ask(&core.Stop{}), null())
		is(t, p.ask(&core.Rollback{ConsiderLastMessageAsDelivered: considerLast}), null())
		p.do(&core.Start{})
		for i, s := range []string{"a", "b", "c", "d"} {
			g := p.message()
			if g.text != s || g.count != want[i] {
				t.Errorf("got %q count %d, want %q count %d", g.text, g.count, s, want[i])
			}
			list = append(list, g)
		}
		return list
	}
	list := counts(true, 2, 1, 1, 1)
	p.do(&core.Acknowledge{MessageID: list[1].id})
	list = counts(false, 3, 2, 1, 1)
	// a started session may get them before the answer
	p.do(&core.Acknowledge{MessageID: list[3].id})
	is(t, p.ask(&core.Commit{CorrelationID: buf.Of(int64(-2))}), nullTo(-2))
	if n := w.Queue("q").MessageCount(); n != 0 {
		t.Errorf("%d messages", n)
	}
}

// TestConsumerClose: what a consumer had goes back to its place without the delivery being counted, unless its connection
// is lost.
func TestConsumerClose(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.CreateAnycast("q")
	p := w.client()
	p.sendTexts("q", "a", "b")
	p.attach(0, "q", -1)
	p.messages(1, "a", "b")
	is(t, p.ask(&core.ConsumerClose{}), null())
	p.attach(1, "q", -1)
	p.messages(1, "a", "b")
	p.c.Close()
	again := w.client()
	w.Until("the messages to be back", func() bool { return w.Queue("q").Counts().Delivering == 0 })
	again.attach(0, "q", -1)
	again.messages(2, "a", "b")
}

func TestMaxConsumers(t *testing.T) {
	w := newWorld(t, nil, nil)
	p := w.client()
	is(t, p.ask(&core.CreateQueueV2{CreateQueue: core.CreateQueue{Address: "a", Name: "q", RequiresResponse: true}, RoutingType: core.RoutingAnycast, MaxConsumers: 1}), null())
	p.attach(0, "q", 0)
	is(t, p.ask(&core.CreateConsumer{ConsumerID: 1, QueueName: "q", RequiresResponse: true}), exception(214, "AMQ229200: Maximum Consumer Limit Reached on Queue:(address=a,queue=q)"))
}

// TestExpired: a client that finds a message to have expired hands it back for the expiry address.
func TestExpired(t *testing.T) {
	w := newWorld(t, nil, nil)
	q := w.CreateAnycast("q")
	p := w.client()
	p.sendTexts("q", "a")
	p.attach(0, "q", -1)
	p.do(&core.Expired{MessageID: p.messages(1, "a")[0].id})
	p.quiet()
	w.Until("the message in the expiry queue", func() bool { return w.Queue("ExpiryQueue").MessageCount() == 1 && q.MessageCount() == 0 })
}
