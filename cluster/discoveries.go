package cluster

import (
	"cmp"
	"maps"
	"slices"

	"github.com/saranga-mq/saranga/wire/core"
)

// A Discovered node was heard of.
type Discovered struct {
	NodeID    string
	Connector core.TransportConfiguration // the last of its announcement
	HeardAt   int64                       // ms
}

// Discoveries is what a discovery group has heard. It is pure: time comes in as ms. It is not safe for concurrent use.
//
// Source: cluster §3.1; Artemis DiscoveryGroup.
type Discoveries struct {
	own     string // node id of this node, whose announcements are not for it
	refresh int64  // ms after which a node that was not heard again is forgotten
	nodes   map[string]Discovered
	unique  map[string]string // unique id by node id
}

// NewDiscoveries makes an empty one. own may be "": a passive node has no id that it announces. refresh is in ms.
func NewDiscoveries(own string, refresh int64) *Discoveries {
	return &Discoveries{own: own, refresh: refresh, nodes: map[string]Discovered{}, unique: map[string]string{}}
}

// Heard takes an announcement. changed: a node is new or some were forgotten; that a known node has another connector is
// told to nobody. twice: another instance has announced the same node id before. At most maxMembers nodes are kept.
func (d *Discoveries) Heard(a Announcement, now int64) (changed, twice bool) {
	if before, known := d.unique[a.NodeID]; known || len(d.unique) < maxMembers {
		twice = known && before != a.UniqueID
		d.unique[a.NodeID] = a.UniqueID
	}
	if a.NodeID != d.own && len(a.Connectors) > 0 {
		_, known := d.nodes[a.NodeID]
		if known || len(d.nodes) < maxMembers {
			d.nodes[a.NodeID] = Discovered{a.NodeID, a.Connectors[len(a.Connectors)-1], now}
			changed = !known
		}
	}
	// Expiry is looked at only when something comes.
	for id, n := range d.nodes {
		if n.HeardAt+d.refresh <= now {
			delete(d.nodes, id)
			changed = true
		}
	}
	return changed, twice
}

// Nodes returns what is known, in the order of the node ids.
func (d *Discoveries) Nodes() []Discovered {
	return slices.SortedFunc(maps.Values(d.nodes), func(a, b Discovered) int { return cmp.Compare(a.NodeID, b.NodeID) })
}
