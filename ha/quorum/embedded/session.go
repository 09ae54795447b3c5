package embedded

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/ha/quorum/curator"
	"github.com/saranga-mq/saranga/raftfsm"
	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// Member is what is used of a raftfsm.Member.
type Member interface {
	Do(context.Context, *tree.Command) (tree.Outcome, error)
	Read(func(*tree.View))
	Listen(raftfsm.Listener) (stop func())
	Touch(session int64, owner uint64, idle time.Duration)
	Fresh() bool
	Failed() <-chan struct{}
}

// Options of a session.
type Options struct {
	Root              string        // node of the tree that counts as "/"; "": tree.ClientRoot
	Timeout           time.Duration // session time; 0: DefaultTimeout. Shorter than MinTimeout is raised to that
	Percent           int           // of the session time out of touch with the group after which the session is lost; 0: 100
	ConnectionTimeout time.Duration // how long an operation may take
	Log               hclog.Logger  // nil: nothing is logged
}

// Session times. Who takes over waits for DefaultTimeout after a crash, and a holder of a lock survives a stall of the group that is 1/8 shorter. A new
// leader is elected, and grants whole session times, within MinTimeout.
const (
	DefaultTimeout = 1600 * time.Millisecond
	MinTimeout     = time.Second
)

// alivePeriod is the time between two signs of life, and two looks at the member.
const alivePeriod = 100 * time.Millisecond

// Session is a curator.Session with the group of a member.
type Session struct {
	member  Member
	o       Options
	caller  tree.Caller
	id      int64
	owner   uint64
	timeout time.Duration

	writing chan struct{} // full while a write is proposed
	request uint64        // of the last write; of its holder

	mu      sync.Mutex
	fresh   bool
	changed chan struct{} // closed and replaced when fresh changes

	ended chan struct{} // closed by listener or an outcome: the group says that it is over
	once  sync.Once
	moved chan struct{}
	lost  chan struct{}
	life  context.Context // ends when the session is lost
	die   context.CancelFunc
	stop  context.CancelFunc // of run
	done  chan struct{}
}

// Begin begins a session. It tries until there is one or the context ends.
func Begin(ctx context.Context, member Member, o Options) (*Session, error) {
	if o.Root == "" {
		o.Root = tree.ClientRoot
	}
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Percent == 0 {
		o.Percent = 100
	}
	var seed [32]byte
	_, _ = rand.Read(seed[:]) // never fails
	s := &Session{
		member:  member,
		o:       o,
		caller:  tree.Caller{Chroot: o.Root},
		id:      int64(binary.BigEndian.Uint64(seed[:])>>1 | 1),
		owner:   binary.BigEndian.Uint64(seed[8:]) | 1,
		timeout: max(o.Timeout, MinTimeout),
		writing: make(chan struct{}, 1),
		changed: make(chan struct{}),
		ended:   make(chan struct{}),
		moved:   make(chan struct{}, 1),
		lost:    make(chan struct{}),
		done:    make(chan struct{}),
	}
	outcome, err := member.Do(ctx, s.command(&tree.NewSession{Password: [16]byte(seed[16:]), Timeout: int32(s.timeout / time.Millisecond)}, 0))
	if err == nil && outcome.Code != tree.OK {
		err = fmt.Errorf("%v", outcome.Code)
	}
	if err != nil {
		return nil, fmt.Errorf("begin a session with the quorum: %w", err)
	}
	s.fresh = member.Fresh() // a member that has just found its group is fresh a moment later
	s.life, s.die = context.WithCancel(context.Background())
	run, stop := context.WithCancel(context.Background())
	s.stop = stop
	go s.run(run)
	return s, nil
}

func (s *Session) command(op tree.Op, request uint64) *tree.Command {
	return &tree.Command{Request: request, Session: s.id, Owner: s.owner, Caller: s.caller, Op: op}
}

// Applied implements raftfsm.Listener.
func (s *Session) Applied(r *tree.Result) {
	if r.Session == s.id && r.Detached == s.owner {
		s.end()
	}
}

// Restored implements raftfsm.Listener. What the snapshot says of this session is seen at the next look.
func (s *Session) Restored() {}

func (s *Session) end() { s.once.Do(func() { close(s.ended) }) }

// run gives signs of life and watches the member until the session is lost or closed.
func (s *Session) run(ctx context.Context) {
	defer close(s.done)
	defer close(s.lost)
	defer s.die()
	defer s.member.Listen(s)()
	tick := time.NewTicker(alivePeriod)
	defer tick.Stop()
	window := s.timeout * time.Duration(s.o.Percent) / 100
	away := time.Now() // since when the member is out of touch; only while it is
	for {
		select {
		case <-tick.C:
		case <-s.ended:
			s.o.Log.Warn("the quorum says that the session of the lock manager has expired")
			return
		case <-s.member.Failed():
			s.o.Log.Warn("the quorum member of the lock manager has ended")
			return
		case <-ctx.Done():
			return
		}
		s.member.Touch(s.id, s.owner, 0)
		fresh := s.member.Fresh()
		switch was := s.setFresh(fresh); {
		case was && !fresh:
			s.o.Log.Warn("the quorum member is out of touch with the group")
			away = time.Now()
		case !was && fresh:
			if !s.known() {
				s.end()
				continue
			}
			s.o.Log.Info("the quorum member is in touch with the group")
			select {
			case s.moved <- struct{}{}:
			default:
			}
		case !fresh && time.Since(away) >= window:
			s.o.Log.Warn("the quorum member was too long out of touch with the group")
			return
		case fresh && !s.known():
			s.end()
		}
	}
}

