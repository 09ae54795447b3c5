package drill

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Verdict is what Check found.
type Verdict struct {
	Counts
	Broken     [rules]uint64 // how often each Rule was broken
	Violations []Violation   // the first few of each

	// Unjudged counts acknowledged messages that did not come from queues that were not drained: nobody knows whether they are lost.
	Unjudged uint64
}

// OK says that every promise was kept, as far as it could be judged, and everything could be.
func (v *Verdict) OK() bool { return v.Broken == [rules]uint64{} && v.Unjudged == 0 }

// String is a summary with the first violations, one a line.
func (v *Verdict) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d sent, %d acknowledged, %d refused, %d unknown, %d received, %d redelivered, %d lost, %d duplicate",
		v.Sent, v.Acknowledged, v.Refused, v.Unknown, v.Received, v.Redelivered, v.Broken[Lost], v.Broken[Duplicate])
	for _, r := range Rules() {
		if n := v.Broken[r]; n > 0 && r != Lost && r != Duplicate {
			fmt.Fprintf(&b, ", %d %s", n, r)
		}
	}
	if v.Unjudged > 0 {
		fmt.Fprintf(&b, ", %d acknowledged messages were not looked for, since their queues were not drained", v.Unjudged)
	}
	for _, x := range v.Violations {
		b.WriteString("\n" + x.String())
	}
	return b.String()
}

func (v *Verdict) broken(r Rule, format string, args ...any) {
	if v.Broken[r]++; v.Broken[r] <= examples {
		v.Violations = append(v.Violations, Violation{r, fmt.Sprintf(format, args...)})
	}
}

// Check judges a History by the Rules.
func Check(h *History) *Verdict {
	v := new(Verdict)
	for _, p := range h.Producers {
		v.countSends(p)
	}
	for _, q := range h.Queues {
		c := queueCheck{h: h, v: v, q: q, producers: map[uint16]*deliveries{}}
		c.check()
	}
	checkTerms(h, v)
	slices.SortStableFunc(v.Violations, func(a, b Violation) int { return cmp.Compare(a.Rule, b.Rule) })
	return v
}

func (v *Verdict) countSends(p *Producer) {
	for i := range p.Len() {
		s := p.sends.at(int(i))
		v.Sent++
		switch s.Outcome {
		case Acknowledged:
			v.Acknowledged++
		case Refused, RolledBack:
			v.Refused++
		default:
			v.Unknown++
		}
		if s.Attempts > 1 {
			v.Repeated++
		}
	}
}

// delivered is what is known of a message in a queue.
type delivered uint8

const (
	came     delivered = 1 << iota // it was received
	taken                          // and that was acknowledged, or perhaps was
	owed                           // it was given back last, so that it must come again
	ackHere                        // the consumer that is being looked at had an acknowledgement of it answered
	beyond                         // and got it again, without such an answer so far
	oneCopy                        // an acknowledgement was answered: bits from here on count these, up to the largest number
	copyMask = 0xff &^ (oneCopy - 1)
)

// copies is how many copies of the message there must have been.
func (d delivered) copies() int {
	n := int(d / oneCopy)
	if n == 1 && d&beyond != 0 {
		return 2
	}
	return max(n, min(1, int(d&came)))
}

// deliveries are what came of a producer's messages.
type deliveries struct {
	p       *Producer
	list    []delivered
	highest int64 // sequence that came for the first time, -1: none
}

// A queueCheck looks at the deliveries of one queue.
type queueCheck struct {
	h         *History
	v         *Verdict
	q         *Queue
	producers map[uint16]*deliveries
	single    bool // one consumer
}

func (c *queueCheck) check() {
	for i, p := range c.h.Producers {
		if p.Address == c.q.Address {
			c.producers[uint16(i)] = &deliveries{p: p, list: make([]delivered, p.Len()), highest: -1}
		}
	}
	var consumers []*Consumer
	for _, x := range c.h.Consumers {
		if x.Queue == c.q {
			consumers = append(consumers, x)
		}
	}
	c.single = len(consumers) == 1
	for n, x := range consumers {
		if n > 0 {
			for _, d := range c.producers {
				for i := range d.list {
					d.list[i] &^= ackHere
				}
			}
		}
		c.receive(x)
	}
	for i := range c.h.Producers {
		if d := c.producers[uint16(i)]; d != nil {
			c.judge(d)
			c.transactions(d)
		}
	}
}

