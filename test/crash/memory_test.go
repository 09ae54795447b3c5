package crash

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal/fs"
)

var errCrash = errors.New("crashed")

// A life is one broker that does all that a broker stores: sends to queues and topics, acknowledgements, transactions,
// branches, moves, expiry, dead letters, schedules, duplicate ids, large messages, queues that come, go and are paused. It
// stops where the store fails.
type life struct {
	n    *node
	h    *History
	auto *actor
	tx   *actor
	xa   *actor
}

func (l *life) run() {
	n, h := l.n, l.h
	for _, q := range []string{"DLQ", "ExpiryQueue", "q", "other", "dead.q", "gone"} {
		if n.createQueue(h, q, q, message.Anycast) != nil {
			return
		}
	}
	for _, q := range []string{"sub.a", "sub.b"} {
		if n.createQueue(h, "topic", q, message.Multicast) != nil {
			return
		}
	}
	l.auto, l.tx, l.xa = n.actor(h, brokertest.AutoCommit), n.actor(h, broker.SessionOptions{}), n.actor(h, broker.SessionOptions{XA: true})
	for turn := range 4 {
		for _, step := range []func(string) error{l.sends, l.acks, l.large, l.transactions, l.branches, l.duplicates, l.moves, l.expiry, l.deadLetters, l.queues} {
			if step(fmt.Sprint(turn)); n.failure() != nil {
				return
			}
		}
	}
}

func (l *life) sends(turn string) error {
	for i := range 6 {
		if err := l.auto.send("q", fmt.Sprint("m", turn, i), []string{"q"}, nil); err != nil {
			return err
		}
	}
	if err := l.auto.send("q", "s"+turn, []string{"q"}, func(m *message.Builder) { m.Set(message.PropScheduled, l.n.clock.Now()+1_000_000) }); err != nil {
		return err
	}
	return l.auto.send("topic", "t"+turn, []string{"sub.a", "sub.b"}, nil)
}

func (l *life) acks(string) error {
	k, got := l.auto.receive("q", 4)
	if k == nil {
		return nil
	}
	defer l.auto.leave(k)
	if len(got) < 2 {
		return errCrash // the sends failed
	}
	if err := l.auto.ack(k, "q", got[:2]); err != nil {
		return err
	}
	k2, got := l.auto.receive("sub.a", 1)
	if k2 == nil {
		return nil
	}
	defer l.auto.leave(k2)
	if len(got) == 0 {
		return errCrash
	}
	return l.auto.ack(k2, "sub.a", got)
}

func (l *life) large(turn string) error {
	if err := l.auto.sendLarge("other", "large"+turn, 3000); err != nil {
		return err
	}
	if err := l.auto.sendLarge("gone", "largegone"+turn, 2000); err != nil {
		return err
	}
	if turn == "2" { // the body's file goes
		k, got := l.auto.receive("other", 1)
		if k == nil || len(got) == 0 {
			return nil
		}
		defer l.auto.leave(k)
		return l.auto.ack(k, "other", got)
	}
	return nil
}

// work is what transactions and branches do: two sends to different queues and an acknowledgement.
func (l *life) work(a *actor, u *Unit, name string) *brokertest.Sink {
	for i, q := range []string{"q", "other"} {
		id := fmt.Sprint(name, "-", i)
		a.h.Send(u, Copy{q, id})
		a.ask(a.post(a.build(brokertest.Text(q, id, message.Anycast))))
	}
	k, got := a.receive("q", 1)
	if k == nil || len(got) == 0 {
		return k
	}
	a.h.Ack(u, Copy{"q", nameOf(got[0])})
	a.ask(func(w *broker.Work, answer broker.Answer) { a.Acknowledge(w, k.ID, got[0].ID, true, answer) })
	return k
}

func (l *life) transactions(turn string) error {
	for _, commit := range []bool{true, false} {
		u := &Unit{Name: fmt.Sprint("tx", turn, commit), Atomic: true, May: Undone}
		l.h.Begin(u)
		k := l.work(l.tx, u, u.Name)
		if l.n.failure() != nil {
			return errCrash
		}
		if commit {
			l.tx.outcome(u, Applied|Undone, func(w *broker.Work, a broker.Answer) { l.tx.Commit(w, a) })
		} else {
			l.tx.ask(func(w *broker.Work, a broker.Answer) { l.tx.Rollback(w, false, a) })
		}
		if k != nil {
			l.tx.leave(k)
		}
	}
	return nil
}

