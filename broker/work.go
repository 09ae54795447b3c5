package broker

import (
	"sync"

	"github.com/saranga-mq/saranga/broker/message"
)

// Work is what a goroutine collects while it holds locks of the engine and does once it holds none: store operations,
// releases, moves to other addresses, outputs to flush. Each connection has one for its reader; the store's goroutine and
// every queue runner have their own. Not for two goroutines at once.
//
// The collected operations keep their order: whoever appends something that must come after them calls append, which
// puts them first.
type Work struct {
	b   *Broker
	Now int64 // ms since the epoch, taken once per batch

	// stored marks the work of the store's goroutine: it delivers only where nothing can take long, its appends use the
	// reserve, and moves are handed to another goroutine.
	stored bool
	live   liveness // of the node, for the batch of the store at work

	ops      []Op
	leaving  []leaving // refs that have left their queues with some of ops
	released []*message.Message
	bodies   []int64
	moves    []move
	wakes    []*Queue
	inDoubt  []*Tx // branches that remain prepared because their end could not be stored
	dirty    []Output

	stuck    map[int64]bool  // not nil: gathers the ids of messages that could not be moved or removed
	stuckErr *Error          // why the last one could not
	until    map[int64]int64 // not nil: the times that messages were taken away from
	refused  bool            // something was put back in this batch
}

// NewWork returns the work of a new connection or other user of sessions.
func (b *Broker) NewWork() *Work { return &Work{b: b, Now: b.now()} }

var works = sync.Pool{New: func() any { return new(Work) }}

// LendWork returns work for one batch: an idle connection needs none.
func (b *Broker) LendWork() *Work {
	w := works.Get().(*Work)
	w.b = b
	return w
}

// GiveBack ends the use of lent work that has been flushed.
func (w *Work) GiveBack() {
	w.b = nil
	works.Put(w)
}

// Begin starts a batch.
func (w *Work) Begin() { w.Now, w.refused, w.live = w.b.now(), false, unasked }

type liveness uint8

const (
	unasked liveness = iota
	alive
	gone
)

// mayAnswer tells whether the node is still live. Its clock is read after everything that an answer says has become true: one that
// leaves later than that is only late. What one batch of the store tells was all true when the batch began, so that is asked once for
// the batch; anything else each time.
func (w *Work) mayAnswer(stored bool) bool {
	if !w.stored || !stored {
		return w.b.Live()
	}
	if w.live == unasked {
		w.live = gone
		if w.b.Live() {
			w.live = alive
		}
	}
	return w.live == alive && w.b.failed.Load() == nil
}

// An Output is where deliveries go: a connection's output.
type Output interface {
	// MarkDirty tells whether the output has been marked for the first time since its last Flush.
	MarkDirty() bool
	// Flush writes what has been appended. It never blocks.
	Flush()
}

// touch notes that the output has something to write.
func (w *Work) touch(o Output) {
	if o.MarkDirty() {
		w.dirty = append(w.dirty, o)
	}
}

// Touch is touch for a protocol that has written an answer.
func (w *Work) Touch(o Output) { w.touch(o) }

func (w *Work) op(op Op) { w.ops = append(w.ops, op) }

// append puts the collected operations and then more into the store, with one waiter for the whole.
func (w *Work) append(waiter Waiter, mode AppendMode) error {
	if len(w.ops) == 0 && waiter == nil {
		w.certain(0)
		return nil
	}
	if w.stored {
		mode |= Reserve
	}
	_, err := w.b.store.Append(w.ops, waiter, mode)
	if err != nil {
		w.refuse(err, waiter == nil)
		return err
	}
	w.certain(0)
	clear(w.ops)
	w.ops = w.ops[:0]
	return nil
}

// Flush does everything collected. None of the broker's locks may be held.
func (w *Work) Flush() {
	w.settle()
	for i, o := range w.dirty {
		o.Flush()
		w.dirty[i] = nil
	}
	w.dirty = w.dirty[:0]
}

// settle does everything collected but flushing outputs, so that what is appended next comes after it.
func (w *Work) settle() {
	for {
		w.append(nil, 0)
		for i, id := range w.bodies {
			w.b.store.DeleteBody(id)
			w.bodies[i] = 0
		}
		w.bodies = w.bodies[:0]
		for i, m := range w.released {
			m.Release()
			w.released[i] = nil
		}
		w.released = w.released[:0]
		for i, q := range w.wakes {
			q.run()
			w.wakes[i] = nil
		}
		w.wakes = w.wakes[:0]
		for i, tx := range w.inDoubt {
			w.b.keepBranch(tx)
			w.inDoubt[i] = nil
		}
		w.inDoubt = w.inDoubt[:0]
		if len(w.moves) == 0 {
			if len(w.ops) > 0 {
				continue // what was put back has made them
			}
			break
		}
		moves := w.moves
		w.moves = nil
		if w.stored {
			w.b.movers.hand(moves)
			break
		}
		for i := range moves {
			w.b.move(w, &moves[i])
		}
	}
}

// release lets go of a message when the work is done.
func (w *Work) release(m *message.Message) { w.released = append(w.released, m) }
