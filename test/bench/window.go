package main

import (
	"context"
	"sync/atomic"
)

// A window bounds the messages sent and not yet received. Who sends is woken when half of it is free, not at every
// message. One goroutine sends, one receives.
type window struct {
	limit    int64
	sent     int64 // of the sender
	received atomic.Int64
	wake     atomic.Int64  // the count of received messages that wakes the sender; 0: it does not wait
	room     chan struct{} // capacity 1
}

func newWindow(limit int64) *window { return &window{limit: limit, room: make(chan struct{}, 1)} }

// full tells the sender that it has to wait.
func (w *window) full() bool { return w.sent-w.received.Load() >= w.limit }

// wait waits until half of the window is free, and tells whether the context still goes on.
func (w *window) wait(ctx context.Context) bool {
	enough := w.sent - w.limit/2
	w.wake.Store(enough)
	if w.received.Load() >= enough && w.wake.CompareAndSwap(enough, 0) {
		return ctx.Err() == nil
	}
	select {
	case <-w.room:
		return true
	case <-ctx.Done():
		return false
	}
}

// receive counts a message.
func (w *window) receive() {
	n := w.received.Add(1)
	if enough := w.wake.Load(); enough > 0 && n >= enough && w.wake.CompareAndSwap(enough, 0) {
		w.room <- struct{}{}
	}
}
