package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/cluster"
	"github.com/saranga-mq/saranga/test/peers"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/server"
	"github.com/saranga-mq/saranga/wire/transport"
)

// patience bounds the wait for a JVM on a machine shared with other suites.
const patience = 2 * time.Minute

// target is an address on loopback.
func target(t testing.TB, port int) cluster.Target {
	t.Helper()
	u, err := config.ParseTransportURL(fmt.Sprintf("tcp://127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	targets, err := cluster.TargetsOf(&config.Transport{Name: "artemis", URL: u})
	if err != nil {
		t.Fatal(err)
	}
	return targets[0]
}

func freePort(t testing.TB) int {
	t.Helper()
	port, err := peers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// options are those of a cluster connection from own to others.
func options(t testing.TB, own int, others ...int) cluster.Options {
	t.Helper()
	o := cluster.Options{Name: "my-cluster", Own: target(t, own), User: "cu", Password: "cp", NotificationAttempts: 2, ReconnectAttempts: -1, SplitBrainDetection: true,
		Log: hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: testWriter{t}})}
	for _, port := range others {
		o.Static = append(o.Static, target(t, port))
	}
	return o
}

// A testWriter writes to a test's log.
type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// A node is a Saranga broker in this process with a Core acceptor and a cluster connection.
type node struct {
	broker     *brokertest.Broker
	connection *cluster.Connection
	node       *cluster.Node
}

// serve starts a node of that id, active.
func serve(t testing.TB, id string, port int, others ...int) *node {
	t.Helper()
	o := options(t, port, others...)
	auth := security.NewAuthenticator(security.AuthenticatorOptions{ClusterUser: "cu", ClusterPassword: "cp", Log: o.Log, Realm: nobody{}})
	login := func(c security.Credentials) (security.Principal, error) {
		return auth.Authenticate(context.Background(), c)
	}
	n := &node{connection: cluster.NewConnection(o, nil)}
	n.node = cluster.NewNode(cluster.NodeOptions{Connections: []*cluster.Connection{n.connection}, User: "cu", Login: login, Log: o.Log})
	b := brokertest.New(t, nil)
	n.broker = b
	s := server.New(server.Options{Broker: b.Broker, NodeID: id, TTLOverride: -1, TTLCheckInterval: 2000, Topology: n.node, Login: login, Log: o.Log})
	s.HandleChannel(core.ChannelCluster, n.node)
	r := transport.NewRemoting(transport.Config{})
	for _, p := range s.Protocols() {
		r.Register(p)
	}
	ao, _, err := transport.ParseAcceptor("artemis", "127.0.0.1", port, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := r.Listen(ao)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.Pause()
		s.Disconnect()
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		a.Stop(ended)
		n.connection.Stop()
		n.node.Close()
	})
	n.connection.Activate(id)
	return n
}

// nobody is a realm without users.
type nobody struct{}

func (nobody) Login(context.Context, security.Credentials) (security.Principal, error) {
	return security.Principal{}, errors.New("no such user")
}

// until waits for something that takes a JVM its time.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// ports shows a member as primary/backup.
func ports(m cluster.Member) string {
	text := func(t *core.TransportConfiguration) string {
		if t == nil {
			return "-"
		}
		_, port, _ := net.SplitHostPort(cluster.Address(t))
		return port
	}
	return text(m.Primary) + "/" + text(m.Backup)
}

// member waits for a member with those ports.
func member(t testing.TB, nodes *cluster.Nodes, id, want string) {
	t.Helper()
	until(t, id+" to be "+want, func() bool {
		m, ok := nodes.Member(id)
		return ok && ports(m) == want
	})
}

// gone waits for a member to be gone.
func gone(t testing.TB, nodes *cluster.Nodes, id string) {
	t.Helper()
	until(t, id+" to be gone", func() bool { _, ok := nodes.Member(id); return !ok })
}
