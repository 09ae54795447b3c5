package primary

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/transport"
)

// wireVersion is what a 2.40.0 replica speaks.
const wireVersion core.Version = 136

const nodeID = "bc973059-ecb0-11f1-9ca9-02fc00000001"

// until waits for a condition.
func until(t testing.TB, what string, f func() bool) {
	t.Helper()
	deadline, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-deadline.Done():
			t.Fatalf("still not: %s", what)
		}
	}
}

// A peer is the far end of a connection: it decodes what is sent, keeps all packets, and answers as many as it is told to, in
// order.
type peer struct {
	version core.Version
	sender  *Sender

	reading sync.Mutex // held by the one goroutine that is the reader

	mu       sync.Mutex
	changed  sync.Cond
	packets  []core.Packet
	answered int
	allowed  int // answers that may be given; negative: all
	stalled  bool
	batches  []transport.Releaser // held while stalled
	closed   error
	wake     chan struct{}
	done     chan struct{}
	work     sync.WaitGroup
	refuse   func(n int, p core.Packet) core.Packet // another answer to packet n
	holdEnd  bool                                   // the finish packet, and what follows, is not answered
}

func newPeer(v core.Version) *peer {
	p := &peer{version: v, allowed: -1, wake: make(chan struct{}, 1), done: make(chan struct{})}
	p.changed.L = &p.mu
	return p
}

// SendFrames implements Link.
func (p *peer) SendFrames(frames []byte, done transport.Releaser) {
	p.mu.Lock()
	for rest := bytes.Clone(frames); len(rest) > 0 && p.closed == nil; {
		f, after, need, err := core.Split(rest, 100<<20)
		if err != nil || need > 0 || f.Channel != core.ChannelReplication {
			panic(fmt.Sprint("not a whole frame of channel 2: ", f, need, err))
		}
		x, err := core.Decode(f.Type, f.Payload, p.version)
		if err != nil {
			panic(err)
		}
		p.packets = append(p.packets, x)
		rest = after
	}
	stalled := p.stalled && p.closed == nil
	if stalled {
		p.batches = append(p.batches, done)
	}
	p.changed.Broadcast()
	p.mu.Unlock()
	if !stalled {
		done.Release()
	}
	p.poke()
}

// Close implements Link. What the connection has is dropped.
func (p *peer) Close(reason error) {
	p.mu.Lock()
	if p.closed == nil {
		p.closed = reason
		if reason == nil {
			p.closed = errors.New("closed")
		}
	}
	batches := p.batches
	p.batches = nil
	p.changed.Broadcast()
	p.mu.Unlock()
	for _, b := range batches {
		b.Release()
	}
}

// RemoteAddr implements Link.
func (p *peer) RemoteAddr() string { return "replica:1" }

func (p *peer) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// start begins to answer.
func (p *peer) start(s *Sender) {
	p.sender = s
	p.work.Go(func() {
		for {
			select {
			case <-p.wake:
				p.answer()
			case <-p.done:
				return
			}
		}
	})
	p.poke()
}

func (p *peer) stop() {
	close(p.done)
	p.work.Wait()
}

// answer gives the answers that are due, as one batch.
func (p *peer) answer() {
	p.reading.Lock()
	defer p.reading.Unlock()
	for {
		p.mu.Lock()
		if p.answered == len(p.packets) || p.allowed == 0 || p.closed != nil {
			p.mu.Unlock()
			p.sender.EndOfBatch()
			return
		}
		x := p.packets[p.answered]
		if p.holdEnd && isFinish(x) {
			p.mu.Unlock()
			p.sender.EndOfBatch()
			return
		}
		response := responseTo(x)
		if p.refuse != nil {
			response = p.refuse(p.answered, x)
		}
		p.answered++
		if p.allowed > 0 {
			p.allowed--
		}
		p.mu.Unlock()
		if response == nil {
			continue
		}
		f, _, _, err := core.Split(core.Append(nil, core.ChannelReplication, response, p.version), 1<<20)
		if err != nil {
			panic(err)
		}
		if err := p.sender.HandleFrame(f); err != nil {
			p.Close(err)
		}
	}
}

