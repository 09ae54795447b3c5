package crash

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal/fs"
)

// begin starts a life on a fresh file system with a queue and some messages in it.
func begin(t *testing.T) (*life, *fs.Mem, *fs.Faulty) {
	t.Helper()
	mem := fs.NewMem()
	faulty := fs.NewFaulty(mem)
	n, err := openNode(t, smallFiles(faulty), brokertest.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	l := &life{n: n, h: NewHistory(nil, nil)}
	for _, q := range []string{"DLQ", "ExpiryQueue", "q", "other"} {
		if err := n.createQueue(l.h, q, q, message.Anycast); err != nil {
			t.Fatal(err)
		}
	}
	l.auto, l.tx, l.xa = n.actor(l.h, brokertest.AutoCommit), n.actor(l.h, broker.SessionOptions{}), n.actor(l.h, broker.SessionOptions{XA: true})
	for i := range 5 {
		if err := l.auto.send("q", fmt.Sprint("before", i), []string{"q"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	return l, mem, faulty
}

// after starts a broker on what a crash leaves and judges it.
func (l *life) after(mem *fs.Mem) {
	l.n.T.Helper()
	now := l.n.clock.Now()
	mem.Crash(nil)
	aftermath(l.n.T.(*testing.T), mem, now, l.h.Round(nil))
}

// TestFailureStops fails a write or a sync under each operation. Nothing is answered any more, the failure is reported
// once with file and error, and what was answered before is there after a restart.
func TestFailureStops(t *testing.T) {
	send := func(l *life) { l.auto.send("q", "during", []string{"q"}, nil) }
	commit := func(l *life) { l.transactions("0") }
	prepare := func(l *life) { l.branches("0") }
	create := func(l *life) { l.n.createQueue(l.h, "new", "new", message.Anycast) }
	large := func(l *life) { l.auto.sendLarge("q", "duringL", 3000) }
	move := func(l *life) { l.moves("0") }
	ack := func(l *life) {
		k, got := l.auto.receive("q", 2)
		if k == nil || len(got) != 2 {
			l.n.T.Fatal("nothing to acknowledge")
		}
		l.auto.ack(k, "q", got)
	}
	for _, x := range []struct {
		name string
		rule fs.Rule
		do   func(l *life)
		file string // is named
	}{
		{"send, write", fs.Rule{Op: fs.OpWrite, Pattern: "activemq-data-*.amq", Err: syscall.EIO}, send, "activemq-data-"},
		{"send, sync", fs.Rule{Op: fs.OpSync, Pattern: "activemq-data-*.amq", Err: syscall.EIO}, send, "activemq-data-"},
		{"send, sync that would work the second time", fs.Rule{Op: fs.OpSync, Pattern: "activemq-data-*.amq", Err: syscall.EIO, Count: 1}, send, "activemq-data-"},
		{"send, no space in the middle of a write", fs.Rule{Op: fs.OpWrite, Pattern: "activemq-data-*.amq", Err: syscall.ENOSPC, Short: 40}, send, "activemq-data-"},
		{"ack, write", fs.Rule{Op: fs.OpWrite, Pattern: "activemq-data-*.amq", Err: syscall.EIO}, ack, "activemq-data-"},
		{"ack, sync", fs.Rule{Op: fs.OpSync, Pattern: "activemq-data-*.amq", Err: syscall.EIO}, ack, "activemq-data-"},
		{"commit, sync", fs.Rule{Op: fs.OpSync, Pattern: "activemq-data-*.amq", Err: syscall.EIO}, commit, "activemq-data-"},
		{"prepare, write", fs.Rule{Op: fs.OpWrite, Pattern: "activemq-data-*.amq", Err: syscall.EIO}, prepare, "activemq-data-"},
		{"prepare, sync", fs.Rule{Op: fs.OpSync, Pattern: "activemq-data-*.amq", Err: syscall.EIO}, prepare, "activemq-data-"},
		{"end of a branch, sync", fs.Rule{Op: fs.OpSync, Pattern: "activemq-data-*.amq", Err: syscall.EIO, Nth: 2}, prepare, "activemq-data-"},
		{"move, sync", fs.Rule{Op: fs.OpSync, Pattern: "activemq-data-*.amq", Err: syscall.EIO, Nth: 2}, move, "activemq-data-"},
		{"create queue, write", fs.Rule{Op: fs.OpWrite, Pattern: "activemq-bindings-*", Err: syscall.EIO}, create, "activemq-bindings-"},
		{"create queue, sync", fs.Rule{Op: fs.OpSync, Pattern: "activemq-bindings-*", Err: syscall.EIO}, create, "activemq-bindings-"},
		{"large body, write", fs.Rule{Op: fs.OpWrite, Pattern: "*.msg", Err: syscall.EIO}, large, ".msg"},
		{"large body, sync", fs.Rule{Op: fs.OpSync, Pattern: "*.msg", Err: syscall.EIO}, large, ".msg"},
		{"large body, its name", fs.Rule{Op: fs.OpSyncDir, Pattern: "large-messages", Err: syscall.EIO}, large, "large-messages"},
	} {
		t.Run(x.name, func(t *testing.T) {
			l, mem, faulty := begin(t)
			faulty.Add(x.rule)
			x.do(l)
			brokertest.Until(t, "the failure to be reported", func() bool { return l.n.failure() != nil })
			if err := l.n.failure(); !errors.Is(err, x.rule.Err) || !strings.Contains(err.Error(), x.file) {
				t.Errorf("reported %v, want one that names %s and unwraps to %v", err, x.file, x.rule.Err)
			}
			// The disk is well again; the broker is not.
			faulty.Clear()
			for i := range 3 {
				if answered, err := l.auto.ask(l.auto.post(l.auto.build(brokertest.Text("q", fmt.Sprint("late", i), message.Anycast)))); answered {
					t.Errorf("a send after the failure was answered: %v", err)
				}
				l.h.Begin(&Unit{Name: "late send", Sends: []Copy{{"q", fmt.Sprint("late", i)}}, May: Undone})
			}
			if l.n.createQueue(l.h, "late", "late", message.Anycast) == nil {
				t.Error("a queue was created after the failure")
			}
			if l.n.stop() == nil {
				t.Error("the store was closed as if nothing had happened")
			}
			if l.n.times != 1 {
				t.Errorf("reported %d times", l.n.times)
			}
			l.after(mem)
		})
	}
}

// TestNoSpaceRefuses lets no new file be made. What does not fit any more is refused before anything of it was written, and
// nothing else happens: the broker goes on, acknowledgements that fit are taken, and sends are when there is space again.
func TestNoSpaceRefuses(t *testing.T) {
	l, mem, faulty := begin(t)
	faulty.Add(fs.Rule{Op: fs.OpWrite, Pattern: "*.tmp", Err: syscall.ENOSPC})
	faulty.Add(fs.Rule{Op: fs.OpCreate, Pattern: "*.msg", Err: syscall.ENOSPC})
	refused := 0
	const sends = 200
	for i := range sends {
		if err := l.auto.send("q", fmt.Sprint("m", i), []string{"q"}, nil); err != nil {
			if e := broker.AsError(err); e.Code != broker.IOError {
				t.Fatalf("refused with %v", err)
			}
			refused++
		}
	}
	if refused < sends/2 {
		t.Errorf("%d of %d sends were refused", refused, sends)
	}
	u := &Unit{Name: "commit without space", Atomic: true, May: Undone}
	l.h.Begin(u)
	k := l.work(l.tx, u, u.Name)
	if err := l.tx.outcome(u, Applied|Undone, func(w *broker.Work, a broker.Answer) { l.tx.Commit(w, a) }); err == nil {
		t.Error("a transaction that does not fit was committed")
	}
	l.tx.leave(k)
	if err := l.auto.sendLarge("q", "large", 3000); err == nil {
		t.Error("a large message was taken")
	}
	if err := l.n.failure(); err != nil {
		t.Fatalf("the broker failed: %v", err)
	}
	faulty.Clear()
	brokertest.Until(t, "a send to be taken when there is space again", func() bool {
		refused++
		return l.auto.send("q", fmt.Sprint("again", refused), []string{"q"}, nil) == nil
	})
	if err := l.auto.sendLarge("q", "large again", 3000); err != nil {
		t.Error(err)
	}
	l.transactions("1")
	l.branches("1")
	if !l.n.judge(l.h.Round(nil)) {
		t.Fatal("before the restart")
	}
	if err := l.n.stop(); err != nil {
		t.Error(err)
	}
	l.after(mem)
}

// A branch whose end cannot be stored stays in doubt, in memory as on disk, and can be ended when there is space again.
func TestNoSpaceLeavesBranchesInDoubt(t *testing.T) {
	for _, commit := range []bool{true, false} {
		t.Run(fmt.Sprintf("commit=%v", commit), func(t *testing.T) {
			l, mem, faulty := begin(t)
			u := &Unit{Name: "branch", Atomic: true, May: Undone}
			l.h.Begin(u)
			x := broker.Xid{Format: 1, Global: u.Name, Branch: "b"}
			l.xa.Act(func(w *broker.Work) {
				if err := l.xa.XAStart(w, x); err != nil {
					t.Fatal(err)
				}
			})
			k := l.work(l.xa, u, u.Name)
			l.xa.leave(k)
			if err := l.xa.XAEnd(x); err != nil {
				t.Fatal(err)
			}
			if _, err := l.xa.ask(func(w *broker.Work, a broker.Answer) { l.xa.XAPrepare(w, x, a) }); err != nil {
				t.Fatal(err)
			}
			l.h.Set(u, InDoubt)
			faulty.Add(fs.Rule{Op: fs.OpWrite, Pattern: "*.tmp", Err: syscall.ENOSPC})
			end := func() (answered bool, err error) {
				return l.xa.ask(func(w *broker.Work, a broker.Answer) {
					var err *broker.XAError
					if commit {
						err = l.xa.XACommit(w, x, false, a)
					} else {
						err = l.xa.XARollback(w, x, a)
					}
					if err != nil {
						t.Errorf("end: %v", err)
					}
				})
			}
			// Large and small messages fill the file up to the last byte that a record can take.
			for _, size := range []int{500, 100, 1} {
				for i := 0; ; i++ {
					id := fmt.Sprint(strings.Repeat("x", size), i)
					if l.auto.send("q", id, []string{"q"}, nil) != nil {
						break
					}
				}
			}
			for l.auto.ackOne() { // records smaller than a message's
			}
			answered, err := end()
			if !answered {
				t.Fatal("no answer")
			}
			if err != nil {
				if got := l.n.XAInDoubt(); len(got) != 1 {
					t.Errorf("in doubt after the refusal: %v", got)
				}
				if !l.n.judge(l.h.Round(nil)) {
					t.Fatal("after the refusal")
				}
				faulty.Clear()
				brokertest.Until(t, "the branch to be ended", func() bool { _, err := end(); return err == nil })
			} else {
				t.Log("the end found room")
			}
			if commit {
				l.h.Set(u, Applied)
			} else {
				l.h.Set(u, Undone)
			}
			if err := l.n.failure(); err != nil {
				t.Fatal(err)
			}
			l.n.judge(l.h.Round(nil))
			if err := l.n.stop(); err != nil {
				t.Error(err)
			}
			l.after(mem)
		})
	}
}

// ackOne acknowledges one message of queue q; false: that was refused, or there is none.
func (a *actor) ackOne() bool {
	k, got := a.receive("q", 1)
	defer a.leave(k)
	return len(got) == 1 && a.ack(k, "q", got) == nil
}
