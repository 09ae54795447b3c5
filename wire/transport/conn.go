package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// PreAuthBytes is how much a connection may send before Authenticated.
	PreAuthBytes = 64 << 10

	// DefaultMaxFrame is the bound of ReadBody until SetMaxFrame sets another.
	DefaultMaxFrame = 100 << 20

	// lingerTime is how long a connection closed by CloseAfterFlush waits for the peer to close too, so that what
	// was written last is not cut off by a reset.
	lingerTime = time.Second

	// flushTime bounds a write without progress of a connection that is being closed by CloseAfterFlush.
	flushTime = 5 * time.Second
)

// Reasons of a close, given to Handler.Closed.
var (
	ErrStalled          = errors.New("the peer took or gave nothing")
	ErrHandshakeTimeout = errors.New("no protocol was recognised in time")
	ErrLoginTimeout     = errors.New("the login was not finished in time")
	ErrTooMuchPreAuth   = fmt.Errorf("more than %d bytes before authentication", PreAuthBytes)
	ErrBigFrame         = errors.New("frame is larger than the bound")
	ErrStopped          = errors.New("the acceptor was stopped")

	errClosed = errors.New("connection is closed")
	errRest   = errors.New("the reader hands over to a new one")
)

// A Conn is one connection, accepted or dialled. Methods may be called from any goroutine unless they say otherwise.
//
// Its read goroutine owns the socket: Close only asks for the end, the read goroutine closes the socket, waits for the
// writer goroutine and calls Handler.Closed.
type Conn struct {
	id       uint32
	acceptor *Acceptor // nil for a dialled connection
	protocol string
	created  time.Time
	nc       net.Conn // below TLS
	tls      *tls.Conn
	sock     socket
	handler  Handler
	budget   *Budget
	outputs  *OutputAccount

	out Output

	// Of the read goroutine.
	in       readBuffer
	bodySize int // asked for by ReadBody
	preAuth  int // bytes consumed before Authenticated

	maxFrame      atomic.Int64
	stallTimeout  atomic.Int64
	bytesRead     atomic.Int64
	opened        atomic.Bool // protocol, tls, sock and handler are set
	authenticated atomic.Bool
	reader        atomic.Int32 // state of the read goroutine
	paused        atomic.Int32
	pauseSeq      atomic.Uint32 // counts Pause: whoever left frames because of one is called again
	closing       atomic.Bool   // CloseAfterFlush was called
	ended         atomic.Bool   // Close was called

	mu      sync.Mutex
	cond    sync.Cond // paused, flushed, ended
	flushed bool      // with closing: the output has been written
	reason  error     // why it ends; the first one counts
	because bool      // reason is set
	timer   *time.Timer
	done    chan struct{}
}

func newConn(nc net.Conn, id uint32) *Conn {
	c := &Conn{id: id, nc: nc, created: time.Now(), done: make(chan struct{})}
	c.cond.L = &c.mu
	c.out.conn = c
	c.maxFrame.Store(DefaultMaxFrame)
	c.stallTimeout.Store(int64(DefaultStallTimeout))
	return c
}

// ID is unique among the connections of this process, 8 hexadecimal digits as Artemis shows them.
func (c *Conn) ID() string { return fmt.Sprintf("%08x", c.id) }

// RemoteAddr is the peer's address as host:port.
func (c *Conn) RemoteAddr() string { return c.nc.RemoteAddr().String() }

// LocalAddr is this end's address as host:port.
func (c *Conn) LocalAddr() string { return c.nc.LocalAddr().String() }

// Acceptor is where the connection came in; nil if it was dialled.
func (c *Conn) Acceptor() *Acceptor { return c.acceptor }

// Protocol is the detected protocol's name; empty for a dialled connection and before detection.
func (c *Conn) Protocol() string { return c.protocol }

// CreatedAt is when the connection was accepted or dialled.
func (c *Conn) CreatedAt() time.Time { return c.created }

// TLS tells whether the connection is encrypted.
func (c *Conn) TLS() bool { return c.tls != nil }

// PeerCertificates is the peer's certificate chain, leaf first; nil without TLS or if the peer sent none.
func (c *Conn) PeerCertificates() []*x509.Certificate {
	if c.tls == nil {
		return nil
	}
	return c.tls.ConnectionState().PeerCertificates
}

// Output is the way to the peer.
func (c *Conn) Output() *Output { return &c.out }

// BytesRead counts the bytes received (after TLS). It changes exactly when the peer sends, so a TTL check compares it
// with what it was; no clock is read for that on the message path.
func (c *Conn) BytesRead() int64 { return c.bytesRead.Load() }

// Done is closed when the connection begins to end by Close; Handler.Closed comes later.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Authenticated lifts the bounds of unauthenticated connections. The handler calls it when the login succeeded.
func (c *Conn) Authenticated() {
	if c.authenticated.Swap(true) {
		return
	}
	c.stopTimer()
	if c.acceptor != nil {
		c.acceptor.remoting.waiting.remove(c)
	}
}