// receive goes through what a consumer got.
func (c *queueCheck) receive(x *Consumer) {
	for i := range x.Len() {
		r := x.receipts.at(i)
		c.v.Received++
		if r.Outcome == Acknowledged {
			c.v.Consumed++
		}
		d := c.producers[r.Producer]
		if d == nil || int(r.Seq) >= len(d.list) {
			c.v.broken(NeverSent, "%v came from %s", r.ID(), c.q.Name)
			continue
		}
		m := &d.list[r.Seq]
		if *m&came != 0 {
			c.v.Redelivered++
		} else {
			if c.single && d.p.Ordered && int64(r.Seq) < d.highest {
				c.v.broken(Order, "%v of %s came from %s after %v", r.ID(), d.p.Name, c.q.Name, d.p.ID(uint32(d.highest)))
			}
			d.highest = max(d.highest, int64(r.Seq))
		}
		m.add(r.Outcome)
	}
	for _, id := range x.damaged {
		c.v.broken(Damaged, "%v came from %s with another body", id, c.q.Name)
	}
	for i := range x.strangers {
		text := "another one"
		if int(i) < len(x.examples) {
			text = x.examples[i]
		}
		c.v.broken(NeverSent, "%q came from %s", text, c.q.Name)
	}
}

// add adds a receipt.
func (d *delivered) add(o Outcome) {
	*d |= came
	if o == Acknowledged {
		*d = *d&^(beyond|owed) | ackHere | taken
		if *d&copyMask != copyMask {
			*d += oneCopy
		}
		return
	}
	if *d&ackHere != 0 {
		*d |= beyond
	}
	if o == Unknown {
		*d = *d&^owed | taken
	} else {
		*d |= owed
	}
}

// judge compares what came with what was sent.
func (c *queueCheck) judge(d *deliveries) {
	for i, m := range d.list {
		s := d.p.sends.at(i)
		id := d.p.ID(uint32(i))
		if m&came == 0 {
			switch {
			case s.Outcome != Acknowledged:
			case c.q.Drained:
				c.v.broken(Lost, "%v of %s was acknowledged%s after %v and did not come from %s", id, d.p.Name, c.by(s.Term), s.Answered.Duration(), c.q.Name)
			default:
				c.v.Unjudged++
			}
			continue
		}
		if s.Outcome == Refused || s.Outcome == RolledBack {
			c.v.broken(Undone, "%v of %s was %v and came from %s", id, d.p.Name, s.Outcome, c.q.Name)
			continue
		}
		allowed := 1
		if !d.p.DuplicateDetection {
			allowed = int(max(s.Attempts, 1))
		}
		if n := m.copies(); n > allowed {
			c.v.broken(Duplicate, "%v of %s came from %s %d times, stored at most %d", id, d.p.Name, c.q.Name, n, allowed)
		}
		if m&owed != 0 && (c.single || m&taken == 0) {
			if c.q.Drained {
				c.v.broken(Lost, "%v of %s was given back to %s and did not come again", id, d.p.Name, c.q.Name)
			} else {
				c.v.Unjudged++
			}
		}
	}
}

func (c *queueCheck) by(t Term) string {
	if i := c.h.TermInfo(t); i.Node != "" {
		return " by " + i.Node
	}
	return ""
}

// transactions looks for those of which a part came. Those that were undone have been judged.
func (c *queueCheck) transactions(d *deliveries) {
	if !c.q.Drained {
		return
	}
	for _, t := range d.p.transactions {
		end := min(uint64(t.First)+uint64(t.Count), uint64(len(d.list)))
		if uint64(t.First) >= end {
			continue
		}
		if o := d.p.sends.at(int(t.First)).Outcome; o == Refused || o == RolledBack {
			continue
		}
		n := 0
		for _, m := range d.list[t.First:end] {
			n += int(m & came)
		}
		if n > 0 && n < int(end)-int(t.First) {
			c.v.broken(Partial, "%d of the %d messages from %v on of %s, sent in a transaction, came from %s", n, end-uint64(t.First), d.p.ID(t.First), d.p.Name, c.q.Name)
		}
	}
}
