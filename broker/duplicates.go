package broker

import (
	"bytes"
	"sync"

	"github.com/saranga-mq/saranga/broker/message"
)

// duplicates is the cache of duplicate ids of one address: the newest size ids, circular. An id is reserved before the
// message that brings it is appended to the store, so that nobody else brings it meanwhile, and is then settled or, when
// the store refused, forgotten: the client sends again what was refused. Its lock is a leaf.
//
// Invariant: an id is in used while it is reserved or in the ring, never both.
type duplicates struct {
	address string
	size    int
	persist bool

	mu   sync.Mutex
	used map[string]idState
	ring []dupEntry
	next int
}

type idState uint8

const (
	idUnused   idState = iota
	idReserved         // not yet appended to the store, or by a prepared branch
	idSettled
)

type dupEntry struct {
	id     string
	record int64
}

func newDuplicates(address string, size int, persist bool) *duplicates {
	return &duplicates{address: address, size: size, persist: persist}
}

// known tells whether the id has been used.
func (d *duplicates) known(id []byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used[string(id)] != idUnused
}

// reserve takes an id that is idUnused and returns what it was.
func (d *duplicates) reserve(id []byte) idState {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.used[string(id)]
	if was == idUnused {
		if d.used == nil {
			d.used = map[string]idState{}
		}
		d.used[string(id)] = idReserved
	}
	return was
}

// forget gives a reserved id back.
func (d *duplicates) forget(id []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.used[string(id)] == idReserved {
		delete(d.used, string(id))
	}
}

// settle keeps an id that has been appended to the store, with its record there, 0 for none.
func (d *duplicates) settle(w *Work, id []byte, record int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.size <= 0 {
		return
	}
	if d.used == nil {
		d.used = map[string]idState{}
	}
	e := dupEntry{string(id), record}
	switch {
	case d.used[e.id] == idSettled: // twice in one transaction, which is allowed
		if record != 0 {
			w.op(Op{Kind: OpDeleteRecord, ID: record})
		}
		return
	case len(d.ring) < d.size:
		d.ring = append(d.ring, e)
	default:
		old := d.ring[d.next]
		delete(d.used, old.id)
		if old.record != 0 {
			w.op(Op{Kind: OpDeleteRecord, ID: old.record})
		}
		d.ring[d.next] = e
		d.next = (d.next + 1) % d.size
	}
	d.used[e.id] = idSettled
}

// clear forgets all ids, also in the store.
func (d *duplicates) clear(w *Work) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.ring {
		if e.record != 0 {
			w.op(Op{Kind: OpDeleteRecord, ID: e.record})
		}
	}
	d.used, d.ring, d.next = nil, nil, 0
}

// A usedID is the duplicate id that a move brings to its target's address. The zero value is none.
type usedID struct {
	address *Address
	id      []byte
	record  int64
}

// reserve takes the id of the message that is moved, if it has one. known: it has been used. The error: somebody is using
// it just now.
func (u *usedID) reserve(mv *move) (known bool, err error) {
	a, m := mv.target.address, mv.ref.Msg
	if !m.Has(message.HasDuplicateID) || a.dups.size <= 0 {
		return false, nil
	}
	id := m.DuplicateID()
	switch a.dups.reserve(id) {
	case idSettled:
		return true, nil
	case idReserved:
		return false, errDuplicate(a.name)
	}
	u.address, u.id = a, bytes.Clone(id)
	return false, nil
}

// persistent tells whether the store is to keep it.
func (u *usedID) persistent() bool { return u.address != nil && u.address.dups.persist }

// op adds the operation that stores it with the move.
func (u *usedID) op(w *Work, tx int64) {
	if u.persistent() {
		u.record = w.b.store.NextID()
		w.op(Op{Kind: OpAddDuplicate, Tx: tx, ID: u.record, Name: u.address.name, Bytes: u.id})
	}
}

// settle keeps it: the move has been appended.
func (u *usedID) settle(w *Work) {
	if u.address != nil {
		u.address.dups.settle(w, u.id, u.record)
	}
}

// forget gives it back: the move has failed.
func (u *usedID) forget() {
	if u.address != nil {
		u.address.dups.forget(u.id)
	}
}
