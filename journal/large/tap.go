package large

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// A Tap sees the life of durable bodies, each step after it was done here: the sending end of a replication stream. The steps of
// one body come in order; those of different bodies at the same time.
type Tap interface {
	BodyBegun(id int64)
	// BodyWritten gives the next bytes, borrowed for the call. It may wait.
	BodyWritten(id int64, p []byte)
	BodyEnded(id int64)
	// BodyDeleted tells that the file may go. It is called with the folder's lock held and must not wait.
	BodyDeleted(id int64)
	// BodyLost tells that the tap cannot be given a body that was begun before it was attached.
	BodyLost(id int64, err error)
}

// Attach lets t see every step from now on, and calls f with the complete durable bodies that are not deleted, each with a
// hold that the caller has to release. f is called with the folder's lock held: no step comes before it returns. A body that is
// being written now is not among them: t sees all of it with its next step.
func (f *Folder) Attach(t Tap, begin func([]*Body)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	names, err := f.fsys.List(f.dir)
	if err != nil {
		return fmt.Errorf("large messages: list %s: %w", f.dir, err)
	}
	going := map[string]bool{}
	for _, list := range [][]string{f.doomed, f.removing} {
		for _, name := range list {
			going[name] = true
		}
	}
	var bodies []*Body
	for _, n := range names {
		number, durable := strings.CutSuffix(n, ".msg")
		id, err := strconv.ParseInt(number, 10, 64)
		if !durable || err != nil || f.writing[id] || going[path.Join(f.dir, n)] {
			continue
		}
		if b := f.bodies[id]; b != nil && b.deleted {
			continue
		}
		b, err := f.get(id)
		if err != nil {
			for _, b := range bodies {
				f.release(b)
			}
			return err
		}
		bodies = append(bodies, b)
	}
	f.tap = t
	begin(bodies)
	return nil
}

// Detach ends Attach. Steps that have begun may still be told.
func (f *Folder) Detach() {
	f.mu.Lock()
	f.tap = nil
	f.mu.Unlock()
}

// deleted marks a body as deleted. Called with mu held.
func (f *Folder) deleted(b *Body) {
	if b.deleted {
		return
	}
	b.deleted = true
	if f.tap != nil {
		f.tap.BodyDeleted(b.id)
	}
}

// follow returns the tap, which has been told of everything up to here; nil if there is none.
func (w *Writer) follow() Tap {
	if !w.durable {
		return nil
	}
	w.folder.mu.Lock()
	t := w.folder.tap
	w.folder.mu.Unlock()
	w.catchUp(t)
	return t
}

// catchUp tells a tap that was attached meanwhile what was written before.
func (w *Writer) catchUp(t Tap) {
	if t == nil || t == w.told {
		return
	}
	w.told = t
	t.BodyBegun(w.id)
	if w.off > 0 {
		b := buffers.Get().(*[]byte)
		defer buffers.Put(b)
		for off := int64(0); off < w.off; {
			p := (*b)[:min(int64(len(*b)), w.off-off)]
			if n, err := w.file.ReadAt(p, off); n < len(p) {
				t.BodyLost(w.id, fmt.Errorf("large messages: read %d back at %d: %w", w.id, off+int64(n), err))
				return
			}
			t.BodyWritten(w.id, p)
			off += int64(len(p))
		}
	}
	if w.n > 0 {
		t.BodyWritten(w.id, (*w.buf)[:w.n])
	}
}
