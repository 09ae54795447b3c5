package replica

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// wireVersion is what a 2.40.0 primary speaks.
const wireVersion core.Version = 136

const nodeID = "bc973059-ecb0-11f1-9ca9-02fc00000001"

// capture is what a real primary sent and what a real replica answered.
func capture(t testing.TB) (requests [][]byte, responses []byte) {
	t.Helper()
	b, err := os.ReadFile("testdata/initial-sync-and-live.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(text.String()), "\n") {
		w := strings.Fields(line)
		frame, err := hex.DecodeString(w[len(w)-1])
		if err != nil {
			t.Fatal(err)
		}
		if w[0] == ">" {
			responses = append(responses, frame...)
			continue
		}
		n, err := strconv.Atoi(w[1])
		if err != nil {
			t.Fatal(err)
		}
		requests = append(requests, append(frame, make([]byte, n-len(frame))...))
	}
	return requests, responses
}

// storeOptions are those of the captured pair.
func storeOptions(fsys fs.FS) journal.StoreOptions {
	return journal.StoreOptions{FS: fsys, Bindings: "/data/bindings", Journal: "/data/journal", Paging: "/data/paging", Large: "/data/large-messages",
		FileSize: 102400, MinFiles: 2, PoolFiles: 2, CompactMinFiles: 10, CompactPercentage: 30, BufferSize: 501760, MaxAttic: 10,
		SyncTransactional: true, SyncNonTransactional: true}
}

// node is an endpoint with its owner and its link.
type node struct {
	*Endpoint
	fs fs.FS

	mu     sync.Mutex
	sent   []byte
	closed error
	told   []string
	refuse map[string]error // by what the owner is told
	check  func()           // before it is told
	down   error            // of Send
	over   chan struct{}    // closed when the link is
}

func (n *node) Send(frames []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down != nil {
		return n.down
	}
	n.sent = append(n.sent, frames...)
	return nil
}

func (n *node) Close(reason error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed == nil {
		n.closed = reason
		close(n.over)
	}
}

func (n *node) tell(what string, args ...any) error {
	if n.check != nil {
		n.check()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.told = append(n.told, strings.TrimSpace(what+" "+fmt.Sprintln(args...)))
	return n.refuse[what]
}

func (n *node) NodeID(id string, failBack bool) error    { return n.tell("node", id, failBack) }
func (n *node) UpToDate(id string, sequence int64) error { return n.tell("up to date", id, sequence) }
func (n *node) StopCalled()                              { _ = n.tell("stop called") }
func (n *node) FailOver()                                { _ = n.tell("fail over") }
func (n *node) Paging(address string)                    { _ = n.tell("paging", address) }
func (n *node) sentBytes() []byte                        { n.mu.Lock(); defer n.mu.Unlock(); return bytes.Clone(n.sent) }
func (n *node) answers() int                             { return len(responsesIn(n.sentBytes())) }
func (n *node) end() error                               { return n.Endpoint.Close() }
func (n *node) send(t testing.TB, packets ...core.Packet) {
	t.Helper()
	n.sendV(t, n.o.Version, packets...)
}

// sendV handles packets, which must be taken.
func (n *node) sendV(t testing.TB, v core.Version, packets ...core.Packet) {
	t.Helper()
	for _, p := range packets {
		if err := n.try(p, v); err != nil {
			t.Fatal(err)
		}
	}
	n.EndOfBatch()
}

func (n *node) try(p core.Packet, v core.Version) error {
	return n.Handle(frameOf(core.Append(nil, core.ChannelReplication, p, v)))
}

func frameOf(b []byte) core.Frame {
	f, rest, need, err := core.Split(b, 1<<30)
	if err != nil || need > 0 || len(rest) > 0 {
		panic(fmt.Sprint("not a frame: ", need, err))
	}
	return f
}

// responsesIn splits frames; the bool of a V2 is given with its type.
func responsesIn(b []byte) (list []string) {
	for len(b) > 0 {
		f, rest, need, err := core.Split(b, 1<<20)
		if err != nil || need > 0 {
			panic("not whole frames")
		}
		p, err := core.Decode(f.Type, f.Payload, wireVersion)
		if err != nil {
			panic(err)
		}
		list = append(list, fmt.Sprint(f.Type, p.(*core.ReplicationResponse).SynchronizationIsFinishedAcknowledgement))
		b = rest
	}
	return list
}

// start moves away what is in the folders and begins an endpoint.
func start(t testing.TB, fsys fs.FS, change func(*Options)) *node {
	t.Helper()
	n, err := tryStart(fsys, change)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.end() })
	return n
}

func tryStart(fsys fs.FS, change func(*Options)) (*node, error) {
	n := &node{fs: fsys, over: make(chan struct{})}
	o := Options{Store: storeOptions(fsys), Owner: n, Link: n, Version: wireVersion}
	if change != nil {
		change(&o)
	}
	if err := MoveAway(o.Store, 2, false); err != nil {
		return nil, err
	}
	var err error
	n.Endpoint, err = New(o)
	return n, err
}

