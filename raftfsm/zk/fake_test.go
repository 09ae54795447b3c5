package zk

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// fakeMember is a group of one member: it applies in place what is proposed.
type fakeMember struct {
	stale atomic.Bool   // not fresh
	mute  atomic.Bool   // there is no leader: proposals wait for the end of their context
	twice atomic.Bool   // every proposal is committed twice
	lost  chan struct{} // receives when a proposal begins to wait, if somebody listens

	mu       sync.Mutex
	state    *tree.State
	index    uint64
	now      int64
	listener Listener
	touched  map[int64]time.Duration
}

func newFakeMember() *fakeMember {
	return &fakeMember{state: tree.New(), now: 1_700_000_000_000, touched: map[int64]time.Duration{}, lost: make(chan struct{}, 100)}
}

func (m *fakeMember) Propose(ctx context.Context, c *tree.Command) error {
	if m.mute.Load() {
		m.lost <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	b, err := c.Append(nil)
	if err != nil {
		return err
	}
	m.apply(b)
	if m.twice.Load() {
		m.apply(b)
	}
	return nil
}

func (m *fakeMember) apply(command []byte) tree.Result {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.index++
	m.now++
	if err := tree.StampTime(command, m.now); err != nil {
		panic(err)
	}
	r := m.state.Apply(m.index, 1, command)
	if m.listener != nil {
		m.listener.Applied(&r)
	}
	return r
}

// leader applies a command of the leader itself.
func (m *fakeMember) leader(t *testing.T, c tree.Command) {
	t.Helper()
	c.Caller = tree.Caller{Admin: true}
	b, err := c.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := m.apply(b); r.Code != tree.OK {
		t.Fatalf("%T: %v", c.Op, r.Code)
	}
}

// expire ends a session as the leader does.
func (m *fakeMember) expire(t *testing.T, session int64) {
	t.Helper()
	var s tree.Session
	m.Read(func(v *tree.View) { s, _ = v.Session(session) })
	m.leader(t, tree.Command{Request: s.Request, Session: session, Owner: s.Owner, Op: &tree.ExpireSession{Term: 1}})
}

// sweep deletes the containers that have become empty, as the leader does now and then.
func (m *fakeMember) sweep(t *testing.T) {
	t.Helper()
	var paths []string
	m.Read(func(v *tree.View) { paths = v.EmptyContainers(100) })
	for _, p := range paths {
		m.leader(t, tree.Command{Op: &tree.DeleteContainer{Path: p}})
	}
}

func (m *fakeMember) Read(f func(*tree.View)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(&m.state.View)
}

func (m *fakeMember) Fresh() bool  { return !m.stale.Load() }
func (m *fakeMember) Role() string { return "standalone" }

func (m *fakeMember) Touch(session int64, _ uint64, idle time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.touched[session] = idle
}

func (m *fakeMember) Listen(l Listener) func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listener = l
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.listener = nil
	}
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}
