package quorum

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/ha/quorum/embedded"
	"github.com/saranga-mq/saranga/raftfsm"
	"github.com/saranga-mq/saranga/raftfsm/zk"
)

// A group is three Raft members in this process, each with a ZooKeeper endpoint.
type group struct {
	t         *testing.T
	members   []*raftfsm.Member
	endpoints []*zk.Server
}

// endpointMember gives the endpoint its own name of the listener.
type endpointMember struct{ *raftfsm.Member }

func (m endpointMember) Listen(l zk.Listener) func() { return m.Member.Listen(l) }

func startGroup(t *testing.T) *group {
	t.Helper()
	g := &group{t: t}
	var peers []raftfsm.Peer
	for i := range 3 {
		peers = append(peers, raftfsm.Peer{ID: fmt.Sprint("m", i+1), Address: fmt.Sprintf("127.0.0.1:%d", freePort(t))})
	}
	dir := t.TempDir()
	for _, p := range peers {
		m, err := raftfsm.Start(raftfsm.Config{Cluster: "pair", Member: p.ID, Listen: p.Address, Folder: filepath.Join(dir, p.ID), Members: peers})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Stop)
		e, err := zk.Listen(zk.Config{Listen: "127.0.0.1:0"}, endpointMember{m})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		g.members, g.endpoints = append(g.members, m), append(g.endpoints, e)
	}
	for i, m := range g.members {
		await(t, fmt.Sprintf("member %d to be in touch with the group", i+1), time.Minute, m.Fresh)
	}
	return g
}

func (g *group) connectString() string {
	var list []string
	for _, e := range g.endpoints {
		list = append(list, e.Addr())
	}
	return strings.Join(list, ",")
}

func (g *group) properties(session string) map[string]string {
	return map[string]string{"connect-string": g.connectString(), "namespace": "pair", "session-ms": session}
}

// embedded makes a started manager on a member.
func (g *group) embedded(member int, session string) quorum.Manager {
	g.t.Helper()
	m, err := quorum.New("", g.properties(session), embedded.Kind(g.members[member], "", nil))
	if err != nil {
		g.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(g.t.Context(), time.Minute)
	defer cancel()
	if err := m.Start(ctx); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(m.Stop)
	return m
}

// TestMembers: embedded managers of several members and a client of their endpoints share locks and sequence, also when the
// leader goes.
func TestMembers(t *testing.T) {
	g := startGroup(t)
	a, b := g.embedded(0, "18000"), g.embedded(1, "18000")
	c := manager(t, "", g.properties("18000"))
	la, lb, lc := lock(t, a), lock(t, b), lock(t, c)
	try(t, la, true)
	try(t, lb, false)
	try(t, lc, false)
	checkHeld(t, la, true)
	if done, err := long(t, a).CompareAndSet(t.Context(), 0, 7); !done || err != nil {
		t.Fatalf("compareAndSet: %v, %v", done, err)
	}
	if err := la.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	try(t, lc, true)
	checkSequence(t, c, 7)
	try(t, la, false)
	try(t, lb, false)
	lost := lc.Lost()

	// The leader goes, with the endpoint that the client may be connected to.
	stopped := -1
	for i, m := range g.members {
		if m.Role() == "leader" {
			_ = g.endpoints[i].Close()
			m.Stop()
			stopped = i
			break // another leads now
		}
	}
	if err := long(t, c).Set(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	checkHeld(t, lc, true)
	select {
	case <-lost:
		t.Fatal("the lock was lost")
	default:
	}
	c.Stop()
	for i, m := range []quorum.Manager{a, b} {
		if i == stopped { // the manager goes with its member
			<-m.Unavailable()
			continue
		}
		checkSequence(t, m, 8)
		l := lock(t, m)
		try(t, l, true)
		if err := l.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestArtemisOnMembers(t *testing.T) {
	g := startGroup(t)
	p := newPrimary(t, quorum.ClassCurator, g.properties("8000"))
	testPair(t, p, g.embedded(0, "8000"), 8*time.Second)
}
