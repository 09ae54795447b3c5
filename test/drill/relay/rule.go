// Package relay carries TCP connections between nodes of a test and does to them what networks do: it holds back, delays, slows down,
// loses and tears.
//
//	a ──▶ listener of the relay ──▶ service of b
//	   Link{a, b}.Set(Out, …)  a's bytes, and the end of its stream
//	   Link{a, b}.Set(Back, …) b's bytes
//
// A relay stands before one service. Whoever connects is told apart by a function (by address, or by process), so that each pair of
// nodes has a link of its own and all connections on it obey the same rules, those that are there already and new ones.
//
// What a rule means for TCP: bytes that are held or lost come later, in order, as TCP would send them again; with them the end of a stream
// and a reset are held, so that a peer does not hear of a process that is gone. A connection that is made while either direction
// is held is accepted by the relay and goes nowhere until both are free.
package relay

import (
	"sync"
	"time"
)

// A Direction is one of the two of a link.
type Direction int

// Out is from whoever connects, Back is to it.
const (
	Out Direction = iota
	Back
)

// A Rule says how bytes get through in one direction. The zero value is a good network.
type Rule struct {
	Hold  bool          // nothing passes
	Delay time.Duration // for each byte
	Rate  int           // bytes/s; 0: unbounded
	// Loss is how likely it is that a segment is lost, 0 to below 1: then it and what is behind it comes later, by 200 ms, and by twice that
	// for each further loss.
	Loss float64
	// Break is after how many bytes from now the connection ends, for both ends and wherever in a frame that is; 0: never. Each connection
	// counts for itself.
	Break int64
}

// A Link is the connection from one node to the service of another. Its methods may be called from any goroutine.
type Link struct {
	mu      sync.Mutex
	rules   [2]Rule
	since   [2]int        // counts settings
	changed chan struct{} // closed when a rule changes
	conns   map[*pipe]struct{}
}

// Set replaces the rule of a direction.
func (l *Link) Set(d Direction, r Rule) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rules[d] = r
	l.since[d]++
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// rule is the present rule of a direction, its number, and what is closed when there is another.
func (l *Link) rule(d Direction) (Rule, int, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.rules[d], l.since[d], l.changed
}

// free tells whether nothing is held, else what to wait for.
func (l *Link) free() (bool, <-chan struct{}) {
	out, _, _ := l.rule(Out)
	back, _, changed := l.rule(Back)
	return !out.Hold && !back.Hold, changed
}

// Reset tears all connections that there are: both ends see a reset at once, whatever the rules are.
func (l *Link) Reset() {
	for _, p := range l.pipes() {
		p.reset()
	}
}

// HalfOpen tears all connections that there are, and only one end sees it: the one that d leads to. The other hears nothing any more, as
// from a machine that lost its power.
func (l *Link) HalfOpen(d Direction) {
	for _, p := range l.pipes() {
		p.halfOpen(d)
	}
}

// Connections is how many connections there are.
func (l *Link) Connections() int { return len(l.pipes()) }

func (l *Link) pipes() []*pipe {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]*pipe, 0, len(l.conns))
	for p := range l.conns {
		list = append(list, p)
	}
	return list
}

func (l *Link) add(p *pipe) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns == nil {
		l.conns = map[*pipe]struct{}{}
	}
	l.conns[p] = struct{}{}
}

func (l *Link) remove(p *pipe) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, p)
}
