// Package brokertest has what tests of the engine and of its users need: a store in memory, a started broker on it, and
// clients that record what they are told and given. It is for tests only.
package brokertest

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
)

// A Store is a broker.Store in memory. Waiters are told on a goroutine of its own, in order; while it is held (Hold) they
// wait for Tell. It keeps its contents over Close, so that another broker can be started on it (Reopen).
type Store struct {
	mu      sync.Mutex
	changed sync.Cond

	nextID   int64
	messages map[int64]*record
	txs      map[int64]*transaction
	dups     []duplicate
	heur     map[int64]broker.Op
	bodies   map[int64]*Body
	made     []*Body // all there ever were

	addresses map[int64]broker.AddressRecord
	queues    map[int64]broker.QueueRecord
	pauses    map[int64]pause
	configs   []broker.StoredConfig

	hooks   broker.Hooks
	waiting []waiter
	mark    broker.Mark
	synced  broker.Mark
	telling bool
	held    bool
	permits int
	closed  bool
	failed  bool
	stopped chan struct{}

	ops        []broker.Op
	failAppend func([]broker.Op) error
	failBind   func(what string) error

	// SyncBody, if set before the store is used, stands for the sync of a body and may wait.
	SyncBody  func(id int64) error
	bindOps   []string
	maxRecord int
}

type waiter struct {
	mark broker.Mark
	w    broker.Waiter
}

type record struct {
	kind    byte
	payload []byte
	refs    []*ref // in the order they were added
	seq     int
}

type ref struct {
	queue     int64
	count     int32
	scheduled int64
}

type transaction struct {
	ops      []broker.Op
	payloads map[int64]*record // of its adds
	prepared bool
	xid      broker.Xid
}

type duplicate struct {
	address string
	id      []byte
	record  int64
}

type pause struct {
	kind broker.PauseKind
	id   int64
}

// NewStore returns an empty store.
func NewStore() *Store {
	s := &Store{nextID: 1000, messages: map[int64]*record{}, txs: map[int64]*transaction{}, heur: map[int64]broker.Op{}, bodies: map[int64]*Body{},
		addresses: map[int64]broker.AddressRecord{}, queues: map[int64]broker.QueueRecord{}, pauses: map[int64]pause{}, maxRecord: 100 << 10}
	s.changed.L = &s.mu
	return s
}

// Hold keeps waiters from being told until Tell.
func (s *Store) Hold() {
	s.mu.Lock()
	s.held = true
	s.mu.Unlock()
}

// Tell lets the next n waiters of a held store be told, and waits for that; n < 0 ends the holding.
func (s *Store) Tell(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 0 {
		s.held, s.permits = false, 0
	} else {
		s.permits += n
	}
	s.changed.Broadcast()
	for !s.idle() {
		s.changed.Wait()
	}
}

// Settle waits until every waiter that may be told has been.
func (s *Store) Settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.idle() {
		s.changed.Wait()
	}
}

func (s *Store) idle() bool {
	return !s.telling && (s.closed || len(s.waiting) == 0 || s.held && s.permits == 0)
}

// Waiting is how many waiters have not been told.
func (s *Store) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)
}

// FailAppend lets f refuse appends; nil ends that.
func (s *Store) FailAppend(f func([]broker.Op) error) {
	s.mu.Lock()
	s.failAppend = f
	s.mu.Unlock()
}

// FailBinding lets f refuse changes of bindings by the name of the method; nil ends that.
func (s *Store) FailBinding(f func(what string) error) {
	s.mu.Lock()
	s.failBind = f
	s.mu.Unlock()
}

// SetMaxRecord changes what MaxRecord returns.
func (s *Store) SetMaxRecord(n int) {
	s.mu.Lock()
	s.maxRecord = n
	s.mu.Unlock()
}

// Ops returns the operations appended since the last call. Their Msg is nil and their ID that of the message.
func (s *Store) Ops() []broker.Op {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.ops
	s.ops = nil
	return out
}

// BindingOps returns the changes of bindings since the last call, as text: "StoreQueue q".
func (s *Store) BindingOps() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.bindOps
	s.bindOps = nil
	return out
}

// Messages is how many messages are stored with at least one reference.
func (s *Store) Messages() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, m := range s.messages {
		if len(m.refs) > 0 {
			n++
		}
	}
	return n
}

// Orphans is how many messages are stored without a reference: a leak once the broker is idle.
func (s *Store) Orphans() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, m := range s.messages {
		if len(m.refs) == 0 {
			n++
		}
	}
	return n
}

// BodyCount is how many bodies of large messages exist.
func (s *Store) BodyCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

// HeldBodies is how many bodies somebody still reads.
func (s *Store) HeldBodies() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, b := range s.made {
		if b.holds.Load() != 0 {
			n++
		}
	}
	return n
}

