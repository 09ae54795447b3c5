package primary

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/test/peers"
	"github.com/saranga-mq/saranga/wire/core/client"
	"github.com/saranga-mq/saranga/wire/transport"
)

// fileSize is the journal-file-size of `artemis create`.
const fileSize = 10 << 20

func freePort(t testing.TB) int {
	t.Helper()
	port, err := peers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// passive runs a real backup that finds its primary at port, until the test ends.
func passive(t *testing.T, port int) (i peers.Instance, output func() string) {
	t.Helper()
	i = peers.NewInstance(t, peers.RealArtemis(t), peers.CreateOptions{Flags: []string{"--clustered", "--cluster-user", "cu", "--cluster-password", "cp",
		"--staticCluster", fmt.Sprintf("tcp://127.0.0.1:%d", port), "--replicated", "--backup"}})
	file := filepath.Join(t.TempDir(), "backup.log")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(filepath.Join(i.Dir, "bin", "artemis"), "run")
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	output = func() string {
		text, err := os.ReadFile(file)
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		cmd.Wait()
		kill.Stop()
		if t.Failed() {
			t.Logf("output of the backup:\n%s", output())
		}
	})
	return i, output
}

// A ledger is what was sent, answered and consumed, by text.
type ledger struct {
	mu       sync.Mutex
	sent     map[string]bool
	acked    map[string]bool
	consumed map[string]bool // here, so that nobody may get them any more
}

// produce sends messages one after the other, each when the last one was answered, until stop; of what is under way then
// nobody knows.
func (l *ledger) produce(n *node, name, queue string, stop <-chan struct{}) {
	c := n.Connect(brokertest.AutoCommit)
	for i := 1; ; i++ {
		text := fmt.Sprint(queue, " ", name, "-", i)
		l.mu.Lock()
		l.sent[text] = true
		l.mu.Unlock()
		m := brokertest.Text(queue, text, message.Anycast)
		if i%20 == 0 { // a large one, whose text is a property
			m = message.New(queue, message.Text)
			m.Durable = true
			m.Set("text", text)
			c.PostLarge(m, make([]byte, 150_000), int64(i))
		} else {
			built, err := n.Pool().Build(m)
			if err != nil {
				n.T.Error(err)
				return
			}
			c.Act(func(w *broker.Work) {
				if err := c.Session.Send(w, built, broker.SendOptions{Answer: broker.Answer{Kind: 1, ID: int64(i)}, Routing: message.Unspecified}); err != nil {
					n.T.Error(err)
				}
			})
		}
		tick := time.NewTicker(100 * time.Microsecond)
		for answered := false; !answered; {
			for _, a := range c.Answers() {
				if a.Err != nil {
					n.T.Errorf("%s: %v", text, a.Err)
				}
				answered = a.ID == int64(i)
			}
			if answered {
				l.mu.Lock()
				l.acked[text] = true
				l.mu.Unlock()
				break
			}
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
			}
		}
		tick.Stop()
	}
}

