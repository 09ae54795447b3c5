package replica

import (
	"fmt"
	"sync"
)

// maxPending bounds the bytes of responses that wait.
const maxPending = 1 << 20

// answers sends the responses, in order, when what they answer is in the files. Its goroutine takes all that wait, has it written, and
// sends; meanwhile the next gather.
type answers struct {
	written func() error // returns when everything applied so far is in the files
	send    func(frames []byte) error
	failed  func(error)

	mu      sync.Mutex
	changed sync.Cond // on mu
	pending []byte
	spare   []byte
	asked   bool // pending is to be sent now; never without pending
	busy    bool
	stopped bool
	err     error
	work    sync.WaitGroup
}

func (a *answers) start() {
	a.changed.L = &a.mu
	a.work.Go(a.run)
}

// push adds a response. It waits while too many wait already.
func (a *answers) push(frame []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.pending) >= maxPending && a.err == nil && !a.stopped {
		a.ask()
		a.changed.Wait()
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
	a.ask()
	a.mu.Unlock()
}

// ask wakes the goroutine if something waits. Called with mu held.
func (a *answers) ask() {
	if len(a.pending) > 0 {
		a.asked = true
		a.changed.Broadcast()
	}
}

// drain returns when all responses are sent.
func (a *answers) drain() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for (len(a.pending) > 0 || a.busy) && a.err == nil && !a.stopped {
		a.ask()
		a.changed.Wait()
	}
	return a.end()
}

// stop ends the goroutine and waits for it. What waits is not sent.
func (a *answers) stop() {
	a.mu.Lock()
	a.stopped = true
	a.changed.Broadcast()
	a.mu.Unlock()
	a.work.Wait()
}

func (a *answers) run() {
	for {
		batch := a.take()
		if batch == nil {
			return
		}
		err := a.written()
		if err == nil {
			if err = a.send(batch); err != nil {
				err = fmt.Errorf("%w: %w", ErrLinkEnded, err)
			}
		}
		a.mu.Lock()
		a.busy, a.spare, a.err = false, batch[:0], err
		a.changed.Broadcast()
		a.mu.Unlock()
		if err != nil {
			a.failed(err)
			return
		}
	}
}

// take waits for responses; it returns nil at the end.
func (a *answers) take() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	for !a.stopped && (len(a.pending) == 0 || !a.asked) {
		a.changed.Wait()
	}
	if a.stopped {
		return nil
	}
	batch := a.pending
	a.pending, a.spare = a.spare[:0], nil
	a.asked, a.busy = false, true
	a.changed.Broadcast() // those who wait for room
	return batch
}
