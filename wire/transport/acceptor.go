package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// An Acceptor listens on one port and serves the connections that come in.
type Acceptor struct {
	remoting *Remoting
	opts     AcceptorOptions
	identity *identity // nil without TLS
	tls      *tls.Config

	mu        sync.Mutex
	listeners []net.Listener // empty while paused or stopped
	port      int            // the one that the system chose, if opts.Port is 0
	stop      chan struct{}  // closed to end the accept loops of listeners
	stopped   bool
	conns     map[*Conn]struct{}

	accepting sync.WaitGroup // accept loops
	serving   sync.WaitGroup // read goroutines
}

// Listen creates an acceptor and starts it. It fails if a key or trust store cannot be read, or an address cannot be
// bound; the error names the acceptor, the address or file, and the way out.
func (r *Remoting) Listen(o AcceptorOptions) (*Acceptor, error) {
	a := &Acceptor{remoting: r, opts: o, port: o.Port, conns: make(map[*Conn]struct{})}
	if o.TLS.Enabled {
		id, err := newIdentity(o.TLS, r.cfg.Log)
		if err == nil {
			err = id.forAcceptor()
		}
		if err != nil {
			return nil, fmt.Errorf("transport: acceptor %s: %w", o.Name, err)
		}
		a.identity, a.tls = id, id.serverConfig()
	}
	if err := r.add(a); err != nil {
		return nil, err
	}
	if err := a.Resume(); err != nil {
		r.remove(a)
		return nil, err
	}
	return a, nil
}

// Name is the acceptor's name in the configuration.
func (a *Acceptor) Name() string { return a.opts.Name }

// Options are the ones it was created with.
func (a *Acceptor) Options() AcceptorOptions { return a.opts }

// Addr is the first address listened on, as host:port, with the real port if 0 was asked for. It stays valid while
// the acceptor is paused.
func (a *Acceptor) Addr() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return net.JoinHostPort(a.opts.Hosts[0], strconv.Itoa(a.port))
}

// Serves tells whether the protocol is enabled here.
func (a *Acceptor) Serves(protocol string) bool {
	return len(a.opts.Protocols) == 0 || slices.Contains(a.opts.Protocols, protocol)
}

// Connections lists the open connections whose protocol has been detected.
func (a *Acceptor) Connections() []*Conn {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]*Conn, 0, len(a.conns))
	for c := range a.conns {
		if c.opened.Load() {
			all = append(all, c)
		}
	}
	return all
}

func (a *Acceptor) closeAll(reason error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for c := range a.conns {
		c.Close(reason)
	}
}

// Started tells whether it listens.
func (a *Acceptor) Started() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.listeners) > 0
}

// Reload reads the key and trust stores again; on an error the old ones stay.
func (a *Acceptor) Reload() error {
	if a.identity == nil {
		return nil
	}
	if err := a.identity.load(); err != nil {
		return fmt.Errorf("transport: acceptor %s: %w", a.opts.Name, err)
	}
	return nil
}

// Pause stops listening, so that clients are refused and go elsewhere. Connections stay.
func (a *Acceptor) Pause() {
	a.mu.Lock()
	if len(a.listeners) > 0 {
		close(a.stop)
		for _, l := range a.listeners {
			l.Close()
		}
		a.listeners = nil
	}
	a.mu.Unlock()
	a.accepting.Wait()
}

// Resume listens again, on the same port.
func (a *Acceptor) Resume() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		return fmt.Errorf("transport: acceptor %s is stopped", a.opts.Name)
	}
	if len(a.listeners) > 0 {
		return nil
	}
	for _, host := range a.opts.Hosts {
		l, err := a.listen(host)
		if err != nil {
			for _, l := range a.listeners {
				l.Close()
			}
			a.listeners = nil
			return err
		}
		a.port = l.Addr().(*net.TCPAddr).Port
		a.listeners = append(a.listeners, l)
	}
	a.stop = make(chan struct{})
	for _, l := range a.listeners {
		a.accepting.Add(1)
		go a.accept(l, a.stop)
	}
	return nil
}

