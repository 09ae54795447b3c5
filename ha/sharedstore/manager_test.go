package sharedstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/journal/lock"
)

// A record lock does not hold against its own process, so the other node is this binary again, told what to do by lines.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SHAREDSTORE_NODE"); dir != "" {
		if err := serve(dir); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serve carries out one command a line and answers each with a line.
func serve(dir string) error {
	n, err := Open(Options{Dir: dir, LockTimeout: -1})
	if err != nil {
		return err
	}
	n.pause = quick
	ctx := context.Background()
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var err error
		answer := "ok"
		switch in.Text() {
		case "primary":
			err = n.StartPrimary(ctx)
		case "activate":
			err = n.Activate()
		case "backup":
			err = n.StartBackup(ctx)
		case "await-primary":
			err = n.AwaitPrimary(ctx)
		case "await-active":
			err = n.AwaitActive(ctx)
		case "release":
			err = n.Release(false)
		case "pause":
			err = n.Release(true)
		case "release-backup":
			err = n.ReleaseBackup()
		case "check":
			err = n.Check()
		case "id":
			answer = n.NodeID()
		case "wanted":
			var w bool
			w, err = n.AwaitingFailback()
			answer = fmt.Sprint(w)
		}
		if err != nil {
			answer = "error " + err.Error()
		}
		fmt.Println(answer)
	}
	return n.Close()
}

// quick is a pause for tests, where 2 s are 20 ms.
func quick(ctx context.Context, d time.Duration) error { return pause(ctx, d/100) }

// other is the other node.
type other struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out chan string
}

func start(t *testing.T, dir string) *other {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "SHAREDSTORE_NODE="+dir)
	c.Stderr = os.Stderr
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
	o := &other{t, c, in, make(chan string, 16)}
	go func() { // ends with the process
		for s := bufio.NewScanner(out); s.Scan(); {
			o.out <- s.Text()
		}
		close(o.out)
	}()
	t.Cleanup(o.kill)
	return o
}

func (o *other) begin(command string) { fmt.Fprintln(o.in, command) }

func (o *other) answer() string {
	o.t.Helper()
	select {
	case s := <-o.out:
		return s
	case <-time.After(20 * time.Second):
		o.t.Fatal("no answer")
		return ""
	}
}

func (o *other) do(command string) string {
	o.t.Helper()
	o.begin(command)
	return o.answer()
}

func (o *other) ok(commands ...string) {
	o.t.Helper()
	for _, c := range commands {
		if a := o.do(c); a != "ok" {
			o.t.Fatalf("%s: %s", c, a)
		}
	}
}

// waits tells that the command has not ended after a while.
func (o *other) waits(while time.Duration) {
	o.t.Helper()
	select {
	case s := <-o.out:
		o.t.Fatalf("it did not wait: %s", s)
	case <-time.After(while):
	}
}

func (o *other) kill() {
	_ = o.cmd.Process.Kill()
	_ = o.cmd.Wait()
}

func state(t *testing.T, dir string, want lock.State) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "server.lock"))
	if err != nil || len(b) != 19 || lock.State(b[0]) != want || string(b[1:3]) != "00" {
		t.Errorf("server.lock %x, %v, want state %c", b, err, want)
	}
}

func modified(t *testing.T, dir string) time.Time {
	t.Helper()
	i, err := os.Stat(filepath.Join(dir, "server.lock"))
	if err != nil {
		t.Fatal(err)
	}
	return i.ModTime()
}

