package journal

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/saranga-mq/saranga/journal/fs"
)

// A Replica is a journal that is a copy of another node's. It is made in two steps:
//
//	Begin       the other node's files are known by their ids; Piece and EndOfFile bring their content, while Append
//	            takes what the other node appends meanwhile into files of our own, which come after all of them
//	UpToDate    all of it is loaded as one journal, which from then on lives as any other: it reclaims and compacts
//
// Records come with their ids and transactions. What belongs together may lie on both sides of UpToDate: transactions that are
// open then stay open, and a record of a file that has not come yet may be updated and deleted.
//
// Notify tells when what was appended is in the files, where a killed process finds it again. A node that loses its power may lose
// the end of it: what was not synced yet is, as in any journal, when nothing has come for a moment or a file is full, and by
// Close.
//
// All methods but Notify are for one goroutine at a time; Notify may run beside Append.
//
// Source: spec ha §2.7; Artemis ReplicationEndpoint and FileWrapperJournal.
type Replica struct {
	o      Options
	failed func(error)
	j      *Journal // nil before Begin

	copying bool
	copies  map[int64]*copiedFile
	missing int         // copies that have not ended
	writing *copiedFile // the one whose file is open

	dirty atomic.Bool // appended to since Notify
}

// copiedFile is a file of the other node.
type copiedFile struct {
	id     int64
	handle fs.File // nil unless it is the one being written
	size   int64
	ended  bool
}

// maxCopies bounds the files of one journal that a peer may announce.
const maxCopies = 1 << 18

// ErrCopy is wrapped by errors of what a peer sends about files.
var ErrCopy = errors.New("copy of a journal file")

// NewReplica returns a replica of the journal that o describes. Its folder must exist and hold no journal. failed is called on a
// goroutine of its own when the journal has failed: then waiters are not told any more.
func NewReplica(o Options, failed func(error)) (*Replica, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	// The size keeps the alignment of direct writes, for which the journal is opened after all.
	o.Direct, o.BlockSize = false, 1
	// The other node has accepted the record, be its buffer of another size.
	o.BufferSize = 0
	return &Replica{o: o, failed: failed}, nil
}

// Begin makes room for the files with these ids, and begins an own one with a larger id.
func (r *Replica) Begin(ids []int64) error {
	if r.j != nil || r.copies != nil {
		return fmt.Errorf("%w: begun twice in %s", ErrCopy, r.o.Dir)
	}
	if len(ids) > maxCopies {
		return fmt.Errorf("%w: %d files, at most %d", ErrCopy, len(ids), maxCopies)
	}
	files, err := Files(r.o.FS, r.o.Dir, r.o.Ext)
	if err != nil {
		return err
	}
	if len(files) > 0 {
		return fmt.Errorf("%w: %s is not empty: %s", ErrCopy, r.o.Dir, files[0].Name)
	}
	r.copies, r.copying, r.missing = map[int64]*copiedFile{}, true, len(ids)
	var last int64
	for _, id := range ids {
		if id <= 0 || id > math.MaxInt64/2 || r.copies[id] != nil {
			return fmt.Errorf("%w: file id %d", ErrCopy, id)
		}
		r.copies[id] = &copiedFile{id: id}
		last = max(last, id)
	}
	if err := r.open(last + 1); err != nil {
		return err
	}
	// The account does not know what is in the copies, so no file of ours may go.
	r.j.Pin()
	for _, id := range ids {
		if err := r.reserve(id); err != nil {
			return fmt.Errorf("journal: reserve %s: %w", r.o.path(r.o.fileName(id)), err)
		}
	}
	return nil
}

// open opens what is in the folder. Files made from now on have ids from first on.
func (r *Replica) open(first int64) error {
	j, _, err := openFrom(r.o, Visitor{}, first)
	if err != nil {
		return err
	}
	j.Start(Hooks{Fatal: r.failed})
	r.j = j
	return nil
}

// reserve makes a file that has nothing but its header.
func (r *Replica) reserve(id int64) error {
	f, err := r.o.FS.Create(r.o.path(r.o.fileName(id)))
	if err != nil {
		return err
	}
	var b [headerSize]byte
	putHeader(b[:], id)
	_, err = f.WriteAt(b[:], 0)
	return errors.Join(err, f.Close())
}

func (r *Replica) copy(id int64) (*copiedFile, error) {
	f := r.copies[id]
	if f == nil || !r.copying || f.ended {
		return nil, fmt.Errorf("%w: no file with id %d is being copied to %s", ErrCopy, id, r.o.Dir)
	}
	return f, nil
}

