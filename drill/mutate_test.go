package drill

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A model is a perfect pair of brokers with one queue, whose clients are told little: it makes histories that are good.
type model struct {
	t         *rapid.T
	h         *History
	q         *Queue
	producers []*Producer
	consumers []*Consumer
	stored    []ID // in the queue, in order
	sequence  int64
	clock     Time
}

func (m *model) now() Time { m.clock += Time(rapid.IntRange(0, 3).Draw(m.t, "time")); return m.clock }

// term is the active node's.
func (m *model) term() Term {
	return m.h.Term(TermInfo{[]string{"one", "two"}[m.sequence%2], m.sequence})
}

func drawGood(t *rapid.T) *model {
	m := &model{t: t, h: NewHistory(), sequence: 1}
	m.q = m.h.AddQueue(Queue{Address: "q", Name: "q"})
	for i := range rapid.IntRange(1, 3).Draw(t, "producers") {
		m.producers = append(m.producers, m.h.AddProducer(Producer{Name: "p", Address: "q", Ordered: true, DuplicateDetection: i != 1}))
	}
	for range rapid.IntRange(1, 2).Draw(t, "consumers") {
		m.consumers = append(m.consumers, m.h.AddConsumer(m.q))
	}
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		switch rapid.IntRange(0, 9).Draw(t, "step") {
		case 0:
			m.clock++
			m.sequence++
			m.clock++
		case 1, 2, 3, 4:
			m.send()
		default:
			m.receive()
		}
	}
	for len(m.stored) > 0 {
		m.take(m.consumers[0], Acknowledged)
	}
	m.q.Drained = true
	return m
}

// send sends one message, or some in a transaction.
func (m *model) send() {
	p := m.producers[rapid.IntRange(0, len(m.producers)-1).Draw(m.t, "producer")]
	n := rapid.SampledFrom([]int{1, 1, 1, 3}).Draw(m.t, "messages")
	first := p.Len()
	for range n {
		p.Send(m.now())
	}
	if n > 1 {
		p.Transaction(Transaction{first, uint32(n)})
	}
	stored := false
	for attempt := 0; ; attempt++ {
		if attempt > 0 {
			for i := range n {
				p.Again(first+uint32(i), m.now())
			}
		}
		o := rapid.SampledFrom([]Outcome{Acknowledged, Acknowledged, Unknown, Refused, RolledBack}).Draw(m.t, "outcome")
		if o == Acknowledged || o == Unknown && rapid.Bool().Draw(m.t, "stored") {
			if !stored || !p.DuplicateDetection {
				for i := range n {
					m.stored = append(m.stored, p.ID(first+uint32(i)))
				}
			}
			stored = true
		}
		for i := range n {
			p.Answer(first+uint32(i), o, m.term(), m.now())
		}
		if o != Unknown || rapid.Bool().Draw(m.t, "give up") {
			return
		}
	}
}

func (m *model) receive() {
	if len(m.stored) == 0 {
		return
	}
	c := m.consumers[rapid.IntRange(0, len(m.consumers)-1).Draw(m.t, "consumer")]
	m.take(c, rapid.SampledFrom([]Outcome{Acknowledged, Acknowledged, Unknown, Refused, RolledBack}).Draw(m.t, "outcome"))
}

// take takes the first message.
func (m *model) take(c *Consumer, o Outcome) {
	r := c.Receive(m.stored[0], m.term(), m.now())
	if o == Acknowledged || o == Unknown && rapid.Bool().Draw(m.t, "done") {
		m.stored = m.stored[1:]
	}
	c.Answer(r, o, m.now())
}

// TestGood: no good history is found fault with.
func TestGood(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if v := Check(drawGood(t).h); !v.OK() {
			t.Fatal(v)
		}
	})
}

// receipts are those of a consumer, to be changed.
func receipts(c *Consumer) []Receipt {
	list := make([]Receipt, c.Len())
	for i := range list {
		list[i] = c.At(i)
	}
	return list
}

func setReceipts(c *Consumer, list []Receipt) {
	c.receipts = log[Receipt]{}
	for _, r := range list {
		c.receipts.append(r)
	}
}

// drop has a message never come.
func (m *model) drop(id ID) {
	for _, c := range m.consumers {
		setReceipts(c, slices.DeleteFunc(receipts(c), func(r Receipt) bool { return r.ID() == id }))
	}
}