// spec ha §4.2, §4.3, rows 19 to 21, between two Sarangas.
func TestFailoverAndFailback(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	b := start(t, dir)
	if p.do("id") != b.do("id") {
		t.Error("two nodes on one folder have two ids")
	}
	state(t, dir, lock.FirstTime)

	// A backup alone waits, whatever happens to lock 1: nobody was ever active.
	b.ok("backup")
	b.begin("await-primary")
	b.waits(100 * time.Millisecond)
	p.ok("primary")
	state(t, dir, lock.FailingBack)
	p.ok("activate", "check")
	state(t, dir, lock.Live)
	b.waits(700 * time.Millisecond)

	// A second backup queues for lock 2.
	b2 := start(t, dir)
	b2.begin("backup")
	b2.waits(700 * time.Millisecond)

	// kill -9: the state stays L, the file is touched.
	before := modified(t, dir)
	began := time.Now()
	p.kill()
	if a := b.answer(); a != "ok" {
		t.Fatal(a)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("takeover after %v", took)
	}
	state(t, dir, lock.Live)
	if !modified(t, dir).After(before) {
		t.Error("server.lock was not touched")
	}
	b.ok("check", "release-backup")
	if a := b2.answer(); a != "ok" {
		t.Fatal(a)
	}
	b2.begin("await-primary")
	b2.waits(100 * time.Millisecond)
	b2.kill()

	// Failback: F, the active one goes, L, and it is the backup again.
	p = start(t, dir)
	if b.do("wanted") != "false" {
		t.Error("a primary is wanted back before there is one")
	}
	p.begin("primary")
	for deadline := time.Now().Add(5 * time.Second); b.do("wanted") != "true"; {
		if time.Now().After(deadline) {
			t.Fatal("state F is not seen")
		}
	}
	b.ok("check") // F is no takeover
	p.waits(100 * time.Millisecond)
	b.ok("release")
	b.begin("await-active")
	b.waits(100 * time.Millisecond)
	if a := p.answer(); a != "ok" {
		t.Fatal(a)
	}
	state(t, dir, lock.FailingBack)
	p.ok("activate")
	if a := b.answer(); a != "ok" {
		t.Fatal(a)
	}
	b.ok("backup")
	b.begin("await-primary")
	b.waits(100 * time.Millisecond)

	// A clean stop: P, the backup stays where it is.
	p.ok("pause")
	state(t, dir, lock.Paused)
	b.waits(1200 * time.Millisecond)
	p.ok("primary", "activate")
	state(t, dir, lock.Live)

	// A stop that lets the backup take over.
	p.ok("release")
	if a := b.answer(); a != "ok" {
		t.Fatal(a)
	}
	state(t, dir, lock.Live)
}

// The holder notices that somebody took over: what a network file system makes possible is made here by hand.
func TestLostLock(t *testing.T) {
	open := func(t *testing.T) (*NodeManager, string) {
		dir := t.TempDir()
		n, err := Open(Options{Dir: dir, LockTimeout: 0})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = n.Close() })
		n.pause = quick
		if err := errors.Join(n.StartPrimary(t.Context()), n.Activate(), n.Check()); err != nil {
			t.Fatal(err)
		}
		return n, dir
	}
	for name, take := range map[string]func(t *testing.T, dir string) error{
		"touched": func(t *testing.T, dir string) error {
			later := time.Now().Add(time.Second)
			return os.Chtimes(filepath.Join(dir, "server.lock"), later, later)
		},
		"server.lock is gone":  func(t *testing.T, dir string) error { return os.Remove(filepath.Join(dir, "server.lock")) },
		"serverlock.1 is gone": func(t *testing.T, dir string) error { return os.Remove(filepath.Join(dir, "serverlock.1")) },
		"serverlock.1 is replaced": func(t *testing.T, dir string) error {
			name := filepath.Join(dir, "serverlock.1")
			return errors.Join(os.Rename(name, name+".old"), os.WriteFile(name, nil, 0o600))
		},
		"another process has the lock": func(t *testing.T, dir string) error {
			// Closing any descriptor of the file lets go of the lock: pitfall 22.
			f, err := os.Open(filepath.Join(dir, "serverlock.1"))
			if err != nil {
				return err
			}
			_ = f.Close()
			start(t, dir).ok("primary")
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, dir := open(t)
			now := quorum.Instant(time.Hour)
			if err := n.Verify(now); err != nil {
				t.Fatal(err)
			}
			if err := take(t, dir); err != nil {
				t.Fatal(err)
			}
			if err := n.Verify(now.Add(900 * time.Millisecond)); err != nil {
				t.Errorf("a batch without a pause is not checked: %v", err)
			}
			if err := n.Verify(now.Add(3 * time.Second)); !errors.Is(err, lock.ErrLost) {
				t.Errorf("verify after a pause: %v", err)
			}
			if err := n.Verify(now.Add(3*time.Second + 1)); !errors.Is(err, lock.ErrLost) {
				t.Errorf("verify again: %v", err)
			}
			if err := n.Monitor(t.Context()); !errors.Is(err, lock.ErrLost) {
				t.Errorf("monitor: %v", err)
			}
		})
	}
}

