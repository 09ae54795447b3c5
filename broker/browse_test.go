package broker_test

import (
	"slices"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
)

// TestBrowserSeesAllOnce: a browser, and a consumer of a non-destructive queue, that is in the middle of a queue when
// messages come to its front, or late ones with old ids to its end, gets every message once: the ids are not in the order of
// the queue.
func TestBrowserSeesAllOnce(t *testing.T) {
	for name, c := range map[string]struct {
		browse, nonDestructive bool
	}{"browser": {browse: true}, "non-destructive": {nonDestructive: true}} {
		t.Run(name, func(t *testing.T) {
			b := brokertest.New(t, nil)
			cfg := b.DefaultQueue("q", "q")
			cfg.Routing, cfg.NonDestructive = message.Anycast, c.nonDestructive
			if _, err := b.CreateQueue(cfg, broker.CreateOptions{AutoCreateAddress: true}); err != nil {
				t.Fatal(err)
			}
			p := b.Connect(brokertest.AutoCommit)
			large := b.Connect(brokertest.AutoCommit)
			send := func(text string, delay int64) {
				m := brokertest.Text("q", text, message.Anycast)
				if delay > 0 {
					m.Set(message.PropScheduled, b.Wheel().Now()+delay)
				}
				if err := p.Send(m); err != nil {
					t.Fatal(err)
				}
			}
			id, body, err := large.BeginLarge(true) // it has its id now and comes later
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"1", "2", "3", "4"} {
				send(text, 0)
			}
			for i, text := range []string{"s1", "s2", "s3", "s4"} {
				send(text, int64(100*(i+1)))
			}
			reader := b.Connect(brokertest.AutoCommit)
			b.Advance(100) // s1 stands in front
			k, err := reader.Consume(broker.ConsumerOptions{Queue: "q", Browse: c.browse}, 0)
			if err != nil {
				t.Fatal(err)
			}
			next := func(n int64) {
				t.Helper()
				seen := len(k.Got())
				reader.Act(func(w *broker.Work) { k.Grant(w, n) })
				k.Wait(seen + int(n))
			}
			next(2) // s1, 1
			b.Advance(100)
			next(2) // s2, 2
			if err := large.SendBegun(message.New("q", message.Bytes), id, body, []byte("late")); err != nil {
				t.Fatal(err)
			}
			b.Advance(100)
			next(2) // s3, 3
			b.Advance(100)
			next(3) // s4, 4, late
			var got []string
			for _, d := range k.Got() {
				got = append(got, d.Text)
			}
			if want := []string{"s1", "1", "s2", "2", "s3", "3", "s4", "4", ""}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			reader.Act(func(w *broker.Work) { k.Grant(w, 10) })
			send("5", 0)
			if d := k.Wait(10); len(d) != 10 || d[9].Text != "5" {
				t.Errorf("afterwards %v", d[9:])
			}
		})
	}
}

// TestStraysAreForgotten: what a consumer of a non-destructive queue remembers is bounded by what is in the queue.
func TestStraysAreForgotten(t *testing.T) {
	b := brokertest.New(t, nil)
	cfg := b.DefaultQueue("q", "q")
	cfg.Routing, cfg.NonDestructive = message.Anycast, true
	if _, err := b.CreateQueue(cfg, broker.CreateOptions{AutoCreateAddress: true}); err != nil {
		t.Fatal(err)
	}
	p, large := b.Connect(brokertest.AutoCommit), b.Connect(brokertest.AutoCommit)
	k, err := b.Connect(brokertest.AutoCommit).Consume(broker.ConsumerOptions{Queue: "q"}, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		id, body, err := large.BeginLarge(true)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Send(brokertest.Text("q", "", message.Anycast)); err != nil {
			t.Fatal(err)
		}
		if err := large.SendBegun(message.New("q", message.Bytes), id, body, []byte("late")); err != nil {
			t.Fatal(err)
		}
		k.Wait(2 * (i + 1))
		if _, err := b.Queue("q").RemoveMessages(""); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(k.Got()); got != 600 {
		t.Errorf("%d deliveries, want 600", got)
	}
	if n := k.Strays(); n == 0 || n > 70 {
		t.Errorf("%d strays are remembered of an empty queue", n)
	}
}
