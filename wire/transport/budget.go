package transport

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A Budget bounds the bytes of big frames that are being read on all connections together. Who wants to read one takes
// its whole size first, so nobody waits for more while holding some, and gets it in the order of asking.
type Budget struct {
	mu      sync.Mutex
	max     int64
	used    int64
	waiting []*budgetWaiter
}

type budgetWaiter struct {
	n     int64
	ready chan struct{}
}

// ErrBudget is the reason of a close when a big frame found no room in the Budget for the connection's stall timeout.
var ErrBudget = errors.New("no room for the frame among the frames being read")

// NewBudget returns a budget of max bytes.
func NewBudget(max int64) *Budget {
	return &Budget{max: max}
}

// Max is the largest frame that can ever be read, in bytes.
func (b *Budget) Max() int64 { return b.max }

// Used tells the bytes taken now; zero when no big frame is being read.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Acquire takes n bytes. It waits in the order of the callers until there is room, at most for the timeout (0: no
// bound), and until done is closed. Every success is followed by one Release of the same n.
func (b *Budget) Acquire(n int64, timeout time.Duration, done <-chan struct{}) error {
	if n > b.max {
		return fmt.Errorf("frame of %d bytes is larger than the bound of %d for all frames being read", n, b.max)
	}
	b.mu.Lock()
	if len(b.waiting) == 0 && b.used+n <= b.max {
		b.used += n
		b.mu.Unlock()
		return nil
	}
	w := &budgetWaiter{n: n, ready: make(chan struct{})}
	b.waiting = append(b.waiting, w)
	b.mu.Unlock()

	var expired <-chan time.Time
	if timeout > 0 {
		t := time.NewTimer(timeout)
		defer t.Stop()
		expired = t.C
	}
	var err error
	select {
	case <-w.ready:
		return nil
	case <-expired:
		err = ErrBudget
	case <-done:
		err = errClosed
	}
	if !b.forget(w) {
		return nil // granted at the same moment
	}
	return err
}

// forget takes w out of the queue; false if it has been granted already.
func (b *Budget) forget(w *budgetWaiter) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, x := range b.waiting {
		if x == w {
			b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
			b.grant() // a smaller one behind it may fit
			return true
		}
	}
	return false
}

// Release gives n acquired bytes back.
func (b *Budget) Release(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	b.grant()
}

func (b *Budget) grant() {
	for len(b.waiting) > 0 && b.used+b.waiting[0].n <= b.max {
		w := b.waiting[0]
		b.waiting = b.waiting[1:]
		b.used += w.n
		close(w.ready)
	}
}

// An OutputAccount counts the bytes that wait in all outputs together. Above its bound every output that holds more
// than a little is full, whatever its own bound says. The sum stays below the bound plus 64 KiB and one batch for each
// connection. Bytes are counted when a flush could not write them at once; those that never wait cost nothing here.
type OutputAccount struct {
	max  int64
	used atomic.Int64
}

// NewOutputAccount returns an account with a bound of max bytes.
func NewOutputAccount(max int64) *OutputAccount {
	return &OutputAccount{max: max}
}

// Used tells the bytes waiting in all outputs; zero when every output is drained or closed.
func (a *OutputAccount) Used() int64 { return a.used.Load() }

func (a *OutputAccount) over() bool { return a.used.Load() > a.max }
