package zk

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/raftfsm/zk/jute"
)

var (
	errOutputFull = errors.New("the client does not read what it is sent: output limit reached")
	errMemory     = errors.New("the memory limit of all connections together is reached")
)

// keptOutput is the size up to which an output keeps its buffers for reuse.
const keptOutput = 16 << 10

// An output is what waits to be written to a connection. Adding never blocks and may be done under any lock; one goroutine, run, writes.
type output struct {
	limit  int
	budget *budget
	wake   chan struct{} // something has changed for run

	mu      sync.Mutex
	buf     []byte
	writing int   // bytes that run is writing; they count like those in buf
	closed  bool  // nothing more comes: run ends when buf is written
	err     error // why nothing can be added any more
}

func newOutput(limit int, b *budget) *output {
	return &output{limit: limit, budget: b, wake: make(chan struct{}, 1)}
}

// frame adds a frame with the payload that body appends. It fails at a limit and after close, and from then on always.
func (o *output) frame(body func([]byte) []byte) error {
	return o.add(func(b []byte) []byte { return jute.AppendFrame(b, body) })
}

func (o *output) add(more func([]byte) []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	had := len(o.buf)
	o.buf = more(o.buf)
	switch added := len(o.buf) - had; {
	case len(o.buf)+o.writing > o.limit:
		o.err = errOutputFull
	case !o.budget.take(added):
		o.err = errMemory
	}
	if o.err != nil {
		o.budget.give(had)
		o.buf = nil
	}
	o.signal()
	return o.err
}

// close lets run end after what has been added.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if o.err == nil {
		o.err = net.ErrClosed
	}
	o.signal()
}

func (o *output) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// next takes what is to be written; the bytes before are written.
func (o *output) next(spare []byte) (b []byte, closed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.budget.give(o.writing)
	b, o.buf = o.buf, spare[:0]
	o.writing = len(b)
	return b, o.closed
}

// run writes until close, or until the peer takes nothing for timeout. Afterwards nothing counts in the budget any more.
func (o *output) run(c net.Conn, timeout time.Duration) error {
	defer func() {
		o.close()
		o.next(nil)
		o.next(nil)
	}()
	var spare []byte
	for range o.wake {
		for {
			b, closed := o.next(spare)
			if len(b) == 0 {
				if closed {
					return nil
				}
				spare = b
				break
			}
			if err := c.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
				return err
			}
			if _, err := c.Write(b); err != nil {
				return err
			}
			if spare = b; cap(spare) > keptOutput {
				spare = nil
			}
		}
	}
	return nil
}