// Stop stops listening, waits until the connections have ended or ctx is done, closes those that are left, and
// returns when all goroutines of the acceptor have ended. Telling the peers (and closing) is the protocols' part,
// between Pause and Stop.
func (a *Acceptor) Stop(ctx context.Context) {
	a.mu.Lock()
	a.stopped = true
	a.mu.Unlock()
	a.Pause()
	ended := make(chan struct{})
	go func() {
		a.serving.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		a.closeAll(ErrStopped)
		<-ended
	}
	a.remoting.remove(a)
}

func (a *Acceptor) listen(host string) (net.Listener, error) {
	addr := net.JoinHostPort(host, strconv.Itoa(a.port))
	l, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("transport: acceptor %s: %s is in use by another program (or another broker): "+
			"stop it (`ss -ltnp 'sport = :%d'` shows it) or give the acceptor another port in broker.xml: %w",
			a.opts.Name, addr, a.port, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("transport: acceptor %s: %s is not an address of this machine: "+
			"correct the host of the acceptor in broker.xml, 0.0.0.0 is all: %w", a.opts.Name, addr, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("transport: acceptor %s: no permission to listen on %s: "+
			"ports below 1024 need CAP_NET_BIND_SERVICE: %w", a.opts.Name, addr, err)
	case err != nil:
		return nil, fmt.Errorf("transport: acceptor %s: listen on %s: %w", a.opts.Name, addr, err)
	}
	if a.opts.Backlog > 0 {
		// The system takes a second listen as a change of the length.
		if raw, err := l.(*net.TCPListener).SyscallConn(); err == nil {
			raw.Control(func(fd uintptr) { syscall.Listen(int(fd), a.opts.Backlog) })
		}
	}
	return l, nil
}

// accept is the goroutine of one listener.
func (a *Acceptor) accept(l net.Listener, stop <-chan struct{}) {
	defer a.accepting.Done()
	var pause time.Duration
	for {
		nc, err := l.Accept()
		if err != nil {
			select {
			case <-stop:
				return
			default:
			}
			// Out of files or memory: it passes when connections end.
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			a.remoting.log.warn("accepting failed, will be tried again", "acceptor", a.opts.Name, "error", err, "in", pause)
			select {
			case <-time.After(pause):
			case <-stop:
				return
			}
			continue
		}
		pause = 0
		a.serve(nc.(*net.TCPConn), stop)
	}
}

// serve starts a connection, or refuses it.
func (a *Acceptor) serve(nc *net.TCPConn, stop <-chan struct{}) {
	r := a.remoting
	a.opts.TCP.apply(nc)
	c := newConn(nc, r.ids.Add(1))
	c.acceptor, c.budget, c.outputs = a, r.cfg.Budget, r.cfg.Outputs
	c.stallTimeout.Store(int64(r.cfg.StallTimeout))
	if !a.add(c) {
		nc.Close()
		r.log.warn("connection refused: the acceptor has as many as it may have (connectionsAllowed)",
			"acceptor", a.opts.Name, "remote", nc.RemoteAddr(), "allowed", a.opts.ConnectionsAllowed)
		return
	}
	if !r.waiting.admit(c, stop) {
		nc.Close()
		a.remove(c)
		return
	}
	go c.run(func() error { return a.open(c) }, func() {
		r.waiting.remove(c)
		a.remove(c)
		a.logEnd(c)
	})
}

func (a *Acceptor) add(c *Conn) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.opts.ConnectionsAllowed >= 0 && len(a.conns) >= a.opts.ConnectionsAllowed {
		return false
	}
	a.conns[c] = struct{}{}
	a.serving.Add(1)
	return true
}

func (a *Acceptor) remove(c *Conn) {
	a.mu.Lock()
	delete(a.conns, c)
	a.mu.Unlock()
	a.serving.Done()
}

