package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/server"
	"github.com/saranga-mq/saranga/wire/transport"
)

// A log keeps what was logged.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), s)
}

// An endpoint is an address on loopback where a node can serve.
type endpoint struct {
	port   int
	target Target
}

func newEndpoint(t testing.TB) endpoint {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	options, err := transport.ParseConnector("artemis", "127.0.0.1", port, nil)
	if err != nil {
		t.Fatal(err)
	}
	return endpoint{port, Target{*tc(port), options}}
}

func optionsFor(own endpoint, l *log, static ...endpoint) Options {
	o := Options{Name: "my-cluster", Own: own.target, User: "cu", Password: "cp", RetryInterval: 10 * time.Millisecond, MaxRetryInterval: 10 * time.Millisecond,
		NotificationInterval: 20 * time.Millisecond, NotificationAttempts: 2, ReconnectAttempts: -1, CallTimeout: 5 * time.Second, SplitBrainDetection: true,
		Log: hclog.New(&hclog.LoggerOptions{Output: l, Level: hclog.Debug})}
	for _, s := range static {
		o.Static = append(o.Static, s.target)
	}
	return o
}

// A testNode is a broker with a Core acceptor and one cluster connection.
type testNode struct {
	*brokertest.Broker
	t          testing.TB
	id         string
	at         endpoint
	log        *log
	connection *Connection
	node       *Node
	server     *server.Server
	remoting   *transport.Remoting

	stopOnce sync.Once
}

// newNode makes a node that serves; Activate of its connection is the test's to call.
func newNode(t testing.TB, id string, at endpoint, static ...endpoint) *testNode {
	t.Helper()
	l := &log{}
	o := optionsFor(at, l, static...)
	connection := NewConnection(o, nil)
	auth := security.NewAuthenticator(security.AuthenticatorOptions{ClusterUser: "cu", ClusterPassword: "cp", Log: o.Log, Realm: oneUser{}})
	n := serveNode(t, id, at, NewNode(NodeOptions{Connections: []*Connection{connection}, User: "cu", Log: o.Log,
		Login: func(c security.Credentials) (security.Principal, error) {
			return auth.Authenticate(context.Background(), c)
		}}))
	n.log, n.connection = l, connection
	return n
}

// serveNode makes a broker whose acceptor offers node.
func serveNode(t testing.TB, id string, at endpoint, node *Node) *testNode {
	t.Helper()
	n := &testNode{Broker: brokertest.New(t, nil), t: t, id: id, at: at, node: node}
	n.server = server.New(server.Options{Broker: n.Broker.Broker, NodeID: id, TTLOverride: -1, TTLCheckInterval: 2000, Topology: node,
		Login: func(c security.Credentials) (security.Principal, error) { return node.o.Login(c) }})
	n.server.HandleChannel(core.ChannelCluster, node)
	n.listen(at.port)
	t.Cleanup(n.stop)
	return n
}

// oneUser is a realm that lets in app with the password app.
type oneUser struct{}

func (oneUser) Login(_ context.Context, c security.Credentials) (security.Principal, error) {
	if c.User != "app" || c.Password != "app" {
		return security.Principal{}, errors.New("wrong")
	}
	return security.Principal{User: "app"}, nil
}

func (n *testNode) listen(port int) {
	n.t.Helper()
	n.remoting = transport.NewRemoting(transport.Config{})
	for _, p := range n.server.Protocols() {
		n.remoting.Register(p)
	}
	o, _, err := transport.ParseAcceptor("core", "127.0.0.1", port, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	if _, err := n.remoting.Listen(o); err != nil {
		n.t.Fatal(err)
	}
}

// stop ends the node in good order.
func (n *testNode) stop() {
	n.stopOnce.Do(func() {
		for _, a := range n.remoting.Acceptors() {
			a.Pause()
		}
		n.server.Disconnect()
		n.halt()
	})
}

// kill ends the node without a word.
func (n *testNode) kill() { n.stopOnce.Do(n.halt) }

func (n *testNode) halt() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, a := range n.remoting.Acceptors() {
		a.Stop(ended)
	}
	if n.connection != nil {
		n.connection.Stop()
	}
	n.node.Close()
}

