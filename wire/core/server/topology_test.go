package server_test

import (
	"sync"
	"testing"

	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/server"
	"github.com/saranga-mq/saranga/wire/transport"
)

// A fixedTopology tells one node, if it has a cluster connection.
type fixedTopology struct {
	clustered bool

	mu    sync.Mutex
	peers map[server.Peer]bool
	gone  int
}

func (f *fixedTopology) Subscribe(p server.Peer) bool {
	if !f.clustered {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.peers[p] = true
	p.Send(core.ChannelPing, &core.ClusterTopology{NodeID: "other", Last: true, ServerVersion: 136})
	return true
}

func (f *fixedTopology) Unsubscribe(p server.Peer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.peers, p)
	f.gone++
}

// A keeper handles the cluster channel: each frame does to its peer what its type says.
type keeper struct{}

func (keeper) HandleFrame(p server.Peer, f core.Frame) error {
	switch f.Type {
	case core.TypeClusterConnect:
		p.Admit(1 << 20)
	case core.TypeBackupRegistration:
		p.Outlive()
	}
	p.Send(core.ChannelCluster, &core.ClusterConnectReply{Authorized: p.AcceptorParam("clusterConnection") == "cc"})
	return nil
}

func (keeper) Gone(server.Peer) {}

// newClusterWorld starts a server with a topology; connections have a second for their login.
func newClusterWorld(t *testing.T, f *fixedTopology) *world {
	t.Helper()
	f.peers = map[server.Peer]bool{}
	w := &world{Broker: brokertest.New(t, nil), t: t}
	w.server = server.New(server.Options{Broker: w.Broker.Broker, NodeID: nodeID, TTLOverride: -1, TTLCheckInterval: 2000, Topology: f,
		Login: func(c security.Credentials) (security.Principal, error) { return security.Internal(c.User), nil }})
	w.server.HandleChannel(core.ChannelCluster, keeper{})
	w.addr, w.stop = listen(t, map[string]string{"handshake-timeout": "1", "clusterConnection": "cc"}, w.server)
	return w
}

// TestTopologyProvider: who subscribes is told what the topology says, and is gone from it with the connection. An acceptor
// without a cluster connection tells its own node.
func TestTopologyProvider(t *testing.T) {
	f := &fixedTopology{clustered: true}
	w := newClusterWorld(t, f)
	p := &peer{raw: dial(t, w.addr), w: w, v: 136}
	p.put(core.ChannelPing, &core.SubscribeTopology{ClientVersion: 136})
	is(t, p.next(), &core.ClusterTopology{Form: core.TypeClusterTopologyV4, NodeID: "other", Last: true, ServerVersion: 136})
	p.c.Close()
	brokertest.Until(t, "the subscription to end", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.peers) == 0 && f.gone == 1
	})

	w = newClusterWorld(t, &fixedTopology{})
	w.connect(136)
}

// TestWatcherStays: a connection that only watches the topology outlives the time for a login; one that does nothing does not,
// nor may the one that watches send large frames.
func TestWatcherStays(t *testing.T) {
	w := newClusterWorld(t, &fixedTopology{clustered: true})
	watching := &peer{raw: dial(t, w.addr), w: w, v: 136}
	watching.put(core.ChannelPing, &core.SubscribeTopology{ClientVersion: 136})
	watching.next()
	idle := &peer{raw: dialPlain(t, w.addr), w: w}
	idle.closed() // by then the other one's time is over, too
	watching.put(core.ChannelPing, &core.Ping{TTL: 60000})
	is(t, watching.next(), &core.Ping{TTL: 60000})
	big := frame(int8(core.TypePing), core.ChannelPing, make([]byte, transport.RefSize+100)...)
	watching.c.Write(big)
	watching.closed()
}

// TestOutlive: a connection that was admitted may send large frames; one that outlives the server's Disconnect is neither told
// nor closed by it.
func TestOutlive(t *testing.T) {
	w := newClusterWorld(t, &fixedTopology{clustered: true})
	admitted := func() *peer {
		p := &peer{raw: dial(t, w.addr), w: w, v: 136}
		p.put(core.ChannelCluster, &core.ClusterConnect{User: "u"})
		is(t, p.next(), &core.ClusterConnectReply{Authorized: true})
		return p
	}
	ordinary, replica := admitted(), admitted()
	replica.put(core.ChannelCluster, &core.BackupRegistration{User: string(make([]byte, 40_000))})
	is(t, replica.next(), &core.ClusterConnectReply{Authorized: true})
	w.server.Disconnect()
	if d, ok := ordinary.next().(*core.Disconnect); !ok || d.NodeID.V != nodeID {
		t.Errorf("%+v", d)
	}
	ordinary.closed()
	replica.put(core.ChannelPing, &core.Ping{TTL: 60000})
	is(t, replica.next(), &core.Ping{TTL: 60000})
}
