package crash

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Copy is a message in one queue: a send makes one in each queue of its address, an acknowledgement takes one away.
type Copy struct{ Queue, Message string }

func (c Copy) String() string { return c.Message + " in " + c.Queue }

// States are the ends that a unit of work may have come to.
type States uint8

const (
	Applied States = 1 << iota // it counts
	Undone                     // it never was
	InDoubt                    // a branch that is prepared: listed, its sends not visible, what it acknowledged held
)

func (s States) String() string {
	var names []string
	for i, name := range []string{"applied", "undone", "in doubt"} {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// A Unit is work with one outcome.
type Unit struct {
	Name   string // of a branch: its xid, which is unique
	Atomic bool   // a transaction; otherwise each send and acknowledgement stands for itself
	Sends  []Copy
	Acks   []Copy
	May    States // what its client knows about the outcome
	Known  int    // when May was set last, on the clock of the history
}

// A Delivery is a message that a consumer got.
type Delivery struct {
	Copy
	At int // on the clock of the history
}

// A Round is one life of a broker: what was there, what clients did, and what the next broker on the same files shows.
type Round struct {
	Before     map[Copy]bool // held ones included
	Units      []*Unit       // branches that were in doubt before included
	Deliveries []Delivery
	After      map[Copy]int // visible, with how many times
	Branches   []string     // in doubt, after
}

// A Violation is something that must not be.
type Violation struct {
	Kind string // one of the constants
	Text string
}

func (v Violation) String() string { return v.Kind + ": " + v.Text }

// Kinds of violations.
const (
	Lost          = "lost"                            // a send that was answered is gone
	Phantom       = "phantom"                         // nobody sent it, or the send was undone
	Duplicated    = "duplicated"                      // it is there more than once
	UndoneAck     = "acknowledgement undone"          // it is there though its acknowledgement was answered
	AckedTwice    = "acknowledged twice"              // two consumers did, and both were answered
	Redelivered   = "delivered after acknowledgement" // somebody got it after another's acknowledgement was answered
	Dirty         = "delivered before it counts"      // somebody got what was never committed
	HalfDone      = "half a transaction"              // a part of a unit counts and another does not
	BranchLost    = "branch lost"                     // prepared, answered, and not listed
	BranchPhantom = "branch not in doubt"             // listed, and not prepared or completed
)

// part is a unit, or a send or acknowledgement that stands for itself, and what it can have come to.
type part struct {
	unit *Unit
	may  States
}

// touch is everything that concerns one copy.
type touch struct{ senders, ackers []*part }

type check struct {
	*Round
	copies map[Copy]*touch
	parts  []*part
	found  []Violation
}

// Check returns what cannot be true, in the order of copies and units.
func (r *Round) Check() []Violation {
	c := &check{Round: r, copies: map[Copy]*touch{}}
	c.lay()
	c.branches()
	c.deliveries()
	sound := c.eachCopy()
	c.together(sound)
	return c.found
}

func (c *check) report(kind, format string, args ...any) {
	c.found = append(c.found, Violation{kind, fmt.Sprintf(format, args...)})
}

// lay makes the parts and puts them where they touch.
func (c *check) lay() {
	for _, u := range c.Units {
		var whole *part
		one := func() *part {
			if u.Atomic && whole != nil {
				return whole
			}
			whole = &part{u, u.May}
			c.parts = append(c.parts, whole)
			return whole
		}
		for _, s := range u.Sends {
			t := c.touch(s)
			t.senders = append(t.senders, one())
		}
		for _, a := range u.Acks {
			t := c.touch(a)
			t.ackers = append(t.ackers, one())
		}
		if len(u.Sends)+len(u.Acks) == 0 {
			one()
		}
	}
	for copy := range c.Before {
		c.touch(copy)
	}
	for copy := range c.After {
		c.touch(copy)
	}
}

func (c *check) touch(at Copy) *touch {
	t := c.copies[at]
	if t == nil {
		t = &touch{}
		c.copies[at] = t
	}
	return t
}

// branches takes the list of branches in doubt as a fact.
func (c *check) branches() {
	listed := map[string]bool{}
	for _, b := range c.Branches {
		if listed[b] {
			c.report(BranchPhantom, "%s is listed twice", b)
		}
		listed[b] = true
	}
	for _, p := range c.parts {
		if listed[p.unit.Name] && p.unit.Atomic {
			delete(listed, p.unit.Name)
			if p.may&InDoubt == 0 {
				c.report(BranchPhantom, "%s is in doubt, but must be %v", p.unit.Name, p.may)
			}
			p.may = InDoubt
			continue
		}
		if p.may == InDoubt {
			c.report(BranchLost, "%s was prepared and is not in doubt", p.unit.Name)
		}
		if p.may != InDoubt {
			p.may &^= InDoubt
		}
	}
	for _, b := range slices.Sorted(maps.Keys(listed)) {
		c.report(BranchPhantom, "%s is in doubt, and nobody prepared it", b)
	}
}

// deliveries takes what somebody got as a fact: it was sent, and nobody had acknowledged it.
func (c *check) deliveries() {
	for _, d := range c.Deliveries {
		t := c.touch(d.Copy)
		for _, a := range t.ackers {
			if a.unit.May&Undone == 0 && a.unit.Known < d.At {
				c.report(Redelivered, "%v, after %q: %s", d.Copy, a.unit.Name, c.story(d.Copy))
			}
		}
		if c.Before[d.Copy] {
			continue
		}
		var could []*part
		for _, s := range t.senders {
			if s.may&Applied != 0 {
				could = append(could, s)
			}
		}
		switch {
		case len(t.senders) == 0:
			c.report(Phantom, "%v was delivered, and nobody sent it", d.Copy)
		case len(could) == 0:
			c.report(Dirty, "%v, whose send is %v", d.Copy, t.senders[0].may)
		case len(could) == 1:
			could[0].may = Applied
		}
	}
}

func (c *check) sorted() []Copy {
	return slices.SortedFunc(maps.Keys(c.copies), func(a, b Copy) int {
		return strings.Compare(a.Queue+"\x00"+a.Message, b.Queue+"\x00"+b.Message)
	})
}

// eachCopy judges every copy by itself and returns those that can be explained.
func (c *check) eachCopy() []Copy {
	var sound []Copy
	for _, at := range c.sorted() {
		if kind := c.judge(at); kind != "" {
			c.report(kind, "%v: %s", at, c.story(at))
			continue
		}
		sound = append(sound, at)
	}
	return sound
}

func (c *check) judge(at Copy) string {
	t, n := c.copies[at], c.After[at]
	if n > 1 {
		return Duplicated
	}
	known := 0
	for _, a := range t.ackers {
		if a.may == Applied {
			known++
		}
	}
	if known > 1 {
		return AckedTwice
	}
	if c.explained(at, nil, 0) {
		return ""
	}
	if n == 0 {
		return Lost
	}
	for _, a := range t.ackers {
		if a.may&Undone == 0 {
			return UndoneAck
		}
	}
	return Phantom
}

// story tells what is known of a copy.
func (c *check) story(at Copy) string {
	t := c.copies[at]
	var s []string
	if c.Before[at] {
		s = append(s, "was there before")
	}
	for _, p := range t.senders {
		s = append(s, fmt.Sprintf("sent by %q (%v)", p.unit.Name, p.may))
	}
	for _, p := range t.ackers {
		s = append(s, fmt.Sprintf("acknowledged by %q (%v)", p.unit.Name, p.may))
	}
	return strings.Join(append(s, fmt.Sprintf("is there %d times", c.After[at])), ", ")
}

// explained tells whether the copy's presence agrees with some end of all its parts, that of fixed being as given.
func (c *check) explained(at Copy, fixed *part, as States) bool {
	t := c.copies[at]
	parts := append(slices.Clone(t.senders), t.ackers...)
	ends := map[*part]States{}
	var try func(i int) bool
	try = func(i int) bool {
		if i == len(parts) {
			return c.agrees(at, ends)
		}
		p := parts[i]
		if _, done := ends[p]; done { // a transaction that acknowledges what it has sent
			return try(i + 1)
		}
		may := p.may
		if p == fixed {
			may = as
		}
		for end := Applied; end <= InDoubt; end <<= 1 {
			if may&end != 0 {
				ends[p] = end
				if try(i + 1) {
					return true
				}
				delete(ends, p)
			}
		}
		return false
	}
	return try(0)
}

func (c *check) agrees(at Copy, ends map[*part]States) bool {
	t := c.copies[at]
	sent, gone := c.Before[at], 0
	for _, p := range t.senders {
		sent = sent || ends[p] == Applied
	}
	for _, p := range t.ackers {
		if ends[p] != Undone {
			gone++
		}
	}
	return (gone == 0 || gone == 1 && sent) && (sent && gone == 0) == (c.After[at] > 0)
}

// together takes away the ends of parts that one of their copies contradicts, until nothing changes: a transaction that
// is left without one counts by half.
func (c *check) together(sound []Copy) {
	halves := map[*part]bool{}
	for changed := true; changed; {
		changed = false
		for _, at := range sound {
			t := c.copies[at]
			for _, p := range append(slices.Clone(t.senders), t.ackers...) {
				left := p.may
				for end := Applied; end <= InDoubt; end <<= 1 {
					if left&end != 0 && !c.explained(at, p, end) {
						left &^= end
					}
				}
				if left == 0 && !halves[p] {
					halves[p] = true
					c.report(HalfDone, "%q: %v: %s", p.unit.Name, at, c.story(at))
				}
				if left != 0 && left != p.may {
					p.may, changed = left, true
				}
			}
		}
	}
}

// Next returns what is there at the beginning of the next round: what is visible, what branches in doubt hold, and
// those branches.
func (r *Round) Next() (before map[Copy]bool, branches []*Unit) {
	before = map[Copy]bool{}
	for c := range r.After {
		before[c] = true
	}
	for _, u := range r.Units {
		if u.Atomic && slices.Contains(r.Branches, u.Name) {
			branches = append(branches, &Unit{Name: u.Name, Atomic: true, Sends: u.Sends, Acks: u.Acks, May: InDoubt})
			for _, a := range u.Acks {
				before[a] = true
			}
		}
	}
	return before, branches
}
