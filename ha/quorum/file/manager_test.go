package file

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// TestMain makes this binary the other process: it takes lock "id" of a folder, with a record lock as Java does or with a
// Manager, says whether it has it, and holds it until its input ends.
func TestMain(m *testing.M) {
	dir := os.Getenv("QUORUM_FOLDER")
	if dir == "" {
		os.Exit(m.Run())
	}
	var held bool
	if os.Getenv("QUORUM_RECORD_LOCK") != "" {
		f, err := os.OpenFile(filepath.Join(dir, "id"), os.O_RDWR|os.O_CREATE, 0o600)
		held = err == nil && unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}) == nil
	} else {
		mgr := &Manager{dir: dir}
		_ = mgr.Start(context.Background())
		if l, err := mgr.Lock("id"); err == nil {
			held, _ = l.TryLock(context.Background())
		}
	}
	fmt.Println(held)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	os.Exit(0)
}

// another takes the lock in another process and returns whether it got it, and how to kill the process.
func another(t *testing.T, dir string, record bool) (held bool, kill func()) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "QUORUM_FOLDER="+dir)
	if record {
		c.Env = append(c.Env, "QUORUM_RECORD_LOCK=1")
	}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line == "true\n", func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		_ = in.Close()
	}
}

func open(t *testing.T, dir string) *Manager {
	t.Helper()
	m := &Manager{dir: dir}
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Stop)
	return m
}

func lock(t *testing.T, m *Manager) quorum.Lock {
	t.Helper()
	l, err := m.Lock("id")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func try(t *testing.T, l quorum.Lock, want bool) {
	t.Helper()
	if held, err := l.TryLock(t.Context()); err != nil || held != want {
		t.Errorf("tryLock: %v, %v, want %v", held, err, want)
	}
}

func held(t *testing.T, l quorum.Lock, want bool) {
	t.Helper()
	if held, err := l.HeldByCaller(t.Context()); err != nil || held != want {
		t.Errorf("heldByCaller: %v, %v, want %v", held, err, want)
	}
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	m := open(t, dir)
	l := lock(t, m)
	if l != lock(t, m) {
		t.Error("two instances of one lock")
	}
	held(t, l, false)
	if l.Lease() != 0 {
		t.Error("a lease without the lock")
	}
	try(t, l, true)
	held(t, l, true)
	if l.Lease() != quorum.NoLease || l.Lost() != nil || m.Unavailable() != nil {
		t.Error("a lock on a file has no lease and no notice")
	}
	if _, err := l.TryLock(t.Context()); !errors.Is(err, quorum.ErrHeld) {
		t.Errorf("a second tryLock: %v", err)
	}
	other := lock(t, open(t, dir)) // in the same process
	try(t, other, false)
	if err := l.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	held(t, l, false)
	try(t, other, true)
	m.Stop()
	if _, err := l.TryLock(t.Context()); !errors.Is(err, quorum.ErrNotStarted) {
		t.Errorf("after the stop: %v", err)
	}
	if _, err := m.Lock("id"); !errors.Is(err, quorum.ErrNotStarted) {
		t.Errorf("after the stop: %v", err)
	}
}

// TestOtherProcess: the second of two processes on a folder gets the lock when the first is gone, killed or stopped, whichever
// of the two takes record locks.
func TestOtherProcess(t *testing.T) {
	for _, record := range []bool{false, true} {
		dir := t.TempDir()
		m := open(t, dir)
		l := lock(t, m)
		got, kill := another(t, dir, record)
		if !got {
			t.Error("a free lock was not got")
		}
		try(t, l, false)
		kill()
		try(t, l, true)
		// Closing another descriptor of the file must not let go of the lock.
		f, err := os.Open(filepath.Join(dir, "id"))
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		got, kill = another(t, dir, record)
		kill()
		if got {
			t.Error("a lock that is held was got")
		}
		m.Stop()
		got, kill = another(t, dir, record)
		kill()
		if !got {
			t.Error("the lock of a stopped manager was not got")
		}
	}
}

// TestRemovedFile: a lock on a file that the name does not lead to any more excludes nobody.
func TestRemovedFile(t *testing.T) {
	dir := t.TempDir()
	l := lock(t, open(t, dir))
	try(t, l, true)
	if err := os.Remove(filepath.Join(dir, "id")); err != nil {
		t.Fatal(err)
	}
	held(t, l, false)
	try(t, lock(t, open(t, dir)), true)
	held(t, l, false)
}

func TestLong(t *testing.T) {
	dir := t.TempDir()
	m := open(t, dir)
	n, err := m.Long("id")
	if err != nil {
		t.Fatal(err)
	}
	want := func(want int64) {
		t.Helper()
		if got, err := n.Get(t.Context()); err != nil || got != want {
			t.Errorf("%d, %v, want %d", got, err, want)
		}
	}
	want(0)
	if err := n.Set(t.Context(), -2); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "ML:id"))
	if err != nil || string(b) != "\xff\xff\xff\xff\xff\xff\xff\xfe" {
		t.Errorf("%x, %v", b, err)
	}
	for _, c := range []struct {
		expected, value int64
		done            bool
		after           int64
	}{{-1, 5, false, -2}, {-2, 2, true, 2}} {
		if done, err := n.CompareAndSet(t.Context(), c.expected, c.value); err != nil || done != c.done {
			t.Errorf("compareAndSet %d %d: %v, %v", c.expected, c.value, done, err)
		}
		want(c.after)
	}
	if err := os.WriteFile(filepath.Join(dir, "ML:id"), []byte("1234567"), 0o600); err != nil {
		t.Fatal(err)
	}
	want(0) // too short
	m.Stop()
	if _, err := n.Get(t.Context()); !errors.Is(err, quorum.ErrNotStarted) {
		t.Errorf("after the stop: %v", err)
	}
}

func TestBadIDs(t *testing.T) {
	m := open(t, t.TempDir())
	for _, id := range []string{"", ".", "..", "../id", "a/b", "a\x00"} {
		if _, err := m.Lock(id); !errors.Is(err, quorum.ErrBadID) {
			t.Errorf("lock %q: %v", id, err)
		}
		if _, err := m.Long(id); !errors.Is(err, quorum.ErrBadID) {
			t.Errorf("long %q: %v", id, err)
		}
	}
}
