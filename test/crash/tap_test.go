package crash

import (
	"fmt"
	"sync"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/fs"
)

// A fakeTap is the near end of a replica that confirms when the test says so.
type fakeTap struct {
	mu   sync.Mutex
	last [2]journal.Mark
	seen []string
}

func (f *fakeTap) note(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, what)
}

func (f *fakeTap) Appended(id journal.JournalID, m journal.Mark, r *journal.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	what := fmt.Sprint(id, " ", r.Kind, " ", r.UserType)
	if m <= f.last[id] {
		what = "out of order: " + what
	}
	f.last[id] = m
	f.seen = append(f.seen, what)
}

func (f *fakeTap) Full() bool                    { return false }
func (f *fakeTap) Flush()                        {}
func (f *fakeTap) BodyBegun(int64)               { f.note("body begin") }
func (f *fakeTap) BodyWritten(_ int64, p []byte) { f.note(fmt.Sprint("body ", len(p))) }
func (f *fakeTap) BodyEnded(int64)               { f.note("body end") }
func (f *fakeTap) BodyDeleted(int64)             { f.note("body delete") }
func (f *fakeTap) BodyLost(_ int64, err error)   { f.note(err.Error()) }

// confirm confirms everything to the store.
func (f *fakeTap) confirm(s *journal.Store) {
	f.mu.Lock()
	last := f.last
	f.mu.Unlock()
	for id, m := range last {
		s.Confirm(journal.JournalID(id), m)
	}
}

// TestReplica holds answers until the replica has confirmed. While one is attached nobody can release them, and when it is
// lost they stay held until the policy releases them: a crash before that may keep the messages, but nobody was told.
func TestReplica(t *testing.T) {
	t.Run("released", func(t *testing.T) { loseReplica(t, false) })
	t.Run("crashed", func(t *testing.T) { loseReplica(t, true) })
}

func loseReplica(t *testing.T, crash bool) {
	mem := fs.NewMem()
	n, err := openNode(t, smallFiles(mem), brokertest.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	h := NewHistory(nil, nil)
	for _, q := range []string{"DLQ", "ExpiryQueue", "q"} {
		if err := n.createQueue(h, q, q, message.Anycast); err != nil {
			t.Fatal(err)
		}
	}
	a := n.actor(h, brokertest.AutoCommit)
	if err := a.send("q", "before", []string{"q"}, nil); err != nil {
		t.Fatal(err)
	}
	tap := &fakeTap{}
	sn, err := n.store.Attach(tap, func(*journal.Snapshot) {})
	if err != nil {
		t.Fatal(err)
	}
	n.store.Gate(func() bool { return true })
	sn.Close()
	units := map[int64]*Unit{}
	post := func(id int64, text string) {
		u := &Unit{Name: text, Sends: []Copy{{"q", text}}, May: Applied | Undone}
		h.Begin(u)
		units[id] = u
		a.Act(func(w *broker.Work) {
			a.post(a.build(brokertest.Text("q", text, message.Anycast)))(w, broker.Answer{Kind: 1, ID: id})
		})
	}
	answered := func() (ids []int64) {
		for _, x := range a.Answers() {
			if x.Err != nil {
				t.Errorf("answer %d: %v", x.ID, x.Err)
			}
			ids = append(ids, x.ID)
			h.Set(units[x.ID], Applied)
		}
		return ids
	}
	locally := func() { // everything is on this node's disk
		t.Helper()
		synced := make(chan error, 1)
		go func() { synced <- n.store.Barrier(func(_, _ []journal.FileInfo) error { return nil }) }()
		if err := <-synced; err != nil {
			t.Fatal(err)
		}
	}
	post(1, "one")
	locally()
	n.store.Release()
	if got := answered(); len(got) != 0 || n.Queue("q").MessageCount() != 1 {
		t.Fatalf("answered %v, %d messages visible, before the replica has confirmed", got, n.Queue("q").MessageCount())
	}
	tap.confirm(n.store)
	brokertest.Until(t, "the answer after the confirmation", func() bool { return n.Queue("q").MessageCount() == 2 })
	if got := answered(); len(got) != 1 || got[0] != 1 {
		t.Fatalf("answered %v", got)
	}
	tap.mu.Lock()
	want := []string{"messages 11 45", "messages 12 32"} // ADD of the message, UPDATE with its queue
	if len(tap.seen) != 2 || tap.seen[0] != want[0] || tap.seen[1] != want[1] {
		t.Errorf("the tap saw %v, want %v", tap.seen, want)
	}
	tap.mu.Unlock()

	post(2, "two")
	locally()
	n.store.Detach()
	post(3, "three")
	locally()
	tap.confirm(n.store) // too late
	if got := answered(); len(got) != 0 || n.Queue("q").MessageCount() != 2 {
		t.Fatalf("answered %v, %d messages visible, without a replica and without a decision", got, n.Queue("q").MessageCount())
	}
	if crash { // neither was answered, either may be there
		mem.Crash(nil)
		n.stop() // of a store whose files are gone
		aftermath(t, mem, brokertest.Epoch, h.Round(nil))
		return
	}
	n.store.Release()
	brokertest.Until(t, "the answers after the release", func() bool { return n.Queue("q").MessageCount() == 4 })
	if got := answered(); len(got) != 2 || got[0] != 2 || got[1] != 3 {
		t.Fatalf("answered %v", got)
	}
	if err := a.send("q", "alone", []string{"q"}, nil); err != nil {
		t.Fatal(err)
	}
	n.judge(h.Round(nil))
	a.Disconnect(false)
	n.stopClean()
	aftermath(t, mem, brokertest.Epoch, h.Round(nil))
}
