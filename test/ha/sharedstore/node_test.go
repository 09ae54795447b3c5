package sharedstore

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/ha/sharedstore"
	"github.com/saranga-mq/saranga/journal/lock"
)

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
	n, err := sharedstore.Open(sharedstore.Options{Dir: dir, LockTimeout: -1})
	if err != nil {
		return err
	}
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
		default:
			err = fmt.Errorf("no command %q", in.Text())
		}
		if err != nil {
			answer = "error " + err.Error()
		}
		fmt.Println(answer)
	}
	return n.Close()
}

// node is Saranga's half.
type node struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out chan string
}

func startNode(t *testing.T, dir string) *node {
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
	n := &node{t, c, in, make(chan string, 16)}
	go func() { // ends with the process
		for s := bufio.NewScanner(out); s.Scan(); {
			n.out <- s.Text()
		}
		close(n.out)
	}()
	t.Cleanup(n.kill)
	return n
}

func (n *node) begin(command string) { fmt.Fprintln(n.in, command) }

func (n *node) answer(within time.Duration) string {
	n.t.Helper()
	select {
	case s := <-n.out:
		return s
	case <-time.After(within):
		n.t.Fatalf("no answer within %v", within)
		return ""
	}
}

func (n *node) do(command string) string {
	n.t.Helper()
	n.begin(command)
	return n.answer(10 * time.Second)
}

func (n *node) ok(commands ...string) {
	n.t.Helper()
	for _, c := range commands {
		if a := n.do(c); a != "ok" {
			n.t.Fatalf("%s: %s", c, a)
		}
	}
}

// waits tells that the command under way does not end meanwhile.
func (n *node) waits(while time.Duration) {
	n.t.Helper()
	select {
	case s := <-n.out:
		n.t.Fatalf("it did not wait: %s", s)
	case <-time.After(while):
	}
}

func (n *node) kill() {
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait()
}

// lockFile is what server.lock holds, and when it was changed.
type lockFile struct {
	state lock.State
	id    string
	at    time.Time
}

func readLock(t *testing.T, dir string) lockFile {
	t.Helper()
	name := filepath.Join(dir, "server.lock")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	i, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) != 19 || string(b[1:3]) != "00" {
		t.Fatalf("server.lock %x", b)
	}
	return lockFile{lock.State(b[0]), lock.UUID(b[3:]).String(), i.ModTime()}
}

func expectState(t *testing.T, dir string, want lock.State) {
	t.Helper()
	if got := readLock(t, dir).state; got != want {
		t.Errorf("state %c, want %c", got, want)
	}
}

// eventually waits for something that another process does.
func eventually(t *testing.T, what string, within time.Duration, is func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		if time.Since(began) > within {
			t.Fatalf("not within %v: %s", within, what)
		}
		<-tick.C
	}
	return time.Since(began)
}
