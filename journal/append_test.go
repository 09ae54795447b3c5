package journal

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/saranga-mq/saranga/journal/fs"
)

// tester is what helpers need of a test, plain or rapid.
type tester interface {
	Helper()
	Fatal(args ...any)
}

// testOptions is a small journal in memory.
func testOptions(fsys fs.FS) Options {
	return Options{FS: fsys, Dir: "/j", Prefix: "activemq-data", Ext: "amq", FileSize: 4096, MinFiles: 2, PoolFiles: 10, MaxAttic: 10,
		CompactPercentage: 30, Replaceable: replaceable}
}

// replaceable is the rule of the messages journal: type 34 and 36, per queue.
func replaceable(userType byte, payload []byte) (uint64, bool) {
	if userType != 34 && userType != 36 || len(payload) < 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(payload), true
}

func newMem(t tester) *fs.Mem {
	t.Helper()
	m := fs.NewMem()
	if err := m.MkdirAll("/j"); err != nil {
		t.Fatal(err)
	}
	return m
}

func open(t tester, o Options) *Journal {
	t.Helper()
	j, _, err := Open(o, Visitor{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// contents is what a journal holds: for each id the add's payload followed by those of the updates.
func contents(t tester, o Options) map[int64][]string {
	t.Helper()
	got, _ := contentsAndPrepared(t, o)
	return got
}

func contentsAndPrepared(t tester, o Options) (map[int64][]string, []*Transaction) {
	t.Helper()
	got := map[int64][]string{}
	var prepared []*Transaction
	if _, err := Read(o, Visitor{
		Record: func(r *Record) error {
			// An update can outlive its add and its delete: in a transaction that was committed after them.
			if r.Kind == Add || r.Kind == AddTx || got[r.ID] != nil {
				got[r.ID] = append(got[r.ID], string(r.Payload))
			}
			return nil
		},
		Prepared: func(t *Transaction) error { prepared = append(prepared, t); return nil },
	}); err != nil {
		t.Fatal(err)
	}
	return got, prepared
}

// waitGroup is a Waiter that lets a test wait for many.
type waitGroup struct{ sync.WaitGroup }

func (w *waitGroup) Stored() { w.Done() }

// do appends one operation and waits until it is stored.
func do(t tester, j *Journal, f func(a *Appender)) {
	t.Helper()
	a, err := j.Begin(Wait)
	if err != nil {
		t.Fatal(err)
	}
	f(a)
	var w waitGroup
	w.Add(1)
	if _, err := a.Commit(&w, true); err != nil {
		t.Fatal(err)
	}
	w.Wait()
}

func addText(a *Appender, id int64, s string) { copy(a.Add(id, 45, len(s)), s) }

func updateText(t tester, a *Appender, id int64, s string) {
	t.Helper()
	p, err := a.Update(id, 32, len(s))
	if err != nil {
		t.Fatal(err)
	}
	copy(p, s)
}

func equalContents(a, b map[int64][]string) bool {
	return maps.EqualFunc(a, b, slices.Equal)
}

func TestAppendAndLoad(t *testing.T) {
	for _, direct := range []bool{false, true} {
		t.Run(fmt.Sprintf("direct=%v", direct), func(t *testing.T) {
			m := newMem(t)
			o := testOptions(m)
			o.Direct, o.BlockSize = direct, 512
			j := open(t, o)
			do(t, j, func(a *Appender) { addText(a, 1, "one"); updateText(t, a, 1, "ref") })
			do(t, j, func(a *Appender) { addText(a, 2, "two") })
			do(t, j, func(a *Appender) {
				if err := a.Delete(2); err != nil {
					t.Error(err)
				}
			})
			do(t, j, func(a *Appender) {
				copy(a.AddTx(7, 3, 45, 5), "three")
				copy(a.UpdateTx(7, 1, 33, 3), "ack")
			})
			do(t, j, func(a *Appender) { a.CommitTx(7) })
			do(t, j, func(a *Appender) { copy(a.AddTx(8, 4, 45, 4), "four") })
			do(t, j, func(a *Appender) { copy(a.AddTx(9, 5, 45, 4), "five"); a.Prepare(9, []byte("xid")) })
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			want := map[int64][]string{1: {"one", "ref", "ack"}, 3: {"three"}}
			for range 2 { // the first open rolls back transaction 8
				got, prepared := contentsAndPrepared(t, o)
				if !equalContents(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
				if len(prepared) != 1 || prepared[0].ID != 9 || string(prepared[0].Xid) != "xid" || len(prepared[0].Records) != 1 || string(prepared[0].Records[0].Payload) != "five" {
					t.Errorf("prepared %+v", prepared)
				}
				if err := open(t, o).Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Who is told lazily is told of what a crash leaves, also when those whose records are written with his want no sync.
func TestCommitLazyIsSynced(t *testing.T) {
	mem := newMem(t)
	o := testOptions(mem)
	j := open(t, o)
	do(t, j, func(a *Appender) { addText(a, 1, "deleted") })
	a, err := j.Begin(Wait)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Delete(1); err != nil {
		t.Fatal(err)
	}
	var lazy, written waitGroup
	lazy.Add(1)
	if _, err := a.CommitLazy(&lazy); err != nil {
		t.Fatal(err)
	}
	if a, err = j.Begin(Wait); err != nil {
		t.Fatal(err)
	}
	addText(a, 2, "not synced")
	written.Add(1)
	if _, err := a.Commit(&written, false); err != nil {
		t.Fatal(err)
	}
	written.Wait()
	lazy.Wait()
	mem.Crash(nil)
	if got := contents(t, o); got[1] != nil {
		t.Errorf("told of a delete that a crash undid: %v", got)
	}
	_ = j.Close() // of the process that is gone
}
