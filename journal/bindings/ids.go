package bindings

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/saranga-mq/saranga/wire/buf"
)

// batch is how many ids one ID_COUNTER reserves.
const batch = 0x7fffffff

// IDs generates the ids of messages, queues, addresses, transactions and records: one counter for both journals.
//
// An ID_COUNTER record holds the first id that is not reserved; after a crash ids go on behind it. A clean stop stores
// what was really used. The last record in the journal counts, the others are deleted after a load.
//
// All methods may be called from any goroutine; Next costs one atomic addition.
type IDs struct {
	next  atomic.Int64
	limit atomic.Int64 // ids below are reserved
	first atomic.Int64 // an id set aside by Reserve, 0 none

	mu    sync.Mutex
	store func(record, value int64) error
}

// NewIDs begins an empty journal. Id 0 is never given out; 1 becomes the first reservation's record.
func NewIDs() *IDs { return &IDs{} }

// Load takes an ID_COUNTER; called in journal order, before anything is generated.
func (g *IDs) Load(value int64) {
	g.next.Store(value + 1)
	g.limit.Store(value + 1)
}

// Reserve sets how a reservation is stored, synced, before an id of it is used, and makes the first one.
func (g *IDs) Reserve(store func(record, value int64) error) error {
	g.mu.Lock()
	g.store = store
	g.mu.Unlock()
	// The reservation's own record id comes after the first id, as if somebody had asked for that one.
	id := g.next.Add(1) - 1
	if err := g.reserve(id); err != nil {
		return err
	}
	g.first.Store(id)
	return nil
}

// Next returns a new id. When a reservation cannot be stored the id is not to be relied on: whoever stores has then
// failed for good, and nothing that uses the id will be acknowledged.
func (g *IDs) Next() int64 {
	if id := g.first.Load(); id != 0 && g.first.CompareAndSwap(id, 0) {
		return id
	}
	id := g.next.Add(1) - 1
	if id >= g.limit.Load() {
		_ = g.reserve(id)
	}
	return id
}

// Ensure reserves early, when there are few ids left, so that a Next that follows, perhaps under a lock, need not.
func (g *IDs) Ensure() {
	const few = 1 << 20
	if limit := g.limit.Load(); limit-g.next.Load() < few {
		_ = g.reserve(limit)
	}
}

func (g *IDs) reserve(id int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	limit := g.limit.Load()
	if id < limit {
		return nil
	}
	limit += batch
	record := g.next.Add(1) - 1
	if err := g.store(record, limit); err != nil {
		return fmt.Errorf("reserve ids up to %d: %w", limit, err)
	}
	g.limit.Store(limit)
	return nil
}

// Close stores what was used, as the last thing before the bindings journal is closed.
func (g *IDs) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.store == nil {
		return nil
	}
	used := g.next.Add(1)
	if err := g.store(used, used); err != nil {
		return fmt.Errorf("store the id counter %d: %w", used, err)
	}
	return nil
}

// AppendIDCounter appends the payload of an ID_COUNTER.
func AppendIDCounter(dst []byte, value int64) []byte { return buf.AppendInt64(dst, value) }

// ReadIDCounter reads the payload of an ID_COUNTER.
func ReadIDCounter(payload []byte) (int64, error) {
	r := buf.NewReader(payload)
	v := r.Int64()
	if r.Err() != nil {
		return 0, fmt.Errorf("id counter: %w", r.Err())
	}
	return v, nil
}
