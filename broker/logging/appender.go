package logging

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Bounds of an appender. When maxBacklog bytes wait because the console or disk does not take them, a message waits
// patience for room once; after that messages are dropped and counted until something has been written.
const (
	maxBacklog = 1 << 20
	patience   = 200 * time.Millisecond
)

// sink takes whole lines. It is used by one goroutine and may block.
type sink interface {
	write(p []byte, now time.Time) error
	close() error
}

// appender formats events into a buffer that its goroutine hands to the sink, so that no caller waits for a disk or a
// pipe for long.
type appender struct {
	layout    layout
	threshold hclog.Level
	sink      sink

	mu      sync.Mutex
	buffer  []byte
	lost    int // messages dropped since the last write
	stuck   bool
	closing bool
	added   uint64        // batches handed in: grows with each event
	written uint64        // the value of added that has reached the sink
	wake    chan struct{} // has an element while there is something to do
	room    chan struct{} // closed and replaced after each write
	done    chan struct{} // closed when the goroutine ends
}

func newAppender(l layout, threshold hclog.Level, s sink) *appender {
	a := &appender{layout: l, threshold: threshold, sink: s, wake: make(chan struct{}, 1), room: make(chan struct{}), done: make(chan struct{})}
	go a.run()
	return a
}

// log takes an event. It may wait, see patience.
func (a *appender) log(e *event) {
	if e.level < a.threshold {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.buffer) >= maxBacklog && !a.stuck {
		a.waitForRoom()
	}
	if len(a.buffer) >= maxBacklog || a.closing {
		a.stuck = true
		a.lost++
		return
	}
	a.buffer = a.layout.append(a.buffer, e)
	a.added++
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// waitForRoom releases the lock meanwhile.
func (a *appender) waitForRoom() {
	room := a.room
	a.mu.Unlock()
	timer := time.NewTimer(patience)
	select {
	case <-room:
	case <-timer.C:
	}
	timer.Stop()
	a.mu.Lock()
}

func (a *appender) run() {
	defer close(a.done)
	var batch []byte
	for {
		<-a.wake
		a.mu.Lock()
		batch, a.buffer = a.buffer, batch[:0]
		target, lost, closing := a.added, a.lost, a.closing
		a.lost = 0
		a.mu.Unlock()
		now := time.Now()
		if lost > 0 {
			batch = a.layout.append(batch, &event{at: now, level: hclog.Warn, logger: Server, message: fmt.Sprintf("%d log messages were lost: the output did not take them", lost)})
		}
		if len(batch) > 0 && a.sink.write(batch, now) != nil {
			lost += int(target - a.written) // told once there is space again
		} else {
			lost = 0
		}
		a.mu.Lock()
		a.lost += lost
		a.written, a.stuck = target, false
		close(a.room)
		a.room = make(chan struct{})
		a.mu.Unlock()
		if cap(batch) > 2*maxBacklog {
			batch = nil
		}
		if closing {
			return
		}
	}
}

// flush waits until all that was logged before has been written, or the deadline comes.
func (a *appender) flush(deadline <-chan time.Time) bool {
	a.mu.Lock()
	target := a.added
	for a.written < target {
		room := a.room
		a.mu.Unlock()
		select {
		case <-room:
		case <-a.done:
			return false
		case <-deadline:
			return false
		}
		a.mu.Lock()
	}
	a.mu.Unlock()
	return true
}

// close writes what is left and closes the sink. A sink that is still stuck at the deadline is left alone with its
// goroutine: the process is about to end, or its console is gone.
func (a *appender) close(deadline <-chan time.Time) error {
	a.mu.Lock()
	a.closing = true
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
	select {
	case <-a.done:
		return a.sink.close()
	case <-deadline:
		return fmt.Errorf("the output takes nothing, %d bytes are lost", len(a.pending()))
	}
}

func (a *appender) pending() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.buffer
}

// console is a sink that stays open.
type console struct{ io.Writer }

func (c console) write(p []byte, _ time.Time) error {
	_, err := c.Write(p)
	return err
}

func (console) close() error { return nil }
