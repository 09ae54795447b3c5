package broker

import (
	"errors"
	"slices"
	"sync"
)

// What happens to a reference whose end the store refuses: it has no space for it, and goes on.
//
// A reference leaves its queue before the operation that records it is appended. Work keeps it until then. When the
// append is refused, whoever asked for the end is told so and the reference is where it was: what a consumer has
// acknowledged is among its deliveries again, what an operator wanted to be removed, what expired and what died waits in
// the queue. Where there is no way back (the queue is gone, another message has taken the place, the client has
// acknowledged it beforehand), the operation is owed to the store and tried again until it is taken.

// A leaving is a reference that has left its queue with an operation that is not in the store yet.
type leaving struct {
	queue    *Queue
	ref      Ref
	consumer *Consumer // that had it delivered; nil: it waited
	why      reason
}

// leave takes a ref that is in no list out of the queue, unless the store refuses: then it goes back to the consumer that
// acknowledged it, or to where it waited if c is nil. Called with the lock held.
func (q *Queue) leave(w *Work, r Ref, why reason, c *Consumer) {
	q.settled(r, why)
	n := len(w.ops)
	q.b.backings[r.from].Ack(w, q, r)
	if c == nil && len(w.ops) == n {
		w.release(r.Msg) // the store has nothing to refuse
		return
	}
	w.leaving = append(w.leaving, leaving{q, r, c, why})
}

// certain lets go of what has left its queue, from n on: nobody refuses that any more.
func (w *Work) certain(n int) {
	for i := n; i < len(w.leaving); i++ {
		w.released = append(w.released, w.leaving[i].ref.Msg)
		w.leaving[i] = leaving{}
	}
	w.leaving = w.leaving[:n]
}

// refuse deals with collected operations that were refused. alone: nobody else is told. No lock is held.
func (w *Work) refuse(err error, alone bool) {
	ops, gone := w.ops, w.leaving
	w.ops, w.leaving = nil, nil
	if errors.Is(err, ErrStoreFailed) { // which is final: the broker stops
		for _, l := range gone {
			w.release(l.ref.Msg)
		}
		w.bodies = w.bodies[:0]
		return
	}
	back := map[int64][]int64{} // queues by message
	closed := map[*Queue][]Ref{}
	for _, l := range slices.Backward(gone) {
		q, id := l.queue, l.ref.Msg.ID()
		q.mu.Lock()
		if q.deleted.Load() {
			q.mu.Unlock()
			w.release(l.ref.Msg)
			continue
		}
		back[id] = append(back[id], q.ID)
		q.unsettled(l.ref, l.why)
		q.b.backings[l.ref.from].Unack(w, q, l.ref)
		if c := l.consumer; c == nil {
			w.putBack(q, l.ref)
		} else {
			q.delivering++
			q.deliveringSize += l.ref.Msg.PersistentSize()
			c.acknowledged--
			if c.closed {
				l.ref.Count-- // as when it closed
				closed[q] = append(closed[q], l.ref)
			} else {
				c.given.pushFront(l.ref)
			}
		}
		q.mu.Unlock()
		if w.stuck != nil {
			w.stuck[id] = true
			w.stuckErr = AsError(err)
		}
	}
	w.b.owed.take(w, ops, back)
	for q, refs := range closed {
		q.mu.Lock()
		q.cancel(w, refs, cancelClosed, false)
		q.deliver(w)
		q.mu.Unlock()
	}
	if alone {
		w.b.warnOnce("append", err.Error(), "acknowledgements could not be stored: their messages stay where they are", "error", err)
	}
}

// putBack puts a ref where it waited. Called with the queue's lock held.
func (w *Work) putBack(q *Queue, r Ref) {
	w.refused = true
	if at := w.until[r.Msg.ID()]; at > w.Now {
		q.holdUntil(r, at)
		return
	}
	q.requeue(w, []Ref{r})
}

// owed are operations that end what is gone already, and that the store has refused: acknowledgements and deletions that
// cannot be taken back. They are tried again every owedPeriod and when the broker stops; one that is lost makes a message
// come back with the next start.
type owed struct {
	b      *Broker
	mu     sync.Mutex
	ops    []Op
	bodies []int64
	armed  bool
}

const owedPeriod = 1000 // ms

// take takes from refused operations those that are owed. back are the references that have been put back, queues by
// message: theirs are forgotten.
func (o *owed) take(w *Work, ops []Op, back map[int64][]int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, op := range ops {
		queues := back[op.ID]
		switch {
		case op.Kind == OpRollback || op.Kind == OpDeleteRecord:
		case op.Tx != 0 || op.Kind != OpAckRef && op.Kind != OpDeleteMessage || slices.Contains(queues, op.Queue):
			continue
		case op.Kind == OpDeleteMessage && len(queues) > 0:
			op.Kind = OpAckRef // it was not the last reference
		}
		o.ops = append(o.ops, op)
	}
	o.bodies = append(o.bodies, w.bodies...)
	w.bodies = w.bodies[:0]
	o.arm()
}

// arm makes pay be called. Called with the lock held.
func (o *owed) arm() {
	if len(o.ops)+len(o.bodies) > 0 && !o.armed {
		o.armed = true
		o.b.wheel.After(owedPeriod, func() { o.b.executor(o.pay) })
	}
}

// pay tries again. No lock is held.
func (o *owed) pay() {
	o.mu.Lock()
	ops, bodies := o.ops, o.bodies
	o.ops, o.bodies, o.armed = nil, nil, false
	o.mu.Unlock()
	if len(ops) > 0 {
		if _, err := o.b.store.Append(ops, nil, 0); err != nil {
			o.mu.Lock()
			o.ops, o.bodies = append(ops, o.ops...), append(bodies, o.bodies...)
			o.arm()
			o.mu.Unlock()
			return
		}
	}
	for _, id := range bodies {
		o.b.store.DeleteBody(id)
	}
}