// sees waits until the topology is that: "id primary backup" of each member, with ports, 0 for none.
func sees(t testing.TB, nodes *Nodes, want ...string) {
	t.Helper()
	text := func() string {
		var list []string
		for _, m := range nodes.Members() {
			port := func(c *core.TransportConfiguration) string {
				if c == nil {
					return "-"
				}
				p, _ := c.Text("port")
				return p
			}
			list = append(list, m.NodeID+" "+port(m.Primary)+" "+port(m.Backup))
		}
		return strings.Join(list, ", ")
	}
	defer func() {
		if t.Failed() {
			t.Logf("the topology is [%s], want %v", text(), want)
		}
	}()
	brokertest.Until(t, "the topology to be "+strings.Join(want, ", "), func() bool { return text() == strings.Join(want, ", ") })
}

// linked waits until the node is connected to those others.
func linked(t testing.TB, n *testNode, others ...string) {
	t.Helper()
	brokertest.Until(t, n.id+" to be connected to "+strings.Join(others, ", "), func() bool {
		return slices.Equal(slices.Sorted(maps.Keys(n.connection.Linked())), others)
	})
}

func show(id string, primary, backup int) string {
	port := func(p int) string {
		if p == 0 {
			return "-"
		}
		s, _ := tc(p).Text("port")
		return s
	}
	return id + " " + port(primary) + " " + port(backup)
}

// TestTwoPrimaries: two nodes that know each other's address find each other, notice how the other one leaves, and come
// back together.
func TestTwoPrimaries(t *testing.T) {
	at, bt := newEndpoint(t), newEndpoint(t)
	a := newNode(t, "a", at, bt)
	a.connection.Activate("a")
	sees(t, a.connection.Nodes(), show("a", at.port, 0))
	b := newNode(t, "b", bt, at)
	b.connection.Activate("b")
	both := []string{show("a", at.port, 0), show("b", bt.port, 0)}
	sees(t, a.connection.Nodes(), both...)
	sees(t, b.connection.Nodes(), both...)
	brokertest.Until(t, "the warning that messages do not move", func() bool { return a.log.count("messages do not move") == 1 })
	linked(t, a, "b")
	b.stop()
	sees(t, a.connection.Nodes(), show("a", at.port, 0))
	c := newNode(t, "b", bt, at) // restarted
	c.connection.Activate("b")
	sees(t, a.connection.Nodes(), both...)
	sees(t, c.connection.Nodes(), both...)
	linked(t, a, "b")
	c.kill()
	sees(t, a.connection.Nodes(), show("a", at.port, 0))
	if n := a.log.count("messages do not move"); n != 1 {
		t.Errorf("the warning came %d times", n)
	}
	a.stop() // before the brokers
}

// TestNodeIsBackSoon: a primary that comes back before the end of its last connection was seen to here gets a new one.
func TestNodeIsBackSoon(t *testing.T) {
	at, bt := newEndpoint(t), newEndpoint(t)
	a, b := newNode(t, "a", at), newNode(t, "b", bt)
	b.connection.Activate("b")
	a.connection.Activate("a")
	c := a.connection
	unwatch := c.nodes.Watch(c) // there is nobody to connect to, so it does not watch by itself
	defer unwatch()
	c.links["b"] = "" // ending
	if err := c.nodes.Update(Member{NodeID: "b", UniqueEventID: 1, Primary: &bt.target.Connector}); err != nil {
		t.Fatal(err)
	}
	sees(t, c.nodes, show("a", at.port, 0), show("b", bt.port, 0))
	c.unlink("b")
	linked(t, a, "b")
	a.stop()
}

