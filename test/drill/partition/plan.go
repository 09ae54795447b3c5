//go:build linux

package partition

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/saranga-mq/saranga/test/drill/netns"
	"github.com/saranga-mq/saranga/test/drill/relay"
)

// Names of nodes.
var (
	memberNames = []string{"m1", "m2", "m3"}
	brokerNames = []string{"p", "b"} // primary and backup
	clientNames = []string{"c1", "c2", "c3", "c4"}
)

// A Plan is what happens in a round. It follows from its Seed and the length of the time of trouble.
type Plan struct {
	Seed     uint64
	Embedded bool          // two of the members run in the brokers, which use them directly; else the brokers are their ZooKeeper clients
	Relayed  bool          // connections go through relays, so that links can be slow
	Session  time.Duration // of the brokers with the members
	TTL      time.Duration // of the brokers' connections to each other; also their call timeout
	Failback bool          // the backup gives its place back
	Rate     float64       // messages a second of each producer
	Trouble  time.Duration // how long faults begin and last
	Faults   []Fault       // in the order of their beginning
}

// host is the node that a member runs on.
func (p Plan) host(member string) string {
	switch {
	case p.Embedded && member == "m1":
		return "p"
	case p.Embedded && member == "m2":
		return "b"
	}
	return member
}

// nodes are all nodes, each with one process.
func (p Plan) nodes() []string {
	if p.Embedded {
		return []string{"m3", "p", "b"}
	}
	return []string{"m1", "m2", "m3", "p", "b"}
}

// hosts are the nodes that members run on.
func (p Plan) hosts() (list []string) {
	for _, m := range memberNames {
		list = append(list, p.host(m))
	}
	return list
}

// A Fault lasts from At for For, counted from the begin of the trouble.
type Fault struct {
	At, For time.Duration
	Kind    Kind
	Nodes   []string   // whose process it is
	Links   []Link     // which directions
	Cut     netns.Kind // of a cut
	Rule    relay.Rule // of a slow link
}

// A Link is one direction between two nodes.
type Link struct{ From, To string }

// A Kind is what a fault does.
type Kind string

// Kinds of faults.
const (
	Cut      Kind = "cut"
	Slow     Kind = "slow"
	HalfOpen Kind = "half-open" // connections end for the node that the link leads to, and the other hears nothing
	Reset    Kind = "reset"
	Pause    Kind = "pause"
	Crash    Kind = "kill"
)

func (f Fault) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%6.1f s", f.At.Seconds())
	if f.For > 0 {
		fmt.Fprintf(&b, ", for %.1f s", f.For.Seconds())
	}
	fmt.Fprintf(&b, ": %s %s", f.Kind, strings.Join(f.Nodes, " "))
	for _, l := range f.Links {
		fmt.Fprintf(&b, " %s>%s", l.From, l.To)
	}
	switch f.Kind {
	case Cut:
		fmt.Fprintf(&b, " (%s)", f.Cut)
	case Slow:
		fmt.Fprintf(&b, " (delay %v, rate %d, loss %.2f, break %d)", f.Rule.Delay, f.Rule.Rate, f.Rule.Loss, f.Rule.Break)
	}
	return b.String()
}

// NewPlan draws a plan.
func NewPlan(seed uint64, trouble time.Duration) Plan {
	d := dice{Rand: rand.New(rand.NewPCG(seed, 0x5a7a6e67a))}
	p := Plan{
		Seed: seed, Embedded: d.one(2), Relayed: d.one(2), Trouble: trouble, Failback: d.one(2),
		Session: time.Duration(4+d.IntN(4)) * time.Second, TTL: time.Duration(2+d.IntN(4)) * time.Second,
	}
	if p.Embedded {
		p.Session = [...]time.Duration{defaultSession, defaultSession, time.Second, 4 * time.Second}[d.IntN(4)]
	}
	p.Rate = [...]float64{5, 20, 20, 60, 120}[d.IntN(5)]
	d.plan = p
	// Either some faults that last, or many short ones.
	longest, pause := 15*time.Second, trouble/2
	if d.one(3) {
		longest, pause = 2500*time.Millisecond, trouble/8
	}
	for at := d.between(0, 2*time.Second); at < trouble*3/4; at += d.between(pause/4, pause) {
		for _, f := range d.blow(longest) {
			if f.At += at; f.At < trouble {
				f.For = min(f.For, trouble-f.At)
				p.Faults = append(p.Faults, f)
			}
		}
	}
	slices.SortStableFunc(p.Faults, func(a, b Fault) int { return int(a.At - b.At) })
	return p
}

