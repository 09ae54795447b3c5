package large

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/saranga-mq/saranga/journal/fs"
)

// Folder is the large-messages folder. All methods may be called from any goroutine.
type Folder struct {
	fsys  fs.FS
	dir   string
	fatal func(error)

	mu       sync.Mutex
	bodies   map[int64]*Body // those that somebody holds
	left     map[int64]bool  // .msg files of the last run that no message was found for yet
	writing  map[int64]bool  // durable bodies that are not complete
	tap      Tap
	doomed   []string  // files to remove
	removing []string  // and those that are being removed
	idle     sync.Cond // on mu: the remover has ended
	busy     bool      // it runs
	closed   bool
	spares   spares
}

// Open opens the folder, which must exist, and removes what non-durable messages have left. fatal is called when a body
// that was to be durable cannot be written or synced, except for lack of space.
func Open(fsys fs.FS, dir string, fatal func(error)) (*Folder, error) {
	f := &Folder{fsys: fsys, dir: dir, fatal: fatal, bodies: map[int64]*Body{}, left: map[int64]bool{}, writing: map[int64]bool{}}
	f.idle.L = &f.mu
	names, err := fsys.List(dir)
	if err != nil {
		return nil, fmt.Errorf("large messages: list %s: %w", dir, err)
	}
	for _, n := range names {
		id, ext, _ := strings.Cut(n, ".")
		number, err := strconv.ParseInt(id, 10, 64)
		switch {
		case ext == "tmp":
			if err := fsys.Remove(path.Join(dir, n)); err != nil {
				return nil, fmt.Errorf("large messages: remove %s: %w", n, err)
			}
		case ext == "msg" && err == nil:
			f.left[number] = true
		}
	}
	return f, nil
}

// Found tells that a durable message or a page record has a body in id's file, which therefore stays.
func (f *Folder) Found(id int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.left, id)
}

// RemoveLeft removes the files that Found was not told of, and returns their ids. To be called once, after the journal and all
// pages were read.
func (f *Folder) RemoveLeft() (removed []int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.left {
		if f.bodies[id] != nil {
			continue
		}
		if err := f.fsys.Remove(f.path(id, true)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, fmt.Errorf("large messages: remove leftover %d: %w", id, err)
		}
		removed = append(removed, id)
	}
	f.left = nil
	return removed, nil
}

// Get returns the body of a durable message found in the journal, with one hold. A file that is missing is an empty
// body, as it is for Artemis.
func (f *Folder) Get(id int64) (*Body, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.left, id)
	return f.get(id)
}

// get is Get with mu held.
func (f *Folder) get(id int64) (*Body, error) {
	if b := f.bodies[id]; b != nil {
		b.holds++
		return b, nil
	}
	i, err := f.fsys.Stat(f.path(id, true))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("large messages: size of %d: %w", id, err)
	}
	b := &Body{folder: f, id: id, durable: true, size: i.Size, holds: 1}
	f.bodies[id] = b
	return b, nil
}

// Exists tells whether there is a file of a durable body.
func (f *Folder) Exists(id int64) (bool, error) { return fs.Exists(f.fsys, f.path(id, true)) }

// Delete removes the body's file with its last hold, or soon if there is none. It does not block on the disk. It is no error
// if there is no such file.
func (f *Folder) Delete(id int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if b := f.bodies[id]; b != nil {
		f.deleted(b)
		return
	}
	f.doom(f.path(id, true))
	if f.tap != nil {
		f.tap.BodyDeleted(id)
	}
}

// doom leaves a file to the remover, a goroutine that lives as long as there is something to do. Called with mu held.
func (f *Folder) doom(name string) {
	f.doomed = append(f.doomed, name)
	if !f.busy {
		f.busy = true
		go f.remover()
	}
}

func (f *Folder) remover() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.doomed) > 0 {
		doomed := f.doomed
		f.doomed, f.removing = nil, doomed
		f.mu.Unlock()
		for _, name := range doomed {
			if !f.spare(name) {
				_ = f.fsys.Remove(name) // what stays is removed at the next start
			}
		}
		f.mu.Lock()
		f.removing = nil
	}
	f.busy = false
	f.idle.Broadcast()
}

// Close waits until the files that are to go are gone. Bodies that are still held stay readable.
func (f *Folder) Close() {
	f.mu.Lock()
	f.closed = true
	for f.busy {
		f.idle.Wait()
	}
	f.mu.Unlock()
	f.dropSpares()
}

func (f *Folder) path(id int64, durable bool) string {
	ext := ".tmp"
	if durable {
		ext = ".msg"
	}
	return path.Join(f.dir, strconv.FormatInt(id, 10)+ext)
}

// broken reports a failed write or sync; lack of space is a refusal and not reported.
func (f *Folder) broken(err error) error {
	if fs.NoSpace(err) {
		f.dropSpares()
	} else if f.fatal != nil {
		f.fatal(err)
	}
	return err
}
