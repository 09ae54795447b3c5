//go:build linux

package partition

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"sync"

	"github.com/saranga-mq/saranga/test/drill/netns"
	"github.com/saranga-mq/saranga/test/drill/relay"
	"github.com/saranga-mq/saranga/test/peers"
)

// admin is the name of what looks at the nodes from outside of all faults.
const admin = "admin"

// A fabric is the network between nodes. Its methods may be called from any goroutine.
type fabric struct {
	space   *netns.Net // nil: all nodes are on loopback addresses
	relayed bool       // there are relays, always so without namespaces
	hosts   map[string]*netns.Host
	addr    map[string]netip.Addr // of hosts and clients; without namespaces of clients only

	mu      sync.Mutex
	pids    map[string]int // running processes
	relays  []*relay.Relay
	links   map[Link]*relay.Link // from whoever connects to the node it connects to
	trouble map[Link]*trouble
}

// trouble is what is wrong with one direction. Faults overlap: the latest counts, a cut before all else.
type trouble struct {
	cuts  []netns.Kind
	rules []*relay.Rule
}

// newFabric makes a network in this process's namespace, or without one.
func newFabric(isolated bool, p Plan) (*fabric, error) {
	f := &fabric{relayed: p.Relayed || !isolated, hosts: map[string]*netns.Host{}, addr: map[string]netip.Addr{}, pids: map[string]int{},
		links: map[Link]*relay.Link{}, trouble: map[Link]*trouble{}}
	if isolated {
		var err error
		if f.space, err = netns.New(); err != nil {
			return nil, err
		}
		for _, name := range p.nodes() {
			h, err := f.space.AddHost()
			if err != nil {
				return nil, err
			}
			f.hosts[name], f.addr[name] = h, h.Addr
		}
	}
	for i, name := range append([]string{admin}, clientNames...) {
		if f.space == nil {
			f.addr[name] = netip.AddrFrom4([4]byte{127, 0, 0, byte(100 + i)})
			continue
		}
		a, err := f.space.AddAddress(100 + i)
		if err != nil {
			return nil, err
		}
		f.addr[name] = a
	}
	return f, nil
}

func (f *fabric) close() {
	for _, r := range f.relays {
		r.Close()
	}
	if f.space != nil {
		f.space.Close()
	}
}

// A place is where a service of a node is.
type place struct {
	listen string // what the service listens on
	reach  string // where the others find it
}

// service makes room for a service of a node, with a relay before it if there are relays.
func (f *fabric) service(node string, port int) (place, error) {
	if f.space != nil && !f.relayed {
		a := fmt.Sprintf("%s:%d", f.addr[node], port)
		return place{a, a}, nil
	}
	var p place
	var l net.Listener
	var err error
	dial := func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "tcp4", p.listen) }
	if h := f.hosts[node]; h != nil {
		p = place{fmt.Sprintf("127.0.0.1:%d", port), fmt.Sprintf("%s:%d", h.Addr, port)}
		dial = func(ctx context.Context) (net.Conn, error) { return h.Dial(ctx, p.listen) }
		l, err = h.Listen(p.reach)
	} else {
		if port, err = peers.FreePort(); err != nil {
			return p, err
		}
		if l, err = net.Listen("tcp4", "127.0.0.1:0"); err == nil {
			p = place{fmt.Sprintf("127.0.0.1:%d", port), l.Addr().String()}
		}
	}
	if err != nil {
		return p, fmt.Errorf("listen for %s: %w", node, err)
	}
	f.relays = append(f.relays, relay.New(l, relay.Options{Dial: dial, Link: func(c net.Conn) *relay.Link {
		from := f.whose(c)
		if from == "" {
			return nil
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.link(Link{from, node})
	}}))
	return p, nil
}

