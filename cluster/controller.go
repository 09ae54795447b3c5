package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/wire/core"
)

// A Controller listens to the cluster through one connection that it makes again whenever it ends: how a passive node learns
// whom it can replicate from, and any node whom to ask for votes. It has a topology of its own, which keeps what it knows
// while there is no connection.
//
// Source: ha §2.1 connection 1, §2.9; Artemis ClusterController and QuorumManager.
type Controller struct {
	o       Options
	nodes   *Nodes
	locator *Locator

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	once      sync.Once
	connected chan struct{} // closed with the first connection
}

// NewController makes a controller. d is nil for static connectors; it outlives the controller.
func NewController(o Options, d *Discovery) *Controller {
	o = o.withDefaults()
	c := &Controller{o: o, locator: NewLocator(o, d), connected: make(chan struct{})}
	c.nodes = newNodes(Own{}, o.Now, o.Log)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Nodes is the topology as the cluster tells it.
func (c *Controller) Nodes() *Nodes { return c.nodes }

// Connected is closed when the cluster was reached for the first time.
func (c *Controller) Connected() <-chan struct{} { return c.connected }

// Start begins to connect. Without anything to connect to it is ErrNoTargets.
func (c *Controller) Start() error {
	if !c.locator.Connectable() {
		return ErrNoTargets
	}
	c.work.Go(c.run)
	return nil
}

// Stop ends the connection and waits.
func (c *Controller) Stop() {
	c.cancel()
	c.work.Wait()
	c.nodes.close()
}

func (c *Controller) run() {
	backoff := c.o.backoff()
	for {
		ctl, err := c.locator.Connect(c.ctx, ControlOptions{OnTopology: c.nodes.learn, OnDisconnect: c.nodes.disconnected})
		if err != nil {
			return // only when stopped
		}
		c.once.Do(func() { close(c.connected) })
		select {
		case <-ctl.Done():
		case <-c.ctx.Done():
		}
		ctl.Close()
		timer := time.NewTimer(backoff.Next())
		select {
		case <-timer.C:
		case <-c.ctx.Done():
			timer.Stop()
			return
		}
	}
}

// A Candidate is a node to try: its primary's connector, then its backup's.
type Candidate struct {
	NodeID     string
	Connectors []*core.TransportConfiguration // none: the node is known and not how to reach it
}

// Candidate is the member as a node to connect to.
func (m Member) Candidate() Candidate {
	c := Candidate{NodeID: m.NodeID}
	for _, connector := range []*core.TransportConfiguration{m.Primary, m.Backup} {
		if connector != nil {
			c.Connectors = append(c.Connectors, connector)
		}
	}
	return c
}

// ConnectTo connects to a candidate at the first of its connectors that takes the connection, and shows the credentials.
func (c *Controller) ConnectTo(ctx context.Context, candidate Candidate, co ControlOptions) (*Control, error) {
	var errs []error
	for _, connector := range candidate.Connectors {
		t, err := c.o.target(connector)
		var ctl *Control
		if err == nil {
			ctl, err = Connect(ctx, c.o, t, co)
		}
		if err == nil {
			if err = ctl.Authorize(ctx); err == nil {
				return ctl, nil
			}
			ctl.Close()
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return nil, errors.New("cluster: it is not known how to reach node " + candidate.NodeID)
	}
	return nil, errors.Join(errs...)
}

// VoteSize is the cluster size of a vote: quorumSize, or for -1 the most members seen.
func (c *Controller) VoteSize(quorumSize int) int {
	if quorumSize >= 0 {
		return quorumSize
	}
	return c.nodes.Largest()
}

// Vote asks every member but own (a node id) and counts its answers until the ballot is closed, all have answered or ctx
// ends; then it is closed. A node that cannot be reached adds no positive answer. A cluster that never had more than one
// member is not waited for.
func (c *Controller) Vote(ctx context.Context, own string, b *Ballot) {
	defer b.Close()
	if b.Closed() {
		c.o.Log.Info("AMQ221083: no votes are needed", "largest_cluster_size", c.nodes.Largest())
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	var asked sync.WaitGroup
	defer asked.Wait()
	defer cancel() // those still asked when the decision is clear
	answers := make(chan core.ServerConnectVote)
	question := b.Question()
	asking := 0
	for _, m := range c.nodes.Members() {
		if m.NodeID == own || m.Primary == nil {
			continue
		}
		asking++
		asked.Go(func() {
			v, err := c.ask(ctx, m, question)
			if err != nil {
				c.o.Log.Info("a node gave no vote", "node", m.String(), "error", err)
			}
			select {
			case answers <- v:
			case <-ctx.Done():
			}
		})
	}
	c.o.Log.Info("AMQ221084: Requested quorum votes", "votes", asking, "about", question.NodeID)
	for ; asking > 0 && !b.Closed(); asking-- {
		select {
		case v := <-answers:
			if elsewhere := b.Answer(v); elsewhere != "" {
				c.o.Log.Info("AMQ224098: Received a vote saying the backup is active", "connector", elsewhere)
			}
		case <-ctx.Done():
			return
		}
	}
}

// ask asks one node. The zero vote, which is not a positive one, comes with an error.
func (c *Controller) ask(ctx context.Context, m Member, question core.ServerConnectVote) (v core.ServerConnectVote, err error) {
	ctl, err := c.ConnectTo(ctx, Candidate{NodeID: m.NodeID, Connectors: []*core.TransportConfiguration{m.Primary}}, ControlOptions{})
	if err != nil {
		return v, err
	}
	defer ctl.Close()
	reply, err := ctl.Vote(ctx, PrimaryFailoverVote, question.Append(nil))
	if err != nil {
		return v, err
	}
	if err := v.Decode(reply); err != nil {
		return core.ServerConnectVote{}, err
	}
	return v, nil
}
