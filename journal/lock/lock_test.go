package lock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// A record lock does not hold against its own process, so another one is needed: this binary again.
func TestMain(m *testing.M) {
	if name := os.Getenv("LOCK_HOLDER"); name != "" {
		f, err := OpenFile(name)
		if err == nil {
			err = f.TryLock()
		}
		fmt.Println(err == nil)
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // until the test lets go
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// hold takes the lock in another process and returns how to let go.
func hold(t *testing.T, name string) (held bool, release func()) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "LOCK_HOLDER="+name)
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
		_ = in.Close()
		_ = c.Wait()
	}
}

func TestNodeLife(t *testing.T) {
	dir := t.TempDir()
	n, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	id := n.ID()
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-1[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(id.String()) {
		t.Errorf("id %s is no time-based UUID", id)
	}
	state := func(want byte) {
		t.Helper()
		if s, err := n.State(); err != nil || s != State(want) {
			t.Errorf("state %c, %v, want %c", s, err, want)
		}
	}
	state('0')
	ctx := context.Background()
	if err := n.Start(ctx); err != nil {
		t.Fatal(err)
	}
	state('F')
	if err := n.Activated(); err != nil {
		t.Fatal(err)
	}
	state('L')
	if held, release := hold(t, filepath.Join(dir, "serverlock.1")); held {
		t.Error("another process got the primary lock")
	} else {
		release()
	}
	if err := n.Check(); err != nil {
		t.Errorf("check: %v", err)
	}
	if err := n.Touch(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := n.Check(); err != nil {
		t.Errorf("check after our own touch: %v", err)
	}
	later := time.Now().Add(2 * time.Hour)
	if err := os.Chtimes(filepath.Join(dir, serverLock), later, later); err != nil {
		t.Fatal(err)
	}
	if err := n.Check(); !errors.Is(err, ErrLost) {
		t.Errorf("check after a foreign touch: %v", err)
	}
	if err := n.Stop(true); err != nil {
		t.Fatal(err)
	}
	state('P')
	if err := n.Check(); !errors.Is(err, ErrLost) {
		t.Errorf("check after the stop: %v", err)
	}
	if held, release := hold(t, filepath.Join(dir, "serverlock.1")); !held {
		t.Error("the primary lock is still held after the stop")
	} else {
		release()
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, serverLock))
	if err != nil || len(b) != 19 || string(b[:3]) != "P00" || UUID(b[3:]) != id {
		t.Errorf("server.lock %x, %v", b, err)
	}
	// The id stays.
	n, err = Open(dir)
	if err != nil || n.ID() != id {
		t.Errorf("id %v, %v, want %v", n.ID(), err, id)
	}
	if err := n.SetID(UUID{1, 2}); err != nil || n.ID() != (UUID{1, 2}) {
		t.Error(err)
	}
	state('P')
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWaitForThePrimaryLock(t *testing.T) {
	dir := t.TempDir()
	n, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	held, release := hold(t, filepath.Join(dir, "serverlock.1"))
	if !held {
		t.Fatal("not held")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := n.Start(ctx); !errors.Is(err, ErrHeld) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if s, err := n.State(); err != nil || s != FailingBack { // the holder is to see that it is wanted back
		t.Errorf("state %c, %v", s, err)
	}
	release()
	if err := n.Primary().lock(context.Background(), time.Millisecond, time.Millisecond); err != nil {
		t.Errorf("after the release: %v", err)
	}
	if !n.Primary().Held() || n.Backup().Held() {
		t.Error("wrong lock")
	}
}

// A directory that real Artemis has left.
func TestArtemisFile(t *testing.T) {
	dir := t.TempDir()
	raw := append([]byte("L00"), 0xfa, 0xec, 0x86, 0x70, 0xec, 0xb0, 0x11, 0xf1, 0xa8, 0xfc, 0x02, 0xfc, 0, 0, 0, 1)
	if err := os.WriteFile(filepath.Join(dir, serverLock), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	n, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if got := n.ID().String(); got != "faec8670-ecb0-11f1-a8fc-02fc00000001" { // what golden `tx` says
		t.Errorf("id %s", got)
	}
	if s, err := n.State(); err != nil || s != Live {
		t.Errorf("state %c, %v", s, err)
	}
}

// A takeover is seen even if the clock of the node that takes over is behind.
func TestTouchIsLater(t *testing.T) {
	n, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	before, err := os.Stat(n.name)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Touch(time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(n.name)
	if err != nil || after.ModTime().UnixMilli() <= before.ModTime().UnixMilli() {
		t.Errorf("modified %v, before %v, %v", after.ModTime(), before.ModTime(), err)
	}
}

func TestHeldElsewhere(t *testing.T) {
	dir := t.TempDir()
	n, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	expect := func(want bool) {
		t.Helper()
		if held, err := n.Primary().HeldElsewhere(); err != nil || held != want {
			t.Errorf("held %v, %v, want %v", held, err, want)
		}
	}
	expect(false)
	if err := n.Primary().TryLock(); err != nil {
		t.Fatal(err)
	}
	expect(false) // our own does not count
	if err := n.Primary().Unlock(); err != nil {
		t.Fatal(err)
	}
	held, release := hold(t, filepath.Join(dir, "serverlock.1"))
	if !held {
		t.Fatal("not held")
	}
	expect(true)
	if err := n.Primary().Reassert(); !errors.Is(err, ErrHeld) {
		t.Errorf("got %v", err)
	}
	release()
	expect(false)
}
