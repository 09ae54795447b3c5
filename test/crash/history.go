package crash

import (
	"context"
	"fmt"
	"sync"
)

// A History is what clients did in one life of a broker, and what they were told. Its methods may be called from any
// goroutine.
type History struct {
	mu         sync.Mutex
	clock      int
	units      []*Unit
	deliveries []Delivery
	depth      map[string]int // copies of each queue, about
	room       chan struct{}  // closed when a depth has gone down
	down       bool
	surprises  []string
	answered   int
}

// NewHistory begins with what the broker holds.
func NewHistory(before map[Copy]bool, branches []*Unit) *History {
	h := &History{units: branches, depth: map[string]int{}, room: make(chan struct{})}
	for c := range before {
		h.depth[c.Queue]++
	}
	return h
}

// Begin writes a unit down before its first part is done.
func (h *History) Begin(u *Unit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.units = append(h.units, u)
	for _, c := range u.Sends {
		h.depth[c.Queue]++
	}
	h.took(u.Acks)
	h.set(u, u.May)
}

// Send adds a part to a transaction before it is done.
func (h *History) Send(u *Unit, copies ...Copy) {
	h.mu.Lock()
	defer h.mu.Unlock()
	u.Sends = append(u.Sends, copies...)
	for _, c := range copies {
		h.depth[c.Queue]++
	}
}

// Ack adds a part to a transaction before it is done.
func (h *History) Ack(u *Unit, copies ...Copy) {
	h.mu.Lock()
	defer h.mu.Unlock()
	u.Acks = append(u.Acks, copies...)
	h.took(copies)
}

func (h *History) took(copies []Copy) {
	if len(copies) == 0 {
		return
	}
	for _, c := range copies {
		h.depth[c.Queue]--
	}
	close(h.room)
	h.room = make(chan struct{})
}

// Set writes down what is known of a unit's outcome.
func (h *History) Set(u *Unit, may States) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.set(u, may)
	h.answered++
}

func (h *History) set(u *Unit, may States) {
	h.clock++
	u.May, u.Known = may, h.clock
}

// Delivered writes down that a consumer got a message.
func (h *History) Delivered(c Copy) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	h.deliveries = append(h.deliveries, Delivery{c, h.clock})
}

// Down tells that the broker is about to end: from now on anything may fail.
func (h *History) Down() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down = true
	close(h.room)
	h.room = make(chan struct{})
}

// Failed writes down an error of a client. Before Down there should be none.
func (h *History) Failed(what string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.down {
		h.surprises = append(h.surprises, fmt.Sprintf("%s: %v", what, err))
	}
}

// Surprises are the errors before Down.
func (h *History) Surprises() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.surprises
}

// Room waits until the queue holds fewer than most copies. False: the broker is about to end, or the context has ended.
func (h *History) Room(ctx context.Context, queue string, most int) bool {
	for ctx.Err() == nil {
		h.mu.Lock()
		n, room, down := h.depth[queue], h.room, h.down
		h.mu.Unlock()
		if down {
			return false
		}
		if n < most {
			return true
		}
		select {
		case <-room:
		case <-ctx.Done():
		}
	}
	return false
}

// Round is the history as a round whose end has not been seen yet.
func (h *History) Round(before map[Copy]bool) *Round {
	h.mu.Lock()
	defer h.mu.Unlock()
	return &Round{Before: before, Units: h.units, Deliveries: h.deliveries}
}

// Counts of what was done: units, answers, deliveries.
func (h *History) Counts() (units, answered, deliveries int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.units), h.answered, len(h.deliveries)
}
