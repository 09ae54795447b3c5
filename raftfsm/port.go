package raftfsm

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const (
	maxStrangers    = 64               // connections that have not said hello
	maxConnections  = 512              // in all; more is a mistake, not a group
	strangerTimeout = 5 * time.Second  // from accept or dial to the end of the hello
	complainEvery   = time.Second      // between two log lines about strangers
	writeTimeout    = 10 * time.Second // of one write to a peer
)

// port is the member's one port: it accepts, has each connection prove that it belongs to the group, and gives it to Raft or to the RPC.
type port struct {
	cluster   string
	member    string
	advertise string
	net       network
	listener  net.Listener
	tls       *credentials // nil: no TLS
	log       hclog.Logger
	clock     Clock

	raft    chan net.Conn             // for stream.Accept
	serve   func(c net.Conn, h hello) // runs until the connection ends
	done    chan struct{}
	running sync.WaitGroup // accept loop and what it started

	mu         sync.Mutex
	open       map[*trackedConn]struct{}
	closed     bool
	strangers  int
	complained time.Time
	silent     int // complaints that were not logged
}

// listen opens the port; start begins to accept.
func listen(cfg Config) (*port, error) {
	p := &port{
		cluster: cfg.Cluster, member: cfg.Member, advertise: cfg.Advertise, net: cfg.net, log: cfg.Log, clock: cfg.Clock,
		raft: make(chan net.Conn), done: make(chan struct{}), open: map[*trackedConn]struct{}{},
	}
	if !cfg.TLS.empty() {
		var err error
		p.tls, err = loadCredentials(cfg.TLS, cfg.Clock, func(err error) { cfg.Log.Error("the changed TLS files are not used", "error", err) })
		if err != nil {
			return nil, err
		}
	}
	var err error
	if p.listener, err = cfg.net.Listen(cfg.Listen); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *port) start(serve func(net.Conn, hello)) {
	p.serve = serve
	p.running.Go(p.accept)
}

// close ends all connections and waits for what served them.
func (p *port) close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.done)
	}
	open := p.open
	p.open = map[*trackedConn]struct{}{}
	p.mu.Unlock()
	p.listener.Close()
	for c := range open {
		c.Close()
	}
	p.running.Wait()
}

// cut ends all connections, now and to come, without waiting.
func (p *port) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		close(p.done)
	}
	p.listener.Close()
	for c := range p.open {
		c.Conn.Close()
	}
}

func (p *port) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			select {
			case <-p.done:
				return
			case <-time.After(50 * time.Millisecond): // out of descriptors, or one that was gone at once
				p.complain("a connection could not be accepted", "error", err)
				continue
			}
		}
		t, err := p.track(c, true)
		if err != nil {
			c.Close()
			p.complain("a connection was refused", "from", c.RemoteAddr(), "error", err)
			continue
		}
		p.running.Go(func() { p.welcome(t) })
	}
}

// track counts a connection until it is closed.
func (p *port) track(c net.Conn, stranger bool) (*trackedConn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, ErrStopped
	case len(p.open) >= maxConnections:
		return nil, fmt.Errorf("there are %d connections", len(p.open))
	case stranger && p.strangers >= maxStrangers:
		return nil, fmt.Errorf("there are %d connections that have not said hello", p.strangers)
	}
	t := &trackedConn{Conn: c, port: p, stranger: stranger}
	if stranger {
		p.strangers++
	}
	p.open[t] = struct{}{}
	return t, nil
}

// trackedConn is a connection that the port knows of.
type trackedConn struct {
	net.Conn
	port     *port
	stranger bool // guarded by port.mu
}

func (t *trackedConn) Close() error {
	t.known()
	t.port.mu.Lock()
	delete(t.port.open, t)
	t.port.mu.Unlock()
	return t.Conn.Close()
}

// known says that the connection is no stranger's any more.
func (t *trackedConn) known() {
	t.port.mu.Lock()
	defer t.port.mu.Unlock()
	if t.stranger {
		t.stranger = false
		t.port.strangers--
	}
}

// complain logs what strangers do, at most once per complainEvery.
func (p *port) complain(what string, args ...any) {
	p.mu.Lock()
	now := p.clock.Now()
	if now.Sub(p.complained) < complainEvery {
		p.silent++
		p.mu.Unlock()
		return
	}
	p.complained = now
	if p.silent > 0 {
		args = append(args, "and as many more", p.silent)
		p.silent = 0
	}
	p.mu.Unlock()
	p.log.Warn(what, args...)
}

// welcome reads the hello and gives the connection away.
func (p *port) welcome(t *trackedConn) {
	_ = t.SetDeadline(time.Now().Add(strangerTimeout))
	c, h, err := p.greet(t)
	if err != nil {
		t.Close()
		select {
		case <-p.done:
		default:
			p.complain("a connection was refused", "from", t.RemoteAddr(), "error", err)
		}
		return
	}
	_ = t.SetDeadline(time.Time{})
	t.known()
	if h.Service == serviceRPC {
		p.serve(c, h)
		c.Close()
		return
	}
	select {
	case p.raft <- c:
	case <-p.done:
		c.Close()
	}
}

func (p *port) greet(t *trackedConn) (net.Conn, hello, error) {
	var c net.Conn = t
	if p.tls != nil {
		s := tls.Server(t, p.tls.server())
		if err := s.Handshake(); err != nil {
			return nil, hello{}, fmt.Errorf("TLS: %w", err)
		}
		c = s
	}
	h, err := readHello(c)
	refused := ""
	switch {
	case err != nil:
		if !errors.Is(err, errNoHello) {
			return nil, h, fmt.Errorf("hello: %w", err)
		}
		refused = err.Error()
	case h.Cluster != p.cluster:
		refused = fmt.Sprintf("this is a member of cluster %q, not of %q", p.cluster, h.Cluster)
	case h.Service != serviceRaft && h.Service != serviceRPC:
		refused = fmt.Sprintf("unknown service %d", h.Service)
	}
	if _, err := c.Write(appendWelcome(nil, refused)); err != nil {
		return nil, h, err
	}
	if refused != "" {
		return nil, h, errors.New(refused)
	}
	return c, h, nil
}

// dial connects to another member and says hello.
func (p *port) dial(ctx context.Context, address string, s service) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, strangerTimeout)
	defer cancel()
	raw, err := p.net.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	t, err := p.track(raw, false)
	if err != nil {
		raw.Close()
		return nil, err
	}
	c, err := introduce(ctx, t, address, p.tls, hello{s, p.cluster, p.member})
	if err != nil {
		t.Close()
		return nil, err
	}
	return c, nil
}

// introduce does the dialling end of TLS and hello. A context that ends closes c.
func introduce(ctx context.Context, c net.Conn, address string, creds *credentials, h hello) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	if creds != nil {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		s := tls.Client(c, creds.client(host))
		if err := s.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("TLS: %w", err)
		}
		c = s
	}
	if _, err := c.Write(h.append(nil)); err != nil {
		return nil, err
	}
	if err := readWelcome(c); err != nil {
		return nil, err
	}
	return c, nil
}

// stream is the port as hashicorp/raft's transport sees it.
type stream struct{ *port }

func (s stream) Accept() (net.Conn, error) {
	select {
	case c := <-s.raft:
		return c, nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}

// Close does nothing: the port is closed by its member, later than the transport.
func (s stream) Close() error { return nil }

func (s stream) Addr() net.Addr { return address(s.advertise) }

func (s stream) Dial(to raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return s.dial(ctx, string(to), serviceRaft)
}

// address is an address as configured.
type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }
