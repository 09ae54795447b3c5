package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/transport"
)

// ErrClosed is what calls on a closed connection, session, producer or
// consumer return.
var ErrClosed error = &core.Error{Code: core.ObjectClosed, Message: "closed by this client"}

// Conn is a connection to a broker, over one link at a time.
type Conn struct {
	cfg Config

	version  atomic.Int32 // of the connection, see wireVersion
	sessions atomic.Pointer[map[int64]*Session]
	handlers atomic.Pointer[map[int64]func(core.Frame) error]

	endOfBatch atomic.Pointer[func()]

	flushWanted atomic.Bool
	wake        chan struct{} // capacity 1
	stop        context.CancelFunc
	ctx         context.Context // ends with the connection
	work        sync.WaitGroup
	setup       sync.Mutex // one at a time makes a session or a new link

	mu          sync.Mutex
	link        *link         // nil while there is none
	linkUp      chan struct{} // closed while link is set
	closed      bool
	err         error // why it is over for good
	nodeID      string
	nodes       map[string]Node
	redirect    *core.TransportConfiguration
	nextChannel int64
	onTopology  func(Node, bool)
}

// Dial connects to the first host that takes the connection and waits for its
// topology.
func Dial(ctx context.Context, cfg Config) (*Conn, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Conn{cfg: cfg, wake: make(chan struct{}, 1), nodes: map[string]Node{}, nextChannel: core.FirstSessionChannel, linkUp: make(chan struct{})}
	c.sessions.Store(&map[int64]*Session{})
	c.handlers.Store(&map[int64]func(core.Frame) error{})
	c.ctx, c.stop = context.WithCancel(context.Background())
	l, err := c.connect(ctx, cfg.InitialConnectAttempts, "")
	if err != nil {
		c.stop()
		return nil, err
	}
	if !c.use(l) {
		c.Close()
		return nil, l.err
	}
	c.work.Go(c.tend)
	return c, nil
}

// connect makes a link to one of the hosts, in turn, in as many rounds as
// attempts says (negative: without end).
func (c *Conn) connect(ctx context.Context, attempts int, comesFrom string) (*link, error) {
	interval := c.cfg.RetryInterval
	for attempt := 1; ; attempt++ {
		var errs []error
		for _, host := range c.candidates() {
			l, err := c.connectTo(ctx, host, comesFrom)
			if err == nil {
				return l, nil
			}
			errs = append(errs, err)
			if ctx.Err() != nil {
				return nil, errors.Join(errs...)
			}
		}
		if attempts >= 0 && attempt >= attempts {
			return nil, errors.Join(errs...)
		}
		timer := time.NewTimer(interval)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, errors.Join(append(errs, context.Cause(ctx))...)
		}
		interval = min(time.Duration(float64(interval)*c.cfg.RetryIntervalMultiplier), max(c.cfg.MaxRetryInterval, c.cfg.RetryInterval))
	}
}

func (c *Conn) connectTo(ctx context.Context, host transport.ConnectorOptions, comesFrom string) (*link, error) {
	dialCtx, cancel := context.WithTimeout(ctx, c.cfg.CallTimeout)
	defer cancel()
	tc, err := c.cfg.Dialer.Dial(dialCtx, host)
	if err != nil {
		return nil, &core.Error{Code: core.NotConnected, Message: err.Error()}
	}
	l := newLink(c, tc, host)
	tc.Start(l)
	if err := l.hello(ctx, comesFrom); err != nil {
		l.fail(err)
		return nil, fmt.Errorf("core client: connect to %s:%d: %w", host.Host, host.Port, err)
	}
	c.identify(l)
	return l, nil
}

// use makes l the connection's link unless it has ended.
func (c *Conn) use(l *link) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.mu.Lock()
	ended := l.ended
	l.mu.Unlock()
	if ended || c.closed {
		return false
	}
	c.link = l
	close(c.linkUp)
	return true
}

// tend pings, watches for the broker's silence, and flushes what nobody else
// does, until the connection ends.
func (c *Conn) tend() {
	var tick <-chan time.Time
	if c.cfg.FailureCheckPeriod > 0 {
		ticker := time.NewTicker(c.cfg.FailureCheckPeriod)
		defer ticker.Stop()
		tick = ticker.C
	}
	var watched *link
	var read int64
	last := time.Now()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.wake:
			runtime.Gosched() // let those who run append more
			c.flushWanted.Store(false)
			if l := c.current(); l != nil {
				l.out.Flush()
			}
		case now := <-tick:
			l := c.current()
			if l == nil {
				continue
			}
			if n := l.tc.BytesRead(); l != watched || n != read {
				watched, read, last = l, n, now
			} else if ttl := c.cfg.ConnectionTTL; ttl > 0 && now.Sub(last) >= ttl {
				l.fail(&core.Error{Code: core.ConnectionTimedOut, Message: fmt.Sprintf("nothing came from the broker in %v", ttl)})
				continue
			}
			l.ping()
		}
	}
}