// SetMaxFrame bounds the frames that ReadBody accepts, in bytes. Without it DefaultMaxFrame holds.
func (c *Conn) SetMaxFrame(n int) { c.maxFrame.Store(int64(n)) }

// SetStallTimeout sets how long a write, or the reading of a big frame, may make no progress before the connection is
// closed; 0 is no bound. Sessions set the connection TTL. Without it DefaultStallTimeout holds.
func (c *Conn) SetStallTimeout(d time.Duration) { c.stallTimeout.Store(int64(d)) }

// stall is the time without progress after which the connection ends.
func (c *Conn) stall() time.Duration {
	d := time.Duration(c.stallTimeout.Load())
	if d <= 0 {
		d = 1 << 62
	}
	if c.closing.Load() {
		d = min(d, flushTime)
	}
	return d
}

func (c *Conn) stalled() error {
	return fmt.Errorf("%w for %s", ErrStalled, c.stall())
}

// ReadBody is called in Handle to take a frame that is not complete in the buffer, of RefSize or more, in memory of
// the handler's: the next n bytes, beginning with those that Handle leaves unconsumed, go to the memory that
// BodyHandler.Body will return, then Filled is called, then Handle with what follows. Handle returns after the call.
// It is an error, to be returned by Handle, if n is over the bound of SetMaxFrame or the peer is not authenticated.
func (c *Conn) ReadBody(n int) error {
	if !c.authenticated.Load() {
		return fmt.Errorf("%w: %d bytes, at most %d before authentication", ErrBigFrame, n, RefSize)
	}
	if limit := c.maxFrame.Load(); n <= 0 || int64(n) > limit {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrBigFrame, n, limit)
	}
	c.bodySize = n
	return nil
}

// Pause stops the reading. A call of Handle that is running sees the rest of its buffer (it may leave it, see
// Handler); the next one comes after Resume. At most one read buffer of bytes is kept meanwhile, and the peer is held up
// by its window. Nothing is received meanwhile, so a TTL check leaves paused connections out. Pause counts: each needs
// one Resume.
func (c *Conn) Pause() {
	c.paused.Add(1)
	c.pauseSeq.Add(1)
}

// Resume undoes one Pause.
func (c *Conn) Resume() {
	if c.paused.Add(-1) == 0 {
		c.mu.Lock()
		c.cond.Broadcast()
		c.mu.Unlock()
	}
}

// Paused tells whether the reading is paused, or the connection is ending: a handler in the middle of a buffer leaves
// the rest.
func (c *Conn) Paused() bool { return c.paused.Load() > 0 || c.closing.Load() || c.ended.Load() }

// Close ends the connection: what is not yet written is dropped, and Handler.Closed follows on the read goroutine. It
// returns at once and may be called with locks held, but not the output's. The first reason counts; nil is an ordinary
// end that is not logged.
func (c *Conn) Close(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setReason(reason)
	if c.ended.Swap(true) {
		return
	}
	close(c.done)
	c.nc.SetDeadline(time.Unix(1, 0)) // wakes who is parked on the socket
	c.cond.Broadcast()
}

// CloseAfterFlush ends the connection when everything appended so far is written, which gets 5 s without progress.
// What is appended later is dropped, Handle is not called any more, what the peer still sends is discarded. No lock may
// be held.
func (c *Conn) CloseAfterFlush(reason error) {
	c.mu.Lock()
	c.setReason(reason)
	if c.closing.Swap(true) {
		c.mu.Unlock()
		return
	}
	c.cond.Broadcast()
	c.mu.Unlock()
	c.out.closeWhenEmpty()
}

func (c *Conn) setReason(reason error) {
	if !c.because {
		c.reason, c.because = reason, true
	}
}

// finishClose is called by the output, once, when everything is written after CloseAfterFlush.
func (c *Conn) finishClose() {
	c.sock.closeWrite()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flushed = true
	if !c.ended.Load() {
		c.nc.SetReadDeadline(time.Now().Add(lingerTime))
	}
	c.cond.Broadcast()
}

// setReadDeadline does not overwrite the one that Close has set.
func (c *Conn) setReadDeadline(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended.Load() && !c.closing.Load() {
		c.nc.SetReadDeadline(t)
	}
}

// closeIn starts, or restarts, the timer that ends an unauthenticated connection.
func (c *Conn) closeIn(d time.Duration, reason error) {
	c.stopTimer()
	if d <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(d, func() { c.Close(reason) })
}

func (c *Conn) stopTimer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}

// readLoop reads and handles until the connection ends; it returns why.
func (c *Conn) readLoop() error {
	for {
		if err := c.handleBuffered(); err != nil {
			return err
		}
		limit := readSize
		if !c.authenticated.Load() {
			limit = RefSize
		}
		c.reader.Store(readerWaits)
		n, err := c.sock.read(&c.in, limit)
		if c.reader.Swap(readerBusy) == readerRests {
			c.setReadDeadline(time.Time{})
			if errors.Is(err, os.ErrDeadlineExceeded) && !c.ended.Load() && !c.closing.Load() {
				return errRest
			}
		}
		if err != nil {
			if c.closing.Load() {
				return c.linger(err)
			}
			return err
		}
		c.bytesRead.Add(int64(n))
	}
}

