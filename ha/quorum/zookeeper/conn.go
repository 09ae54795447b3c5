package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/ha/quorum/curator"
	"github.com/saranga-mq/saranga/raftfsm/zk/jute"
)

const (
	maxFrame   = 1 << 20
	maxPending = 1024
)

// A conn is one connection of a session, after the first frames.
type conn struct {
	nc      net.Conn
	remote  string
	timeout time.Duration // of the session
	zxid    int64         // last one seen, of the reader

	mu      sync.Mutex
	xid     int32
	pending []*call // without an answer, in the order sent
	failed  bool    // nothing more is sent
	sent    time.Time
}

// A call is a request that waits for its answer. A ping is one, too.
type call struct {
	xid    int32
	last   bool        // closeSession: the connection ends with its answer
	answer chan answer // has room for the only one
}

type answer struct {
	body []byte
	err  error
}

func newConn(nc net.Conn, who identity) *conn {
	return &conn{nc: nc, remote: nc.RemoteAddr().String(), timeout: who.timeout, zxid: who.zxid, sent: time.Now()}
}

// serve reads answers, and sends pings, until the connection fails or the context ends. It closes the connection.
func (c *conn) serve(ctx context.Context) error {
	undo := context.AfterFunc(ctx, func() { c.nc.Close() })
	defer undo()
	quit := make(chan struct{})
	var pinger sync.WaitGroup
	pinger.Go(func() { c.ping(quit) })
	err := c.read()
	c.nc.Close()
	close(quit)
	pinger.Wait()
	return err
}

// read takes frames until one is missing or wrong.
func (c *conn) read() error {
	for {
		if err := c.nc.SetReadDeadline(time.Now().Add(c.timeout / silencePart)); err != nil {
			return err
		}
		payload, err := readFrame(c.nc)
		if err != nil {
			return err
		}
		if err := c.handle(payload); err != nil {
			return err
		}
	}
}

func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return nil, fmt.Errorf("frame of %d bytes, at most %d are allowed", n, maxFrame)
	}
	payload := make([]byte, n)
	_, err := io.ReadFull(r, payload)
	return payload, err
}

var (
	errMoved  = errors.New("the session has moved to another server")
	errClosed = errors.New("the session is closed")
)

// handle gives an answer to the call at the head.
func (c *conn) handle(payload []byte) error {
	r := jute.NewReader(payload)
	h := r.ReplyHeader()
	if err := r.Err(); err != nil {
		return fmt.Errorf("reply: %w", err)
	}
	if h.Xid == jute.XidEvent { // no watches are set here; a session event would say what the connection says
		return nil
	}
	c.zxid = max(c.zxid, h.Zxid)
	c.mu.Lock()
	if len(c.pending) == 0 || c.pending[0].xid != h.Xid {
		c.mu.Unlock()
		return fmt.Errorf("an answer with xid %d that was not expected", h.Xid)
	}
	first := c.pending[0]
	c.pending = c.pending[1:]
	c.mu.Unlock()
	if first.last {
		first.answer <- answer{}
		return errClosed
	}
	switch h.Err {
	case jute.OK:
		first.answer <- answer{body: payload[len(payload)-r.Len():]}
		return nil
	case jute.SessionExpired:
		first.answer <- answer{err: curator.ErrSessionLost}
		return errExpired
	case jute.SessionMoved:
		first.answer <- answer{err: curator.ErrDisconnected}
		return errMoved
	}
	first.answer <- answer{err: reason(h.Err)}
	return nil
}

// reason is the error for a code that concerns one request.
func reason(code jute.Code) error {
	switch code {
	case jute.NoNode:
		return curator.ErrNoNode
	case jute.NodeExists:
		return curator.ErrNodeExists
	case jute.BadVersion:
		return curator.ErrBadVersion
	}
	return fmt.Errorf("%w: the server answers %v", quorum.ErrUnavailable, code)
}

// ping sends a ping whenever nothing was sent for a while, until quit is closed.
func (c *conn) ping(quit <-chan struct{}) {
	period := c.timeout / pingPart
	t := time.NewTimer(period)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-quit:
			return
		}
		c.mu.Lock()
		idle := time.Since(c.sent)
		if idle >= period {
			idle = 0
			_, _ = c.send(jute.XidPing, jute.OpPing, nil) // an error ends the reader, too
		}
		c.mu.Unlock()
		t.Reset(period - idle)
	}
}

// send queues a call and writes its request, with c.mu held, so that both have the same order. A write that is not taken closes
// the connection.
func (c *conn) send(xid int32, op jute.Op, body jute.Body) (*call, error) {
	if c.failed || len(c.pending) >= maxPending {
		return nil, curator.ErrDisconnected
	}
	k := &call{xid: xid, last: op == jute.OpCloseSession, answer: make(chan answer, 1)}
	c.pending = append(c.pending, k)
	c.sent = time.Now()
	request := jute.Request{Xid: xid, Op: op, Body: body}
	err := c.nc.SetWriteDeadline(time.Now().Add(c.timeout / silencePart))
	if err == nil {
		_, err = c.nc.Write(jute.AppendFrame(nil, request.Append))
	}
	if err != nil {
		c.failed = true
		c.nc.Close() // the reader ends, and what is pending with it
	}
	return k, nil
}

// call sends a request and waits for its answer, which belongs to the caller.
func (c *conn) call(ctx context.Context, op jute.Op, body jute.Body) (*jute.Reader, error) {
	c.mu.Lock()
	if c.xid++; c.xid < 0 { // negative ones have a meaning
		c.xid = 1
	}
	k, err := c.send(c.xid, op, body)
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case a := <-k.answer:
		return jute.NewReader(a.body), a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// fail ends all calls that wait. Nothing is sent any more.
func (c *conn) fail() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = true
	for _, k := range c.pending {
		k.answer <- answer{err: curator.ErrDisconnected}
	}
	c.pending = nil
}
