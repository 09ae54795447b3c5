package large

import (
	"errors"
	"fmt"
	"sync"

	"github.com/saranga-mq/saranga/journal/fs"
)

// Body is a complete body. It is opened when it is first read, and closed with the last hold. If it was deleted meanwhile,
// its file goes then.
type Body struct {
	folder  *Folder
	id      int64
	durable bool
	size    int64

	// Guarded by folder.mu.
	holds   int
	deleted bool

	open sync.Mutex
	file fs.File
}

// ID is the id of the body's message.
func (b *Body) ID() int64 { return b.id }

// Size is the number of bytes stored.
func (b *Body) Size() int64 { return b.size }

// ReadAt reads stored bytes; it may block on the disk. Only a holder may call it.
func (b *Body) ReadAt(p []byte, off int64) (int, error) {
	b.open.Lock()
	if b.file == nil {
		f, err := b.folder.fsys.OpenRead(b.folder.path(b.id, b.durable))
		if err != nil {
			b.open.Unlock()
			return 0, fmt.Errorf("large messages: open %d: %w", b.id, err)
		}
		b.file = f
	}
	f := b.file
	b.open.Unlock()
	return f.ReadAt(p, off)
}

// Retain adds a hold. Only a holder may call it.
func (b *Body) Retain() {
	b.folder.mu.Lock()
	defer b.folder.mu.Unlock()
	b.holds++
}

// Release takes a hold away. The last one closes the file, and has it removed if it is deleted or belongs to a non-durable
// message.
func (b *Body) Release() {
	b.folder.mu.Lock()
	defer b.folder.mu.Unlock()
	b.folder.release(b)
}

// release is Body.Release with mu held.
func (f *Folder) release(b *Body) {
	if b.holds--; b.holds > 0 {
		return
	}
	delete(f.bodies, b.id)
	b.open.Lock()
	if b.file != nil {
		_ = b.file.Close() // read only: nothing can be lost
		b.file = nil
	}
	b.open.Unlock()
	if b.deleted {
		f.doom(f.path(b.id, b.durable))
	}
}

// Discard removes the file once nobody holds it: its message will not be sent. It does not release.
func (b *Body) Discard() {
	b.folder.mu.Lock()
	defer b.folder.mu.Unlock()
	b.folder.deleted(b)
}

// chunk is how many bytes are gathered before a write: large enough that a write costs little beside the copy.
const chunk = 256 << 10

// direct is the size from which what arrives is written as it is.
const direct = 64 << 10

var buffers = sync.Pool{New: func() any { b := make([]byte, chunk); return &b }}

// Writer takes a body as it arrives: Write, then Complete and Sync, or Abort. It is not safe for concurrent use.
type Writer struct {
	folder   *Folder
	id       int64
	durable  bool
	file     fs.File
	buf      *[]byte
	n        int
	off      int64
	stale    int64 // bytes that were in the file before
	err      error
	complete bool       // the body was returned
	told     Tap        // has seen everything so far
	named    chan error // what the sync of the folder said; nil when it was received or not begun
}

// Create begins the body of message id. A file of that name is replaced.
func (f *Folder) Create(id int64, durable bool) (*Writer, error) {
	name := f.path(id, durable)
	f.mu.Lock()
	delete(f.left, id)
	if durable {
		f.writing[id] = true
	}
	f.mu.Unlock()
	var file fs.File
	var stale int64
	if durable {
		file, stale = f.takeSpare(name)
	}
	if file == nil {
		var err error
		if file, err = f.fsys.Create(name); err != nil {
			f.written(id)
			return nil, f.broken(fmt.Errorf("large messages: create %d: %w", id, err))
		}
	}
	w := &Writer{folder: f, id: id, durable: durable, file: file, stale: stale}
	if durable {
		w.named = make(chan error, 1)
		go func() { w.named <- f.fsys.SyncDir(f.dir) }() // while the body arrives; Sync and Abort wait for it
	}
	w.follow()
	return w, nil
}

// written tells that a durable body is complete or gone.
func (f *Folder) written(id int64) {
	f.mu.Lock()
	delete(f.writing, id)
	f.mu.Unlock()
}

