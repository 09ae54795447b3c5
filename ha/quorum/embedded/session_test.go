package embedded

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/ha/quorum/curator"
	"github.com/saranga-mq/saranga/raftfsm"
	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// A group is a member of a group without the other members: what it is asked for is applied at once, or fails by plan.
type group struct {
	mu        sync.Mutex
	state     *tree.State
	index     uint64
	listeners map[*Session]bool
	stale     bool
	touched   map[int64]int
	fault     func(*tree.Command) error // an error without applying; nil: none
	failed    chan struct{}
}

func newGroup() *group {
	return &group{state: tree.New(), listeners: map[*Session]bool{}, touched: map[int64]int{}, failed: make(chan struct{})}
}

func (g *group) Do(ctx context.Context, c *tree.Command) (tree.Outcome, error) {
	g.mu.Lock()
	fault := g.fault
	g.mu.Unlock()
	if fault != nil {
		if err := fault(c); err != nil {
			return tree.Outcome{}, err
		}
	}
	if ctx.Err() != nil {
		return tree.Outcome{}, fmt.Errorf("%w: %w", raftfsm.ErrUnknown, ctx.Err())
	}
	return g.apply(c), nil
}

func (g *group) apply(c *tree.Command) tree.Outcome {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.index++
	r := g.state.ApplyCommand(g.index, 1, c)
	for l := range g.listeners {
		l.Applied(&r)
	}
	return r.Outcome
}

func (g *group) Read(f func(*tree.View)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f(&g.state.View)
}

func (g *group) Listen(l raftfsm.Listener) func() {
	s := l.(*Session)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listeners[s] = true
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.listeners, s)
	}
}

func (g *group) Touch(session int64, _ uint64, _ time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.touched[session]++
}

func (g *group) Fresh() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.stale
}

func (g *group) Failed() <-chan struct{} { return g.failed }

func (g *group) set(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}

// expire ends a session as the leader does.
func (g *group) expire(s *Session) {
	g.apply(&tree.Command{Session: s.id, Owner: s.owner, Caller: tree.Caller{Admin: true}, Op: &tree.ExpireSession{Term: 1}})
}

func begin(t *testing.T, m Member) *Session {
	t.Helper()
	s, err := Begin(t.Context(), m, Options{Timeout: 9 * time.Second, Percent: 33, ConnectionTimeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup()
		s := begin(t, g)
		if _, _, err := s.Get(t.Context(), "/a"); err != curator.ErrNoNode {
			t.Error(err)
		}
		if _, err := s.Create(t.Context(), "/a", nil, curator.Container); err != nil {
			t.Error(err)
		}
		if _, err := s.Create(t.Context(), "/a", nil, curator.Container); err != curator.ErrNodeExists {
			t.Error(err)
		}
		path, err := s.Create(t.Context(), "/a/x-", []byte("1"), curator.EphemeralSequential)
		if err != nil || path != "/a/x-0000000000" {
			t.Errorf("%s, %v", path, err)
		}
		if err := s.Set(t.Context(), path, []byte("2"), 0); err != nil {
			t.Error(err)
		}
		if err := s.Set(t.Context(), path, []byte("3"), 0); err != curator.ErrBadVersion {
			t.Error(err)
		}
		if data, version, err := s.Get(t.Context(), path); string(data) != "2" || version != 1 || err != nil {
			t.Errorf("%q, %d, %v", data, version, err)
		}
		if names, err := s.Children(t.Context(), "/a"); len(names) != 1 || err != nil {
			t.Errorf("%q, %v", names, err)
		}
		if err := s.Sync(t.Context(), "/a"); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		g.set(func() {
			if n := g.touched[s.id]; n != 10 {
				t.Errorf("%d signs of life in a second", n)
			}
		})
		s.Close()
		if names := g.names("/a"); len(names) != 0 {
			t.Errorf("left behind: %q", names)
		}
		if err := s.Delete(t.Context(), path); err != curator.ErrSessionLost {
			t.Error(err)
		}
	})
}

func (g *group) names(path string) (names []string) {
	g.Read(func(v *tree.View) { names, _, _ = v.Children(&tree.Caller{Chroot: tree.ClientRoot}, path) })
	return names
}

