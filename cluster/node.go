package cluster

import (
	"bytes"
	"crypto/subtle"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/server"
)

// Bounds of the cluster channel of one peer.
const (
	maxWaitingFrames = 64      // not handled yet
	maxWaitingBytes  = 1 << 20 // of them together
	maxClusterFrame  = 1 << 20 // after the credentials were shown
)

var errFlood = errors.New("cluster: too much waits on the cluster channel")

// ErrAlreadyReplicating refuses a backup because there is one already. It goes on with another node.
var ErrAlreadyReplicating = errors.New("this node has a backup already")

// A VoteHandler answers the votes of one kind. What a vote is, only it knows. It may be called by several goroutines. An
// error, of a vote that cannot be read, ends the connection.
type VoteHandler func(vote []byte) (reply []byte, err error)

// NodeOptions configure a Node.
type NodeOptions struct {
	// Connections are the cluster connections, the default one first. At least one.
	Connections []*Connection
	// User is the cluster's. Only it gets in: an account of an application, though its password is right, does not.
	User string
	// Unsecured lets anybody in: security-enabled is false.
	Unsecured bool
	// Login authenticates and counts, logs and slows down what fails. It may take long.
	Login func(security.Credentials) (security.Principal, error)
	Log   hclog.Logger // nil: none
}

// A Node is what this node's acceptors offer to a cluster. It is the server.Topology of a Core server, and the handler of its
// cluster channel (core.ChannelCluster). It is safe for concurrent use.
//
// The frames of a peer are handled one by one, on a goroutine that there is while some wait, as a login may take long.
//
// Source: Artemis ClusterController's channel handler, CoreProtocolManager, SharedNothingPrimaryActivation.
type Node struct {
	o    NodeOptions
	work sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	peers    map[server.Peer]*clusterPeer
	watching map[server.Peer]func() // unwatch
	votes    map[string]VoteHandler
	register func(server.Peer, *core.BackupRegistration) error
}

// A clusterPeer is a connection that uses the cluster channel.
type clusterPeer struct {
	server.Peer
	waiting []waitingPacket
	bytes   int // of them
	busy    bool

	// Of the goroutine.
	authorized, warned bool
}

type waitingPacket struct {
	packet core.Packet
	size   int // of its frame, in bytes
}

// NewNode makes a node.
func NewNode(o NodeOptions) *Node {
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	return &Node{o: o, peers: map[server.Peer]*clusterPeer{}, watching: map[server.Peer]func(){}, votes: map[string]VoteHandler{}}
}

// HandleVotes gives the votes for a handler's name to h; nil takes it away. Votes that nobody handles get no answer.
func (n *Node) HandleVotes(handler string, h VoteHandler) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if h == nil {
		delete(n.votes, handler)
		return
	}
	n.votes[handler] = h
}

// HandleServerConnectVotes answers, from what the default cluster connection knows, whether a node is still there. It is what
// nodes with the legacy policy do.
func (n *Node) HandleServerConnectVotes() {
	nodes := n.o.Connections[0].Nodes()
	h := func(vote []byte) ([]byte, error) {
		var v core.ServerConnectVote
		if err := v.Decode(vote); err != nil {
			return nil, err
		}
		m, known := nodes.Member(v.NodeID)
		a := answer(v, m, known)
		n.o.Log.Info("AMQ221063: Sending quorum vote response", "about", v.NodeID, "asked", v.Vote, "answer", a.Vote, "seen_at", a.Connector.V)
		return a.Append(nil), nil
	}
	n.HandleVotes(PrimaryFailoverVote, h)
	n.HandleVotes(OldPrimaryFailoverVote, h)
}

// HandleBackups gives registrations of backups to register, nil takes it away. register must not wait: it answers nil, and
// then sends on the replication channel, or why not: ErrAlreadyReplicating or any other error, which has the backup stop.
// Without it registrations are refused with such an error.
func (n *Node) HandleBackups(register func(server.Peer, *core.BackupRegistration) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.register = register
}

// Close waits for what is being handled. Nothing is any more.
func (n *Node) Close() {
	n.mu.Lock()
	n.closed = true
	for _, p := range n.peers {
		p.waiting, p.bytes = nil, 0
	}
	n.mu.Unlock()
	n.work.Wait()
}

// connection is the cluster connection of the acceptor that p came through: the one it names, else the default one.
func (n *Node) connection(p server.Peer) *Connection {
	if name := p.AcceptorParam("clusterConnection"); name != "" {
		for _, c := range n.o.Connections {
			if c.Name() == name {
				return c
			}
		}
	}
	return n.o.Connections[0]
}

// Subscribe implements server.Topology.
func (n *Node) Subscribe(p server.Peer) bool {
	c := n.connection(p)
	n.mu.Lock()
	defer n.mu.Unlock()
	if unwatch := n.watching[p]; unwatch != nil {
		unwatch()
	}
	n.watching[p] = c.Nodes().Watch(subscriber{p})
	return true
}

// Unsubscribe implements server.Topology.
func (n *Node) Unsubscribe(p server.Peer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if unwatch := n.watching[p]; unwatch != nil {
		unwatch()
		delete(n.watching, p)
	}
}

// A subscriber is a peer that watches a topology.
type subscriber struct{ server.Peer }

func (s subscriber) NodeUp(m Member, last bool) {
	s.Send(core.ChannelPing, upPacket(m, last, s.Version()))
}

func (s subscriber) NodeDown(nodeID string, uniqueEventID int64) {
	s.Send(core.ChannelPing, downPacket(nodeID, uniqueEventID, s.Version()))
}

