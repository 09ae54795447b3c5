// Package server is the Core front of the broker: it reads the packets of clients, drives broker sessions with them, and
// writes deliveries and answers.
//
// # One connection
//
// The connection's read goroutine handles every frame in place, in order. A packet that may wait for the disk (login,
// creating and deleting queues, the end of a large body) runs on a goroutine of its channel; frames of that channel wait
// behind it, those of others and pings go on. Deliveries and answers are appended to the connection's output by whoever
// makes them.
//
// # One channel
//
// A session lives on a channel. Answers come from the session's queue of outcomes, which keeps their order. A channel with
// a confirmation window keeps copies of what it sent, is kept for the connection's TTL when the connection breaks, and can
// be moved to another one (REATTACH_SESSION).
//
// Locks, in this order: conn.life, conn.handling, Session.mu and Queue.mu of the broker, channel.mu, conn.mu, the output's,
// conn.stallMu and channel.streamMu. channel.streamMu is a leaf.
//
// Source: core-protocol sections 1, 4 and 6.
package server

import (
	"crypto/x509"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/transport"
)

// Options configure a Server.
type Options struct {
	Broker *broker.Broker
	Log    hclog.Logger
	NodeID string

	// Login authenticates. It may take long.
	Login func(security.Credentials) (security.Principal, error)
	// Watch makes what checks the user of a session again. Nil: a session's user stays what it is.
	Watch func(security.Credentials, security.Principal) *security.Login

	// TTLOverride replaces the TTL that clients ask for, in ms; -1: it does not.
	TTLOverride int64
	// TTLCheckInterval is how often dead connections are looked for, in ms.
	TTLCheckInterval int64
	// ResendCache bounds what a channel with a confirmation window keeps for a reattachment, in bytes; 0: 10 MiB.
	ResendCache int
	// MaxFrame bounds a frame after the login, in bytes; 0: 100 MiB.
	MaxFrame int
	// Topology tells the nodes of the cluster. Nil: this node is told alone.
	Topology Topology
}

// DefaultTTL is the TTL of a connection that has not sent a ping, in ms.
const DefaultTTL = 60_000

// A Server speaks Core on all acceptors that it is registered with.
type Server struct {
	o   Options
	b   *broker.Broker
	log hclog.Logger

	mu       sync.Mutex
	conns    map[*conn]bool
	channels map[string]*channel // by session name: the ones that can be reattached
	handlers map[int64]ChannelHandler
	stopped  bool
	ends     sync.WaitGroup // connections that are being ended after their reader has
	checking bool           // checkTTL is due
	checked  []*conn        // memory for the list of a check
	watchers watchers
	left     chan struct{} // closed when, after Disconnect, only those are left that outlive it
}

// A ChannelHandler takes the frames of a channel that is not a session's: replication, cluster control. It is called on
// the connection's read goroutine.
type ChannelHandler interface {
	HandleFrame(peer Peer, f core.Frame) error
	// Gone tells that the connection ended.
	Gone(peer Peer)
}

// A BatchHandler is a ChannelHandler that wants to be told when all frames of one read have been handled, some of which were its.
type BatchHandler interface {
	ChannelHandler
	EndOfBatch(peer Peer)
}

// A Peer is a connection as a ChannelHandler sees it. It is comparable.
type Peer interface {
	// Send writes a packet on a channel of the connection.
	Send(channel int64, p core.Packet)
	// SendFrames appends whole frames to what the connection sends, without a copy, and writes as much as the peer takes at
	// once. done is released once, when the frames may be overwritten, be they written or dropped.
	SendFrames(frames []byte, done transport.Releaser)
	// Close ends the connection.
	Close(reason error)
	RemoteAddr() string
	Version() core.Version
	PeerCertificates() []*x509.Certificate
	// AcceptorParam returns a parameter of the URL of the acceptor it came through, "" if it is not written.
	AcceptorParam(key string) string
	// Admit lifts the bounds of connections that have not logged in from one that was authenticated on a channel of its
	// own. Its frames are bounded to max bytes.
	Admit(max int)
	// Outlive has Disconnect neither tell the peer that the server stops nor close the connection: whoever asked does. A
	// primary's replica has to hear it last.
	Outlive()
}

// New makes a server.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	if o.ResendCache == 0 {
		o.ResendCache = 10 << 20
	}
	if o.MaxFrame == 0 {
		o.MaxFrame = 100 << 20
	}
	if o.TTLOverride == 0 {
		o.TTLOverride = -1
	}
	if o.TTLCheckInterval <= 0 {
		o.TTLCheckInterval = 2000
	}
	return &Server{o: o, b: o.Broker, log: o.Log, conns: map[*conn]bool{}, channels: map[string]*channel{}, handlers: map[int64]ChannelHandler{}, left: make(chan struct{})}
}

