package zk

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/saranga-mq/saranga/raftfsm"
	"github.com/saranga-mq/saranga/raftfsm/zk/jute"
)

// raftMember is a real member as a Member.
type raftMember struct{ *raftfsm.Member }

func (m raftMember) Listen(l Listener) (stop func()) { return m.Member.Listen(l) }

// slow is for machines where a test gets little of the processor.
var slow = raftfsm.Timing{Heartbeat: 2 * time.Second, Lease: time.Second, Freshness: 6 * time.Second}

// group starts members of one group with an endpoint each, and waits until they serve.
func group(t *testing.T, n int) (members []*raftfsm.Member, servers []*Server) {
	t.Helper()
	var peers []raftfsm.Peer
	for i := range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		peers = append(peers, raftfsm.Peer{ID: fmt.Sprint("m", i), Address: l.Addr().String()})
		l.Close()
	}
	for _, p := range peers {
		m, err := raftfsm.Start(raftfsm.Config{Cluster: "test", Member: p.ID, Listen: p.Address, Folder: t.TempDir(), Members: peers, Timing: slow})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Stop)
		s, err := Listen(Config{Listen: "127.0.0.1:0", TickTime: time.Second}, raftMember{m})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		members, servers = append(members, m), append(servers, s)
	}
	for _, m := range members {
		until(t, "the group is founded and has a leader", m.Fresh)
	}
	return members, servers
}

func clientOf(t *testing.T, timeout time.Duration, servers ...*Server) (*gozk.Conn, <-chan gozk.Event) {
	t.Helper()
	var addresses []string
	for _, s := range servers {
		addresses = append(addresses, s.Addr())
	}
	c, events, err := gozk.Connect(addresses, timeout, gozk.WithLogger(quiet{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, events
}

// A client that falls silent loses its session, and another one's lease is free; one that pings does not.
func TestRaftExpiry(t *testing.T) {
	_, servers := group(t, 1)
	living, _ := clientOf(t, 3*time.Second, servers...)
	open := gozk.WorldACL(gozk.PermAll)
	must(living.Create("/alive", nil, gozk.FlagEphemeral, open))(t)

	silent := dial(t, served{Server: servers[0]})
	silent.login(jute.ConnectRequest{TimeOut: 2000, Passwd: make([]byte, 16)})
	silent.want(jute.OK, jute.OpCreate, jute.Create{Path: "/lease", ACL: world, Flags: jute.FlagEphemeral})
	_, _, watch, err := living.ExistsW("/lease")
	if err != nil {
		t.Fatal(err)
	}
	if e := nextEvent(t, watch); e.Type != gozk.EventNodeDeleted {
		t.Fatal(e)
	}
	silent.gone()
	if ok, _, err := living.Exists("/alive"); !ok || err != nil {
		t.Error(ok, err)
	}
}

// Spec ha.md 7, row 16c: creates one after another while the leader stops. There are as many children as creates that were answered, and the session and its
// ephemeral node live on at another member.
func TestRaftLeaderStops(t *testing.T) {
	members, servers := group(t, 3)
	c, _ := clientOf(t, 20*time.Second, servers...)
	open := gozk.WorldACL(gozk.PermAll)
	must(c.Create("/d", nil, 0, open))(t)
	must(c.Create("/lease", nil, gozk.FlagEphemeral, open))(t)
	session := c.SessionID()

	answered, unknown := []string{}, 0
	for i := 0; i < 60; i++ {
		if i == 20 {
			stopLeader(t, members, servers)
		}
		path, err := c.Create("/d/n-", nil, gozk.FlagSequence, open)
		switch {
		case err == nil:
			answered = append(answered, path[len("/d/"):])
		case errors.Is(err, gozk.ErrConnectionClosed), errors.Is(err, gozk.ErrNoServer):
			unknown++ // it was connected to the member that stopped
		default:
			t.Fatal(err)
		}
	}
	must(c.Sync("/d"))(t)
	names, _, err := c.Children("/d")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range answered {
		if !slices.Contains(names, n) {
			t.Errorf("%s was answered and is not there", n)
		}
	}
	if extra := len(names) - len(answered); extra < 0 || extra > unknown {
		t.Errorf("%d children, %d answered, %d unknown", len(names), len(answered), unknown)
	}
	if _, stat, err := c.Exists("/lease"); err != nil || stat.EphemeralOwner != session || c.SessionID() != session {
		t.Errorf("%+v %v, session %#x, had %#x", stat, err, c.SessionID(), session)
	}
}

func stopLeader(t *testing.T, members []*raftfsm.Member, servers []*Server) {
	t.Helper()
	for i, m := range members {
		if m.Role() == "leader" {
			if err := servers[i].Close(); err != nil {
				t.Error(err)
			}
			m.Stop()
			return
		}
	}
	t.Fatal("nobody leads")
}

// What one member is told another shows after a sync, and its watches fire.
func TestRaftWatchesAcrossMembers(t *testing.T) {
	_, servers := group(t, 3)
	a, _ := clientOf(t, 20*time.Second, servers[0])
	b, _ := clientOf(t, 20*time.Second, servers[1])
	open := gozk.WorldACL(gozk.PermAll)
	must(a.Create("/x", []byte("1"), 0, open))(t)
	must(b.Sync("/x"))(t)
	data, _, watch, err := b.GetW("/x")
	if err != nil || string(data) != "1" {
		t.Fatal(data, err)
	}
	must(a.Set("/x", []byte("2"), 0))(t)
	if e := nextEvent(t, watch); e.Type != gozk.EventNodeDataChanged {
		t.Fatal(e)
	}
	if data, _, err := b.Get("/x"); err != nil || string(data) != "2" {
		t.Error(data, err)
	}
}

var _ Member = raftMember{}
