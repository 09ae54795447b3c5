package transport

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// A socket is how a connection gets and gives bytes: raw system calls on a plain stream socket, or a net.Conn above
// one (TLS). read and readInto are for the read goroutine, write and endWait for whoever is busy with the output.
type socket interface {
	// read waits until there are bytes and appends at least one and at most limit of them to b. While it waits, b
	// has no lent buffer.
	read(b *readBuffer, limit int) (n int, err error)

	// readInto waits until there are bytes and reads up to len(p) of them.
	readInto(p []byte) (n int, err error)

	// write writes from b, without marking anything written. If wait is false it takes what goes without waiting
	// and returns errAgain with it if that was not all. If wait is true it waits until at least one byte is written,
	// at most for the connection's stall timeout.
	write(b *batch, wait bool) (n int, err error)

	// endWait is called when the writes with wait are over.
	endWait()

	// writeParks tells that write cannot be called without wait.
	writeParks() bool

	// closeWrite tells the peer that nothing more comes.
	closeWrite() error
}

// again is the error of a socket that has nothing now or takes nothing now. crypto/tls takes it for a temporary error
// and can be called again.
type again struct{}

func (again) Error() string   { return "transport: would block" }
func (again) Timeout() bool   { return true }
func (again) Temporary() bool { return true }

var errAgain net.Error = again{}

// A streamConn is a socket of the runtime's poller: TCP or Unix.
type streamConn interface {
	net.Conn
	syscall.Conn
	CloseWrite() error
}

// plainSocket is a TCP or Unix socket. It keeps closures and their parameters, so that a call allocates nothing.
type plainSocket struct {
	conn *Conn
	nc   streamConn
	raw  syscall.RawConn

	readFn    func(fd uintptr) bool
	readTo    *readBuffer // or, if nil, readP
	readLimit int
	readP     []byte
	readN     int
	readErr   error
	eager     eager
	peek      bool // the last read was ended by a deadline: see first whether there is anything

	writeFn   func(fd uintptr) bool
	writeFrom *batch
	writeWait bool
	writeN    int
	writeErr  error
}

func newPlainSocket(c *Conn, nc streamConn) (*plainSocket, error) {
	raw, err := nc.SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &plainSocket{conn: c, nc: nc, raw: raw, eager: eager{rest: eagerAfter}}
	s.readFn, s.writeFn = s.readOnce, s.writeOnce
	return s, nil
}

func (s *plainSocket) read(b *readBuffer, limit int) (int, error) {
	s.readTo, s.readLimit = b, limit
	return s.doRead()
}

func (s *plainSocket) readInto(p []byte) (int, error) {
	s.readTo, s.readP = nil, p
	n, err := s.doRead()
	s.readP = nil
	return n, err
}

func (s *plainSocket) doRead() (int, error) {
	s.readN, s.readErr = 0, nil
	if err := s.raw.Read(s.readFn); err != nil {
		s.peek = errors.Is(err, os.ErrDeadlineExceeded)
		return 0, err
	}
	return s.readN, s.readErr
}

// readOnce returns false to park until the socket is readable.
func (s *plainSocket) readOnce(fd uintptr) bool {
	if s.peek {
		// A connection that rests shall wait without having lent a buffer before, which would let its stack grow.
		if s.peek = false; sysDry(fd) {
			return false
		}
	}
	p := s.readP
	if s.readTo != nil {
		p = s.readTo.space(s.readLimit)
	}
	s.readN, s.readErr = sysRead(fd, p)
	if s.readErr == errAgain && s.readTo != nil && s.conn.acceptor != nil && s.eager.due() {
		s.readN, s.readErr = s.eager.read(fd, p)
	}
	if s.readErr == errAgain {
		if s.readTo != nil {
			s.readTo.settle()
		}
		return false
	}
	if s.readTo != nil {
		s.readTo.filled(s.readN)
		s.eager.brought(s.readN)
	}
	return true
}

func (s *plainSocket) write(b *batch, wait bool) (int, error) {
	if wait {
		s.nc.SetWriteDeadline(time.Now().Add(s.conn.stall()))
	}
	s.writeFrom, s.writeWait, s.writeN, s.writeErr = b, wait, 0, nil
	err := s.raw.Write(s.writeFn)
	s.writeFrom = nil
	if err != nil {
		if os.IsTimeout(err) {
			err = s.conn.stalled()
		}
		return 0, err
	}
	return s.writeN, s.writeErr
}

func (s *plainSocket) writeOnce(fd uintptr) bool {
	n, all, err := sysWrite(fd, s.writeFrom)
	if err == errAgain && s.writeWait {
		return false
	}
	if err == nil && !all && !s.writeWait {
		err = errAgain // the socket is full: the next call would only say so
	}
	s.writeN, s.writeErr = n, err
	return true
}

func (s *plainSocket) endWait() {
	s.nc.SetWriteDeadline(time.Time{}) // else the next write in place fails
}

func (s *plainSocket) writeParks() bool { return false }

func (s *plainSocket) closeWrite() error { return s.nc.CloseWrite() }