// HandleChannel gives a channel of every connection to h. Before the first connection.
func (s *Server) HandleChannel(id int64, h ChannelHandler) { s.handlers[id] = h }

// Protocols returns the two names under which the protocol is detected.
func (s *Server) Protocols() []transport.Protocol {
	return []transport.Protocol{protocol{s, "CORE"}, protocol{s, "HORNETQ"}}
}

type protocol struct {
	*Server
	name string
}

func (p protocol) Name() string { return p.name }

func (p protocol) Accept(tc *transport.Conn) transport.Handler { return p.accept(tc) }

func (s *Server) accept(tc *transport.Conn) transport.Handler {
	c := &conn{s: s, tc: tc, out: tc.Output(), gone: make(chan struct{}), ttl: DefaultTTL, plain: !tc.TLS()}
	if s.o.TTLOverride != -1 {
		c.ttl = s.o.TTLOverride
	}
	if a := tc.Acceptor(); a != nil {
		p := a.Options().Params
		c.anycast, c.multicast = prefixes(p["anycastPrefix"]), prefixes(p["multicastPrefix"])
	}
	c.bc = s.b.Connect(tc.ID(), tc.RemoteAddr(), "CORE", c.closeFor)
	c.bc.Local = tc.LocalAddr()
	c.bc.Await()
	c.control = &channel{id: core.ChannelSession, s: s}
	c.control.conn.Store(c)
	c.lastAlive = s.b.Wheel().Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		c.bc.End(s.b.NewWork(), false)
		return nil
	}
	s.conns[c] = true
	if !s.checking {
		s.checking = true
		s.b.Wheel().After(s.o.TTLCheckInterval, s.checkTTL)
	}
	return c
}

func prefixes(text string) []string {
	var out []string
	for p := range strings.SplitSeq(text, ",") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// checkTTL closes connections that have been silent for their TTL, and sends the confirmations that are due.
func (s *Server) checkTTL() {
	s.mu.Lock()
	list := s.checked[:0]
	for c := range s.conns {
		list = append(list, c)
	}
	s.mu.Unlock()
	now := s.b.Wheel().Now()
	for _, c := range list {
		c.checkTTL(now)
	}
	clear(list)
	s.mu.Lock()
	s.checked = list
	s.checking = len(s.conns) > 0 && !s.stopped
	again := s.checking
	s.mu.Unlock()
	if again {
		s.b.Wheel().After(s.o.TTLCheckInterval, s.checkTTL)
	}
}

// Disconnect tells all clients that the server stops, and closes their connections but those that outlive it. Call it
// between pausing and stopping the acceptors.
func (s *Server) Disconnect() {
	s.mu.Lock()
	s.stopped = true
	s.tellLeft()
	list := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		list = append(list, c)
	}
	s.mu.Unlock()
	defer s.ends.Wait()
	for _, c := range list {
		if c.outlives.Load() {
			continue
		}
		if c.detached.Load() {
			<-c.gone
			c.end(true)
			continue
		}
		c.flushConfirmations()
		c.send(core.ChannelPing, &core.Disconnect{NodeID: buf.Of(s.o.NodeID), Reason: core.ReasonScaleDown})
		c.out.Flush()
		c.tc.CloseAfterFlush(nil)
		if c.detached.Load() { // just now
			<-c.gone
			c.end(true)
		}
	}
}

// tellLeft closes left when it is time. Called with mu held.
func (s *Server) tellLeft() {
	for c := range s.conns {
		if !c.outlives.Load() {
			return
		}
	}
	select {
	case <-s.left:
	default:
		close(s.left)
	}
}

// Left is closed when, after Disconnect, only those connections are left that outlive it.
func (s *Server) Left() <-chan struct{} { return s.left }

func (s *Server) isStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// endLater ends a connection whose reader has ended or is about to; while the server stops, Disconnect does.
func (s *Server) endLater(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.ends.Go(func() {
			<-c.gone
			c.end(true)
		})
	}
}

// register makes a session's channel known for reattachment; a later registration of a name wins.
func (s *Server) register(ch *channel) {
	s.mu.Lock()
	s.channels[ch.sess.Name] = ch
	s.mu.Unlock()
}

func (s *Server) unregister(ch *channel) {
	s.mu.Lock()
	if s.channels[ch.sess.Name] == ch {
		delete(s.channels, ch.sess.Name)
	}
	s.mu.Unlock()
}

func (s *Server) channel(name string) *channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.channels[name]
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	if s.stopped {
		s.tellLeft()
	}
	s.mu.Unlock()
	s.watchers.remove(c)
}

// Connections is how many connections there are, those that wait for their client to come back included.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
