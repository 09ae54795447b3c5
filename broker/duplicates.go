package broker

import "sync"

// duplicates is the cache of duplicate ids of one address: the newest size ids, circular. Its lock is a leaf.
type duplicates struct {
	address string
	size    int
	persist bool

	mu   sync.Mutex
	used map[string]struct{}
	ring []dupEntry
	next int
}

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
	_, ok := d.used[string(id)]
	return ok
}

// reserve uses an id outside a transaction. fresh is false when it was used before. record is the id of the store's
// record for it, 0 when it needs none.
func (d *duplicates) reserve(w *Work, id []byte, store bool) (record int64, fresh bool) {
	if d.persist && store {
		record = w.b.store.NextID()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.used[string(id)]; ok {
		return 0, false
	}
	d.put(w, string(id), record)
	return record, true
}

// add uses an id whose record is already in the store.
func (d *duplicates) add(w *Work, id []byte, record int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.put(w, string(id), record)
}

func (d *duplicates) put(w *Work, id string, record int64) {
	if d.size <= 0 {
		return
	}
	if d.used == nil {
		d.used = map[string]struct{}{}
	}
	e := dupEntry{id, record}
	if len(d.ring) < d.size {
		d.ring = append(d.ring, e)
	} else {
		old := d.ring[d.next]
		delete(d.used, old.id)
		if old.record != 0 {
			w.op(Op{Kind: OpDeleteRecord, ID: old.record})
		}
		d.ring[d.next] = e
		d.next = (d.next + 1) % d.size
	}
	d.used[id] = struct{}{}
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
