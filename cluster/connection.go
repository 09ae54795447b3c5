package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/wire/core"
)

// A Connection is a cluster connection of an active node, or of one that becomes active: its topology, its main connection
// to the cluster and one connection to each other primary.
//
// Before Activate it does nothing by itself; the topology can already be watched.
//
// Source: cluster §1, §5; Artemis ClusterConnectionImpl, without bridges.
type Connection struct {
	o       Options
	nodes   *Nodes
	locator *Locator

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu       sync.Mutex
	nodeID   string // "": not active
	stopped  bool
	unwatch  func()
	links    map[string]string // by node id of another primary that has a goroutine: where it is connected, "" for not now
	warned   bool              // that messages do not move
	credible bool              // the last authorization succeeded: the next failure is logged
}

// NewConnection makes a cluster connection. d is nil for static connectors; it outlives the connection.
func NewConnection(o Options, d *Discovery) *Connection {
	o = o.withDefaults()
	c := &Connection{o: o, locator: NewLocator(o, d), links: map[string]string{}, credible: true}
	c.nodes = newNodes(Own{}, o.Now, o.Log)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Name is the name of the cluster connection.
func (c *Connection) Name() string { return c.o.Name }

// Nodes is its topology.
func (c *Connection) Nodes() *Nodes { return c.nodes }

// Own is the connector that this node advertises.
func (c *Connection) Own() Target { return c.o.Own }

func (c *Connection) own(nodeID string) Own {
	return Own{NodeID: nodeID, Connector: &c.o.Own.Connector, SplitBrainDetection: c.o.SplitBrainDetection}
}

// Activate makes this node the primary of nodeID: it is put into the topology, told again a few times, and made known to
// the cluster. It returns at once. A second call does nothing.
func (c *Connection) Activate(nodeID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped || c.nodeID != "" {
		return
	}
	c.nodeID = nodeID
	c.nodes.updateAsPrimary(c.own(nodeID), Member{NodeID: nodeID, Primary: &c.o.Own.Connector, BackupGroupName: null(c.o.BackupGroupName), ScaleDownGroupName: null(c.o.ScaleDownGroupName)})
	if c.o.NotificationAttempts > 0 {
		c.work.Go(c.notify)
	}
	if c.locator.Connectable() {
		c.unwatch = c.nodes.Watch(c)
		c.work.Go(c.main)
	}
}

// InformOfBackup puts this node into its own topology as the backup of nodeID: a backup on a shared store does before it
// announces itself.
func (c *Connection) InformOfBackup(nodeID string) {
	c.nodes.updateAsPrimary(c.own(nodeID), Member{NodeID: nodeID, Backup: &c.o.Own.Connector})
}

// Announced takes over a NODE_ANNOUNCE. A primary also calls it for its replica when that is in sync.
func (c *Connection) Announced(p *core.NodeAnnounce) error {
	if p.Backup {
		return c.nodes.UpdateBackup(announced(p))
	}
	return c.nodes.Update(announced(p))
}

// BackupSynchronized tells the cluster that a replica at that connector is in sync with this node (ha §2.4, step 6).
func (c *Connection) BackupSynchronized(connector *core.TransportConfiguration) error {
	c.mu.Lock()
	nodeID := c.nodeID
	c.mu.Unlock()
	if nodeID == "" {
		return errors.New("cluster: a node that is not active has no backup")
	}
	return c.nodes.UpdateBackup(Member{NodeID: nodeID, Backup: connector, BackupGroupName: null(c.o.BackupGroupName), ScaleDownGroupName: null(c.o.ScaleDownGroupName)})
}

// Stop ends all connections and waits for them. Peers are not told: the acceptors' disconnect does that.
func (c *Connection) Stop() {
	c.mu.Lock()
	c.stopped = true
	if c.unwatch != nil {
		c.unwatch()
	}
	c.mu.Unlock()
	c.cancel()
	c.nodes.close() // it may be starting a link
	c.work.Wait()
}

// notify tells this node again, so that what crossed on the way is put right.
func (c *Connection) notify() {
	for range c.o.NotificationAttempts {
		if !c.pause(c.o.NotificationInterval) {
			return
		}
		c.nodes.resend(c.nodeID)
	}
}

// pause waits; false when the connection is stopped.
func (c *Connection) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// main keeps the main connection: to one node, which tells of all others.
func (c *Connection) main() {
	backoff := c.o.backoff()
	for c.ctx.Err() == nil {
		ctl, err := c.locator.Connect(c.ctx, ControlOptions{ClusterConnection: true, OnTopology: c.nodes.learn, OnDisconnect: c.nodes.disconnected})
		if err != nil {
			return // only when stopped
		}
		c.introduce(ctl)
		select {
		case <-ctl.Done():
		case <-c.ctx.Done():
		}
		ctl.Close()
		if !c.pause(backoff.Next()) {
			return
		}
	}
}

// introduce shows the credentials and announces this node. Whoever does not take them is still listened to.
func (c *Connection) introduce(ctl *Control) bool {
	m, ok := c.nodes.Member(c.nodeID)
	if !ok {
		return false
	}
	err := ctl.Authorize(c.ctx)
	if err == nil {
		err = ctl.Announce(c.ctx, &core.NodeAnnounce{NodeID: m.NodeID, BackupGroupName: null(c.o.BackupGroupName), CurrentEventID: m.UniqueEventID,
			Connector: m.Primary, BackupConnector: m.Backup, ScaleDownGroupName: null(c.o.ScaleDownGroupName)})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && c.credible && c.ctx.Err() == nil {
		c.o.Log.Warn("AMQ222186: unable to authorise cluster control", "cluster_connection", c.o.Name, "error", err)
	}
	c.credible = err == nil
	return err == nil
}

// NodeUp implements Watcher: another primary gets a connection of its own.
func (c *Connection) NodeUp(m Member, _ bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, has := c.links[m.NodeID]
	if has || m.NodeID == c.nodeID || m.Primary == nil || c.stopped || c.o.AllowDirectOnly && !c.configured(m.Primary) {
		return
	}
	if !c.warned {
		c.warned = true
		c.o.Log.Warn("the cluster has another primary: messages do not move between the nodes, whatever message-load-balancing says", "cluster_connection", c.o.Name, "node", m.String())
	}
	c.links[m.NodeID] = ""
	c.work.Go(func() { c.link(m.NodeID, m.Primary) })
}

// NodeDown implements Watcher. A connection notices its end by itself.
func (c *Connection) NodeDown(string, int64) {}

func (c *Connection) configured(t *core.TransportConfiguration) bool {
	for _, s := range c.o.Static {
		if SameParams(&s.Connector, t) {
			return true
		}
	}
	return false
}

// link keeps a connection to another primary. When it ends, the node is taken out of the topology. If the node did not say
// that it ends it, it is tried again, and put back when it answers.
func (c *Connection) link(nodeID string, primary *core.TransportConfiguration) {
	defer c.unlink(nodeID)
	backoff := c.o.backoff()
	was := false // it was connected
	for failures := 0; ; {
		if m, ok := c.nodes.Member(nodeID); ok && m.Primary != nil {
			primary = m.Primary
		}
		ctl, err := c.dial(primary)
		switch {
		case err == nil:
			failures = 0
			backoff.Reset()
			if was {
				c.nodes.found(Member{NodeID: nodeID, Primary: primary})
			}
			was = true
			c.linked(nodeID, Address(primary))
			c.introduce(ctl)
			select {
			case <-ctl.Done():
			case <-c.ctx.Done():
				ctl.Close()
				return
			}
			c.linked(nodeID, "")
			said := ctl.Disconnected()
			ctl.Close()
			if err := c.nodes.lost(nodeID); err != nil && !errors.Is(err, ErrOwnNode) {
				c.o.Log.Debug("a node that was lost stays in the topology", "node", nodeID, "error", err)
			}
			if said != nil {
				return // it comes back when somebody tells of it
			}
		case c.ctx.Err() != nil:
			return
		default:
			if failures == 0 {
				c.o.Log.Warn("another primary cannot be reached", "node", nodeID, "error", err)
			}
			if failures++; c.o.ReconnectAttempts >= 0 && failures > c.o.ReconnectAttempts && was {
				c.o.Log.Warn("another primary is not tried any more", "node", nodeID, "attempts", failures, "error", err)
				c.nodes.lost(nodeID) // until somebody tells of it again
				return
			}
		}
		if !c.pause(backoff.Next()) {
			return
		}
	}
}

// unlink ends a link. The node may have come back while its end was not noticed here yet.
func (c *Connection) unlink(nodeID string) {
	c.mu.Lock()
	delete(c.links, nodeID)
	c.mu.Unlock()
	if m, ok := c.nodes.Member(nodeID); ok {
		c.NodeUp(m, false)
	}
}

func (c *Connection) linked(nodeID, address string) {
	c.mu.Lock()
	c.links[nodeID] = address
	c.mu.Unlock()
}

// Linked returns the other primaries that this node is connected to, by node id, with their addresses.
func (c *Connection) Linked() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	linked := map[string]string{}
	for id, address := range c.links {
		if address != "" {
			linked[id] = address
		}
	}
	return linked
}

func (c *Connection) dial(primary *core.TransportConfiguration) (*Control, error) {
	t, err := c.o.target(primary)
	if err != nil {
		return nil, err
	}
	return Connect(c.ctx, c.o, t, ControlOptions{ClusterConnection: true, OnTopology: c.nodes.learn, OnDisconnect: c.nodes.disconnected})
}
