package cluster

import (
	"errors"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/wire/core"
)

// A Watcher is told how a topology changes. Its methods are called one at a time, in the order of the changes, on a
// goroutine of the Nodes; all other watchers wait for it.
type Watcher interface {
	// NodeUp tells a member that is new or changed, and first each one there is; last marks the last of those, or the first
	// to come if there is none.
	NodeUp(m Member, last bool)
	NodeDown(nodeID string, uniqueEventID int64)
}

// Nodes is a Topology for several goroutines, with watchers. Its lock is held over nothing that waits.
type Nodes struct {
	log hclog.Logger
	now func() int64

	mu       sync.Mutex
	topology *Topology
	largest  int // most members ever seen
	watchers map[*watch]bool
	queue    []telling
	telling  bool // the goroutine runs
	closed   bool
	work     sync.WaitGroup
}

// A watch is a watcher's subscription.
type watch struct {
	w Watcher
	// empty: it was told no member yet, so the first one is the last of those there were. A client waits for that one.
	empty bool
}

// A telling was not told yet: a change, or the members there were when the only watcher in it came.
type telling struct {
	change  Change
	members []Member
	to      []*watch
}

func newNodes(own Own, now func() int64, log hclog.Logger) *Nodes {
	return &Nodes{log: log, now: now, topology: NewTopology(own), watchers: map[*watch]bool{}}
}

// Members returns all members in the order of their node ids.
func (n *Nodes) Members() []Member {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.topology.Members()
}

// Member returns what is known of a node.
func (n *Nodes) Member(nodeID string) (Member, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.topology.Member(nodeID)
}

// Largest is the most members there ever were: the cluster size of a vote without quorum-size.
func (n *Nodes) Largest() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.largest
}

// Watch has w told all members and then every change, until unwatch is called; a call may then still be under way.
func (n *Nodes) Watch(w Watcher) (unwatch func()) {
	s := &watch{w: w}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.watchers[s] = true
	members := n.topology.Members()
	s.empty = len(members) == 0
	if !s.empty {
		n.tell(telling{members: members, to: []*watch{s}})
	}
	return func() {
		n.mu.Lock()
		delete(n.watchers, s)
		n.mu.Unlock()
	}
}

// tell queues a telling. Called with the lock held.
func (n *Nodes) tell(t telling) {
	if n.closed {
		return
	}
	n.queue = append(n.queue, t)
	if !n.telling {
		n.telling = true
		n.work.Go(n.tellAll)
	}
}

// tellAll tells what is queued.
func (n *Nodes) tellAll() {
	for {
		n.mu.Lock()
		if len(n.queue) == 0 {
			n.telling = false
			n.queue = nil
			n.mu.Unlock()
			return
		}
		t := n.queue[0]
		n.queue = n.queue[1:]
		var live []*watch
		for _, s := range t.to {
			if n.watchers[s] {
				live = append(live, s)
			}
		}
		n.mu.Unlock()
		for _, s := range live {
			for i, m := range t.members {
				s.w.NodeUp(m, i == len(t.members)-1)
			}
			switch m := t.change.Member; t.change.Kind {
			case NodeUp:
				s.w.NodeUp(m, s.empty)
				s.empty = false
			case NodeDown:
				s.w.NodeDown(m.NodeID, m.UniqueEventID)
			}
		}
	}
}

// apply makes a change and tells it; a refusal is logged.
func (n *Nodes) apply(nodeID string, do func(t *Topology, now int64) (Change, error)) (Change, error) {
	now := n.now()
	n.mu.Lock()
	defer n.mu.Unlock()
	change, err := do(n.topology, now)
	n.largest = max(n.largest, n.topology.Len())
	switch {
	case errors.Is(err, ErrSplitBrain):
		n.log.Warn("AMQ222294: There is a possible split brain: the topology update is ignored", "node", nodeID, "error", err)
	case err != nil:
		n.log.Debug("a change of the topology was refused", "node", nodeID, "error", err)
	case change.Kind != NoChange:
		t := telling{change: change}
		for s := range n.watchers {
			t.to = append(t.to, s)
		}
		n.tell(t)
	}
	return change, err
}

// Update takes over what another node tells of a member.
func (n *Nodes) Update(m Member) error {
	_, err := n.apply(m.NodeID, func(t *Topology, _ int64) (Change, error) { return t.Update(m) })
	return err
}

// UpdateBackup sets the backup of a node.
func (n *Nodes) UpdateBackup(m Member) error {
	_, err := n.apply(m.NodeID, func(t *Topology, now int64) (Change, error) { return t.UpdateBackup(m, now) })
	return err
}

// updateAsPrimary makes the topology this node's and sets its own member.
func (n *Nodes) updateAsPrimary(own Own, m Member) Member {
	c, _ := n.apply(m.NodeID, func(t *Topology, now int64) (Change, error) {
		t.SetOwn(own)
		return t.UpdateAsPrimary(m, now), nil
	})
	return c.Member
}

// resend tells a member again under a new event id.
func (n *Nodes) resend(nodeID string) {
	n.apply(nodeID, func(t *Topology, now int64) (Change, error) { return t.Resend(nodeID, now), nil })
}

// Remove takes a node out because of an event that somebody tells.
func (n *Nodes) Remove(nodeID string, uniqueEventID int64) error {
	_, err := n.apply(nodeID, func(t *Topology, _ int64) (Change, error) { return t.Remove(nodeID, uniqueEventID) })
	return err
}

// lost takes a node out because this node's connection to it ended, whatever the clocks say.
func (n *Nodes) lost(nodeID string) error {
	_, err := n.apply(nodeID, func(t *Topology, now int64) (Change, error) {
		m, _ := t.Member(nodeID)
		return t.Remove(nodeID, max(now, m.UniqueEventID))
	})
	return err
}

// learn takes over a topology packet. It is called on a connection's read goroutine.
func (n *Nodes) learn(p *core.ClusterTopology) {
	m := memberOf(p, n.now())
	if !p.Exit {
		n.Update(m)
		return
	}
	if err := n.Remove(m.NodeID, m.UniqueEventID); errors.Is(err, ErrOwnNode) {
		n.log.Warn("AMQ222295: There is a possible split brain: another node says that this one is gone, which is ignored", "node", m.NodeID)
	}
}

// disconnected takes over that a node said it ends the connection.
func (n *Nodes) disconnected(p *core.Disconnect) {
	if !p.NodeID.Valid {
		return
	}
	if err := n.lost(p.NodeID.V); errors.Is(err, ErrOwnNode) {
		n.log.Info("AMQ224135: the node is closing: the topology update is ignored", "node", p.NodeID.V)
	}
}

// found puts a node back that this node reaches again after it was lost, whatever the clocks say.
func (n *Nodes) found(m Member) error {
	_, err := n.apply(m.NodeID, func(t *Topology, now int64) (Change, error) {
		m.UniqueEventID = max(now, t.removed[m.NodeID])
		return t.Update(m)
	})
	return err
}

// close has nobody told any more and waits until what is being told was.
func (n *Nodes) close() {
	n.mu.Lock()
	n.closed = true
	n.queue = nil
	n.mu.Unlock()
	n.work.Wait()
}