func (l *life) branches(turn string) error {
	for _, end := range []string{"commit", "rollback", "in doubt", "one phase"} {
		name := "xa" + turn + end
		x := broker.Xid{Format: 1, Global: name, Branch: "b"}
		u := &Unit{Name: name, Atomic: true, May: Undone}
		l.h.Begin(u)
		var failed error
		must := func(err *broker.XAError) {
			if err != nil && l.n.failure() == nil {
				l.n.T.Errorf("%s: %v", name, err)
			}
			if err != nil {
				failed = err
			}
		}
		l.xa.Act(func(w *broker.Work) { must(l.xa.XAStart(w, x)) })
		k := l.work(l.xa, u, name)
		must(l.xa.XAEnd(x))
		if failed != nil || l.n.failure() != nil {
			return errCrash
		}
		if k != nil {
			l.xa.leave(k)
		}
		if end == "one phase" {
			l.xa.outcome(u, Applied|Undone, func(w *broker.Work, a broker.Answer) { must(l.xa.XACommit(w, x, true, a)) })
			continue
		}
		l.h.Set(u, InDoubt|Undone)
		answered, err := l.xa.ask(func(w *broker.Work, a broker.Answer) { must(l.xa.XAPrepare(w, x, a)) })
		if !answered || err != nil {
			return errCrash
		}
		l.h.Set(u, InDoubt)
		switch end {
		case "commit":
			l.xa.outcome(u, InDoubt|Applied, func(w *broker.Work, a broker.Answer) { must(l.xa.XACommit(w, x, false, a)) })
		case "rollback":
			l.h.Set(u, InDoubt|Undone)
			answered, err := l.xa.ask(func(w *broker.Work, a broker.Answer) { must(l.xa.XARollback(w, x, a)) })
			if answered && err == nil {
				l.h.Set(u, Undone)
			}
		}
	}
	return nil
}

// duplicates sends a message twice: it is there once.
func (l *life) duplicates(turn string) error {
	twice := func(m *message.Builder) { m.Set(message.PropDuplicateID, "id"+turn) }
	if err := l.auto.send("other", "dup"+turn, []string{"other"}, twice); err != nil {
		return err
	}
	m := brokertest.Text("other", "dup"+turn, message.Anycast)
	twice(m)
	l.auto.ask(l.auto.post(l.auto.build(m)))
	return nil
}

func (l *life) moves(turn string) error {
	id := "move" + turn
	if err := l.auto.send("q", id, []string{"q"}, func(m *message.Builder) { m.Set("which", id) }); err != nil {
		return err
	}
	u := &Unit{Name: "move " + id, Atomic: true, Sends: []Copy{{"other", id}}, Acks: []Copy{{"q", id}}, May: Applied | Undone}
	l.h.Begin(u)
	err := l.n.sync(func() error {
		n, err := l.n.Queue("q").MoveMessages("which = '"+id+"'", "other", broker.MoveOptions{})
		if err == nil && n != 1 {
			err = fmt.Errorf("moved %d messages", n)
		}
		return err
	})
	if err == nil {
		l.h.Set(u, Applied)
	}
	return err
}

func (l *life) expiry(turn string) error {
	id := "exp" + turn
	if err := l.auto.send("other", id, []string{"other"}, func(m *message.Builder) { m.Expiration = l.n.clock.Now() + 500 }); err != nil {
		return err
	}
	u := &Unit{Name: "expire " + id, Atomic: true, Sends: []Copy{{"ExpiryQueue", id}}, Acks: []Copy{{"other", id}}, May: Applied | Undone}
	l.h.Begin(u)
	before := l.n.Queue("ExpiryQueue").MessageCount()
	l.n.Advance(2000)
	err := l.n.sync(func() error {
		brokertest.Until(l.n.T, "a message to expire", func() bool { return l.n.Queue("ExpiryQueue").MessageCount() > before || l.n.failure() != nil })
		return nil
	})
	if err == nil {
		l.h.Set(u, Applied)
	}
	return err
}

