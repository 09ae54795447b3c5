package primary

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// Nobody is told before the response to his last packet.
func TestAnswersWaitForTheReplica(t *testing.T) {
	n := newNode(t, fs.NewMem(), nil)
	q := n.queue("q")
	p := n.attach(wireVersion)
	p.allow(0)
	before, _ := p.count()
	var waits []stored
	for i := range 3 {
		_, w := n.send(q, fmt.Sprint(i)) // two packets each
		waits = append(waits, w)
	}
	var bound atomic.Bool
	done := make(chan struct{})
	go func() { defer close(done); n.queue("other"); bound.Store(true) }() // APPEND_TX, COMMIT
	until(t, "all is sent", func() bool { r, _ := p.count(); return r == before+8 })
	told := func() (out []bool) {
		for _, w := range waits {
			out = append(out, w.done())
		}
		return append(out, bound.Load())
	}
	for answered, want := range [][]bool{1: {false, false, false, false}, 2: {true, false, false, false}, 3: {true, false, false, false}, 4: {true, true, false, false}, 7: {true, true, true, false}, 8: {true, true, true, true}} {
		if want == nil {
			continue
		}
		_, a := p.count()
		p.allow(before + answered - a)
		until(t, "the answers", func() bool { _, a := p.count(); return a == before+answered })
		until(t, fmt.Sprint("told after ", answered, ": ", want), func() bool { return slices.Equal(told(), want) })
	}
	<-done
	n.close(p)
}

// A replica that is lost leaves those who waited held, until the policy decides.
func TestLost(t *testing.T) {
	for _, abandon := range []bool{false, true} {
		n := newNode(t, fs.NewMem(), nil)
		q := n.queue("q")
		p := n.attach(wireVersion)
		p.allow(0)
		_, first := n.send(q, "first")
		answer := make(chan error, 1)
		go func() {
			answer <- n.store.StoreQueue(broker.QueueRecord{ID: n.store.NextID(), QueueConfig: broker.NewQueueConfig("other")})
		}()
		until(t, "it is sent", func() bool { r, a := p.count(); return r == a+4 })
		if _, err := n.p.Register(newPeer(wireVersion), wireVersion, false); !errors.Is(err, ErrAlreadyReplicating) || Problem(err) != 2 {
			t.Errorf("a second replica: %v", err)
		}
		n.p.Release() // refused
		p.reading.Lock()
		p.sender.Gone(nil)
		p.reading.Unlock()
		l := <-n.lost
		if !errors.Is(l.Reason, ErrGone) || !l.Held || !l.Synchronised {
			t.Errorf("lost %+v", l)
		}
		_, second := n.send(q, "second")
		if first.done() || second.done() {
			t.Error("told after the loss and before the decision")
		}
		if _, err := n.p.Register(newPeer(wireVersion), wireVersion, false); !errors.Is(err, ErrAlreadyReplicating) {
			t.Errorf("a replica before the decision: %v", err)
		}
		if abandon {
			n.p.Abandon()
			if err := <-answer; err == nil {
				t.Error("a change was answered that no replica has")
			}
			n.close(p)
			if first.done() || second.done() {
				t.Error("told after the node gave up")
			}
			continue
		}
		n.p.Release()
		<-first
		<-second
		if err := <-answer; err != nil {
			t.Error(err)
		}
		p2 := n.attach(wireVersion)
		_, w := n.send(q, "third")
		<-w
		if c := after(t, n.o, p2.all()); len(c.refs) != 3 || len(c.queues) != 2 {
			t.Errorf("the next replica holds %v", c)
		}
		n.close(p, p2)
	}
}

