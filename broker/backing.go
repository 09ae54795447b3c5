package broker

import "slices"

// A Backing is where a reference lives outside memory: the journal, page files, a Raft log. A queue never writes a record
// itself; it tells the backing of the reference, which adds operations to the caller's work. All methods are called with
// the queue's lock held unless they say otherwise and must not block.
type Backing interface {
	// Ack records that the reference is gone for good, outside a transaction.
	Ack(w *Work, q *Queue, r Ref)
	// Unack takes back an Ack whose operation the store has refused.
	Unack(w *Work, q *Queue, r Ref)
	// AckTx records that within a transaction (0: nothing needs to be recorded). No lock is held.
	AckTx(w *Work, q *Queue, r Ref, tx int64)
	// Acked follows the commit of a transaction with AckTx: what can only be removed after it. No lock is held.
	Acked(w *Work, q *Queue, r Ref)
	// Count records r.Count.
	Count(w *Work, q *Queue, r Ref)
	// Schedule records that the reference is held until at, in ms since the epoch.
	Schedule(w *Work, q *Queue, r Ref, at int64)
	// Remaining is how many references of the queue are not in memory.
	Remaining(q *Queue) int64
}

// Indexes of backings.
const (
	fromJournal uint8 = iota
	fromMemory
)

// journalBacking keeps references of durable messages in durable queues.
type journalBacking struct{}

// stored tells whether the store knows the reference.
func stored(q *Queue, r Ref) bool { return q.cfg.Durable && r.Msg.IsDurable() }

func (journalBacking) Ack(w *Work, q *Queue, r Ref) {
	// the last reference needs no record of its own: deleting the message deletes it
	if r.Msg.Durable.Add(-1) > 0 {
		w.op(Op{Kind: OpAckRef, ID: r.Msg.ID(), Queue: q.ID})
	} else {
		w.op(Op{Kind: OpDeleteMessage, ID: r.Msg.ID(), Queue: q.ID})
	}
	unqueue(w, r)
}

func (journalBacking) Unack(w *Work, _ *Queue, r Ref) {
	r.Msg.Durable.Add(1)
	enqueue(w, r)
}

func (journalBacking) AckTx(w *Work, q *Queue, r Ref, tx int64) {
	w.op(Op{Kind: OpAckRef, Tx: tx, ID: r.Msg.ID(), Queue: q.ID})
}

func (journalBacking) Acked(w *Work, q *Queue, r Ref) {
	if r.Msg.Durable.Add(-1) == 0 {
		w.op(Op{Kind: OpDeleteMessage, ID: r.Msg.ID(), Queue: q.ID})
	}
	unqueue(w, r)
}

// unqueue removes the body of a large message with its last reference.
func unqueue(w *Work, r Ref) {
	if r.Msg.Large() != nil && r.Msg.Queued.Add(-1) == 0 {
		w.bodies = append(w.bodies, r.Msg.ID())
	}
}

// enqueue undoes unqueue.
func enqueue(w *Work, r Ref) {
	if r.Msg.Large() != nil && r.Msg.Queued.Add(1) == 1 {
		w.bodies = slices.DeleteFunc(w.bodies, func(id int64) bool { return id == r.Msg.ID() })
	}
}

func (journalBacking) Count(w *Work, q *Queue, r Ref) {
	w.op(Op{Kind: OpDeliveryCount, ID: r.Msg.ID(), Queue: q.ID, N: int64(r.Count)})
}

func (journalBacking) Schedule(w *Work, q *Queue, r Ref, at int64) {
	w.op(Op{Kind: OpScheduled, ID: r.Msg.ID(), Queue: q.ID, N: at})
}

func (journalBacking) Remaining(*Queue) int64 { return 0 }

// memoryBacking keeps nothing: references that a restart loses.
type memoryBacking struct{}

func (memoryBacking) Ack(w *Work, _ *Queue, r Ref)       { unqueue(w, r) }
func (memoryBacking) Unack(w *Work, _ *Queue, r Ref)     { enqueue(w, r) }
func (memoryBacking) AckTx(*Work, *Queue, Ref, int64)    {}
func (memoryBacking) Acked(w *Work, _ *Queue, r Ref)     { unqueue(w, r) }
func (memoryBacking) Count(*Work, *Queue, Ref)           {}
func (memoryBacking) Schedule(*Work, *Queue, Ref, int64) {}
func (memoryBacking) Remaining(*Queue) int64             { return 0 }

// remaining is how many references of q its backings hold outside memory.
func (b *Broker) remaining(q *Queue) int64 {
	var n int64
	for _, k := range b.backings {
		n += k.Remaining(q)
	}
	return n
}