func (l *life) deadLetters(turn string) error {
	id := "dead" + turn
	if err := l.auto.send("dead.q", id, []string{"dead.q"}, nil); err != nil {
		return err
	}
	k, got := l.tx.receive("dead.q", 1)
	if k == nil || len(got) == 0 {
		return nil
	}
	u := &Unit{Name: "dead letter " + id, Atomic: true, Sends: []Copy{{"DLQ", id}}, Acks: []Copy{{"dead.q", id}}, May: Applied | Undone}
	l.h.Begin(u)
	l.tx.ask(func(w *broker.Work, a broker.Answer) { l.tx.Acknowledge(w, k.ID, got[0].ID, true, a) })
	answered, _ := l.tx.ask(func(w *broker.Work, a broker.Answer) { l.tx.Rollback(w, true, a) })
	if !answered {
		return errCrash
	}
	l.tx.leave(k)
	err := l.n.sync(func() error {
		q := l.n.Queue("dead.q")
		brokertest.Until(l.n.T, "a dead letter", func() bool { return q.MessageCount() == 0 || l.n.failure() != nil })
		return nil
	})
	if err == nil {
		l.h.Set(u, Applied)
	}
	return err
}

// queues fills a queue and deletes it in the end, and pauses another.
func (l *life) queues(turn string) error {
	id := "goes" + turn
	if err := l.auto.send("gone", id, []string{"gone"}, nil); err != nil {
		return err
	}
	u := &Unit{Name: "delete queue", Acks: []Copy{{theQueues, "gone"}}, May: Applied | Undone}
	for _, t := range []string{"0", "1", "2", "3"} {
		u.Acks = append(u.Acks, Copy{"gone", "goes" + t}, Copy{"gone", "largegone" + t})
	}
	if turn == "3" { // it stays deleted: the ledger knows a thing once
		l.h.Begin(u)
		err := l.n.sync(func() error {
			w := l.n.NewWork()
			defer w.Flush()
			return l.n.DeleteQueue(w, "gone", broker.DeleteQueueOptions{})
		})
		if err != nil {
			return err
		}
		l.h.Set(u, Applied)
		return nil
	}
	if turn != "1" {
		return nil
	}
	u = &Unit{Name: "pause", Sends: []Copy{{thePaused, "sub.b"}}, May: Applied | Undone}
	l.h.Begin(u)
	if err := l.n.sync(func() error { return l.n.Pause(l.n.Queue("sub.b"), true) }); err != nil {
		return err
	}
	l.h.Set(u, Applied)
	return nil
}

// TestCrashAtEveryWritePoint stops the file system at each of its changing operations in the life of a broker, loses what
// was not synced (all of it, or random sectors and names of it), and judges what the next broker serves. That one goes on:
// branches are completed, duplicates sent again, everything consumed, and a third one finds nothing.
func TestCrashAtEveryWritePoint(t *testing.T) {
	total := crashAt(t, -1, nil)
	t.Logf("%d write points", total)
	stride := 1
	if !*soak {
		stride = 2 // the other half is torn
	}
	for at := 0; at <= total; at++ {
		for torn := range 2 {
			if stride == 2 && at%2 != torn {
				continue
			}
			var r *rand.Rand
			if torn == 1 {
				r = rand.New(rand.NewPCG(uint64(at), 1))
			}
			crashAt(t, at, r)
			if t.Failed() {
				t.Fatalf("after a crash at write point %d, torn: %v", at, torn == 1)
			}
		}
	}
}

// crashAt runs a life up to a write point; a negative one never comes. It returns how many there were.
func crashAt(t *testing.T, at int, torn *rand.Rand) int {
	t.Helper()
	mem := fs.NewMem()
	faulty := fs.NewFaulty(mem)
	if at >= 0 {
		faulty.StopAfter(at, errCrash)
	}
	h := NewHistory(nil, nil)
	now := brokertest.Epoch
	n, err := openNode(t, smallFiles(faulty), now)
	if err == nil {
		l := &life{n: n, h: h}
		l.run()
		now = n.clock.Now()
		if at < 0 {
			// without a crash everything is as it should be, at once and after a restart
			if n.failure() != nil {
				t.Fatalf("failed: %v", n.failure())
			}
			n.judge(h.Round(nil))
		}
		total := faulty.Count()
		if n.failure() != nil && n.times != 1 {
			t.Errorf("the failure was reported %d times", n.times)
		}
		if err := n.stop(); at < 0 && err != nil {
			t.Errorf("stop: %v", err)
		}
		if at < 0 {
			aftermath(t, mem, now, h.Round(nil))
			return total
		}
	} else if !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	mem.Crash(torn)
	aftermath(t, mem, now, h.Round(nil))
	return 0
}

