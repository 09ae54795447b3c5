package broker

import (
	"fmt"
	"sync"

	"github.com/saranga-mq/saranga/broker/message"
)

// A move takes a reference out of its queue and puts a copy of its message elsewhere: expiry, dead letters, moves and
// retries by management. Copy and acknowledgement are one transaction of the store.
type move struct {
	queue   *Queue
	ref     Ref
	why     moveReason
	address string // where the copy goes
	target  *Queue // only this queue, nil for everything that is bound to address
	routing message.RoutingType
	keep    bool // leave the original: a copy
	raw     bool // no ORIG headers
	once    bool // a message whose duplicate id the target's address knows is only taken away
}

type moveReason uint8

const (
	moveExpired moveReason = iota
	moveDead
	moveNoRoute
	moveManaged
)

func (r moveReason) settles() reason {
	switch r {
	case moveExpired:
		return reasonExpired
	case moveDead:
		return reasonKilled
	}
	return reasonAcked
}

// expire takes an expired ref, which is in no list any more, to the expiry address of its message's address. That is looked
// up when the move is carried out: the registry is not to be asked under the queue's lock.
func (q *Queue) expire(w *Work, r Ref) {
	w.moves = append(w.moves, move{queue: q, ref: r, why: moveExpired, routing: message.Unspecified})
}

// deadLetter takes a ref, which is in no list any more, to the dead-letter address of the queue's address.
func (q *Queue) deadLetter(w *Work, r Ref) {
	s := q.address.Settings()
	if s.DeadLetterAddress == "" {
		q.b.warnOnce("no-dead-letter-address", q.cfg.Name, "AMQ222147: message has exceeded max delivery attempts, no dead letter address is configured so it is dropped", "queue", q.cfg.Name, "message", r.Msg.ID(), "attempts", r.Count)
		q.leave(w, r, reasonKilled, nil)
		return
	}
	w.moves = append(w.moves, move{queue: q, ref: r, why: moveDead, address: s.DeadLetterAddress, routing: message.Unspecified})
}

// move carries out a move. No lock is held; it may block on the disk for a large body or to create resources. What cannot
// be moved stays where it was.
func (b *Broker) move(w *Work, mv *move) {
	q, old := mv.queue, mv.ref.Msg
	if mv.why == moveExpired {
		if mv.address = b.SettingsFor(old.Address()).ExpiryAddress; mv.address == "" {
			b.warnOnce("no-expiry-address", old.Address(), "AMQ222146: message has expired, no expiry address is configured so it is dropped", "address", old.Address(), "queue", q.cfg.Name)
			b.finishMove(w, mv)
			return
		}
	}
	b.createMoveTarget(w, mv)
	var rt *route
	if mv.target == nil {
		rt = b.route(mv.address)
		if rt.empty() && mv.why != moveManaged {
			b.warnOnce("no-bindings", mv.address, "AMQ222148: the address for expired or dead messages has no queues, so they are dropped", "address", mv.address, "queue", q.Name())
			b.finishMove(w, mv)
			return
		}
	}
	var dup usedID
	if mv.once {
		known, err := dup.reserve(mv)
		if known {
			b.finishMove(w, mv)
			return
		}
		if err != nil {
			b.moveFailed(w, mv, err)
			return
		}
	}
	m, err := b.moveCopy(mv)
	if err != nil {
		dup.forget()
		b.moveFailed(w, mv, err)
		return
	}
	out := &moved{b: b}
	out.send.msg = m
	b.accountFor(mv, rt).take(m)
	if mv.target == nil {
		err = b.fill(mv.address, rt, &out.send, mv.routing)
	} else if out.send.queues = out.send.one[:0]; mv.target.accept() {
		out.send.add(mv.target)
	} else {
		err = fmt.Errorf("queue %s takes no messages", mv.target.cfg.Name)
	}
	if err != nil {
		dup.forget()
		out.send.abandon()
		b.moveFailed(w, mv, err)
		return
	}
	w.append(nil, 0) // what was collected before is not part of the transaction
	stored := out.send.durable()
	tx := int64(0)
	if stored || old.IsDurable() && !mv.keep || dup.persistent() {
		tx = b.store.NextID()
	}
	dup.op(w, tx)
	if stored {
		out.send.ops(w, tx)
	} else {
		out.send.number(b)
	}
	if !mv.keep {
		b.backings[mv.ref.from].AckTx(w, q, mv.ref, tx)
	}
	if len(w.ops) == 0 {
		b.left(w, mv)
		out.arrive(w)
		dup.settle(w)
		return
	}
	w.op(Op{Kind: OpCommit, Tx: tx})
	if !mv.keep {
		out.queue, out.ref = q, mv.ref
	}
	// The queue counts it no longer before somebody can see the copy.
	if !mv.keep {
		q.mu.Lock()
		q.settled(mv.ref, mv.why.settles())
		q.mu.Unlock()
	}
	if err := w.append(out, Transactional); err != nil {
		dup.forget()
		out.send.abandon()
		if !mv.keep {
			q.mu.Lock()
			q.unsettled(mv.ref, mv.why.settles())
			q.mu.Unlock()
		}
		b.moveFailed(w, mv, err)
		return
	}
	dup.settle(w)
}

// left takes a moved ref that the store does not know out of its queue for good.
func (b *Broker) left(w *Work, mv *move) {
	if mv.keep {
		return
	}
	q := mv.queue
	q.mu.Lock()
	q.settled(mv.ref, mv.why.settles())
	q.mu.Unlock()
	b.backings[mv.ref.from].Acked(w, q, mv.ref)
	w.release(mv.ref.Msg)
}

