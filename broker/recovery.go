package broker

import (
	"github.com/saranga-mq/saranga/broker/message"
)

// recovery takes what the store holds at start.
type recovery Broker

// Config implements Recovery. Settings are kept for whoever composes the broker: see StoredConfigs.
func (r *recovery) Config(c StoredConfig) { r.configs.loaded(c) }

// Address implements Recovery.
func (r *recovery) Address(rec AddressRecord) { (*Broker)(r).newAddress(rec, false, true) }

// Queue implements Recovery.
func (r *recovery) Queue(rec QueueRecord) {
	b := (*Broker)(r)
	a := b.Address(rec.Address)
	if a == nil {
		a = b.newAddress(AddressRecord{ID: b.store.NextID(), Name: rec.Address, RoutingTypes: SetOf(rec.Routing), AutoCreated: true}, false, false)
	}
	f, err := b.parseFilter(rec.Filter)
	if err != nil {
		b.log.Error("a stored queue has a filter that cannot be parsed: it takes no messages until the queue is updated", "queue", rec.Name, "filter", rec.Filter, "error", err)
		f, _ = b.parseFilter("1 = 2")
	}
	rec.RingSize = b.storedRing(rec.QueueConfig)
	q := b.newQueue(rec.ID, rec.QueueConfig, a)
	q.match.Store(&queueMatch{routing: rec.Routing, filter: f})
	b.bind(a, q)
}

// Paused implements Recovery.
func (r *recovery) Paused(kind PauseKind, id, record int64) {
	if kind == PausedQueue {
		if q := r.queueIDs[id]; q != nil {
			q.paused, q.pauseRec = true, record
		}
		return
	}
	for _, a := range r.addresses {
		if a.id == id {
			a.paused.Store(true)
			a.pauseRec = record
		}
	}
}

// BindingsLoaded implements Recovery.
func (r *recovery) BindingsLoaded() error { return nil }

// Ref implements Recovery.
func (r *recovery) Ref(m *message.Message, queue int64, count int32, scheduled int64) bool {
	q := r.queueIDs[queue]
	if q == nil {
		return false
	}
	m.Retain()
	if m.Charged() == nil {
		q.address.account.take(m)
	}
	m.Durable.Add(1)
	if m.Large() != nil {
		m.Queued.Add(1)
	}
	ref := Ref{Msg: m, Count: count, saved: int16(min(count, 32767)), from: fromJournal}
	q.size += m.PersistentSize()
	q.durableCount++
	q.durableSize += m.PersistentSize()
	if scheduled > r.wheel.Now() {
		q.holdUntil(ref, scheduled)
		return true
	}
	q.put((*Broker)(r).storeWork, ref)
	return true
}

// Prepared implements Recovery.
func (r *recovery) Prepared(p PreparedTx) {
	b := (*Broker)(r)
	x := p.Xid
	tx := &Tx{b: b, id: p.Tx, xid: &x, created: b.now(), prepared: true, ended: true, stored: true, unique: true}
	for i := range p.Sent {
		ref := &p.Sent[i]
		q := b.queueIDs[ref.Queue]
		if q == nil {
			continue
		}
		ref.Msg.Retain()
		q.enter()
		if n := len(tx.sends); n > 0 && tx.sends[n-1].msg == ref.Msg {
			ref.Msg.Release() // one hold for the send, however many queues
			tx.sends[n-1].queues = append(tx.sends[n-1].queues, q)
		} else {
			q.address.account.take(ref.Msg)
			tx.sends = append(tx.sends, send{msg: ref.Msg, queues: []*Queue{q}})
		}
		ref.Msg.Durable.Add(1)
	}
	for _, k := range p.Acks {
		q := b.queueIDs[k.Queue]
		if q == nil {
			continue
		}
		ref, ok := q.takeResident(k.Msg.ID())
		if !ok {
			for _, s := range q.takeScheduled(func(s *scheduledRef) bool { return s.Msg.ID() == k.Msg.ID() }) {
				ref, ok = s.Ref, true
			}
		}
		if !ok {
			continue
		}
		q.delivering++
		q.deliveringSize += ref.Msg.PersistentSize()
		tx.acks = append(tx.acks, txAck{q, ref})
	}
	for _, d := range p.Dups {
		if a := b.Address(d.Address); a != nil {
			a.dups.reserve(d.ID)
			tx.dups = append(tx.dups, txDup{a, d.ID, d.Record})
		}
	}
	b.xas[x] = tx
}

// Duplicate implements Recovery.
func (r *recovery) Duplicate(address string, id []byte, record int64) {
	b := (*Broker)(r)
	a := b.Address(address)
	if a == nil || !b.opts.PersistIDCache {
		if a == nil && b.opts.PersistIDCache {
			return // a cache of something other than an address: bridges keep theirs
		}
		b.storeWork.op(Op{Kind: OpDeleteRecord, ID: record})
		return
	}
	a.dups.settle(b.storeWork, id, record)
}

// Heuristic implements Recovery.
func (r *recovery) Heuristic(record int64, xid Xid, commit bool) {
	r.heuristics[xid] = heuristic{record, commit}
}
