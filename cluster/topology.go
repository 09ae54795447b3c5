package cluster

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// Bounds of a topology, so that a peer that makes up nodes cannot fill the memory.
const (
	maxMembers = 1024 // node ids at once
	maxRemoved = 4096 // node ids whose removal is remembered; the one removed longest ago is forgotten first
)

// Why an update or a removal was refused.
var (
	ErrRemovedSince = errors.New("the node was removed by a later event")
	ErrSplitBrain   = errors.New("another connector claims to be this node's primary: possible split brain")
	ErrOwnNode      = errors.New("it is this node")
	ErrTooMany      = fmt.Errorf("the topology holds %d nodes, which is the most", maxMembers)
)

// A Member is a node of the cluster: a primary and its backup share the node id.
type Member struct {
	NodeID string
	// UniqueEventID orders what is told of a node: a time in ms, larger for what is newer.
	UniqueEventID      int64
	Primary, Backup    *core.TransportConfiguration // nil: not known; never changed
	BackupGroupName    buf.Null[string]
	ScaleDownGroupName buf.Null[string]
}

// String is the member as log lines show it.
func (m Member) String() string {
	text := func(t *core.TransportConfiguration) string {
		if t == nil {
			return "none"
		}
		return Address(t)
	}
	return fmt.Sprintf("%s (primary %s, backup %s)", m.NodeID, text(m.Primary), text(m.Backup))
}

// ChangeKind says what a Change is.
type ChangeKind uint8

// Kinds of Change.
const (
	NoChange ChangeKind = iota
	NodeUp              // the member is new or changed
	NodeDown            // the member is gone; it has NodeID and the UniqueEventID of the removal only
)

// A Change is what listeners have to be told.
type Change struct {
	Kind   ChangeKind
	Member Member
}

// Own is the node a topology belongs to. The zero value belongs to nobody: a controller's.
type Own struct {
	NodeID    string
	Connector *core.TransportConfiguration
	// SplitBrainDetection refuses updates of this node whose primary is not Connector.
	SplitBrainDetection bool
}

// A Topology is the nodes that are known and the rules by which they change. It is pure: time comes in as ms. It is not safe
// for concurrent use.
//
// Invariants: every member's NodeID is its key; an update or removal that came later than what is known never loses to it;
// an event id that this topology makes up is larger than every one it made up before and than the member's.
//
// Source: cluster §5.3; Artemis Topology and ClusterConnectionImpl (as TopologyManager).
type Topology struct {
	own     Own
	members map[string]Member
	removed map[string]int64 // event ids of removals
	events  EventIDs
}

// NewTopology makes an empty topology.
func NewTopology(own Own) *Topology {
	return &Topology{own: own, members: map[string]Member{}, removed: map[string]int64{}}
}

// SetOwn changes the node the topology belongs to: a passive node takes over the node id of another.
func (t *Topology) SetOwn(own Own) { t.own = own }

// EventIDs makes event ids that are never used twice, whatever the clock does. The zero value is ready for use.
type EventIDs struct{ last int64 }

// Next returns now or, if that is not larger than all before and after, the next larger one. All in ms.
func (e *EventIDs) Next(now, after int64) int64 {
	e.last = max(now, e.last+1, after+1)
	return e.last
}

// UpdateAsPrimary sets this node's own member, whatever is known of it. Its event id is made up.
func (t *Topology) UpdateAsPrimary(m Member, now int64) Change {
	m.UniqueEventID = t.events.Next(now, t.members[m.NodeID].UniqueEventID)
	return t.put(m)
}

// Resend makes up a new event id for a member, for it to be told again.
func (t *Topology) Resend(nodeID string, now int64) Change {
	m, ok := t.members[nodeID]
	if !ok {
		return Change{}
	}
	m.UniqueEventID = t.events.Next(now, m.UniqueEventID)
	return t.put(m)
}

// UpdateBackup sets the backup of m's node to m.Backup; of a node that is known nothing else. The event id is made up.
func (t *Topology) UpdateBackup(m Member, now int64) (Change, error) {
	current, known := t.members[m.NodeID]
	if !known {
		if err := t.room(); err != nil {
			return Change{}, err
		}
		current = m
	}
	current.Backup = m.Backup
	current.UniqueEventID = t.events.Next(now, current.UniqueEventID)
	return t.put(current), nil
}

// Update takes over what another node tells of a member. An event that is older than what is known changes nothing, but that
// a backup is filled in where none is known.
func (t *Topology) Update(m Member) (Change, error) {
	if at, ok := t.removed[m.NodeID]; ok && m.UniqueEventID != 0 && m.UniqueEventID < at {
		return Change{}, ErrRemovedSince
	}
	if t.own.SplitBrainDetection && t.own.NodeID == m.NodeID {
		if m.Primary == nil {
			m.Primary = t.own.Connector
		} else if !SameParams(m.Primary, t.own.Connector) {
			return Change{}, ErrSplitBrain
		}
	}
	current, known := t.members[m.NodeID]
	switch {
	case !known:
		if err := t.room(); err != nil {
			return Change{}, err
		}
		return t.put(m), nil
	case m.UniqueEventID > current.UniqueEventID || current.Primary == nil && m.Primary != nil:
		if m.Primary == nil {
			m.Primary = current.Primary
		}
		if m.Backup == nil {
			m.Backup = current.Backup
		}
		m.UniqueEventID = max(m.UniqueEventID, current.UniqueEventID)
		return t.put(m), nil
	case current.Backup == nil && m.Backup != nil:
		current.Backup = m.Backup
		t.members[m.NodeID] = current
	}
	return Change{}, nil
}

// Remove takes a node out, unless what is known of it is newer than the event.
func (t *Topology) Remove(nodeID string, uniqueEventID int64) (Change, error) {
	if t.own.NodeID != "" && nodeID == t.own.NodeID {
		return Change{}, ErrOwnNode
	}
	m, ok := t.members[nodeID]
	if !ok || m.UniqueEventID > uniqueEventID {
		return Change{}, nil
	}
	delete(t.members, nodeID)
	t.removed[nodeID] = uniqueEventID
	if len(t.removed) > maxRemoved {
		t.forget()
	}
	return Change{NodeDown, Member{NodeID: nodeID, UniqueEventID: uniqueEventID}}, nil
}

// forget drops the oldest removal.
func (t *Topology) forget() {
	oldest, at := "", int64(0)
	for id, event := range t.removed {
		if oldest == "" || event < at {
			oldest, at = id, event
		}
	}
	delete(t.removed, oldest)
}

func (t *Topology) room() error {
	if len(t.members) >= maxMembers {
		return ErrTooMany
	}
	return nil
}

func (t *Topology) put(m Member) Change {
	t.members[m.NodeID] = m
	return Change{NodeUp, m}
}

// Member returns what is known of a node.
func (t *Topology) Member(nodeID string) (Member, bool) {
	m, ok := t.members[nodeID]
	return m, ok
}

// Members returns all members in the order of their node ids.
func (t *Topology) Members() []Member {
	return slices.SortedFunc(maps.Values(t.members), func(a, b Member) int { return strings.Compare(a.NodeID, b.NodeID) })
}

// Len is the number of members: the cluster size of a vote.
func (t *Topology) Len() int { return len(t.members) }
