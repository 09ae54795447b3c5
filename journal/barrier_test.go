package journal

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/saranga-mq/saranga/journal/fs"
)

// A gateway holds operations of a file system at one point until it is opened.
type gateway struct {
	reached, open chan struct{}
}

// hold stops the first operation of that kind on a file with that ending.
func hold(f *fs.Faulty, op fs.Op, suffix string) *gateway {
	g := &gateway{reached: make(chan struct{}), open: make(chan struct{})}
	var first atomic.Bool
	f.SetHook(func(o fs.Op, name string) {
		if o == op && strings.HasSuffix(name, suffix) && first.CompareAndSwap(false, true) {
			close(g.reached)
			<-g.open
		}
	})
	return g
}

// A barrier that has to wait for a compaction, which may take minutes, stops nobody meanwhile.
func TestBarrierWaitsForCompactionWithoutStoppingAppends(t *testing.T) {
	f := fs.NewFaulty(newMem(t))
	j, _, _ := compactable(t, f)
	compacting := hold(f, fs.OpCreate, compacting)
	compacted := make(chan error, 1)
	go func() { compacted <- j.Compact() }()
	<-compacting.reached
	var crossed atomic.Bool
	barred := make(chan error, 1)
	go func() {
		barred <- j.Barrier(func([]FileInfo) error { crossed.Store(true); return nil })
	}()
	until(t, "the barrier waits", func() bool { j.mu.Lock(); defer j.mu.Unlock(); return j.pins > 0 })
	appended := make(chan struct{})
	go func() {
		defer close(appended)
		do(t, j, func(a *Appender) { addText(a, 9000, "while it waits") })
	}()
	until(t, "an append goes on", func() bool {
		select {
		case <-appended:
			return true
		default:
			return false
		}
	})
	if crossed.Load() {
		t.Error("the barrier did not wait for the compaction")
	}
	close(compacting.open)
	if err := errors.Join(<-compacted, <-barred); err != nil {
		t.Error(err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// A journal that is closed waits for a compaction that somebody asked for: its folder may be moved away next. The compaction gives
// up soon.
func TestCloseDuringCompaction(t *testing.T) {
	for name, at := range map[string]struct {
		op     fs.Op
		suffix string
		gives  error // what the compaction ends with
	}{
		"while it copies":            {fs.OpCreate, compacting, ErrClosed},
		"when it has happened":       {fs.OpRename, compacting, nil},
		"before its last file is in": {fs.OpRemove, controlFile, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := fs.NewFaulty(newMem(t))
			j, o, m := compactable(t, f)
			held := hold(f, at.op, at.suffix)
			compacted := make(chan error, 1)
			go func() { compacted <- j.Compact() }()
			<-held.reached
			closed := make(chan error, 1)
			go func() { closed <- j.Close() }()
			until(t, "the journal takes nothing any more", func() bool { j.mu.Lock(); defer j.mu.Unlock(); return errors.Is(j.err, ErrClosed) })
			var moved atomic.Int32
			f.SetHook(nil)
			close(held.open)
			if err := <-closed; err != nil {
				t.Error(err)
			}
			f.SetHook(func(op fs.Op, name string) { moved.Add(1) })
			if err := <-compacted; !errors.Is(err, at.gives) {
				t.Errorf("the compaction ended with %v, want %v", err, at.gives)
			}
			if n := moved.Load(); n > 0 {
				t.Errorf("%d files were touched after Close", n)
			}
			f.SetHook(nil)
			if got := contents(t, o); !equalContents(got, m.live) {
				t.Errorf("%d records, want %d", len(got), len(m.live))
			}
		})
	}
}
