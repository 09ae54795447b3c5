package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/cluster"
	"github.com/saranga-mq/saranga/ha"
	"github.com/saranga-mq/saranga/ha/replication/primary"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/server"
)

// Orders of an active node with replication.

// A registration is a node that asks to be the replica, and later is.
type registration struct {
	peer server.Peer
	asks core.BackupRegistration
}

// applicants is who asks to be the replica, one at a time, between its registration and the policy's decision.
type applicants struct {
	mu      sync.Mutex
	waiting *registration
}

// applied takes a registration, on a goroutine of the cluster's; the policy decides.
func (p *pairNode) applied(peer server.Peer, r *core.BackupRegistration) error {
	p.applicants.mu.Lock()
	defer p.applicants.mu.Unlock()
	if p.applicants.waiting != nil {
		return cluster.ErrAlreadyReplicating
	}
	p.applicants.waiting = &registration{peer, *r}
	p.post(ha.BackupRegistered{WantsFailback: r.WantsFailBack})
	return nil
}

// applicant is the one that the policy has decided about.
func (p *pairNode) applicant() *registration {
	p.applicants.mu.Lock()
	defer p.applicants.mu.Unlock()
	r := p.applicants.waiting
	p.applicants.waiting = nil
	return r
}

func (p *pairNode) refuseRegistration(problem ha.Problem) {
	r := p.applicant()
	if r == nil {
		return // it asked a node that has stopped since
	}
	p.log.Info("a backup was refused", "remote", r.peer.RemoteAddr(), "reason", problem.String())
	r.peer.Send(core.ChannelCluster, &core.BackupRegistrationFailed{Problem: int32(problem)})
}

// newPrimary makes the sending end of a node that becomes active.
func (p *pairNode) newPrimary(r ha.ReplicationPolicy) {
	p.primary = primary.New(primary.Options{
		Store: p.node.store, NodeID: p.nodeID, AllowFailBack: true, InitialSyncTimeout: r.InitialSyncTimeout,
		CallTimeout: p.callTimeout(), Log: p.log,
		ActivationSequence: func() int64 {
			p.replicaLife.Load().post(ha.FilesSent{})
			if r.Manager == nil {
				return -1
			}
			return p.sequenceNow.Load()
		},
		OnSynchronised: func(*primary.Sender) { p.replicaLife.Load().post(ha.ReplicaInSync{}) },
		OnLost:         p.replicaLost,
	})
	p.channel = primary.NewChannel(p.primary)
}

// callTimeout is that of the cluster-connection that the policy uses.
func (p *pairNode) callTimeout() time.Duration {
	name := p.connection().Name()
	for _, c := range p.in.Broker.ClusterConnections {
		if c.Name == name {
			return c.CallTimeout
		}
	}
	return 0
}

// replicaLost is called on a goroutine of the sender.
func (p *pairNode) replicaLost(l primary.Lost) {
	p.held.Store(l.Held)
	if l.Held && p.leaving.Load() {
		p.primary.Abandon()
	}
	life := p.replicaLife.Load()
	if l.Held && errors.Is(l.Reason, primary.ErrSyncTimeout) {
		life.post(ha.SyncTimedOut{ClusterSize: p.members.Load().Largest()})
		return
	}
	life.post(ha.ReplicaLost{})
}

func (p *pairNode) startSync(allowsFailback bool) {
	r := p.applicant()
	p.registered = r
	life := p.scope()
	p.replicaLife.Store(life)
	if r == nil { // it asked a node that has stopped since
		life.post(ha.ReplicaLost{Orderly: true})
		return
	}
	if _, err := p.channel.Register(r.peer, allowsFailback); err != nil {
		p.log.Warn("a backup was refused", "remote", r.peer.RemoteAddr(), "error", err)
		r.peer.Send(core.ChannelCluster, &core.BackupRegistrationFailed{Problem: primary.Problem(err)})
		life.post(ha.ReplicaLost{Orderly: true})
	}
}

// announceReplica puts the replica into the topology and waits until it is shown there.
func (p *pairNode) announceReplica() error {
	c := p.connection()
	p.unwatch = c.Nodes().Watch(backupShown{p.replicaLife.Load(), p.nodeID, p.ownAddress()})
	return c.BackupSynchronized(&p.registered.asks.Connector)
}

// backupShown watches the topology for another node that is shown as the backup of this one.
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

// dropReplica ends what is left of the replica. While the node is active its sender has ended by itself.
func (p *pairNode) dropReplica() {
	if p.unwatch != nil {
		p.unwatch()
		p.unwatch = nil
	}
	if p.leaving.Load() && p.primary != nil {
		if p.held.Load() {
			p.primary.Abandon()
		}
		p.primary.Close()
	}
	p.replicaLife.Load().close()
	p.registered = nil
}

func (p *pairNode) releaseAnswers() {
	p.held.Store(false)
	p.primary.Release()
}

func (p *pairNode) sendStopCalled() {
	if p.primary != nil {
		p.primary.StopCalled()
	}
}

func (p *pairNode) sendFailOver() {
	sending := p.primary
	p.replicaLife.Load().do(func(context.Context) ha.Event {
		if !sending.FailOver() {
			p.log.Warn("the replica has not answered that it becomes active")
		}
		return ha.FailOverAnswered{}
	})
}