// handleBuffered lets the handler handle what is buffered. It returns when more bytes are needed.
func (c *Conn) handleBuffered() error {
	for {
		seq := c.pauseSeq.Load()
		if c.paused.Load() > 0 {
			c.waitResumed()
		}
		if c.ended.Load() {
			return errClosed
		}
		if c.closing.Load() {
			return c.linger(nil)
		}
		data := c.in.bytes()
		if len(data) == 0 {
			return nil
		}
		n, err := c.handler.Handle(c, data)
		if n < 0 || n > len(data) {
			err = errors.Join(err, fmt.Errorf("handler consumed %d of %d bytes", n, len(data)))
			n = 0
		}
		c.in.consume(n)
		if !c.authenticated.Load() {
			if c.preAuth += n; c.preAuth > PreAuthBytes && err == nil {
				err = ErrTooMuchPreAuth
			}
		}
		c.handler.EndOfBatch(c)
		if err != nil {
			return err
		}
		if c.bodySize > 0 {
			if err := c.readBody(); err != nil {
				return err
			}
			continue
		}
		if c.pauseSeq.Load() != seq || c.closing.Load() {
			continue
		}
		if len(c.in.bytes()) >= RefSize {
			return fmt.Errorf("%w: more than %d bytes", ErrBigFrame, RefSize)
		}
		return nil
	}
}

// readBody reads the frame that ReadBody announced.
func (c *Conn) readBody() error {
	n := c.bodySize
	c.bodySize = 0
	h, ok := c.handler.(BodyHandler)
	if !ok {
		return fmt.Errorf("%w: %d bytes", ErrBigFrame, n)
	}
	if c.budget != nil {
		if err := c.budget.Acquire(int64(n), c.stall(), c.done); err != nil {
			return err
		}
		defer c.budget.Release(int64(n))
	}
	p, err := h.Body(c, n)
	if err != nil {
		return err
	}
	if len(p) != n {
		return fmt.Errorf("handler gave %d bytes of memory for a frame of %d", len(p), n)
	}
	at := copy(p, c.in.bytes())
	c.in.consume(at)
	if at < n {
		c.in.settle()
		for at < n {
			if c.closing.Load() {
				return c.linger(nil)
			}
			c.setReadDeadline(time.Now().Add(c.stall()))
			m, err := c.sock.readInto(p[at:])
			if err != nil {
				return c.bodyError(err)
			}
			c.bytesRead.Add(int64(m))
			at += m
		}
		c.setReadDeadline(time.Time{})
	}
	err = h.Filled(c)
	c.handler.EndOfBatch(c)
	return err
}

func (c *Conn) bodyError(err error) error {
	var timeout net.Error
	switch {
	case c.ended.Load():
		return errClosed
	case c.closing.Load():
		return c.linger(err)
	case errors.As(err, &timeout) && timeout.Timeout():
		return c.stalled()
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	return err
}

// waitResumed waits until the reading is not paused, or there is nothing more to read for.
func (c *Conn) waitResumed() {
	c.in.shrink()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.paused.Load() > 0 && !c.ended.Load() && !c.closing.Load() {
		c.cond.Wait()
	}
}

// linger discards what the peer sends after CloseAfterFlush, until the peer closes or has had its time after the
// output was written. err is what the last read said.
func (c *Conn) linger(err error) error {
	for err == nil {
		c.in.release()
		_, err = c.sock.read(&c.in, readSize)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.flushed && !c.ended.Load() {
		c.cond.Wait()
	}
	return err
}

// States of the read goroutine.
const (
	readerBusy  int32 = iota
	readerWaits       // for bytes
	readerRests       // asked to rest while it waited
)

// Rest makes an idle connection small. Handling frames has let the stack of its read goroutine grow, and a stack that waits
// does not shrink by itself far enough: a new goroutine takes over. It is nothing for a connection that reads at the moment,
// or one with TLS.
func (c *Conn) Rest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tls == nil && !c.ended.Load() && !c.closing.Load() && c.reader.CompareAndSwap(readerWaits, readerRests) {
		c.nc.SetReadDeadline(time.Unix(1, 0))
	}
}

// run is the read goroutine. open does what comes before the first frame, ended what comes after the end.
func (c *Conn) run(open func() error, ended func()) {
	c.read(open(), ended)
}

// read reads unless err says that there is nothing to read, and ends the connection.
func (c *Conn) read(err error, ended func()) {
	if err == nil {
		err = c.readLoop()
	}
	if err == errRest {
		go c.read(nil, ended)
		return
	}
	c.stopTimer()
	c.Close(err)
	c.out.abort()
	c.nc.Close()
	c.out.writers.Wait()
	c.in.release()
	c.in.kept = nil
	if c.handler != nil {
		c.handler.Closed(c, c.closeReason())
	}
	ended()
}

// closeReason is why the connection ended; valid after Close.
func (c *Conn) closeReason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason
}