// HandleFrame implements server.ChannelHandler.
func (n *Node) HandleFrame(peer server.Peer, f core.Frame) error {
	packet, err := core.Decode(f.Type, f.Payload, peer.Version())
	if err != nil {
		return err
	}
	if v, ok := packet.(*core.QuorumVote); ok {
		v.Vote = bytes.Clone(v.Vote) // a view of the frame
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil
	}
	p := n.peers[peer]
	if p == nil {
		p = &clusterPeer{Peer: peer}
		n.peers[peer] = p
	}
	if len(p.waiting) >= maxWaitingFrames || p.bytes+len(f.Raw) > maxWaitingBytes {
		return errFlood
	}
	p.waiting = append(p.waiting, waitingPacket{packet, len(f.Raw)})
	p.bytes += len(f.Raw)
	if !p.busy {
		p.busy = true
		n.work.Go(func() { n.serve(p) })
	}
	return nil
}

// Gone implements server.ChannelHandler.
func (n *Node) Gone(peer server.Peer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.peers[peer]; p != nil {
		p.waiting, p.bytes = nil, 0
		delete(n.peers, peer)
	}
}

// serve handles what waits of a peer.
func (n *Node) serve(p *clusterPeer) {
	for {
		n.mu.Lock()
		if len(p.waiting) == 0 {
			p.busy = false
			n.mu.Unlock()
			return
		}
		next := p.waiting[0]
		p.waiting = p.waiting[1:]
		p.bytes -= next.size
		n.mu.Unlock()
		if err := n.handle(p, next.packet); err != nil {
			n.o.Log.Warn("a connection is closed for what came on its cluster channel", "remote", p.RemoteAddr(), "error", err)
			p.Close(err)
		}
	}
}

// handle handles one packet. An error ends the connection.
func (n *Node) handle(p *clusterPeer, packet core.Packet) error {
	if !p.authorized {
		if connect, ok := packet.(*core.ClusterConnect); ok {
			n.authorize(p, connect)
		} else if !p.warned {
			p.warned = true
			n.o.Log.Warn("packets on the cluster channel are dropped until the cluster's credentials are shown", "remote", p.RemoteAddr(), "packet", packet.Type().String())
		}
		return nil
	}
	switch packet := packet.(type) {
	case *core.NodeAnnounce:
		if packet.NodeID == "" || packet.Connector == nil {
			n.o.Log.Warn("a node that announces no id or no connector is ignored", "remote", p.RemoteAddr())
			return nil
		}
		n.connection(p).Announced(packet)
	case *core.QuorumVote:
		return n.vote(p, packet)
	case *core.BackupRegistration:
		n.registration(p, packet)
	case *core.BackupRequest:
		n.o.Log.Warn("a node asks this one to host its backup, which is refused: colocated backups are not supported", "remote", p.RemoteAddr(), "node", packet.NodeID.V)
		p.Send(core.ChannelCluster, &core.BackupRequestResponse{BackupStarted: false})
	case *core.ScaleDownAnnouncement:
		n.o.Log.Info("a node says that it has moved its messages to another", "from", packet.ScaledDownNodeID, "to", packet.TargetNodeID)
	default:
		n.o.Log.Debug("a packet that is not for the cluster channel was ignored", "remote", p.RemoteAddr(), "packet", packet.Type().String())
	}
	return nil
}

// authorize checks the cluster's credentials. Login compares the password in constant time.
func (n *Node) authorize(p *clusterPeer, c *core.ClusterConnect) {
	_, err := n.o.Login(security.Credentials{User: c.User, Password: c.Password, PeerCertificates: p.PeerCertificates(), Remote: p.RemoteAddr()})
	ok := err == nil && (n.o.Unsecured || subtle.ConstantTimeCompare([]byte(c.User), []byte(n.o.User)) == 1)
	if ok {
		p.authorized = true
		p.Admit(maxClusterFrame)
	} else {
		cause := err
		if cause == nil {
			cause = fmt.Errorf("user %q is not the cluster's", c.User)
		}
		n.o.Log.Warn("a node was refused: cluster-user and cluster-password have to be the same on all nodes", "remote", p.RemoteAddr(), "error", cause)
	}
	p.Send(core.ChannelCluster, &core.ClusterConnectReply{Authorized: ok})
}

// vote answers under the handler's name as it came.
func (n *Node) vote(p *clusterPeer, v *core.QuorumVote) error {
	if v.Reply {
		return nil
	}
	n.mu.Lock()
	h := n.votes[v.Handler]
	n.mu.Unlock()
	if h == nil {
		n.o.Log.Warn("AMQ224090: This node is not configured for the proper Quorum Voting, all nodes must be configured for the same policy", "remote", p.RemoteAddr(), "handler", v.Handler)
		return nil
	}
	reply, err := h(v.Vote)
	if err != nil {
		return err
	}
	p.Send(core.ChannelCluster, &core.QuorumVote{Reply: true, Handler: v.Handler, Vote: reply})
	return nil
}

func (n *Node) registration(p *clusterPeer, r *core.BackupRegistration) {
	n.mu.Lock()
	register := n.register
	n.mu.Unlock()
	err := errors.New("this node does not replicate")
	if register != nil {
		err = register(p.Peer, r)
	}
	if err == nil {
		return
	}
	n.o.Log.Warn("a backup was refused", "remote", p.RemoteAddr(), "backup", Address(&r.Connector), "error", err)
	problem := core.BackupProblemException
	if errors.Is(err, ErrAlreadyReplicating) {
		problem = core.BackupProblemAlreadyReplicating
	}
	p.Send(core.ChannelCluster, &core.BackupRegistrationFailed{Problem: problem})
}
