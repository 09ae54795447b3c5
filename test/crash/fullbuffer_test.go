package crash

import (
	"fmt"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal/fs"
)

// TestFullBuffer stops the disk until the journal's buffers are full and appends wait, and lets acknowledgements, expiry,
// evictions of a ring and dead letters happen on one queue meanwhile. Whoever waits for the journal holds no lock that
// somebody else needs: all locks can be taken, and everything ends when the disk goes on.
func TestFullBuffer(t *testing.T) {
	const ring, each = 40, 8
	mem := fs.NewMem()
	faulty := fs.NewFaulty(mem)
	o := smallFiles(faulty)
	o.FileSize, o.BufferSize, o.CompactMinFiles = 1<<20, 1<<18, 0
	n, err := openNode(t, o, brokertest.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	h := NewHistory(nil, nil)
	for _, q := range []string{"DLQ", "ExpiryQueue", "big"} {
		if err := n.createQueue(h, q, q, message.Anycast); err != nil {
			t.Fatal(err)
		}
	}
	cfg := n.DefaultQueue("dead.ring", "dead.ring")
	cfg.Routing, cfg.RingSize = message.Anycast, ring
	q, err := n.CreateQueue(cfg, broker.CreateOptions{AutoCreateAddress: true})
	if err != nil {
		t.Fatal(err)
	}
	auto := n.actor(h, brokertest.AutoCommit)
	for i := range ring {
		m := brokertest.Text("dead.ring", fmt.Sprint("m", i), message.Anycast)
		if i >= ring-each {
			m.Expiration = n.clock.Now() + 500
		}
		if answered, err := auto.ask(auto.post(auto.build(m))); !answered || err != nil {
			t.Fatalf("send: %v", err)
		}
	}
	acking, rolling := n.actor(h, brokertest.AutoCommit), n.actor(h, broker.SessionOptions{})
	ackSink, toAck := acking.receive("dead.ring", each)
	rollSink, toRoll := rolling.receive("dead.ring", each)
	if len(toAck) != each || len(toRoll) != each {
		t.Fatalf("received %d and %d messages", len(toAck), len(toRoll))
	}
	// what a rollback of their transaction makes dead letters
	if _, err := rolling.ask(func(w *broker.Work, a broker.Answer) { rolling.Acknowledge(w, rollSink.ID, toRoll[each-1].ID, true, a) }); err != nil {
		t.Fatal(err)
	}

	gate := make(chan struct{})
	faulty.SetHook(func(op fs.Op, name string) {
		if op == fs.OpWrite && strings.HasPrefix(path.Base(name), "activemq-data-") {
			<-gate
		}
	})
	var busy sync.WaitGroup
	const fillers = 60 // of 60 KB: more than one buffer of 1 MiB takes, and the one that is being written
	var sent atomic.Int32
	filler := n.actor(h, brokertest.AutoCommit)
	busy.Go(func() {
		for i := range fillers {
			filler.Act(filler.send60K(i))
			sent.Add(1)
		}
	})
	stands := int32(0)
	still := 0
	brokertest.Until(t, "the buffers to be full", func() bool {
		if now := sent.Load(); now != stands {
			stands, still = now, 0
		}
		still++
		return stands > 10 && still > 200
	})
	if stands == fillers {
		t.Fatalf("all %d sends found room", stands)
	}

	var over atomic.Int32
	meanwhile := func(a *actor, do func(a *actor, w *broker.Work)) {
		busy.Go(func() {
			a.Act(func(w *broker.Work) { do(a, w) })
			over.Add(1)
		})
	}
	meanwhile(acking, func(a *actor, w *broker.Work) {
		for _, d := range toAck {
			a.Acknowledge(w, ackSink.ID, d.ID, false, broker.Answer{Kind: 1, ID: 1})
		}
	})
	meanwhile(rolling, func(a *actor, w *broker.Work) { a.Rollback(w, true, broker.Answer{Kind: 1, ID: 1}) })
	for i := range 4 { // more than fit in the ring
		meanwhile(n.actor(h, brokertest.AutoCommit), func(a *actor, w *broker.Work) {
			for k := range each {
				a.post(a.build(brokertest.Text("dead.ring", fmt.Sprint("new", i, "-", k), message.Anycast)))(w, broker.Answer{Kind: 1, ID: 1})
			}
		})
	}
	busy.Go(func() {
		n.Advance(2000)
		over.Add(1)
	})
	// The other direction: consumers come and go, and somebody looks.
	watcher := n.actor(h, brokertest.AutoCommit)
	for range 20 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			n.Probe(func(string, string) {})
			q.Counts()
			if err := q.Browse("", func(*message.Message, int32) bool { return true }); err != nil {
				t.Error(err)
			}
			k, err := watcher.Consume(broker.ConsumerOptions{Queue: "dead.ring", Browse: true}, broker.Unlimited)
			if err != nil {
				t.Error(err)
			} else {
				watcher.leave(k)
			}
		}()
		brokertest.Until(t, "all locks to be free while the journal's buffers are full", func() bool {
			select {
			case <-done:
				return true
			default:
				return false
			}
		})
	}
	if over.Load() == 7 {
		t.Error("nobody waited for the journal: the test proves nothing")
	}

	close(gate)
	ended := make(chan struct{})
	go func() { busy.Wait(); close(ended) }()
	brokertest.Until(t, "everything to end when the disk goes on", func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	acking.leave(ackSink)
	rolling.leave(rollSink)
	brokertest.Until(t, "dead letters and expired messages", func() bool {
		return n.Queue("DLQ").MessageCount() == each && n.Queue("big").MessageCount() == fillers && q.MessageCount() <= ring
	})
	if err := n.Sync(); err != nil {
		t.Fatal(err)
	}
	// What is left: nothing twice, nothing of what was acknowledged.
	seen := map[string]int{}
	for _, q := range n.Queues() {
		if err := q.Browse("", func(m *message.Message, _ int32) bool {
			id, _ := m.TextBody()
			seen[id]++
			return true
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range toAck {
		if seen[d.Text] != 0 {
			t.Errorf("%s was acknowledged and is there", d.Text)
		}
	}
	for _, d := range toRoll {
		if seen[d.Text] != 1 {
			t.Errorf("%s is there %d times, want once, as a dead letter", d.Text, seen[d.Text])
		}
	}
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%s is there %d times", id, times)
		}
	}
	drainer := n.actor(h, brokertest.AutoCommit)
	brokertest.Until(t, "all queues to be empty", func() bool {
		for _, q := range n.Queues() {
			k, got := drainer.receive(q.Name(), broker.Unlimited)
			if len(got) > 0 {
				if err := drainer.ack(k, q.Name(), got); err != nil {
					t.Error(err)
				}
			}
			drainer.leave(k)
		}
		return n.Total().Messages() == 0
	})
	for _, a := range []*actor{auto, acking, rolling, filler, watcher, drainer} {
		a.Disconnect(false)
	}
	n.stopClean()
	again, err := openNode(t, o, n.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	after, _ := again.observe()
	for c := range after {
		if c.Queue != theQueues {
			t.Errorf("%v is back after a restart", c)
		}
	}
	again.stopClean()
}

func (a *actor) send60K(i int) func(w *broker.Work) {
	m := brokertest.Text("big", fmt.Sprint("big", i), message.Anycast)
	m.Set("filler", strings.Repeat("y", 30_000))
	built := a.build(m)
	return func(w *broker.Work) { a.post(built)(w, broker.Answer{Kind: 1, ID: int64(i)}) }
}