// What a replica may do wrong. Each loses it, and says why.
func TestBadReplica(t *testing.T) {
	normal := &core.ReplicationResponse{Form: core.TypeReplicationResponse}
	for name, test := range map[string]struct {
		refuse func(n int, x core.Packet) core.Packet
		want   string
	}{
		"exception": {func(n int, x core.Packet) core.Packet {
			if n == 3 {
				return &core.Exception{Code: 7, Message: buf.Of("disk on fire")}
			}
			return responseTo(x)
		}, "code 7, disk on fire"},
		"acknowledges too early": {func(n int, x core.Packet) core.Packet {
			return &core.ReplicationResponse{SynchronizationIsFinishedAcknowledgement: true}
		}, errFinish.Error()},
		"does not acknowledge the end": {func(n int, x core.Packet) core.Packet {
			if isFinish(x) {
				return normal
			}
			return responseTo(x)
		}, errFinish.Error()},
		"another packet": {func(n int, x core.Packet) core.Packet { return &core.Ping{} }, "unexpected"},
		"leaves the last out": {func(n int, x core.Packet) core.Packet {
			if isFinish(x) {
				return nil
			}
			return responseTo(x)
		}, ErrSyncTimeout.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, fs.NewMem(), func(o *Options) { o.InitialSyncTimeout = 300 * time.Millisecond })
			p := newPeer(wireVersion)
			p.refuse = test.refuse
			s, err := n.p.Register(p, wireVersion, false)
			if err != nil {
				t.Fatal(err)
			}
			p.start(s)
			l := <-n.lost
			if !strings.Contains(l.Reason.Error(), test.want) || l.Synchronised {
				t.Errorf("lost %+v, want %s", l, test.want)
			}
			if p.Close(nil); p.closed == nil {
				t.Error("the connection stays")
			}
			if l.Held {
				n.p.Release()
			}
			_, w := n.send(n.queue("q"), "alone")
			<-w
			n.close(p)
		})
	}
	t.Run("answers too much and acknowledges", func(t *testing.T) {
		n := newNode(t, fs.NewMem(), nil)
		p := newPeer(wireVersion)
		p.holdEnd = true
		s, err := n.p.Register(p, wireVersion, false)
		if err != nil {
			t.Fatal(err)
		}
		p.start(s)
		until(t, "only the finish packet is not answered", func() bool {
			received, answered := p.count()
			return received > 0 && answered == received-1 && isFinish(p.all()[answered])
		})
		p.reading.Lock()
		for _, x := range []core.Packet{normal, normal, &core.ReplicationResponse{SynchronizationIsFinishedAcknowledgement: true}} {
			f, _, _, _ := core.Split(core.Append(nil, 2, x, wireVersion), 1<<20)
			err = s.HandleFrame(f)
		}
		p.reading.Unlock()
		if l := <-n.lost; !errors.Is(err, errAnswers) || !errors.Is(l.Reason, errAnswers) || !l.Held || l.Synchronised {
			t.Errorf("lost %+v, %v", l, err)
		}
		n.p.Release()
		n.close(p)
	})
	t.Run("answers what it was not sent", func(t *testing.T) {
		n := newNode(t, fs.NewMem(), nil)
		p := n.attach(wireVersion)
		until(t, "all is answered", p.settled)
		p.reading.Lock()
		f, _, _, _ := core.Split(core.Append(nil, 2, normal, wireVersion), 1<<20)
		err := p.sender.HandleFrame(f)
		p.sender.EndOfBatch()
		p.reading.Unlock()
		if l := <-n.lost; err != nil || !errors.Is(l.Reason, errAnswers) || !l.Held {
			t.Errorf("lost %+v, %v", l, err)
		}
		n.p.Release()
		n.close(p)
	})
}

// A replica that takes nothing fills the queue: appends wait, those of waiters do not, and call-timeout ends it.
func TestStalledReplica(t *testing.T) {
	n := newNode(t, fs.NewMem(), func(o *Options) { o.QueueBytes, o.CallTimeout = 16<<10, 500*time.Millisecond })
	q := n.queue("q")
	p := n.attach(wireVersion)
	until(t, "all is answered", p.settled)
	p.mu.Lock()
	p.stalled = true
	p.mu.Unlock()
	var sent atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 200 {
			n.send(q, strings.Repeat("x", 500)+fmt.Sprint(i))
			sent.Add(1)
		}
	}()
	until(t, "the queue is full", p.sender.Full)
	at := sent.Load()
	if at == 200 {
		t.Error("no append waited")
	}
	m := n.text("reserve")
	for range 20 {
		if _, err := n.store.Append([]broker.Op{{Kind: broker.OpAddMessage, Msg: m}}, nil, broker.Reserve); err != nil {
			t.Fatal(err)
		}
		m.SetID(0)
	}
	m.Release()
	l := <-n.lost
	if !errors.Is(l.Reason, ErrSlow) || !l.Held {
		t.Errorf("lost %+v", l)
	}
	<-done // those that waited go on, held
	n.p.Release()
	_, w := n.send(q, "alone")
	<-w
	n.close(p)
}

// A replica that takes everything and answers nothing is dropped, too; one that has nothing to answer is not.
func TestSilentReplica(t *testing.T) {
	n := newNode(t, fs.NewMem(), func(o *Options) { o.CallTimeout = 200 * time.Millisecond })
	q := n.queue("q")
	p := n.attach(wireVersion)
	until(t, "all is answered", p.settled)
	idle := time.NewTimer(600 * time.Millisecond)
	select {
	case l := <-n.lost:
		t.Fatalf("lost while idle: %v", l.Reason)
	case <-idle.C:
	}
	p.allow(0)
	_, w := n.send(q, "x")
	if l := <-n.lost; !errors.Is(l.Reason, ErrSlow) || w.done() {
		t.Errorf("lost %+v, told %v", l, w.done())
	}
	n.p.Release()
	<-w
	n.close(p)
}

