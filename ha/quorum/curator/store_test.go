package curator

import (
	"context"
	"fmt"
	"path"
	"sync"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// A world is the tree of nodes that the sessions of a test share.
type world struct {
	mu    sync.Mutex
	state *tree.State
	index uint64
	log   []string // writes that were done
}

func newWorld() *world { return &world{state: tree.New()} }

var caller = tree.Caller{Chroot: tree.ClientRoot}

// apply applies a command of a session.
func (w *world) apply(session int64, op tree.Op) tree.Outcome {
	w.index++
	c := &tree.Command{Session: session, Owner: uint64(session), Time: 1, Caller: caller, Op: op}
	switch op.(type) {
	case *tree.CloseSession, *tree.NewSession:
		c.Caller = tree.Caller{Admin: true}
	}
	r := w.state.ApplyCommand(w.index, 1, c)
	if r.Fatal != nil {
		panic(r.Fatal)
	}
	return r.Outcome
}

// A faultySession is a Session with a world, whose connection fails by plan.
type faultySession struct {
	w       *world
	id      int64
	timeout time.Duration
	moved   chan struct{}
	lost    chan struct{}
	// fault says whether an operation is done and whether its answer is lost; nil: all goes well. Called with w.mu held.
	fault func(op string) (done, lost bool)
	gone  bool // with w.mu
}

func (w *world) session(id int64, timeout time.Duration) *faultySession {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o := w.apply(id, &tree.NewSession{Timeout: int32(timeout / time.Millisecond)}); o.Code != tree.OK {
		panic(o.Code)
	}
	return &faultySession{w: w, id: id, timeout: timeout, moved: make(chan struct{}, 1), lost: make(chan struct{})}
}

// expire ends the session.
func (s *faultySession) expire() {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if !s.gone {
		s.gone = true
		s.w.apply(s.id, &tree.CloseSession{})
		close(s.lost)
	}
}

func (s *faultySession) do(ctx context.Context, what, p string, f func() tree.Code) error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.gone {
		return ErrSessionLost
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	done, lost := true, false
	if s.fault != nil {
		done, lost = s.fault(what)
	}
	code := tree.OK
	if done {
		if code = f(); code == tree.OK && what != "get" && what != "children" {
			s.w.log = append(s.w.log, what+" "+p)
		}
	}
	if lost {
		return ErrDisconnected
	}
	switch code {
	case tree.OK:
		return nil
	case tree.NoNode:
		return ErrNoNode
	case tree.NodeExists:
		return ErrNodeExists
	case tree.BadVersion:
		return ErrBadVersion
	}
	return fmt.Errorf("%w: %v", quorum.ErrUnavailable, code)
}

func (s *faultySession) Create(ctx context.Context, p string, data []byte, mode Mode) (made string, err error) {
	acl := []tree.ACL{{Perms: 31, ID: tree.ID{Scheme: "world", ID: "anyone"}}}
	err = s.do(ctx, "create", path.Dir(p), func() tree.Code {
		o := s.w.apply(s.id, &tree.Create{Path: p, Data: data, ACL: acl, Mode: tree.Mode(mode)})
		made = o.Path
		return o.Code
	})
	return made, err
}

func (s *faultySession) Delete(ctx context.Context, p string) error {
	return s.do(ctx, "delete", path.Dir(p), func() tree.Code { return s.w.apply(s.id, &tree.Delete{Path: p, Version: -1}).Code })
}

func (s *faultySession) Get(ctx context.Context, p string) (data []byte, version int32, err error) {
	err = s.do(ctx, "get", p, func() (code tree.Code) {
		var stat tree.Stat
		data, stat, code = s.w.state.Get(&caller, p)
		version = stat.Version
		return code
	})
	return data, version, err
}

func (s *faultySession) Set(ctx context.Context, p string, data []byte, version int32) error {
	return s.do(ctx, "set", path.Dir(p), func() tree.Code {
		return s.w.apply(s.id, &tree.SetData{Path: p, Data: data, Version: version}).Code
	})
}

func (s *faultySession) Children(ctx context.Context, p string) (names []string, err error) {
	err = s.do(ctx, "children", p, func() (code tree.Code) {
		names, _, code = s.w.state.Children(&caller, p)
		return code
	})
	return names, err
}

func (s *faultySession) Sync(ctx context.Context, p string) error {
	return s.do(ctx, "sync", p, func() tree.Code { return s.w.apply(s.id, &tree.Sync{Path: p}).Code })
}

func (s *faultySession) Timeout() time.Duration { return s.timeout }
func (s *faultySession) Lease() time.Duration   { return s.timeout * 5 / 8 }
func (s *faultySession) Address() string        { return "192.0.2.1" }
func (s *faultySession) Moved() <-chan struct{} { return s.moved }
func (s *faultySession) Lost() <-chan struct{}  { return s.lost }
func (s *faultySession) Close()                 { s.expire() }

// names are the children of a node, none if it is not there.
func (w *world) names(p string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names, _, _ := w.state.Children(&caller, p)
	return names
}

func (w *world) get(t *testing.T, p string) (string, tree.Stat) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	data, stat, code := w.state.Get(&caller, p)
	if code != tree.OK {
		t.Fatalf("%s: %v", p, code)
	}
	return string(data), stat
}

// start makes a started manager on a session.
func start(t tb, s *faultySession, o Options) *Manager {
	t.Helper()
	m, err := New(o, func(context.Context) (Session, error) { return s, nil })
	if err == nil {
		err = m.Start(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// tb is what tests and properties have in common.
type tb interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}
