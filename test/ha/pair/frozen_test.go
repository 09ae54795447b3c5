package pair

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
)

// quickly has nodes notice within seconds that the other one says nothing.
const quickly = "<check-period>500</check-period><connection-ttl>2000</connection-ttl>"

// leased are the policies with a lock manager whose lock has a lease of 3.75 s: sessions on ZooKeeper of 6 s.
func leased(t *testing.T) (primary, backup string) {
	m := `<manager><properties><property key="connect-string" value="` + zookeeper(t) + `"/><property key="namespace" value="frozen"/><property key="session-ms" value="6000"/></properties></manager>`
	return "<replication><primary>" + m + "</primary></replication>", "<replication><backup><allow-failback>false</allow-failback>" + m + "</backup></replication>"
}

func (n *node) signal(s syscall.Signal) {
	n.t.Helper()
	if err := n.cmd.Process.Signal(s); err != nil {
		n.t.Fatal(err)
	}
}

// quick edits the cluster connection.
func (p pair) quick() {
	for _, n := range []*node{p.primary, p.backup} {
		n.edit("<connector-ref>artemis</connector-ref>", "<connector-ref>artemis</connector-ref>"+quickly)
	}
}

// flood has many producers send one message each time the last one was acknowledged, and counts the acknowledgements.
func (l *ledger) flood(n *node, producers int) (acks *atomic.Int64, wait func()) {
	l.t.Helper()
	acks = new(atomic.Int64)
	for i := range producers {
		ctx := background(l.t)
		conn, s, err := connect(ctx, n.instance.Port, false)
		if err != nil {
			l.t.Fatal(err)
		}
		l.t.Cleanup(func() { conn.Abort(nil) })
		p, err := s.NewProducer(ctx, queue)
		if err != nil {
			l.t.Fatal(err)
		}
		l.producing.Go(func() {
			for k := 1; ; k++ {
				text := fmt.Sprintf("flood%d-%d", i, k)
				l.mu.Lock()
				l.sent[text] = true
				l.mu.Unlock()
				if err := p.Send(ctx, brokertest.Text(queue, text, message.Anycast)); err != nil {
					return
				}
				acks.Add(1)
				l.mu.Lock()
				l.acked[text] = true
				l.mu.Unlock()
			}
		})
	}
	return acks, l.producing.Wait
}

// TestFrozenActive: the active node is frozen under load for longer than its lease. The backup takes over; what the frozen node was
// sent meanwhile, and what it was about to answer, it does not acknowledge when it wakes, and comes back as a backup.
func TestFrozenActive(t *testing.T) {
	primary, backup := leased(t)
	p := newPair(t, "saranga", "saranga", primary, backup)
	p.quick()
	l := newLedger(t)
	p.primary.start()
	p.primary.serves()
	p.backup.start()
	l.produce(p.primary, "a")
	p.backup.says(announced)
	l.more(50)
	l.halt()
	acks, wait := l.flood(p.primary, 40)
	until(t, "load", func() bool { return acks.Load() > 500 })

	// For less than the lease it is only slow.
	p.primary.signal(syscall.SIGSTOP)
	pause := time.NewTimer(time.Second)
	<-pause.C
	p.primary.signal(syscall.SIGCONT)
	after := acks.Load() + 500
	until(t, "acknowledgements after a short pause", func() bool { return acks.Load() > after })

	p.primary.signal(syscall.SIGSTOP)
	p.backup.serves()
	frozen := acks.Load() // whatever was on the way has come
	p.primary.forget()
	p.primary.signal(syscall.SIGCONT)
	wait() // all connections have ended
	if late := acks.Load() - frozen; late != 0 {
		t.Errorf("%d acknowledgements of a node that was frozen beyond its lease", late)
	}
	l.produce(p.backup, "b")
	l.more(50)
	p.primary.says(announced)
	l.more(50)
	l.halt()
	l.check(p.backup)
	p.backup.stop()
	p.primary.stop()
}

// TestFrozenBackup: a replica that is frozen holds answers up until the active node has given it up for good, and when it wakes it
// does not take over, but is synchronised anew. (With the voting it takes over: a pair that is alone has nobody to ask, ha §2.9.)
func TestFrozenBackup(t *testing.T) {
	for _, x := range []struct {
		name     string
		policies policies
	}{{"ZooKeeper", leased}, {"FileManager", lockManager}} {
		t.Run(x.name, func(t *testing.T) {
			primary, backup := x.policies(t)
			p := newPair(t, "saranga", "saranga", primary, backup)
			p.quick()
			l := newLedger(t)
			p.primary.start()
			p.primary.serves()
			p.backup.start()
			l.produce(p.primary, "a")
			p.backup.says(announced)
			l.more(100)
			sequence := p.primary.sequence()
			p.backup.signal(syscall.SIGSTOP)
			l.more(100) // without it
			if got := p.primary.sequence(); sequence > 0 && got != sequence+1 {
				t.Errorf("activation sequence %d without the replica, want %d", got, sequence+1)
			}
			p.backup.forget()
			p.backup.signal(syscall.SIGCONT)
			p.backup.says(announced)
			if p.backup.open() {
				t.Error("the backup serves")
			}
			l.more(100)
			p.primary.kill()
			l.halt()
			p.backup.serves()
			l.check(p.backup)
			p.backup.stop()
		})
	}
}