// A clean stop: announced, then what the stopping store still writes, then the replica's turn.
func TestCleanStop(t *testing.T) {
	n := newNode(t, fs.NewMem(), nil)
	q := n.queue("q")
	p := n.attach(wireVersion)
	_, w := n.send(q, "last")
	<-w
	until(t, "all is answered", p.settled)
	before, _ := p.count()
	n.p.StopCalled()
	n.p.StopCalled() // once is enough
	if err := n.store.Close(); err != nil {
		t.Fatal(err)
	}
	if !n.p.FailOver() {
		t.Error("the replica's answer was not seen")
	}
	var got []string
	for _, x := range p.all()[before:] {
		if s, ok := x.(*core.ReplicationScheduledFailover); ok {
			got = append(got, fmt.Sprint("SCHEDULED_FAILOVER ", s.Stopping))
		} else {
			got = append(got, line(x))
		}
	}
	if want := []string{"SCHEDULED_FAILOVER 0", "APPEND bindings ADD 24", "SCHEDULED_FAILOVER 1"}; !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
	if _, err := n.p.Register(newPeer(wireVersion), wireVersion, false); !errors.Is(err, ErrStopping) {
		t.Errorf("a replica of a stopped node: %v", err)
	}
	select {
	case l := <-n.lost:
		t.Errorf("lost %+v", l)
	default:
	}
	p.stop()
	if p.closed == nil {
		t.Error("the connection stays")
	}
}

// A replica that does not answer is not waited for longer than it may take; one that is not synchronised is dropped.
func TestStopWithoutAnswer(t *testing.T) {
	n := newNode(t, fs.NewMem(), func(o *Options) { o.FailOverTimeout = 50 * time.Millisecond })
	p := n.attach(wireVersion)
	p.allow(0)
	n.p.StopCalled()
	if err := n.store.Close(); err != nil {
		t.Fatal(err)
	}
	if n.p.FailOver() {
		t.Error("an answer was seen")
	}
	p.stop()

	n = newNode(t, fs.NewMem(), nil)
	p = newPeer(wireVersion)
	p.allowed = 0
	s, err := n.p.Register(p, wireVersion, false)
	if err != nil {
		t.Fatal(err)
	}
	p.start(s)
	n.p.StopCalled()
	if l := <-n.lost; !errors.Is(l.Reason, ErrStopping) {
		t.Errorf("lost %+v", l)
	}
	for _, x := range p.all() {
		if _, ok := x.(*core.ReplicationScheduledFailover); ok {
			t.Error("a replica that has not everything was told of the stop")
		}
	}
	n.close(p)
}

// A peer of an unknown version is refused, and what fails before anything was sent loses the replica and holds nobody.
func TestRefused(t *testing.T) {
	f := fs.NewFaulty(fs.NewMem())
	n := newNode(t, f, nil)
	if _, err := n.p.Register(newPeer(0), 0, false); !errors.Is(err, ErrNoVersion) || Problem(err) != 0 {
		t.Errorf("without a version: %v", err)
	}
	q := n.queue("q")
	_, w := n.send(q, "before")
	<-w
	writePage(t, n.o.FS, "data/paging/x", "pg.a", []byte("{page}"))
	f.Add(fs.Rule{Op: fs.OpOpen, Pattern: "*.page", Err: syscall.EIO})
	p := n.register(wireVersion)
	if l := <-n.lost; !errors.Is(l.Reason, syscall.EIO) || l.Held {
		t.Errorf("lost %+v", l)
	}
	_, w = n.send(q, "after")
	<-w
	n.close(p)
}

// When the store fails nobody is told any more, whatever the replica answers.
func TestStoreFailure(t *testing.T) {
	f := fs.NewFaulty(fs.NewMem())
	n := newNode(t, f, nil)
	q := n.queue("q")
	p := n.attach(wireVersion)
	_, w := n.send(q, "where records go")
	<-w
	f.Add(fs.Rule{Op: fs.OpSync, Pattern: n.holds("where records go"), Err: syscall.EIO}) // free files are synced, too
	_, w = n.send(q, "x")
	<-n.fatal
	until(t, "the replica has answered", p.settled)
	if w.done() {
		t.Error("told of what is not on this node's disk")
	}
	p.stop()
	n.p.Close()
	_ = n.store.Close()
}

// holds finds the file of the messages journal that holds a text.
func (n *node) holds(text string) string {
	n.t.Helper()
	want := message.AppendText(nil, text)
	names, err := n.o.FS.List(n.o.Journal)
	for _, name := range names {
		var b []byte
		if b, err = fs.ReadFile(n.o.FS, path.Join(n.o.Journal, name)); err == nil && bytes.Contains(b, want) {
			return name
		}
	}
	n.t.Fatalf("no file of %v holds %q: %v", names, text, err)
	return ""
}