// known tells whether the state has this session.
func (s *Session) known() (known bool) {
	s.member.Read(func(v *tree.View) {
		session, ok := v.Session(s.id)
		known = ok && session.Owner == s.owner
	})
	return known
}

// setFresh notes how the member is, and returns how it was.
func (s *Session) setFresh(fresh bool) (was bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was = s.fresh
	if was != fresh {
		s.fresh = fresh
		close(s.changed)
		s.changed = make(chan struct{})
	}
	return was
}

// bound is the context of an operation: it ends with the caller's, with the session and with the time for it. why turns
// the end into the error of the operation.
func (s *Session) bound(ctx context.Context) (bounded context.Context, cancel func(), why func() error) {
	bounded, stop := context.WithCancelCause(ctx)
	timer := time.AfterFunc(s.o.ConnectionTimeout, func() { stop(curator.ErrDisconnected) })
	if s.life.Err() != nil {
		stop(curator.ErrSessionLost)
	}
	undo := context.AfterFunc(s.life, func() { stop(curator.ErrSessionLost) })
	return bounded, func() { timer.Stop(); undo(); stop(nil) }, func() error { return context.Cause(bounded) }
}

// write proposes a change and waits until this member has applied it.
func (s *Session) write(ctx context.Context, op tree.Op) (tree.Outcome, error) {
	ctx, cancel, why := s.bound(ctx)
	defer cancel()
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return tree.Outcome{}, why()
	}
	defer func() { <-s.writing }()
	if err := ctx.Err(); err != nil {
		return tree.Outcome{}, why()
	}
	s.request++
	outcome, err := s.member.Do(ctx, s.command(op, s.request))
	switch {
	case err == nil:
		return outcome, s.reason(outcome.Code)
	case ctx.Err() != nil:
		return outcome, why()
	case errors.Is(err, raftfsm.ErrStopped):
		s.end()
		return outcome, fmt.Errorf("%w: %w", curator.ErrSessionLost, err)
	case errors.Is(err, raftfsm.ErrUnknown), errors.Is(err, raftfsm.ErrNoLeader):
		return outcome, fmt.Errorf("%w: %w", curator.ErrDisconnected, err)
	}
	return outcome, fmt.Errorf("%w: %w", quorum.ErrUnavailable, err)
}

// read calls f with the state of the member, as soon as that is fresh.
func (s *Session) read(ctx context.Context, f func(*tree.View) tree.Code) error {
	ctx, cancel, why := s.bound(ctx)
	defer cancel()
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if ctx.Err() != nil {
			return why()
		}
		if s.member.Fresh() {
			var code tree.Code
			s.member.Read(func(v *tree.View) { code = f(v) })
			return s.reason(code)
		}
		t := time.NewTimer(alivePeriod)
		select {
		case <-changed:
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
}

// reason is the error for a code.
func (s *Session) reason(code tree.Code) error {
	switch code {
	case tree.OK:
		return nil
	case tree.NoNode:
		return curator.ErrNoNode
	case tree.NodeExists:
		return curator.ErrNodeExists
	case tree.BadVersion:
		return curator.ErrBadVersion
	case tree.SessionExpired, tree.SessionMoved:
		s.end()
		return curator.ErrSessionLost
	}
	return fmt.Errorf("%w: the quorum answers %v", quorum.ErrUnavailable, code)
}

// Create implements curator.Session.
func (s *Session) Create(ctx context.Context, path string, data []byte, mode curator.Mode) (string, error) {
	if data == nil {
		data = []byte{}
	}
	o, err := s.write(ctx, &tree.Create{Path: path, Data: data, ACL: tree.OpenACL(), Mode: tree.Mode(mode)})
	return o.Path, err
}

// Delete implements curator.Session.
func (s *Session) Delete(ctx context.Context, path string) error {
	_, err := s.write(ctx, &tree.Delete{Path: path, Version: curator.AnyVersion})
	return err
}

// Get implements curator.Session.
func (s *Session) Get(ctx context.Context, path string) (data []byte, version int32, err error) {
	err = s.read(ctx, func(v *tree.View) (code tree.Code) {
		var stat tree.Stat
		data, stat, code = v.Get(&s.caller, path)
		version = stat.Version
		return code
	})
	return data, version, err
}

// Set implements curator.Session.
func (s *Session) Set(ctx context.Context, path string, data []byte, version int32) error {
	_, err := s.write(ctx, &tree.SetData{Path: path, Data: data, Version: version})
	return err
}

// Children implements curator.Session.
func (s *Session) Children(ctx context.Context, path string) (names []string, err error) {
	err = s.read(ctx, func(v *tree.View) (code tree.Code) {
		names, _, code = v.Children(&s.caller, path)
		return code
	})
	return names, err
}

// Sync implements curator.Session.
func (s *Session) Sync(ctx context.Context, path string) error {
	_, err := s.write(ctx, &tree.Sync{Path: path})
	return err
}

// Timeout implements curator.Session.
func (s *Session) Timeout() time.Duration { return s.timeout }

// Lease implements curator.Session. The group counts the whole session time from the last write on (raftfsm's leases); 1/72 is for clocks that go
// differently.
func (s *Session) Lease() time.Duration { return s.timeout * 71 / 72 }

// Address implements curator.Session.
func (s *Session) Address() string { return "127.0.0.1" }

// Moved implements curator.Session.
func (s *Session) Moved() <-chan struct{} { return s.moved }

// Lost implements curator.Session.
func (s *Session) Lost() <-chan struct{} { return s.lost }

// closeTimeout bounds the wait for the end of the session.
const closeTimeout = time.Second

// Close implements curator.Session.
func (s *Session) Close() {
	s.stop()
	<-s.done
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_, _ = s.member.Do(ctx, s.command(&tree.CloseSession{}, 0)) // else it expires
}
