package fs

import (
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"sort"
	"strings"
	"sync"
	"time"
)

// Mem is a file system in memory that can crash.
//
// Each file has the bytes a reader sees and the bytes that would survive; Datasync moves the former to the latter.
// Names work the same way: a creation, rename or removal survives only after SyncDir of its folder.
// Folders themselves are durable at once.
type Mem struct {
	mu      sync.Mutex
	names   map[string]*inode // what is seen
	durable map[string]*inode // what survives
	pending []nameChange      // from durable to names, in order
	dirs    map[string]bool
	epoch   int // bumped by a crash: handles of an older epoch are dead
}

type inode struct {
	data    []byte
	synced  []byte
	pending []change
	mod     time.Time
}

// change is a write (data at off) or, with nil data, a truncation to off.
type change struct {
	off  int64
	data []byte
}

// nameChange: the file old becomes new; old empty is a creation, new empty a removal.
type nameChange struct {
	old, new string
	node     *inode
}

type memFile struct {
	m        *Mem
	n        *inode
	name     string
	epoch    int
	readOnly bool
	direct   bool
}

// NewMem returns an empty file system.
func NewMem() *Mem {
	return &Mem{names: map[string]*inode{}, durable: map[string]*inode{}, dirs: map[string]bool{"/": true, ".": true}}
}

// Crash drops what was not synced and kills all open files. With a nil r everything unsynced is lost. Otherwise
// each 512-byte sector of each unsynced write survives or not by chance, and so does a random first part of the unsynced
// names: a disk may have written any of it.
func (m *Mem) Crash(r *rand.Rand) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.epoch++
	if r != nil {
		for _, c := range m.pending[:r.IntN(len(m.pending)+1)] {
			c.apply(m.durable)
		}
	}
	m.pending = nil
	m.names = map[string]*inode{}
	for name, n := range m.durable {
		n.crash(r)
		m.names[name] = n
	}
}

func (n *inode) crash(r *rand.Rand) {
	const sector = 512
	for _, c := range n.pending {
		if r == nil {
			break
		}
		if c.data == nil {
			if r.IntN(2) == 0 {
				n.synced = resize(n.synced, c.off)
			}
			continue
		}
		for p := 0; p < len(c.data); {
			q := min(len(c.data), p+sector-int((c.off+int64(p))%sector))
			if r.IntN(2) == 0 {
				n.synced = overwrite(n.synced, c.data[p:q], c.off+int64(p))
			}
			p = q
		}
	}
	n.pending = nil
	n.data = append([]byte(nil), n.synced...)
}

func (c nameChange) apply(names map[string]*inode) {
	if c.old != "" {
		delete(names, c.old)
	}
	if c.new != "" {
		names[c.new] = c.node
	}
}

func overwrite(b, p []byte, off int64) []byte {
	if end := off + int64(len(p)); end > int64(len(b)) {
		b = resize(b, end)
	}
	copy(b[off:], p)
	return b
}

func resize(b []byte, n int64) []byte {
	if n <= int64(len(b)) {
		return b[:n:n]
	}
	return append(b, make([]byte, n-int64(len(b)))...)
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

func (m *Mem) open(op, name string, readOnly bool) (*memFile, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = path.Clean(name)
	n := m.names[name]
	if n == nil {
		return nil, pathError(op, name, fs.ErrNotExist)
	}
	return &memFile{m: m, n: n, name: name, epoch: m.epoch, readOnly: readOnly}, nil
}

func (m *Mem) Open(name string) (File, error) {
	f, err := m.open("open", name, false)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (m *Mem) OpenRead(name string) (File, error) {
	f, err := m.open("open", name, true)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// OpenDirect checks alignment as a real direct file does, so that a misaligned write fails in a test.
func (m *Mem) OpenDirect(name string, align int) (File, bool, error) {
	f, err := m.open("open", name, false)
	if err != nil {
		return nil, false, err
	}
	f.direct = true
	return f, true, nil
}

func (m *Mem) Create(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = path.Clean(name)
	if !m.dirs[path.Dir(name)] {
		return nil, pathError("create", name, fs.ErrNotExist)
	}
	n := m.names[name]
	if n == nil {
		n = &inode{mod: time.Now()}
		m.change(nameChange{new: name, node: n})
	} else {
		n.data = nil
		n.pending = append(n.pending, change{})
	}
	return &memFile{m: m, n: n, name: name, epoch: m.epoch}, nil
}

func (m *Mem) change(c nameChange) {
	c.apply(m.names)
	m.pending = append(m.pending, c)
}

func (m *Mem) Rename(old, new string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, new = path.Clean(old), path.Clean(new)
	n := m.names[old]
	if n == nil {
		return pathError("rename", old, fs.ErrNotExist)
	}
	if !m.dirs[path.Dir(new)] {
		return pathError("rename", new, fs.ErrNotExist)
	}
	m.change(nameChange{old, new, n})
	return nil
}

func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = path.Clean(name)
	n := m.names[name]
	if n == nil {
		return pathError("remove", name, fs.ErrNotExist)
	}
	m.change(nameChange{name, "", n})
	return nil
}

func (m *Mem) RemoveAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = path.Clean(dir)
	for name, n := range m.names {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			m.change(nameChange{name, "", n})
		}
	}
	for d := range m.dirs {
		if d == dir || strings.HasPrefix(d, dir+"/") {
			delete(m.dirs, d)
		}
	}
	return nil
}

