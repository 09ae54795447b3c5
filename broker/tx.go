package broker

import (
	"bytes"
	"slices"
	"sync"

	"github.com/saranga-mq/saranga/broker/message"
)

// A Tx is a local transaction or the branch of a distributed one. What it sends and acknowledges is in the store's
// transaction from the start and counts with the commit.
//
// A local transaction is used by its session alone. A branch may also be reached by a timeout or by management; mu guards
// its state then.
type Tx struct {
	b       *Broker
	id      int64
	session *Session // whose outcomes its sends belong to; nil after a restart
	xid     *Xid
	created int64
	timeout int64 // ms, branches only

	mu        sync.Mutex
	suspended bool
	ended     bool
	prepared  bool
	limbo     bool // prepared, but refused to its client for good: an operator decides
	finished  bool // somebody commits it or rolls it back: nothing joins it any more
	timedOut  bool

	failure *Error // rollback-only, with what commit will say
	stored  bool   // the store has something of it
	sends   []send
	acks    []txAck
	dups    []txDup
	unique  bool // its duplicate ids are reserved
}

type txAck struct {
	queue *Queue
	ref   Ref
}

type txDup struct {
	address *Address
	id      []byte
	record  int64
}

// transaction returns the session's transaction, beginning one if need be.
func (s *Session) transaction() *Tx {
	if s.tx == nil {
		s.tx = &Tx{b: s.b, session: s, id: s.b.store.NextID(), created: s.b.now()}
	}
	return s.tx
}

// lock guards a branch against timeouts and management; a local transaction needs none.
func (tx *Tx) lock() {
	if tx.xid != nil {
		tx.mu.Lock()
	}
}

func (tx *Tx) unlock() {
	if tx.xid != nil {
		tx.mu.Unlock()
	}
}

// fail makes the transaction rollback-only. The first reason stays.
func (tx *Tx) fail(err *Error) {
	if tx.failure == nil {
		tx.failure = err
	}
}

// claim makes the caller the one who commits a transaction or rolls it back; false: somebody else is.
func (tx *Tx) claim() bool {
	tx.lock()
	defer tx.unlock()
	if tx.finished {
		return false
	}
	tx.finished = true
	return true
}

// reserve takes the transaction's duplicate ids, which were unused when its messages were sent, before they become seen. A
// message may use the same id as another of the transaction.
func (tx *Tx) reserve() *Error {
	for i, d := range tx.dups {
		again := slices.ContainsFunc(tx.dups[:i], func(e txDup) bool { return e.address == d.address && bytes.Equal(e.id, d.id) })
		if !again && d.address.dups.reserve(d.id) != idUnused {
			for _, e := range tx.dups[:i] {
				e.address.dups.forget(e.id)
			}
			return errDuplicate(d.address.name)
		}
	}
	tx.unique = true
	return nil
}

// send adds a routed message.
func (tx *Tx) send(w *Work, out *outcome) {
	s, answer := out.s, out.answer
	m := out.send.msg
	var failed, late *Error
	stored := false
	var dups []txDup
	if m.Has(message.HasDuplicateID) {
		if a := tx.b.Address(bareAddress(m.Address())); a != nil && a.dups.size > 0 {
			id := slices.Clone(m.DuplicateID())
			if a.dups.known(id) {
				failed = errDuplicate(a.name)
			} else {
				d := txDup{address: a, id: id}
				if a.dups.persist {
					d.record = tx.b.store.NextID()
					w.op(Op{Kind: OpAddDuplicate, Tx: tx.id, ID: d.record, Name: a.name, Bytes: id})
					stored = true
				}
				dups = append(dups, d)
			}
		}
	}
	if failed == nil {
		if out.send.durable() {
			out.send.ops(w, tx.id)
			stored = true
		} else {
			out.send.number(tx.b)
		}
		if err := w.append(nil, Transactional); err != nil {
			failed = AsError(err)
		}
	}
	tx.lock()
	tx.stored = tx.stored || stored
	switch {
	case tx.finished:
		late = errorf(TransactionTimeout, "AMQ229036: the transaction has timed out or is being ended")
	case failed != nil:
		tx.fail(failed)
	default:
		tx.sends = append(tx.sends, send{msg: out.send.msg, queues: slices.Clone(out.send.queues), more: out.send.more})
		tx.dups = append(tx.dups, dups...)
	}
	tx.unlock()
	if late != nil || failed != nil {
		out.send.abandon()
	}
	if late != nil {
		tx.tooLate(w, stored)
		out.send = send{}
		out.free()
		s.Done(w, answer, late)
		return
	}
	out.send = send{}
	out.free()
	s.Done(w, answer, nil)
}

// tooLate ends what the store has got of a transaction after its end.
func (tx *Tx) tooLate(w *Work, stored bool) {
	if stored {
		w.op(Op{Kind: OpRollback, Tx: tx.id})
	}
}

