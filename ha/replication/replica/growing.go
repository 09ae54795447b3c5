package replica

import (
	"errors"
	"fmt"
	"path"
	"sync"

	"github.com/saranga-mq/saranga/journal/fs"
)

// Bounds.
const (
	// maxOpen is how many files are kept open. One more closes that which was not written to for the longest time.
	maxOpen = 128
	// maxUnsynced is how many files may wait for their sync, so that a node that takes over is not kept by them. An append to
	// one more waits.
	maxUnsynced = 256
	// writeBack is how many bytes gather before the system is told to begin writing them, so that a sync has little left.
	writeBack = 256 << 10
)

// growing holds the files that are only appended to: bodies and pages. What is closed is synced soon, by a goroutine.
//
// Invariants, with mu held: a file in open is as long as its size says; unsynced holds at least the files with bytes, and folders
// with names, that are not known to be durable, but for those that a sync under way has taken out.
type growing struct {
	fsys   fs.FS
	failed func(error)

	mu       sync.Mutex
	changed  sync.Cond // on mu
	open     map[string]*growingFile
	unsynced map[string]bool // true: a folder
	clock    uint64
	wanted   bool // a sync
	ended    bool // the goroutine, or its end is wanted
	work     sync.WaitGroup
}

type growingFile struct {
	file   fs.File
	size   int64
	hinted int64 // up to here it is written back
	used   uint64
}

func newGrowing(fsys fs.FS, failed func(error)) *growing {
	g := &growing{fsys: fsys, failed: failed, open: map[string]*growingFile{}, unsynced: map[string]bool{}}
	g.changed.L = &g.mu
	return g
}

func (g *growing) start() { g.work.Go(g.run) }

// run syncs when it is wanted.
func (g *growing) run() {
	for g.await() {
		if err := g.sync(); err != nil {
			g.mu.Lock()
			g.ended = true
			g.changed.Broadcast()
			g.mu.Unlock()
			g.failed(err)
			return
		}
	}
}

func (g *growing) await() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for !g.wanted && !g.ended {
		g.changed.Wait()
	}
	g.wanted = false
	return !g.ended
}

// want has the goroutine sync. Called with mu held.
func (g *growing) want() {
	g.wanted = true
	g.changed.Broadcast()
}

// append adds p to a file, which is made if it is not there.
func (g *growing) append(name string, p []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.unsynced) >= maxUnsynced && !g.ended {
		g.want()
		g.changed.Wait()
	}
	f, err := g.get(name)
	if err != nil || len(p) == 0 {
		return err
	}
	if _, err := f.file.WriteAt(p, f.size); err != nil {
		return fmt.Errorf("write %d bytes to %s at %d: %w", len(p), name, f.size, err)
	}
	f.size += int64(len(p))
	g.unsynced[name] = false
	if n := f.size - f.hinted; n >= writeBack {
		_ = f.file.WriteBack(f.hinted, n) // a hint
		f.hinted = f.size
	}
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
	f.file, f.hinted = file, f.size
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

// close closes a file that is complete, if it is open.
func (g *growing) close(name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.unsynced) > 0 {
		g.want()
	}
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

// sync makes everything durable that was there when it was called. Appends go on.
func (g *growing) sync() error {
	g.mu.Lock()
	unsynced := g.unsynced
	g.unsynced = map[string]bool{}
	g.changed.Broadcast() // those who wait for room
	g.mu.Unlock()
	for name, folder := range unsynced {
		if err := g.syncOne(name, folder); err != nil {
			return fmt.Errorf("sync %s: %w", name, err)
		}
	}
	return nil
}

// syncOne syncs by a handle of its own, as the file may be closed, or removed, at any moment.
func (g *growing) syncOne(name string, folder bool) error {
	if folder {
		return g.fsys.SyncDir(name)
	}
	f, err := g.fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Datasync(), f.Close())
}

// stop ends the goroutine.
func (g *growing) stop() {
	g.mu.Lock()
	g.ended = true
	g.changed.Broadcast()
	g.mu.Unlock()
	g.work.Wait()
}

// closeAll syncs and closes everything, after stop.
func (g *growing) closeAll() error {
	err := g.sync()
	g.mu.Lock()
	defer g.mu.Unlock()
	for name := range g.open {
		err = errors.Join(err, g.release(name))
	}
	return err
}
