package crash

import (
	"path"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal/fs"
)

// prepareLarge prepares a branch that sends a large message to address q.
func prepareLarge(t *testing.T, n *node) (*brokertest.Client, broker.Xid) {
	t.Helper()
	c, x := n.Connect(broker.SessionOptions{XA: true}), broker.Xid{Format: 1, Global: "large", Branch: "b"}
	c.Act(func(w *broker.Work) {
		if err := c.XAStart(w, x); err != nil {
			t.Fatal(err)
		}
	})
	if err := c.SendLarge(brokertest.Text("q", "", message.Anycast), make([]byte, 3000)); err != nil {
		t.Fatal(err)
	}
	if err := c.XAEnd(x); err != nil {
		t.Fatal(err)
	}
	if err := c.Do(func(w *broker.Work, a broker.Answer) { c.XAPrepare(w, x, a) }); err != nil {
		t.Fatal(err)
	}
	return c, x
}

func bodyFiles(t *testing.T, mem *fs.Mem) (n int) {
	t.Helper()
	names, err := mem.List("/data/large-messages")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".msg") {
			n++
		}
	}
	return n
}

// Until the rollback of a prepared branch is on disk a crash leaves the branch in doubt: its bodies must be there.
func TestRolledBackBodiesGoBehindTheRollback(t *testing.T) {
	synctest.Test(t, rollBackLarge)
}

func rollBackLarge(t *testing.T) {
	mem := fs.NewMem()
	faulty := fs.NewFaulty(mem)
	n, err := openNode(t, smallFiles(faulty), brokertest.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	n.CreateAnycast("q")
	c, x := prepareLarge(t, n)
	writing, goOn := make(chan bool, 100), make(chan bool)
	faulty.SetHook(func(op fs.Op, name string) {
		if op == fs.OpWrite && strings.HasPrefix(path.Base(name), "activemq-data-") {
			writing <- true
			<-goOn
		}
	})
	done := make(chan error)
	go func() {
		done <- c.Do(func(w *broker.Work, a broker.Answer) {
			if err := c.XARollback(w, x, a); err != nil {
				t.Errorf("roll back: %v", err)
			}
		})
	}()
	<-writing
	synctest.Wait() // for whoever wants to remove the file too early
	if got := bodyFiles(t, mem); got != 1 {
		t.Errorf("%d bodies while the rollback is being written", got)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	brokertest.Until(t, "the body to be removed", func() bool { return bodyFiles(t, mem) == 0 })
	c.Disconnect(false)
	n.stopClean()
}

// The end of the broker leaves the bodies of a prepared branch alone, also those of the copies that diverts made.
func TestBodiesOfABranchOutliveTheBroker(t *testing.T) {
	synctest.Test(t, restartLarge)
}

func restartLarge(t *testing.T) {
	mem := fs.NewMem()
	n, err := openNode(t, smallFiles(mem), brokertest.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	queues := []string{"q", "copy"}
	for _, q := range queues {
		n.CreateAnycast(q)
	}
	if err := n.CreateDivert(broker.DivertConfig{Name: "d", Address: "q", ForwardAddress: "copy", RoutingType: broker.DivertPass}, true); err != nil {
		t.Fatal(err)
	}
	c, x := prepareLarge(t, n)
	before := bodyFiles(t, mem)
	c.Disconnect(false)
	n.stopClean()
	synctest.Wait() // files are removed behind
	if got := bodyFiles(t, mem); got != before || got != len(queues) {
		t.Errorf("%d bodies after the end, %d before", got, before)
	}
	if n, err = openNode(t, smallFiles(mem), brokertest.Epoch); err != nil {
		t.Fatal(err)
	}
	c = n.Connect(broker.SessionOptions{XA: true})
	if err := c.Do(func(w *broker.Work, a broker.Answer) {
		if err := c.XACommit(w, x, false, a); err != nil {
			t.Errorf("commit: %v", err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	for _, q := range queues {
		k, err := n.Connect(brokertest.AutoCommit).Consume(broker.ConsumerOptions{Queue: q}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := k.Wait(1)[0]; got.Large != 3000 {
			t.Errorf("%s: a body of %d bytes", q, got.Large)
		}
	}
	n.stopClean()
}
