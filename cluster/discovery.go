package cluster

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/config"
)

var errJGroups = errors.New("discovery by JGroups is not supported; use group-address and group-port, or static connectors")

// A Discovery is a discovery group: it hears the announcements of other nodes by UDP.
//
// Source: cluster §3.1; Artemis DiscoveryGroup and UDPBroadcastEndpointFactory.
type Discovery struct {
	group config.DiscoveryGroup
	conn  *net.UDPConn
	log   hclog.Logger
	work  sync.WaitGroup

	closing chan struct{}
	warned  time.Time // of a node id that two use, of run's goroutine

	mu      sync.Mutex
	heard   *Discoveries
	changed chan struct{} // closed at the next change
}

// OpenDiscovery joins the group and begins to listen. own is the id of this node, "" for none.
func OpenDiscovery(g config.DiscoveryGroup, own string, log hclog.Logger) (*Discovery, error) {
	fail := func(err error) (*Discovery, error) {
		return nil, fmt.Errorf("cluster: discovery group %s: %w", g.Name, err)
	}
	if g.JGroupsFile != "" || g.JGroupsChannel != "" {
		return fail(errJGroups)
	}
	address, err := resolveGroup(g.GroupAddress, g.GroupPort)
	if err != nil {
		return fail(err)
	}
	if !address.IP.IsMulticast() {
		return fail(fmt.Errorf("group-address %s is no multicast address", g.GroupAddress))
	}
	ifi, err := interfaceOf(g.LocalBindAddress)
	if err != nil {
		return fail(err)
	}
	conn, err := net.ListenMulticastUDP("udp", ifi, address)
	if err != nil {
		return fail(err)
	}
	refresh := g.RefreshTimeout
	if refresh <= 0 {
		refresh = 10 * time.Second
	}
	d := &Discovery{closing: make(chan struct{}), group: g, conn: conn, log: log, heard: NewDiscoveries(own, refresh.Milliseconds()), changed: make(chan struct{})}
	d.work.Go(d.run)
	return d, nil
}

// Close leaves the group and waits.
func (d *Discovery) Close() {
	close(d.closing)
	d.conn.Close()
	d.work.Wait()
}

// Nodes returns the nodes heard of, and what is closed when a node comes or one is forgotten.
func (d *Discovery) Nodes() ([]Discovered, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.heard.Nodes(), d.changed
}

// warnPeriod is how often a node id that two use is warned of at most: everybody on the network can make one up.
const warnPeriod = time.Second

// retryReceive is the pause after an error of the socket: the network may be away for a while.
const retryReceive = 200 * time.Millisecond

func (d *Discovery) run() {
	datagram := make([]byte, maxDatagram)
	failed := false          // which was told
	odd := map[string]bool{} // senders of what cannot be read, each told once
	for {
		n, from, err := d.conn.ReadFromUDP(datagram)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			if !failed {
				failed = true
				d.log.Error("AMQ214010: Failed to receive datagram", "discovery_group", d.group.Name, "error", err)
			}
			select {
			case <-time.After(retryReceive):
				continue
			case <-d.closing:
				return
			}
		}
		failed = false
		a, err := DecodeAnnouncement(datagram[:n])
		if err != nil {
			if host := from.IP.String(); !odd[host] && len(odd) < maxMembers {
				odd[host] = true
				d.log.Warn("a datagram that is no announcement was ignored; the same from this host is not told again", "discovery_group", d.group.Name, "from", from.String(), "error", err)
			}
			continue
		}
		d.take(a)
	}
}

func (d *Discovery) take(a Announcement) {
	d.mu.Lock()
	changed, twice := d.heard.Heard(a, time.Now().UnixMilli())
	if changed {
		close(d.changed)
		d.changed = make(chan struct{})
	}
	d.mu.Unlock()
	if now := time.Now(); twice && now.Sub(d.warned) > warnPeriod {
		d.warned = now
		d.log.Warn("AMQ212034: There are more than one servers on the network broadcasting the same node id: once after a restart that is nothing to worry about, again and again it is", "node", a.NodeID)
	}
}

// interfaceOf returns the interface that has an address; nil, the system's choice, for "".
func interfaceOf(address string) (*net.Interface, error) {
	if address == "" {
		return nil, nil
	}
	resolved, err := net.ResolveIPAddr("ip", address)
	if err != nil {
		return nil, err
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range interfaces {
		addresses, err := interfaces[i].Addrs()
		if err != nil {
			continue
		}
		for _, a := range addresses {
			if network, ok := a.(*net.IPNet); ok && network.IP.Equal(resolved.IP) {
				return &interfaces[i], nil
			}
		}
		names = append(names, interfaces[i].Name)
	}
	return nil, fmt.Errorf("local-bind-address %s is of no interface (there are %s)", address, strings.Join(names, ", "))
}