// waitNamed waits until the file's name has been synced.
func (w *Writer) waitNamed() error {
	if w.named == nil {
		return nil
	}
	err := <-w.named
	w.named = nil
	return err
}

// Write takes the next bytes. After an error the body can only be aborted.
func (w *Writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	tap := w.follow()
	n, err := w.take(p)
	if err == nil && tap != nil {
		tap.BodyWritten(w.id, p)
	}
	return n, err
}

func (w *Writer) take(p []byte) (int, error) {
	total := len(p)
	for len(p) > 0 {
		if w.n == 0 && len(p) >= direct {
			n := min(len(p), chunk)
			if err := w.put(p[:n]); err != nil {
				return total - len(p), err
			}
			p = p[n:]
			continue
		}
		if w.buf == nil {
			w.buf = buffers.Get().(*[]byte)
		}
		n := copy((*w.buf)[w.n:], p)
		p = p[n:]
		if w.n += n; w.n == chunk {
			w.n = 0
			if err := w.put(*w.buf); err != nil {
				return total - len(p), err
			}
		}
	}
	return total, nil
}

// put writes a chunk and has the disk begin with it, so that the sync in the end has little left to do.
func (w *Writer) put(p []byte) error {
	if _, err := w.file.WriteAt(p, w.off); err != nil {
		w.err = w.folder.broken(fmt.Errorf("large messages: write %d at %d: %w", w.id, w.off, err))
		return w.err
	}
	if w.durable {
		_ = w.file.WriteBack(w.off, int64(len(p))) // a hint
	}
	w.off += int64(len(p))
	return nil
}

// free gives the buffer back.
func (w *Writer) free() {
	if w.buf != nil {
		buffers.Put(w.buf)
		w.buf = nil
	}
}

func (w *Writer) close() error {
	err := w.file.Close()
	w.file = nil
	return err
}

// Complete writes what is left and returns the body with one hold; it can be read. A durable one is not on disk yet: Sync or
// Abort must follow. After an error the file is gone.
func (w *Writer) Complete() (*Body, error) {
	err := w.err
	if err == nil && w.n > 0 {
		err = w.put((*w.buf)[:w.n])
		w.n = 0
	}
	w.free()
	if err == nil && w.stale > w.off {
		if err = w.file.Truncate(w.off); err != nil {
			err = w.folder.broken(fmt.Errorf("large messages: truncate %d to %d: %w", w.id, w.off, err))
		}
	}
	if err == nil && !w.durable {
		err = w.close()
	}
	if err != nil {
		w.Abort()
		return nil, err
	}
	b := &Body{folder: w.folder, id: w.id, durable: w.durable, size: w.off, holds: 1}
	// A non-durable body lives no longer than its message in memory.
	b.deleted = !w.durable
	w.folder.mu.Lock()
	w.folder.bodies[w.id] = b
	delete(w.folder.writing, w.id)
	tap := w.folder.tap
	w.folder.mu.Unlock()
	w.complete = true
	if w.durable && tap != nil {
		w.catchUp(tap)
		tap.BodyEnded(w.id)
	}
	return b, nil
}

// Sync syncs a durable body and its name after Complete, from any one goroutine. It may take milliseconds. After an error
// the body has to be discarded.
func (w *Writer) Sync() error {
	if !w.durable {
		return nil
	}
	err := w.file.Datasync()
	if err != nil {
		err = w.folder.broken(fmt.Errorf("large messages: sync %d: %w", w.id, err))
	}
	err = errors.Join(err, w.close())
	if nameErr := w.waitNamed(); nameErr != nil {
		err = errors.Join(err, w.folder.broken(fmt.Errorf("large messages: sync %s: %w", w.folder.dir, nameErr)))
	}
	return err
}

// Abort removes the file. After Complete it only gives up the sync: the body's holders have to discard it. It tells
// whether it has removed the file.
func (w *Writer) Abort() bool {
	w.free()
	if w.file != nil {
		_ = w.close()
	}
	if w.complete {
		return false
	}
	_ = w.waitNamed()                                        // the name goes now
	_ = w.folder.fsys.Remove(w.folder.path(w.id, w.durable)) // what stays is removed at the next start
	if w.durable {
		w.folder.written(w.id)
		if w.told != nil {
			w.told.BodyDeleted(w.id)
		}
	}
	return true
}