// wakeFlusher has tend flush.
func (c *Conn) wakeFlusher() {
	if c.flushWanted.Load() || c.flushWanted.Swap(true) {
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *Conn) current() *link {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link
}

// await returns the link, waiting for it while a new one is being made.
func (c *Conn) await(ctx context.Context) (*link, error) {
	for {
		c.mu.Lock()
		l, up, err := c.link, c.linkUp, c.err
		c.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if l != nil {
			return l, nil
		}
		select {
		case <-up:
		case <-c.ctx.Done():
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Flush writes what has been sent and not yet written.
func (c *Conn) Flush() {
	if l := c.current(); l != nil {
		l.out.Flush()
	}
}

// Version returns the version the connection speaks.
func (c *Conn) Version() core.Version { return c.wireVersion() }

// wireVersion is the version that was agreed on, or that the topology told
// before a session was made.
func (c *Conn) wireVersion() core.Version { return core.Version(c.version.Load()) }

func (c *Conn) agree(v core.Version) { c.version.Store(int32(min(v, c.cfg.Version))) }

// Done is closed when the connection is over for good; Err tells why.
func (c *Conn) Done() <-chan struct{} { return c.ctx.Done() }

// Err returns why the connection is over, nil while it is not.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// HandleChannel has the frames of a channel that is not a session's given to
// h, on the read goroutine: the cluster channel, say. An error of h ends the
// link. The frame is valid during the call.
func (c *Conn) HandleChannel(channel int64, h func(core.Frame) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	handlers := maps.Clone(*c.handlers.Load())
	handlers[channel] = h
	c.handlers.Store(&handlers)
}

// OnEndOfBatch has f called on the read goroutine whenever all frames of one read have been handled.
func (c *Conn) OnEndOfBatch(f func()) { c.endOfBatch.Store(&f) }

func (c *Conn) handler(channel int64) func(core.Frame) error { return (*c.handlers.Load())[channel] }

// Write sends a packet on a channel that is not a session's.
func (c *Conn) Write(ctx context.Context, channel int64, p core.Packet) error {
	l, err := c.await(ctx)
	if err != nil {
		return err
	}
	l.awaitRoom()
	l.write(channel, p)
	return nil
}

// WriteFrames sends whole frames, of which it keeps nothing. It waits for room as Write does.
func (c *Conn) WriteFrames(ctx context.Context, frames []byte) error {
	l, err := c.await(ctx)
	if err != nil {
		return err
	}
	l.awaitRoom()
	l.out.Lock()
	l.out.Append(frames)
	l.out.Unlock()
	l.out.Flush()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Abort ends the link at once, and with it a connection that does not make a new one. It does not wait, so it may be called on the
// read goroutine; Close still has to be called.
func (c *Conn) Abort(reason error) {
	if l := c.current(); l != nil {
		l.fail(reason)
	}
}

func (c *Conn) session(channel int64) *Session { return (*c.sessions.Load())[channel] }

// change replaces the map of sessions by a changed copy.
func (c *Conn) change(f func(map[int64]*Session)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sessions := maps.Clone(*c.sessions.Load())
	f(sessions)
	c.sessions.Store(&sessions)
}

// Close closes all sessions and the connection. What the broker has not
// answered yet fails with ErrClosed.
func (c *Conn) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	l := c.link
	c.mu.Unlock()
	if l != nil {
		ctx, cancel := context.WithTimeout(context.Background(), min(c.cfg.CallTimeout, 5*time.Second))
		for _, s := range *c.sessions.Load() {
			s.Close(ctx)
		}
		cancel()
	}
	c.finish(ErrClosed)
	if l != nil {
		l.tc.CloseAfterFlush(nil)
		<-l.tc.Done()
	}
	c.work.Wait()
	return nil
}

// finish ends the connection for good.
func (c *Conn) finish(err error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = err
	}
	err = c.err
	c.closed = true
	c.mu.Unlock()
	c.stop()
	for _, s := range *c.sessions.Load() {
		s.end(err)
	}
}
