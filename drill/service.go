package drill

import (
	"slices"
	"time"
)

// A Gap is a time in which no send was acknowledged.
type Gap struct {
	From Time
	To   Time
}

// Length is how long it was.
func (g Gap) Length() time.Duration { return g.To.Duration() - g.From.Duration() }

// A Service is how the brokers served those who sent.
type Service struct {
	Normal  time.Duration // between two acknowledgements, the median
	Longest Gap
	Gaps    []Gap // all that were long: a hundred times the normal one, and longGap at least
}

// longGap is the shortest time without an acknowledgement that reports show.
const longGap = 250 * time.Millisecond

// Without is the time without service: the longest time without an acknowledgement, less what is normal.
func (s Service) Without() time.Duration { return max(0, s.Longest.Length()-s.Normal) }

// acknowledgements are the times of all acknowledged sends, in order.
func acknowledgements(h *History) []Time {
	var times []Time
	for _, p := range h.Producers {
		for i := range p.sends.len() {
			if s := p.sends.at(i); s.Outcome == Acknowledged {
				times = append(times, s.Answered)
			}
		}
	}
	slices.Sort(times)
	return times
}

// Measure looks for times without service. until is when the producers were told to stop: service that did not come back by then lasted
// at least that long. 0 leaves that out.
func Measure(h *History, until Time) Service {
	times := acknowledgements(h)
	var s Service
	if len(times) == 0 {
		return s
	}
	if last := times[len(times)-1]; until > last {
		times = append(times, until)
	}
	lengths := make([]Time, 0, len(times))
	for i := 1; i < len(times); i++ {
		lengths = append(lengths, times[i]-times[i-1])
		if g := (Gap{times[i-1], times[i]}); g.Length() > s.Longest.Length() {
			s.Longest = g
		}
	}
	if len(lengths) == 0 {
		return s
	}
	slices.Sort(lengths)
	s.Normal = lengths[len(lengths)/2].Duration()
	long := max(longGap, 100*s.Normal)
	for i := 1; i < len(times); i++ {
		if g := (Gap{times[i-1], times[i]}); g.Length() >= long {
			s.Gaps = append(s.Gaps, g)
		}
	}
	return s
}