func isFinish(x core.Packet) bool {
	s, ok := x.(*core.ReplicationStartFinishSync)
	return ok && s.Finished
}

func responseTo(x core.Packet) core.Packet {
	if s, ok := x.(*core.ReplicationStartFinishSync); ok {
		return &core.ReplicationResponse{SynchronizationIsFinishedAcknowledgement: s.Finished}
	}
	return &core.ReplicationResponse{Form: core.TypeReplicationResponse}
}

// allow lets n more answers be given, negative: all.
func (p *peer) allow(n int) {
	p.mu.Lock()
	p.allowed = n
	p.mu.Unlock()
	p.poke()
}

func (p *peer) all() []core.Packet {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.packets)
}

func (p *peer) count() (received, answered int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.packets), p.answered
}

// settled tells that everything received is answered.
func (p *peer) settled() bool {
	n, a := p.count()
	return n == a
}

// A replica is what a backup has on its disk after some packets, by the rules of ha.md §2.7.
type replica struct {
	journals [2]replicaJournal
	bodies   map[int64][]byte
	listed   map[int64]bool // bodies that come as files
	pages    map[string]map[int64][]byte
	finished bool
	sequence []int64
	failOver []int32
}

type replicaJournal struct {
	files map[int64][]byte
	own   []byte // the records of its own file
	inTx  map[int64]int32
	next  int64
}

func newReplica() *replica {
	r := &replica{bodies: map[int64][]byte{}, listed: map[int64]bool{}, pages: map[string]map[int64][]byte{}}
	for i := range r.journals {
		r.journals[i] = replicaJournal{files: map[int64][]byte{}, inTx: map[int64]int32{}}
	}
	return r
}

// take takes a packet. An error says what a backup would have refused.
func (r *replica) take(x core.Packet) error {
	switch x := x.(type) {
	case *core.ReplicationStartFinishSync:
		switch {
		case x.Finished:
			r.finished, r.sequence = true, x.IDs
		case x.DataType.V == core.SyncLargeMessages:
			for _, id := range x.IDs {
				r.listed[id] = true
				r.bodies[id] = nil
			}
		default:
			j := &r.journals[x.DataType.V]
			for _, id := range x.IDs {
				j.files[id] = []byte{}
				j.next = max(j.next, id+1)
			}
		}
	case *core.ReplicationSyncFile:
		return r.file(x)
	case *core.ReplicationAppend:
		kind := journal.Add
		switch {
		case x.Operation == core.RecordEvent:
			kind = journal.Event
		case x.Operation == core.RecordUpdate:
			kind = journal.Update
		}
		if x.InTx {
			kind += journal.AddTx - journal.Add
		}
		r.journals[x.Journal].put(kind, x.TxID, x.ID, byte(x.RecordType), x.Record)
	case *core.ReplicationDelete:
		kind := journal.Delete
		if x.InTx {
			kind = journal.DeleteTx
		}
		r.journals[x.Journal].put(kind, x.TxID, x.ID, 0, x.Record)
	case *core.ReplicationPrepare:
		r.journals[x.Journal].put(journal.Prepare, x.TxID, 0, 0, x.ExtraData)
	case *core.ReplicationCommitRollback:
		kind := journal.Commit
		if x.Rollback {
			kind = journal.Rollback
		}
		r.journals[x.Journal].put(kind, x.TxID, 0, 0, nil)
	case *core.ReplicationLargeBegin:
		if _, ok := r.bodies[x.MessageID]; ok {
			return fmt.Errorf("body %d begun twice", x.MessageID)
		}
		r.bodies[x.MessageID] = []byte{}
	case *core.ReplicationLargeWrite:
		if _, ok := r.bodies[x.MessageID]; !ok || r.listed[x.MessageID] {
			return fmt.Errorf("bytes of body %d, which was not begun or comes as a file", x.MessageID)
		}
		r.bodies[x.MessageID] = append(r.bodies[x.MessageID], x.Body...)
	case *core.ReplicationLargeEnd:
		if x.IsDelete {
			if !r.finished {
				return fmt.Errorf("body %d deleted before the end of the synchronisation", x.MessageID)
			}
			delete(r.bodies, x.MessageID)
		} else if x.PendingRecordID != 1 {
			return fmt.Errorf("body %d closed with record %d", x.MessageID, x.PendingRecordID)
		}
	case *core.ReplicationPageEvent:
	case *core.ReplicationScheduledFailover:
		r.failOver = append(r.failOver, x.Stopping)
	default:
		return fmt.Errorf("unexpected %v", x.Type())
	}
	return nil
}