// ack adds acknowledged refs.
func (tx *Tx) ack(w *Work, acks []txAck) {
	stored := false
	for _, k := range acks {
		if k.ref.flags&refHeld == 0 {
			stored = stored || k.ref.from == fromJournal
			tx.b.backings[k.ref.from].AckTx(w, k.queue, k.ref, tx.id)
		}
	}
	err := w.append(nil, Transactional)
	tx.lock()
	tx.stored = tx.stored || stored
	late := tx.finished
	if !late {
		tx.acks = append(tx.acks, acks...)
		if err != nil {
			tx.fail(AsError(err))
		}
	}
	tx.unlock()
	if late {
		tx.tooLate(w, stored)
		for _, k := range acks {
			cancelAll(w, map[*Queue][]Ref{k.queue: {k.ref}})
		}
	}
}

// Commit commits the session's transaction. A transaction that has failed is rolled back instead and a is answered with
// the reason.
func (s *Session) Commit(w *Work, a Answer) {
	tx := s.tx
	if tx == nil || tx.xid != nil {
		s.Done(w, a, nil)
		return
	}
	s.tx = nil
	tx.commit(w, s, a)
}

// commit ends a transaction that the caller has claimed, or that is the session's own.
func (tx *Tx) commit(w *Work, s *Session, a Answer) {
	failure := tx.failure
	if failure == nil && !tx.unique {
		failure = tx.reserve()
	}
	if failure != nil {
		tx.rollback(w, nil, Answer{})
		w.settle()
		if failure.Code == DuplicateIDRejected {
			s.failed(a, failure)
			o := newOutcome(s, a)
			o.err = failure
			s.wait(w, o, 0)
			return
		}
		s.Done(w, a, failure)
		return
	}
	o := newOutcome(s, a)
	o.tx = tx
	dups := tx.dups
	if !tx.stored {
		s.now(w, o)
		settleAll(w, dups)
		return
	}
	w.op(Op{Kind: OpCommit, Tx: tx.id})
	if s.wait(w, o, Transactional) == nil {
		settleAll(w, dups)
	}
}

// settleAll keeps the duplicate ids of a transaction whose commit has been appended.
func settleAll(w *Work, dups []txDup) {
	for _, d := range dups {
		d.address.dups.settle(w, d.id, d.record)
	}
}

// committed makes the transaction's effects seen. No queue lock is held.
func (tx *Tx) committed(w *Work) {
	for i := range tx.sends {
		tx.sends[i].arrive(w)
	}
	var held *Queue
	for i := range tx.acks {
		k := &tx.acks[i]
		q := k.queue
		if q != held {
			if held != nil {
				held.freed(w)
				held.mu.Unlock()
			}
			q.mu.Lock()
			held = q
		}
		if k.ref.flags&refHeld == 0 {
			q.delivering--
			q.deliveringSize -= k.ref.Msg.PersistentSize()
			q.settled(k.ref, reasonAcked)
			tx.b.backings[k.ref.from].Acked(w, q, k.ref)
		}
		w.release(k.ref.Msg)
	}
	if held != nil {
		held.freed(w)
		held.mu.Unlock()
	}
	tx.sends, tx.acks, tx.dups = nil, nil, nil
}

// rollback undoes the transaction; back are more refs that return with it. Not for a prepared branch of another session's
// making: see finishBranch.
func (tx *Tx) rollback(w *Work, back map[*Queue][]Ref, a Answer) {
	tx.tooLate(w, tx.stored)
	tx.undo(w, back)
	if s := tx.session; s != nil && a.Kind != 0 {
		s.DoneStored(w, a)
	}
}

// undo puts back what was acknowledged and drops what was sent.
func (tx *Tx) undo(w *Work, back map[*Queue][]Ref) {
	tx.lock()
	sends, acks, prepared := tx.sends, tx.acks, tx.prepared
	if tx.unique {
		for _, d := range tx.dups {
			d.address.dups.forget(d.id)
		}
	}
	tx.sends, tx.acks, tx.dups, tx.finished = nil, nil, nil, true
	tx.unlock()
	for i := range sends {
		if prepared {
			sends[i].withdraw(w)
		} else {
			sends[i].abandon()
		}
	}
	if back == nil {
		back = map[*Queue][]Ref{}
	}
	for _, k := range acks {
		back[k.queue] = append(back[k.queue], k.ref)
	}
	cancelAll(w, back)
}

// aborted is called when the commit could not be stored. A branch that is prepared stays so: its client may try again, and
// after a restart it is in doubt.
func (tx *Tx) aborted(w *Work) {
	if tx.prepared {
		w.inDoubt = append(w.inDoubt, tx)
		return
	}
	tx.rollback(w, nil, Answer{})
}

// unprepared is called when the prepare could not be stored: the branch can only be rolled back.
func (tx *Tx) unprepared(err error) {
	tx.mu.Lock()
	tx.prepared = false
	tx.fail(AsError(err))
	tx.mu.Unlock()
}

// forget lets go of all messages without any effect: the broker stops.
func (tx *Tx) forget() {
	for i := range tx.sends {
		tx.sends[i].drop(func(*message.Message) {}) // their bodies stay
	}
	for _, k := range tx.acks {
		k.ref.Msg.Release()
	}
	tx.sends, tx.acks = nil, nil
}
