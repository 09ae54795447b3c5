package netcheck

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// local is an address of the configured interface, of the family of the target; the zero Addr without one.
func (c *Checker) local(to netip.Addr) netip.Addr {
	if c.o.NIC == "" {
		return netip.Addr{}
	}
	nic, err := net.InterfaceByName(c.o.NIC)
	if err != nil {
		return netip.Addr{}
	}
	list, err := nic.Addrs()
	if err != nil {
		return netip.Addr{}
	}
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Unmap().Is4() == to.Is4() {
			return p.Addr().Unmap()
		}
	}
	return netip.Addr{}
}

// connect tries a TCP connection. A host that refuses it is there.
func (c *Checker) connect(ctx context.Context, addr netip.Addr, port uint16) error {
	d := net.Dialer{Timeout: c.o.Timeout}
	if from := c.local(addr); from.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
	}
	conn, err := d.DialContext(ctx, "tcp", netip.AddrPortFrom(addr, port).String())
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil
	}
	if err != nil {
		return err
	}
	return conn.Close()
}

// ICMP types.
const (
	echoRequest, echoReply   = 8, 0
	echoRequest6, echoReply6 = 128, 129
)

// echo sends an ICMP echo request and waits for the reply. It needs a system that lets this user ping, or the rights of
// root.
func (c *Checker) echo(addr netip.Addr) error {
	family, proto, request, reply := unix.AF_INET, unix.IPPROTO_ICMP, byte(echoRequest), byte(echoReply)
	if addr.Is6() {
		family, proto, request, reply = unix.AF_INET6, unix.IPPROTO_ICMPV6, echoRequest6, echoReply6
	}
	raw := false
	fd, err := unix.Socket(family, unix.SOCK_DGRAM, proto)
	if err != nil {
		raw = true
		fd, err = unix.Socket(family, unix.SOCK_RAW, proto)
	}
	if err != nil {
		return fmt.Errorf("open a socket for pings: %w", err)
	}
	defer unix.Close(fd)
	unix.CloseOnExec(fd)
	if from := c.local(addr); from.IsValid() {
		if err := unix.Bind(fd, sockaddr(from)); err != nil {
			return fmt.Errorf("ping from %s: %w", from, err)
		}
	}
	id := uint16(os.Getpid())
	packet := echoPacket(request, id, !addr.Is6())
	if err := unix.Sendto(fd, packet, 0, sockaddr(addr)); err != nil {
		return fmt.Errorf("ping %s: %w", addr, err)
	}
	buf := make([]byte, 1500)
	for end := time.Now().Add(c.o.Timeout); ; {
		left := time.Until(end)
		if left <= 0 {
			return errNoAnswer
		}
		tv := unix.NsecToTimeval(max(left, time.Millisecond).Nanoseconds())
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
			return fmt.Errorf("ping %s: %w", addr, err)
		}
		n, from, err := unix.Recvfrom(fd, buf, 0)
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("ping %s: %w", addr, err)
		}
		if sender(from) == addr.WithZone("") && isReply(buf[:n], reply, id, raw, addr.Is6()) {
			return nil
		}
	}
}

// echoPacket makes an echo request. The system fills in the checksum of version 6.
func echoPacket(kind byte, id uint16, sum bool) []byte {
	p := append([]byte{kind, 0, 0, 0, 0, 0, 0, 1}, "saranga!"...)
	binary.BigEndian.PutUint16(p[4:], id)
	if sum {
		binary.BigEndian.PutUint16(p[2:], checksum(p))
	}
	return p
}

// checksum is that of the internet protocols. The length must be even.
func checksum(p []byte) uint16 {
	var n uint32
	for i := 0; i < len(p); i += 2 {
		n += uint32(p[i])<<8 | uint32(p[i+1])
	}
	n = n>>16 + n&0xffff
	return ^uint16(n + n>>16)
}

// isReply tells whether a packet answers ours. A datagram socket gets only its own; a raw one everybody's, with the IP
// header before it in version 4.
func isReply(p []byte, kind byte, id uint16, raw, v6 bool) bool {
	if raw && !v6 {
		if len(p) < 20 {
			return false
		}
		p = p[min(int(p[0]&15)*4, len(p)):]
	}
	return len(p) >= 8 && p[0] == kind && (!raw || binary.BigEndian.Uint16(p[4:]) == id)
}

func sockaddr(a netip.Addr) unix.Sockaddr {
	if a.Is4() {
		return &unix.SockaddrInet4{Addr: a.As4()}
	}
	s := &unix.SockaddrInet6{Addr: a.As16()}
	if nic, err := net.InterfaceByName(a.Zone()); err == nil {
		s.ZoneId = uint32(nic.Index)
	}
	return s
}

func sender(s unix.Sockaddr) netip.Addr {
	switch s := s.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrFrom4(s.Addr)
	case *unix.SockaddrInet6:
		return netip.AddrFrom16(s.Addr)
	}
	return netip.Addr{}
}

// commandLimit is how long a ping command may take beyond the timeout it was given.
const commandLimit = 10 * time.Second

// command runs the ping command; exit code 0 is an answer.
func (c *Checker) command(ctx context.Context, addr netip.Addr) error {
	format := c.o.PingCommand
	if addr.Is6() {
		format = c.o.Ping6Command
	}
	seconds := max(1, int(c.o.Timeout/time.Second))
	args := strings.Fields(formatCommand(format, seconds, addr.String()))
	if len(args) == 0 {
		return errors.New("the ping command is empty")
	}
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout+commandLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, lastLine(out))
	}
	return nil
}

func lastLine(out []byte) string {
	text := strings.TrimSpace(string(out))
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// formatCommand fills a format of Java with the timeout, its first argument, and the host, its second: %d and %s take
// them in turn, %1$d and %2$s by number, and %% is a percent sign.
func formatCommand(format string, seconds int, host string) string {
	values := []string{strconv.Itoa(seconds), host}
	var b strings.Builder
	next := 0
	for {
		before, rest, found := strings.Cut(format, "%")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		i := 0
		for i < len(rest) && (rest[i] >= '0' && rest[i] <= '9' || rest[i] == '$') {
			i++
		}
		if i == len(rest) {
			return b.String()
		}
		switch at, numbered := strings.CutSuffix(rest[:i], "$"); {
		case rest[i] == '%':
			b.WriteByte('%')
		case numbered:
			if n, err := strconv.Atoi(at); err == nil && n >= 1 && n <= len(values) {
				b.WriteString(values[n-1])
			}
		case next < len(values):
			b.WriteString(values[next])
			next++
		}
		format = rest[i+1:]
	}
}