// defaultSession is that of a broker with its own member.
const defaultSession = 1600 * time.Millisecond

type dice struct {
	*rand.Rand
	plan Plan
}

func (d dice) one(of int) bool { return d.IntN(of) == 0 }

func (d dice) between(from, to time.Duration) time.Duration {
	return from + time.Duration(d.Int64N(max(int64(to-from), 1))).Round(time.Millisecond)
}

func (d dice) pick(list []string) string { return list[d.IntN(len(list))] }

// blow is what happens together, in times from its begin on: anything, or something that is known to be hard.
func (d dice) blow(longest time.Duration) (list []Fault) {
	here, there := brokerNames[0], brokerNames[1]
	if d.one(2) {
		here, there = there, here
	}
	between := []Link{{here, there}, {there, here}}
	silence := func(at, lasts time.Duration, links []Link) Fault {
		return Fault{Kind: Cut, At: at, For: lasts, Links: links, Cut: netns.Kind(d.IntN(2))}
	}
	short := func() time.Duration { return d.between(0, 800*time.Millisecond) }
	switch d.IntN(12) {
	case 0: // one is away, the other goes on and dies; the one that was away comes back before it
		away := d.between(500*time.Millisecond, longest/2)
		first := Fault{Kind: [...]Kind{Crash, Pause}[d.IntN(2)], For: away, Nodes: []string{here}}
		if d.one(3) {
			first = silence(0, away, between)
		}
		dies := max(away-short(), 0)
		return []Fault{first, {Kind: Crash, At: dies, For: d.between(time.Second, longest), Nodes: []string{there}}}
	case 1: // the link between the brokers comes and goes
		at := time.Duration(0)
		for range 2 + d.IntN(5) {
			lasts := d.between(50*time.Millisecond, 1500*time.Millisecond)
			links := between
			if d.one(3) {
				links = between[:1]
			}
			list = append(list, silence(at, lasts, links))
			at += lasts + short()
		}
		return list
	case 2: // a broker stands still for about as long as its lease, without the other
		lease := d.plan.Session
		return []Fault{{Kind: Pause, For: d.between(lease/3, lease*3/2), Nodes: []string{here}}, silence(short(), lease+short(), between)}
	case 3: // one comes back and the other dies in the middle of the synchronisation
		comes := d.between(200*time.Millisecond, 2*time.Second)
		return []Fault{{Kind: Crash, For: comes, Nodes: []string{here}},
			{Kind: Crash, At: comes + d.between(0, 1500*time.Millisecond), For: d.between(200*time.Millisecond, longest), Nodes: []string{there}}}
	case 4: // both die
		return []Fault{{Kind: Crash, For: d.between(200*time.Millisecond, longest/2), Nodes: []string{here}},
			{Kind: Crash, At: short(), For: d.between(200*time.Millisecond, longest/2), Nodes: []string{there}}}
	case 5: // no majority of members, and then no link between the brokers, or one that dies
		hosts := d.plan.hosts()
		var links []Link
		for _, a := range hosts {
			for _, b := range hosts {
				if a != b && (!d.plan.Embedded || a == "m3" || b == "m3") {
					links = append(links, Link{a, b})
				}
			}
		}
		list = []Fault{silence(0, d.between(500*time.Millisecond, longest/2), links)}
		if d.one(2) {
			return append(list, silence(short(), d.between(500*time.Millisecond, longest/2), between))
		}
		return append(list, Fault{Kind: Crash, At: short(), For: d.between(200*time.Millisecond, longest/2), Nodes: []string{here}})
	}
	for range 1 + d.IntN(3) {
		f := d.fault(longest)
		f.At = d.between(0, 300*time.Millisecond)
		list = append(list, f)
	}
	return list
}