// TestLoss has the ways in which a session ends, and when that is noticed.
func TestLoss(t *testing.T) {
	for _, c := range []struct {
		name  string
		cause func(*group, *Session)
		after time.Duration
	}{
		{"expired", func(g *group, s *Session) { g.expire(s) }, 0},
		{"expired, seen in a snapshot", func(g *group, s *Session) {
			g.set(func() { delete(g.listeners, s) })
			g.expire(s)
		}, alivePeriod},
		{"the member ends", func(g *group, s *Session) { close(g.failed) }, 0},
		{"out of touch", func(g *group, s *Session) { g.set(func() { g.stale = true }) }, 2970 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGroup()
				s := begin(t, g)
				synctest.Wait()
				began := time.Now()
				c.cause(g, s)
				<-s.Lost()
				if d := time.Since(began); d < c.after || d > c.after+2*alivePeriod {
					t.Errorf("after %v, want %v", d, c.after)
				}
				if err := s.Sync(t.Context(), "/"); !errors.Is(err, curator.ErrSessionLost) {
					t.Errorf("after the loss: %v", err)
				}
			})
		})
	}
}

// TestOutOfTouch: reads wait while the state may be old, and the session goes on afterwards.
func TestOutOfTouch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup()
		s := begin(t, g)
		g.set(func() { g.stale = true })
		began := time.Now()
		if _, err := s.Children(t.Context(), "/"); err != curator.ErrDisconnected || time.Since(began) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		go func() {
			time.Sleep(500 * time.Millisecond)
			g.set(func() { g.stale = false })
		}()
		if _, err := s.Children(t.Context(), "/"); err != nil {
			t.Error(err)
		}
		<-s.Moved()
	})
}

// TestErrors has what the errors of a proposal mean.
func TestErrors(t *testing.T) {
	why := errors.New("enough")
	for _, c := range []struct {
		err  error
		want error
	}{
		{raftfsm.ErrUnknown, curator.ErrDisconnected},
		{raftfsm.ErrNoLeader, curator.ErrDisconnected},
		{raftfsm.ErrRefused, quorum.ErrUnavailable},
		{raftfsm.ErrStopped, curator.ErrSessionLost},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGroup()
			s := begin(t, g)
			g.set(func() { g.fault = func(*tree.Command) error { return c.err } })
			if err := s.Sync(t.Context(), "/"); !errors.Is(err, c.want) || !errors.Is(err, quorum.ErrUnavailable) {
				t.Errorf("%v: %v", c.err, err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(why)
			if err := s.Sync(ctx, "/"); c.err != raftfsm.ErrStopped && !errors.Is(err, why) {
				t.Errorf("%v: %v", c.err, err)
			}
		})
	}
}

// TestGivenUp: a write that was given up is not applied after a later one.
func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup()
		s := begin(t, g)
		var late *tree.Command
		g.set(func() {
			g.fault = func(c *tree.Command) error {
				late = c
				return raftfsm.ErrUnknown
			}
		})
		if _, err := s.Create(t.Context(), "/x-", nil, curator.EphemeralSequential); !errors.Is(err, curator.ErrDisconnected) {
			t.Fatal(err)
		}
		g.set(func() { g.fault = nil })
		if err := s.Sync(t.Context(), "/"); err != nil {
			t.Fatal(err)
		}
		g.apply(late)
		for _, name := range g.names("/") {
			if name != "zookeeper" {
				t.Errorf("%s was made", name)
			}
		}
	})
}

// TestManagers lets two managers of two members' sessions exclude each other.
func TestManagers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup()
		open := func() (quorum.Manager, quorum.Lock) {
			m, err := quorum.New("", map[string]string{"namespace": "pair"}, Kind(g, "", nil))
			if err == nil {
				err = m.Start(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			l, err := m.Lock("node")
			if err != nil {
				t.Fatal(err)
			}
			return m, l
		}
		a, la := open()
		b, lb := open()
		defer b.Stop()
		if held, err := la.TryLock(t.Context()); !held || err != nil {
			t.Fatalf("%v, %v", held, err)
		}
		if held, err := lb.TryLock(t.Context()); held || err != nil {
			t.Fatalf("%v, %v", held, err)
		}
		if names := g.names("/pair/node/locks/leases"); len(names) != 1 {
			t.Errorf("leases %q", names)
		}
		a.Stop()
		if held, err := lb.TryLock(t.Context()); !held || err != nil {
			t.Fatalf("%v, %v", held, err)
		}
		if held, err := lb.HeldByCaller(t.Context()); !held || err != nil {
			t.Fatalf("%v, %v", held, err)
		}
	})
}
