// Package timers runs everything in a broker that happens at a time: connection TTLs, expiry scans, scheduled messages,
// transaction timeouts. It is one hashed wheel with one goroutine, however many timers there are.
//
// A timer goes into the slot of its tick modulo the wheel's size; setting and stopping cost a constant time. The goroutine
// sleeps until the next occupied slot, so an idle broker is not woken. Times are ms since the epoch and come from the
// Clock, which tests set.
package timers

import (
	"math/bits"
	"sync"
	"time"
)

const (
	tick  = 10 // ms
	slots = 4096
)

// A Clock tells the time in ms since the epoch.
type Clock func() int64

// System is the machine's clock.
func System() int64 { return time.Now().UnixMilli() }

// A Wheel runs timers. Make it with New.
type Wheel struct {
	clock Clock

	mu      sync.Mutex
	slots   [slots]*Timer // doubly linked, unordered
	used    [slots / 64]uint64
	now     int64 // tick up to which everything has run
	count   int
	next    int64 // tick the goroutine sleeps until
	wake    chan struct{}
	done    chan struct{}
	stopped chan struct{}
}

// A Timer is a function that runs once at a time. The zero Timer is ready for Wheel.Set.
type Timer struct {
	wheel      *Wheel
	at         int64 // tick
	f          func()
	prev, next *Timer
	queued     bool
}

// New returns a wheel. Start runs it; without Start only Advance does.
func New(clock Clock) *Wheel {
	return &Wheel{clock: clock, now: clock() / tick, wake: make(chan struct{}, 1)}
}

// Now is the clock's time in ms.
func (w *Wheel) Now() int64 { return w.clock() }

// After runs f once, d ms from now, on the wheel's goroutine: f must be quick or hand over. The returned timer can be
// stopped.
func (w *Wheel) After(d int64, f func()) *Timer {
	t := &Timer{}
	w.Set(t, w.clock()+d, f)
	return t
}

// Set makes t run f at a time in ms, instead of whatever it was set to before. A time that has passed runs at the next
// tick.
func (w *Wheel) Set(t *Timer, at int64, f func()) {
	w.mu.Lock()
	if t.queued {
		t.wheel.remove(t)
	}
	if w.count == 0 {
		w.now = max(w.now, w.clock()/tick-1) // nothing can be skipped: nobody waits
	}
	t.wheel, t.f, t.at = w, f, max((at+tick-1)/tick, w.now+1)
	w.add(t)
	sleepsTooLong := t.at < w.next
	w.mu.Unlock()
	if sleepsTooLong {
		w.poke()
	}
}

// Stop keeps t from running; it tells whether t was still to run. The function may be running at this moment.
func (t *Timer) Stop() bool {
	w := t.wheel
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !t.queued {
		return false
	}
	w.remove(t)
	return true
}

func (w *Wheel) add(t *Timer) {
	i := t.at % slots
	t.prev, t.next = nil, w.slots[i]
	if t.next != nil {
		t.next.prev = t
	}
	w.slots[i] = t
	w.used[i/64] |= 1 << (i % 64)
	t.queued = true
	w.count++
}

func (w *Wheel) remove(t *Timer) {
	i := t.at % slots
	if t.prev == nil {
		w.slots[i] = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	}
	if w.slots[i] == nil {
		w.used[i/64] &^= 1 << (i % 64)
	}
	t.prev, t.next, t.queued = nil, nil, false
	w.count--
}

// Advance runs what is due at the clock's time, on the caller's goroutine.
func (w *Wheel) Advance() {
	target := w.clock() / tick
	w.mu.Lock()
	if target-w.now >= slots {
		// a long sleep: one round over all slots finds everything that is due
		w.runThrough(slots, target)
	} else {
		w.runThrough(target-w.now, target)
	}
	w.mu.Unlock()
}

// runThrough looks at the next n slots and runs what is due at the target; the lock is released around each function.
func (w *Wheel) runThrough(n, target int64) {
	start := w.now
	for k := int64(1); k <= n; k++ {
		i := (start + k) % slots
		for t := w.slots[i]; t != nil; {
			if t.at > target {
				t = t.next
				continue
			}
			w.remove(t)
			w.mu.Unlock()
			t.f()
			w.mu.Lock()
			t = w.slots[i]
		}
		if n < slots {
			w.now = max(w.now, start+k)
		}
	}
	w.now = max(w.now, target)
}

// nextTick is the tick of the next slot with a timer in it, at most a round away.
func (w *Wheel) nextTick() (int64, bool) {
	if w.count == 0 {
		return 0, false
	}
	for k := int64(1); k <= slots; {
		i := (w.now + k) % slots
		word := w.used[i/64] >> (i % 64)
		if word == 0 {
			k += 64 - i%64
			continue
		}
		return w.now + k + int64(bits.TrailingZeros64(word)), true
	}
	return w.now + slots, true
}

func (w *Wheel) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Start runs the wheel's goroutine until Close.
func (w *Wheel) Start() {
	w.done, w.stopped = make(chan struct{}), make(chan struct{})
	go w.run()
}

func (w *Wheel) run() {
	defer close(w.stopped)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		w.Advance()
		w.mu.Lock()
		next, ok := w.nextTick()
		if !ok {
			next = 1<<62 - 1
		}
		w.next = next
		w.mu.Unlock()
		sleep := time.Hour
		if ok {
			sleep = time.Duration(max(next*tick-w.clock(), 1)) * time.Millisecond
		}
		timer.Reset(min(sleep, time.Hour))
		select {
		case <-timer.C:
		case <-w.wake:
		case <-w.done:
			return
		}
	}
}

// Close stops the goroutine and waits for it. Timers left over do not run. Not from a timer's own function.
func (w *Wheel) Close() {
	if w.done != nil {
		close(w.done)
		<-w.stopped
	}
}