// open brings a new connection to the point where its handler takes over, on its read goroutine.
func (a *Acceptor) open(c *Conn) error {
	c.closeIn(a.opts.HandshakeTimeout, ErrHandshakeTimeout)
	if err := a.openSocket(c); err != nil {
		return err
	}
	name, err := a.detect(c)
	if err != nil {
		return err
	}
	if name == http {
		return a.serveHTTP(c)
	}
	p := a.remoting.protocol(name)
	if !a.Serves(name) || p == nil {
		why := "not enabled on this acceptor (parameter protocols)"
		if a.Serves(name) {
			why = "not built into this broker yet"
		}
		return fmt.Errorf("the peer speaks %s, which is %s", name, why)
	}
	c.protocol = name
	c.closeIn(max(0, a.remoting.cfg.LoginTimeout), ErrLoginTimeout)
	h := p.Accept(c)
	if h == nil {
		return fmt.Errorf("%s refused the connection", name)
	}
	c.handler = h
	c.opened.Store(true)
	return nil
}

func (a *Acceptor) openSocket(c *Conn) error {
	if a.identity == nil {
		return c.usePlain()
	}
	return c.useTLS(func(nc net.Conn) *tls.Conn { return tls.Server(nc, a.tls) }, a.identity.checkPeer)
}

// detect reads until the protocol can be told.
func (a *Acceptor) detect(c *Conn) (string, error) {
	for len(c.in.bytes()) < detectSize {
		n, err := c.sock.read(&c.in, RefSize)
		if err != nil {
			return "", err
		}
		c.bytesRead.Add(int64(n))
	}
	name, n := detect(c.in.bytes())
	c.in.consume(n)
	switch {
	case name == proxy:
		return "", errors.New("the peer is a proxy that sends a PROXY header: switch it off there, it is not supported")
	case name == "" && a.Serves(HornetQ) && a.remoting.protocol(HornetQ) != nil:
		name = HornetQ // the one protocol that does without a start of its own
	case name == "":
		name = Core
	}
	return name, nil
}

// serveHTTP answers the upgrades that Artemis answers.
func (a *Acceptor) serveHTTP(c *Conn) error {
	for {
		head := c.in.bytes()
		u, complete := httpUpgrade(head)
		switch {
		case complete && u == upgradeCore:
			c.answerHTTP("HTTP/1.1 403 Forbidden\r\n\r\n")
			return nil
		case complete && u == upgradeWebSocket:
			c.answerHTTP("HTTP/1.1 501 Not Implemented\r\ncontent-length: 0\r\n\r\n")
			return nil
		case complete:
			return errors.New("the peer speaks HTTP without a protocol upgrade")
		case len(head) > maxHTTPHead:
			return fmt.Errorf("%w: head of an HTTP request of more than %d bytes", ErrBigFrame, maxHTTPHead)
		}
		n, err := c.sock.read(&c.in, RefSize)
		if err != nil {
			return err
		}
		c.bytesRead.Add(int64(n))
	}
}

func (c *Conn) answerHTTP(response string) {
	c.out.Lock()
	c.out.Append([]byte(response))
	c.out.Unlock()
	c.CloseAfterFlush(fmt.Errorf("HTTP request answered %s", strings.TrimSpace(strings.SplitN(response, "\r\n", 2)[0])))
}

// logEnd writes one line for a connection that ended with a reason an operator can act on.
func (a *Acceptor) logEnd(c *Conn) {
	reason := c.closeReason()
	args := []any{"acceptor", a.opts.Name, "remote", c.RemoteAddr(), "id", c.ID(), "protocol", c.protocol, "reason", reason}
	if reason == nil || errors.Is(reason, io.EOF) || errors.Is(reason, ErrStopped) || errors.Is(reason, syscall.ECONNRESET) {
		a.remoting.cfg.Log.Debug("connection ended", args...)
		return
	}
	a.remoting.log.warn("connection closed", args...)
}

func (o TCPOptions) apply(nc *net.TCPConn) {
	nc.SetKeepAlive(true)
	nc.SetNoDelay(o.NoDelay)
	if o.SendBuffer > 0 {
		nc.SetWriteBuffer(o.SendBuffer)
	}
	if o.ReceiveBuffer > 0 {
		nc.SetReadBuffer(o.ReceiveBuffer)
	}
}
