package transport

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// pollConn is the socket below TLS. Reading does not wait once the handshake is over: then the connection can give its
// buffer back before it waits. Writing waits: it is done by the connection's writer goroutine.
type pollConn struct {
	streamConn
	raw     syscall.RawConn
	polling bool

	readFn  func(fd uintptr) bool
	readP   []byte
	readN   int
	readErr error
	waitFn  func(fd uintptr) bool
}

func newPollConn(nc streamConn) (*pollConn, error) {
	raw, err := nc.SyscallConn()
	if err != nil {
		return nil, err
	}
	p := &pollConn{streamConn: nc, raw: raw}
	p.readFn = func(fd uintptr) bool {
		p.readN, p.readErr = sysRead(fd, p.readP)
		return true
	}
	p.waitFn = readable
	return p, nil
}

func (p *pollConn) Read(b []byte) (int, error) {
	if !p.polling {
		return p.streamConn.Read(b)
	}
	p.readP, p.readN, p.readErr = b, 0, nil
	err := p.raw.Read(p.readFn)
	p.readP = nil
	if err != nil {
		return 0, err
	}
	return p.readN, p.readErr
}

// wait waits until Read has something to say.
func (p *pollConn) wait() error { return p.raw.Read(p.waitFn) }

// tlsPiece bounds the bytes of one write, which must be through within the stall timeout.
const tlsPiece = 64 << 10

// tlsSocket is a connection with TLS.
type tlsSocket struct {
	conn *Conn
	poll *pollConn
	tls  *tls.Conn
}

func (s *tlsSocket) read(b *readBuffer, limit int) (int, error) {
	total := 0
	for {
		p := b.space(limit - total)
		if len(p) == 0 {
			return total, nil
		}
		n, err := s.tls.Read(p)
		b.filled(n)
		total += n
		switch {
		case total > 0 && err != nil:
			return total, nil // an error comes again
		case err == errAgain:
			b.settle()
			err = s.poll.wait()
		}
		if err != nil {
			return 0, err
		}
	}
}

func (s *tlsSocket) readInto(p []byte) (int, error) {
	for {
		n, err := s.tls.Read(p)
		if err == errAgain {
			err = s.poll.wait()
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

func (s *tlsSocket) write(b *batch, _ bool) (int, error) {
	total := 0
	for _, seg := range b.segs[b.next:] {
		for p := seg.p; len(p) > 0; {
			s.poll.SetWriteDeadline(time.Now().Add(s.conn.stall()))
			n, err := s.tls.Write(p[:min(len(p), tlsPiece)])
			total += n
			p = p[n:]
			if err != nil {
				if os.IsTimeout(err) {
					err = s.conn.stalled()
				}
				return total, err
			}
		}
		if total >= tlsPiece {
			break // let the output tell that it drains
		}
	}
	return total, nil
}

func (s *tlsSocket) endWait() { s.poll.SetWriteDeadline(time.Time{}) }

func (s *tlsSocket) writeParks() bool { return true }

func (s *tlsSocket) closeWrite() error {
	s.poll.SetWriteDeadline(time.Now().Add(lingerTime))
	if err := s.tls.CloseWrite(); err != nil && err != io.EOF {
		return err
	}
	return s.poll.CloseWrite()
}

// usePlain makes the connection read and write its socket directly.
func (c *Conn) usePlain() error {
	s, err := newPlainSocket(c, c.nc.(streamConn))
	if err != nil {
		return err
	}
	c.sock = s
	return nil
}

// useTLS does the handshake and makes the connection read and write through it.
func (c *Conn) useTLS(over func(net.Conn) *tls.Conn, check func(*Conn) error) error {
	poll, err := newPollConn(c.nc.(streamConn))
	if err != nil {
		return err
	}
	t := over(poll)
	if err := t.Handshake(); err != nil {
		if c.ended.Load() {
			return errClosed
		}
		return fmt.Errorf("TLS handshake: %w", err)
	}
	poll.polling = true
	c.tls = t
	c.sock = &tlsSocket{conn: c, poll: poll, tls: t}
	return check(c)
}