// aftermath judges the life before, ends everything that is left and checks that nothing remains.
func aftermath(t *testing.T, mem *fs.Mem, now int64, r *Round) {
	t.Helper()
	n, err := openNode(t, smallFiles(mem), now)
	if err != nil {
		t.Fatal(err)
	}
	if !n.judge(r) {
		n.stop()
		return
	}
	before, inDoubt := r.Next()
	h := NewHistory(before, inDoubt)
	xa := n.actor(h, broker.SessionOptions{XA: true})
	for i, u := range inDoubt {
		x := broker.Xid{Format: 1, Global: u.Name, Branch: "b"}
		xa.outcome(u, InDoubt|Applied|Undone, func(w *broker.Work, a broker.Answer) {
			var err *broker.XAError
			if i%2 == 0 {
				err = xa.XACommit(w, x, false, a)
			} else {
				err = xa.XARollback(w, x, a)
			}
			if err != nil {
				t.Errorf("complete %s: %v", u.Name, err)
			}
		})
		if i%2 == 1 {
			h.Set(u, Undone)
		}
	}
	auto := n.actor(h, brokertest.AutoCommit)
	for c := range before {
		var turn string
		if c.Queue == "other" {
			if _, err := fmt.Sscanf(c.Message, "dup%s", &turn); err == nil {
				m := brokertest.Text("other", c.Message, message.Anycast)
				m.Set(message.PropDuplicateID, "id"+turn)
				auto.ask(auto.post(auto.build(m)))
			}
		}
	}
	for _, q := range n.Queues() {
		if q.PersistedPause() {
			w := n.NewWork()
			if err := n.Resume(w, q); err != nil {
				t.Errorf("resume: %v", err)
			}
			w.Flush()
			h.Begin(&Unit{Name: "resume", Acks: []Copy{{thePaused, q.Name()}}, May: Applied})
		}
	}
	if !n.judge(h.Round(before)) {
		n.stop()
		return
	}
	for c := range before { // what should have expired before the crash does it now
		if c.Queue == "other" && strings.HasPrefix(c.Message, "exp") {
			h.Begin(&Unit{Name: "expire " + c.Message, Atomic: true, Sends: []Copy{{"ExpiryQueue", c.Message}}, Acks: []Copy{c}, May: Applied})
		}
	}
	n.Advance(2_000_000) // everything scheduled is due
	brokertest.Until(t, "all queues to be empty", func() bool {
		left := false
		for _, q := range n.Queues() {
			k, got := auto.receive(q.Name(), broker.Unlimited)
			if len(got) > 0 {
				if err := auto.ack(k, q.Name(), got); err != nil {
					t.Errorf("drain %s: %v", q.Name(), err)
				}
			}
			auto.leave(k)
			left = left || q.Counts().Messages > 0
		}
		return !left && n.Total().Messages() == 0 // none is on its way from one queue to another
	})
	for _, q := range n.Queues() {
		if c := q.Counts(); c.Delivering != 0 || c.Size != 0 || c.DeliveringSize != 0 || c.Durable != 0 || c.DurableSize != 0 {
			t.Errorf("%s is empty and counts %+v", q.Name(), c)
		}
	}
	if m, size := n.Total().Messages(), n.Total().Bytes(); m != 0 || size != 0 {
		t.Errorf("%d messages and %d bytes are counted when everything is consumed", m, size)
	}
	last := h.Round(before)
	xa.Disconnect(false)
	auto.Disconnect(false)
	n.stopClean()
	if names, err := mem.List("/data/large-messages"); err != nil || len(names) != 0 {
		t.Errorf("large messages are left: %v, %v", names, err)
	}
	n, err = openNode(t, smallFiles(mem), now)
	if err != nil {
		t.Fatal(err)
	}
	n.judge(last)
	for c := range last.After {
		if c.Queue != theQueues {
			t.Errorf("%v is left", c)
		}
	}
	n.stopClean()
}
