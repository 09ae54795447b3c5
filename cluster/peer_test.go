package cluster

import (
	"crypto/x509"
	"sync"
	"testing"

	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/server"
)

// A fakePeer keeps what it is sent. What the cluster channel does not use is not there.
type fakePeer struct {
	server.Peer
	version core.Version
	params  map[string]string

	mu   sync.Mutex
	sent []core.Packet
}

func (p *fakePeer) Send(_ int64, x core.Packet) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, x)
}

func (p *fakePeer) packets() []core.Packet {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]core.Packet(nil), p.sent...)
}

func (*fakePeer) Close(error)                           {}
func (*fakePeer) RemoteAddr() string                    { return "127.0.0.1:1" }
func (p *fakePeer) Version() core.Version               { return p.version }
func (*fakePeer) PeerCertificates() []*x509.Certificate { return nil }
func (p *fakePeer) AcceptorParam(key string) string     { return p.params[key] }
func (*fakePeer) Admit(int)                             {}

// TestSubscription are cluster §19 rows 5 and 6: the form by version, last on the final member only, changes live, exits in the
// second form, a second subscription, and the cluster connection that the acceptor names.
func TestSubscription(t *testing.T) {
	for v := core.Version(121); v <= 136; v++ {
		first := NewConnection(Options{Name: "first", Own: Target{Connector: *tc(1)}}, nil)
		second := NewConnection(Options{Name: "second", Own: Target{Connector: *tc(2)}}, nil)
		node := NewNode(NodeOptions{Connections: []*Connection{first, second}})
		first.Activate("own")
		first.Nodes().Update(member("x", 5, tc(5), tc(6)))
		p := &fakePeer{version: v}
		if !node.Subscribe(p) {
			t.Fatal("not subscribed")
		}
		wantSent := func(n int) []core.Packet {
			t.Helper()
			brokertest.Until(t, "packets", func() bool { return len(p.packets()) >= n })
			return p.packets()
		}
		form := func(x core.Packet) core.Type {
			f, _, _, err := core.Split(core.Append(nil, 0, x, v), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			return f.Type
		}
		want := core.TypeClusterTopology
		switch {
		case v >= 131:
			want = core.TypeClusterTopologyV4
		case v >= 125:
			want = core.TypeClusterTopologyV3
		case v >= 122:
			want = core.TypeClusterTopologyV2
		}
		for i, x := range wantSent(2) {
			up := x.(*core.ClusterTopology)
			if form(x) != want || up.Last != (i == 1) || up.Exit || up.ServerVersion != 136 || up.NodeID != []string{"own", "x"}[i] {
				t.Errorf("version %d: %+v", v, up)
			}
			if old := v < 126; (up.Primary.Factory == core.NettyConnectorFactory) == old {
				t.Errorf("version %d: %s", v, up.Primary.Factory)
			}
		}
		first.Nodes().Remove("x", 5)
		down := wantSent(3)[2].(*core.ClusterTopology)
		wantDown := core.TypeClusterTopologyV2
		if v == 121 {
			wantDown = core.TypeClusterTopology
		}
		if !down.Exit || form(down) != wantDown || down.NodeID != "x" || down.UniqueEventID != 5 {
			t.Errorf("version %d: %+v", v, down)
		}
		node.Subscribe(p)
		if again := wantSent(4)[3].(*core.ClusterTopology); again.NodeID != "own" || !again.Last {
			t.Errorf("again: %+v", again)
		}
		first.Nodes().Update(member("y", 5, tc(5), nil))
		if once := wantSent(5)[4].(*core.ClusterTopology); once.NodeID != "y" || once.Last {
			t.Errorf("after the second subscription: %+v", once)
		}
		node.Unsubscribe(p)
		first.Nodes().Update(member("z", 5, tc(5), nil))

		other := &fakePeer{version: v, params: map[string]string{"clusterConnection": "second"}}
		second.Nodes().Update(member("2", 5, tc(5), nil))
		node.Subscribe(other)
		brokertest.Until(t, "the other topology", func() bool { return len(other.packets()) == 1 })
		first.Stop()
		second.Stop()
		node.Close()
		if n := len(p.packets()); n != 5 {
			t.Errorf("%d packets came after all, want 5", n)
		}
	}
}

// TestSubscriptionBeforeActivation: who comes before there is a member is not left waiting for the last one.
func TestSubscriptionBeforeActivation(t *testing.T) {
	c := NewConnection(Options{Own: Target{Connector: *tc(1)}}, nil)
	node := NewNode(NodeOptions{Connections: []*Connection{c}})
	p := &fakePeer{version: 136}
	node.Subscribe(p)
	if err := c.BackupSynchronized(tc(2)); err == nil {
		t.Error("a node that is not active has a backup")
	}
	c.Activate("own")
	if err := c.BackupSynchronized(tc(2)); err != nil {
		t.Error(err)
	}
	brokertest.Until(t, "two packets", func() bool { return len(p.packets()) == 2 })
	c.Stop()
	for i, x := range p.packets() {
		up := x.(*core.ClusterTopology)
		if up.NodeID != "own" || up.Last != (i == 0) || (up.Backup != nil) != (i == 1) {
			t.Errorf("packet %d: %+v", i, up)
		}
	}
}
