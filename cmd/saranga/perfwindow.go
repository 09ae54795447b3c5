package main

import (
	"sync"
	"sync/atomic"
)

// A window bounds messages on their way: sent and not yet completed, or not yet received. Sleepers are woken when a
// quarter of it is free, so that a sender works in batches. Its methods may be called from any goroutine.
type window struct {
	max, low int64
	pending  atomic.Int64

	mu     sync.Mutex
	cond   sync.Cond
	closed bool
}

func newWindow(n int64) *window {
	w := &window{max: max(n, 1)}
	w.low = min(w.max-1, w.max-w.max/4)
	w.cond.L = &w.mu
	return w
}

// tryAcquire takes a place if one is free.
func (w *window) tryAcquire() bool {
	for {
		p := w.pending.Load()
		if p >= w.max {
			return false
		}
		if w.pending.CompareAndSwap(p, p+1) {
			return true
		}
	}
}

// acquire takes a place, waiting for it. It returns false when the window is closed.
func (w *window) acquire() bool {
	for !w.tryAcquire() {
		w.mu.Lock()
		for w.pending.Load() > w.low && !w.closed {
			w.cond.Wait()
		}
		closed := w.closed
		w.mu.Unlock()
		if closed {
			return false
		}
	}
	return true
}

// release gives a place back. The one that brings the number down to the low mark wakes those who sleep.
func (w *window) release() {
	switch w.pending.Add(-1) {
	case w.low, 0:
		w.mu.Lock()
		w.cond.Broadcast()
		w.mu.Unlock()
	}
}

// close lets all who wait go.
func (w *window) close() {
	w.mu.Lock()
	w.closed = true
	w.cond.Broadcast()
	w.mu.Unlock()
}
