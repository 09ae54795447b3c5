package raftfsm

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	boltdb "github.com/hashicorp/raft-boltdb/v2"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"

	"github.com/saranga-mq/saranga/raftfsm/tree"
)

const (
	segmentBytes    = 16 << 20 // of a file of the log, allocated at once
	keepSnapshots   = 2
	cachedLogs      = 512
	keyCurrentTerm  = "CurrentTerm" // hashicorp/raft's
	errTextNotFound = "not found"   // of a stable store, as hashicorp/raft wants it
)

// storage is what tests change below the stores.
type storage struct {
	vfs     types.VFS // of the log; nil: the real one
	stable  func(raft.StableStore) raft.StableStore
	segment int // 0: segmentBytes
}

// stores are what Raft keeps in the folder. The first error of a write is final: it is told to failed, everything later is refused, and
// the caller cuts the member off, so that nothing that depends on the write can leave it.
type stores struct {
	log       *guardedLog
	stable    *guardedStable
	snapshots *guardedSnapshots
	wal       *wal.WAL
	segments  metadb.BoltMetaDB // the list of the log's files, which the log does not close
	bolt      *boltdb.BoltStore
	fault     *fault
}

// fault remembers the first error.
type fault struct {
	failed func(error)
	mu     sync.Mutex
	err    error
}

// check remembers an error and returns the first that there was. failed is set before raft runs.
func (f *fault) check(doing string, err error) error {
	f.mu.Lock()
	first := f.err == nil && err != nil
	if first {
		f.err = fmt.Errorf("%s: %w", doing, err)
	}
	out := f.err
	f.mu.Unlock()
	if first && f.failed != nil {
		f.failed(out)
	}
	return out
}

// last is the error that there was, nil if there was none.
func (f *fault) last() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// openStores opens them and checks that they belong together. After an error everything is closed.
func openStores(f *folder, s storage, log hclog.Logger) (_ *stores, err error) {
	out := &stores{fault: &fault{}}
	defer func() {
		if err != nil {
			out.close()
			err = fmt.Errorf("%w: %s: %w. %s", ErrFolder, f.path, err, wayOut)
		}
	}()
	options := boltdb.Options{Path: filepath.Join(f.path, stableFile)}
	if f.State == phaseMember || f.State == phaseRefilling {
		if _, err := os.Stat(options.Path); err != nil {
			return nil, fmt.Errorf("the file of the votes is gone: %w", err)
		}
	}
	if out.bolt, err = openBolt(options); err != nil {
		return nil, fmt.Errorf("open %s: %w", stableFile, err)
	}
	setDefault(&s.segment, segmentBytes)
	if s.vfs == nil {
		s.vfs = fs.New()
	}
	s.vfs = &notedVFS{VFS: s.vfs, note: filepath.Join(f.path, noteFile)}
	if err := checkNote(f.path); err != nil {
		return nil, err
	}
	if out.wal, err = out.openLog(filepath.Join(f.path, logFolder), s, log); err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	// The log and the snapshots hold the sessions' passwords, and their files are made for all to read.
	for _, name := range []string{logFolder, snapshotBase} {
		if err := private(filepath.Join(f.path, name)); err != nil {
			return nil, err
		}
	}
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(f.path, keepSnapshots, log.Named("snapshots"))
	if err != nil {
		return nil, fmt.Errorf("open the snapshots: %w", err)
	}
	if err := syncFolder(f.path); err != nil {
		return nil, err
	}
	var stable raft.StableStore = out.bolt
	if s.stable != nil {
		stable = s.stable(stable)
	}
	out.log = &guardedLog{out.wal, out.fault}
	out.stable = &guardedStable{stable, out.fault}
	out.snapshots = &guardedSnapshots{snapshots, out.fault}
	return out, out.verify(f)
}

// private makes a folder, if it is not there, that only the owner may enter.
func private(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return os.Chmod(path, 0o700)
}

// openBolt turns a panic of bolt on a damaged file into an error.
func openBolt(o boltdb.Options) (b *boltdb.BoltStore, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("damaged: %v", r)
		}
	}()
	return boltdb.New(o)
}

func (s *stores) openLog(dir string, at storage, log hclog.Logger) (w *wal.WAL, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("damaged: %v", r)
		}
	}()
	return wal.Open(dir, wal.WithLogger(log.Named("wal")), wal.WithSegmentSize(at.segment), wal.WithMetaStore(&s.segments),
		wal.WithSegmentFiler(filer{segment.NewFiler(dir, at.vfs)}))
}

// filer is raft-wal's, with what its version 0.4.0 lacks: when entries at the end of the log are replaced by those of a new leader, it
// takes the file they are in for sealed without writing the index, and cannot read it after a restart. Such a file is read through like the last one.
type filer struct{ types.SegmentFiler }

func (f filer) Open(info types.SegmentInfo) (types.SegmentReader, error) {
	if info.IndexStart == 0 {
		return f.RecoverTail(info)
	}
	return f.SegmentFiler.Open(info)
}

