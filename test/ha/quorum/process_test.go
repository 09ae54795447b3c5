package quorum

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/test/peers"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/client"
	"github.com/saranga-mq/saranga/wire/transport"
)

const patience = 2 * time.Minute // for a JVM on a busy machine

// A node is a process of a group or a pair: a broker, a witness, or both.
type node struct {
	t        *testing.T
	name     string
	instance peers.Instance
	command  []string
	java     bool // it ends with the signal's code
	log      string
	from     int64 // where the log of the last start begins
	cmd      *exec.Cmd
	exited   chan struct{}
}

// broker is a node that runs an instance as its product does.
func broker(t *testing.T, name string, b peers.Broker, i peers.Instance) *node {
	n := &node{t: t, name: name, instance: i, log: filepath.Join(t.TempDir(), name+".log")}
	if s, ok := b.(peers.Saranga); ok {
		n.command = []string{s.Binary, "run", "--instance", i.Dir}
	} else {
		n.command, n.java = []string{filepath.Join(i.Dir, "bin", "artemis"), "run"}, true
	}
	return n
}

// witness is a node that runs the quorum member of a folder.
func witness(t *testing.T, name, dir string) *node {
	return &node{t: t, name: name, instance: peers.Instance{Dir: dir}, log: filepath.Join(t.TempDir(), name+".log"),
		command: []string{peers.UnderTest(t).Binary, "quorum", "run", "--instance", dir}}
}

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
	cmd, exited := exec.Command(n.command[0], n.command[1:]...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.cmd, n.exited = cmd, exited
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
			n.t.Logf("output of %s:\n%s", n.name, text)
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
	if code := n.ended(); code != 0 && !n.java {
		n.t.Errorf("%s ended with %d", n.name, code)
	}
}

// ended waits for the process and returns its exit code.
func (n *node) ended() int {
	n.t.Helper()
	select {
	case <-n.exited:
	case <-time.After(patience):
		n.t.Fatalf("%s does not end", n.name)
	}
	return n.cmd.ProcessState.ExitCode()
}

func (n *node) said(text string) bool {
	all, err := os.ReadFile(n.log)
	return err == nil && strings.Contains(string(all[min(n.from, int64(len(all))):]), text)
}

// says waits for a text in the log since the last start, or since forget.
func (n *node) says(text string) {
	n.t.Helper()
	await(n.t, n.name+" to say "+text, patience, func() bool {
		select {
		case <-n.exited:
			return n.said(text) || n.gone()
		default:
		}
		return n.said(text)
	})
}

func (n *node) gone() bool {
	n.t.Helper()
	n.t.Fatalf("%s has ended", n.name)
	return false
}

// forget has what was said so far not count any more.
func (n *node) forget() {
	if i, err := os.Stat(n.log); err == nil {
		n.from = i.Size()
	}
}

// open tells whether the acceptor is.
func (n *node) open() bool {
	c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", n.instance.Port), time.Second)
	if err != nil {
		return false
	}
	return c.Close() == nil
}

// serves waits for the acceptor and tells how long that took.
func (n *node) serves() {
	n.t.Helper()
	began := time.Now()
	await(n.t, n.name+" to serve", patience, func() bool {
		select {
		case <-n.exited:
			return n.gone()
		default:
		}
		return n.open()
	})
	n.t.Logf("%s serves after %v", n.name, time.Since(began).Round(time.Millisecond))
}

// edit changes a text in a file of the etc folder.
func (n *node) edit(file, old, new string) {
	n.t.Helper()
	text, err := os.ReadFile(n.instance.Etc(file))
	if err != nil {
		n.t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		n.t.Fatalf("there is no %q in %s of %s:\n%s", old, file, n.name, text)
	}
	if err := n.instance.WriteEtc(file, strings.ReplaceAll(string(text), old, new)); err != nil {
		n.t.Fatal(err)
	}
}