// TestThreePrimaries: one node's address is enough, the others are learned; all notice that one is killed.
func TestThreePrimaries(t *testing.T) {
	at, bt, ct := newEndpoint(t), newEndpoint(t), newEndpoint(t)
	a := newNode(t, "a", at, bt)
	b := newNode(t, "b", bt, at)
	c := newNode(t, "c", ct, at)
	all := []string{show("a", at.port, 0), show("b", bt.port, 0), show("c", ct.port, 0)}
	for _, n := range []*testNode{a, b, c} {
		n.connection.Activate(n.id)
	}
	for _, n := range []*testNode{a, b, c} {
		sees(t, n.connection.Nodes(), all...)
	}
	linked(t, a, "b", "c")
	linked(t, b, "a", "c")
	c.kill()
	for _, n := range []*testNode{a, b} {
		sees(t, n.connection.Nodes(), all[:2]...)
	}
}

// TestPair: a passive node hears of the active one, registers, is refused, is announced, and sees the active one go.
func TestPair(t *testing.T) {
	at, bt := newEndpoint(t), newEndpoint(t)
	a := newNode(t, "a", at, bt)
	registrations := make(chan *core.BackupRegistration, 1)
	a.node.HandleBackups(func(p server.Peer, r *core.BackupRegistration) error {
		registrations <- r
		return ErrAlreadyReplicating
	})
	a.connection.Activate("a")

	blog := &log{}
	o := optionsFor(bt, blog, bt, at) // its own connector is skipped
	controller := NewController(o, nil)
	if err := controller.Start(); err != nil {
		t.Fatal(err)
	}
	defer controller.Stop()
	sees(t, controller.Nodes(), show("a", at.port, 0))
	<-controller.Connected()

	member, ok := controller.Nodes().Member("a")
	if !ok {
		t.Fatal("the active node is not known")
	}
	ctl, err := controller.ConnectTo(t.Context(), member.Candidate(), ControlOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer ctl.Close()
	refused := make(chan int32, 1)
	if err := ctl.RegisterBackup(t.Context(), true, func(problem int32) { refused <- problem }); err != nil {
		t.Fatal(err)
	}
	if r := receive(t, registrations); !r.WantsFailBack || !SameParams(&r.Connector, &bt.target.Connector) {
		t.Errorf("registration %+v", r)
	}
	if problem := receive(t, refused); problem != core.BackupProblemAlreadyReplicating {
		t.Errorf("problem %d", problem)
	}
	a.node.HandleBackups(nil)
	if err := ctl.RegisterBackup(t.Context(), false, func(problem int32) { refused <- problem }); err != nil {
		t.Fatal(err)
	}
	if problem := receive(t, refused); problem != core.BackupProblemException {
		t.Errorf("problem %d", problem)
	}

	// Announced: everybody is told of the backup.
	announcer, err := AnnounceBackup(o, nil, "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer announcer.Stop()
	receive(t, announcer.Announced())
	pair := show("a", at.port, bt.port)
	sees(t, a.connection.Nodes(), pair)
	sees(t, controller.Nodes(), pair)

	// The active node stops: it says so to the controller.
	a.stop()
	sees(t, controller.Nodes())
	if ctl.Disconnected() == nil || ctl.Err() == nil {
		t.Errorf("the connection ended with %v", ctl.Err())
	}

	// The passive node becomes active under the same id.
	b := newNode(t, "a", bt, at)
	b.connection.Activate("a")
	sees(t, b.connection.Nodes(), show("a", bt.port, 0))
}

func receive[T any](t testing.TB, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(brokertest.Deadline):
		t.Fatal("nothing came")
	}
	return v
}

// TestVote: a passive node asks another primary whether it still sees the one that failed.
func TestVote(t *testing.T) {
	at, ct := newEndpoint(t), newEndpoint(t)
	a := newNode(t, "a", at, ct)
	c := newNode(t, "c", ct, at)
	a.connection.Activate("a")
	c.connection.Activate("c")
	c.node.HandleServerConnectVotes()
	both := []string{show("a", at.port, 0), show("c", ct.port, 0)}
	sees(t, c.connection.Nodes(), both...)

	controller := NewController(optionsFor(newEndpoint(t), &log{}, ct), nil)
	if err := controller.Start(); err != nil {
		t.Fatal(err)
	}
	defer controller.Stop()
	sees(t, controller.Nodes(), both...)
	if size := controller.VoteSize(-1); size != 2 {
		t.Errorf("vote size %d", size)
	}
	vote := func(b *Ballot, want bool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), brokertest.Deadline)
		defer cancel()
		controller.Vote(ctx, "a", b)
		if !b.Closed() || b.Positive() != want {
			t.Errorf("positive %v, want %v", b.Positive(), want)
		}
	}
	vote(GoneBallot("a", controller.VoteSize(-1)), false)
	vote(StayBallot("a", &at.target.Connector, 2), true)
	vote(StayBallot("a", tc(1), 2), false)
	vote(GoneBallot("a", controller.VoteSize(3)), false)
	linked(t, c, "a")
	a.kill()
	sees(t, c.connection.Nodes(), both[1])
	vote(GoneBallot("a", controller.VoteSize(-1)), true)
	vote(StayBallot("a", &at.target.Connector, 2), false)
	c.kill() // nobody to ask
	vote(GoneBallot("a", 2), false)
	vote(GoneBallot("a", 1), true)
}

