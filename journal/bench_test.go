package journal

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal/fs"
)

// nullFS takes writes without keeping them: the benchmark measures the append path alone.
type nullFS struct{ fs.FS }

type nullFile struct{ fs.File }

func (n nullFS) Open(name string) (fs.File, error) {
	f, err := n.FS.Open(name)
	return nullFile{f}, err
}
func (nullFile) WriteAt(p []byte, off int64) (int, error) { return len(p), nil }
func (nullFile) Datasync() error                          { return nil }

func benchOptions(fsys fs.FS, dir string) Options {
	return Options{FS: fsys, Dir: dir, Prefix: "activemq-data", Ext: "amq", FileSize: 10 << 20, MinFiles: 2, PoolFiles: 10}
}

// BenchmarkAppend is one goroutine appending ADD (1 KiB) with UPDATE, then DELETE 1000 messages later; the writes go nowhere.
func BenchmarkAppend(b *testing.B) {
	m := fs.NewMem()
	if err := m.MkdirAll("/j"); err != nil {
		b.Fatal(err)
	}
	j := open(b, benchOptions(nullFS{m}, "/j"))
	defer j.Close()
	body := make([]byte, 1024)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range int64(b.N) {
		a, err := j.Begin(Wait)
		if err != nil {
			b.Fatal(err)
		}
		copy(a.Add(i, 45, len(body)), body)
		if p, err := a.Update(i, 32, 8); err == nil {
			clear(p)
		}
		if i >= 1000 {
			_ = a.Delete(i - 1000)
		}
		if _, err := a.Commit(nil, false); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDurable is n goroutines that each append 1 KiB and wait, on a real disk.
func BenchmarkDurable(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		for _, direct := range []bool{false, true} {
			b.Run(fmt.Sprintf("waiting=%d/direct=%v", n, direct), func(b *testing.B) {
				o := benchOptions(fs.OS{}, b.TempDir())
				o.Direct = direct
				j := open(b, o)
				defer j.Close()
				body := make([]byte, 1024)
				b.ReportAllocs()
				b.ResetTimer()
				var all sync.WaitGroup
				for g := range n {
					all.Go(func() {
						var w waitGroup
						for i := g; i < b.N; i += n {
							a, err := j.Begin(Wait)
							if err != nil {
								b.Error(err)
								return
							}
							copy(a.Add(int64(i), 45, len(body)), body)
							if i >= 1000 {
								_ = a.Delete(int64(i - 1000))
							}
							w.Add(1)
							if _, err := a.Commit(&w, true); err != nil {
								b.Error(err)
								return
							}
							w.Wait()
						}
					})
				}
				all.Wait()
			})
		}
	}
}

// BenchmarkStoreAppend is what the engine does for a durable message: ADD 45 with UPDATE 32, and UPDATE 33 with DELETE 1000
// messages later. The writes go nowhere.
func BenchmarkStoreAppend(b *testing.B) {
	s := NewStore(goldenOptions(nullFS{fs.NewMem()}))
	s.o.FileSize = 10 << 20
	if err := s.Load(&message.Pool{}, newRecovered()); err != nil {
		b.Fatal(err)
	}
	s.Start(noHooks{b})
	defer s.Close()
	pool := &message.Pool{}
	m := newMessage(b, pool, strings.Repeat("x", 512))
	var told atomic.Int32
	var w broker.Waiter = countWaiter{&told}
	send := []broker.Op{{Kind: broker.OpAddMessage, Msg: m}, {Kind: broker.OpAddRef, Msg: m, Queue: 5}}
	ack := []broker.Op{{Kind: broker.OpAckRef, Queue: 5}, {Kind: broker.OpDeleteMessage}}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range int64(b.N) {
		m.SetID(1000 + i)
		if _, err := s.Append(send, w, 0); err != nil {
			b.Fatal(err)
		}
		if i >= 1000 {
			ack[0].ID, ack[1].ID = i, i
			if _, err := s.Append(ack, nil, 0); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// TestAppendDoesNotAllocate guards the durable path.
func TestAppendDoesNotAllocate(t *testing.T) {
	m := fs.NewMem()
	if err := m.MkdirAll("/j"); err != nil {
		t.Fatal(err)
	}
	j := open(t, benchOptions(nullFS{m}, "/j"))
	defer j.Close()
	body := make([]byte, 1024)
	var w waitGroup
	id := int64(0)
	one := func() {
		id++
		a, err := j.Begin(Wait)
		if err != nil {
			t.Fatal(err)
		}
		copy(a.Add(id, 45, len(body)), body)
		if p, err := a.Update(id, 32, 8); err == nil {
			clear(p)
		}
		if id > 100 {
			_ = a.Delete(id - 100)
		}
		tx := 1<<40 + id
		copy(a.AddTx(tx, tx, 45, 8), body)
		a.RollbackTx(tx)
		w.Add(1)
		if _, err := a.Commit(&w, true); err != nil {
			t.Fatal(err)
		}
		w.Wait()
	}
	for range 2000 {
		one()
	}
	if n := testing.AllocsPerRun(1000, one); n > 0.1 { // a new file now and then
		t.Errorf("%g allocations for each operation", n)
	}
}

// BenchmarkLoad is the start with a million live messages of 100 bytes.
func BenchmarkLoad(b *testing.B) {
	o := benchOptions(fs.OS{}, b.TempDir())
	j := open(b, o)
	for i := range int64(1_000_000) {
		a, err := j.Begin(Wait)
		if err != nil {
			b.Fatal(err)
		}
		a.Add(i, 45, 100)
		if _, err := a.Update(i, 32, 8); err != nil {
			b.Fatal(err)
		}
		if _, err := a.Commit(nil, false); err != nil {
			b.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		j, _, err := Open(o, Visitor{Record: func(*Record) error { n++; return nil }})
		if err != nil || n != 2_000_000 {
			b.Fatal(n, err)
		}
		if err := j.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBareSync is the disk's own part of BenchmarkDurable with one waiting: a write of 1 KiB and a sync.
func BenchmarkBareSync(b *testing.B) {
	dir := b.TempDir()
	f, err := fs.OS{}.Create(dir + "/f")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	const size = 10 << 20
	if err := fs.Zero(f, 0, size); err != nil {
		b.Fatal(err)
	}
	if err := f.Datasync(); err != nil {
		b.Fatal(err)
	}
	body := make([]byte, 1100)
	for i := range b.N {
		if _, err := f.WriteAt(body, int64(i*len(body)%(size-2000))); err != nil {
			b.Fatal(err)
		}
		if err := f.Datasync(); err != nil {
			b.Fatal(err)
		}
	}
}
