package ha

import (
	"sync"
	"sync/atomic"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// A Lease has an end that moves on while its store answers. quorum.Lock is one.
type Lease interface {
	// Lease is the end, 0 when there is none any more, quorum.NoLease if it has no end.
	Lease() quorum.Instant
}

// A Deadline is until when this node may answer. The engine asks Live where an answer leaves, with the clock read there: a
// process that was frozen has missed the deadline when it wakes, whatever it believed before.
//
// An answer that was not given can't be given later, so missing the deadline once is final until the next Follow: Missed tells
// whoever drives the Machine, which then ends the activation (LeaseMissed).
//
// With a policy that has no lock manager the engine isn't given a Deadline, or one that follows Unlimited.
//
// The zero value is never live. Methods may be called from any goroutine; Live takes no lock.
type Deadline struct {
	lease  atomic.Pointer[term]
	mu     sync.Mutex // of once, when a term ends
	missed chan struct{}
}

// A term is one holding of the lock.
type term struct {
	lease  Lease
	missed atomic.Bool
}

// Unlimited is the lease of a node whose policy has no lock manager.
type Unlimited struct{}

// Lease implements Lease.
func (Unlimited) Lease() quorum.Instant { return quorum.NoLease }

// Follow makes the lease's end the deadline. It returns a channel that is closed when the deadline is missed.
func (d *Deadline) Follow(l Lease) (missed <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.missed = make(chan struct{})
	d.lease.Store(&term{lease: l})
	return d.missed
}

// End makes the deadline the past, without a word to Missed: the node stops by itself.
func (d *Deadline) End() { d.lease.Store(nil) }

// Live tells whether an answer may leave now.
func (d *Deadline) Live(now quorum.Instant) bool {
	t := d.lease.Load()
	if t == nil || t.missed.Load() {
		return false
	}
	if now < t.lease.Lease() {
		return true
	}
	d.miss(t)
	return false
}

func (d *Deadline) miss(t *term) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t.missed.CompareAndSwap(false, true) && d.lease.Load() == t {
		close(d.missed)
	}
}
