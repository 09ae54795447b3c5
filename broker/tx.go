package broker

import (
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
	finished  bool
	timedOut  bool

	failure *Error // rollback-only, with what commit will say
	stored  bool   // the store has something of it
	sends   []send
	acks    []txAck
	dups    []txDup
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

// send adds a routed message.
func (tx *Tx) send(w *Work, out *outcome) {
	s, answer := out.s, out.answer
	m := out.send.msg
	var failed *Error
	if m.Has(message.HasDuplicateID) {
		if a := tx.b.Address(bareAddress(m.Address())); a != nil && a.dups.size > 0 {
			id := slices.Clone(m.DuplicateID())
			if a.dups.known(id) {
				failed = errorf(DuplicateIDRejected, "Duplicate message detected - message will not be routed. Message information: address=%s", a.name)
			} else {
				d := txDup{address: a, id: id}
				if a.dups.persist {
					d.record = tx.b.store.NextID()
					w.op(Op{Kind: OpAddDuplicate, Tx: tx.id, ID: d.record, Name: a.name, Bytes: id})
					tx.stored = true
				}
				tx.dups = append(tx.dups, d)
			}
		}
	}
	if failed == nil {
		if out.send.durable() {
			out.send.ops(w, tx.id)
			tx.stored = true
		} else {
			out.send.number(tx.b)
		}
		if err := w.append(nil, Transactional); err != nil {
			failed = AsError(err)
		}
	}
	tx.lock()
	if tx.finished && failed == nil {
		failed = errorf(TransactionTimeout, "AMQ229036: the transaction has timed out")
	}
	if failed != nil {
		tx.fail(failed)
		out.send.abandon()
	} else {
		kept := send{msg: out.send.msg, queues: slices.Clone(out.send.queues), more: out.send.more}
		tx.sends = append(tx.sends, kept)
	}
	tx.unlock()
	out.send = send{}
	out.free()
	s.Done(w, answer, nil)
}

// ack adds acknowledged refs.
func (tx *Tx) ack(w *Work, acks []txAck) {
	tx.lock()
	late := tx.finished
	if !late {
		tx.acks = append(tx.acks, acks...)
	}
	tx.unlock()
	if late {
		for _, k := range acks {
			cancelAll(w, map[*Queue][]Ref{k.queue: {k.ref}})
		}
		return
	}
	for _, k := range acks {
		if k.ref.flags&refHeld == 0 && k.ref.from == fromJournal {
			tx.stored = true
		}
		if k.ref.flags&refHeld == 0 {
			tx.b.backings[k.ref.from].AckTx(w, k.queue, k.ref, tx.id)
		}
	}
	if err := w.append(nil, Transactional); err != nil {
		tx.fail(AsError(err))
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

func (tx *Tx) commit(w *Work, s *Session, a Answer) {
	if tx.failure != nil {
		failure := tx.failure
		tx.rollback(w, nil, Answer{})
		w.settle()
		s.Done(w, a, failure)
		return
	}
	o := newOutcome(s, a)
	o.tx = tx
	if !tx.stored {
		s.now(w, o)
		return
	}
	w.op(Op{Kind: OpCommit, Tx: tx.id})
	s.wait(w, o, Transactional)
}

// committed makes the transaction's effects seen. No queue lock is held.
func (tx *Tx) committed(w *Work) {
	for _, d := range tx.dups {
		d.address.dups.add(w, d.id, d.record)
	}
	for i := range tx.sends {
		tx.sends[i].arrive(w)
	}
	var held *Queue
	for i := range tx.acks {
		k := &tx.acks[i]
		q := k.queue
		if q != held {
			if held != nil {
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
		held.mu.Unlock()
	}
	tx.sends, tx.acks, tx.dups = nil, nil, nil
}

// rollback undoes the transaction; back are more refs that return with it. Not for a prepared branch of another session's
// making: see finishBranch.
func (tx *Tx) rollback(w *Work, back map[*Queue][]Ref, a Answer) {
	if tx.stored {
		w.op(Op{Kind: OpRollback, Tx: tx.id})
	}
	tx.undo(w, back)
	if s := tx.session; s != nil && a.Kind != 0 {
		s.DoneStored(w, a)
	}
}

// undo puts back what was acknowledged and drops what was sent.
func (tx *Tx) undo(w *Work, back map[*Queue][]Ref) {
	tx.lock()
	sends, acks := tx.sends, tx.acks
	tx.sends, tx.acks, tx.dups, tx.finished = nil, nil, nil, true
	tx.unlock()
	for i := range sends {
		sends[i].abandon()
	}
	if back == nil {
		back = map[*Queue][]Ref{}
	}
	for _, k := range acks {
		back[k.queue] = append(back[k.queue], k.ref)
	}
	cancelAll(w, back)
}

// aborted is called when the commit could not be stored.
func (tx *Tx) aborted(w *Work) { tx.undo(w, nil) }

// forget lets go of all messages without any effect: the broker stops.
func (tx *Tx) forget() {
	for i := range tx.sends {
		tx.sends[i].giveBack()
		if tx.sends[i].msg != nil {
			tx.sends[i].msg.Release()
		}
	}
	for _, k := range tx.acks {
		k.ref.Msg.Release()
	}
	tx.sends, tx.acks = nil, nil
}
