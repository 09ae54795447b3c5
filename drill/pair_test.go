package drill_test

import (
	"context"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/management"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/wire/core/server"
	"github.com/saranga-mq/saranga/wire/transport"
)

// A fakeNode is a node of a pair in this process: an acceptor that is open while the node is active. Two nodes on one engine are a
// perfect pair; on two engines they are none.
type fakeNode struct {
	t        testing.TB
	b        *brokertest.Broker
	sequence *atomic.Int64
	port     int

	mu     sync.Mutex
	server *server.Server
	a      *transport.Acceptor
}

// engine is a broker with management, which answers for whichever node is active.
func engine(t testing.TB, sequence *atomic.Int64, node management.Node) *brokertest.Broker {
	var registry *management.Registry
	b := brokertest.New(t, func(o *broker.Options) {
		o.Clock = func() int64 { return time.Now().UnixMilli() }
		o.Manage = func(s *broker.Session, m *message.Message) { registry.Handle(s, m) }
	})
	node.ActivationSequence = sequence.Load
	registry = management.New(management.Environment{Broker: b.Broker, Config: config.Default(), Node: node})
	return b
}

func newNode(t testing.TB, b *brokertest.Broker, sequence *atomic.Int64) *fakeNode {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &fakeNode{t: t, b: b, sequence: sequence, port: l.Addr().(*net.TCPAddr).Port}
	l.Close()
	t.Cleanup(n.close)
	return n
}

func (n *fakeNode) url() string { return "tcp://127.0.0.1:" + strconv.Itoa(n.port) }

// open makes the node active.
func (n *fakeNode) open() {
	n.t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sequence.Add(1)
	n.server = server.New(server.Options{Broker: n.b.Broker, NodeID: n.b.Options().NodeID, TTLOverride: -1, TTLCheckInterval: 2000,
		Login: func(c security.Credentials) (security.Principal, error) { return security.Internal(c.User), nil }})
	r := transport.NewRemoting(transport.Config{})
	for _, p := range n.server.Protocols() {
		r.Register(p)
	}
	o, _, err := transport.ParseAcceptor("core", "127.0.0.1", n.port, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	if n.a, err = r.Listen(o); err != nil {
		n.t.Fatal(err)
	}
}

// close ends the node, with its connections.
func (n *fakeNode) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.a == nil {
		return
	}
	n.a.Pause()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	n.a.Stop(ended)
	n.a = nil
}

func (n *fakeNode) isOpen() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.a != nil
}
