package raftfsm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	walfs "github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/types"

	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// stateFolder leaves the folder of a stopped group of one that holds /x, with a snapshot and entries after it.
func stateFolder(t *testing.T) *lab {
	l := newLab(t, 1)
	l.startAll()
	c := l.connect(l.member("a"), 1, time.Hour)
	c.must(create("/x", "kept", tree.Persistent))
	if err := l.member("a").raft.Load().Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	c.must(create("/y", "later", tree.Persistent))
	l.stop("a")
	return l
}

// A folder that is not this member's, or not whole, refuses the start and says what to do.
func TestFolderRefused(t *testing.T) {
	damage := func(name string, at int64) func(*testing.T, *lab) {
		return func(t *testing.T, l *lab) {
			matches, _ := filepath.Glob(filepath.Join(l.folder("a"), name))
			if len(matches) == 0 {
				t.Fatalf("no %s", name)
			}
			f, err := os.OpenFile(matches[0], os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			var b [4]byte
			if _, err := f.ReadAt(b[:], at); err != nil {
				t.Fatal(err)
			}
			for i := range b {
				b[i] ^= 0xff
			}
			if _, err := f.WriteAt(b[:], at); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(name string) func(*testing.T, *lab) {
		return func(t *testing.T, l *lab) {
			matches, _ := filepath.Glob(filepath.Join(l.folder("a"), name))
			if len(matches) == 0 {
				t.Fatalf("no %s", name)
			}
			for _, m := range matches {
				if err := os.RemoveAll(m); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*testing.T, *lab)
		want   string
	}{
		"of another cluster": {func(_ *testing.T, l *lab) { l.config = func(_ string, c *Config) { c.Cluster = "other" } },
			`belongs to member "a" of cluster "lab", not to "a" of "other"`},
		"of another member": {func(t *testing.T, l *lab) {
			l.config = func(_ string, c *Config) { c.Member, c.Members = "z", []Peer{{"z", c.Listen}} }
		}, `belongs to member "a"`},
		"without MEMBER":        {remove(markerFile), "no file MEMBER"},
		"with a damaged MEMBER": {damage(markerFile, 30), "MEMBER is damaged or foreign"},
		"without votes":         {remove(stableFile), "the file of the votes is gone"},
		"with damaged votes": {func(t *testing.T, l *lab) {
			damage(stableFile, 20)(t, l)
			damage(stableFile, int64(os.Getpagesize())+20)(t, l)
		}, stableFile},
		"without the log's list":             {remove("log/wal-meta.db"), "state folder refused"},
		"without the log":                    {remove("log/*.wal"), "the newest file of the log is gone"},
		"with a damaged log":                 {damage("log/*.wal", 40), "the log"},
		"with a damaged snapshot":            {damage("snapshots/*/state.bin", 60), "snapshot"},
		"without the snapshot's description": {remove("snapshots/*/meta.json"), "its description cannot be read"},
		"of a later version": {func(t *testing.T, l *lab) {
			name := filepath.Join(l.folder("a"), markerFile)
			b, _ := os.ReadFile(name)
			if err := os.WriteFile(name, []byte(strings.Replace(string(b), "format 1", "format 2", 1)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "it has format 2, this version knows 1"},
	} {
		t.Run(name, func(t *testing.T) {
			l := stateFolder(t)
			c.change(t, l)
			m, err := Start(l.configOf("a"))
			if err == nil {
				m.Stop()
				t.Fatal("started")
			}
			if !errors.Is(err, ErrFolder) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
			if !strings.Contains(err.Error(), "folder") {
				t.Errorf("no way out: %v", err)
			}
		})
	}
}

// The log and the snapshots hold passwords of sessions: nobody else may look at them, whoever made the state folder.
func TestFolderIsPrivate(t *testing.T) {
	l := newLab(t, 1)
	if err := os.Mkdir(l.folder("a"), 0o755); err != nil {
		t.Fatal(err)
	}
	l.startAll()
	entries, err := os.ReadDir(l.folder("a"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has %v", e.Name(), info.Mode())
		}
	}
}

// Two members cannot run on one folder.
func TestFolderInUse(t *testing.T) {
	l := newLab(t, 1)
	l.startAll()
	c := l.configOf("a")
	c.Listen = freeAddress(t)
	if m, err := Start(c); !errors.Is(err, ErrFolder) || !strings.Contains(err.Error(), "another process runs on") {
		if m != nil {
			m.Stop()
		}
		t.Error(err)
	}
}

// A start that was killed before the group was founded is begun anew.
func TestKilledWhileFounding(t *testing.T) {
	l := newLab(t, 3)
	l.start("a", "b") // c is not there: nothing can be founded
	until(t, "b asks", func() bool { return l.member("b").Status().Phase == "founding" })
	l.kill("a")
	l.start("a", "c")
	l.leader()
	c := l.connect(l.member("a"), 1, time.Minute)
	c.must(create("/x", "", tree.Persistent))
	l.same()
}

// The folder in testdata was written by the first version with a state folder; every later one loads it.
func TestGoldenFolder(t *testing.T) {
	l := newLab(t, 1)
	if dir := os.Getenv("RAFTFSM_GOLDEN"); dir != "" { // writes it: see testdata/README
		l.config = func(_ string, c *Config) { c.Folder, c.storage.segment = dir, 64<<10 }
		l.startAll()
		c := l.connect(l.member("a"), 0x77, time.Hour)
		c.must(create("/ns", "", tree.Container))
		c.must(create("/ns/activation-sequence", "\x00\x00\x00\x00\x00\x00\x00\x05", tree.Persistent))
		c.must(create("/ns/lock-", "127.0.0.1", tree.EphemeralSequential))
		if err := l.member("a").raft.Load().Snapshot().Error(); err != nil {
			t.Fatal(err)
		}
		c.must(&tree.SetData{Path: "/ns/activation-sequence", Data: []byte("\x00\x00\x00\x00\x00\x00\x00\x06"), Version: 0})
		l.stop("a")
	}
	if err := os.CopyFS(l.folder("a"), os.DirFS("testdata/state-1")); err != nil {
		t.Fatal(err)
	}
	l.config = func(_ string, c *Config) { c.storage.segment = 64 << 10 }
	l.startAll()
	if data, code := l.get("a", "/ns/activation-sequence"); data != "\x00\x00\x00\x00\x00\x00\x00\x06" || code != tree.OK {
		t.Errorf("activation sequence %q, %v", data, code)
	}
	l.member("a").Read(func(v *tree.View) {
		s, ok := v.Session(0x77)
		if !ok || s.Timeout != 3600_000 || s.Request != 4 || s.Ephemerals != 1 {
			t.Errorf("session %+v, %v", s, ok)
		}
		if stat, code := v.Exists(&observer, "/ns/lock-0000000001"); code != tree.OK || stat.EphemeralOwner != 0x77 {
			t.Errorf("lock %+v, %v", stat, code)
		}
	})
	l.connect(l.member("a"), 2, time.Minute).must(create("/later", "", tree.Persistent))
}

// A new leader's entries replace those at the end of the log; all of it is there after a restart.
func TestLogCutAndReopened(t *testing.T) {
	l := newLab(t, 1)
	f, err := openFolder(l.configOf("a"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	open := func() *stores {
		t.Helper()
		s, err := openStores(f, storage{segment: 64 << 10}, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	entry := func(index, term uint64) *raft.Log {
		return &raft.Log{Index: index, Term: term, Data: []byte{byte(index)}}
	}
	s := open()
	if err := s.bolt.SetUint64([]byte(keyCurrentTerm), 9); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(10) {
		if err := s.log.StoreLog(entry(i+1, 1)); err != nil {
			t.Fatal(err)
		}
	}
	for term := range uint64(3) { // cut the file that is being written, then what follows a cut
		if err := s.log.DeleteRange(6+term, s.last(t)); err != nil {
			t.Fatal(err)
		}
		for i := 6 + term; i <= 8+term; i++ {
			if err := s.log.StoreLog(entry(i, 2+term)); err != nil {
				t.Fatal(err)
			}
		}
		s.close()
		s = open()
	}
	defer s.close()
	var terms []uint64
	for i := uint64(1); i <= s.last(t); i++ {
		var got raft.Log
		if err := s.log.GetLog(i, &got); err != nil || got.Data[0] != byte(i) {
			t.Fatalf("entry %d: %v, %v", i, got, err)
		}
		terms = append(terms, got.Term)
	}
	if want := []uint64{1, 1, 1, 1, 1, 2, 3, 4, 4, 4}; !slices.Equal(terms, want) {
		t.Errorf("terms %v, want %v", terms, want)
	}
}

func (s *stores) last(t *testing.T) uint64 {
	n, err := s.log.LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// badDisk is the file system of a log that fails from the n-th write or sync on; the one that fails may have written half.
type badDisk struct {
	types.VFS
	mu   sync.Mutex
	left int // writes and syncs until it fails; -1: never
	err  error
	torn bool
}

func (d *badDisk) fails() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left > 0 {
		d.left--
	}
	return d.left == 0
}

func (d *badDisk) arm(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = n
}

func (d *badDisk) Create(dir, name string, size uint64) (types.WritableFile, error) {
	f, err := d.VFS.Create(dir, name, size)
	return &badFile{f, d}, err
}

func (d *badDisk) OpenWriter(dir, name string) (types.WritableFile, error) {
	f, err := d.VFS.OpenWriter(dir, name)
	return &badFile{f, d}, err
}

type badFile struct {
	types.WritableFile
	disk *badDisk
}

func (f *badFile) WriteAt(b []byte, at int64) (int, error) {
	if f.disk.fails() {
		n := 0
		if f.disk.torn {
			n, _ = f.WritableFile.WriteAt(b[:len(b)/2], at)
		}
		return n, f.disk.err
	}
	return f.WritableFile.WriteAt(b, at)
}

func (f *badFile) Sync() error {
	if f.disk.fails() {
		return f.disk.err
	}
	return f.WritableFile.Sync()
}

// A disk that fails ends the member with the error, the group goes on, and the member is whole after a restart: at any point of a write, by
// an error or with half of it written.
func TestDiskFails(t *testing.T) {
	for _, c := range []struct {
		who  string
		torn bool
		err  error
	}{
		{"follower", false, syscall.ENOSPC}, {"follower", true, syscall.EIO}, {"leader", true, syscall.EIO}, {"leader", false, syscall.ENOSPC},
	} {
		t.Run(fmt.Sprint(c.who, " torn ", c.torn, " ", c.err), func(t *testing.T) {
			l := newLab(t, 3)
			disks := map[string]*badDisk{}
			l.config = func(id string, cfg *Config) {
				disks[id] = &badDisk{VFS: walfs.New(), left: -1, err: c.err, torn: c.torn}
				cfg.storage.vfs = disks[id]
			}
			l.startAll()
			leader, followers := l.leader(), l.followers()
			victim, on := followers[0], followers[1]
			if c.who == "leader" {
				victim = leader
			}
			client := l.connect(l.member(on), 1, time.Minute)
			client.must(create("/q", "", tree.Persistent))
			n := 0
			for round := 1; round <= 4; round++ {
				m := l.member(victim)
				disks[victim].arm(round)
				for failed := false; !failed; {
					client.must(create("/q/n-", "", tree.PersistentSequential))
					n++
					select {
					case <-m.Failed():
						failed = true
					default:
					}
				}
				if err := m.Err(); !errors.Is(err, c.err) || m.Fresh() {
					t.Errorf("ended with %v, fresh %v", err, m.Fresh())
				}
				if err := m.Propose(long(t), client.command(&tree.Sync{Path: "/"})); err == nil {
					t.Error("a member that has ended took a proposal")
				}
				l.stop(victim)
				l.start(victim)
				if c.who == "leader" {
					break // it leads no more
				}
				l.leader()
			}
			l.same()
			if got := len(l.children(victim, "/q")); got != n {
				t.Errorf("%d children after %d answers", got, n)
			}
		})
	}
}

// badVotes is a stable store that fails when told.
type badVotes struct {
	raft.StableStore
	mu   sync.Mutex
	fail bool
}

func (b *badVotes) SetUint64(key []byte, v uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail {
		return &fs.PathError{Op: "write", Path: stableFile, Err: syscall.EIO}
	}
	return b.StableStore.SetUint64(key, v)
}

// A member that cannot write the term ends, without a panic and without a vote.
func TestVotesFail(t *testing.T) {
	l := newLab(t, 3)
	votes := map[string]*badVotes{}
	l.config = func(id string, c *Config) {
		c.storage.stable = func(s raft.StableStore) raft.StableStore {
			votes[id] = &badVotes{StableStore: s}
			return votes[id]
		}
	}
	l.startAll()
	victim, leader := l.followers()[0], l.leader()
	votes[victim].mu.Lock()
	votes[victim].fail = true
	votes[victim].mu.Unlock()
	m := l.member(victim)
	l.stop(leader) // an election: a new term
	until(t, "the member ends", func() bool { return m.Err() != nil })
	if !errors.Is(m.Err(), syscall.EIO) {
		t.Error(m.Err())
	}
	l.stop(victim)
	l.start(victim, leader)
	l.leader()
	l.connect(l.member(victim), 1, time.Minute).must(create("/x", "", tree.Persistent))
	l.same()
}
