//go:build linux

package partition

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/saranga-mq/saranga/drill"
)

// A Result is what came of a round.
type Result struct {
	Plan     Plan
	Setup    string
	Network  string
	Notes    []string
	Verdict  string        // of package drill
	Locks    string        // of the lock and the counter
	Silence  time.Duration // the longest time without an acknowledgement
	Healed   time.Duration // from the heal to a pair in sync
	Remarks  []string      // what a real Artemis did that Saranga must not
	Problems []string      // nil: the round is passed
}

func (r *Result) remark(format string, args ...any) {
	r.Remarks = append(r.Remarks, fmt.Sprintf(format, args...))
}

func (r *Result) fail(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// String is one line for a round that is passed, and everything for another.
func (r *Result) String() string {
	word := "passed"
	if len(r.Problems) > 0 {
		word = "FAILED"
	}
	members := "five nodes"
	if r.Plan.Embedded {
		members = "members in the brokers"
	}
	line := fmt.Sprintf("seed %d (%s, %s, %s, session %v, ttl %v, failback %v, %.0f/s, %d faults): %s, %.1f s without service, in order %.1f s after the heal; %s; %s",
		r.Plan.Seed, r.Setup, r.Network, members, r.Plan.Session, r.Plan.TTL, r.Plan.Failback, r.Plan.Rate, len(r.Plan.Faults), word, r.Silence.Seconds(), r.Healed.Seconds(),
		strings.SplitN(r.Verdict, "\n", 2)[0], r.Locks)
	for _, remark := range r.Remarks {
		line += "\n  " + strings.ReplaceAll(remark, "\n", "\n    ")
	}
	if len(r.Problems) == 0 {
		return line
	}
	return line + "\n" + strings.Join(append(r.Notes, r.Problems...), "\n")
}

// answers calls f with each acknowledgement: when it was asked for, when it was there, and who gave it.
func answers(h *drill.History, f func(asked, answered time.Duration, node string)) {
	for _, p := range h.Producers {
		for i := range p.Len() {
			if s := p.At(i); s.Outcome == drill.Acknowledged {
				f(s.Sent.Duration(), s.Answered.Duration(), h.TermInfo(s.Term).Node)
			}
		}
	}
	for _, c := range h.Consumers {
		for i := range c.Len() {
			if r := c.At(i); r.Outcome == drill.Acknowledged {
				f(r.Received.Duration(), r.Answered.Duration(), h.TermInfo(r.Term).Node)
			}
		}
	}
}

// silence is the longest time without an acknowledgement between two moments.
func silence(h *drill.History, from, to time.Duration) (longest time.Duration) {
	times := []time.Duration{from, to}
	answers(h, func(_, answered time.Duration, _ string) {
		if from < answered && answered < to {
			times = append(times, answered)
		}
	})
	slices.Sort(times)
	for i := 1; i < len(times); i++ {
		longest = max(longest, times[i]-times[i-1])
	}
	return longest
}

// leaseSlack is between a cut and the note of it, on a busy machine.
const leaseSlack = 500 * time.Millisecond

// pastLease finds acknowledgements that a broker gave after it had been cut off from a majority of the members for longer than a
// session lasts.
func (w *world) pastLease(h *drill.History, began time.Time) (out []string) {
	for _, b := range brokerNames {
		for _, s := range w.cutOff(b) {
			over, end := s.from.Sub(began)+w.plan.Session+leaseSlack, s.to.Sub(began)
			n := 0
			var example string
			answers(h, func(asked, answered time.Duration, node string) {
				if node == b && over < asked && answered < end {
					n++
					example = fmt.Sprintf("what was asked at %v and answered at %v", asked, answered)
				}
			})
			if n > 0 {
				out = append(out, fmt.Sprintf("%s acknowledged %d times after its lease must have ended at %v, the last: %s", b, n, over, example))
			}
		}
	}
	return out
}

// cutOff lists when a broker could reach no member that was in touch with another.
func (w *world) cutOff(broker string) (list []span) {
	var moments []time.Time
	for _, c := range w.cuts {
		moments = append(moments, c.from, c.to)
	}
	slices.SortFunc(moments, time.Time.Compare)
	for i := 0; i+1 < len(moments); i++ {
		from, to := moments[i], moments[i+1]
		if w.reachesMajority(broker, from, to) {
			continue
		}
		if n := len(list); n > 0 && list[n-1].to.Equal(from) {
			list[n-1].to = to
		} else {
			list = append(list, span{from: from, to: to})
		}
	}
	return list
}

// reachesMajority tells whether a broker was in touch with the majority at some time between two moments that follow on each other.
func (w *world) reachesMajority(broker string, from, to time.Time) bool {
	touch := func(a, b string) bool {
		return a == b || !slices.ContainsFunc(w.cuts, func(c span) bool {
			return (c.link == Link{a, b} || c.link == Link{b, a}) && !c.from.After(from) && !c.to.Before(to)
		})
	}
	for _, m := range w.plan.hosts() {
		for _, o := range w.plan.hosts() {
			if m != o && touch(broker, m) && touch(m, o) {
				return true
			}
		}
	}
	return false
}
