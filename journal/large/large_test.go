package large

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/saranga-mq/saranga/journal/fs"
)

func newFolder(t *testing.T) (*Folder, *fs.Mem, *fs.Faulty, chan error) {
	t.Helper()
	m := fs.NewMem()
	if err := m.MkdirAll("/large"); err != nil {
		t.Fatal(err)
	}
	f := fs.NewFaulty(m)
	fatal := make(chan error, 10)
	l, err := Open(f, "/large", func(err error) { fatal <- err })
	if err != nil {
		t.Fatal(err)
	}
	return l, m, f, fatal
}

func names(t *testing.T, m *fs.Mem) []string {
	t.Helper()
	n, err := m.List("/large")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func read(t *testing.T, b *Body) []byte {
	t.Helper()
	p := make([]byte, b.Size())
	if n, err := b.ReadAt(p, 0); n != len(p) {
		t.Fatal(err)
	}
	return p
}

func get(t *testing.T, l *Folder, id int64) *Body {
	t.Helper()
	b, err := l.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, l *Folder, id int64, durable bool, content []byte) *Body {
	t.Helper()
	w, err := l.Create(id, durable)
	if err != nil {
		t.Fatal(err)
	}
	for p := content; len(p) > 0; {
		n := min(len(p), 1+rand.IntN(300000))
		if got, err := w.Write(p[:n]); err != nil || got != n {
			t.Fatal(got, err)
		}
		p = p[n:]
	}
	b, err := finish(w)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// finish is what a user does who waits for the sync.
func finish(w *Writer) (*Body, error) {
	b, err := w.Complete()
	if err != nil {
		return nil, err
	}
	if err := w.Sync(); err != nil {
		b.Discard()
		b.Release()
		return nil, err
	}
	return b, nil
}

func content(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7 / 3)
	}
	return b
}

func TestWriteAndRead(t *testing.T) {
	l, m, _, _ := newFolder(t)
	for i, n := range []int{0, 1, chunk - 1, chunk, chunk + 1, 3*chunk + 5} {
		want := content(n)
		b := write(t, l, int64(i), true, want)
		if b.Size() != int64(n) || n > 0 && !bytes.Equal(read(t, b), want) {
			t.Errorf("%d bytes: not what was written", n)
		}
		b.Release()
	}
	// A finished durable body survives a crash, names included.
	m.Crash(nil)
	for i, n := range []int{0, 1, chunk - 1, chunk, chunk + 1, 3*chunk + 5} {
		b := get(t, l, int64(i))
		if b.Size() != int64(n) || n > 0 && !bytes.Equal(read(t, b), content(n)) {
			t.Errorf("%d bytes: lost by the crash", n)
		}
		b.Release()
	}
}

func TestDeleteWaitsForReaders(t *testing.T) {
	l, m, _, _ := newFolder(t)
	b := write(t, l, 1, true, content(1000))
	b.Retain() // a consumer
	l.Delete(1)
	l.Close()
	if got := read(t, b); !bytes.Equal(got, content(1000)) {
		t.Error("the deleted body cannot be read by its holder")
	}
	b.Release()
	l.Close()
	if n := names(t, m); !slices.Equal(n, []string{"1.msg"}) {
		t.Errorf("with one holder left: %v", n)
	}
	b.Release()
	l.Close()
	if n := names(t, m); len(n) != 0 {
		t.Errorf("without a holder: %v", n)
	}
	write(t, l, 2, true, nil).Release()
	l.Delete(2) // nobody holds it
	l.Delete(3) // there is none
	l.Close()
	if n := names(t, m); len(n) != 0 {
		t.Errorf("deleted without a holder: %v", n)
	}
}