// Piece appends to the copy of a file. The first piece has the file's header.
func (r *Replica) Piece(id int64, p []byte) error {
	f, err := r.copy(id)
	if err != nil {
		return err
	}
	if f.size == 0 {
		if len(p) < headerSize {
			return fmt.Errorf("%w: %d bytes of file %d have no header", ErrCopy, len(p), id)
		}
		if h, err := ReadHeader(p); err != nil || h.ID != id {
			return errors.Join(fmt.Errorf("%w: file %d says that it is %d", ErrCopy, id, h.ID), err)
		}
	}
	if f.size+int64(len(p)) > math.MaxInt32 {
		return fmt.Errorf("%w: file %d is larger than a file can be", ErrCopy, id)
	}
	name := r.o.path(r.o.fileName(id))
	if r.writing != f {
		if err := r.closeCopy(); err != nil {
			return err
		}
		if f.handle, err = r.o.FS.Open(name); err != nil {
			return fmt.Errorf("journal: open %s: %w", name, err)
		}
		r.writing = f
	}
	if _, err := f.handle.WriteAt(p, f.size); err != nil {
		return fmt.Errorf("journal: write %d bytes to %s at %d: %w", len(p), name, f.size, err)
	}
	f.size += int64(len(p))
	return nil
}

// closeCopy closes the copy that is open, synced: the copying goes as fast as the disk, and a switch has little left to do.
func (r *Replica) closeCopy() error {
	f := r.writing
	if f == nil {
		return nil
	}
	r.writing = nil
	err := errors.Join(f.handle.Datasync(), f.handle.Close())
	f.handle = nil
	if err != nil {
		return fmt.Errorf("journal: sync %s: %w", r.o.path(r.o.fileName(f.id)), err)
	}
	return nil
}

// EndOfFile tells that a copy is whole.
func (r *Replica) EndOfFile(id int64) error {
	f, err := r.copy(id)
	if err != nil {
		return err
	}
	if f.size == 0 {
		return fmt.Errorf("%w: file %d ends before its header", ErrCopy, id)
	}
	if r.writing == f {
		if err := r.closeCopy(); err != nil {
			return err
		}
	}
	f.ended = true
	r.missing--
	return nil
}

// Append appends a record of any kind. Its place, file and N are not looked at. Once the journal is up to date, an update or delete
// of a record that is not there is left out, as it has no effect.
func (r *Replica) Append(rec *Record) error {
	if r.j == nil {
		return fmt.Errorf("journal: record %d for %s, which has not begun", rec.ID, r.o.Dir)
	}
	a, err := r.j.Begin(Wait)
	if err != nil {
		return err
	}
	if !r.copying && (rec.Kind == Update || rec.Kind == Delete) && !a.live(rec.ID) {
		a.Abort()
		return nil
	}
	a.replicate(rec)
	if _, err = a.Commit(nil, false); err != nil {
		return fmt.Errorf("journal: append record %d of %d bytes to %s: %w", rec.ID, len(rec.Payload), r.o.Dir, err)
	}
	r.dirty.Store(true)
	return nil
}

// replicate appends a record as it came from elsewhere.
func (a *Appender) replicate(rec *Record) {
	n := len(rec.Payload)
	switch rec.Kind {
	case Delete, Commit, Rollback:
		n = 0
	}
	if rec.Kind == Add {
		a.added = rec.ID
	}
	copy(a.put(Record{Kind: rec.Kind, UserType: rec.UserType, ID: rec.ID, Tx: rec.Tx}, n), rec.Payload)
}

// Notify has w told when everything that was appended before the call is in the files, or, with sync, on the disk. It returns false
// if that is so already, and does not call w.
func (r *Replica) Notify(w Waiter, sync bool) (bool, error) {
	if !r.dirty.Swap(false) {
		return false, nil
	}
	a, err := r.j.Begin(Reserve)
	if err != nil {
		return false, err
	}
	_, err = a.Commit(w, sync)
	return err == nil, err
}

// UpToDate loads the copies and what was appended as one journal. Nobody may wait who was given to Notify.
func (r *Replica) UpToDate() error {
	if r.j == nil || !r.copying {
		return fmt.Errorf("%w: %s is not being copied", ErrCopy, r.o.Dir)
	}
	if r.missing > 0 {
		for id, f := range r.copies {
			if !f.ended {
				return fmt.Errorf("%w: file %d of %s has not come, and %d more", ErrCopy, id, r.o.Dir, r.missing-1)
			}
		}
	}
	err := errors.Join(r.closeCopy(), r.j.Close())
	if err != nil {
		return err
	}
	if err := r.o.FS.SyncDir(r.o.Dir); err != nil {
		return fmt.Errorf("journal: sync %s: %w", r.o.Dir, err)
	}
	if err := r.open(1); err != nil {
		return err
	}
	r.copying, r.copies = false, nil
	return nil
}

// Close writes and syncs everything. The folder can be opened as any journal if UpToDate was called; if not, it holds a part of one.
func (r *Replica) Close() error {
	if r.j == nil {
		return nil
	}
	return errors.Join(r.closeCopy(), r.j.Close())
}
