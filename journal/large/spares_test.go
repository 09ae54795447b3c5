package large

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/journal/fs"
)

// kept waits for the remover and returns the files of deleted bodies that it kept.
func kept(t *testing.T, l *Folder, m *fs.Mem) (files []string) {
	t.Helper()
	l.mu.Lock()
	for l.busy {
		l.idle.Wait()
	}
	l.mu.Unlock()
	for _, n := range names(t, m) {
		if strings.HasSuffix(n, ".tmp") {
			files = append(files, n)
		}
	}
	return files
}

func drop(l *Folder, b *Body) {
	l.Delete(b.id)
	b.Release()
}

// A body in a file that another one had is what was written to it, whichever is longer, also after a crash.
func TestSparesAreOverwritten(t *testing.T) {
	l, m, f, _ := newFolder(t)
	created := 0
	f.SetHook(func(op fs.Op, _ string) {
		if op == fs.OpCreate {
			created++
		}
	})
	old := bytes.Repeat([]byte{0xee}, 2*chunk)
	for i, n := range []int{0, 1, 1000, 2*chunk - 1, 2 * chunk, 2*chunk + 1} {
		drop(l, write(t, l, int64(2*i), true, old))
		if got := kept(t, l, m); len(got) != 1 {
			t.Fatalf("kept %v", got)
		}
		before := created
		id := int64(2*i + 1)
		want := content(n)
		b := write(t, l, id, true, want)
		if created != before {
			t.Error("a file was made")
		}
		if got := kept(t, l, m); len(got) != 0 {
			t.Errorf("%v beside the body", got)
		}
		if b.Size() != int64(n) || n > 0 && !bytes.Equal(read(t, b), want) {
			t.Errorf("%d bytes: not what was written", n)
		}
		b.Release()
		m.Crash(nil)
		if i, err := m.Stat(l.path(id, true)); err != nil || i.Size != int64(n) {
			t.Errorf("%d bytes: %d after a crash, %v", n, i.Size, err)
		}
		b = get(t, l, id)
		if n > 0 && !bytes.Equal(read(t, b), want) {
			t.Errorf("%d bytes: lost by the crash", n)
		}
		b.Release()
	}
}

func TestSparesAreBounded(t *testing.T) {
	l, m, f, _ := newFolder(t)
	var bodies []*Body
	for id := range int64(2 * maxSpares) {
		bodies = append(bodies, write(t, l, id, true, content(10)))
	}
	for _, b := range bodies {
		drop(l, b)
	}
	if got := kept(t, l, m); len(got) != maxSpares {
		t.Errorf("kept %d files", len(got))
	}
	// A non-durable one is not kept: nothing waits for its sync.
	write(t, l, 100, false, content(10)).Release()
	if got := kept(t, l, m); len(got) != maxSpares || slices.Contains(got, "100.tmp") {
		t.Errorf("kept %v", got)
	}
	// When the disk is full they make room.
	f.Add(fs.Rule{Op: fs.OpWrite, Count: 1, Err: syscall.ENOSPC})
	w, err := l.Create(101, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content(chunk)); err == nil {
		t.Error("written to a full disk")
	}
	w.Abort()
	if got := names(t, m); len(got) != 0 {
		t.Errorf("left %v on a full disk", got)
	}

	big := write(t, l, 200, true, content(maxSpareBytes+1))
	drop(l, big)
	if got := kept(t, l, m); len(got) != 0 {
		t.Errorf("kept %v, of more than may be kept", got)
	}

	drop(l, write(t, l, 300, true, content(10)))
	if got := kept(t, l, m); !slices.Equal(got, []string{"300.tmp"}) {
		t.Errorf("kept %v", got)
	}
	l.Close()
	if got := names(t, m); len(got) != 0 {
		t.Errorf("left %v after the end", got)
	}
	drop(l, get(t, l, 300)) // after the end nothing is kept
	if got := kept(t, l, m); len(got) != 0 {
		t.Errorf("kept %v after the end", got)
	}
}

// Whatever of a kept file's names and bytes is on disk when the machine ends: the bodies that were synced and not deleted are
// whole, and nothing else is left after the start.
func TestSparesCrash(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		l, m, _, _ := newFolder(t)
		live := map[int64]byte{}
		sizes := map[int64]int{}
		for id := range int64(5 + r.IntN(20)) {
			mark := byte(1 + r.IntN(255))
			n := 1 + r.IntN(3000)
			b := write(t, l, id, true, bytes.Repeat([]byte{mark}, n))
			live[id], sizes[id] = mark, n
			if r.IntN(3) > 0 {
				drop(l, b)
				delete(live, id)
			} else {
				b.Release()
			}
			if r.IntN(2) == 0 {
				kept(t, l, m)
			}
		}
		kept(t, l, m)
		// One that is being written.
		w, err := l.Create(1000, true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content(r.IntN(5000))); err != nil {
			t.Fatal(err)
		}
		m.Crash(r)
		_ = w.waitNamed()

		again, err := Open(m, "/large", nil)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for id, mark := range live {
			again.Found(id)
			b := get(t, again, id)
			if got := read(t, b); !bytes.Equal(got, bytes.Repeat([]byte{mark}, sizes[id])) {
				t.Errorf("seed %d: body %d has %d bytes, not the %d of %d", seed, id, len(got), sizes[id], mark)
			}
			b.Release()
			want = append(want, fmt.Sprint(id, ".msg"))
		}
		if _, err := again.RemoveLeft(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		if got := names(t, m); !slices.Equal(got, want) {
			t.Errorf("seed %d: files %v, want %v", seed, got, want)
		}
	}
}

// They do not stay for ever.
func TestSparesAreDropped(t *testing.T) {
	l, m, _, _ := newFolder(t)
	drop(l, write(t, l, 1, true, content(10)))
	if got := kept(t, l, m); len(got) != 1 {
		t.Fatalf("kept %v", got)
	}
	l.mu.Lock()
	l.spares.timer.Reset(time.Millisecond)
	l.mu.Unlock()
	for deadline := time.Now().Add(5 * time.Second); len(names(t, m)) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("left %v", names(t, m))
		}
	}
}
