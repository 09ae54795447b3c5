package zk

import (
	"sync"
	"time"
)

// frame is a request as it came in.
type frame struct {
	payload []byte
	at      time.Time
}

// An inbox holds the requests of a connection that are read but not yet handled. The reader waits while it is full, and so does the client in the end.
type inbox struct {
	frames, bytes int // at most, but always one frame
	budget        *budget

	mu      sync.Mutex
	changed sync.Cond
	queue   []frame
	size    int
	closed  bool
}

func newInbox(frames, bytes int, b *budget) *inbox {
	i := &inbox{frames: frames, bytes: bytes, budget: b}
	i.changed.L = &i.mu
	return i
}

// put adds a request, when there is room. It does nothing after close.
func (i *inbox) put(f frame) error {
	if !i.budget.take(len(f.payload)) {
		return errMemory
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for !i.closed && len(i.queue) > 0 && (len(i.queue) >= i.frames || i.size+len(f.payload) > i.bytes) {
		i.changed.Wait()
	}
	if i.closed {
		i.budget.give(len(f.payload))
		return nil
	}
	i.queue = append(i.queue, f)
	i.size += len(f.payload)
	i.changed.Broadcast()
	return nil
}

// take waits for the next request; false after close, even if there are some.
func (i *inbox) take() (frame, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for !i.closed && len(i.queue) == 0 {
		i.changed.Wait()
	}
	if i.closed {
		return frame{}, false
	}
	f := i.queue[0]
	i.queue[0] = frame{}
	i.queue = i.queue[1:]
	i.size -= len(f.payload)
	i.budget.give(len(f.payload))
	i.changed.Broadcast()
	return f, true
}

// close drops what is left and ends all waiting.
func (i *inbox) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.budget.give(i.size)
	i.closed, i.queue, i.size = true, nil, 0
	i.changed.Broadcast()
}

// len is the number of requests that wait.
func (i *inbox) len() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.queue)
}