func TestMonitor(t *testing.T) {
	dir := t.TempDir()
	n, err := Open(Options{Dir: dir, LockTimeout: 0, MonitorRetries: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if err := errors.Join(n.StartPrimary(t.Context()), n.Activate()); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "serverlock.1")
	checks := 0
	n.pause = func(ctx context.Context, d time.Duration) error {
		if d != 2*time.Second {
			t.Errorf("pause of %v, want journal-lock-monitor-timeout's default", d)
		}
		var err error
		switch checks++; checks {
		case 2:
			err = os.Rename(name, name+".away") // fails twice, which is tolerated
		case 4:
			err = os.Rename(name+".away", name)
		case 5:
			err = os.Remove(name)
		}
		if err != nil {
			t.Error(err)
		}
		return nil
	}
	if err := n.Monitor(t.Context()); !errors.Is(err, lock.ErrLost) || checks != 7 {
		t.Errorf("%v after %d checks, want the third failure in a row, the seventh check", err, checks)
	}
	n.pause = pause
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.Monitor(ctx); err != nil {
		t.Errorf("the end of the context: %v", err)
	}
}

func TestWaitsEnd(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	p.ok("primary", "activate")
	n, err := Open(Options{Dir: dir, LockTimeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if held, err := n.PrimaryLockHeld(); err != nil || !held {
		t.Errorf("held %v, %v", held, err)
	}
	if err := n.StartPrimary(t.Context()); !errors.Is(err, ErrTimeout) || !errors.Is(err, lock.ErrHeld) || !strings.Contains(err.Error(), "primary lock") {
		t.Errorf("journal-lock-acquisition-timeout: %v", err)
	}
	if err := n.Release(true); err != nil {
		t.Error(err)
	}
	state(t, dir, lock.FailingBack) // who does not hold the lock writes no P
	p.kill()
	if held, err := n.PrimaryLockHeld(); err != nil || held {
		t.Errorf("held %v, %v", held, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := n.StartBackup(ctx); err != nil {
		t.Fatal(err)
	}
	if err := n.AwaitPrimary(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("state F, nobody active: %v", err)
	}
	if err := n.AwaitActive(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody becomes active: %v", err)
	}
	if held, err := n.PrimaryLockHeld(); err != nil || held || n.node.Primary().Held() {
		t.Errorf("lock 1 was kept although the state is F: %v, %v", held, err)
	}
	if n.node.Check() == nil {
		t.Error("a node without the lock may be active")
	}
}

func BenchmarkVerify(b *testing.B) {
	n, err := Open(Options{Dir: b.TempDir(), LockTimeout: 0})
	if err != nil {
		b.Fatal(err)
	}
	defer n.Close()
	if err := errors.Join(n.StartPrimary(b.Context()), n.Activate()); err != nil {
		b.Fatal(err)
	}
	b.Run("busy", func(b *testing.B) {
		for b.Loop() {
			if err := n.Verify(1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("after a pause", func(b *testing.B) {
		now := quorum.Instant(1)
		for b.Loop() {
			now = now.Add(time.Hour)
			if err := n.Verify(now); err != nil {
				b.Fatal(err)
			}
		}
	})
}