// drained waits until everything is answered.
func (n *node) drained(t testing.TB) {
	t.Helper()
	if err := n.out.drain(); err != nil {
		t.Fatal(err)
	}
}

// Packets.
func startSync(d core.SyncDataType, ids ...int64) *core.ReplicationStartFinishSync {
	p := &core.ReplicationStartFinishSync{NodeID: nodeID, DataType: buf.Of(d), IDs: ids}
	if d == core.SyncLargeMessages {
		p.NodeID = ""
	}
	return p
}

func finishSync(sequence int64) *core.ReplicationStartFinishSync {
	return &core.ReplicationStartFinishSync{Finished: true, NodeID: nodeID, DataType: buf.Of(core.SyncActivationSequence), IDs: []int64{sequence}}
}

func add(id int64, kind int8, payload []byte) *core.ReplicationAppend {
	return &core.ReplicationAppend{Journal: core.JournalMessages, Operation: core.RecordAdd, ID: id, RecordType: kind, Record: payload}
}

func update(id int64, kind int8, payload []byte) *core.ReplicationAppend {
	return &core.ReplicationAppend{Journal: core.JournalMessages, Operation: core.RecordUpdate, ID: id, RecordType: kind, Record: payload}
}

func inTx(tx int64, p *core.ReplicationAppend) *core.ReplicationAppend {
	p.InTx, p.TxID = true, tx
	return p
}

func deletion(id int64) *core.ReplicationDelete {
	return &core.ReplicationDelete{Journal: core.JournalMessages, ID: id}
}

func deletionTx(tx, id int64) *core.ReplicationDelete {
	return &core.ReplicationDelete{Journal: core.JournalMessages, InTx: true, TxID: tx, ID: id}
}

func commit(tx int64, rollback bool) *core.ReplicationCommitRollback {
	return &core.ReplicationCommitRollback{Journal: core.JournalMessages, TxID: tx, Rollback: rollback}
}

func prepare(tx int64, xid string) *core.ReplicationPrepare {
	return &core.ReplicationPrepare{Journal: core.JournalMessages, TxID: tx, ExtraData: []byte(xid)}
}

// begin is the beginning of a synchronisation with an active node that has nothing.
func begin() []core.Packet {
	return []core.Packet{startSync(core.SyncJournalMessages), startSync(core.SyncJournalBindings), startSync(core.SyncLargeMessages)}
}