// TestOldVoteName: a peer that knows the old name of the vote gets it back.
func TestOldVoteName(t *testing.T) {
	at := newEndpoint(t)
	a := newNode(t, "a", at)
	a.connection.Activate("a")
	a.node.HandleServerConnectVotes()
	p := dialRaw(t, at.port)
	p.authorize("cu", "cp", true)
	question := core.ServerConnectVote{NodeID: "nobody"}
	p.send(core.ChannelCluster, &core.QuorumVote{Handler: OldPrimaryFailoverVote, Vote: question.Append(nil)})
	reply := p.next().(*core.QuorumVote)
	var v core.ServerConnectVote
	if err := v.Decode(reply.Vote); err != nil || !reply.Reply || reply.Handler != OldPrimaryFailoverVote || !v.Vote || v.NodeID != "nobody" || v.Connector.Valid {
		t.Errorf("%+v %+v %v", reply, v, err)
	}
	// A handler that nobody registered is not answered; the next one is.
	p.send(core.ChannelCluster, &core.QuorumVote{Handler: "RequestBackupQuorumVote", Vote: []byte{1}})
	p.send(core.ChannelCluster, &core.QuorumVote{Handler: PrimaryFailoverVote, Vote: question.Append(nil)})
	if reply := p.next().(*core.QuorumVote); reply.Handler != PrimaryFailoverVote {
		t.Errorf("%+v", reply)
	}
	// Garbage for a handler ends the connection.
	p.send(core.ChannelCluster, &core.QuorumVote{Handler: PrimaryFailoverVote, Vote: []byte{1}})
	p.ends()
}

// rawPeer speaks frames.
type rawPeer struct {
	t testing.TB
	c net.Conn
	v core.Version
}

func dialRaw(t testing.TB, port int) *rawPeer {
	t.Helper()
	c, err := net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	p := &rawPeer{t: t, c: c, v: core.VersionCurrent}
	p.write([]byte(core.Preamble))
	return p
}

