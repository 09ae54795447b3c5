package primary

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/wire/core"
)

// shape tells the packets of a synchronisation in short, as testdata/initial-sync.txt does.
func shape(packets []core.Packet) []string {
	var out []string
	add := func(line string) {
		if len(out) == 0 || out[len(out)-1] != line {
			out = append(out, line)
		}
	}
	var file struct {
		name  string
		id    int64
		sizes []int32
	}
	flush := func() {
		if len(file.sizes) == 0 {
			return
		}
		line := "SYNC_FILE " + file.name
		for i := 0; i < len(file.sizes); {
			n := i
			for n < len(file.sizes) && file.sizes[n] == file.sizes[i] {
				n++
			}
			line += fmt.Sprint(" ", file.sizes[i])
			if n-i > 1 {
				line += fmt.Sprint("x", n-i)
			}
			i = n
		}
		add(line)
		file.sizes = nil
	}
	for _, x := range packets {
		if x, ok := x.(*core.ReplicationSyncFile); ok {
			name := map[core.FileType]string{core.FileJournal: "JOURNAL ", core.FilePage: "PAGE ", core.FileLarge: "LARGE_MESSAGE"}[x.FileType]
			if x.FileType == core.FileJournal {
				name += []string{"bindings", "messages"}[x.Journal]
			}
			name += x.Store
			if file.name != name || file.id != x.FileID {
				flush()
			}
			file.name, file.id, file.sizes = name, x.FileID, append(file.sizes, x.DataSize)
			continue
		}
		flush()
		switch x := x.(type) {
		case *core.ReplicationStartFinishSync:
			add(fmt.Sprint("START_FINISH_SYNC ", x.Finished, " ", []string{"JournalBindings", "JournalMessages", "LargeMessages", "ActivationSequence"}[x.DataType.V]))
		case *core.ReplicationPageEvent:
			add(fmt.Sprint("PAGE_EVENT ", x.StoreName, " ", x.Page, " ", x.IsDelete))
		default:
			add(fmt.Sprint(x.Type()))
		}
	}
	flush()
	return out
}

