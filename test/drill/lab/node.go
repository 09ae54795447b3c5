package lab

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
)

// Patience is how long anything is waited for: a JVM on a busy machine takes its time.
const Patience = 2 * time.Minute

// Until waits for something.
func Until(t testing.TB, what string, f func() bool) {
	t.Helper()
	began := time.Now()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("waited %s for %s", Patience, what)
		}
	}
	t.Logf("%s: after %v", what, time.Since(began).Round(time.Millisecond))
}

// What nodes of both products say.
const (
	Active    = "AMQ221007" // it is active
	Waiting   = "AMQ221109" // it is passive
	Sending   = "AMQ221025" // an active node sends a file to its backup
	Synced    = "AMQ221024" // a backup has everything
	Announced = "AMQ221031" // and the cluster knows
	GivesWay  = "AMQ221008" // a shared store: the primary is back
)

// A Product is a broker program.
type Product string

// Products.
const (
	Saranga Product = "saranga"
	Artemis Product = "artemis"
)

func (p Product) broker(t testing.TB) peers.Broker {
	t.Helper()
	if p == Saranga {
		return peers.UnderTest(t)
	}
	return peers.RealArtemis(t)
}

// A Node is an instance that may run or not.
type Node struct {
	Process  *Process
	Product  Product
	Instance peers.Instance

	t testing.TB
}

// newNode is a node in a folder, whose process is that command.
func newNode(t testing.TB, dir, name string, p Product, i peers.Instance, command ...string) *Node {
	n := &Node{t: t, Product: p, Instance: i, Process: &Process{
		Name: name, Log: filepath.Join(dir, name+".log"), Command: func() *exec.Cmd { return exec.Command(command[0], command[1:]...) },
	}}
	t.Cleanup(func() {
		_ = n.Process.Signal(syscall.SIGCONT)
		n.Process.Kill()
		if t.Failed() {
			t.Logf("output of the %s:\n%s", name, n.Process.Tail(64<<10))
		}
	})
	return n
}

// NewNode lays out an instance with the product's own create command. What a test wants of every instance is set: redelivery without end,
// and journal files small enough to be rolled.
func NewNode(t testing.TB, dir, name string, p Product, flags ...string) *Node {
	t.Helper()
	b := p.broker(t)
	i, err := b.Create(t.Context(), filepath.Join(dir, name), peers.CreateOptions{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	command := []string{filepath.Join(i.Dir, "bin", "artemis"), "run"}
	if s, ok := b.(peers.Saranga); ok {
		command = []string{s.Binary, "run", "--instance", i.Dir}
	}
	n := newNode(t, dir, string(p)+" "+name, p, i, command...)
	n.Replace("broker.xml", regexp.MustCompile(`<journal-file-size>[^<]*<`), "<journal-file-size>1M<")
	n.Replace("broker.xml", regexp.MustCompile(`<address-setting match="#">`), "$0<max-delivery-attempts>-1</max-delivery-attempts>")
	return n
}

// Replace changes all places of a file of the configuration.
func (n *Node) Replace(file string, old *regexp.Regexp, new string) {
	n.t.Helper()
	text, err := os.ReadFile(n.Instance.Etc(file))
	if err != nil {
		n.t.Fatal(err)
	}
	if !old.Match(text) {
		n.t.Fatalf("there is no %q in %s of the %s:\n%s", old, file, n.Process.Name, text)
	}
	if err := n.Instance.WriteEtc(file, old.ReplaceAllString(string(text), new)); err != nil {
		n.t.Fatal(err)
	}
}

// Edit changes a text in its broker.xml.
func (n *Node) Edit(old, new string) {
	n.t.Helper()
	n.Replace("broker.xml", regexp.MustCompile(regexp.QuoteMeta(old)), strings.ReplaceAll(new, "$", "$$"))
}

// Start starts it.
func (n *Node) Start() {
	n.t.Helper()
	if err := n.Process.Start(); err != nil {
		n.t.Fatal(err)
	}
}

// Kill ends it as a crash would.
func (n *Node) Kill() { n.Process.Kill() }

// Stop ends it in good order.
func (n *Node) Stop() {
	n.t.Helper()
	if err := n.Process.Stop(Patience); err != nil {
		n.t.Fatal(err)
	}
}

// Signal sends it a signal.
func (n *Node) Signal(s syscall.Signal) {
	n.t.Helper()
	if err := n.Process.Signal(s); err != nil {
		n.t.Fatal(err)
	}
}

// Ended waits for its end and returns its exit code.
func (n *Node) Ended() int {
	n.t.Helper()
	Until(n.t, "the "+n.Process.Name+" to end", func() bool { return !n.Process.Runs() })
	return n.Process.ExitCode()
}

// runs waits for something that it does only while it runs.
func (n *Node) runs(what string, f func() bool) {
	n.t.Helper()
	Until(n.t, "the "+n.Process.Name+" to "+what, func() bool {
		ended := !n.Process.Runs()
		if f() {
			return true
		}
		if ended {
			n.t.Fatalf("the %s has ended", n.Process.Name)
		}
		return false
	})
}

// Says waits for a text in its output, since it was started or since Forget.
func (n *Node) Says(text string) {
	n.t.Helper()
	n.runs("say "+text, func() bool { return n.Process.Said(text) > 0 })
}

// Forget has what was said so far not count any more.
func (n *Node) Forget() { n.Process.Forget() }

// Open tells whether its acceptor is.
func (n *Node) Open() bool {
	c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", n.Instance.Port), time.Second)
	if err != nil {
		return false
	}
	return c.Close() == nil
}

// Serves waits for its acceptor.
func (n *Node) Serves() {
	n.t.Helper()
	n.runs("serve", n.Open)
}

// ComesBack waits for a node that gave way to be passive again, as text says: Announced with replication, Waiting with a shared store. A
// real Artemis without its web console may end when it gives way with a lock manager, as nothing but daemon threads is left of it then
// (ha §6, 14): it is started again.
func (n *Node) ComesBack(text string) {
	n.t.Helper()
	Until(n.t, "the "+n.Process.Name+" to come back as a backup", func() bool {
		if !n.Process.Runs() {
			if n.Product != Artemis {
				n.t.Fatalf("the %s has ended", n.Process.Name)
			}
			n.Start()
		}
		return n.Process.Said(text) > 0
	})
}

// Sequence is its activation sequence on disk, -1 without one.
func (n *Node) Sequence() int64 {
	b, err := os.ReadFile(filepath.Join(n.Instance.Dir, "data", "journal", "server.activation.sequence"))
	if err != nil || len(b) < 8 {
		return -1
	}
	return int64(binary.BigEndian.Uint64(b))
}
