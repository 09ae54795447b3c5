//go:build linux

package netns

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// A Host is a network namespace with a loopback interface and one on the bridge. Its methods may be called from any goroutine.
type Host struct {
	Addr netip.Addr

	namespace int // open file
	link      *socket
}

// newHost makes a namespace. The thread that made it goes on in the old one.
func newHost(addr netip.Addr) (*Host, error) {
	h := &Host{Addr: addr, namespace: -1}
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make a network namespace: %w", err)
		}
		var err error
		if h.namespace, err = openNamespace(); err != nil {
			return err
		}
		if h.link, err = openSocket(); err != nil {
			return err
		}
		if err := h.link.moveLocal(); err != nil {
			return fmt.Errorf("move the rule for local addresses: %w", err)
		}
		return upByName(h.link, "lo")
	})
	if err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

func (h *Host) close() {
	if h.link != nil {
		h.link.close()
	}
	if h.namespace >= 0 {
		_ = unix.Close(h.namespace)
	}
}

// Do runs f on a thread that is in the host's namespace. Sockets that f itself opens, and processes that it starts, belong to the host for
// ever; goroutines that it starts do not.
func (h *Host) Do(f func() error) error {
	return onThread(func() error {
		if err := unix.Setns(h.namespace, unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter the namespace of %s: %w", h.Addr, err)
		}
		return f()
	})
}

// Start starts the process on the host.
func (h *Host) Start(cmd *exec.Cmd) error { return h.Do(cmd.Start) }

// Listen opens a TCP listener on the host, at host:port with an IP address.
func (h *Host) Listen(address string) (l net.Listener, err error) {
	err = h.Do(func() (err error) {
		l, err = net.Listen("tcp4", address)
		return err
	})
	return l, err
}

// Dial connects from the host to host:port with an IP address.
func (h *Host) Dial(ctx context.Context, address string) (c net.Conn, err error) {
	err = h.Do(func() (err error) {
		c, err = (&net.Dialer{}).DialContext(ctx, "tcp4", address)
		return err
	})
	return c, err
}

// onThread runs f on a thread of its own and brings the thread back into the namespace that it came from. One that cannot be brought
// back ends.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		home, err := openNamespace()
		if err != nil {
			runtime.UnlockOSThread()
			done <- err
			return
		}
		defer unix.Close(home)
		err = f()
		if unix.Setns(home, unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
		done <- err
	}()
	return <-done
}

// openNamespace opens the network namespace of this thread.
func openNamespace() (int, error) {
	fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open this thread's network namespace: %w", err)
	}
	return fd, nil
}

// upByName switches an interface of this thread's namespace on.
func upByName(s *socket, name string) error {
	i, err := net.InterfaceByName(name)
	if err == nil {
		err = s.up(i.Index)
	}
	if err != nil {
		return fmt.Errorf("switch %s on: %w", name, err)
	}
	return nil
}