// some draws one of the messages that came and are as ok says.
func (m *model) some(ok func(*Producer, ID) bool) (ID, bool) {
	var list []ID
	for _, c := range m.consumers {
		for _, r := range receipts(c) {
			if id := r.ID(); !slices.Contains(list, id) && ok(m.producers[id.Producer], id) {
				list = append(list, id)
			}
		}
	}
	if len(list) == 0 {
		return ID{}, false
	}
	return rapid.SampledFrom(list).Draw(m.t, "message"), true
}

// TestMutations: one change to a good history, of each kind, is found.
func TestMutations(t *testing.T) {
	for _, x := range []struct {
		rule   Rule
		mutate func(m *model) bool // false: this history has nothing to change
	}{
		{Lost, func(m *model) bool {
			id, ok := m.some(func(p *Producer, id ID) bool { return p.At(id.Seq).Outcome == Acknowledged })
			if ok {
				m.drop(id)
			}
			return ok
		}},
		{Duplicate, func(m *model) bool {
			id, ok := m.some(func(p *Producer, id ID) bool { return p.DuplicateDetection })
			if ok { // in addition to those there are, of which the last may be of one whose acknowledgement is not known
				for range 2 {
					m.consumers[0].Answer(m.consumers[0].Receive(id, m.term(), m.now()), Acknowledged, m.now())
				}
			}
			return ok
		}},
		{NeverSent, func(m *model) bool {
			id := m.producers[0].ID(m.producers[0].Len() + uint32(rapid.IntRange(0, 5).Draw(m.t, "beyond")))
			m.consumers[0].Answer(m.consumers[0].Receive(id, m.term(), m.now()), Acknowledged, m.now())
			return true
		}},
		{Undone, func(m *model) bool {
			id, ok := m.some(func(*Producer, ID) bool { return true })
			if ok {
				m.producers[id.Producer].sends.at(int(id.Seq)).Outcome = rapid.SampledFrom([]Outcome{Refused, RolledBack}).Draw(m.t, "outcome")
			}
			return ok
		}},
		{Partial, func(m *model) bool {
			id, ok := m.some(func(p *Producer, id ID) bool {
				return slices.ContainsFunc(p.transactions, func(t Transaction) bool { return t.First <= id.Seq && id.Seq < t.First+t.Count })
			})
			if ok {
				m.drop(id)
			}
			return ok
		}},
		{Order, func(m *model) bool {
			if len(m.consumers) > 1 {
				return false
			}
			list := receipts(m.consumers[0])
			var firsts []int
			seen := map[ID]bool{}
			for i, r := range list {
				if !seen[r.ID()] {
					firsts = append(firsts, i)
				}
				seen[r.ID()] = true
			}
			for _, i := range firsts {
				for _, j := range firsts {
					if i < j && list[i].Producer == list[j].Producer {
						r := list[j]
						list = slices.Insert(slices.Delete(list, j, j+1), i, r)
						setReceipts(m.consumers[0], list)
						return true
					}
				}
			}
			return false
		}},
		{TwoActive, func(m *model) bool {
			terms := map[Term]bool{}
			answers(m.h, func(a answer) { terms[a.term] = true })
			last := m.term()
			if !terms[last] {
				return false
			}
			for term := range terms {
				if i := m.h.TermInfo(term); i.Node != m.h.TermInfo(last).Node {
					m.clock++
					seq := m.producers[0].Send(m.clock)
					m.producers[0].Answer(seq, Acknowledged, term, m.clock)
					return true
				}
			}
			return false
		}},
		{Damaged, func(m *model) bool { m.consumers[0].Damaged(ID{}); return true }},
	} {
		t.Run(x.rule.String(), func(t *testing.T) {
			mutated := 0
			defer func() {
				if mutated == 0 {
					t.Error("no history had anything to change")
				}
			}()
			rapid.Check(t, func(t *rapid.T) {
				m := drawGood(t)
				if !x.mutate(m) {
					return
				}
				mutated++
				if v := Check(m.h); v.Broken[x.rule] == 0 || v.OK() {
					t.Fatalf("not found: %v", v)
				}
			})
		})
	}
}
