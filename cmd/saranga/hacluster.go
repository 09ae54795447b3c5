package main

import (
	"context"
	"errors"
	"time"

	"github.com/saranga-mq/saranga/cluster"
	"github.com/saranga-mq/saranga/ha"
	"github.com/saranga-mq/saranga/wire/core"
)

// Orders about the cluster: who is there, and what they vote.

// deployCluster makes the cluster connections. Without any it is nil.
func (p *pairNode) deployCluster() (*cluster.Deployment, error) {
	o := cluster.DeployOptions{Log: p.log}
	if r, ok := p.policy.(ha.ReplicationPolicy); ok {
		o.BackupGroupName = r.GroupName
	}
	if n := p.node; n != nil { // a passive node listens to its own id, too: another node may have it
		o.NodeID, o.Login, o.SplitBrainDetection = p.nodeID, n.login, p.replicates()
	}
	return cluster.Deploy(p.in.Broker, o)
}

// connection is the cluster connection that the policy uses. There is a cluster.
func (p *pairNode) connection() *cluster.Connection {
	name := ""
	if r, ok := p.policy.(ha.ReplicationPolicy); ok {
		name = r.ClusterName
	}
	return p.cluster.Connection(name)
}

// ownAddress is how others reach this node.
func (p *pairNode) ownAddress() string {
	own := p.connection().Own().Connector
	return cluster.Address(&own)
}

var errNoCluster = errors.New("the HA policy needs a cluster-connection that can be used")

// startController listens to the cluster.
func (p *pairNode) startController() (*cluster.Controller, error) {
	c := p.cluster.NewController(p.connection())
	return c, c.Start()
}

// joinCluster waits for the cluster, unless the node waits for a lock: then the cluster need not be there.
func (p *pairNode) joinCluster() error {
	p.leaveCluster()
	d, err := p.deployCluster()
	if err != nil {
		return err
	}
	p.cluster = d
	if !p.replicates() {
		p.post(ha.ClusterJoined{})
		return nil
	}
	if d == nil {
		return errNoCluster
	}
	if p.controller, err = p.startController(); err != nil {
		return err
	}
	s, c := p.scope(), p.controller
	p.clusterScope = s
	s.do(func(ctx context.Context) ha.Event {
		select {
		case <-c.Connected():
			return ha.ClusterJoined{}
		case <-ctx.Done():
			return nil
		}
	})
	c.Nodes().Watch(topologyFacts{s})
	return nil
}

// topologyFacts hands on what the topology shows.
type topologyFacts struct{ *scope }

func (t topologyFacts) NodeUp(m cluster.Member, _ bool) {
	t.post(ha.NodeUp{NodeID: m.NodeID, Group: m.BackupGroupName.V})
}

func (t topologyFacts) NodeDown(nodeID string, _ int64) { t.post(ha.NodeDown{NodeID: nodeID}) }

func (p *pairNode) leaveCluster() {
	if p.unwatch != nil {
		p.unwatch()
		p.unwatch = nil
	}
	p.stopAnnouncing()
	if p.controller != nil {
		p.controller.Stop()
		p.controller = nil
	}
	p.clusterScope.close()
	p.clusterScope = nil
	p.members.Store(nil)
	if p.cluster != nil {
		p.cluster.Stop()
		p.cluster = nil
	}
}

func (p *pairNode) stopAnnouncing() {
	if p.announcer != nil {
		p.announcer.Stop()
		p.announcer = nil
	}
}

// announceBackup announces this node as the backup of the one that it replicates, or of the one whose lock it waits for.
func (p *pairNode) announceBackup() (err error) {
	if p.cluster == nil {
		p.log.Warn("without a cluster-connection clients do not learn of this backup")
		return nil
	}
	c, id := p.connection(), p.nodeID
	if e := p.replica.Load(); e != nil {
		id = e.Status().NodeID
	}
	if p.shared != nil {
		id = p.shared.NodeID()
		c.InformOfBackup(id)
	}
	p.stopAnnouncing()
	if p.announcer, err = p.cluster.AnnounceBackup(c, id); errors.Is(err, cluster.ErrNoTargets) {
		p.log.Warn("the cluster-connection has nothing to connect to: clients do not learn of this backup")
		return nil
	}
	return err
}

// lookForActive looks in the cluster for a node with our id that takes connections.
func (p *pairNode) lookForActive(wait time.Duration) error {
	p.leaveCluster()
	d, err := p.deployCluster()
	if err != nil {
		return err
	}
	if d == nil {
		p.post(ha.ActiveFound{})
		return nil
	}
	p.cluster = d
	c, err := p.startController()
	p.controller = c
	if errors.Is(err, cluster.ErrNoTargets) {
		p.post(ha.ActiveFound{})
		return nil
	}
	if err != nil {
		return err
	}
	id := p.nodeID
	p.waiting.do(func(ctx context.Context) ha.Event {
		found := p.living(ctx, c, id, wait)
		if ctx.Err() != nil {
			return nil
		}
		return ha.ActiveFound{Found: found}
	})
	return nil
}

// living tells whether the node shows up in the topology in time and takes a connection with the cluster's credentials.
func (p *pairNode) living(ctx context.Context, c *cluster.Controller, id string, wait time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	up := make(chan cluster.Member, 1)
	unwatch := c.Nodes().Watch(memberUp{id, up})
	defer unwatch()
	for {
		select {
		case <-ctx.Done():
			return false
		case m := <-up:
			ctl, err := c.ConnectTo(ctx, cluster.Candidate{NodeID: id, Connectors: []*core.TransportConfiguration{m.Primary}}, cluster.ControlOptions{})
			if err == nil {
				ctl.Close()
				return true
			}
			p.log.Info("the topology shows a node with our id that cannot be reached", "node", m.String(), "error", err)
		}
	}
}

// memberUp hands on the newest of one member that is active.
type memberUp struct {
	id string
	to chan cluster.Member
}

func (w memberUp) NodeUp(m cluster.Member, _ bool) {
	if m.NodeID != w.id || m.Primary == nil {
		return
	}
	select {
	case <-w.to:
	default:
	}
	w.to <- m
}

func (w memberUp) NodeDown(string, int64) {}

// vote asks the other members. An active node is known by its connector.
func (p *pairNode) vote(a ha.Vote) {
	c, own, id := p.controller, p.connection().Own().Connector, p.nodeID
	if e := p.replica.Load(); e != nil && !a.StayActive {
		id = e.Status().NodeID
	}
	if c == nil { // nobody to ask
		p.post(ha.VoteDone{Positive: cluster.StayBallot(id, &own, max(a.Size, 0)).Positive()})
		return
	}
	p.waiting.do(func(ctx context.Context) ha.Event {
		b := cluster.GoneBallot(id, c.VoteSize(a.Size))
		if a.StayActive {
			b = cluster.StayBallot(id, &own, c.VoteSize(a.Size))
		}
		voting, cancel := context.WithTimeout(ctx, a.Wait)
		defer cancel()
		c.Vote(voting, id, b)
		if ctx.Err() != nil {
			return nil
		}
		return ha.VoteDone{Positive: b.Positive()}
	})
}

func (p *pairNode) checkNetwork() {
	p.waiting.do(func(ctx context.Context) ha.Event {
		checker := p.network()
		checked := ha.NetworkChecked{Configured: !checker.Empty()}
		checked.Healthy = checked.Configured && checker.Healthy(ctx)
		if ctx.Err() != nil {
			return nil
		}
		return checked
	})
}