// StoredQueue returns the record of a queue.
func (s *Store) StoredQueue(name string) (broker.QueueRecord, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.queues {
		if q.Name == name {
			return q, true
		}
	}
	return broker.QueueRecord{}, false
}

// Reopen makes a closed store ready for another broker.
func (s *Store) Reopen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.held, s.permits, s.waiting = false, false, 0, nil
	for tx, t := range s.txs {
		if !t.prepared {
			delete(s.txs, tx)
		}
	}
}

// NextID implements broker.Store.
func (s *Store) NextID() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newID()
}

func (s *Store) newID() int64 {
	s.nextID++
	return s.nextID
}

// MaxRecord implements broker.Store.
func (s *Store) MaxRecord() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.maxRecord
}

// Append implements broker.Store.
func (s *Store) Append(ops []broker.Op, w broker.Waiter, _ broker.AppendMode) (broker.Mark, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, broker.ErrStoreFailed
	}
	if s.failAppend != nil {
		if err := s.failAppend(ops); err != nil {
			return 0, err
		}
	}
	for _, op := range ops {
		if op.Msg != nil {
			if op.Kind == broker.OpAddMessage && op.Msg.ID() == 0 {
				op.Msg.SetID(s.newID())
			}
			op.ID = op.Msg.ID()
		}
		s.take(op)
		op.Msg, op.Bytes = nil, slices.Clone(op.Bytes)
		s.ops = append(s.ops, op)
	}
	s.mark++
	if w != nil {
		s.waiting = append(s.waiting, waiter{s.mark, w})
		s.changed.Broadcast()
	}
	return s.mark, nil
}

func (s *Store) take(op broker.Op) {
	if op.Tx == 0 {
		s.apply(op, s.encode(op))
		return
	}
	t := s.txs[op.Tx]
	if t == nil {
		t = &transaction{payloads: map[int64]*record{}}
		s.txs[op.Tx] = t
	}
	switch op.Kind {
	case broker.OpPrepare:
		t.prepared, t.xid = true, op.Xid
	case broker.OpRollback:
		delete(s.txs, op.Tx)
	case broker.OpCommit:
		delete(s.txs, op.Tx)
		for _, o := range t.ops {
			s.apply(o, t.payloads[o.ID])
		}
	default:
		if r := s.encode(op); r != nil {
			t.payloads[op.ID] = r
		}
		op.Msg, op.Bytes = nil, slices.Clone(op.Bytes)
		t.ops = append(t.ops, op)
	}
}

func (s *Store) encode(op broker.Op) *record {
	if op.Kind != broker.OpAddMessage {
		return nil
	}
	s.mark++
	return &record{kind: op.Msg.RecordType(), payload: op.Msg.AppendRecord(nil), seq: int(s.mark)}
}

func (s *Store) apply(op broker.Op, added *record) {
	m := s.messages[op.ID]
	switch op.Kind {
	case broker.OpAddMessage:
		s.messages[op.ID] = added
	case broker.OpAddRef:
		if m != nil {
			m.refs = append(m.refs, &ref{queue: op.Queue})
		}
	case broker.OpAckRef:
		if m != nil {
			m.refs = slices.DeleteFunc(m.refs, func(r *ref) bool { return r.queue == op.Queue })
		}
	case broker.OpDeliveryCount:
		if r := m.ref(op.Queue); r != nil {
			r.count = int32(op.N)
		}
	case broker.OpScheduled:
		if r := m.ref(op.Queue); r != nil {
			r.scheduled = op.N
		}
	case broker.OpDeleteMessage:
		delete(s.messages, op.ID)
	case broker.OpAddDuplicate:
		s.dups = append(s.dups, duplicate{op.Name, slices.Clone(op.Bytes), op.ID})
	case broker.OpDeleteRecord:
		s.dups = slices.DeleteFunc(s.dups, func(d duplicate) bool { return d.record == op.ID })
		delete(s.heur, op.ID)
	case broker.OpHeuristic:
		s.heur[op.ID] = op
	}
}

func (m *record) ref(queue int64) *ref {
	if m != nil {
		for _, r := range m.refs {
			if r.queue == queue {
				return r
			}
		}
	}
	return nil
}

// Synced implements broker.Store.
func (s *Store) Synced() broker.Mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synced
}

