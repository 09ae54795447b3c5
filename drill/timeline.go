package drill

import (
	"time"
)

// A Span is a time in which a node had a role.
type Span struct {
	Role Role
	From Time
	To   Time
}

// A NodeLine is what a node was in the course of a drill. Spans follow each other without a gap.
type NodeLine struct {
	Name  string
	Spans []Span
}

// become adds that the node has a role from then on.
func (l *NodeLine) become(r Role, at Time) {
	if n := len(l.Spans); n > 0 {
		last := &l.Spans[n-1]
		if last.To = at; last.Role == r {
			return
		}
	}
	l.Spans = append(l.Spans, Span{r, at, at})
}

// at is the role that the node had for the longest part of a time.
func (l NodeLine) at(from, to Time) Role {
	var time [len(roleNames)]Time
	role := Away
	for _, s := range l.Spans {
		if a, b := max(s.From, from), min(s.To, to); a < b {
			time[s.Role] += b - a
		}
	}
	for r, t := range time {
		if t > time[role] {
			role = Role(r)
		}
	}
	return role
}

// An Event is something that was done or seen.
type Event struct {
	At   Time
	Text string
}

// A Timeline is the course of a drill.
type Timeline struct {
	Began  time.Time
	End    Time
	Nodes  []NodeLine
	Events []Event
	Gaps   []Gap

	// Rate is the number of acknowledged sends in each of equal parts of the time.
	Rate []int
}

// rates counts acknowledgements in so many parts of the time until end.
func rates(times []Time, end Time, parts int) []int {
	list := make([]int, parts)
	for _, t := range times {
		if t < end {
			list[int(uint64(t)*uint64(parts)/uint64(end))]++
		}
	}
	return list
}
