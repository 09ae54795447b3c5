package ha

import (
	"slices"
	"time"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// A locator chooses the active node to replicate from, out of those the topology shows: any, those of a group, or the one
// with an expected id. A node that has a replica already is set aside until another node goes down or some time has
// passed.
//
// Source: spec ha §2.5; Artemis AnyNodeLocatorForReplication, NamedNodeLocatorForReplication.
type locator struct {
	group string        // "": any
	id    string        // "": any
	wait  time.Duration // retry-replication-wait

	untried, tried []string // node ids, in the order they came
	again          quorum.Instant
}

func (l *locator) up(n NodeUp) {
	if l.id != "" && n.NodeID != l.id || l.group != "" && n.Group != l.group {
		return
	}
	if !slices.Contains(l.untried, n.NodeID) {
		l.tried = without(l.tried, n.NodeID)
		l.untried = append(l.untried, n.NodeID)
	}
}

// down brings those set aside back: one of them may have lost its replica. The node itself stays a candidate, for the
// topology may be wrong; connecting tells.
func (l *locator) down() { l.untried, l.tried = append(l.untried, l.tried...), nil }

// next is the candidate to try, or how long to wait before those set aside count again.
func (l *locator) next(now quorum.Instant) (id string, wait time.Duration) {
	if len(l.untried) == 0 && len(l.tried) > 0 && now >= l.again {
		l.down()
	}
	if len(l.untried) > 0 {
		return l.untried[0], 0
	}
	if len(l.tried) > 0 {
		return "", l.again.Sub(now)
	}
	return "", l.wait
}

// setAside is for the candidate that has a replica.
func (l *locator) setAside(now quorum.Instant, id string) {
	if slices.Contains(l.untried, id) {
		l.untried, l.tried = without(l.untried, id), append(l.tried, id)
		l.again = now.Add(l.wait)
	}
}

// unreachable puts the candidate behind the others.
func (l *locator) unreachable(id string) {
	if slices.Contains(l.untried, id) {
		l.untried = append(without(l.untried, id), id)
	}
}

func without(list []string, id string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == id })
}
