package journal

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/journal/fs"
)

// until waits for a condition that other goroutines bring about.
func until(t testing.TB, what string, f func() bool) {
	t.Helper()
	deadline, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-deadline.Done():
			t.Fatalf("never: %s", what)
		}
	}
}

// recorder keeps in which order waiters were told.
type recorder struct {
	mu   sync.Mutex
	told []string
}

func (r *recorder) add(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, s)
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.told)
}

type named struct {
	r    *recorder
	name string
}

func (n named) Stored() { n.r.add(n.name) }

// post appends one record with a waiter of that name.
func post(t testing.TB, j *Journal, r *recorder, id int64) Mark {
	t.Helper()
	a, err := j.Begin(Wait)
	if err != nil {
		t.Fatal(err)
	}
	addText(a, id, "x")
	m, err := a.Commit(named{r, fmt.Sprint(id)}, true)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func faultyJournal(t testing.TB, change func(o *Options)) (*Journal, *fs.Faulty, Options) {
	t.Helper()
	f := fs.NewFaulty(newMem(t))
	o := testOptions(f)
	if change != nil {
		change(&o)
	}
	return open(t, o), f, o
}

// blockWrites makes the first write to a journal file, and all later ones, wait until release is called.
func blockWrites(f *fs.Faulty) (blocked chan struct{}, release func()) {
	blocked, open := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.SetHook(func(op fs.Op, name string) {
		if op == fs.OpWrite && strings.HasSuffix(name, ".amq") {
			once.Do(func() { close(blocked) })
			<-open
		}
	})
	return blocked, func() { close(open) }
}

func TestWaitersInStreamOrder(t *testing.T) {
	j, f, _ := faultyJournal(t, nil)
	r := &recorder{}
	j.Start(Hooks{BatchEnd: func() { r.add("end") }})
	blocked, release := blockWrites(f)
	post(t, j, r, 1)
	<-blocked
	var last Mark
	for id := int64(2); id < 20; id++ {
		m := post(t, j, r, id)
		if m <= last {
			t.Errorf("mark %d after %d", m, last)
		}
		last = m
	}
	if len(r.all()) != 0 || j.Synced() != 0 {
		t.Errorf("told %v before anything was written", r.all())
	}
	release()
	until(t, "all told", func() bool { return len(r.all()) == 21 })
	want := []string{"1", "end"}
	for id := 2; id < 20; id++ {
		want = append(want, fmt.Sprint(id))
	}
	if got := r.all(); !slices.Equal(got, append(want, "end")) {
		t.Errorf("told %v", got)
	}
	if j.Synced() != last {
		t.Errorf("synced %d, want %d", j.Synced(), last)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// fakeTap is the replica's end.
type fakeTap struct {
	mu      sync.Mutex
	ops     []string
	full    atomic.Bool
	flushed atomic.Int32
}

func (f *fakeTap) Full() bool { return f.full.Load() }
func (f *fakeTap) Flush()     { f.flushed.Add(1) }

func (f *fakeTap) Appended(m Mark, r *Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ops = append(f.ops, fmt.Sprintf("%d %d %q %d", r.Kind, r.ID, r.Payload, m))
}

func TestGate(t *testing.T) {
	j, _, _ := faultyJournal(t, nil)
	defer j.Close()
	r := &recorder{}
	j.Start(Hooks{})
	before := post(t, j, r, 1)
	until(t, "1 told", func() bool { return len(r.all()) == 1 })

	tap := &fakeTap{}
	j.Attach(tap)
	j.Gate()
	m2, m3 := post(t, j, r, 2), post(t, j, r, 3)
	if err := j.Flush(); err != nil { // locally durable …
		t.Fatal(err)
	}
	if got := r.all(); len(got) != 1 || j.Synced() != before { // … and not told
		t.Fatalf("told %v without the replica's confirmation", got)
	}
	if want := []string{fmt.Sprintf("11 2 \"x\" %d", m2), fmt.Sprintf("11 3 \"x\" %d", m3)}; !slices.Equal(tap.ops, want) {
		t.Errorf("tap saw %q, want %q", tap.ops, want)
	}
	j.Confirm(m2)
	if got := r.all(); !slices.Equal(got, []string{"1", "2"}) || j.Synced() != m2 {
		t.Errorf("told %v after the confirmation of 2", got)
	}
	j.Release() // refused: the tap holds
	if got := r.all(); len(got) != 2 {
		t.Errorf("told %v by a release beside an attached tap", got)
	}
	// The replica is lost: nobody is told until the policy says so.
	j.Detach()
	j.Confirm(m3) // came too late
	m4 := post(t, j, r, 4)
	if err := j.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := r.all(); len(got) != 2 || len(tap.ops) != 2 {
		t.Errorf("told %v, tap saw %v after it was lost", got, tap.ops)
	}
	j.Release()
	until(t, "all told", func() bool { return len(r.all()) == 4 })
	if j.Synced() != m4 {
		t.Errorf("synced %d, want %d", j.Synced(), m4)
	}
}

// Until the gate is closed a tap only looks on; losing it then holds nobody.
func TestAttachedBeforeGate(t *testing.T) {
	j, _, _ := faultyJournal(t, nil)
	defer j.Close()
	r, tap := &recorder{}, &fakeTap{}
	j.Start(Hooks{})
	j.Attach(tap)
	post(t, j, r, 1)
	until(t, "told without a confirmation", func() bool { return len(r.all()) == 1 })
	if tap.flushed.Load() == 0 {
		t.Error("the tap was not told that the record goes to the disk")
	}
	j.Detach()
	post(t, j, r, 2)
	until(t, "told after the tap was lost", func() bool { return len(r.all()) == 2 })
	if len(tap.ops) != 1 {
		t.Errorf("the tap saw %v", tap.ops)
	}
}

// A full tap holds up appends, but not those of waiters; it can resume or be lost.
func TestFullTap(t *testing.T) {
	for _, lost := range []bool{false, true} {
		j, _, _ := faultyJournal(t, nil)
		r, tap := &recorder{}, &fakeTap{}
		j.Start(Hooks{})
		j.Attach(tap)
		tap.full.Store(true)
		var appended atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			do(t, j, func(a *Appender) { addText(a, 1, "waits") })
			appended.Store(true)
		}()
		for id := int64(2); id < 50; id++ {
			a, err := j.Begin(Reserve)
			if err != nil {
				t.Fatal(err)
			}
			addText(a, id, "does not")
			if _, err := a.Commit(named{r, fmt.Sprint(id)}, true); err != nil {
				t.Fatal(err)
			}
		}
		until(t, "those of waiters are told", func() bool { return len(r.all()) == 48 })
		if appended.Load() {
			t.Error("an append did not wait for the tap")
		}
		if lost {
			j.Detach()
		} else {
			tap.full.Store(false)
			j.Resume()
		}
		<-done
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// What is no record, or an event, which old replicas do not know, may never be confirmed, and holds nobody back.
func TestConfirmBesideStep(t *testing.T) {
	j, _, _ := faultyJournal(t, nil)
	defer j.Close()
	r, tap := &recorder{}, &fakeTap{}
	j.Start(Hooks{})
	j.Attach(tap)
	j.Gate()
	m := post(t, j, r, 1)
	empty := func(lazy bool, id int64) {
		a, err := j.Begin(Wait)
		if err != nil {
			t.Fatal(err)
		}
		if lazy {
			_, err = a.CommitLazy(named{r, fmt.Sprint(id)})
		} else {
			_, err = a.Commit(named{r, fmt.Sprint(id)}, true)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	empty(true, 2)
	empty(true, 3)
	empty(false, 4)
	a, err := j.Begin(Wait)
	if err != nil {
		t.Fatal(err)
	}
	a.Event(5, 49, 4)
	if _, err := a.Commit(named{r, "5"}, true); err != nil {
		t.Fatal(err)
	}
	if err := j.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := r.all(); len(got) != 0 {
		t.Errorf("told %v before the confirmation", got)
	}
	j.Confirm(m)
	until(t, "all told", func() bool { return slices.Equal(r.all(), []string{"1", "2", "3", "4", "5"}) })
}

// With the flusher stuck, appends wait when the buffers are full, but not those of waiters: everything goes on when the disk
// does.
func TestFullBuffer(t *testing.T) {
	j, f, o := faultyJournal(t, func(o *Options) { o.Buffer, o.FileSize = 2000, 1<<16 })
	j.Start(Hooks{})
	blocked, release := blockWrites(f)
	r := &recorder{}
	post(t, j, r, 1)
	<-blocked
	text := strings.Repeat("y", 500)
	want := map[int64][]string{1: {"x"}}
	var all sync.WaitGroup
	var started atomic.Int32
	for id := int64(2); id < 40; id++ {
		want[id] = []string{text}
		all.Go(func() {
			a, err := j.Begin(Wait)
			if err != nil {
				t.Error(err)
				return
			}
			addText(a, id, text)
			if _, err := a.Commit(named{r, fmt.Sprint(id)}, true); err != nil {
				t.Error(err)
			}
			started.Add(1)
		})
	}
	until(t, "the buffer is full", func() bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		return len(j.cur.b) >= o.Buffer
	})
	for id := int64(100); id < 120; id++ { // what a waiter would do
		want[id] = []string{text}
		a, err := j.Begin(Reserve)
		if err != nil {
			t.Fatal(err)
		}
		addText(a, id, text)
		if _, err := a.Commit(named{r, fmt.Sprint(id)}, true); err != nil {
			t.Fatal(err)
		}
	}
	if n := started.Load(); n > 5 {
		t.Errorf("%d appends went into a buffer for 4", n)
	}
	release()
	all.Wait()
	until(t, "all told", func() bool { return len(r.all()) == len(want) })
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, o); !equalContents(got, want) {
		t.Errorf("%d records, want %d", len(got), len(want))
	}
}

func TestRecordsNobodyWaitsForStartNoSync(t *testing.T) {
	j, f, _ := faultyJournal(t, nil)
	defer j.Close()
	j.Start(Hooks{})
	var syncs atomic.Int32
	f.SetHook(func(op fs.Op, name string) {
		if op == fs.OpSync && path.Base(name) == "activemq-data-1.amq" {
			syncs.Add(1)
		}
	})
	r := &recorder{}
	for id := int64(1); id <= 20; id++ {
		post(t, j, r, id)
		a, err := j.Begin(Wait)
		if err != nil {
			t.Fatal(err)
		}
		addText(a, 100+id, "rides along")
		if _, err := a.Commit(nil, false); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "all told", func() bool { return len(r.all()) == 20 })
	if n := syncs.Load(); n > 21 {
		t.Errorf("%d syncs for 20 waiters", n)
	}
	// The last one gets to the disk by itself.
	until(t, "synced by age", func() bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		return j.synced == j.mark
	})
}

func TestFailureIsFinal(t *testing.T) {
	for name, rule := range map[string]fs.Rule{
		"write":       {Op: fs.OpWrite, Pattern: "*.amq", Err: syscall.EIO},
		"short write": {Op: fs.OpWrite, Pattern: "*.amq", Err: syscall.ENOSPC, Short: 7},
		"sync":        {Op: fs.OpSync, Pattern: "*.amq", Err: syscall.EIO, Count: 1}, // the second try would work
	} {
		t.Run(name, func(t *testing.T) {
			j, f, o := faultyJournal(t, nil)
			until(t, "next file is there", func() bool { j.mu.Lock(); defer j.mu.Unlock(); return j.next != nil })
			fatal := make(chan error, 2)
			j.Start(Hooks{Fatal: func(err error) { fatal <- err }})
			r := &recorder{}
			post(t, j, r, 1)
			until(t, "1 told", func() bool { return len(r.all()) == 1 })
			f.Add(rule)
			post(t, j, r, 2)
			err := <-fatal
			if !errors.Is(err, ErrFailed) || !errors.Is(err, rule.Err) || !strings.Contains(err.Error(), "activemq-data-1.amq") {
				t.Errorf("fatal %v", err)
			}
			if _, err := j.Begin(Wait); !errors.Is(err, ErrFailed) {
				t.Errorf("append after the failure: %v", err)
			}
			if err := j.Flush(); !errors.Is(err, ErrFailed) {
				t.Errorf("flush after the failure: %v", err)
			}
			if err := j.Close(); !errors.Is(err, ErrFailed) {
				t.Errorf("close after the failure: %v", err)
			}
			if got := r.all(); !slices.Equal(got, []string{"1"}) || len(fatal) != 0 {
				t.Errorf("told %v, %d more fatal calls", got, len(fatal))
			}
			f.Clear()
			if got := contents(t, o); !slices.Equal(got[1], []string{"x"}) {
				t.Errorf("the acknowledged record is gone: %v", got)
			}
		})
	}
}

// TestFailureWhileStarted: whoever starts a journal that fails at that moment is told once.
func TestFailureWhileStarted(t *testing.T) {
	for range 300 {
		j, _, _ := faultyJournal(t, nil)
		var told atomic.Int32
		go j.fail(errors.New("disk"))
		j.Start(Hooks{Fatal: func(error) { told.Add(1) }})
		until(t, "the owner is told", func() bool { return told.Load() > 0 })
		_ = j.Close()
		if n := told.Load(); n != 1 {
			t.Fatalf("told %d times", n)
		}
	}
}

func TestNoSpaceRefuses(t *testing.T) {
	j, f, o := faultyJournal(t, func(o *Options) { o.FileSize = 1024 })
	j.Start(Hooks{Fatal: func(err error) { t.Errorf("fatal: %v", err) }})
	until(t, "next file is there", func() bool { j.mu.Lock(); defer j.mu.Unlock(); return j.next != nil })
	f.Add(fs.Rule{Op: fs.OpWrite, Pattern: "*.tmp", Err: syscall.ENOSPC})
	text := strings.Repeat("z", 300)
	want := map[int64][]string{}
	id := int64(0)
	var refused error
	for refused == nil && id < 20 {
		id++
		a, err := j.Begin(Wait)
		if err != nil {
			t.Fatal(err)
		}
		addText(a, id, "small") // fits; refused together with the next
		addText(a, id+1000, text)
		if _, refused = a.Commit(nil, true); refused == nil {
			want[id], want[id+1000] = []string{"small"}, []string{text}
		}
	}
	if !errors.Is(refused, ErrNoSpace) || !errors.Is(refused, syscall.ENOSPC) {
		t.Fatalf("got %v after %d operations", refused, id)
	}
	// What fits in the rest of the file is still taken.
	do(t, j, func(a *Appender) { addText(a, 500, "tiny") })
	want[500] = []string{"tiny"}
	if j.IsLive(id) {
		t.Error("a record of the refused operation is live")
	}
	f.Clear()
	until(t, "appends go on when there is space again", func() bool {
		a, err := j.Begin(Wait)
		if err != nil {
			t.Fatal(err)
		}
		addText(a, 600, text)
		_, err = a.Commit(nil, true)
		return err == nil
	})
	want[600] = []string{text}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, o); !equalContents(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	names, err := o.FS.List("/j")
	if err != nil || slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, creating) }) {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

func TestTooLarge(t *testing.T) {
	for _, buffer := range []int{0, 700} {
		j, _, o := faultyJournal(t, func(o *Options) { o.BufferSize = buffer })
		most := o.FileSize - headerSize
		if buffer > 0 {
			most = buffer
		}
		if j.MaxRecord() != most {
			t.Errorf("max record %d, want %d", j.MaxRecord(), most)
		}
		a, err := j.Begin(Wait)
		if err != nil {
			t.Fatal(err)
		}
		a.Add(1, 45, most-Add.Size(0)+1)
		if _, err := a.Commit(nil, true); !errors.Is(err, ErrTooLarge) {
			t.Errorf("one byte too many: %v", err)
		}
		do(t, j, func(a *Appender) { addText(a, 2, strings.Repeat("x", most-Add.Size(0))) })
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if got := contents(t, o); len(got) != 1 || len(got[2][0]) != most-Add.Size(0) {
			t.Errorf("%d records", len(got))
		}
	}
}

func TestBarrier(t *testing.T) {
	j, f, o := faultyJournal(t, func(o *Options) { o.FileSize = 1024 })
	j.Start(Hooks{})
	var all sync.WaitGroup
	var id atomic.Int64
	stop := make(chan struct{})
	want := map[int64][]string{}
	var mu sync.Mutex
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				n := id.Add(1)
				do(t, j, func(a *Appender) { addText(a, n, "before or after") })
				mu.Lock()
				want[n] = []string{"before or after"}
				mu.Unlock()
			}
		})
	}
	until(t, "some files", func() bool { return id.Load() > 100 })
	tap := &fakeTap{}
	before := map[int64]bool{}
	if err := j.Barrier(func(files []FileInfo) error {
		j.Attach(tap)
		j.Pin()
		var quiet atomic.Bool
		quiet.Store(true)
		f.SetHook(func(op fs.Op, name string) {
			if op == fs.OpWrite && strings.HasSuffix(name, ".amq") && quiet.Load() {
				t.Errorf("%s was written inside the barrier", name)
			}
		})
		defer quiet.Store(false)
		for _, x := range files {
			b, err := fs.ReadFile(f, path.Join(o.Dir, x.Name))
			if err != nil {
				return err
			}
			var r Record
			for s := NewScanner(b, x.Header, false); s.Next(&r); {
				before[r.ID] = true
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	seen := id.Load()
	until(t, "the tap sees operations", func() bool { tap.mu.Lock(); defer tap.mu.Unlock(); return len(tap.ops) >= 4 })
	j.Confirm(1 << 60)
	until(t, "appends go on", func() bool { return id.Load() > seen+20 })
	close(stop)
	all.Wait()
	j.Unpin()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	// Every record was in the files or was seen by the tap, and none was both.
	after := map[int64]bool{}
	for _, op := range tap.ops {
		var kind, id int64
		if _, err := fmt.Sscan(op, &kind, &id); err != nil {
			t.Fatal(err)
		}
		after[id] = true
	}
	for n := range want {
		if before[n] == after[n] {
			t.Errorf("record %d: in the files %v, seen by the tap %v", n, before[n], after[n])
		}
	}
	if got := contents(t, o); !equalContents(got, want) {
		t.Errorf("%d records, want %d", len(got), len(want))
	}
}

// Many goroutines add, update and delete, and wait for it, while compactions run all the time.
func TestConcurrent(t *testing.T) {
	j, _, o := faultyJournal(t, func(o *Options) { o.FileSize, o.CompactMinFiles, o.Buffer = 2048, 3, 4096 })
	j.Start(Hooks{Fatal: func(err error) { t.Error(err) }})
	var all sync.WaitGroup
	var mu sync.Mutex
	want := map[int64][]string{}
	stop := make(chan struct{})
	var compactions sync.WaitGroup
	done := 0
	compactions.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := j.Compact(); err == nil {
				done++
			} else if !errors.Is(err, errCompactionFull) {
				t.Error(err)
				return
			}
		}
	})
	for g := range int64(8) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			mine := map[int64][]string{}
			for i := range int64(150) {
				id := g*1000 + i + 1
				mine[id] = []string{"text", "ref"}
				if i%4 == 0 {
					tx := 100000 + id
					do(t, j, func(a *Appender) { copy(a.AddTx(tx, id, 45, 4), "text"); copy(a.UpdateTx(tx, id, 32, 3), "ref") })
					do(t, j, func(a *Appender) { a.CommitTx(tx) })
				} else {
					do(t, j, func(a *Appender) { addText(a, id, "text"); updateText(t, a, id, "ref") })
				}
				old := g*1000 + r.Int64N(i+1) + 1
				if _, ok := mine[old]; !ok {
					continue
				}
				switch r.IntN(8) {
				case 0:
					do(t, j, func(a *Appender) { updateText(t, a, old, "again") })
					mine[old] = append(mine[old], "again")
				case 1, 2:
					tx := 200000 + id
					do(t, j, func(a *Appender) { a.DeleteTx(tx, old) })
					do(t, j, func(a *Appender) { a.CommitTx(tx) })
					delete(mine, old)
				default:
					do(t, j, func(a *Appender) {
						if err := a.Delete(old); err != nil {
							t.Error(err)
						}
					})
					delete(mine, old)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for id, s := range mine {
				want[id] = s
			}
		})
	}
	all.Wait()
	close(stop)
	compactions.Wait()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := checkAccount(j); err != nil {
		t.Error(err)
	}
	if got := contents(t, o); !equalContents(got, want) {
		t.Errorf("%d records, want %d", len(got), len(want))
	}
	if done == 0 {
		t.Error("no compaction ran")
	}
	t.Logf("%d compactions", done)
}