func TestNonDurableGoesWithItsLastHolder(t *testing.T) {
	l, m, _, _ := newFolder(t)
	b := write(t, l, 1, false, content(10))
	if n := names(t, m); !slices.Equal(n, []string{"1.tmp"}) {
		t.Errorf("files %v", n)
	}
	b.Release()
	d := write(t, l, 2, true, content(10))
	d.Discard() // will not be sent
	d.Release()
	w, err := l.Create(3, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content(10)); err != nil {
		t.Fatal(err)
	}
	w.Abort()
	l.Close()
	if n := names(t, m); len(n) != 0 {
		t.Errorf("files %v", n)
	}
}

func TestLeftovers(t *testing.T) {
	_, m, _, _ := newFolder(t)
	for _, n := range []string{"1.msg", "2.msg", "3.msg", "4.tmp", "5.sync", "note.txt"} {
		f, err := m.Create("/large/" + n)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	l, err := Open(m, "/large", nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := names(t, m); !slices.Equal(n, []string{"1.msg", "2.msg", "3.msg", "5.sync", "note.txt"}) {
		t.Errorf("after the start: %v", n)
	}
	b := get(t, l, 1) // of a message in the journal
	defer b.Release()
	l.Found(2) // of a message in a page
	removed, err := l.RemoveLeft()
	if err != nil || !slices.Equal(removed, []int64{3}) {
		t.Errorf("removed %v, %v", removed, err)
	}
	if n := names(t, m); !slices.Equal(n, []string{"1.msg", "2.msg", "5.sync", "note.txt"}) {
		t.Errorf("after the load: %v", n)
	}
}

// Lack of space refuses one message; what else fails stops the broker.
func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		rule  fs.Rule
		fatal bool
	}{
		"no space to create": {fs.Rule{Op: fs.OpCreate, Err: syscall.ENOSPC}, false},
		"no space to write":  {fs.Rule{Op: fs.OpWrite, Err: syscall.ENOSPC, Short: 10}, false},
		"write":              {fs.Rule{Op: fs.OpWrite, Nth: 2, Err: syscall.EIO}, true},
		"sync":               {fs.Rule{Op: fs.OpSync, Err: syscall.EIO}, true},
		"sync of the folder": {fs.Rule{Op: fs.OpSyncDir, Err: syscall.EIO}, true},
	} {
		t.Run(name, func(t *testing.T) {
			l, m, f, fatal := newFolder(t)
			f.Add(c.rule)
			w, err := l.Create(1, true)
			if err == nil {
				if _, err = w.Write(content(2*chunk + 1)); err == nil {
					_, err = finish(w)
				} else {
					if _, again := finish(w); again == nil {
						t.Error("a broken body was finished")
					}
				}
			}
			if !errors.Is(err, c.rule.Err) {
				t.Errorf("got %v, want %v", err, c.rule.Err)
			}
			if got := len(fatal) > 0; got != c.fatal {
				t.Errorf("fatal %v, want %v", got, c.fatal)
			}
			l.Close()
			if n := names(t, m); len(n) != 0 {
				t.Errorf("left %v", n)
			}
		})
	}
}

// TestComplete: a complete body can be read before it is synced, is not on disk before that, and goes with its last hold if it
// is discarded instead.
func TestComplete(t *testing.T) {
	l, m, _, _ := newFolder(t)
	want := content(direct + 5)
	complete := func(id int64) (*Writer, *Body) {
		w, err := l.Create(id, true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(want); err != nil {
			t.Fatal(err)
		}
		b, err := w.Complete()
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, b); !bytes.Equal(got, want) {
			t.Errorf("body %d reads as something else", id)
		}
		return w, b
	}
	synced, kept := complete(1)
	lost, given := complete(2)
	if err := synced.Sync(); err != nil {
		t.Fatal(err)
	}
	kept.Release()
	lost.Abort()
	given.Discard()
	given.Release()
	l.Close()
	if n := names(t, m); !slices.Equal(n, []string{"1.msg"}) {
		t.Errorf("left %v", n)
	}
	m.Crash(nil)
	if i, err := m.Stat(l.path(1, true)); err != nil || i.Size != int64(len(want)) {
		t.Errorf("after a crash: %+v, %v", i, err)
	}
}