// received is everything in a queue of the broker at port.
func received(t *testing.T, port int, queue string) (out []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := client.Dial(ctx, client.Config{Hosts: []transport.ConnectorOptions{{Host: "127.0.0.1", Port: port}}, User: "admin", Password: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s, err := conn.NewSession(ctx, client.SessionOptions{AutoCommitSends: true, AutoCommitAcks: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.NewConsumer(ctx, queue, client.ConsumerOptions{})
	if err != nil {
		t.Fatalf("consume %s: %v", queue, err)
	}
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := c.ReceiveTimeout(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		if m == nil {
			return out
		}
		out = append(out, textOf(t, m))
		if err := m.Ack(); err != nil {
			t.Fatal(err)
		}
	}
}

// textOf is what a message is known by; of a large one, whose body is checked, a property.
func textOf(t *testing.T, m *client.Message) string {
	t.Helper()
	if !m.IsLarge() {
		text, ok := m.Text()
		if !ok {
			t.Errorf("message %d has no text", m.ID())
		}
		return text
	}
	body, err := m.Body()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, body); n != 150_000 || err != nil {
		t.Errorf("large message %d has %d bytes: %v", m.ID(), n, err)
	}
	v, err := m.Core()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(v.Property("text").Any())
}

// check compares what a broker has with the ledger.
func (l *ledger) check(t *testing.T, got []string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := map[string]bool{}
	for _, text := range got {
		switch {
		case seen[text]:
			t.Errorf("%s came twice", text)
		case !l.sent[text]:
			t.Errorf("%s was never sent", text)
		case l.consumed[text]:
			t.Errorf("%s was consumed before", text)
		}
		seen[text] = true
	}
	missing := 0
	for text := range l.acked {
		if !seen[text] && !l.consumed[text] {
			if missing++; missing < 5 {
				t.Errorf("%s was acknowledged and is not there", text)
			}
		}
	}
	t.Logf("%d sent, %d acknowledged, %d consumed, %d there, %d missing", len(l.sent), len(l.acked), len(l.consumed), len(got), missing)
}

func (l *ledger) answered() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

var queues = []string{"q0", "q1"}

// TestBackupTakesOver: a real backup joins under load, is synchronised, replicates, and, when this node is unplugged under load,
// has all that was acknowledged.
func TestBackupTakesOver(t *testing.T) { takeOver(t, false) }

// TestBackupIsHandedOver: the same with a clean stop.
func TestBackupIsHandedOver(t *testing.T) { takeOver(t, true) }

func takeOver(t *testing.T, clean bool) {
	peers.RealArtemis(t)
	port := freePort(t)
	var instance peers.Instance
	var n *node
	l := &ledger{sent: map[string]bool{}, acked: map[string]bool{}, consumed: map[string]bool{}}
	backupPort := freePort(t) // what the node dials for its cluster; the backup opens no acceptor before it is active
	n = serve(t, port, backupPort, fileSize)
	for _, q := range queues {
		n.createQueue(q)
	}
	stop := make(chan struct{})
	var producing sync.WaitGroup
	produce := func(name string) {
		for _, q := range queues {
			producing.Go(func() { l.produce(n, name, q, stop) })
		}
	}
	produce("a")
	until(t, "messages before the backup", func() bool { return l.answered() > 60 })
	n.consume(t, l, "q0", 10)
	instance, output := passive(t, port)
	n.withReplica(target(t, instance.Port))
	until(t, "the backup to be announced", func() bool { return strings.Contains(output(), "AMQ221031") })
	before := l.answered()
	produce("b")
	until(t, "messages with the backup", func() bool { return l.answered() > before+300 })
	n.consume(t, l, "q1", 20)
	n.createQueue("late")
	before = l.answered()
	until(t, "more messages", func() bool { return l.answered() > before+50 })
	if clean {
		close(stop)
		producing.Wait()
		n.acceptor.Pause()
		n.primary.StopCalled()
		if err := n.Broker.Broker.Stop(); err != nil {
			t.Error(err)
		}
		if !n.primary.FailOver() {
			t.Error("the backup did not answer that it becomes active")
		}
		n.unplug()
	} else {
		n.unplug()
		close(stop)
		producing.Wait()
		if lost := <-n.lost; !lost.Held || !lost.Synchronised {
			t.Errorf("lost: %+v", lost)
		}
	}
	until(t, "the backup to be active", func() bool { return strings.Contains(output(), "AMQ221020") })
	var got []string
	for _, q := range queues {
		got = append(got, received(t, instance.Port, q)...)
	}
	l.check(t, got)
	if late := received(t, instance.Port, "late"); len(late) != 0 {
		t.Errorf("in the new queue: %v", late)
	}
	if text := output(); strings.Contains(text, "ERROR") || strings.Contains(text, "Exception") {
		t.Errorf("the backup complains:\n%s", text)
	}
	if !clean {
		n.stop()
	}
}

// consume takes messages from a queue at this node, so that nobody must get them any more.
func (n *node) consume(t *testing.T, l *ledger, queue string, count int) {
	t.Helper()
	c := n.Connect(brokertest.AutoCommit)
	sink, err := c.Consume(broker.ConsumerOptions{Queue: queue}, int64(count))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "deliveries", func() bool { return len(sink.Got()) == count })
	last := sink.Got()[count-1]
	for _, d := range sink.Got() {
		l.mu.Lock()
		text := d.Text
		if d.Large > 0 {
			text = d.Prop("text")
		}
		l.consumed[text] = true
		l.mu.Unlock()
	}
	if err := c.Do(func(w *broker.Work, a broker.Answer) { c.Acknowledge(w, sink.ID, last.ID, true, a) }); err != nil {
		t.Error(err)
	}
	c.Disconnect(false)
}
