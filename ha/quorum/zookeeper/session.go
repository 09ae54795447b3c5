package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/ha/quorum/curator"
	"github.com/saranga-mq/saranga/raftfsm/zk/jute"
)

// Options of a session.
type Options struct {
	Servers           []string      // host:port, at least one
	Root              string        // path in front of all paths; "": none
	Timeout           time.Duration // session time to ask for
	Percent           int           // of the granted time without a connection after which the session is lost; 0: 100
	ConnectionTimeout time.Duration // how long an operation waits for a connection
	Log               hclog.Logger  // nil: nothing is logged
	// Dial opens a connection; nil: TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

// Session is a curator.Session with ZooKeeper servers.
type Session struct {
	o        Options
	identity identity // of run's goroutine
	next     int      // server to try, of run's goroutine

	mu      sync.Mutex
	conn    *conn         // nil: disconnected
	changed chan struct{} // closed and replaced when conn changes

	timeout atomic.Int64 // time.Duration, the shortest that was granted
	moved   chan struct{}
	lost    chan struct{}
	stop    context.CancelFunc
	done    chan struct{} // run has ended
}

// An identity is what a server has to be told of a session to go on with it.
type identity struct {
	id      int64 // 0: none yet
	passwd  []byte
	timeout time.Duration // granted, or asked for
	zxid    int64         // last one seen
}

// Parts of the session time; see the package comment.
const (
	pingPart    = 9
	silencePart = 3
	attemptPart = 6
)

// Connect begins a session. It tries until there is one or the context ends.
func Connect(ctx context.Context, o Options) (*Session, error) {
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}
	}
	if o.Percent == 0 {
		o.Percent = 100
	}
	s := &Session{
		o:        o,
		identity: identity{passwd: make([]byte, 16), timeout: o.Timeout},
		next:     rand.IntN(len(o.Servers)),
		changed:  make(chan struct{}),
		moved:    make(chan struct{}, 1),
		lost:     make(chan struct{}),
		done:     make(chan struct{}),
	}
	c, err := s.reconnect(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to %v: %w", o.Servers, err)
	}
	s.timeout.Store(int64(s.identity.timeout))
	run, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.set(c)
	go s.run(run, c)
	return s, nil
}

// run serves one connection after another until the session is lost or closed.
func (s *Session) run(ctx context.Context, c *conn) {
	defer close(s.done)
	defer close(s.lost)
	for {
		err := c.serve(ctx)
		s.identity.zxid = c.zxid
		s.set(nil)
		c.fail()
		if ctx.Err() != nil || errors.Is(err, errClosed) {
			return
		}
		s.o.Log.Warn("connection to the lock manager's server is lost", "server", c.remote, "error", err)
		if errors.Is(err, errExpired) {
			return
		}
		window := s.Timeout() * time.Duration(s.o.Percent) / 100
		within, cancel := context.WithTimeoutCause(ctx, window, errWindow)
		c, err = s.reconnect(within)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				s.o.Log.Warn("session of the lock manager is lost", "error", err)
			}
			return
		}
		s.timeout.Store(min(s.timeout.Load(), int64(c.timeout)))
		s.set(c)
		select {
		case s.moved <- struct{}{}:
		default:
		}
	}
}

var (
	errExpired = errors.New("the server says that the session has expired")
	errWindow  = errors.New("the session was too long without a connection")
)

