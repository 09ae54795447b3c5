//go:build linux

package netns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// socket is a route netlink socket. It belongs to the namespace it was opened in, whatever thread uses it.
type socket struct {
	mu  sync.Mutex
	fd  int
	seq uint32
}

func openSocket() (*socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open a netlink socket: %w", err)
	}
	return &socket{fd: fd}, nil
}

func (s *socket) close() { _ = unix.Close(s.fd) }

// message is a netlink message in the making: header, a fixed part, attributes. Numbers are in the machine's byte order.
type message struct{ b []byte }

func newMessage(kind, flags uint16, fixed ...byte) *message {
	m := &message{make([]byte, unix.SizeofNlMsghdr, 256)}
	binary.NativeEndian.PutUint16(m.b[4:], kind)
	binary.NativeEndian.PutUint16(m.b[6:], flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	m.raw(fixed)
	return m
}

// raw appends bytes, padded to 4.
func (m *message) raw(b []byte) {
	m.b = append(m.b, b...)
	for len(m.b)%4 != 0 {
		m.b = append(m.b, 0)
	}
}

// nest appends an attribute whose content f appends.
func (m *message) nest(kind uint16, f func()) {
	at := len(m.b)
	m.b = append(m.b, 0, 0, 0, 0)
	binary.NativeEndian.PutUint16(m.b[at+2:], kind)
	f()
	binary.NativeEndian.PutUint16(m.b[at:], uint16(len(m.b)-at))
}

func (m *message) bytes(kind uint16, b []byte) {
	at := len(m.b)
	m.b = append(m.b, 0, 0, 0, 0)
	binary.NativeEndian.PutUint16(m.b[at:], uint16(4+len(b)))
	binary.NativeEndian.PutUint16(m.b[at+2:], kind)
	m.raw(b)
}

func (m *message) text(kind uint16, s string)   { m.bytes(kind, append([]byte(s), 0)) }
func (m *message) uint32(kind uint16, v uint32) { m.bytes(kind, native32(v)) }

func native32(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }

// do sends the message and waits for the kernel's word.
func (s *socket) do(m *message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	binary.NativeEndian.PutUint32(m.b, uint32(len(m.b)))
	binary.NativeEndian.PutUint32(m.b[8:], s.seq)
	if err := unix.Sendto(s.fd, m.b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	buffer := make([]byte, 1<<14)
	for {
		n, _, err := unix.Recvfrom(s.fd, buffer, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		done, err := answer(buffer[:n], s.seq)
		if done {
			return err
		}
	}
}

var errShort = errors.New("netlink answer is cut off")

// answer looks for the acknowledgement of a request in what was received.
func answer(b []byte, seq uint32) (done bool, err error) {
	for len(b) >= unix.SizeofNlMsghdr {
		size := int(binary.NativeEndian.Uint32(b))
		if size < unix.SizeofNlMsghdr || size > len(b) {
			return true, errShort
		}
		kind, of := binary.NativeEndian.Uint16(b[4:]), binary.NativeEndian.Uint32(b[8:])
		if kind == unix.NLMSG_ERROR && of == seq {
			if size < unix.SizeofNlMsghdr+4 {
				return true, errShort
			}
			if code := int32(binary.NativeEndian.Uint32(b[unix.SizeofNlMsghdr:])); code != 0 {
				return true, unix.Errno(-code)
			}
			return true, nil
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return false, nil
}