// whose is the node that a connection comes from.
func (f *fabric) whose(c net.Conn) string {
	at, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return ""
	}
	for name, a := range f.addr {
		if a == at.Addr() {
			return name
		}
	}
	if f.space != nil {
		return ""
	}
	f.mu.Lock()
	pids := make(map[string]int, len(f.pids))
	for name, pid := range f.pids {
		pids[name] = pid
	}
	f.mu.Unlock()
	return owner(at, pids)
}

func (f *fabric) link(l Link) *relay.Link {
	if f.links[l] == nil {
		f.links[l] = &relay.Link{}
		f.apply(l.From, l.To)
		f.apply(l.To, l.From)
	}
	return f.links[l]
}

// start starts a node's process.
func (f *fabric) start(node string, cmd *exec.Cmd) error {
	var err error
	if h := f.hosts[node]; h != nil {
		err = h.Start(cmd)
	} else {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("start %s: %w", node, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pids[node] = cmd.Process.Pid
	return nil
}

// dialer makes connections from a client's address.
func (f *fabric) dialer(client string) func(ctx context.Context, address string) (net.Conn, error) {
	d := &net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(f.addr[client], 0))}
	return func(ctx context.Context, address string) (net.Conn, error) {
		return d.DialContext(ctx, "tcp4", address)
	}
}

func (f *fabric) at(l Link) *trouble {
	if f.trouble[l] == nil {
		f.trouble[l] = &trouble{}
	}
	return f.trouble[l]
}

// cut has nothing pass in a direction until it was healed as often.
func (f *fabric) cut(l Link, k netns.Kind) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.at(l)
	t.cuts = append(t.cuts, k)
	if f.space != nil {
		return f.space.Cut(f.addr[l.From], f.addr[l.To], k)
	}
	f.apply(l.From, l.To)
	return nil
}

func (f *fabric) heal(l Link) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.at(l)
	if len(t.cuts) == 0 {
		return nil
	}
	t.cuts = t.cuts[1:]
	switch {
	case f.space == nil:
		f.apply(l.From, l.To)
	case len(t.cuts) == 0:
		return f.space.Heal(f.addr[l.From], f.addr[l.To])
	}
	return nil
}

// slow has a rule hold in a direction until undo.
func (f *fabric) slow(l Link, r relay.Rule) (undo func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.at(l)
	mine := &r
	t.rules = append(t.rules, mine)
	f.apply(l.From, l.To)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		t.rules = slices.DeleteFunc(t.rules, func(r *relay.Rule) bool { return r == mine })
		f.apply(l.From, l.To)
	}
}

// apply has the relays do what is wrong with a direction: it is that of what one node sends on the connections that it has made, and of
// the answers on those that the other has made.
func (f *fabric) apply(from, to string) {
	var r relay.Rule
	if t := f.trouble[Link{from, to}]; t != nil {
		if n := len(t.rules); n > 0 {
			r = *t.rules[n-1]
		}
		r.Hold = f.space == nil && len(t.cuts) > 0
	}
	if l := f.links[Link{from, to}]; l != nil {
		l.Set(relay.Out, r)
	}
	if l := f.links[Link{to, from}]; l != nil {
		l.Set(relay.Back, r)
	}
}

// tear ends the connections between two nodes: for both, or only for the one that the direction leads to.
func (f *fabric) tear(l Link, k Kind) {
	f.mu.Lock()
	out, back := f.links[l], f.links[Link{l.To, l.From}]
	f.mu.Unlock()
	for _, x := range []struct {
		link *relay.Link
		d    relay.Direction
	}{{out, relay.Out}, {back, relay.Back}} {
		switch {
		case x.link == nil:
		case k == HalfOpen:
			x.link.HalfOpen(x.d)
		default:
			x.link.Reset()
		}
	}
}

// describe names the kind of network.
func (f *fabric) describe() string {
	switch {
	case f.space == nil:
		return "relays on loopback"
	case f.relayed:
		return "namespaces with relays"
	}
	return "namespaces"
}