// reconnect connects to one server after another until one goes on with the session, or begins it. It ends with errExpired or
// the context's cause.
func (s *Session) reconnect(ctx context.Context) (*conn, error) {
	for n := 1; ; n++ {
		server := s.o.Servers[s.next]
		s.next = (s.next + 1) % len(s.o.Servers)
		c, err := s.attach(ctx, server)
		if err == nil || errors.Is(err, errExpired) {
			return c, err
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		s.o.Log.Debug("no session with this server", "server", server, "error", err)
		if n%len(s.o.Servers) != 0 {
			continue
		}
		t := time.NewTimer(min(s.identity.timeout/18, 500*time.Millisecond))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// attach connects to a server and introduces the session.
func (s *Session) attach(ctx context.Context, server string) (*conn, error) {
	limit := s.identity.timeout / attemptPart
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	nc, err := s.o.Dial(ctx, server)
	if err != nil {
		return nil, err
	}
	// The context ends the handshake by closing the connection.
	undo := context.AfterFunc(ctx, func() { nc.Close() })
	answer, err := introduce(nc, s.identity, s.o.Timeout)
	if !undo() && err == nil {
		err = context.Cause(ctx)
	}
	if err == nil && answer.id == 0 {
		if err = errExpired; s.identity.id == 0 {
			err = errors.New("the server gives no session")
		}
	}
	if err == nil && s.identity.id != 0 && answer.id != s.identity.id {
		err = fmt.Errorf("session %#x was asked for, the server has %#x", s.identity.id, answer.id)
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	answer.zxid = s.identity.zxid
	s.identity = answer
	s.o.Log.Info("session of the lock manager", "server", server, "session", fmt.Sprintf("%#x", answer.id), "timeout", answer.timeout)
	return newConn(nc, answer), nil
}

// introduce exchanges the first frames. An answer with id 0 says that there is no such session.
func introduce(nc net.Conn, me identity, timeout time.Duration) (identity, error) {
	request := jute.ConnectRequest{LastZxidSeen: me.zxid, TimeOut: int32(timeout / time.Millisecond), SessionID: me.id, Passwd: me.passwd, HasReadOnly: true}
	if _, err := nc.Write(jute.AppendFrame(nil, request.Append)); err != nil {
		return identity{}, err
	}
	payload, err := readFrame(nc)
	if err != nil {
		return identity{}, err
	}
	r, err := jute.ParseConnectResponse(payload)
	if err != nil {
		return identity{}, err
	}
	if r.SessionID == 0 || r.TimeOut <= 0 {
		return identity{}, nil
	}
	return identity{id: r.SessionID, passwd: r.Passwd, timeout: time.Duration(r.TimeOut) * time.Millisecond}, nil
}

// set makes c the connection that operations use.
func (s *Session) set(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = c
	close(s.changed)
	s.changed = make(chan struct{})
}

// connected waits for a connection.
func (s *Session) connected(ctx context.Context) (*conn, error) {
	t := time.NewTimer(s.o.ConnectionTimeout)
	defer t.Stop()
	for {
		s.mu.Lock()
		c, changed := s.conn, s.changed
		s.mu.Unlock()
		if c != nil {
			return c, nil
		}
		select {
		case <-changed:
		case <-s.lost:
			return nil, curator.ErrSessionLost
		case <-t.C:
			return nil, curator.ErrDisconnected
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Timeout implements curator.Session.
func (s *Session) Timeout() time.Duration { return time.Duration(s.timeout.Load()) }

// Lease implements curator.Session. Of the session time T are left 5/8:
//
//	T       after the ensemble heard last of the session
//	−1/9 T  the longest time between two of our frames: the last one it counted may have come that long before the write was sent
//	−1/4 T  a follower tells the leader of its clients every half tick, and a tick is at most half of T
//	−1/72 T for clocks that go differently
func (s *Session) Lease() time.Duration { return s.Timeout() * 5 / 8 }

// Moved implements curator.Session.
func (s *Session) Moved() <-chan struct{} { return s.moved }

// Lost implements curator.Session.
func (s *Session) Lost() <-chan struct{} { return s.lost }

// Address implements curator.Session.
func (s *Session) Address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		if host, _, err := net.SplitHostPort(s.conn.nc.LocalAddr().String()); err == nil {
			return host
		}
	}
	return "127.0.0.1"
}

// closeTimeout bounds the wait for the answer to closeSession.
const closeTimeout = time.Second

// Close implements curator.Session.
func (s *Session) Close() {
	s.mu.Lock()
	c := s.conn
	s.mu.Unlock()
	if c != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		_, _ = c.call(ctx, jute.OpCloseSession, nil) // else it expires
		cancel()
	}
	s.stop()
	<-s.done
}