func (m *Mem) MkdirAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for dir = path.Clean(dir); !m.dirs[dir]; dir = path.Dir(dir) {
		m.dirs[dir] = true
	}
	return nil
}

func (m *Mem) List(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = path.Clean(dir)
	if !m.dirs[dir] {
		return nil, pathError("list", dir, fs.ErrNotExist)
	}
	var names []string
	for name := range m.names {
		if path.Dir(name) == dir {
			names = append(names, path.Base(name))
		}
	}
	for d := range m.dirs {
		if path.Dir(d) == dir && d != dir {
			names = append(names, path.Base(d))
		}
	}
	sort.Strings(names)
	return names, nil
}

func (m *Mem) Stat(name string) (Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = path.Clean(name)
	if m.dirs[name] {
		return Info{Dir: true}, nil
	}
	if n := m.names[name]; n != nil {
		return Info{Size: int64(len(n.data)), ModTime: n.mod}, nil
	}
	return Info{}, pathError("stat", name, fs.ErrNotExist)
}

func (m *Mem) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = path.Clean(dir)
	if !m.dirs[dir] {
		return pathError("sync", dir, fs.ErrNotExist)
	}
	rest := m.pending[:0]
	for _, c := range m.pending {
		if c.new != "" && path.Dir(c.new) == dir || c.old != "" && path.Dir(c.old) == dir {
			c.apply(m.durable)
		} else {
			rest = append(rest, c)
		}
	}
	m.pending = rest
	return nil
}

func (m *Mem) BlockSize(dir string) (int, error) { return 512, nil }

func (f *memFile) check(op string) error {
	if f.n == nil || f.epoch != f.m.epoch {
		return pathError(op, f.name, fs.ErrClosed)
	}
	return nil
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.check("read"); err != nil {
		return 0, err
	}
	if off >= int64(len(f.n.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.n.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.check("write"); err != nil {
		return 0, err
	}
	if f.readOnly {
		return 0, pathError("write", f.name, fs.ErrPermission)
	}
	if f.direct && (off%512 != 0 || len(p)%512 != 0) {
		return 0, pathError("write", f.name, fmt.Errorf("offset %d and length %d are not aligned", off, len(p)))
	}
	f.n.mod = time.Now()
	f.n.data = overwrite(f.n.data, p, off)
	if f.direct {
		f.n.synced = overwrite(f.n.synced, p, off)
		return len(p), nil
	}
	f.n.pending = append(f.n.pending, change{off, append([]byte{}, p...)})
	return len(p), nil
}

func (f *memFile) Datasync() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.check("sync"); err != nil {
		return err
	}
	for _, c := range f.n.pending {
		if c.data == nil {
			f.n.synced = resize(f.n.synced, c.off)
		} else {
			f.n.synced = overwrite(f.n.synced, c.data, c.off)
		}
	}
	f.n.pending = nil
	return nil
}

func (f *memFile) WriteBack(off, n int64) error { return nil }

func (f *memFile) Truncate(size int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.check("truncate"); err != nil {
		return err
	}
	f.n.data = resize(f.n.data, size)
	f.n.pending = append(f.n.pending, change{off: size})
	return nil
}

func (f *memFile) Size() (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.check("stat"); err != nil {
		return 0, err
	}
	return int64(len(f.n.data)), nil
}

func (f *memFile) Close() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.check("close"); err != nil {
		return err
	}
	f.n = nil
	return nil
}