// content is what a journal holds: record by record, and what is prepared.
func content(t testing.TB, o journal.Options) (records, prepared []string) {
	t.Helper()
	_, err := journal.Read(o, journal.Visitor{
		Record: func(r *journal.Record) error {
			records = append(records, fmt.Sprintf("%d:%d:%s", r.ID, r.UserType, r.Payload))
			return nil
		},
		Prepared: func(x *journal.Transaction) error {
			s := fmt.Sprintf("%d:%s", x.ID, x.Xid)
			for _, r := range x.Records {
				s += fmt.Sprintf(" %d:%d:%d:%s", r.Kind, r.ID, r.UserType, r.Payload)
			}
			prepared = append(prepared, s)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return records, prepared
}

// loaded is a broker.Recovery that counts.
type loaded struct {
	names    map[int64]string
	queues   map[string]int
	prepared int
}

func (l *loaded) Config(broker.StoredConfig)            {}
func (l *loaded) Address(broker.AddressRecord)          {}
func (l *loaded) Queue(q broker.QueueRecord)            { l.names[q.ID] = q.Name; l.queues[q.Name] = 0 }
func (l *loaded) Paused(broker.PauseKind, int64, int64) {}
func (l *loaded) BindingsLoaded() error                 { return nil }
func (l *loaded) Prepared(broker.PreparedTx)            { l.prepared++ }
func (l *loaded) Duplicate(string, []byte, int64)       {}
func (l *loaded) Heuristic(int64, broker.Xid, bool)     {}
func (l *loaded) Ref(m *message.Message, queue int64, _ int32, _ int64) bool {
	name, ok := l.names[queue]
	if ok {
		l.queues[name]++
	}
	return ok
}

// load starts the store of a broker on the folders, as an activation does.
func load(t testing.TB, fsys fs.FS) *loaded {
	t.Helper()
	l := &loaded{names: map[int64]string{}, queues: map[string]int{}}
	s := journal.NewStore(storeOptions(fsys))
	if err := errors.Join(s.Load(&message.Pool{}, l), s.Close()); err != nil {
		t.Fatal(err)
	}
	return l
}

// The captured stream is answered as the real replica answered it, and a broker finds what the real one found. The queues with
// generated names are those of the real pair's own cluster.
func TestCapture(t *testing.T) {
	requests, responses := capture(t)
	if len(requests) != 283 {
		t.Fatalf("%d packets, the README says 283", len(requests))
	}
	for _, batch := range []int{1, 7, len(requests)} {
		t.Run(fmt.Sprint("batch ", batch), func(t *testing.T) {
			mem := fs.NewMem()
			n := start(t, mem, nil)
			for i, b := range requests {
				if err := n.Handle(frameOf(b)); err != nil {
					t.Fatal(err)
				}
				if i%batch == batch-1 {
					n.EndOfBatch()
				}
				clear(b) // nothing of a frame is kept
			}
			n.EndOfBatch()
			n.drained(t)
			if got, want := responsesIn(n.sentBytes()), responsesIn(responses); !slices.Equal(got, want) {
				t.Fatalf("answered %d: %v\nwant %d: %v", len(got), got, len(want), want)
			}
			want := []string{"node " + nodeID + " false", "node " + nodeID + " false", "paging pg.a", "up to date " + nodeID + " -1"}
			if !slices.Equal(n.told, want) {
				t.Errorf("the owner was told %q, want %q", n.told, want)
			}
			if s := n.Status(); !s.UpToDate || s.NodeID != nodeID || s.Sequence != -1 || len(s.Paging) > 0 || s.Packets != 283 || s.Files != 5 {
				t.Errorf("status %+v", s)
			}
			if err := n.Activate(); err != nil {
				t.Fatal(err)
			}
			mem.Crash(nil) // after Activate everything is on disk
			l := load(t, mem)
			for name, want := range map[string]int{"q1": 6, "lm": 0, "pg.a": 0} {
				if got, ok := l.queues[name]; !ok || got != want {
					t.Errorf("queue %s holds %d, %v, want %d", name, got, ok, want)
				}
			}
			if l.prepared != 0 {
				t.Errorf("%d prepared transactions", l.prepared)
			}
			if names, err := mem.List("/data/large-messages"); err != nil || len(names) > 0 {
				t.Errorf("large messages left: %v %v", names, err)
			}
			requests, responses = capture(t)
		})
	}
}

// What the pages hold is what the active node has sent, byte for byte; and Activate refuses as long as they hold messages.
func TestCapturePages(t *testing.T) {
	requests, _ := capture(t)
	mem := fs.NewMem()
	n := start(t, mem, nil)
	want := map[int64][]byte{}
	for _, b := range requests {
		f := frameOf(b)
		p, err := core.Decode(f.Type, f.Payload, wireVersion)
		if err != nil {
			t.Fatal(err)
		}
		switch p := p.(type) {
		case *core.ReplicationSyncFile:
			if p.FileType == core.FilePage {
				want[p.FileID] = append(want[p.FileID], p.Data...)
			}
		case *core.ReplicationPageWrite:
			r := append([]byte{'{'}, buf.AppendBlock(nil, p.Message)...)
			want[p.Page] = append(append(want[p.Page], r...), '}')
		case *core.ReplicationPageEvent:
			if p.IsDelete {
				goto read
			}
		}
		if err := n.Handle(f); err != nil {
			t.Fatal(err)
		}
	}
read:
	if s := n.Status(); !slices.Equal(s.Paging, []string{"pg.a"}) {
		t.Errorf("paging %v", s.Paging)
	}
	names, err := mem.List("/data/paging")
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	dir := "/data/paging/" + names[0]
	if b, err := fs.ReadFile(mem, dir+"/address.txt"); err != nil || string(b) != "pg.a\n" {
		t.Errorf("address.txt %q %v", b, err)
	}
	if len(want) != 3 {
		t.Fatalf("pages %v", slices.Sorted(maps.Keys(want)))
	}
	for page, w := range want {
		if b, err := fs.ReadFile(mem, fmt.Sprintf("%s/%09d.page", dir, page)); err != nil || !bytes.Equal(b, w) {
			t.Errorf("page %d: %d bytes, %v, want %d", page, len(b), err, len(w))
		}
	}
	// At this point of the capture pg.a was consumed, though its pages are still there.
	if err := n.Activate(); err != nil {
		t.Error(err)
	}
}

// With messages in pages that a queue waits for there is no taking over.
func TestActivateRefusesLivePages(t *testing.T) {
	requests, _ := capture(t)
	mem := fs.NewMem()
	n := start(t, mem, nil)
	for _, b := range requests[:146] { // up to the first ack of a message of pg.a
		if err := n.Handle(frameOf(b)); err != nil {
			t.Fatal(err)
		}
	}
	var live *journal.LivePagesError
	if err := n.Activate(); !errors.As(err, &live) || live.Address != "pg.a" {
		t.Errorf("activate: %v, want a refusal because of pg.a", err)
	}
}

func TestActivateBeforeSync(t *testing.T) {
	n := start(t, fs.NewMem(), nil)
	n.send(t, begin()...)
	n.drained(t)
	if err := n.Activate(); !errors.Is(err, ErrNotInSync) {
		t.Errorf("activate: %v, want %v", err, ErrNotInSync)
	}
}