func (r *replica) file(x *core.ReplicationSyncFile) error {
	if r.finished {
		return fmt.Errorf("a piece of file %d after the end", x.FileID)
	}
	switch x.FileType {
	case core.FileJournal:
		f, ok := r.journals[x.Journal].files[x.FileID]
		if !ok {
			return fmt.Errorf("file %d was not announced", x.FileID)
		}
		r.journals[x.Journal].files[x.FileID] = append(f, x.Data...)
	case core.FileLarge:
		if !r.listed[x.FileID] {
			return fmt.Errorf("body %d was not announced", x.FileID)
		}
		r.bodies[x.FileID] = append(r.bodies[x.FileID], x.Data...)
	case core.FilePage:
		if r.pages[x.Store] == nil {
			r.pages[x.Store] = map[int64][]byte{}
		}
		r.pages[x.Store][x.FileID] = append(r.pages[x.Store][x.FileID], x.Data...)
	}
	return nil
}

// put appends a record to the replica's own file, in the format of package journal.
func (j *replicaJournal) put(kind journal.Kind, tx, id int64, userType byte, payload []byte) {
	be := binary.BigEndian
	start := len(j.own)
	b := append(j.own, byte(kind))
	b = be.AppendUint32(b, uint32(j.next))
	b = append(b, 0)
	switch kind {
	case journal.AddTx, journal.UpdateTx, journal.DeleteTx, journal.Prepare, journal.Commit, journal.Rollback:
		b = be.AppendUint64(b, uint64(tx))
	}
	switch kind {
	case journal.Event, journal.Add, journal.Update, journal.AddTx, journal.UpdateTx:
		b = be.AppendUint64(b, uint64(id))
		b = be.AppendUint32(b, uint32(len(payload)))
		b = append(append(b, userType), payload...)
	case journal.DeleteTx:
		b = be.AppendUint64(b, uint64(id))
		b = be.AppendUint32(b, uint32(len(payload)))
		b = append(b, payload...)
	case journal.Delete:
		b = be.AppendUint64(b, uint64(id))
	case journal.Prepare:
		b = be.AppendUint32(b, uint32(j.inTx[tx]))
		b = be.AppendUint32(b, uint32(len(payload)))
		b = append(b, payload...)
	case journal.Commit:
		b = be.AppendUint32(b, uint32(j.inTx[tx]))
	}
	if kind.InTx() {
		j.inTx[tx]++
	}
	j.own = be.AppendUint32(b, uint32(len(b)-start+4))
}

