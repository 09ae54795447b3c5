package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/broker/management"
	"github.com/saranga-mq/saranga/cluster"
	"github.com/saranga-mq/saranga/ha"
	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/journal/fs"
)

// Orders about the data and the engine.

// A holding is a lock without a lease: a process that was frozen looks, before it answers, whether it still has it.
type holding struct {
	verify func(quorum.Instant) error
	lost   func()
	once   sync.Once
}

// live is broker.Options.Live, for any goroutine.
func (p *pairNode) live() bool {
	now := quorum.Now()
	if !p.deadline.Live(now) {
		return false
	}
	h := p.holding.Load()
	if h == nil || h.verify(now) == nil {
		return true
	}
	h.once.Do(h.lost)
	return false
}

// load brings the engine up on the data that is there. Clients can't connect yet.
func (p *pairNode) load() error {
	if err := p.servable(); err != nil {
		return err
	}
	p.replica.Store(nil)
	p.leaveCluster()
	p.leaving.Store(false)
	p.held.Store(false)
	p.applicant() // of an earlier life
	r, replicates := p.policy.(ha.ReplicationPolicy)
	if replicates {
		if err := p.locks.Primary().TryLock(); err != nil {
			return fmt.Errorf("lock %s, which another broker uses: %w", p.dir, err)
		}
	} else {
		p.nodeID = p.shared.NodeID()
	}
	o := nodeOptions{nodeID: p.nodeID, fail: func(err error) { p.post(ha.Failed{Err: err}) }, guarded: !p.alone(), manage: p.managed()}
	switch {
	case p.alone():
	case replicates && r.Manager != nil:
		o.live = p.live
	case replicates:
		p.deadline.Follow(ha.Unlimited{})
		o.live = p.live
	default:
		p.deadline.Follow(ha.Unlimited{})
		p.holding.Store(&holding{verify: p.shared.Verify, lost: func() { p.post(ha.LockLost{}) }})
		o.live, o.fs = p.live, p.shared.Guard(fs.OS{})
	}
	n, err := openNode(p.in, p.logs, o)
	if err != nil {
		return err
	}
	p.node = n
	if p.cluster, err = p.deployCluster(); err != nil {
		return err
	}
	if p.cluster != nil {
		p.members.Store(p.connection().Nodes())
		p.cluster.Node.HandleServerConnectVotes()
		if replicates {
			p.newPrimary(r)
			p.cluster.Node.HandleBackups(p.applied)
		}
		if replicates && r.Manager == nil && r.Voting.OnLoss {
			if p.controller, err = p.startController(); err != nil && !errors.Is(err, cluster.ErrNoTargets) {
				return err
			}
		}
	}
	p.post(ha.Loaded{})
	return nil
}

// openAcceptors lets clients in.
func (p *pairNode) openAcceptors() error {
	var nodes *cluster.Node
	if p.cluster != nil {
		nodes = p.cluster.Node
	}
	n := p.node
	var err error
	if p.channel != nil {
		err = n.start(nodes, p.channel)
	} else {
		err = n.start(nodes, nil)
	}
	if err != nil {
		n.stop()
		return err
	}
	p.log.Info(p.activeLine, "ms", time.Since(p.begin).Milliseconds())
	return nil
}

func (p *pairNode) announceActive() error {
	if p.cluster == nil {
		return nil
	}
	if !p.replicates() && !p.alone() {
		s := p.scope()
		p.clusterScope = s
		c := p.connection()
		p.unwatch = c.Nodes().Watch(backupShown{s, p.nodeID, p.ownAddress()})
	}
	return p.cluster.Activate(p.nodeID)
}

// stopServing ends the engine and closes the store. The replica hears of all that is still written. Critical: nothing is
// stopped, and the process ends without waiting for anybody.
func (p *pairNode) stopServing(critical bool) {
	p.deadline.End()
	p.leaving.Store(true)
	n := p.node
	if n == nil || critical {
		p.critical = critical && n != nil
		p.post(ha.ServingStopped{})
		return
	}
	if p.held.Load() { // or nobody would get an end
		p.primary.Abandon()
	}
	p.ending = p.scope()
	p.ending.do(func(context.Context) ha.Event {
		if err := n.stop(); err != nil {
			p.log.Error("the broker did not stop in good order", "error", err)
		}
		return ha.ServingStopped{}
	})
}

// closeStore ends what stopServing has left: connections, and the lock of the folder.
func (p *pairNode) closeStore() error {
	if p.critical {
		return nil
	}
	p.ending.close()
	p.ending = nil
	if n := p.node; n != nil && n.remoting != nil {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		n.hangUp(ended)
	}
	p.node, p.primary, p.channel = nil, nil, nil
	p.holding.Store(nil)
	p.leaveCluster()
	if p.locks != nil && p.locks.Primary().Held() {
		return p.locks.Primary().Unlock()
	}
	return nil
}

// managed is what management shows of the pair.
func (p *pairNode) managed() management.Node {
	m := management.Node{
		HAPolicy:    p.policy.Name,
		Backup:      func() bool { return p.status.Load().Backup },
		ReplicaSync: func() bool { return p.status.Load().ReplicaSync },
		Topology:    p.topology,
	}
	if p.replicates() {
		m.ActivationSequence = func() int64 { return p.status.Load().Sequence }
	}
	if !p.alone() {
		m.ForceFailover = func() error {
			p.post(ha.StopAsked{Failover: true})
			return nil
		}
	}
	return m
}

// topology is the members that are known, for any goroutine.
func (p *pairNode) topology() []management.TopologyMember {
	nodes := p.members.Load()
	if nodes == nil {
		return nil
	}
	var list []management.TopologyMember
	for _, m := range nodes.Members() {
		t := management.TopologyMember{NodeID: m.NodeID}
		if m.Primary != nil {
			t.Primary = cluster.Address(m.Primary)
		}
		if m.Backup != nil {
			t.Backup = cluster.Address(m.Backup)
		}
		list = append(list, t)
	}
	return list
}
