package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/client"
	"github.com/saranga-mq/saranga/wire/transport"
)

// ErrUnauthorized is the answer to cluster credentials that the other node does not take.
var ErrUnauthorized = errors.New("the other node refuses cluster-user and cluster-password")

// voteFormerWait is how long a peer from before version 136 has for each name of a vote's handler, as it does not answer
// to one it does not know.
const voteFormerWait = 2 * time.Second

// ControlOptions are those of one connection to a node.
type ControlOptions struct {
	// ClusterConnection is what the subscription to the topology says of it: true for an announcement, false for a
	// controller's and for replication.
	ClusterConnection bool
	// OnTopology is given each topology packet, OnDisconnect that the node says it ends the connection; both on the
	// connection's read goroutine, from before Connect returns on. Nil: nothing is told.
	OnTopology   func(*core.ClusterTopology)
	OnDisconnect func(*core.Disconnect)
}

// A Control is a connection to another node, for what nodes say to each other. It is not made again when it ends. Its
// methods may be called by several goroutines, but not on the read goroutine (in a callback), where they would wait for
// themselves.
//
// Source: Artemis ClusterControl.
type Control struct {
	conn   *client.Conn
	target Target
	o      *Options

	asking sync.Mutex // one request at a time: answers on channel 3 have no correlation

	mu      sync.Mutex
	want    core.Type
	waiting chan core.Packet // capacity 1; nil: nobody waits
	refused func(problem int32)
	said    *core.Disconnect
}

// Connect connects to a node, subscribes to its topology and returns when all members were told.
func Connect(ctx context.Context, o Options, target Target, co ControlOptions) (*Control, error) {
	o = o.withDefaults()
	c := &Control{target: target, o: &o}
	conn, err := client.Dial(ctx, client.Config{
		Hosts: []transport.ConnectorOptions{target.Options}, Dialer: o.Dialer,
		ConnectionTTL: o.ConnectionTTL, FailureCheckPeriod: o.CheckPeriod, CallTimeout: o.CallTimeout,
		InitialConnectAttempts: 1, ClusterConnection: co.ClusterConnection, OnTopologyPacket: co.OnTopology,
		OnDisconnect: func(p *core.Disconnect) {
			c.mu.Lock()
			c.said = p
			c.mu.Unlock()
			if co.OnDisconnect != nil {
				co.OnDisconnect(p)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("cluster: connect to %s: %w", Address(&target.Connector), err)
	}
	c.conn = conn
	conn.HandleChannel(core.ChannelCluster, c.frame)
	return c, nil
}

// Target is what it is connected to.
func (c *Control) Target() Target { return c.target }

// Conn is the connection itself: replication uses another channel of it.
func (c *Control) Conn() *client.Conn { return c.conn }

// Done is closed when the connection has ended: the node closed it, the network broke, or nothing came for its TTL.
func (c *Control) Done() <-chan struct{} { return c.conn.Done() }

// Err tells why it ended; nil while it has not.
func (c *Control) Err() error { return c.conn.Err() }

// Disconnected is what the node said when it ended the connection, nil if it did not say so (yet).
func (c *Control) Disconnected() *core.Disconnect {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said
}

// Close ends the connection.
func (c *Control) Close() { c.conn.Close() }

// frame handles channel 3.
func (c *Control) frame(f core.Frame) error {
	p, err := core.Decode(f.Type, f.Payload, c.conn.Version())
	if err != nil {
		return err
	}
	if v, ok := p.(*core.QuorumVote); ok {
		v.Vote = bytes.Clone(v.Vote) // a view of the frame
	}
	if failed, ok := p.(*core.BackupRegistrationFailed); ok {
		c.mu.Lock()
		refused := c.refused
		c.mu.Unlock()
		if refused != nil {
			refused(failed.Problem)
		}
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting != nil && (f.Type == c.want || f.Type == core.TypeException) {
		c.waiting <- p
		c.waiting = nil
	}
	return nil
}

// ask sends a request and waits for its answer, at most limit. Late says that no answer is one: the connection stays.
func (c *Control) ask(ctx context.Context, p core.Packet, want core.Type, limit time.Duration, late bool) (core.Packet, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	reply := make(chan core.Packet, 1)
	c.mu.Lock()
	c.want, c.waiting = want, reply
	c.mu.Unlock()
	fail := func(err error) (core.Packet, error) {
		c.mu.Lock()
		c.waiting = nil
		c.mu.Unlock()
		return nil, fmt.Errorf("cluster: %v at %s: %w", p.Type(), Address(&c.target.Connector), err)
	}
	if err := c.conn.Write(ctx, core.ChannelCluster, p); err != nil {
		return fail(err)
	}
	select {
	case got := <-reply:
		if e, ok := got.(*core.Exception); ok {
			return fail(e.Err())
		}
		return got, nil
	case <-c.conn.Done():
		return fail(c.conn.Err())
	case <-ctx.Done():
		if !late {
			c.conn.Close() // what comes later would be taken for the answer to another request
		}
		return fail(context.Cause(ctx))
	}
}

// Authorize shows the cluster's credentials. Without it the node takes nothing else on the cluster channel.
func (c *Control) Authorize(ctx context.Context) error {
	p, err := c.ask(ctx, &core.ClusterConnect{User: c.o.User, Password: c.o.Password}, core.TypeClusterConnectReply, c.o.CallTimeout, false)
	if err != nil {
		return err
	}
	if !p.(*core.ClusterConnectReply).Authorized {
		return fmt.Errorf("cluster: %s, as user %s: %w", Address(&c.target.Connector), c.o.User, ErrUnauthorized)
	}
	return nil
}

// Announce tells the node of a member as its primary, or of this node as its backup.
func (c *Control) Announce(ctx context.Context, p *core.NodeAnnounce) error {
	return c.conn.Write(ctx, core.ChannelCluster, p)
}

// Vote asks the node's handler and returns its answer: what the handler alone understands.
func (c *Control) Vote(ctx context.Context, handler string, vote []byte) ([]byte, error) {
	ask := func(name string, limit time.Duration, late bool) ([]byte, error) {
		p, err := c.ask(ctx, &core.QuorumVote{Handler: name, Vote: vote}, core.TypeQuorumVoteReply, limit, late)
		if err != nil {
			return nil, err
		}
		return p.(*core.QuorumVote).Vote, nil
	}
	if v := c.conn.Version(); v > 0 && v < 136 && handler == PrimaryFailoverVote {
		for _, name := range []string{handler, OldPrimaryFailoverVote} {
			if reply, err := ask(name, voteFormerWait, true); err == nil {
				return reply, nil
			}
		}
	}
	return ask(handler, c.o.CallTimeout, false)
}

// RegisterBackup asks the active node to replicate to this one. It answers with the stream on the replication channel,
// whose handler has to be there before, or with a refusal: refused is given its problem (core.BackupProblem…) on the read
// goroutine.
func (c *Control) RegisterBackup(ctx context.Context, wantsFailBack bool, refused func(problem int32)) error {
	c.mu.Lock()
	c.refused = refused
	c.mu.Unlock()
	return c.conn.Write(ctx, core.ChannelCluster, &core.BackupRegistration{User: c.o.User, Password: c.o.Password, WantsFailBack: wantsFailBack, Connector: c.o.Own.Connector})
}

// null is a text that may be missing.
func null(s string) buf.Null[string] {
	if s == "" {
		return buf.Null[string]{}
	}
	return buf.Of(s)
}
