//go:build linux

package netns

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Isolate has the process start with a network, process and, unless this is root, user namespace of its own: New can be called in it, and it
// ends with all that it has started. It fails to start where the machine does not allow that.
func Isolate(cmd *exec.Cmd) {
	a := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWPID}
	if uid := os.Getuid(); uid != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	cmd.SysProcAttr = a
}

// A Kind says what a sender notices of a cut.
type Kind int

const (
	// Silent: packets vanish where they arrive.
	Silent Kind = iota
	// Blackhole: a blackhole route where they are sent. What a connection sends vanishes, a new one fails at once.
	Blackhole
)

func (k Kind) String() string { return [...]string{"silent", "blackhole"}[k] }

// A Net is a bridge in the namespace of this process, with hosts. Its methods may be called from any goroutine.
type Net struct {
	Addr netip.Addr // of the bridge: this process, seen from the hosts

	link   *socket
	bridge int

	mu    sync.Mutex
	hosts map[netip.Addr]*Host
	cuts  map[cut]Kind
}

type cut struct{ from, to netip.Addr }

const (
	network    = "10.99.0"
	prefixBits = 24
	bridgeName = "drill"
	maxHosts   = 99 // .100 to .253 are for addresses of the bridge
)

// New makes the bridge. The process has to be one that Isolate made.
func New() (*Net, error) {
	n := &Net{Addr: netip.MustParseAddr(network + ".254"), hosts: map[netip.Addr]*Host{}, cuts: map[cut]Kind{}}
	var err error
	if n.link, err = openSocket(); err != nil {
		return nil, err
	}
	if err := n.setUp(); err != nil {
		n.link.close()
		return nil, fmt.Errorf("make a bridge: %w", err)
	}
	return n, nil
}

func (n *Net) setUp() error {
	if err := n.link.moveLocal(); err != nil {
		return fmt.Errorf("move the rule for local addresses: %w", err)
	}
	if err := upByName(n.link, "lo"); err != nil {
		return err
	}
	if err := n.link.addBridge(bridgeName); err != nil {
		return err
	}
	i, err := net.InterfaceByName(bridgeName)
	if err != nil {
		return err
	}
	n.bridge = i.Index
	if err := n.link.up(i.Index); err != nil {
		return err
	}
	return n.link.addAddress(i.Index, netip.PrefixFrom(n.Addr, prefixBits))
}

// AddAddress gives the bridge one more address, the one with that last number from 100 to 253. What this process sends from it can be
// cut apart from the rest.
func (n *Net) AddAddress(last int) (netip.Addr, error) {
	a, err := netip.ParseAddr(fmt.Sprintf("%s.%d", network, last))
	if err != nil || last <= maxHosts || last > 253 {
		return a, fmt.Errorf("add an address: %d is not within 100 and 253", last)
	}
	if err := n.link.addAddress(n.bridge, netip.PrefixFrom(a, prefixBits)); err != nil {
		return a, fmt.Errorf("add the address %s: %w", a, err)
	}
	return a, nil
}

// AddHost makes the next host: .1, .2, ….
func (n *Net) AddHost() (*Host, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	number := len(n.hosts) + 1
	if number > maxHosts {
		return nil, errors.New("add a host: there are enough")
	}
	h, err := newHost(netip.MustParseAddr(fmt.Sprintf("%s.%d", network, number)))
	if err != nil {
		return nil, fmt.Errorf("add a host: %w", err)
	}
	if err := n.connect(h, fmt.Sprint("veth", number)); err != nil {
		h.close()
		return nil, fmt.Errorf("connect host %s: %w", h.Addr, err)
	}
	n.hosts[h.Addr] = h
	return h, nil
}

func (n *Net) connect(h *Host, name string) error {
	const inside = "eth0"
	if err := n.link.addVeth(name, n.bridge, inside, h.namespace); err != nil {
		return fmt.Errorf("make a veth pair: %w", err)
	}
	err := h.Do(func() error {
		i, err := net.InterfaceByName(inside)
		if err != nil {
			return err
		}
		if err := h.link.addAddress(i.Index, netip.PrefixFrom(h.Addr, prefixBits)); err != nil {
			return err
		}
		return h.link.up(i.Index)
	})
	if err != nil {
		return err
	}
	return upByName(n.link, name)
}

// at is whose routes and rules hold at an address.
func (n *Net) at(a netip.Addr) *socket {
	if h := n.hosts[a]; h != nil {
		return h.link
	}
	return n.link
}

// Cut has nothing get from one address to the other. A direction that is cut stays as it is. Only hosts can have a Blackhole.
func (n *Net) Cut(from, to netip.Addr, k Kind) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := cut{from, to}
	if _, ok := n.cuts[c]; ok {
		return nil
	}
	if n.hosts[from] == nil {
		k = Silent
	}
	if err := n.set(c, k, true); err != nil {
		return fmt.Errorf("cut %s off from %s: %w", to, from, err)
	}
	n.cuts[c] = k
	return nil
}

// Heal ends a cut, if there is one.
func (n *Net) Heal(from, to netip.Addr) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := cut{from, to}
	k, ok := n.cuts[c]
	if !ok {
		return nil
	}
	if err := n.set(c, k, false); err != nil {
		return fmt.Errorf("heal %s to %s: %w", from, to, err)
	}
	delete(n.cuts, c)
	return nil
}

func (n *Net) set(c cut, k Kind, add bool) error {
	if k == Blackhole {
		return n.at(c.from).blackhole(c.to, add)
	}
	return n.at(c.to).drop(c.from, c.to, add)
}

// Close closes what this process has open of the hosts. Namespaces end with the processes and sockets in them.
func (n *Net) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, h := range n.hosts {
		h.close()
	}
	n.link.close()
}

// Refused reports whether an error of starting an isolated process, or of New, says that this machine does not allow namespaces, and not
// that something is broken.
func Refused(err error) bool {
	for _, e := range []error{unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EUSERS, unix.ENOSPC, unix.EOPNOTSUPP} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