// writePage makes a page folder as Artemis leaves it.
func writePage(t *testing.T, fsys fs.FS, dir, address string, page []byte) {
	t.Helper()
	if err := fsys.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"address.txt": []byte(address + "\n"), "000000001.page": page} {
		f, err := fsys.Create(path.Join(dir, name))
		if err == nil {
			_, err = f.WriteAt(b, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// An initial synchronisation has the shape of a real primary's, but for the page that is closed before the list: no page is open
// here. What arrives is what is on this disk.
func TestInitialSynchronisation(t *testing.T) {
	golden, err := os.ReadFile("testdata/initial-sync.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(golden)), "\n")
	want = slices.Delete(want, 2, 3)
	n := newNode(t, fs.NewMem(), func(o *Options) { o.ActivationSequence = func() int64 { return 7 } })
	q := n.queue("q")
	for i := range 3 {
		_, w := n.send(q, fmt.Sprint("before ", i))
		<-w
	}
	big, w := n.large(q, "big", 40000)
	<-w
	gone, w := n.large(q, "gone", 50000)
	<-w
	<-n.remove(gone, true)
	page := bytes.Repeat([]byte("{page}"), 14693/6+1)[:14693]
	writePage(t, n.o.FS, "data/paging/some-folder", "pg.a", page)
	p := n.attach(wireVersion)
	if got := shape(p.all()); !slices.Equal(got, want) {
		t.Errorf("packets\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	r := newReplica()
	for _, x := range p.all() {
		if err := r.take(x); err != nil {
			t.Error(err)
		}
	}
	if !r.finished || !slices.Equal(r.sequence, []int64{7}) {
		t.Errorf("finished %v with sequence %v", r.finished, r.sequence)
	}
	if !bytes.Equal(r.pages["pg.a"][1], page) || len(r.bodies) != 1 || len(r.bodies[big]) != 40000 {
		t.Errorf("%d bytes of the page, bodies %d", len(r.pages["pg.a"][1]), len(r.bodies))
	}
	for id, dir := range []string{n.o.Bindings, n.o.Journal} {
		names, err := n.o.FS.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		local := map[int64][]byte{}
		for _, name := range names {
			b, err := fs.ReadFile(n.o.FS, path.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			local[int64(b[15])] = b // ids are small here
		}
		same := 0
		for f, b := range r.journals[id].files {
			if local[f] == nil {
				continue // it held nothing and is free again
			}
			same++
			if !bytes.Equal(b, local[f]) {
				t.Errorf("file %d of journal %d differs: %d bytes, %d here", f, id, len(b), len(local[f]))
			}
		}
		if same == 0 {
			t.Errorf("no file of journal %d is left to compare", id)
		}
	}
	progress := n.p.Sender().Progress()
	if progress.Files != progress.FilesTotal || progress.Bytes != progress.BytesTotal || !progress.Done || progress.Files != len(r.journals[0].files)+len(r.journals[1].files)+2 {
		t.Errorf("progress %+v", progress)
	}
	c := after(t, n.o, p.all()) // page folders are not laid out: nothing pages
	if want := fmt.Sprint([]string{fmt.Sprint(q, " before 0"), fmt.Sprint(q, " before 1"), fmt.Sprint(q, " before 2"), fmt.Sprint(q, " big")}, []string{"q"}); fmt.Sprint(c.refs, c.queues) != want {
		t.Errorf("the replica holds %v", c)
	}
	n.close(p)
}

// As long as files are copied nobody waits for the replica; from the finish packet on everybody does.
func TestGateAtFinish(t *testing.T) {
	n := newNode(t, fs.NewMem(), nil)
	q := n.queue("q")
	_, w := n.send(q, "before")
	<-w
	p := newPeer(wireVersion)
	p.holdEnd = true
	p.stalled = true // nothing leaves
	s, err := n.p.Register(p, wireVersion, true)
	if err != nil {
		t.Fatal(err)
	}
	p.start(s)
	until(t, "the files are known", func() bool { return s.Progress().FilesTotal > 0 })
	_, w = n.send(q, "while files are copied")
	<-w // answered without the replica
	if s.Synchronised() || s.Progress().Done {
		t.Error("synchronised without an answer")
	}
	p.mu.Lock()
	batches := p.batches
	p.batches, p.stalled = nil, false
	p.mu.Unlock()
	for _, b := range batches {
		b.Release()
	}
	until(t, "the finish packet is sent", func() bool { return slices.ContainsFunc(p.all(), isFinish) })
	_, w = n.send(q, "after the finish packet")
	until(t, "its records are sent", func() bool { all := p.all(); return !isFinish(all[len(all)-1]) })
	if received, answered := p.count(); w.done() || s.Synchronised() || answered != received-3 {
		t.Errorf("answered %v, synchronised %v, %d responses to %d packets", w.done(), s.Synchronised(), answered, received)
	}
	p.mu.Lock()
	p.holdEnd, p.allowed = false, 2
	p.mu.Unlock()
	p.poke()
	until(t, "all but the last are answered", func() bool { received, answered := p.count(); return answered == received-1 })
	<-n.sync
	if !s.Synchronised() || w.done() {
		t.Errorf("synchronised %v, answered %v", s.Synchronised(), w.done())
	}
	p.allow(-1)
	<-w
	n.close(p)
}

// A replica that is gone, or stuck, without a sign while files are copied is never asked whether it has everything: its loss holds
// nobody, and nothing has to be decided.
func TestSilentDuringSynchronisation(t *testing.T) {
	for _, allowed := range []int{0, 3} {
		n := newNode(t, fs.NewMem(), func(o *Options) { o.CallTimeout, o.InitialSyncTimeout = 300*time.Millisecond, time.Hour })
		q := n.queue("q")
		p := newPeer(wireVersion)
		p.allowed = allowed
		s, err := n.p.Register(p, wireVersion, false)
		if err != nil {
			t.Fatal(err)
		}
		p.start(s)
		until(t, "everything is sent", func() bool {
			progress := s.Progress()
			return progress.Files > 0 && progress.Files == progress.FilesTotal
		})
		_, w := n.send(q, "told")
		<-w
		if l := <-n.lost; !errors.Is(l.Reason, ErrSlow) || l.Held || l.Synchronised {
			t.Errorf("lost %+v", l)
		}
		if slices.ContainsFunc(p.all(), isFinish) {
			t.Error("the finish packet was sent to a replica that did not answer")
		}
		_, w = n.send(q, "told without a decision")
		<-w
		n.close(p)
	}
}

// Bodies that are deleted while files are copied are deleted at the replica behind the finish packet; those that were begun
// before the synchronisation come whole.
func TestBodiesDuringSynchronisation(t *testing.T) {
	n := newNode(t, fs.NewMem(), nil)
	q := n.queue("q")
	doomed, w := n.large(q, "doomed", 60000)
	<-w
	open, err := n.store.CreateBody(n.store.NextID(), true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open.Write([]byte("be")); err != nil {
		t.Fatal(err)
	}
	p := newPeer(wireVersion)
	p.stalled = true
	s, err := n.p.Register(p, wireVersion, false)
	if err != nil {
		t.Fatal(err)
	}
	p.start(s)
	until(t, "the files are known", func() bool { return s.Progress().FilesTotal > 0 })
	<-n.remove(doomed, true)
	if _, err := open.Write([]byte("gun")); err != nil {
		t.Fatal(err)
	}
	short, w := n.large(q, "short", 1000)
	<-w
	<-n.remove(short, true)
	until(t, "both deletions wait", func() bool { s.q.mu.Lock(); defer s.q.mu.Unlock(); return len(s.q.deferred) == 2 })
	p.mu.Lock()
	batches := p.batches
	p.batches, p.stalled = nil, false
	p.mu.Unlock()
	for _, b := range batches {
		b.Release()
	}
	<-n.sync
	body, err := broker.FinishBody(open)
	if err != nil {
		t.Fatal(err)
	}
	_, w = n.send(q, "last")
	<-w
	r := newReplica()
	for i, x := range p.all() { // refuses deletions before the end, bytes of what was not begun
		if err := r.take(x); err != nil {
			t.Errorf("packet %d: %v", i, err)
		}
	}
	if len(r.bodies) != 1 {
		t.Errorf("bodies at the replica: %d", len(r.bodies))
	}
	for _, b := range r.bodies {
		if string(b) != "begun" {
			t.Errorf("body %q", b)
		}
	}
	body.Release()
	n.close(p)
}

// A disk that fails a synchronisation costs the replica and nothing else: nobody is held, files are freed as before, and the
// next replica gets everything.
func TestDiskFailsSynchronisation(t *testing.T) {
	for name, rule := range map[string]fs.Rule{
		"no room for the next file":   {Op: fs.OpWrite, Pattern: "*.tmp", Err: syscall.ENOSPC},
		"a body cannot be opened":     {Op: fs.OpOpen, Pattern: "*.msg", Err: syscall.EIO},
		"an address's page is broken": {Op: fs.OpOpen, Pattern: "*.page", Err: syscall.EIO},
	} {
		t.Run(name, func(t *testing.T) {
			f := fs.NewFaulty(fs.NewMem())
			n := newNode(t, f, nil)
			q := n.queue("q")
			writePage(t, f, "data/paging/some-folder", "pg.a", []byte("{page}"))
			_, w := n.large(q, "big", 40000)
			<-w
			f.Add(rule)
			p := n.register(wireVersion)
			if l := <-n.lost; !errors.Is(l.Reason, rule.Err) || l.Held || l.Synchronised {
				t.Errorf("lost %+v", l)
			}
			_, w = n.send(q, "meanwhile")
			<-w
			f.Clear()
			until(t, "there is room again", func() bool { return n.store.Compact() == nil })
			var ids []int64
			for range 15 * 25 { // 15 files
				id, w := n.send(q, strings.Repeat("x", 4000))
				ids = append(ids, id)
				<-w
			}
			for _, id := range ids {
				<-n.remove(id, false)
			}
			until(t, "files are freed", func() bool {
				if err := n.store.Compact(); err != nil {
					t.Fatal(err)
				}
				names, err := f.List(n.o.Journal)
				return err == nil && len(names) <= n.o.PoolFiles
			})
			next := n.attach(wireVersion)
			if c := after(t, n.o, next.all()); fmt.Sprint(c.refs) != fmt.Sprint([]string{fmt.Sprint(q, " big"), fmt.Sprint(q, " meanwhile")}) || c.body["big"] != 40000 {
				t.Errorf("the next replica holds %v", c)
			}
			n.close(p, next)
		})
	}
}

// Many goroutines send, delete, create queues and write bodies, and compactions run, while a replica is synchronised and after.
func TestConcurrentLoad(t *testing.T) {
	n := newNode(t, fs.NewMem(), func(o *Options) { o.QueueBytes = 64 << 10 })
	q := n.queue("q")
	stop := make(chan struct{})
	var mu sync.Mutex
	want := map[string]bool{}
	var all sync.WaitGroup
	var sent atomic.Int64
	for g := range 4 {
		all.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				text := fmt.Sprint(g, "-", i)
				var id int64
				var w stored
				isLarge := g == 0 && i%5 == 0
				if isLarge {
					id, w = n.large(q, text, 150000)
				} else {
					id, w = n.send(q, text)
				}
				<-w
				sent.Add(1)
				if i%3 == 0 {
					<-n.remove(id, isLarge)
					continue
				}
				if g == 1 && i%20 == 0 {
					n.queue("queue " + text)
				}
				mu.Lock()
				want[fmt.Sprint(q, " ", text)] = true
				mu.Unlock()
			}
		})
	}
	all.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := n.store.Compact(); err != nil {
					t.Error(err)
				}
			}
		}
	})
	until(t, "some load", func() bool { return sent.Load() > 50 })
	p := n.attach(wireVersion)
	seen := sent.Load()
	until(t, "more load", func() bool { return sent.Load() > seen+100 })
	close(stop)
	all.Wait()
	until(t, "the replica has answered everything", p.settled)
	c := after(t, n.o, p.all())
	if len(c.refs) != len(want) {
		t.Errorf("%d messages at the replica, want %d", len(c.refs), len(want))
	}
	for _, ref := range c.refs {
		if !want[ref] {
			t.Errorf("%q at the replica", ref)
		}
	}
	for text, size := range c.body {
		if size != 150000 {
			t.Errorf("body of %s: %d bytes", text, size)
		}
	}
	n.close(p)
	s, local := load(t, n.o)
	if !slices.Equal(local.refs, c.refs) || !slices.Equal(local.queues, c.queues) {
		t.Error("the replica holds something else than this node")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