// moveFailed puts a message back that cannot be moved.
func (b *Broker) moveFailed(w *Work, mv *move, err error) {
	q, id := mv.queue, mv.ref.Msg.ID()
	b.log.Error("cannot move a message; it stays where it was", "queue", q.Name(), "message", id, "target", mv.address, "error", err)
	if w.stuck != nil {
		w.stuck[id] = true
		w.stuckErr = errorf(IllegalState, "message %d cannot be moved to %s: %v", id, mv.address, err)
	}
	if mv.keep {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.deleted.Load() {
		q.drop(w, mv.ref, reasonKilled)
		return
	}
	w.putBack(q, mv.ref)
}

// finishMove drops a message that has nowhere to go.
func (b *Broker) finishMove(w *Work, mv *move) {
	q := mv.queue
	q.mu.Lock()
	q.leave(w, mv.ref, mv.why.settles(), nil)
	q.mu.Unlock()
}

// moveCopy builds the message that a move sends: a new id is given by the store, or here when it has a body of its own.
func (b *Broker) moveCopy(mv *move) (*message.Message, error) {
	old := mv.ref.Msg
	edit := old.Edit()
	edit.Address = &mv.address
	edit.Expiration = 0
	edit.Remove(func(name string) bool { return name == message.PropRoutingType })
	if !mv.raw {
		edit.Set(message.PropOrigAddress, old.Address())
		edit.Set(message.PropOrigQueue, mv.queue.Name())
		edit.Set(message.PropOrigMessageID, old.ID())
		if rt := old.RoutingType(); rt != message.Unspecified {
			edit.Set(message.PropOrigRoutingType, int8(rt))
		}
	}
	if mv.why == moveExpired {
		edit.Set(message.PropActualExpiry, b.now())
	}
	if mv.routing != message.Unspecified {
		edit.Set(message.PropRoutingType, int8(mv.routing))
	}
	m, err := b.buildCopy(edit, old)
	if err == nil && m.IsDurable() && m.Large() == nil && m.RecordSize() > b.store.MaxRecord() {
		if large, err := b.enlarge(m); err == nil { // the headers were too much
			return large, nil
		}
	}
	return m, err
}

// buildCopy builds an edited copy; a large body is copied to a file of its own.
func (b *Broker) buildCopy(edit *message.Builder, old *message.Message) (*message.Message, error) {
	if old.Large() == nil {
		return b.pool.Build(edit)
	}
	id := b.store.NextID()
	body, err := b.store.CopyBody(id, old.IsDurable(), old.Large())
	if err != nil {
		return nil, err
	}
	edit.SetLarge(body)
	m, err := b.pool.Build(edit)
	if err != nil {
		b.store.DeleteBody(id)
		return nil, err
	}
	m.SetID(id)
	return m, nil
}

// accountFor is the account that a moved message is counted on: that of the address it goes to.
func (b *Broker) accountFor(mv *move, rt *route) *Account {
	if mv.target != nil {
		return &mv.target.address.account
	}
	if rt.address != nil {
		return &rt.address.account
	}
	return &mv.queue.address.account
}

// moved is the waiter of a move: the copy arrives in its queues when it is stored. Only then may the original be deleted:
// a crash that wrote the delete and not the commit would lose the message.
type moved struct {
	b     *Broker
	send  send
	queue *Queue // that the original is taken from, nil if it stays
	ref   Ref
}

// Stored implements Waiter.
func (o *moved) Stored() {
	w := o.b.onStore()
	o.arrive(w)
	if o.queue != nil {
		o.b.backings[o.ref.from].Acked(w, o.queue, o.ref)
		w.release(o.ref.Msg)
	}
}

func (o *moved) arrive(w *Work) { o.send.arrive(w) }

// createMoveTarget creates the queue for expired or dead messages of an address, where the settings ask for it.
func (b *Broker) createMoveTarget(w *Work, mv *move) {
	var create bool
	var prefix, suffix, from string
	switch mv.why {
	case moveExpired:
		from = bareAddress(mv.ref.Msg.Address())
		s := b.SettingsFor(from)
		create, prefix, suffix = s.AutoCreateExpiryResources, s.ExpiryQueuePrefix, s.ExpiryQueueSuffix
	case moveDead:
		from = mv.queue.address.name
		s := mv.queue.address.Settings()
		create, prefix, suffix = s.AutoCreateDeadLetterResources, s.DeadLetterQueuePrefix, s.DeadLetterQueueSuffix
	}
	if !create || from == mv.address {
		return
	}
	name := prefix + from + suffix
	if b.Queue(name) != nil {
		return
	}
	cfg := b.DefaultQueue(mv.address, name)
	cfg.Filter = message.PropOrigAddress + " = '" + from + "'"
	cfg.AutoCreated = true
	s := b.SettingsFor(mv.address)
	cfg.AutoDelete = s.AutoDeleteQueues
	if _, err := b.CreateQueue(cfg, CreateOptions{AutoCreateAddress: true, IgnoreExisting: true}); err != nil {
		b.log.Error("cannot create the queue for expired or dead messages", "queue", name, "address", mv.address, "error", err)
	}
}

// movers carries out moves that came up on the store's goroutine.
type movers struct {
	b       *Broker
	mu      sync.Mutex
	pending []move
	running bool
}

func (v *movers) hand(moves []move) {
	v.mu.Lock()
	v.pending = append(v.pending, moves...)
	start := !v.running
	v.running = true
	v.mu.Unlock()
	if start {
		v.b.goroutine(v.run)
	}
}

func (v *movers) run() {
	w := v.b.NewWork()
	for {
		v.mu.Lock()
		moves := v.pending
		v.pending = nil
		if len(moves) == 0 {
			v.running = false
			v.mu.Unlock()
			return
		}
		v.mu.Unlock()
		w.Begin()
		w.moves = append(w.moves, moves...)
		w.Flush()
	}
}
