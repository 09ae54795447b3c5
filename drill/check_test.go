package drill

import (
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// A world makes up a history: one queue, one producer, one consumer, two nodes with activations 1 and 2.
type world struct {
	h        *History
	q        *Queue
	p        *Producer
	c        *Consumer
	one, two Term
	clock    Time
}

func newWorld() *world {
	h := NewHistory()
	w := &world{h: h, q: h.AddQueue(Queue{Address: "orders", Name: "orders", Drained: true})}
	w.p = h.AddProducer(Producer{Name: "p", Address: "orders", DuplicateDetection: true, Ordered: true})
	w.c = h.AddConsumer(w.q)
	w.one, w.two = h.Term(TermInfo{"one", 1}), h.Term(TermInfo{"two", 2})
	return w
}

func (w *world) now() Time { w.clock++; return w.clock }

// send sends a message.
func (w *world) send(o Outcome, t Term) uint32 {
	seq := w.p.Send(w.now())
	w.p.Answer(seq, o, t, w.now())
	return seq
}

// again sends it once more.
func (w *world) again(seq uint32, o Outcome, t Term) {
	w.p.Again(seq, w.now())
	w.p.Answer(seq, o, t, w.now())
}

// take receives a message.
func (w *world) take(seq uint32, o Outcome, t Term) { w.takeBy(w.c, seq, o, t) }

func (w *world) takeBy(c *Consumer, seq uint32, o Outcome, t Term) {
	r := c.Receive(w.p.ID(seq), t, w.now())
	c.Answer(r, o, w.now())
}

// TestRules: histories that are good, and bad ones, each of which breaks the rules named and no other.
func TestRules(t *testing.T) {
	for _, x := range []struct {
		name string
		do   func(w *world)
		want []Rule
	}{
		{"acknowledged and received", func(w *world) {
			w.take(w.send(Acknowledged, w.one), Acknowledged, w.two)
		}, nil},
		{"acknowledged and not received", func(w *world) {
			w.send(Acknowledged, w.one)
		}, []Rule{Lost}},
		{"acknowledged when it was repeated, and not received", func(w *world) {
			w.again(w.send(Unknown, w.one), Acknowledged, w.two)
		}, []Rule{Lost}},
		{"one of two subscriptions has not got it", func(w *world) {
			other := w.h.AddQueue(Queue{Address: "orders", Name: "other", Drained: true})
			w.h.AddConsumer(other)
			w.take(w.send(Acknowledged, w.one), Acknowledged, w.one)
		}, []Rule{Lost}},
		{"unknown and not received", func(w *world) { w.send(Unknown, 0) }, nil},
		{"unknown and received", func(w *world) { w.take(w.send(Unknown, 0), Acknowledged, w.one) }, nil},
		{"given back and received again", func(w *world) {
			m := w.send(Acknowledged, w.one)
			w.take(m, RolledBack, w.one)
			w.take(m, Refused, w.one)
			w.take(m, Acknowledged, w.one)
		}, nil},
		{"given back and not received again", func(w *world) {
			m := w.send(Acknowledged, w.one)
			w.take(m, RolledBack, w.one)
		}, []Rule{Lost}},
		{"received again after an unknown acknowledgement, given back, and not received again", func(w *world) {
			m := w.send(Acknowledged, w.one)
			w.take(m, Unknown, w.one)
			w.take(m, RolledBack, w.one)
		}, []Rule{Lost}},

		{"received again after an unknown acknowledgement", func(w *world) {
			m := w.send(Acknowledged, w.one)
			w.take(m, Unknown, w.one)
			w.take(m, Acknowledged, w.two)
		}, nil},
		{"received again after an acknowledgement", func(w *world) {
			m := w.send(Acknowledged, w.one)
			w.take(m, Acknowledged, w.one)
			w.take(m, Acknowledged, w.two)
		}, []Rule{Duplicate}},
		{"received again after an acknowledgement, and that unknown", func(w *world) {
			m := w.send(Acknowledged, w.one)
			w.take(m, Acknowledged, w.one)
			w.take(m, Unknown, w.two)
		}, []Rule{Duplicate}},
		{"acknowledged by two consumers", func(w *world) {
			m := w.send(Acknowledged, w.one)
			w.take(m, Acknowledged, w.one)
			w.takeBy(w.h.AddConsumer(w.q), m, Acknowledged, w.one)
		}, []Rule{Duplicate}},
		{"left in the memory of one consumer and acknowledged by another", func(w *world) {
			m := w.send(Acknowledged, w.one)
			other := w.h.AddConsumer(w.q)
			w.take(m, Acknowledged, w.two)
			w.takeBy(other, m, Unknown, w.one)
		}, nil},
		{"repeated with duplicate detection and received twice", func(w *world) {
			m := w.send(Unknown, w.one)
			w.again(m, Acknowledged, w.two)
			w.take(m, Acknowledged, w.two)
			w.take(m, Acknowledged, w.two)
		}, []Rule{Duplicate}},
		{"repeated without it and received twice", func(w *world) {
			w.p.DuplicateDetection = false
			m := w.send(Unknown, w.one)
			w.again(m, Acknowledged, w.two)
			w.take(m, Acknowledged, w.two)
			w.take(m, Acknowledged, w.two)
		}, nil},
		{"repeated without it and received three times", func(w *world) {
			w.p.DuplicateDetection = false
			m := w.send(Unknown, w.one)
			w.again(m, Acknowledged, w.two)
			for range 3 {
				w.take(m, Acknowledged, w.two)
			}
		}, []Rule{Duplicate}},
		{"repeated without it, the repeat refused, and received twice", func(w *world) {
			w.p.DuplicateDetection = false
			m := w.send(Unknown, w.one)
			w.again(m, Refused, w.two)
			w.take(m, Acknowledged, w.two)
			w.take(m, Acknowledged, w.two)
		}, []Rule{Duplicate}},

		{"never sent", func(w *world) { w.take(7, Acknowledged, w.one) }, []Rule{NeverSent}},
		{"of no producer", func(w *world) {
			w.c.Answer(w.c.Receive(ID{9, 0}, w.one, 1), Acknowledged, 2)
		}, []Rule{NeverSent}},
		{"sent elsewhere", func(w *world) {
			w.send(Acknowledged, w.one)
			w.q.Address = "elsewhere"
			w.take(0, Acknowledged, w.one)
		}, []Rule{NeverSent}},
		{"a stranger", func(w *world) { w.c.Stranger("hello") }, []Rule{NeverSent}},
		{"damaged", func(w *world) {
			m := w.send(Acknowledged, w.one)
			w.take(m, Acknowledged, w.one)
			w.c.Damaged(w.p.ID(m))
		}, []Rule{Damaged}},

		{"refused", func(w *world) { w.send(Refused, w.one) }, nil},
		{"refused and received", func(w *world) { w.take(w.send(Refused, w.one), Acknowledged, w.one) }, []Rule{Undone}},
		{"rolled back and received", func(w *world) { w.take(w.send(RolledBack, w.one), RolledBack, w.one) }, []Rule{Undone}},
		{"unknown, the repeat rolled back, and received", func(w *world) {
			m := w.send(Unknown, w.one)
			w.again(m, RolledBack, w.one)
			w.take(m, Acknowledged, w.one)
		}, nil},

		{"a transaction of which nobody knows came", func(w *world) {
			w.p.Transaction(Transaction{w.send(Unknown, 0), 2})
			w.send(Unknown, 0)
			w.take(0, Acknowledged, w.one)
			w.take(1, Acknowledged, w.one)
		}, nil},
		{"a part of it came", func(w *world) {
			w.p.Transaction(Transaction{w.send(Unknown, 0), 2})
			w.send(Unknown, 0)
			w.take(1, Acknowledged, w.one)
		}, []Rule{Partial}},
		{"a part of one that was committed came", func(w *world) {
			w.p.Transaction(Transaction{w.send(Acknowledged, w.one), 2})
			w.send(Acknowledged, w.one)
			w.take(1, Acknowledged, w.one)
		}, []Rule{Lost, Partial}},
		{"a part of one that was rolled back came", func(w *world) {
			w.p.Transaction(Transaction{w.send(RolledBack, w.one), 2})
			w.send(RolledBack, w.one)
			w.take(1, Acknowledged, w.one)
		}, []Rule{Undone}},

		{"out of order", func(w *world) {
			a, b := w.send(Acknowledged, w.one), w.send(Acknowledged, w.one)
			w.take(b, Acknowledged, w.one)
			w.take(a, Acknowledged, w.one)
		}, []Rule{Order}},
		{"come again in order", func(w *world) {
			a, b := w.send(Acknowledged, w.one), w.send(Acknowledged, w.one)
			w.take(a, RolledBack, w.one)
			w.take(b, RolledBack, w.one)
			w.take(a, Acknowledged, w.one)
			w.take(b, Acknowledged, w.one)
		}, nil},
		{"out of order between two consumers", func(w *world) {
			a, b := w.send(Acknowledged, w.one), w.send(Acknowledged, w.one)
			w.take(b, Acknowledged, w.one)
			w.takeBy(w.h.AddConsumer(w.q), a, Acknowledged, w.one)
		}, nil},
		{"out of order from one who sends many at a time", func(w *world) {
			w.p.Ordered = false
			a, b := w.send(Acknowledged, w.one), w.send(Acknowledged, w.one)
			w.take(b, Acknowledged, w.one)
			w.take(a, Acknowledged, w.one)
		}, nil},

		{"one node after the other", func(w *world) {
			w.take(w.send(Acknowledged, w.one), Acknowledged, w.one)
			w.take(w.send(Acknowledged, w.two), Acknowledged, w.two)
		}, nil},
		{"asked before the other answered", func(w *world) {
			a := w.p.Send(w.now())
			b := w.send(Acknowledged, w.two)
			w.p.Answer(a, Acknowledged, w.one, w.now())
			w.take(a, Acknowledged, w.two)
			w.take(b, Acknowledged, w.two)
		}, nil},
		{"asked after the other answered", func(w *world) {
			a, b := w.send(Acknowledged, w.two), w.send(Acknowledged, w.one)
			w.take(a, Acknowledged, w.two)
			w.take(b, Acknowledged, w.two)
		}, []Rule{TwoActive}},
		{"a receipt acknowledged after the other answered", func(w *world) {
			w.take(w.send(Acknowledged, w.two), Acknowledged, w.one)
		}, []Rule{TwoActive}},
		{"back at the first node, in an activation of its own", func(w *world) {
			three := w.h.Term(TermInfo{"one", 3})
			for _, by := range []Term{w.one, w.two, three, three} {
				w.take(w.send(Acknowledged, by), Acknowledged, by)
			}
		}, nil},
		{"two nodes in one activation", func(w *world) {
			w.take(w.send(Acknowledged, w.one), Acknowledged, w.one)
			other := w.h.Term(TermInfo{"two", 1})
			w.take(w.send(Acknowledged, other), Acknowledged, other)
		}, []Rule{TwoActive}},
		{"the node went on without its replica", func(w *world) {
			w.take(w.send(Acknowledged, w.one), Acknowledged, w.h.Term(TermInfo{"one", 2}))
			w.take(w.send(Acknowledged, w.one), Acknowledged, w.one)
		}, nil},
		{"as many changes as there were", func(w *world) {
			w.h.Switches = 2
			one, two := w.h.Term(TermInfo{Node: "one"}), w.h.Term(TermInfo{Node: "two"})
			for _, by := range []Term{one, two, two, one} {
				w.take(w.send(Acknowledged, by), Acknowledged, by)
			}
		}, nil},
		{"more changes than there were", func(w *world) {
			w.h.Switches = 1
			one, two := w.h.Term(TermInfo{Node: "one"}), w.h.Term(TermInfo{Node: "two"})
			for _, by := range []Term{one, two, two, one} {
				w.take(w.send(Acknowledged, by), Acknowledged, by)
			}
		}, []Rule{TwoActive}},
		{"an answer that was long under way needs no change", func(w *world) {
			w.h.Switches = 1
			one, two := w.h.Term(TermInfo{Node: "one"}), w.h.Term(TermInfo{Node: "two"})
			a := w.p.Send(w.now())
			b := w.send(Acknowledged, one)
			c := w.send(Acknowledged, two)
			w.p.Answer(a, Acknowledged, one, w.now())
			for _, m := range []uint32{a, b, c} {
				w.take(m, Acknowledged, two)
			}
		}, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := newWorld()
			x.do(w)
			v := Check(w.h)
			for _, r := range Rules() {
				var want uint64
				for _, b := range x.want {
					if b == r {
						want = 1
					}
				}
				if v.Broken[r] != want {
					t.Errorf("%s: broken %d times, want %d\n%v", r, v.Broken[r], want, v)
				}
			}
			if v.OK() != (len(x.want) == 0) {
				t.Errorf("OK is %v", v.OK())
			}
			for _, r := range x.want {
				if !strings.Contains(v.String(), r.String()) {
					t.Errorf("%q does not tell of %v", v, r)
				}
			}
		})
	}
}