func (p *rawPeer) write(b []byte) {
	p.t.Helper()
	if _, err := p.c.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

func (p *rawPeer) send(channel int64, x core.Packet) {
	p.t.Helper()
	p.write(core.Append(nil, channel, x, p.v))
}

// frame is the next frame; its memory is not used again.
func (p *rawPeer) frame() (core.Frame, error) {
	p.c.SetReadDeadline(time.Now().Add(brokertest.Deadline))
	head := make([]byte, 4)
	if _, err := io.ReadFull(p.c, head); err != nil {
		return core.Frame{}, err
	}
	r := buf.NewReader(head)
	raw := append(head, make([]byte, r.Int32())...)
	if _, err := io.ReadFull(p.c, raw[4:]); err != nil {
		return core.Frame{}, err
	}
	f, _, _, err := core.Split(raw, 1<<20)
	return f, err
}

// next is the next packet.
func (p *rawPeer) next() core.Packet {
	p.t.Helper()
	f, err := p.frame()
	if err != nil {
		p.t.Fatalf("waiting for a packet: %v", err)
	}
	x, err := core.Decode(f.Type, f.Payload, p.v)
	if err != nil {
		p.t.Fatal(err)
	}
	return x
}

// ends checks that nothing more comes but the end.
func (p *rawPeer) ends() {
	p.t.Helper()
	f, err := p.frame()
	var timeout net.Error
	if err == nil {
		p.t.Errorf("got %v, want the end", f.Type)
	} else if errors.As(err, &timeout) && timeout.Timeout() {
		p.t.Error("the connection was not closed")
	}
}

func (p *rawPeer) authorize(user, password string, want bool) {
	p.t.Helper()
	p.send(core.ChannelCluster, &core.ClusterConnect{User: user, Password: password})
	if got := p.next().(*core.ClusterConnectReply); got.Authorized != want {
		p.t.Errorf("%s/%s: authorized %v", user, password, got.Authorized)
	}
}

// TestCredentials are cluster §19 rows 3 and 4: wrong ones are refused and the connection stays; before the right ones nothing
// is taken; an application's account is not the cluster's.
func TestCredentials(t *testing.T) {
	at := newEndpoint(t)
	a := newNode(t, "a", at)
	a.connection.Activate("a")
	registered := make(chan struct{}, 1)
	a.node.HandleBackups(func(server.Peer, *core.BackupRegistration) error {
		registered <- struct{}{}
		return nil
	})
	p := dialRaw(t, at.port)
	announce := &core.NodeAnnounce{NodeID: "x", CurrentEventID: 1, Connector: tc(1)}
	p.send(core.ChannelCluster, announce)
	p.send(core.ChannelCluster, &core.BackupRegistration{User: "cu", Password: "cp", Connector: *tc(2)})
	p.send(core.ChannelCluster, &core.BackupRequest{})
	p.authorize("cu", "wrong", false)
	p.authorize("cx", "cp", false)
	p.authorize("app", "app", false)
	p.authorize("", "", false)
	p.send(core.ChannelCluster, announce)
	p.send(core.ChannelCluster, &core.ScaleDownAnnouncement{TargetNodeID: "a", ScaledDownNodeID: "x"})
	p.authorize("cu", "cp", true)
	if _, ok := a.connection.Nodes().Member("x"); ok {
		t.Error("an announcement was taken before the credentials were shown")
	}
	if a.log.count("packets on the cluster channel are dropped") != 1 {
		t.Error("it was not told once that packets were dropped")
	}
	p.send(core.ChannelCluster, announce)
	p.send(core.ChannelCluster, &core.NodeAnnounce{NodeID: "", Connector: tc(1)})
	p.send(core.ChannelCluster, &core.NodeAnnounce{NodeID: "y"})
	p.send(core.ChannelCluster, &core.ScaleDownAnnouncement{TargetNodeID: "a", ScaledDownNodeID: "x"})
	p.send(core.ChannelCluster, &core.BackupRequest{BackupSize: 0, NodeID: buf.Of("x")})
	if got := p.next().(*core.BackupRequestResponse); got.BackupStarted {
		t.Error("a colocated backup was promised")
	}
	if got := a.connection.Nodes().Members(); len(got) != 2 || got[1].NodeID != "x" {
		t.Errorf("%v", got)
	}
	select {
	case <-registered:
		t.Error("a registration was taken before the credentials were shown")
	default:
	}
	p.send(core.ChannelCluster, &core.BackupRegistration{User: "cu", Password: "cp", Connector: *tc(2)})
	receive(t, registered)
}

// TestFailedLoginsAreSlowedDown: they count as other failed logins do.
func TestFailedLoginsAreSlowedDown(t *testing.T) {
	auth := security.NewAuthenticator(security.AuthenticatorOptions{ClusterUser: "cu", ClusterPassword: "cp"})
	at := newEndpoint(t)
	a := newNode(t, "a", at)
	a.node.o.Login = func(c security.Credentials) (security.Principal, error) {
		if host, _, err := net.SplitHostPort(c.Remote); err != nil || host != "127.0.0.1" {
			t.Errorf("the slow-down does not know who it is: %q", c.Remote)
		}
		return auth.Authenticate(context.Background(), c)
	}
	a.connection.Activate("a")
	p := dialRaw(t, at.port)
	p.authorize("cu", "wrong", false)
	p.authorize("cu", "cp", true)
	if ok, failed := auth.Counts(); ok != 1 || failed != 1 {
		t.Errorf("%d and %d were counted", ok, failed)
	}
}

// TestGarbageOnTheClusterChannel: what cannot be read ends the connection, and so does a flood.
func TestGarbageOnTheClusterChannel(t *testing.T) {
	at := newEndpoint(t)
	a := newNode(t, "a", at)
	a.connection.Activate("a")
	frame := func(kind int8, payload ...byte) []byte {
		b := buf.AppendInt8(buf.AppendInt32(nil, int32(9+len(payload))), kind)
		return append(buf.AppendInt64(b, core.ChannelCluster), payload...)
	}
	for name, raw := range map[string][]byte{
		"unknown type":      frame(102),
		"short":             frame(125, 0, 0),
		"left over":         frame(126, 0xff, 1), // CLUSTER_CONNECT_REPLY with a byte too much
		"connector no end":  frame(115, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1),
		"large before that": append(buf.AppendInt32(nil, 1<<20), make([]byte, transport.RefSize+100)...),
	} {
		t.Run(name, func(t *testing.T) {
			p := dialRaw(t, at.port)
			p.c.Write(raw) // it may be closed before the end
			p.ends()
		})
	}
	t.Run("flood", func(t *testing.T) {
		release := make(chan struct{})
		b := newNode(t, "b", newEndpoint(t))
		b.node.o.Login = func(security.Credentials) (security.Principal, error) {
			<-release
			return security.Principal{}, errors.New("no")
		}
		t.Cleanup(func() { close(release) })
		p := dialRaw(t, b.at.port)
		connect := core.Append(nil, core.ChannelCluster, &core.ClusterConnect{User: "u"}, 136)
		p.c.Write(bytes.Repeat(connect, maxWaitingFrames+2))
		p.ends()
	})
	p := dialRaw(t, at.port)
	p.authorize("cu", "cp", true) // the node is unharmed
}

// FuzzClusterChannel: nothing that comes on the channel, before or after the credentials, does harm.
func FuzzClusterChannel(f *testing.F) {
	for _, g := range goldenFrames(f) {
		fr := g.frame(f)
		if fr.Channel == core.ChannelCluster {
			f.Add(int8(fr.Type), fr.Payload, true)
			f.Add(int8(fr.Type), fr.Payload, false)
		}
	}
	f.Fuzz(func(t *testing.T, kind int8, payload []byte, authorized bool) {
		connection := NewConnection(Options{Own: Target{Connector: *tc(1)}, Now: func() int64 { return 1 }}, nil)
		node := NewNode(NodeOptions{Connections: []*Connection{connection}, User: "cu", Login: func(security.Credentials) (security.Principal, error) {
			return security.Principal{}, errors.New("no")
		}})
		node.HandleServerConnectVotes()
		node.HandleBackups(func(server.Peer, *core.BackupRegistration) error { return ErrAlreadyReplicating })
		p := &fakePeer{}
		node.peers[p] = &clusterPeer{Peer: p, authorized: authorized}
		node.HandleFrame(p, core.Frame{Type: core.Type(kind), Channel: core.ChannelCluster, Payload: payload, Raw: payload})
		node.Close()
		node.Gone(p)
		connection.Stop()
		if !authorized {
			if len(connection.Nodes().Members()) > 0 {
				t.Error("the topology was changed before the credentials were shown")
			}
			for _, x := range p.sent {
				if r, ok := x.(*core.ClusterConnectReply); !ok || r.Authorized {
					t.Errorf("answered %+v before the credentials were shown", x)
				}
			}
		}
	})
}
