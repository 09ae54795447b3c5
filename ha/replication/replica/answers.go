package replica

import (
	"fmt"
	"sync"

	"github.com/saranga-mq/saranga/journal"
)

// maxPending bounds the bytes of responses that wait.
const maxPending = 1 << 20

// answers sends the responses, in order, when what they answer is in the files. There is no goroutine: a batch is begun by
// whoever asks for it, and sent by the journal that has written what it waits for, which then begins the next; meanwhile the
// next gather.
//
// Invariants, with mu held: what is in pending came after what is in batch; busy holds from the begin of a batch to the end of
// its sending.
type answers struct {
	// written has w told n times, later and not by this goroutine, when everything applied so far is in the files.
	written func(w journal.Waiter) (n int, err error)
	send    func(frames []byte) error
	failed  func(error) // once

	mu      sync.Mutex
	changed sync.Cond // on mu
	pending []byte
	batch   []byte
	asked   bool // pending is to follow batch at once; never without pending
	busy    bool
	left    int // how often Stored is still called for batch
	sending bool
	stopped bool
	err     error
}

func (a *answers) init() { a.changed.L = &a.mu }

// push adds a response. It waits while too many wait already.
func (a *answers) push(frame []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.pending) >= maxPending && a.err == nil && !a.stopped {
		a.begin()
		if len(a.pending) >= maxPending {
			a.changed.Wait()
		}
	}
	a.pending = append(a.pending, frame...)
	return a.end()
}

// end is why no response will be sent any more. Called with mu held.
func (a *answers) end() error {
	if a.err == nil && a.stopped {
		return ErrClosed
	}
	return a.err
}

// flush has sent what waits.
func (a *answers) flush() {
	a.mu.Lock()
	a.begin()
	a.mu.Unlock()
}

// drain returns when all responses are sent.
func (a *answers) drain() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.begin(); (len(a.pending) > 0 || a.busy) && a.err == nil && !a.stopped; a.begin() {
		a.changed.Wait()
	}
	return a.end()
}

// stop returns when nothing is being sent any more. What waits is not sent.
func (a *answers) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	a.changed.Broadcast()
	for a.sending {
		a.changed.Wait()
	}
}

// fail ends the sending.
func (a *answers) fail(err error) {
	a.mu.Lock()
	first := a.err == nil
	if first {
		a.err = err
		a.changed.Broadcast()
	}
	a.mu.Unlock()
	if first {
		a.failed(err)
	}
}

// begin begins a batch of what is pending, at once or after the one under way. Called with mu held, which it lets go of while it sends.
func (a *answers) begin() {
	a.asked = len(a.pending) > 0
	for a.asked && !a.busy && len(a.pending) > 0 && a.err == nil && !a.stopped {
		a.batch, a.pending = a.pending, a.batch[:0]
		a.asked, a.busy = false, true
		a.changed.Broadcast() // those who wait for room
		n, err := a.written(a)
		if err != nil {
			a.unlocked(func() { a.fail(err) })
			return
		}
		if a.left = n; n > 0 {
			return
		}
		a.deliver()
	}
}

// Stored implements journal.Waiter.
func (a *answers) Stored() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left--; a.left > 0 {
		return
	}
	a.deliver()
	if a.asked {
		a.begin()
	}
}

// deliver sends the batch. Called as begin is.
func (a *answers) deliver() {
	if a.stopped || a.err != nil {
		return
	}
	a.sending = true
	a.unlocked(func() {
		if err := a.send(a.batch); err != nil {
			a.fail(fmt.Errorf("%w: %w", ErrLinkEnded, err))
		}
	})
	a.sending, a.busy = false, false
	a.changed.Broadcast()
}

func (a *answers) unlocked(f func()) {
	a.mu.Unlock()
	defer a.mu.Lock()
	f()
}
