package replica

import (
	"errors"
	"fmt"
	"path"
	"sync"

	"github.com/saranga-mq/saranga/journal/fs"
)

// maxOpen is how many files are kept open. One more closes that which was not written to for the longest time.
const maxOpen = 128

// growing holds the files that are only appended to: bodies and pages. Sync may run beside the other methods.
//
// Invariants, with mu held: a file in open is as long as its size says; unsynced holds at least the files with bytes, and folders
// with names, that are not known to be durable.
type growing struct {
	fsys fs.FS

	mu       sync.Mutex
	open     map[string]*growingFile
	unsynced map[string]bool // true: a folder
	clock    uint64
}

type growingFile struct {
	file fs.File
	size int64
	used uint64
}

func newGrowing(fsys fs.FS) *growing {
	return &growing{fsys: fsys, open: map[string]*growingFile{}, unsynced: map[string]bool{}}
}

// append adds p to a file, which is made if it is not there.
func (g *growing) append(name string, p []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	f, err := g.get(name)
	if err != nil || len(p) == 0 {
		return err
	}
	if _, err := f.file.WriteAt(p, f.size); err != nil {
		return fmt.Errorf("write %d bytes to %s at %d: %w", len(p), name, f.size, err)
	}
	_ = f.file.WriteBack(f.size, int64(len(p))) // a hint
	f.size += int64(len(p))
	g.unsynced[name] = false
	return nil
}

func (g *growing) get(name string) (*growingFile, error) {
	g.clock++
	if f := g.open[name]; f != nil {
		f.used = g.clock
		return f, nil
	}
	if len(g.open) >= maxOpen {
		if err := g.closeOldest(); err != nil {
			return nil, err
		}
	}
	f := &growingFile{used: g.clock}
	file, err := g.fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		file, err = g.fsys.Create(name)
		g.unsynced[name], g.unsynced[path.Dir(name)] = false, true
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	if f.size, err = file.Size(); err != nil {
		return nil, errors.Join(fmt.Errorf("size of %s: %w", name, err), file.Close())
	}
	f.file = file
	g.open[name] = f
	return f, nil
}

func (g *growing) closeOldest() error {
	oldest := ""
	for name, f := range g.open {
		if oldest == "" || f.used < g.open[oldest].used {
			oldest = name
		}
	}
	return g.release(oldest)
}

// release closes a file if it is open.
func (g *growing) release(name string) error {
	f := g.open[name]
	if f == nil {
		return nil
	}
	delete(g.open, name)
	if err := f.file.Close(); err != nil {
		return fmt.Errorf("close %s: %w", name, err)
	}
	return nil
}

// close closes a file if it is open.
func (g *growing) close(name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.release(name)
}

// remove removes a file if it is there.
func (g *growing) remove(name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := g.release(name)
	delete(g.unsynced, name)
	if e := g.fsys.Remove(name); e != nil && !errors.Is(e, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("remove %s: %w", name, e))
	}
	g.unsynced[path.Dir(name)] = true
	return err
}

// sync makes everything durable.
func (g *growing) sync() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, folder := range g.unsynced {
		if err := g.syncOne(name, folder); err != nil {
			return fmt.Errorf("sync %s: %w", name, err)
		}
		delete(g.unsynced, name)
	}
	return nil
}

func (g *growing) syncOne(name string, folder bool) error {
	if folder {
		return g.fsys.SyncDir(name)
	}
	if f := g.open[name]; f != nil {
		return f.file.Datasync()
	}
	f, err := g.fsys.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Datasync(), f.Close())
}

// closeAll syncs and closes everything.
func (g *growing) closeAll() error {
	err := g.sync()
	g.mu.Lock()
	defer g.mu.Unlock()
	for name := range g.open {
		err = errors.Join(err, g.release(name))
	}
	return err
}
