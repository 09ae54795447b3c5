package zk

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/saranga-mq/saranga/raftfsm/tree"
	"github.com/saranga-mq/saranga/raftfsm/zk/jute"
)

var errClosedByClient = errors.New("closed by the client")

// A conn is one client's connection. Three goroutines serve it: the reader takes frames into the inbox, the handler handles them one after another,
// and the writer empties the output.
type conn struct {
	server *Server
	net    net.Conn
	from   *bufio.Reader // of the reader
	addr   netip.Addr
	out    *output
	in     *inbox
	start  time.Time
	heard  atomic.Int64    // when the last frame came in, in ns after start
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	ending sync.Once
	reason error // why the connection ended, once ending is done

	request uint64 // number of the last write; of the handler

	// Guarded by Server.mu. session and owner do not change any more once they are registered.
	session  int64
	owner    uint64
	login    *login
	loginErr tree.Code
	caller   tree.Caller
	pending  *pending // the write that waits for its result
}

func newConn(s *Server, nc net.Conn, addr netip.Addr) *conn {
	c := &conn{
		server: s, net: nc, from: bufio.NewReader(nc), addr: addr, start: time.Now(),
		out: newOutput(s.cfg.Limits.Output, &s.budget), in: newInbox(s.cfg.Limits.Outstanding, s.cfg.Limits.Frame, &s.budget),
		caller: tree.Caller{Chroot: s.cfg.Root, IDs: []tree.ID{{Scheme: "ip", ID: addr.String()}}},
	}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	return c
}

// serve is the connection from its first byte to its end. It is the reader.
func (c *conn) serve() {
	var others sync.WaitGroup
	others.Go(c.write)
	err := c.enter()
	if err == nil {
		others.Go(c.handle)
		err = c.read()
	}
	c.finish(err)
	others.Wait()
	c.server.forget(c)
	level := c.server.log.warn
	if ordinary(c.reason) {
		level = c.server.cfg.Log.Debug
	}
	level("ZooKeeper client's connection closed", "remote", c.net.RemoteAddr(), "session", fmt.Sprintf("%#x", c.session), "reason", c.reason)
}

// ordinary reports whether nobody needs to know that a connection ended for this reason.
func ordinary(reason error) bool {
	for _, o := range []error{errClosedByClient, io.EOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(reason, o) {
			return true
		}
	}
	return false
}

// write is the writer. However the connection ends, it is this that closes the socket.
func (c *conn) write() {
	if err := c.out.run(c.net, c.server.cfg.Limits.WriteTimeout); err != nil {
		c.finish(fmt.Errorf("write: %w", err))
	}
	c.net.Close()
}

// finish ends the connection once all output is written. The first reason counts. It may be called under any lock.
func (c *conn) finish(reason error) {
	c.ending.Do(func() {
		c.reason = reason
		c.cancel()
		c.in.close()
		c.out.close()
	})
}

// end is finish, but what is not written yet is lost.
func (c *conn) end(reason error) {
	c.finish(reason)
	c.net.Close()
}

// send adds a frame to the output. It may be called under any lock.
func (c *conn) send(payload func([]byte) []byte) {
	err := c.out.frame(payload)
	switch {
	case err == nil:
		c.server.stats.sent.Add(1)
	case !errors.Is(err, net.ErrClosed):
		c.end(err)
	}
}

// enter takes the first frame: four letters, whose answer ends the connection, or a connect request.
func (c *conn) enter() error {
	if err := c.net.SetReadDeadline(c.start.Add(c.server.cfg.Limits.LoginTimeout)); err != nil {
		return err
	}
	var first [4]byte
	if _, err := io.ReadFull(c.from, first[:]); err != nil {
		return fmt.Errorf("no connect request: %w", err)
	}
	if word, ok := jute.FourLetter(first); ok {
		if err := c.out.add(func(b []byte) []byte { return append(b, c.server.fourLetter(word)...) }); err != nil {
			return err
		}
		return errClosedByClient
	}
	payload, err := c.frame(first, loginFrame)
	if err != nil {
		return fmt.Errorf("no connect request: %w", err)
	}
	request, err := jute.ParseConnectRequest(payload)
	if err != nil {
		return err
	}
	if err := c.net.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	return c.connect(request)
}

// read takes frames into the inbox, until one cannot be read.
func (c *conn) read() error {
	for {
		var length [4]byte
		if _, err := io.ReadFull(c.from, length[:]); err != nil {
			return err
		}
		payload, err := c.frame(length, c.server.cfg.Limits.Frame)
		if err != nil {
			return err
		}
		c.server.stats.received.Add(1)
		if err := c.in.put(frame{payload: payload, at: time.Now()}); err != nil {
			return err
		}
	}
}

// frame reads a frame whose length is known. Memory is taken as the bytes come.
func (c *conn) frame(length [4]byte, limit int) ([]byte, error) {
	n := int64(int32(binary.BigEndian.Uint32(length[:])))
	if n < 0 || n > int64(limit) {
		return nil, fmt.Errorf("frame of %d bytes, at most %d are taken", n, limit)
	}
	payload, err := c.payload(int(n))
	if err != nil {
		return nil, fmt.Errorf("frame of %d bytes: %w", n, err)
	}
	c.heard.Store(int64(time.Since(c.start)))
	return payload, nil
}

// readStep is how much memory is taken at once for a frame.
const readStep = 64 << 10

// payload reads n bytes. They count in the budget while they come.
func (c *conn) payload(n int) (b []byte, err error) {
	defer func() { c.server.budget.give(cap(b)) }()
	for len(b) < n {
		from, more := len(b), min(readStep, n-len(b))
		if cap(b)-from < more {
			size := min(n, max(2*cap(b), from+more))
			if !c.server.budget.take(size) {
				return b, errMemory
			}
			old := b
			b = append(make([]byte, 0, size), old...)
			c.server.budget.give(cap(old))
		}
		b = b[:from+more]
		if _, err := io.ReadFull(c.from, b[from:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return b, err
		}
	}
	return b, nil
}

// lastHeard is when the last frame came in.
func (c *conn) lastHeard() time.Time { return c.start.Add(time.Duration(c.heard.Load())) }

// handle is the handler.
func (c *conn) handle() {
	for {
		f, ok := c.in.take()
		if !ok {
			return
		}
		if err := c.serveRequest(f.payload); err != nil {
			c.finish(err)
			return
		}
		c.server.stats.latency(time.Since(f.at))
	}
}
