package broker_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
)

// A node that may not be live any more: how often it was asked, and from which question on it says no.
type mortal struct{ asked, until atomic.Int64 }

func (m *mortal) live() bool { return m.asked.Add(1) <= m.until.Load() }

func withDeadline(t *testing.T) (*brokertest.Broker, *mortal) {
	m := &mortal{}
	m.until.Store(1 << 40)
	b := brokertest.New(t, func(o *broker.Options) { o.Live = m.live })
	b.CreateAnycast("q")
	return b, m
}

// TestNoAnswerFromTheDead: whatever was asked for, no answer leaves a node that is not live any more.
func TestNoAnswerFromTheDead(t *testing.T) {
	x := broker.Xid{Format: 1, Global: "g", Branch: "b"}
	durable := func() *message.Builder {
		m := brokertest.Text("q", "m", message.Anycast)
		m.Durable = true
		return m
	}
	for name, request := range map[string]func(*brokertest.Client, *broker.Work, broker.Answer){
		"a request that waits for nothing": func(c *brokertest.Client, w *broker.Work, a broker.Answer) { c.Session.Done(w, a, nil) },
		"an error":                         func(c *brokertest.Client, w *broker.Work, a broker.Answer) { c.Session.Done(w, a, broker.ErrNoSpace) },
		"what everything appended is":      func(c *brokertest.Client, w *broker.Work, a broker.Answer) { c.DoneStored(w, a) },
		"a non-durable message": func(c *brokertest.Client, w *broker.Work, a broker.Answer) {
			m, _ := c.Session.Broker().Pool().Build(brokertest.Text("q", "m", message.Anycast))
			_ = c.Session.Send(w, m, broker.SendOptions{Answer: a, Routing: message.Anycast})
		},
		"a durable message": func(c *brokertest.Client, w *broker.Work, a broker.Answer) {
			m, _ := c.Session.Broker().Pool().Build(durable())
			_ = c.Session.Send(w, m, broker.SendOptions{Answer: a, Routing: message.Anycast})
		},
		"a commit":   func(c *brokertest.Client, w *broker.Work, a broker.Answer) { c.Commit(w, a) },
		"a rollback": func(c *brokertest.Client, w *broker.Work, a broker.Answer) { c.Rollback(w, false, a) },
		"a prepare": func(c *brokertest.Client, w *broker.Work, a broker.Answer) {
			_ = c.XAStart(w, x)
			m, _ := c.Session.Broker().Pool().Build(durable())
			_ = c.Session.Send(w, m, broker.SendOptions{Routing: message.Anycast})
			_ = c.XAEnd(x)
			if err := c.XAPrepare(w, x, a); err != nil {
				panic(err)
			}
		},
		"an answer that is made late": func(c *brokertest.Client, w *broker.Work, _ broker.Answer) {
			c.Session.Done(w, broker.Answer{Call: func(*broker.Work) { panic("it was made") }}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, dead := range []bool{false, true} {
				b, m := withDeadline(t)
				c := b.Connect(brokertest.AutoCommit)
				if dead {
					m.until.Store(0)
				} else if name == "an answer that is made late" {
					continue
				}
				c.Act(func(w *broker.Work) { request(c, w, broker.Answer{Kind: 1}) })
				b.Store.Settle()
				if n := len(c.Answers()); n != 0 == dead {
					t.Errorf("dead %v: %d answers", dead, n)
				}
			}
		})
	}
}

// TestNodeGoesOnInside: what the broker asks of itself is answered, or a node that is not live could never be stopped.
func TestNodeGoesOnInside(t *testing.T) {
	b, m := withDeadline(t)
	m.until.Store(0)
	sent := make(chan error, 1)
	go func() {
		_, err := b.NewPublisher(security.Internal("")).Send(brokertest.Text("q", "m", message.Anycast))
		sent <- err
	}()
	select {
	case err := <-sent:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the broker waits for its own answer")
	}
}

// TestBatchIsAskedOnce: the store's batch asks once whether the node is live, after everything in it was stored; a batch that comes
// later asks again, and so does what is not the store's to tell.
func TestBatchIsAskedOnce(t *testing.T) {
	b, m := withDeadline(t)
	c := b.Connect(brokertest.AutoCommit)
	d := b.Connect(brokertest.AutoCommit)
	b.Store.Hold()
	stored := func(c *brokertest.Client) {
		c.Act(func(w *broker.Work) { c.DoneStored(w, broker.Answer{Kind: 1}) })
	}
	tell := func(n int, questions int64, answers int) {
		t.Helper()
		before := m.asked.Load()
		b.Store.Tell(n)
		if asked := m.asked.Load() - before; asked != questions {
			t.Errorf("asked %d times, want %d", asked, questions)
		}
		if got := len(c.Answers()) + len(d.Answers()); got != answers {
			t.Errorf("%d answers, want %d", got, answers)
		}
	}
	for range 3 {
		stored(c)
		stored(d)
	}
	tell(4, 1, 4)
	tell(2, 1, 2)
	// Behind an answer that waits for the store one that does not: it became true at another time.
	stored(c)
	c.Act(func(w *broker.Work) { c.Session.Done(w, broker.Answer{Kind: 1}, nil) })
	tell(1, 2, 2)
	stored(c)
	stored(d)
	m.until.Store(m.asked.Load())
	tell(2, 1, 0)
	b.Store.Tell(-1)
}