// Load implements broker.Store.
func (s *Store) Load(pool *message.Pool, r broker.Recovery) error {
	s.mu.Lock()
	configs := slices.Clone(s.configs)
	addresses, queues, pauses := maps.Clone(s.addresses), maps.Clone(s.queues), maps.Clone(s.pauses)
	messages, txs, dups, heur := maps.Clone(s.messages), maps.Clone(s.txs), slices.Clone(s.dups), maps.Clone(s.heur)
	s.mu.Unlock()
	for _, c := range configs {
		r.Config(c)
	}
	for _, id := range slices.Sorted(maps.Keys(addresses)) {
		r.Address(addresses[id])
	}
	for _, id := range slices.Sorted(maps.Keys(queues)) {
		r.Queue(queues[id])
	}
	for _, id := range slices.Sorted(maps.Keys(pauses)) {
		r.Paused(pauses[id].kind, pauses[id].id, id)
	}
	if err := r.BindingsLoaded(); err != nil {
		return err
	}
	loaded := map[int64]*message.Message{}
	defer func() {
		for _, m := range loaded {
			m.Release()
		}
	}()
	load := func(id int64, rec *record) (*message.Message, error) {
		if m := loaded[id]; m != nil {
			return m, nil
		}
		m, err := pool.FromRecord(rec.kind, rec.payload)
		if err != nil {
			return nil, fmt.Errorf("load message %d: %w", id, err)
		}
		m.SetID(id)
		s.mu.Lock()
		if b := s.bodies[id]; b != nil && m.IsLarge() {
			b.Retain()
			m.SetLarge(b)
		}
		s.mu.Unlock()
		loaded[id] = m
		return m, nil
	}
	ids := slices.SortedFunc(maps.Keys(messages), func(a, b int64) int { return messages[a].seq - messages[b].seq })
	for _, id := range ids {
		rec := messages[id]
		if len(rec.refs) == 0 {
			continue
		}
		m, err := load(id, rec)
		if err != nil {
			return err
		}
		kept := rec.refs[:0:0]
		for _, x := range rec.refs {
			at := x.scheduled
			if at == 0 {
				at = m.Scheduled() // no record has said otherwise
			}
			if r.Ref(m, x.queue, x.count, at) {
				kept = append(kept, x)
			}
		}
		s.mu.Lock()
		rec.refs = kept
		s.mu.Unlock()
	}
	for tx, t := range txs {
		if !t.prepared {
			continue
		}
		p := broker.PreparedTx{Tx: tx, Xid: t.xid}
		for _, op := range t.ops {
			switch op.Kind {
			case broker.OpAddRef:
				m, err := load(op.ID, t.payloads[op.ID])
				if err != nil {
					return err
				}
				p.Sent = append(p.Sent, broker.PreparedRef{Msg: m, Queue: op.Queue, Scheduled: m.Scheduled()})
			case broker.OpAckRef:
				m, err := load(op.ID, messages[op.ID])
				if err != nil {
					return err
				}
				p.Acks = append(p.Acks, broker.PreparedRef{Msg: m, Queue: op.Queue})
			case broker.OpAddDuplicate:
				p.Dups = append(p.Dups, broker.PreparedDup{Address: op.Name, ID: op.Bytes, Record: op.ID})
			}
		}
		r.Prepared(p)
	}
	for _, d := range dups {
		r.Duplicate(d.address, d.id, d.record)
	}
	for id, op := range heur {
		r.Heuristic(id, op.Xid, op.N == 1)
	}
	return nil
}

// Start implements broker.Store.
func (s *Store) Start(h broker.Hooks) {
	s.mu.Lock()
	s.hooks, s.stopped = h, make(chan struct{})
	s.mu.Unlock()
	go s.run()
}

// run calls waiters until the store is closed.
func (s *Store) run() {
	s.mu.Lock()
	defer close(s.stopped)
	defer s.mu.Unlock()
	for {
		for len(s.waiting) == 0 && !s.closed || s.held && s.permits == 0 && !s.closed {
			s.changed.Wait()
		}
		if len(s.waiting) == 0 || s.held && s.permits == 0 {
			return // closed: what is held is never told
		}
		n := len(s.waiting)
		if s.held {
			n = min(n, s.permits)
			s.permits -= n
		}
		batch := s.waiting[:n]
		s.waiting = s.waiting[n:]
		s.telling = true
		s.mu.Unlock()
		for _, x := range batch {
			x.w.Stored()
			s.mu.Lock()
			s.synced = x.mark
			s.mu.Unlock()
		}
		s.hooks.BatchEnd()
		s.mu.Lock()
		s.telling = false
		s.changed.Broadcast()
	}
}

// Fail reports a failed write to the broker. Nothing that waits is told any more.
func (s *Store) Fail(err error) {
	s.mu.Lock()
	s.waiting = nil
	s.closed, s.failed = true, true
	h := s.hooks
	s.changed.Broadcast()
	s.mu.Unlock()
	h.Fatal(err)
}

// Failed tells whether Fail was called.
func (s *Store) Failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Close implements broker.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	for !s.idle() {
		s.changed.Wait()
	}
	s.closed = true
	s.changed.Broadcast()
	s.mu.Unlock()
	if s.stopped != nil {
		<-s.stopped
	}
	return nil
}
