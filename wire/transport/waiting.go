package transport

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// errDisplaced is the reason of a close when an unauthenticated connection gave its place to a newer one.
var errDisplaced = errors.New("too many connections wait for authentication: the oldest was closed")

// displaceAfter is how long every connection may take for its login before it can be displaced.
const displaceAfter = time.Second

// A waitingRoom bounds the unauthenticated connections of all acceptors. When it is full, the oldest connection gives
// way if it had its time; until then accepting waits and the system's backlog fills. So a mass of clients that all
// come back at once is only slowed down, and a peer that opens connections and says nothing keeps nobody out.
type waitingRoom struct {
	max   int
	freed chan struct{} // has a token when a place became free

	mu    sync.Mutex
	queue []*Conn // in the order of coming
}

func newWaitingRoom(max int) *waitingRoom {
	return &waitingRoom{max: max, freed: make(chan struct{}, 1)}
}

// admit waits for a place for c; false when stop was closed first.
func (w *waitingRoom) admit(c *Conn, stop <-chan struct{}) bool {
	for {
		wait := w.tryAdmit(c)
		if wait == 0 {
			return true
		}
		t := time.NewTimer(wait)
		select {
		case <-w.freed:
		case <-t.C:
		case <-stop:
			t.Stop()
			return false
		}
		t.Stop()
	}
}

// tryAdmit returns how long to wait for the oldest, or 0 if c has a place.
func (w *waitingRoom) tryAdmit(c *Conn) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) >= w.max {
		oldest := w.queue[0]
		if age := time.Since(oldest.created); age < displaceAfter {
			return displaceAfter - age
		}
		w.queue = slices.Delete(w.queue, 0, 1)
		oldest.Close(errDisplaced)
	}
	w.queue = append(w.queue, c)
	return 0
}

// remove gives c's place back, if it has one.
func (w *waitingRoom) remove(c *Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.queue, c)
	if i < 0 {
		return
	}
	w.queue = slices.Delete(w.queue, i, i+1)
	select {
	case w.freed <- struct{}{}:
	default:
	}
}

// size is the number of unauthenticated connections.
func (w *waitingRoom) size() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue)
}