// write lays the replica's files out in a file system of its own.
func (r *replica) write(t testing.TB, o journal.StoreOptions) journal.StoreOptions {
	t.Helper()
	mem := fs.NewMem()
	o.FS = mem
	put := func(dir, name string, b []byte) {
		f, err := mem.Create(path.Join(dir, name))
		if err == nil {
			_, err = f.WriteAt(b, 0)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{o.Journal, o.Bindings, o.Large, o.Paging} {
		if err := mem.MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	for id, dir := range []string{o.Bindings, o.Journal} {
		j := &r.journals[id]
		name := []string{"activemq-bindings-%d.bindings", "activemq-data-%d.amq"}[id]
		for n, b := range j.files {
			put(dir, fmt.Sprintf(name, n), b)
		}
		b := make([]byte, 16)
		binary.BigEndian.PutUint32(b, 2)
		binary.BigEndian.PutUint64(b[8:], uint64(j.next))
		put(dir, fmt.Sprintf(name, j.next), append(b, j.own...))
	}
	for id, b := range r.bodies {
		put(o.Large, fmt.Sprint(id, ".msg"), b)
	}
	return o
}

// contents is what a store holds: message texts in each queue, queues, bodies.
type contents struct {
	refs     []string // "queue text", sorted
	queues   []string
	prepared int
	body     map[string]int // bytes of large messages' bodies by text
}

func (c *contents) String() string {
	return fmt.Sprint(c.refs, c.queues, c.prepared, slices.Sorted(maps.Keys(c.body)))
}

// Recovery, as far as the tests need it.
func (c *contents) Config(broker.StoredConfig)            {}
func (c *contents) Address(broker.AddressRecord)          {}
func (c *contents) Queue(q broker.QueueRecord)            { c.queues = append(c.queues, q.Name) }
func (c *contents) Paused(broker.PauseKind, int64, int64) {}
func (c *contents) BindingsLoaded() error                 { slices.Sort(c.queues); return nil }
func (c *contents) Ref(m *message.Message, queue int64, _ int32, _ int64) bool {
	text, _ := m.TextBody()
	if l := m.Large(); l != nil {
		b := make([]byte, l.Size())
		if n, err := l.ReadAt(b, 0); n < len(b) {
			text = fmt.Sprint("unreadable: ", err)
		} else {
			text = strings.TrimRight(string(b), "z")
			c.body[text] = len(b)
		}
	}
	c.refs = append(c.refs, fmt.Sprint(queue, " ", text))
	return true
}
func (c *contents) Prepared(broker.PreparedTx)        { c.prepared++ }
func (c *contents) Duplicate(string, []byte, int64)   {}
func (c *contents) Heuristic(int64, broker.Xid, bool) {}

// load opens a store and tells what is in it.
func load(t testing.TB, o journal.StoreOptions) (*journal.Store, *contents) {
	t.Helper()
	s := journal.NewStore(o)
	c := &contents{body: map[string]int{}}
	if err := s.Load(&message.Pool{}, c); err != nil {
		t.Fatal(err)
	}
	slices.Sort(c.refs)
	return s, c
}

// after is what a backup that has taken these packets holds when it becomes active.
func after(t testing.TB, o journal.StoreOptions, packets []core.Packet) *contents {
	t.Helper()
	r := newReplica()
	for i, x := range packets {
		if err := r.take(x); err != nil {
			t.Fatalf("packet %d: %v", i, err)
		}
	}
	s, c := load(t, r.write(t, o))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return c
}

type hooks struct{ fatal chan error }

func (hooks) BatchEnd()         {}
func (h hooks) Fatal(err error) { h.fatal <- err }

// A node is a store with a primary.
type node struct {
	t     testing.TB
	o     journal.StoreOptions
	store *journal.Store
	pool  message.Pool
	p     *Primary
	lost  chan Lost
	sync  chan *Sender
	fatal chan error
}

func storeOptions(fsys fs.FS) journal.StoreOptions {
	return journal.StoreOptions{FS: fsys, Bindings: "data/bindings", Journal: "data/journal", Paging: "data/paging", Large: "data/large", FileSize: 102400,
		MinFiles: 2, PoolFiles: 10, CompactMinFiles: 10, CompactPercentage: 30, BufferSize: 501760, SyncTransactional: true, SyncNonTransactional: true}
}

func newNode(t testing.TB, fsys fs.FS, change func(*Options)) *node {
	t.Helper()
	n := &node{t: t, o: storeOptions(fsys), lost: make(chan Lost, 10), sync: make(chan *Sender, 10), fatal: make(chan error, 1)}
	n.store, _ = load(t, n.o)
	n.store.Start(hooks{n.fatal})
	o := Options{Store: n.store, NodeID: nodeID, OnLost: func(l Lost) { n.lost <- l }, OnSynchronised: func(s *Sender) { n.sync <- s }, Log: hclog.NewNullLogger()}
	if change != nil {
		change(&o)
	}
	n.p = New(o)
	return n
}

// attach registers a peer and waits until it is synchronised.
func (n *node) attach(v core.Version) *peer {
	n.t.Helper()
	p := n.register(v)
	select {
	case <-n.sync:
	case l := <-n.lost:
		n.t.Fatalf("lost: %v", l.Reason)
	}
	return p
}

func (n *node) register(v core.Version) *peer {
	n.t.Helper()
	p := newPeer(v)
	s, err := n.p.Register(p, v, false)
	if err != nil {
		n.t.Fatal(err)
	}
	p.start(s)
	return p
}

// close ends everything of a node whose replica is gone or goes now.
func (n *node) close(peers ...*peer) {
	n.t.Helper()
	for _, p := range peers {
		p.stop()
	}
	n.p.Close()
	if err := n.store.Close(); err != nil {
		n.t.Error(err)
	}
}

func (n *node) text(text string) *message.Message {
	b := message.New("orders", message.Type(3))
	b.Durable = true
	b.Body = message.AppendText(nil, text)
	m, err := n.pool.Build(b)
	if err != nil {
		n.t.Fatal(err)
	}
	return m
}

// stored is a waiter that can be waited for.
type stored chan struct{}

func (s stored) Stored() { close(s) }

func (s stored) done() bool {
	select {
	case <-s:
		return true
	default:
		return false
	}
}

func (n *node) append(ops ...broker.Op) stored {
	n.t.Helper()
	w := make(stored)
	if _, err := n.store.Append(ops, w, 0); err != nil {
		n.t.Error(err)
	}
	return w
}

// send appends a durable message.
func (n *node) send(queue int64, text string) (id int64, w stored) {
	n.t.Helper()
	m := n.text(text)
	defer m.Release()
	w = n.append(broker.Op{Kind: broker.OpAddMessage, Msg: m}, broker.Op{Kind: broker.OpAddRef, Msg: m, Queue: queue})
	return m.ID(), w
}

// large appends a durable large message whose body is text and then z to the size.
func (n *node) large(queue int64, text string, size int) (id int64, w stored) {
	n.t.Helper()
	id = n.store.NextID()
	body := append([]byte(text), bytes.Repeat([]byte("z"), size-len(text))...)
	bw, err := n.store.CreateBody(id, true)
	for len(body) > 0 && err == nil {
		k := min(len(body), 10000)
		_, err = bw.Write(body[:k])
		body = body[k:]
	}
	if err != nil {
		n.t.Error(err)
		return id, nil
	}
	l, err := broker.FinishBody(bw)
	if err != nil {
		n.t.Error(err)
		return id, nil
	}
	b := message.New("orders", message.Type(3))
	b.Durable = true
	b.SetLarge(l)
	m, err := n.pool.Build(b)
	if err != nil {
		n.t.Fatal(err)
	}
	m.SetID(id)
	defer m.Release()
	return id, n.append(broker.Op{Kind: broker.OpAddMessage, Msg: m}, broker.Op{Kind: broker.OpAddRef, Msg: m, Queue: queue})
}

// remove deletes a message and its body.
func (n *node) remove(id int64, large bool) stored {
	w := n.append(broker.Op{Kind: broker.OpDeleteMessage, ID: id})
	if large {
		n.store.DeleteBody(id)
	}
	return w
}

func (n *node) queue(name string) int64 {
	n.t.Helper()
	id := n.store.NextID()
	if err := n.store.StoreQueue(broker.QueueRecord{ID: id, QueueConfig: broker.NewQueueConfig(name)}); err != nil {
		n.t.Error(err)
	}
	return id
}
