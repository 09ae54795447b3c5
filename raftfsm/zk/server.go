package zk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/raftfsm/tree"
	"github.com/saranga-mq/saranga/raftfsm/zk/jute"
)

// A Server serves one member's state to ZooKeeper clients.
//
// Lock order: the member's critical section, Server.mu, output.mu. Nothing else is locked under any of them.
type Server struct {
	cfg      Config
	member   Member
	log      limitedLog
	listener net.Listener
	budget   budget
	stats    stats
	ctx      context.Context // ends with the server
	cancel   context.CancelFunc
	running  sync.WaitGroup // accept loop, watchdog and connections
	unlisten func()

	mu       sync.Mutex
	watches  *tree.Watches
	conns    map[*conn]struct{} // all that are open
	from     map[netip.Addr]int // of these, by address
	logins   map[uint64]*conn   // whose session is proposed, by owner stamp
	sessions map[int64]*conn    // whose session is established
}

// Listen starts a server. Without a Listen address there is nothing to serve: whether the endpoint is on is the caller's to know.
func Listen(cfg Config, m Member) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("zookeeper endpoint: %w", err)
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("zookeeper endpoint: %w", err)
	}
	s := &Server{
		cfg: cfg, member: m, log: limitedLog{log: cfg.Log}, listener: l, budget: budget{limit: cfg.Limits.Memory},
		watches: tree.NewWatches(cfg.Limits.Watches), conns: map[*conn]struct{}{}, from: map[netip.Addr]int{},
		logins: map[uint64]*conn{}, sessions: map[int64]*conn{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.unlisten = m.Listen(s)
	s.running.Go(s.accept)
	s.running.Go(s.watch)
	cfg.Log.Info("ZooKeeper endpoint started", "address", l.Addr())
	return s, nil
}

// Addr is the address listened on, with the real port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close ends all connections and waits for them. Sessions live on in the group until they expire.
func (s *Server) Close() error {
	s.cancel()
	err := s.listener.Close()
	s.endAll(errors.New("the endpoint stops"))
	s.running.Wait()
	s.unlisten()
	return err
}

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			if s.ctx.Err() != nil {
				return
			}
			s.log.warn("accepting a ZooKeeper client failed", "error", err)
			select {
			case <-time.After(100 * time.Millisecond): // out of descriptors: it may pass
			case <-s.ctx.Done():
			}
			continue
		}
		if err := s.admit(c); err != nil {
			s.log.warn("ZooKeeper client refused", "remote", c.RemoteAddr(), "reason", err)
			c.Close()
		}
	}
}

// admit starts to serve a connection, if its address and the number of others allow it.
func (s *Server) admit(nc net.Conn) error {
	at, err := netip.ParseAddrPort(nc.RemoteAddr().String())
	if err != nil {
		return err
	}
	addr := at.Addr().Unmap().WithZone("")
	if !s.cfg.allows(addr) {
		return errors.New("its address is in none of the allowed networks")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ctx.Err() != nil:
		return errors.New("the endpoint stops")
	case len(s.conns) >= s.cfg.Limits.Clients:
		return fmt.Errorf("there are %d clients already", len(s.conns))
	case s.from[addr] >= s.cfg.perAddress(addr):
		return fmt.Errorf("there are %d clients of its address already", s.from[addr])
	}
	c := newConn(s, nc, addr)
	s.conns[c] = struct{}{}
	s.from[addr]++
	s.running.Go(c.serve)
	return nil
}

// forget undoes admit, and takes back all that a connection registered.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.from[c.addr]--; s.from[c.addr] == 0 {
		delete(s.from, c.addr)
	}
	s.detach(c)
}

// detach parts a connection from its session. Server.mu is held.
func (s *Server) detach(c *conn) {
	if s.logins[c.owner] == c {
		delete(s.logins, c.owner)
	}
	if s.sessions[c.session] == c {
		delete(s.sessions, c.session)
		s.watches.RemoveSession(c.session)
	}
}

// watch reports the sessions' liveness to the leader, and closes all connections when this member falls behind.
func (s *Server) watch() {
	tick := time.NewTicker(freshEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		if !s.member.Fresh() {
			s.endSessions(errStale)
			continue
		}
		if n%int(reportEvery/freshEvery) == 0 {
			s.report()
		}
	}
}

var errStale = errors.New("this member does not know any more what the leader knows")

// report touches all sessions.
func (s *Server) report() {
	s.mu.Lock()
	all := make([]*conn, 0, len(s.sessions))
	for _, c := range s.sessions {
		all = append(all, c)
	}
	s.mu.Unlock()
	now := time.Now()
	for _, c := range all {
		s.member.Touch(c.session, c.owner, max(0, now.Sub(c.lastHeard())))
	}
}

// endSessions ends the connections that have a session; those that are connecting wait on their own.
func (s *Server) endSessions(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.sessions {
		c.end(reason)
	}
}

func (s *Server) endAll(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.end(reason)
	}
}

// Applied implements Listener: watch events first, then the reply to who proposed the entry, then the end of a connection that
// lost its session by it.
func (s *Server) Applied(r *tree.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range r.Events {
		s.watches.Fire(e, func(session int64, e tree.Event) { s.notify(session, r.Zxid, e) })
	}
	if r.Session == 0 {
		return
	}
	if r.Kind == tree.KindNewSession || r.Kind == tree.KindAttach {
		s.detached(r)
		if c := s.logins[r.Owner]; c != nil && c.session == r.Session {
			delete(s.logins, r.Owner)
			c.connected(r)
		}
		return
	}
	if c := s.sessions[r.Session]; c != nil && c.owner == r.Owner {
		c.answer(r)
	}
	s.detached(r)
}

// detached ends the connection whose owner stamp lost the session.
func (s *Server) detached(r *tree.Result) {
	c := s.sessions[r.Session]
	if r.Detached == 0 || c == nil || c.owner != r.Detached {
		return
	}
	s.detach(c)
	switch r.Kind {
	case tree.KindAttach:
		c.finish(errors.New("its session moved to another connection"))
	case tree.KindExpireSession:
		c.finish(errors.New("its session expired"))
	default:
		c.finish(errClosedByClient)
	}
}

// notify sends a watch event to the client of a session.
func (s *Server) notify(session, zxid int64, e tree.Event) {
	c := s.sessions[session]
	if c == nil || !c.caller.May(e.ACL, tree.PermRead) {
		return
	}
	path, ok := c.caller.Rel(e.Path)
	if !ok {
		return
	}
	c.send(func(b []byte) []byte {
		return jute.AppendEvent(b, zxid, jute.Event{Type: jute.EventType(e.Type), Path: path})
	})
}

// Restored implements Listener: nobody knows which watches would have fired and which answers were due, so all clients connect again
// and bring their watches along.
func (s *Server) Restored() {
	s.endAll(errors.New("the state was replaced by a snapshot of the leader"))
}
