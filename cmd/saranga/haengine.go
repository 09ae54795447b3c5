package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/saranga-mq/saranga/ha"
	"github.com/saranga-mq/saranga/ha/quorum"
)

// Orders about the data and the engine.

// load brings the engine up on the data that is there. Clients can't connect yet.
func (p *pairNode) load() error {
	if err := p.takeOver(); err != nil {
		return err
	}
	p.replica.Store(nil)
	p.leaveCluster()
	o := nodeOptions{nodeID: p.nodeID}
	r, replicates := p.policy.(ha.ReplicationPolicy)
	if replicates {
		if err := p.locks.Primary().TryLock(); err != nil {
			return fmt.Errorf("lock %s, which another broker uses: %w", p.dir, err)
		}
		if r.Manager != nil {
			o.live = func() bool { return p.deadline.Live(quorum.Now()) }
		}
	}
	n, err := openNode(p.in, p.logs, o)
	if err != nil {
		return err
	}
	p.node = n
	go p.watchNode(n)
	if p.cluster, err = p.deployCluster(); err != nil {
		return err
	}
	if replicates && p.cluster != nil {
		p.newPrimary(r)
		p.cluster.Node.HandleBackups(p.applied)
	}
	if p.cluster != nil {
		p.cluster.Node.HandleServerConnectVotes()
		if p.controller, err = p.startController(); err != nil {
			return err
		}
	}
	p.post(ha.Loaded{})
	return nil
}

// openAcceptors lets clients in.
func (p *pairNode) openAcceptors() error {
	n := p.node
	if p.cluster != nil {
		n.cluster, n.replication = p.cluster.Node, p.replicaChannel
	}
	if err := n.start(); err != nil {
		return err
	}
	p.log.Info("AMQ221020: acceptors are open", "ms", time.Since(p.begin).Milliseconds())
	return nil
}

func (p *pairNode) announceActive() error {
	if p.cluster == nil {
		return nil
	}
	return p.cluster.Activate(p.nodeID)
}

// stopServing ends the engine and closes the store. The replica hears of all that is still written. Critical: nothing is written, and
// the process ends without waiting for anybody.
func (p *pairNode) stopServing(critical bool) {
	p.deadline.End()
	defer p.post(ha.ServingStopped{})
	n := p.node
	if n == nil || critical {
		return
	}
	if p.primary != nil && p.machine.Status().Phase != "" && p.holdsAnswers() {
		p.primary.Abandon()
	}
	if err := n.stop(); err != nil {
		p.log.Error("the broker did not stop in good order", "error", err)
	}
	p.node = nil
	if p.locks != nil {
		if err := p.locks.Primary().Unlock(); err != nil {
			p.log.Warn("the primary lock could not be let go", "error", err)
		}
	}
	p.leaveCluster()
}

var errStoreFailed = errors.New("the node failed")