func (d dice) fault(longest time.Duration) Fault {
	kinds := []Kind{Cut, Cut, Cut, Cut, Cut, Pause, Pause, Crash, Crash}
	if d.plan.Relayed {
		kinds = append(kinds, Slow, Slow, HalfOpen, Reset)
	}
	switch k := kinds[d.IntN(len(kinds))]; k {
	case Pause:
		if d.one(2) {
			longest = min(longest, 2*time.Second)
		}
		return Fault{Kind: k, Nodes: d.processes(), For: d.between(100*time.Millisecond, longest)}
	case Crash:
		return Fault{Kind: k, Nodes: d.processes(), For: d.between(200*time.Millisecond, longest*2/3)}
	case Slow:
		return Fault{Kind: k, Links: d.links(), For: d.between(500*time.Millisecond, longest), Rule: d.rule()}
	case Cut:
		return Fault{Kind: k, Links: d.links(), For: d.between(200*time.Millisecond, longest), Cut: netns.Kind(d.IntN(2))}
	default:
		return Fault{Kind: k, Links: d.links()}
	}
}

// processes are one, mostly, and that more often a broker's than a member's.
func (d dice) processes() []string {
	switch {
	case d.one(6):
		return d.some(d.plan.nodes())
	case d.one(3):
		return []string{d.pick(d.plan.hosts())}
	}
	return []string{d.pick(brokerNames)}
}

// links draws a border and which directions across it are concerned.
func (d dice) links() []Link {
	var inside, outside []string
	switch d.IntN(5) {
	case 0: // a broker against all
		inside = []string{d.pick(brokerNames)}
		outside = without(slices.Concat(d.plan.nodes(), clientNames), inside)
	case 1: // a broker against all but the clients
		inside = []string{d.pick(brokerNames)}
		outside = without(d.plan.nodes(), inside)
	case 2: // the brokers against each other
		inside, outside = brokerNames[:1], brokerNames[1:]
	case 3: // a broker against some members
		inside = []string{d.pick(brokerNames)}
		outside = d.some(without(d.plan.hosts(), inside))
	default: // some against the others
		inside = d.some(d.plan.nodes())
		outside = without(d.plan.nodes(), inside)
	}
	ways := d.IntN(4) // 0, 1: both
	var list []Link
	for _, a := range inside {
		for _, b := range outside {
			if ways != 2 {
				list = append(list, Link{a, b})
			}
			if ways != 3 {
				list = append(list, Link{b, a})
			}
		}
	}
	return list
}

// some is a part of the list: neither nothing nor, of more than one, everything.
func (d dice) some(list []string) []string {
	n := 1 + d.IntN(max(len(list)-1, 1))
	var out []string
	for _, i := range d.Perm(len(list))[:n] {
		out = append(out, list[i])
	}
	return out
}

func without(list, gone []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(gone, s) })
}

func (d dice) rule() relay.Rule {
	switch d.IntN(4) {
	case 0:
		return relay.Rule{Delay: d.between(5*time.Millisecond, 400*time.Millisecond)}
	case 1:
		return relay.Rule{Rate: 20<<10 + d.IntN(500<<10)}
	case 2:
		return relay.Rule{Loss: 0.01 + 0.2*d.Float64(), Delay: d.between(0, 20*time.Millisecond)}
	default:
		return relay.Rule{Break: int64(100 + d.IntN(100<<10))}
	}
}
