package journal

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal/fs"
)

func newMessage(t testing.TB, pool *message.Pool, text string) *message.Message {
	t.Helper()
	b := message.New("orders", message.Type(3))
	b.Durable = true
	b.Body = message.AppendText(nil, text)
	m, err := pool.Build(b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func queueRecord(id int64, name string) broker.QueueRecord {
	return broker.QueueRecord{ID: id, QueueConfig: broker.NewQueueConfig(name)}
}

// Everything a broker stores comes back.
func TestStoreRoundTrip(t *testing.T) {
	mem := fs.NewMem()
	o := goldenOptions(mem)
	s, _, err := loadStore(t, o)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	pool := &message.Pool{}
	a := broker.AddressRecord{ID: s.NextID(), Name: "orders", RoutingTypes: broker.AnycastSet}
	must(s.StoreAddress(a))
	q1, q2, q3 := queueRecord(s.NextID(), "q1"), queueRecord(s.NextID(), "q2"), queueRecord(s.NextID(), "q3")
	for _, q := range []broker.QueueRecord{q1, q2, q3} {
		must(s.StoreQueue(q))
	}
	q2.MaxConsumers = 7
	must(s.UpdateQueue(q2))
	must(s.DeleteQueue(q3.ID))
	gone := broker.AddressRecord{ID: s.NextID(), Name: "gone"}
	must(s.StoreAddress(gone))
	must(s.DeleteAddress(gone.ID))
	both := broker.AddressRecord{ID: s.NextID(), Name: "orders", RoutingTypes: broker.AnycastSet | broker.MulticastSet}
	must(s.ReplaceAddress(a.ID, both))
	both.AutoCreated = true
	must(s.UpdateAddress(both))
	pause, err := s.StorePause(broker.PausedQueue, q1.ID)
	must(err)
	_, err = s.StorePause(broker.PausedAddress, both.ID)
	must(err)
	other, err := s.StorePause(broker.PausedQueue, q2.ID)
	must(err)
	must(s.DeleteBinding(other))
	c := broker.StoredConfig{Kind: broker.AddressSettingConfig, Key: "#", JSON: `{"a":1}`}
	must(s.StoreConfig(c))
	c.JSON = `{"a":2}`
	must(s.StoreConfig(c))
	must(s.StoreConfig(broker.StoredConfig{Kind: broker.UserConfig, Key: "bob", Text: "secret"}))
	must(s.DeleteConfig(broker.UserConfig, "bob"))
	must(s.DeleteConfig(broker.UserConfig, "nobody"))

	var m [6]*message.Message
	for i := range m {
		m[i] = newMessage(t, pool, fmt.Sprint("text ", i))
		appendAndWait(t, s, broker.Op{Kind: broker.OpAddMessage, Msg: m[i]}, broker.Op{Kind: broker.OpAddRef, Msg: m[i], Queue: q1.ID}, broker.Op{Kind: broker.OpAddRef, Msg: m[i], Queue: q2.ID})
		if i > 0 && m[i].ID() <= m[i-1].ID() {
			t.Errorf("ids %d, %d", m[i-1].ID(), m[i].ID())
		}
	}
	appendAndWait(t, s, broker.Op{Kind: broker.OpAckRef, ID: m[0].ID(), Queue: q1.ID}, broker.Op{Kind: broker.OpDeliveryCount, ID: m[1].ID(), Queue: q1.ID, N: 3},
		broker.Op{Kind: broker.OpScheduled, ID: m[1].ID(), Queue: q2.ID, N: 4102444800000})
	appendAndWait(t, s, broker.Op{Kind: broker.OpAckRef, ID: m[2].ID(), Queue: q1.ID}, broker.Op{Kind: broker.OpAckRef, ID: m[2].ID(), Queue: q2.ID}, broker.Op{Kind: broker.OpDeleteMessage, ID: m[2].ID()})
	appendAndWait(t, s, broker.Op{Kind: broker.OpAckRef, ID: m[2].ID(), Queue: q1.ID}) // too late: nothing
	tx := s.NextID()
	dup, dup2 := s.NextID(), s.NextID()
	appendAndWait(t, s, broker.Op{Kind: broker.OpAddDuplicate, Tx: tx, ID: dup, Name: "orders", Bytes: []byte{1, 2}}, broker.Op{Kind: broker.OpAckRef, Tx: tx, ID: m[3].ID(), Queue: q1.ID},
		broker.Op{Kind: broker.OpCommit, Tx: tx})
	appendAndWait(t, s, broker.Op{Kind: broker.OpAddDuplicate, ID: dup2, Name: "orders", Bytes: []byte{3}}, broker.Op{Kind: broker.OpDeleteRecord, ID: dup2})
	sent := newMessage(t, pool, "in doubt")
	xid := broker.Xid{Format: 7, Global: "global", Branch: "branch"}
	tx2, tx3 := s.NextID(), s.NextID()
	appendAndWait(t, s, broker.Op{Kind: broker.OpAddMessage, Tx: tx2, Msg: sent}, broker.Op{Kind: broker.OpAddRef, Tx: tx2, Msg: sent, Queue: q1.ID}, broker.Op{Kind: broker.OpAckRef, Tx: tx2, ID: m[4].ID(), Queue: q2.ID},
		broker.Op{Kind: broker.OpPrepare, Tx: tx2, Xid: xid})
	lost := newMessage(t, pool, "rolled back")
	appendAndWait(t, s, broker.Op{Kind: broker.OpAddMessage, Tx: tx3, Msg: lost}, broker.Op{Kind: broker.OpAddRef, Tx: tx3, Msg: lost, Queue: q1.ID}, broker.Op{Kind: broker.OpRollback, Tx: tx3})
	appendAndWait(t, s, broker.Op{Kind: broker.OpHeuristic, ID: s.NextID(), Xid: xid, N: 1})
	if n := s.MaxRecord(); n < 100000 || n > 102400-headerSize-31 {
		t.Errorf("max record %d", n)
	}
	must(s.Close())

	s, r, err := loadStore(t, o)
	must(err)
	defer s.Close()
	if want := map[int64]broker.AddressRecord{both.ID: both}; !reflect.DeepEqual(r.addresses, want) {
		t.Errorf("addresses %+v", r.addresses)
	}
	if want := map[int64]broker.QueueRecord{q1.ID: q1, q2.ID: q2}; !reflect.DeepEqual(r.queues, want) {
		t.Errorf("queues %+v", r.queues)
	}
	if want := map[int64]broker.PauseKind{q1.ID: broker.PausedQueue, both.ID: broker.PausedAddress}; !maps.Equal(r.paused, want) || pause == 0 {
		t.Errorf("paused %v", r.paused)
	}
	if want := []broker.StoredConfig{c}; !reflect.DeepEqual(r.configs, want) {
		t.Errorf("configs %+v", r.configs)
	}
	var got []string
	for _, ref := range r.refs {
		text, _ := ref.m.TextBody()
		got = append(got, fmt.Sprint(r.queues[ref.queue].Name, " ", text, " ", ref.count, " ", ref.scheduled))
	}
	want := []string{"q2 text 0 0 0", "q1 text 1 3 0", "q2 text 1 0 4102444800000", "q2 text 3 0 0", "q1 text 4 0 0", "q2 text 4 0 0", "q1 text 5 0 0", "q2 text 5 0 0"}
	if !slices.Equal(got, want) {
		t.Errorf("references\n got  %q\n want %q", got, want)
	}
	if len(r.prepared) != 1 || r.prepared[0].Xid != xid || r.prepared[0].Tx != tx2 || len(r.prepared[0].Sent) != 1 || r.prepared[0].Sent[0].Queue != q1.ID ||
		r.prepared[0].Sent[0].Msg.ID() != sent.ID() || len(r.prepared[0].Acks) != 1 || r.prepared[0].Acks[0].Msg.ID() != m[4].ID() || r.prepared[0].Acks[0].Queue != q2.ID {
		t.Errorf("prepared %+v", r.prepared)
	}
	if want := map[string][]string{"orders": {"\x01\x02"}}; !reflect.DeepEqual(r.duplicates, want) {
		t.Errorf("duplicates %q", r.duplicates)
	}
	if !slices.Equal(r.heuristics, []bool{true}) {
		t.Errorf("heuristics %v", r.heuristics)
	}
	if id := s.NextID(); id <= sent.ID() || id <= lost.ID() {
		t.Errorf("next id %d", id)
	}
}

// A message whose last reference goes is deleted by the load, and references to queues that are gone with it.
func TestLoadDeletesWhatNobodyRefersTo(t *testing.T) {
	mem := fs.NewMem()
	s, _, err := loadStore(t, goldenOptions(mem))
	if err != nil {
		t.Fatal(err)
	}
	pool := &message.Pool{}
	acked, orphan := newMessage(t, pool, "acked"), newMessage(t, pool, "orphan")
	for _, m := range []*message.Message{acked, orphan} {
		appendAndWait(t, s, broker.Op{Kind: broker.OpAddMessage, Msg: m}, broker.Op{Kind: broker.OpAddRef, Msg: m, Queue: 1000})
	}
	appendAndWait(t, s, broker.Op{Kind: broker.OpAckRef, ID: acked.ID(), Queue: 1000}) // and the delete was lost
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, r, err := loadStore(t, goldenOptions(mem))
	if err != nil || len(r.refs) != 0 {
		t.Fatal(r.refs, err)
	}
	if s.messages.IsLive(acked.ID()) || s.messages.IsLive(orphan.ID()) {
		t.Error("a message without references is still live")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestStoreBodies(t *testing.T) {
	mem := fs.NewMem()
	o := goldenOptions(mem)
	s, _, err := loadStore(t, o)
	if err != nil {
		t.Fatal(err)
	}
	q := queueRecord(s.NextID(), "q")
	if err := s.StoreQueue(q); err != nil {
		t.Fatal(err)
	}
	pool := &message.Pool{}
	content := strings.Repeat("large ", 100000)
	send := func(id int64, body message.Body) {
		t.Helper()
		b := message.New("orders", message.Type(4))
		b.Durable = true
		b.SetLarge(body)
		m, err := pool.Build(b)
		if err != nil {
			t.Fatal(err)
		}
		m.SetID(id)
		appendAndWait(t, s, broker.Op{Kind: broker.OpAddMessage, Msg: m}, broker.Op{Kind: broker.OpAddRef, Msg: m, Queue: q.ID})
		m.Release()
	}
	id := s.NextID()
	w, err := s.CreateBody(id, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	body, err := broker.FinishBody(w)
	if err != nil {
		t.Fatal(err)
	}
	id2 := s.NextID()
	again, err := s.CopyBody(id2, true, body)
	if err != nil {
		t.Fatal(err)
	}
	send(id, body)
	send(id2, again)
	// An unfinished one, as a crash leaves it.
	if _, err := s.CreateBody(s.NextID(), true); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, r, err := loadStore(t, o)
	if err != nil || len(r.refs) != 2 {
		t.Fatal(r.refs, err)
	}
	for _, ref := range r.refs {
		p := make([]byte, ref.m.Large().Size())
		if n, err := ref.m.Large().ReadAt(p, 0); n != len(p) || string(p) != content {
			t.Errorf("message %d: %d bytes, %v", ref.m.ID(), n, err)
		}
	}
	files := func() []string { // of messages; others may be kept for new ones
		n, _ := mem.List(o.Large)
		return slices.DeleteFunc(n, func(n string) bool { return path.Ext(n) != ".msg" })
	}
	if got := files(); !slices.Equal(got, []string{fmt.Sprint(id, ".msg"), fmt.Sprint(id2, ".msg")}) {
		t.Errorf("files %v", got)
	}
	// The file goes after the delete is stored and the last holder has let go.
	for i := range r.refs {
		if _, err := s.Append([]broker.Op{{Kind: broker.OpDeleteMessage, ID: r.refs[i].m.ID()}}, nil, 0); err != nil {
			t.Fatal(err)
		}
		s.DeleteBody(r.refs[i].m.ID())
	}
	r.refs[0].m.Release()
	until(t, "the first file is gone", func() bool { return slices.Equal(files(), []string{fmt.Sprint(id2, ".msg")}) })
	r.refs[1].m.Release()
	until(t, "both files are gone", func() bool { return len(files()) == 0 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := mem.List(o.Large); err != nil || len(n) > 0 {
		t.Errorf("left %v, %v", n, err)
	}
}

// storeTap sees a store's stream.
type storeTap struct {
	mu   sync.Mutex
	seen []string
	last [2]Mark
}

func (f *storeTap) add(s string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, s)
}

func (f *storeTap) Appended(id JournalID, m Mark, r *Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, fmt.Sprint(id, " ", r.Kind, " ", r.UserType))
	if m <= f.last[id] {
		f.seen = append(f.seen, "out of order")
	}
	f.last[id] = m
}
func (f *storeTap) Full() bool                     { return false }
func (f *storeTap) Flush()                         {}
func (f *storeTap) BodyBegun(id int64)             { f.add(fmt.Sprint("begun ", id)) }
func (f *storeTap) BodyWritten(id int64, p []byte) { f.add(fmt.Sprintf("written %d %q", id, p)) }
func (f *storeTap) BodyEnded(id int64)             { f.add(fmt.Sprint("ended ", id)) }
func (f *storeTap) BodyDeleted(id int64)           { f.add(fmt.Sprint("deleted ", id)) }
func (f *storeTap) BodyLost(id int64, err error)   { f.add(fmt.Sprint("lost ", id, " ", err)) }

func (f *storeTap) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

func (f *storeTap) marks() [2]Mark {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

func TestStoreTap(t *testing.T) {
	s, _, err := loadStore(t, goldenOptions(fs.NewMem()))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tap := &storeTap{}
	sn, err := s.Attach(tap, func(*Snapshot) { tap.add("begin") })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Attach(&storeTap{}, func(*Snapshot) {}); !errors.Is(err, ErrAttached) {
		t.Errorf("a second tap: %v", err)
	}
	s.Gate(func() bool { tap.add("no gate"); return false })
	s.Gate(func() bool { tap.add("gate"); return true })
	sn.Close()
	m := newMessage(t, &message.Pool{}, "x")
	var told atomic.Int32
	w := countWaiter{&told}
	if _, err := s.Append([]broker.Op{{Kind: broker.OpAddMessage, Msg: m}, {Kind: broker.OpAddRef, Msg: m, Queue: 9}}, w, 0); err != nil {
		t.Fatal(err)
	}
	var stored sync.WaitGroup
	var bindingDone atomic.Bool
	stored.Go(func() {
		if err := s.StoreQueue(queueRecord(77, "q")); err != nil {
			t.Error(err)
		}
		bindingDone.Store(true)
	})
	until(t, "the tap saw the queue", func() bool { return slices.Contains(tap.all(), "bindings 18 0") })
	b, err := s.CreateBody(5, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	body, err := broker.FinishBody(b)
	if err != nil {
		t.Fatal(err)
	}
	body.Release()
	want := []string{"begin", "no gate", "gate", "messages 11 45", "messages 12 32", "bindings 13 21", "bindings 18 0", "begun 5", "written 5 \"abc\"", "ended 5"}
	if got := tap.all(); !slices.Equal(got, want) {
		t.Errorf("the tap saw\n%q, want\n%q", got, want)
	}
	flush := func() {
		t.Helper()
		if err := errors.Join(s.messages.Flush(), s.bindings.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	flush()
	if told.Load() != 0 || bindingDone.Load() {
		t.Error("answered without the replica's confirmation")
	}
	s.Release() // refused
	if told.Load() != 0 || bindingDone.Load() {
		t.Error("released while the tap is attached")
	}
	s.Confirm(MessagesJournal, tap.marks()[MessagesJournal])
	until(t, "the waiter is told", func() bool { return told.Load() == 1 })
	if bindingDone.Load() {
		t.Error("a confirmation of messages answered for the bindings")
	}
	s.Confirm(BindingsJournal, tap.marks()[BindingsJournal])
	stored.Wait()
	// The replica is lost: held until the policy says release.
	stored.Go(func() {
		if err := s.DeleteQueue(77); err != nil {
			t.Error(err)
		}
		bindingDone.Store(true)
	})
	bindingDone.Store(false)
	if _, err := s.Append([]broker.Op{{Kind: broker.OpAckRef, ID: m.ID(), Queue: 9}}, w, 0); err != nil {
		t.Fatal(err)
	}
	s.Detach()
	flush()
	if told.Load() != 1 || bindingDone.Load() {
		t.Error("told after the replica was lost")
	}
	s.Release()
	until(t, "released", func() bool { return told.Load() == 2 })
	stored.Wait()
}

// A body that was begun before the tap was attached is told whole with its next step; a complete one is in the snapshot, a
// deleted one in neither.
func TestAttachBetweenBodies(t *testing.T) {
	s, _, err := loadStore(t, goldenOptions(fs.NewMem()))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	begin := func(id int64, text string) broker.BodyWriter {
		w, err := s.CreateBody(id, true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return w
	}
	finish := func(w broker.BodyWriter) message.Body {
		b, err := broker.FinishBody(w)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	long := strings.Repeat("z", 300<<10) // more than a writer's buffer
	whole, dead, aborted := finish(begin(1, "whole")), finish(begin(2, "dead")), begin(3, "aborted")
	open, still := begin(4, long), begin(5, "com")
	dead.Discard()
	tap := &storeTap{}
	sn, err := s.Attach(tap, func(sn *Snapshot) { tap.add("begin") })
	if err != nil {
		t.Fatal(err)
	}
	if len(sn.Bodies) != 1 || sn.Bodies[0].ID() != 1 || sn.Bodies[0].Size() != 5 {
		t.Fatalf("bodies %v", sn.Bodies)
	}
	aborted.Abort() // the tap was not told of it
	if _, err := still.Write([]byte("plete")); err != nil {
		t.Fatal(err)
	}
	if got, want := tap.all(), []string{"begin", "begun 5", "written 5 \"com\"", "written 5 \"plete\""}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	finish(still).Release()
	finish(open).Release()
	var written int
	for _, x := range tap.all() {
		if strings.HasPrefix(x, "written 4") {
			written += strings.Count(x, "z")
		}
	}
	if got := tap.all(); written != len(long) || got[len(got)-1] != "ended 4" {
		t.Errorf("%d bytes of %d told of body 4, last %.20q", written, len(long), got[len(got)-1])
	}
	// Deletion: told once, and the file stays until the snapshot lets go.
	s.DeleteBody(1)
	until(t, "the deletion is told", func() bool { return slices.Contains(tap.all(), "deleted 1") })
	whole.Discard()
	whole.Release()
	b := make([]byte, 5)
	if _, err := sn.Bodies[0].ReadAt(b, 0); err != nil || string(b) != "whole" {
		t.Errorf("read %q, %v", b, err)
	}
	gone := begin(6, "gone")
	gone.Abort()
	sn.Close()
	if n := strings.Count(strings.Join(tap.all(), ";"), "deleted 1"); n != 1 || !slices.Contains(tap.all(), "deleted 6") {
		t.Errorf("told %q", tap.all()[len(tap.all())-4:])
	}
	dead.Release()
	s.Detach()
}

// Whoever waits when the node gives up gets an error, and is not told later.
func TestAbandon(t *testing.T) {
	s, _, err := loadStore(t, goldenOptions(fs.NewMem()))
	if err != nil {
		t.Fatal(err)
	}
	tap := &storeTap{}
	sn, err := s.Attach(tap, func(*Snapshot) {})
	if err != nil {
		t.Fatal(err)
	}
	s.Gate(func() bool { return true })
	sn.Close()
	answer := make(chan error, 1)
	go func() { answer <- s.StoreQueue(queueRecord(77, "q")) }()
	until(t, "it is appended", func() bool { return len(tap.all()) == 2 })
	s.Detach()
	s.Abandon()
	if err := <-answer; !errors.Is(err, ErrClosed) {
		t.Errorf("answered %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

type countWaiter struct{ n *atomic.Int32 }

func (c countWaiter) Stored() { c.n.Add(1) }

type fatalHooks struct{ err chan error }

func (fatalHooks) BatchEnd()         {}
func (h fatalHooks) Fatal(err error) { h.err <- err }

// A failure in one of the store's files ends all of it.
func TestStoreFailure(t *testing.T) {
	for name, rule := range map[string]fs.Rule{
		"messages": {Op: fs.OpSync, Pattern: "*.amq", Err: syscall.EIO},
		"bindings": {Op: fs.OpSync, Pattern: "*.bindings", Err: syscall.EIO},
		"bodies":   {Op: fs.OpSync, Pattern: "*.msg", Err: syscall.EIO},
	} {
		t.Run(name, func(t *testing.T) {
			f := fs.NewFaulty(fs.NewMem())
			s := NewStore(goldenOptions(f))
			if err := s.Load(&message.Pool{}, newRecovered()); err != nil {
				t.Fatal(err)
			}
			h := fatalHooks{make(chan error, 5)}
			s.Start(h)
			for _, j := range []*Journal{s.messages, s.bindings} {
				until(t, "files are ready", func() bool { j.mu.Lock(); defer j.mu.Unlock(); return j.next != nil })
			}
			f.Add(rule)
			switch name {
			case "messages":
				if _, err := s.Append([]broker.Op{{Kind: broker.OpAddDuplicate, ID: s.NextID(), Name: "x"}}, make(signal), 0); err != nil {
					t.Fatal(err)
				}
			case "bindings":
				if err := s.StoreQueue(queueRecord(5, "q")); !errors.Is(err, broker.ErrStoreFailed) {
					t.Errorf("got %v", err)
				}
			case "bodies":
				w, err := s.CreateBody(5, true)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := broker.FinishBody(w); !errors.Is(err, syscall.EIO) {
					t.Errorf("got %v", err)
				}
			}
			if err := <-h.err; !errors.Is(err, broker.ErrStoreFailed) || !errors.Is(err, syscall.EIO) {
				t.Errorf("fatal %v", err)
			}
			if _, err := s.Append(nil, nil, 0); !errors.Is(err, broker.ErrStoreFailed) {
				t.Errorf("append: %v", err)
			}
			if err := s.DeleteQueue(5); !errors.Is(err, broker.ErrStoreFailed) {
				t.Errorf("bindings: %v", err)
			}
			if err := s.Close(); !errors.Is(err, broker.ErrStoreFailed) {
				t.Errorf("close: %v", err)
			}
			if len(h.err) != 0 {
				t.Error("fatal twice")
			}
		})
	}
}

// TestStoreCrash stops the file system at every write point of a life of a store, bindings and large messages included.
// What was answered is there after the load, what was acknowledged is not.
func TestStoreCrash(t *testing.T) {
	total := storeLife(t, -1, nil)
	t.Logf("%d write points", total)
	for n := range total {
		storeLife(t, n, nil)
		storeLife(t, n, rand.New(rand.NewPCG(uint64(n), 1)))
		if t.Failed() {
			t.Fatalf("after a crash at write point %d", n)
		}
	}
}

func storeLife(t *testing.T, stop int, torn *rand.Rand) int {
	t.Helper()
	mem := fs.NewMem()
	f := fs.NewFaulty(mem)
	o := goldenOptions(f)
	o.FileSize, o.CompactMinFiles = 2048, 4
	if stop >= 0 {
		f.StopAfter(stop, errCrash)
	}
	pool := &message.Pool{}
	there, gone, maybe := map[string]bool{}, map[string]bool{}, map[string]bool{}
	prepared := 0
	life := func() error {
		s := NewStore(o)
		defer s.Close()
		if err := s.Load(pool, newRecovered()); err != nil {
			return err
		}
		s.Start(noHooks{})
		q := queueRecord(s.NextID(), "q")
		maybe["queue q"] = true
		if err := s.StoreQueue(q); err != nil {
			return err
		}
		there["queue q"] = true
		do := func(what string, ops ...broker.Op) error {
			maybe[what] = true
			w := make(signal)
			if _, err := s.Append(ops, w, broker.Transactional); err != nil {
				return err
			}
			return s.await(w)
		}
		for i := range 12 {
			m := newMessage(t, pool, fmt.Sprint(i))
			if err := do(fmt.Sprint(i), broker.Op{Kind: broker.OpAddMessage, Msg: m}, broker.Op{Kind: broker.OpAddRef, Msg: m, Queue: q.ID}); err != nil {
				return err
			}
			there[fmt.Sprint(i)] = true
			if i%2 == 1 {
				tx := s.NextID()
				next := newMessage(t, pool, fmt.Sprint("tx ", i))
				delete(there, fmt.Sprint(i))
				if err := do(fmt.Sprint("tx ", i), broker.Op{Kind: broker.OpAckRef, Tx: tx, ID: m.ID(), Queue: q.ID},
					broker.Op{Kind: broker.OpAddMessage, Tx: tx, Msg: next}, broker.Op{Kind: broker.OpAddRef, Tx: tx, Msg: next, Queue: q.ID},
					broker.Op{Kind: broker.OpCommit, Tx: tx}); err != nil {
					return err
				}
				there[fmt.Sprint("tx ", i)], gone[fmt.Sprint(i)] = true, true
				if _, err := s.Append([]broker.Op{{Kind: broker.OpDeleteMessage, ID: m.ID()}}, nil, 0); err != nil {
					return err
				}
			}
			if i == 6 {
				id := s.NextID()
				w, err := s.CreateBody(id, true)
				if err != nil {
					return err
				}
				if _, err = w.Write([]byte(strings.Repeat("L", 3000))); err != nil {
					return err
				}
				body, err := broker.FinishBody(w)
				if err != nil {
					return err
				}
				b := message.New("orders", message.Type(4))
				b.Durable = true
				b.SetLarge(body)
				m, err := pool.Build(b)
				if err != nil {
					return err
				}
				m.SetID(id)
				if err := do("large", broker.Op{Kind: broker.OpAddMessage, Msg: m}, broker.Op{Kind: broker.OpAddRef, Msg: m, Queue: q.ID}); err != nil {
					return err
				}
				there["large"] = true
			}
			if i == 8 {
				tx := s.NextID()
				m := newMessage(t, pool, "in doubt")
				if err := do("prepared", broker.Op{Kind: broker.OpAddMessage, Tx: tx, Msg: m}, broker.Op{Kind: broker.OpAddRef, Tx: tx, Msg: m, Queue: q.ID}, broker.Op{Kind: broker.OpPrepare, Tx: tx, Xid: broker.Xid{Format: 1, Global: "g", Branch: "b"}}); err != nil {
					return err
				}
				prepared = 1
			}
		}
		return s.Close()
	}
	err := life()
	if stop < 0 {
		if err != nil {
			t.Fatal(err)
		}
		return f.Count()
	}
	mem.Crash(torn)
	o.FS = mem
	for range 2 {
		s, r, err := loadStore(t, o)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, q := range r.queues {
			got["queue "+q.Name] = true
		}
		for _, ref := range r.refs {
			text, _ := ref.m.TextBody()
			if ref.m.Large() != nil {
				text = "large"
				p := make([]byte, 3000)
				if n, err := ref.m.Large().ReadAt(p, 0); n != 3000 || string(p) != strings.Repeat("L", 3000) {
					t.Errorf("the large body has %d bytes, %v", n, err)
				}
			}
			if got[text] {
				t.Errorf("%s twice", text)
			}
			got[text] = true
		}
		for what := range there {
			if !got[what] {
				t.Errorf("%s was answered and is lost", what)
			}
		}
		for what := range got {
			if !maybe[what] {
				t.Errorf("%s was never stored", what)
			}
		}
		for what := range gone {
			if got[what] {
				t.Errorf("%s was acknowledged and is back", what)
			}
		}
		for i := 1; i < 12; i += 2 { // all or nothing
			if one, two := got[fmt.Sprint(i)], got[fmt.Sprint("tx ", i)]; one && two || maybe[fmt.Sprint("tx ", i)] && !one && !two {
				t.Errorf("transaction %d: the old message is there: %v, the new one: %v", i, one, two)
			}
		}
		if len(r.prepared) < prepared {
			t.Error("the prepared transaction is lost")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return 0
}