// quorum runs a command of the quorum for the node's member.
func (n *node) quorum(command string, args ...string) (string, error) {
	args = append([]string{"quorum", command, "--instance", n.instance.Dir}, args...)
	out, err := exec.Command(peers.UnderTest(n.t).Binary, args...).CombinedOutput()
	return string(out), err
}

// shows waits until a command says something.
func (n *node) shows(want, command string, args ...string) {
	n.t.Helper()
	var out string
	defer func() {
		if n.t.Failed() {
			n.t.Logf("%s of %s: %s", command, n.name, out)
		}
	}()
	await(n.t, command+" to show "+want, patience, func() bool {
		out, _ = n.quorum(command, args...)
		return strings.Contains(out, want)
	})
}

// leader is the id of the member that leads.
func (n *node) leader() string {
	n.t.Helper()
	var s struct{ Leader string }
	await(n.t, "a leader", patience, func() bool {
		out, _ := n.quorum("status", "--json")
		return json.Unmarshal([]byte(out), &s) == nil && s.Leader != ""
	})
	return s.Leader
}

// lead transfers until that member leads.
func (n *node) lead(id string) {
	n.t.Helper()
	await(n.t, id+" to lead", patience, func() bool {
		if n.leader() == id {
			return true
		}
		_, _ = n.quorum("transfer")
		return false
	})
}

// texts are messages that were acknowledged to their producer.
type texts struct {
	t    *testing.T
	sent map[string]bool
}

const queueName = "orders"

func (x *texts) session(n *node) (*client.Conn, *client.Session, context.Context) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.t.Context()), patience)
	x.t.Cleanup(cancel)
	conn, err := client.Dial(ctx, client.Config{Hosts: []transport.ConnectorOptions{{Host: "127.0.0.1", Port: n.instance.Port}}, User: "admin", Password: "admin", InitialConnectAttempts: 1, BlockOnAcknowledge: true})
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { conn.Close() })
	s, err := conn.NewSession(ctx, client.SessionOptions{AutoCommitSends: true, AutoCommitAcks: true})
	if err != nil {
		x.t.Fatal(err)
	}
	return conn, s, ctx
}

// put sends durable messages, each after the last was acknowledged.
func (x *texts) put(n *node, count int) {
	x.t.Helper()
	conn, s, ctx := x.session(n)
	defer conn.Close()
	if err := s.CreateSharedQueue(ctx, client.QueueOptions{Name: queueName, Durable: true, RoutingType: core.RoutingAnycast}); err != nil {
		x.t.Fatal(err)
	}
	p, err := s.NewProducer(ctx, queueName)
	if err != nil {
		x.t.Fatal(err)
	}
	for range count {
		text := fmt.Sprint(len(x.sent))
		if err := p.Send(ctx, brokertest.Text(queueName, text, message.Anycast)); err != nil {
			x.t.Fatal(err)
		}
		x.sent[text] = true
	}
}

// take takes all that is there: exactly what was sent.
func (x *texts) take(n *node) {
	x.t.Helper()
	conn, s, ctx := x.session(n)
	defer conn.Close()
	c, err := s.NewConsumer(ctx, queueName, client.ConsumerOptions{})
	if err := errors.Join(err, s.Start(ctx)); err != nil {
		x.t.Fatal(err)
	}
	want := len(x.sent)
	for {
		m, err := c.ReceiveTimeout(ctx, 0)
		if err != nil {
			x.t.Fatal(err)
		}
		if m == nil {
			break
		}
		text, _ := m.Text()
		if !x.sent[text] {
			x.t.Errorf("%q came twice or was never sent", text)
		}
		delete(x.sent, text)
		if err := m.Ack(); err != nil {
			x.t.Fatal(err)
		}
	}
	if len(x.sent) > 0 {
		x.t.Errorf("of %d acknowledged messages %d are lost", want, len(x.sent))
	}
	x.t.Logf("%d messages, %d lost", want, len(x.sent))
	x.sent = map[string]bool{}
}

const (
	synced    = "AMQ221024" // a backup has everything
	announced = "AMQ221031" // and the cluster knows
)
