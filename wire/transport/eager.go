package transport

import (
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// eagerTime is how long a reader looks for more bytes before it parks: what it takes two threads on an idle virtual
	// machine to wake each other. A look is CPU that nobody else gets, in vain or not.
	eagerTime = 50 * time.Microsecond

	// eagerBytes is what a read brings at most from a peer that sends one thing and waits for its answer. More is a
	// stream, which gains by gathering.
	eagerBytes = 4 << 10

	// eagerAfter is how many waits of a new connection pass before it looks: those of its login are no round trips that
	// repeat.
	eagerAfter = 31

	// maxEagerRest is the binary logarithm of how many waits pass at most from one look in vain to the next.
	maxEagerRest = 10
)

// looking is true while a reader of this process looks for bytes: one at a time, so that at most one core is busy with it.
var looking atomic.Bool

// Eager decides whether a reader looks for the next bytes for a moment instead of parking at once. A peer on the same
// machine that waits for one answer before it sends the next message is back sooner than a sleeping thread is woken, and
// that wake-up is most of the round trip. Whoever is never back in time is hardly ever looked for: each look in vain
// doubles the waits until the next one. It belongs to the read goroutine.
type eager struct {
	small bool // the last read brought few bytes
	vain  uint // looks in vain in a row
	rest  uint // waits until the next look
}

// brought is told how many bytes a read brought.
func (e *eager) brought(n int) { e.small = n <= eagerBytes }

// due tells whether to look during the wait that begins.
func (e *eager) due() bool {
	if !e.small {
		return false
	}
	if e.rest > 0 {
		e.rest--
		return false
	}
	return true
}

// read looks for bytes; errAgain if none came in time.
func (e *eager) read(fd uintptr, p []byte) (n int, err error) {
	if !looking.CompareAndSwap(false, true) {
		return 0, errAgain
	}
	defer looking.Store(false)
	// On a single core the peer needs what a look would take: there every look is in vain.
	for start := time.Now(); runtime.GOMAXPROCS(0) > 1 && time.Since(start) < eagerTime; {
		if n, err = sysRead(fd, p); err != errAgain {
			e.vain = 0
			return n, err
		}
	}
	e.vain = min(e.vain+1, maxEagerRest)
	e.rest = 1<<e.vain - 1
	return 0, errAgain
}
