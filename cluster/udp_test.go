package cluster

import (
	"net"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/wire/core"
)

// groups are a broadcast and a discovery group on loopback, with a port of their own.
func groups(t *testing.T) (config.BroadcastGroup, config.DiscoveryGroup) {
	t.Helper()
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	port := c.LocalAddr().(*net.UDPAddr).Port
	return config.BroadcastGroup{Name: "bg", LocalBindAddress: "127.0.0.1", LocalBindPort: -1, GroupAddress: "231.7.7.8", GroupPort: port, BroadcastPeriod: 20 * time.Millisecond},
		config.DiscoveryGroup{Name: "dg", LocalBindAddress: "127.0.0.1", GroupAddress: "231.7.7.8", GroupPort: port, RefreshTimeout: time.Second}
}

func openDiscovery(t *testing.T, g config.DiscoveryGroup, own string, l *log) *Discovery {
	t.Helper()
	d, err := OpenDiscovery(g, own, hclog.New(&hclog.LoggerOptions{Output: l}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func startBroadcast(t *testing.T, g config.BroadcastGroup, node string, connectors ...core.TransportConfiguration) *Broadcaster {
	t.Helper()
	b, err := StartBroadcast(g, node, connectors, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func heard(d *Discovery) (ids []string) {
	nodes, _ := d.Nodes()
	for _, n := range nodes {
		ids = append(ids, n.NodeID)
	}
	return ids
}

// TestUDP: nodes hear each other over a multicast group, garbage is told once, and one that falls silent is forgotten when
// another is heard.
func TestUDP(t *testing.T) {
	bg, dg := groups(t)
	var l log
	d := openDiscovery(t, dg, "own", &l)
	_, changed := d.Nodes()
	own := startBroadcast(t, bg, "own", *tc(1))
	defer own.Stop()
	a := startBroadcast(t, bg, "a", *tc(2))
	receive(t, changed)
	if got := heard(d); len(got) != 1 || got[0] != "a" {
		t.Errorf("heard of %v", got)
	}
	garbage, err := net.DialUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}, a.to)
	if err != nil {
		t.Fatal(err)
	}
	defer garbage.Close()
	for range 3 {
		if _, err := garbage.Write([]byte("garbage")); err != nil {
			t.Fatal(err)
		}
	}
	_, changed = d.Nodes()
	b := startBroadcast(t, bg, "b", *tc(3))
	receive(t, changed)
	if n := l.count("no announcement"); n != 1 {
		t.Errorf("garbage was told %d times", n)
	}
	b.Stop()
	a.Stop()
	brokertest.Until(t, "the silent nodes to be forgotten", func() bool { return len(heard(d)) == 0 })
	b = startBroadcast(t, bg, "b", *tc(3)) // restarted
	defer b.Stop()
	brokertest.Until(t, "the one that came back to be told", func() bool { return len(heard(d)) == 1 && l.count("AMQ212034") == 1 })
}

// TestUDPFails: an error of the socket is told once and does not end the listening.
func TestUDPFails(t *testing.T) {
	bg, dg := groups(t)
	var l log
	d := openDiscovery(t, dg, "own", &l)
	if err := d.conn.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	brokertest.Until(t, "the error to be told", func() bool { return l.count("AMQ214010") == 1 })
	if err := d.conn.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	defer startBroadcast(t, bg, "a", *tc(2)).Stop()
	brokertest.Until(t, "a node to be heard", func() bool { return len(heard(d)) == 1 })
	if n := l.count("AMQ214010"); n != 1 {
		t.Errorf("the error was told %d times", n)
	}
}

// TestDiscoveredCluster: two nodes find each other by discovery alone.
func TestDiscoveredCluster(t *testing.T) {
	bg, dg := groups(t)
	at, bt := newEndpoint(t), newEndpoint(t)
	a, b := newNode(t, "a", at), newNode(t, "b", bt)
	for _, n := range []*testNode{a, b} {
		defer startBroadcast(t, bg, n.id, n.at.target.Connector).Stop()
		d := openDiscovery(t, dg, n.id, n.log)
		n.connection.locator.discovery = d
		n.connection.Activate(n.id)
	}
	for _, n := range []*testNode{a, b} {
		sees(t, n.connection.Nodes(), show("a", at.port, 0), show("b", bt.port, 0))
	}
	passive := NewController(optionsFor(newEndpoint(t), &log{}), openDiscovery(t, dg, "", &log{}))
	if err := passive.Start(); err != nil {
		t.Fatal(err)
	}
	defer passive.Stop()
	sees(t, passive.Nodes(), show("a", at.port, 0), show("b", bt.port, 0))
	a.stop()
	b.stop()
}

func TestBadGroups(t *testing.T) {
	bg, dg := groups(t)
	null := hclog.NewNullLogger()
	for name, change := range map[string]func(*config.DiscoveryGroup){
		"JGroups":                 func(g *config.DiscoveryGroup) { g.JGroupsFile = "f" },
		"no address":              func(g *config.DiscoveryGroup) { g.GroupAddress = "" },
		"no port":                 func(g *config.DiscoveryGroup) { g.GroupPort = 0 },
		"no multicast address":    func(g *config.DiscoveryGroup) { g.GroupAddress = "127.0.0.1" },
		"an address of elsewhere": func(g *config.DiscoveryGroup) { g.LocalBindAddress = "192.0.2.1" },
	} {
		g := dg
		change(&g)
		if d, err := OpenDiscovery(g, "", null); err == nil {
			d.Close()
			t.Errorf("a discovery group with %s was opened", name)
		}
	}
	for name, change := range map[string]func(*config.BroadcastGroup){
		"JGroups":                 func(g *config.BroadcastGroup) { g.JGroupsChannel = "c" },
		"no address":              func(g *config.BroadcastGroup) { g.GroupAddress = "" },
		"an address of elsewhere": func(g *config.BroadcastGroup) { g.LocalBindAddress = "192.0.2.1" },
	} {
		g := bg
		change(&g)
		if b, err := StartBroadcast(g, "n", nil, null); err == nil {
			b.Stop()
			t.Errorf("a broadcast group with %s was started", name)
		}
	}
	many := make([]core.TransportConfiguration, 1000)
	for i := range many {
		many[i] = *tc(i)
	}
	if b, err := StartBroadcast(bg, "n", many, null); err == nil {
		b.Stop()
		t.Error("a datagram that cannot be sent was taken")
	}
}

func TestLocatorWithoutTargets(t *testing.T) {
	if err := NewController(Options{}, nil).Start(); err != ErrNoTargets {
		t.Errorf("controller: %v", err)
	}
	if _, err := AnnounceBackup(Options{}, nil, "a", nil); err != ErrNoTargets {
		t.Errorf("announcer: %v", err)
	}
}
