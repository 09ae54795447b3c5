package main

import (
	"context"
	"errors"
	"sync"

	"github.com/saranga-mq/saranga/cluster"
	"github.com/saranga-mq/saranga/ha"
	"github.com/saranga-mq/saranga/ha/replication/primary"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/server"
)

// Orders of an active node with replication.

// replicaChannel hands the frames of the replication channel to the sender of the replica that they come from.
type replicaChannel struct {
	mu     sync.Mutex
	peer   server.Peer
	sender *primary.Sender
}

func (c *replicaChannel) set(peer server.Peer, s *primary.Sender) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peer, c.sender = peer, s
}

func (c *replicaChannel) of(peer server.Peer) *primary.Sender {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.peer != peer {
		return nil
	}
	return c.sender
}

var errNoReplica = errors.New("frames on the replication channel of a connection that is not a replica's")

// HandleFrame implements server.ChannelHandler.
func (c *replicaChannel) HandleFrame(peer server.Peer, f core.Frame) error {
	s := c.of(peer)
	if s == nil {
		return errNoReplica
	}
	if err := s.HandleFrame(f); err != nil {
		return err
	}
	s.EndOfBatch()
	return nil
}

// Gone implements server.ChannelHandler.
func (c *replicaChannel) Gone(peer server.Peer) {
	if s := c.of(peer); s != nil {
		s.Gone(nil)
	}
}

// applicants is who asks to be the replica, one at a time, between its registration and the policy's decision.
type applicants struct {
	mu   sync.Mutex
	peer server.Peer
	asks *core.BackupRegistration
}

// register takes a registration; the policy decides.
func (p *pairNode) applied(peer server.Peer, r *core.BackupRegistration) error {
	p.applicants.mu.Lock()
	defer p.applicants.mu.Unlock()
	if p.applicants.peer != nil {
		return cluster.ErrAlreadyReplicating
	}
	copied := *r
	p.applicants.peer, p.applicants.asks = peer, &copied
	p.post(ha.BackupRegistered{WantsFailback: r.WantsFailBack})
	return nil
}

// applicant is the one that the policy decides about.
func (p *pairNode) applicant() (server.Peer, *core.BackupRegistration) {
	p.applicants.mu.Lock()
	defer p.applicants.mu.Unlock()
	peer, asks := p.applicants.peer, p.applicants.asks
	p.applicants.peer, p.applicants.asks = nil, nil
	return peer, asks
}

func (p *pairNode) refuseRegistration(problem ha.Problem) {
	peer, _ := p.applicant()
	p.log.Info("a backup was refused", "remote", peer.RemoteAddr(), "reason", problem)
	peer.Send(core.ChannelCluster, &core.BackupRegistrationFailed{Problem: int32(problem)})
}

// newPrimary makes the sending end of a node that becomes active.
func (p *pairNode) newPrimary(r ha.ReplicationPolicy) {
	p.replicaChannel = &replicaChannel{}
	p.primary = primary.New(primary.Options{
		Store: p.node.store, NodeID: p.nodeID, AllowFailBack: true, InitialSyncTimeout: r.InitialSyncTimeout,
		CallTimeout: p.callTimeout(), Log: p.log,
		ActivationSequence: func() int64 {
			p.replicaLife.post(ha.FilesSent{})
			if r.Manager == nil {
				return -1
			}
			return p.sequenceNow.Load()
		},
		OnSynchronised: func(*primary.Sender) { p.replicaLife.post(ha.ReplicaInSync{}) },
		OnLost: func(l primary.Lost) {
			if errors.Is(l.Reason, primary.ErrSyncTimeout) {
				p.replicaLife.post(ha.SyncTimedOut{ClusterSize: p.connection().Nodes().Largest()})
				return
			}
			p.replicaLife.post(ha.ReplicaLost{Orderly: false})
		},
	})
}

func (p *pairNode) startSync(allowsFailback bool) error {
	peer, asks := p.applicant()
	p.replicaLife = p.scope()
	p.replicaConnector = &asks.Connector
	peer.Outlive()
	s, err := p.primary.Register(replicaPeer{peer}, peer.Version(), allowsFailback)
	if err != nil {
		p.log.Warn("a backup was refused", "remote", peer.RemoteAddr(), "error", err)
		peer.Send(core.ChannelCluster, &core.BackupRegistrationFailed{Problem: primary.Problem(err)})
		p.replicaLife.post(ha.ReplicaLost{Orderly: true})
		return nil
	}
	p.replicaChannel.set(peer, s)
	p.replicaPeer = peer
	return nil
}

// announceReplica puts the replica into the topology and waits until it is shown there.
func (p *pairNode) announceReplica() error {
	c := p.connection()
	s := p.replicaLife
	own := cluster.Address(&c.Own().Connector)
	p.unwatchReplica = c.Nodes().Watch(backupShown{s, p.nodeID, own})
	return c.BackupSynchronized(p.replicaConnector)
}

type backupShown struct {
	*scope
	id, own string
}

func (b backupShown) NodeUp(m cluster.Member, _ bool) {
	switch {
	case m.NodeID != b.id:
	case m.Backup != nil && cluster.Address(m.Backup) != b.own:
		b.post(ha.BackupShown{})
	default:
		b.post(ha.BackupHidden{})
	}
}

func (b backupShown) NodeDown(string, int64) {}

var errReplicaDropped = errors.New("the replica was dropped")

// dropReplica ends what is left of the replica.
func (p *pairNode) dropReplica() {
	if p.unwatchReplica != nil {
		p.unwatchReplica()
		p.unwatchReplica = nil
	}
	if p.replicaLife != nil {
		p.replicaLife.ended = true // its sender tells of the end from its own goroutine
	}
	if p.replicaPeer != nil {
		p.replicaPeer.Close(errReplicaDropped)
		p.replicaPeer = nil
	}
}

func (p *pairNode) sendFailOver() {
	sender := p.primary
	p.replicaLife.do(func(context.Context) ha.Event {
		sender.FailOver()
		return ha.FailOverAnswered{}
	})
}
