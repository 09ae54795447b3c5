package pair

import (
	"context"
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

const patience = 2 * time.Minute // for a JVM on a busy machine

// until waits for something.
func until(t testing.TB, what string, f func() bool) {
	t.Helper()
	began := time.Now()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("waited %s for %s", patience, what)
		}
	}
	t.Logf("%s: after %v", what, time.Since(began).Round(time.Millisecond))
}

// A node is one half of a pair: an instance that may run or not.
type node struct {
	t        *testing.T
	name     string
	broker   peers.Broker
	instance peers.Instance
	log      string
	from     int64 // where the log of the last start begins
	cmd      *exec.Cmd
	exited   chan struct{}
}

// brokerOf is Saranga for "saranga", else Artemis.
func brokerOf(t *testing.T, product string) peers.Broker {
	t.Helper()
	if product == "saranga" {
		return peers.UnderTest(t)
	}
	return peers.RealArtemis(t)
}

// A pair is a primary and a backup.
type pair struct{ primary, backup *node }

// newPair lays out two instances that know each other, with those contents of their ha-policy, or the one that flags of the create
// command ask for. flags go to both.
func newPair(t *testing.T, primary, backup, primaryPolicy, backupPolicy string, flags ...string) pair {
	t.Helper()
	create := func(name, product, other string) *node {
		b := brokerOf(t, product)
		all := append([]string{"--clustered", "--cluster-user", "cu", "--cluster-password", "cp", "--name", name, "--staticCluster", other}, flags...)
		n := &node{t: t, name: name + " (" + product + ")", broker: b, log: filepath.Join(t.TempDir(), name+".log")}
		n.instance = peers.NewInstance(t, b, peers.CreateOptions{Flags: all})
		return n
	}
	const nobody = "tcp://127.0.0.1:1"
	p := pair{primary: create("primary", primary, nobody)}
	if primaryPolicy == "" {
		flags = append(flags, "--backup")
	}
	p.backup = create("backup", backup, p.primary.instance.URL())
	p.primary.edit(nobody+"<", p.backup.instance.URL()+"<")
	if primaryPolicy != "" {
		p.primary.policy(primaryPolicy)
		p.backup.policy(backupPolicy)
	}
	return p
}

func (n *node) brokerXML() string { return n.instance.Etc("broker.xml") }

func (n *node) edit(old, new string) {
	n.t.Helper()
	text, err := os.ReadFile(n.brokerXML())
	if err != nil {
		n.t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		n.t.Fatalf("there is no %q in the broker.xml of the %s:\n%s", old, n.name, text)
	}
	if err := n.instance.WriteEtc("broker.xml", strings.ReplaceAll(string(text), old, new)); err != nil {
		n.t.Fatal(err)
	}
}

var sizes = regexp.MustCompile(`<journal-file-size>[^<]*<`)

// policy writes the ha-policy, and journal files small enough to be rolled by a test.
func (n *node) policy(content string) {
	n.t.Helper()
	text, err := os.ReadFile(n.brokerXML())
	if err != nil {
		n.t.Fatal(err)
	}
	xml := sizes.ReplaceAllString(string(text), "<journal-file-size>1M<")
	xml = strings.Replace(xml, "<acceptors>", "<ha-policy>"+content+"</ha-policy>\n<acceptors>", 1)
	if err := n.instance.WriteEtc("broker.xml", xml); err != nil {
		n.t.Fatal(err)
	}
}

// start starts the process.
func (n *node) start() {
	n.t.Helper()
	out, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		n.t.Fatal(err)
	}
	defer out.Close()
	if i, err := out.Stat(); err == nil {
		n.from = i.Size()
	}
	if s, ok := n.broker.(peers.Saranga); ok {
		n.cmd = exec.Command(s.Binary, "run", "--instance", n.instance.Dir)
	} else {
		n.cmd = exec.Command(filepath.Join(n.instance.Dir, "bin", "artemis"), "run")
	}
	n.cmd.Stdout, n.cmd.Stderr = out, out
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	exited, cmd := make(chan struct{}), n.cmd
	n.exited = exited
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	n.t.Cleanup(func() {
		select {
		case <-exited:
		default:
			_ = cmd.Process.Kill()
			<-exited
		}
		if n.t.Failed() && cmd == n.cmd {
			text, _ := os.ReadFile(n.log)
			n.t.Logf("output of the %s:\n%s", n.name, text)
		}
	})
}

// kill ends the process as a crash would.
func (n *node) kill() {
	_ = n.cmd.Process.Kill()
	<-n.exited
}

// stop ends it in good order.
func (n *node) stop() {
	n.t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		n.t.Fatal(err)
	}
	select {
	case <-n.exited:
	case <-time.After(patience):
		n.t.Fatalf("the %s does not stop", n.name)
	}
}

// said tells whether the log has the text since the last start.
func (n *node) said(text string) bool {
	all, err := os.ReadFile(n.log)
	return err == nil && strings.Contains(string(all[min(n.from, int64(len(all))):]), text)
}

// says waits for a text in the log.
func (n *node) says(text string) {
	n.t.Helper()
	until(n.t, "the "+n.name+" to say "+text, func() bool {
		select {
		case <-n.exited:
			n.t.Fatalf("the %s has ended", n.name)
		default:
		}
		return n.said(text)
	})
}

// comesBack waits for a node that gave way to be a backup that everybody knows. A real Artemis without its web console may end
// when it gives way with a lock manager, as nothing but daemon threads is left of it then (ha §6, 14): it is started again.
func (n *node) comesBack() {
	n.t.Helper()
	until(n.t, "the "+n.name+" to come back as a backup", func() bool {
		select {
		case <-n.exited:
			if n.broker.Name() != "artemis" {
				n.t.Fatalf("the %s has ended", n.name)
			}
			n.start()
		default:
		}
		return n.said(announced)
	})
}

// forget has what was said so far not count any more.
func (n *node) forget() {
	if i, err := os.Stat(n.log); err == nil {
		n.from = i.Size()
	}
}

// sequence is the node's activation sequence, -1 without one.
func (n *node) sequence() int64 {
	b, err := os.ReadFile(filepath.Join(n.instance.Dir, "data", "journal", "server.activation.sequence"))
	if err != nil || len(b) < 8 {
		return -1
	}
	return int64(binary.BigEndian.Uint64(b))
}

// open tells whether the acceptor is.
func (n *node) open() bool {
	c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", n.instance.Port), time.Second)
	if err != nil {
		return false
	}
	return c.Close() == nil
}

func (n *node) serves() {
	n.t.Helper()
	until(n.t, "the "+n.name+" to serve", func() bool {
		select {
		case <-n.exited:
			n.t.Fatalf("the %s has ended", n.name)
		default:
		}
		return n.open()
	})
}

func background(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

const (
	synced    = "AMQ221024" // a backup has everything
	announced = "AMQ221031" // and the cluster knows
)