// verify reads everything once: what cannot be read now would end the member later, or be missing without a word.
func (s *stores) verify(f *folder) error {
	first, err := s.wal.FirstIndex()
	if err != nil {
		return fmt.Errorf("the log: %w", err)
	}
	last, err := s.wal.LastIndex()
	if err != nil {
		return fmt.Errorf("the log: %w", err)
	}
	var entry raft.Log
	for i := first; i <= last && last > 0; i++ {
		if err := s.wal.GetLog(i, &entry); err != nil {
			return fmt.Errorf("the log: entry %d of %d to %d: %w", i, first, last, err)
		}
		if entry.Index != i {
			return fmt.Errorf("the log: entry %d says it is %d", i, entry.Index)
		}
	}
	term, err := s.bolt.GetUint64([]byte(keyCurrentTerm))
	if err != nil && err.Error() != errTextNotFound {
		return fmt.Errorf("the term: %w", err)
	}
	if term < entry.Term {
		return fmt.Errorf("%s knows term %d, the log has entries of term %d: they are of different times", stableFile, term, entry.Term)
	}
	return s.verifySnapshots(f, first, last)
}

func (s *stores) verifySnapshots(f *folder, first, last uint64) error {
	list, err := s.snapshots.List()
	if err != nil {
		return fmt.Errorf("the snapshots: %w", err)
	}
	entries, err := os.ReadDir(filepath.Join(f.path, snapshotBase))
	if err != nil {
		return fmt.Errorf("the snapshots: %w", err)
	}
	known := map[string]bool{}
	for _, meta := range list {
		known[meta.ID] = true
	}
	for _, e := range entries {
		// List leaves out those whose description it cannot read. There are at most keepSnapshots of them but after a crash between
		// the writing of a new one and the removal of the oldest.
		if e.IsDir() && !strings.HasSuffix(e.Name(), ".tmp") && !known[e.Name()] && len(list) < keepSnapshots {
			return fmt.Errorf("snapshot %s: its description cannot be read", e.Name())
		}
	}
	if len(list) == 0 {
		if first > 1 {
			return fmt.Errorf("the log begins with entry %d and there is no snapshot of what was before", first)
		}
		return nil
	}
	newest := list[0]
	if last > 0 && first > newest.Index+1 {
		return fmt.Errorf("the log begins with entry %d, the snapshot ends with %d", first, newest.Index)
	}
	_, r, err := s.snapshots.Open(newest.ID)
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", newest.ID, err)
	}
	defer r.Close()
	if _, err := tree.Read(r); err != nil {
		return fmt.Errorf("snapshot %s: %w", newest.ID, err)
	}
	return nil
}

func (s *stores) close() {
	if s.wal != nil {
		s.wal.Close()
	}
	s.segments.Close()
	if s.bolt != nil {
		s.bolt.Close()
	}
}

// guardedLog is the log. Errors of writes come back to raft, which takes no entry for stored then.
type guardedLog struct {
	*wal.WAL
	fault *fault
}

func (g *guardedLog) StoreLog(l *raft.Log) error { return g.StoreLogs([]*raft.Log{l}) }

func (g *guardedLog) StoreLogs(logs []*raft.Log) error {
	if err := g.fault.last(); err != nil {
		return err
	}
	return g.fault.check("append to the log", g.WAL.StoreLogs(logs))
}

func (g *guardedLog) DeleteRange(low, high uint64) error {
	if err := g.fault.last(); err != nil {
		return err
	}
	return g.fault.check("cut the log", g.WAL.DeleteRange(low, high))
}

// GetLog reads an entry. raft panics on an error here when it applies entries, so the goroutine that asked ends instead: the member
// is cut off and about to stop.
func (g *guardedLog) GetLog(index uint64, l *raft.Log) error {
	err := g.WAL.GetLog(index, l)
	if err == nil || errors.Is(err, raft.ErrLogNotFound) {
		return err
	}
	if g.fault.failed == nil {
		return err // raft does not run yet
	}
	_ = g.fault.check(fmt.Sprintf("read entry %d of the log", index), err)
	runtime.Goexit()
	return nil
}

// guardedStable keeps term and vote. raft panics when it cannot write the term, so here too the goroutine ends.
type guardedStable struct {
	raft.StableStore
	fault *fault
}

func (g *guardedStable) Set(key, value []byte) error {
	return g.done(func() error { return g.StableStore.Set(key, value) })
}

func (g *guardedStable) SetUint64(key []byte, value uint64) error {
	return g.done(func() error { return g.StableStore.SetUint64(key, value) })
}

func (g *guardedStable) done(write func() error) error {
	err := g.fault.last()
	if err == nil {
		err = g.fault.check("write the term or the vote", write())
	}
	if err != nil && g.fault.failed != nil {
		runtime.Goexit()
	}
	return err
}

// guardedSnapshots are the snapshots. raft would try again later; here a disk that cannot take one ends the member.
type guardedSnapshots struct {
	raft.SnapshotStore
	fault *fault
}

func (g *guardedSnapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration, configurationIndex uint64,
	trans raft.Transport) (raft.SnapshotSink, error) {
	if err := g.fault.last(); err != nil {
		return nil, err
	}
	sink, err := g.SnapshotStore.Create(version, index, term, configuration, configurationIndex, trans)
	if err = g.fault.check("write a snapshot", err); err != nil {
		return nil, err
	}
	return &guardedSink{sink, g.fault}, nil
}

type guardedSink struct {
	raft.SnapshotSink
	fault *fault
}

func (g *guardedSink) Write(p []byte) (int, error) {
	n, err := g.SnapshotSink.Write(p)
	return n, g.fault.check("write a snapshot", err)
}

func (g *guardedSink) Close() error {
	return g.fault.check("close a snapshot", g.SnapshotSink.Close())
}

var _ io.WriteCloser = (*guardedSink)(nil)
