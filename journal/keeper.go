package journal

import (
	"fmt"
	"time"

	"github.com/saranga-mq/saranga/journal/fs"
)

// The keeper is the goroutine that does everything with files but writing records: it opens the next file ahead, frees
// the files nobody needs and starts compactions. It is called when something may have to be done and does one thing at
// a time, the next file first.

func (j *Journal) callHands() {
	select {
	case j.hands <- struct{}{}:
	default:
	}
}

func (j *Journal) keeper() {
	defer j.work.Done()
	for {
		select {
		case <-j.hands:
		case <-j.stop:
			return
		}
		for j.keep() {
		}
	}
}

// keep does one thing and tells whether it did.
func (j *Journal) keep() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return false
	}
	if j.next == nil && j.nextErr == nil {
		j.openNext()
		return true
	}
	if f := j.reclaimable(); f != nil {
		for i, x := range j.data {
			if x == f {
				j.data = append(j.data[:i:i], j.data[i+1:]...)
			}
		}
		j.leave(f)
		j.free(f)
		j.nextErr = nil // there may be room again
		return true
	}
	if len(j.pool)+len(j.data)+2 < j.o.MinFiles {
		return j.addToPool()
	}
	if j.wantsCompaction() {
		j.compactSoon = true
		j.work.Add(1)
		go func() {
			defer j.work.Done()
			j.compactInBackground()
		}()
	}
	return false
}

// unlocked runs f with mu released.
func (j *Journal) unlocked(f func() error) error {
	j.mu.Unlock()
	defer j.mu.Lock()
	return f()
}

// openNext opens the file that will follow the current one: a free one, or a new one. Called with mu held.
func (j *Journal) openNext() {
	var f *file
	stale := false
	if len(j.pool) > 0 {
		f, j.pool = j.pool[0], j.pool[1:]
	} else {
		f = j.newFile()
	}
	if f.id <= j.current.id { // freed by a compaction that took its time: it would sort before the current file
		f.id = j.nextID
		j.nextID++
		stale = true
	}
	err := j.unlocked(func() error {
		if stale {
			if err := j.o.writeHeader(f.name, f.id); err != nil {
				return fmt.Errorf("reuse %s: %w", j.o.path(f.name), err)
			}
		}
		return j.openForAppend(f)
	})
	switch {
	case err == nil:
		j.next = f
	case fs.NoSpace(err):
		j.nextErr, j.nextFail = err, time.Now()
		if f.version != 0 { // it exists
			j.pool = append([]*file{f}, j.pool...)
		}
		j.log.Warn("cannot make the next journal file", "dir", j.o.Dir, "error", err)
	default:
		j.unlocked(func() error { j.fail(err); return nil })
	}
	j.wait.Broadcast()
}

// newFile names a file that does not exist yet.
func (j *Journal) newFile() *file {
	id := j.nextID
	j.nextID++
	return &file{name: j.o.fileName(id), id: id, size: int64(j.o.FileSize)}
}

// openForAppend creates f if it does not exist, and opens it.
func (j *Journal) openForAppend(f *file) (err error) {
	if f.version == 0 {
		if err := j.o.create(f.id); err != nil {
			return fmt.Errorf("create %s: %w", j.o.path(f.name), err)
		}
		f.version = formatVersion
	}
	if j.o.Direct {
		f.handle, f.direct, err = j.o.FS.OpenDirect(j.o.path(f.name), j.o.BlockSize)
	} else {
		f.handle, err = j.o.FS.Open(j.o.path(f.name))
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", j.o.path(f.name), err)
	}
	return nil
}

// free makes a file that holds nothing any more ready for reuse, or removes it, and adds it to the pool. On disk this
// happens before anything that depends on it: files are freed one after the other, oldest first. Called with mu held.
func (j *Journal) free(f *file) {
	kept, err := j.retire(f, 0)
	if err != nil {
		j.unlocked(func() error { j.fail(err); return nil })
		return
	}
	if kept {
		j.pool = append(j.pool, f)
	}
}

// retire gives a file a new identity, or removes it: then kept is false. Besides those in the pool, free files are kept.
func (j *Journal) retire(f *file, free int) (kept bool, err error) {
	o := &j.o
	if f.size != int64(o.FileSize) {
		j.log.Info("journal file has a foreign size and is moved to the attic", "file", f.name, "size", f.size)
		if err := j.unlocked(func() error { return o.attic(f.name) }); err != nil {
			return false, fmt.Errorf("move %s to attic: %w", o.path(f.name), err)
		}
		return false, nil
	}
	if opened := 1; o.PoolFiles >= 0 && free+len(j.pool)+len(j.data)+1+opened >= o.PoolFiles {
		if err := j.unlocked(func() error { return o.remove(f.name) }); err != nil {
			return false, fmt.Errorf("remove %s: %w", o.path(f.name), err)
		}
		return false, nil
	}
	f.id, f.version = j.nextID, formatVersion
	j.nextID++
	if err := j.unlocked(func() error { return o.writeHeader(f.name, f.id) }); err != nil {
		return false, fmt.Errorf("free %s: %w", o.path(f.name), err)
	}
	return true, nil
}

// addToPool makes one file more than needed now, so that there are MinFiles.
func (j *Journal) addToPool() bool {
	f := j.newFile()
	if err := j.unlocked(func() error { return j.o.create(f.id) }); err != nil {
		if fs.NoSpace(err) {
			j.log.Warn("cannot make a journal file", "dir", j.o.Dir, "error", err)
			return false
		}
		j.unlocked(func() error { j.fail(fmt.Errorf("create %s: %w", j.o.path(f.name), err)); return nil })
		return false
	}
	f.version = formatVersion
	j.pool = append(j.pool, f)
	return true
}