// TestNotDrained: what was not looked for is not lost, and does not pass.
func TestNotDrained(t *testing.T) {
	w := newWorld()
	w.q.Drained = false
	w.send(Acknowledged, w.one)
	w.take(w.send(Acknowledged, w.one), RolledBack, w.one)
	v := Check(w.h)
	if v.OK() || v.Broken != [rules]uint64{} || v.Unjudged != 2 {
		t.Errorf("%+v, want two messages that were not judged", v)
	}
}

// TestExamples: of many violations a few are told.
func TestExamples(t *testing.T) {
	w := newWorld()
	for range 100 {
		w.send(Acknowledged, w.one)
	}
	v := Check(w.h)
	if v.Broken[Lost] != 100 || len(v.Violations) != examples {
		t.Errorf("%d lost, %d told, want 100 and %d", v.Broken[Lost], len(v.Violations), examples)
	}
	const first = "lost: 0/0 of p was acknowledged by one after 200µs and did not come from orders"
	if v.Violations[0].String() != first {
		t.Errorf("%q, want %q", v.Violations[0], first)
	}
}

// TestMemory: a message with its receipt and its check takes less than 34 bytes, so that ten million take 340 MB.
func TestMemory(t *testing.T) {
	if n := unsafe.Sizeof(Send{}) + unsafe.Sizeof(Receipt{}); n != 28 {
		t.Errorf("a send and a receipt take %d bytes, want 28", n)
	}
	const messages = 1 << 19
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	w := newWorld()
	for range messages {
		w.take(w.send(Acknowledged, w.one), Acknowledged, w.one)
	}
	v := Check(w.h)
	runtime.ReadMemStats(&after)
	if each := float64(after.TotalAlloc-before.TotalAlloc) / messages; each > 34 {
		t.Errorf("%.1f bytes were allocated for a message", each)
	}
	if !v.OK() || v.Consumed != messages {
		t.Error(v)
	}
}
