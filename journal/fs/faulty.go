package fs

import (
	"path"
	"sync"
)

// Op names an operation that Faulty can fail.
type Op string

// The operations that change something, or ask for durability.
const (
	OpOpen     Op = "open"
	OpCreate   Op = "create"
	OpWrite    Op = "write"
	OpTruncate Op = "truncate"
	OpSync     Op = "sync"
	OpRename   Op = "rename"
	OpRemove   Op = "remove"
	OpMkdir    Op = "mkdir"
	OpSyncDir  Op = "syncdir"
)

// Rule fails operations.
type Rule struct {
	Op      Op     // empty: any
	Pattern string // path.Match pattern of the base name (for rename: of either name); empty: any
	Nth     int    // the first matching operation that fails, counted from 1; 0 is 1
	Count   int    // how many fail; 0: all from then on
	Err     error
	Short   int // a failing write first writes this many bytes
}

// Faulty is a file system that fails by rule. Safe for use from many goroutines.
type Faulty struct {
	FS
	mu    sync.Mutex
	rules []*ruleState
	count int
	limit int
	down  error
	hook  func(op Op, name string)
}

type ruleState struct {
	Rule
	seen int
}

// NewFaulty wraps a file system.
func NewFaulty(under FS) *Faulty { return &Faulty{FS: under} }

// Add adds a rule; the first rule that matches an operation decides.
func (f *Faulty) Add(r Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = append(f.rules, &ruleState{Rule: r})
}

// Clear removes the rules, the stop and the hook.
func (f *Faulty) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules, f.down, f.hook = nil, nil, nil
}

// StopAfter lets n more changing operations pass and then fails all of them with err: the moment of a crash.
func (f *Faulty) StopAfter(n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limit, f.down = f.count+n, err
}

// SetHook has f called before each operation, on the goroutine that does it: it may block it, or do something at that moment.
func (f *Faulty) SetHook(hook func(op Op, name string)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = hook
}

// Count is the number of changing operations so far. Opening is not one.
func (f *Faulty) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

// fail decides about one operation: the error it ends with, if any, and how many bytes a write still does.
func (f *Faulty) fail(op Op, names ...string) (short int, err error) {
	f.mu.Lock()
	hook := f.hook
	f.mu.Unlock()
	if hook != nil {
		hook(op, names[0])
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if op != OpOpen {
		f.count++
		if f.down != nil && f.count > f.limit {
			return 0, pathError(string(op), names[0], f.down)
		}
	}
	for _, r := range f.rules {
		if r.Op != "" && r.Op != op || !r.matches(names) {
			continue
		}
		r.seen++
		if first := max(r.Nth, 1); r.seen >= first && (r.Count == 0 || r.seen < first+r.Count) {
			return r.Short, pathError(string(op), names[0], r.Err)
		}
	}
	return 0, nil
}

func (r *ruleState) matches(names []string) bool {
	if r.Pattern == "" {
		return true
	}
	for _, n := range names {
		if ok, _ := path.Match(r.Pattern, path.Base(n)); ok {
			return true
		}
	}
	return false
}

type faultyFile struct {
	File
	fs   *Faulty
	name string
}

func (f *Faulty) wrap(name string, file File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return &faultyFile{file, f, name}, nil
}

func (f *Faulty) Open(name string) (File, error) {
	if _, err := f.fail(OpOpen, name); err != nil {
		return nil, err
	}
	file, err := f.FS.Open(name)
	return f.wrap(name, file, err)
}

func (f *Faulty) OpenRead(name string) (File, error) {
	if _, err := f.fail(OpOpen, name); err != nil {
		return nil, err
	}
	return f.FS.OpenRead(name)
}

func (f *Faulty) OpenDirect(name string, align int) (File, bool, error) {
	if _, err := f.fail(OpOpen, name); err != nil {
		return nil, false, err
	}
	file, direct, err := f.FS.OpenDirect(name, align)
	file, err = f.wrap(name, file, err)
	return file, direct, err
}

func (f *Faulty) Create(name string) (File, error) {
	if _, err := f.fail(OpCreate, name); err != nil {
		return nil, err
	}
	file, err := f.FS.Create(name)
	return f.wrap(name, file, err)
}

func (f *Faulty) Rename(old, new string) error {
	if _, err := f.fail(OpRename, old, new); err != nil {
		return err
	}
	return f.FS.Rename(old, new)
}

func (f *Faulty) Remove(name string) error {
	if _, err := f.fail(OpRemove, name); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f *Faulty) MkdirAll(dir string) error {
	if _, err := f.fail(OpMkdir, dir); err != nil {
		return err
	}
	return f.FS.MkdirAll(dir)
}

func (f *Faulty) SyncDir(dir string) error {
	if _, err := f.fail(OpSyncDir, dir); err != nil {
		return err
	}
	return f.FS.SyncDir(dir)
}

func (f *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	if short, err := f.fs.fail(OpWrite, f.name); err != nil {
		n := 0
		if short > 0 {
			n, _ = f.File.WriteAt(p[:min(short, len(p))], off)
		}
		return n, err
	}
	return f.File.WriteAt(p, off)
}

func (f *faultyFile) Truncate(size int64) error {
	if _, err := f.fs.fail(OpTruncate, f.name); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *faultyFile) Datasync() error {
	if _, err := f.fs.fail(OpSync, f.name); err != nil {
		return err
	}
	return f.File.Datasync()
}
