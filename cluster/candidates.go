package cluster

import (
	"slices"

	"github.com/saranga-mq/saranga/wire/core"
)

// Which says which active nodes a passive one may replicate from.
type Which struct {
	// NodeID, if not "", is the only one: a node that fails back looks for its own id.
	NodeID string
	// GroupName, if not "", is the backup group name that it must have.
	GroupName string
	// NotHosted names node ids whose backup must not be here: those of this process (colocated).
	NotHosted []string
}

// A Candidate is a node to try: its primary's connector, then its backup's.
type Candidate struct {
	NodeID     string
	Connectors []*core.TransportConfiguration // none: the node is known and not how to reach it
}

// Candidates chooses the active node that a passive one registers with. A candidate that refused is put aside and comes
// back when the topology tells of it again, when all others were tried and RetryReplicationWait has passed, and, if any
// node will do, when some node goes down. It is pure: time comes in as ms. It is not safe for concurrent use.
//
// Source: ha §2.5; Artemis AnyNodeLocatorForReplication, NamedNodeLocatorForReplication, NamedNodeIdLocatorForReplication.
type Candidates struct {
	which     Which
	retryWait int64

	untried, tried []Member // in the order in which they were told; a node is in one of them
	waits          bool     // since
	since          int64    // when there was nothing to try
}

// NewCandidates makes a chooser. retryReplicationWait is in ms.
func NewCandidates(which Which, retryReplicationWait int64) *Candidates {
	return &Candidates{which: which, retryWait: retryReplicationWait}
}

// NodeUp takes a member of the topology.
func (c *Candidates) NodeUp(m Member) {
	switch {
	case slices.Contains(c.which.NotHosted, m.NodeID):
		return
	case c.which.NodeID != "":
		if m.NodeID != c.which.NodeID || m.Primary == nil {
			return
		}
	case c.which.GroupName != "":
		if !m.BackupGroupName.Valid || m.BackupGroupName.V != c.which.GroupName || m.Primary == nil {
			return
		}
	}
	same := func(x Member) bool { return x.NodeID == m.NodeID }
	c.tried = slices.DeleteFunc(c.tried, same)
	if i := slices.IndexFunc(c.untried, same); i >= 0 {
		c.untried[i] = m
		return
	}
	c.untried = append(c.untried, m)
}

// NodeDown tells that a node left. What it backed may now have room for this one.
func (c *Candidates) NodeDown() {
	if c.which.NodeID == "" && c.which.GroupName == "" {
		c.again()
	}
}

func (c *Candidates) again() {
	c.untried = append(c.untried, c.tried...)
	c.tried = nil
}

// Next returns the candidate to try, the same one until Refused. Without one, ok is false and wait tells in how many ms to
// ask again; an earlier NodeUp or NodeDown is a reason to ask at once.
func (c *Candidates) Next(now int64) (found Candidate, ok bool, wait int64) {
	if len(c.untried) == 0 {
		if !c.waits {
			c.waits, c.since = true, now
		}
		if left := c.since + c.retryWait - now; left > 0 {
			return Candidate{}, false, left
		}
		c.since = now
		c.again()
		if len(c.untried) == 0 {
			return Candidate{}, false, c.retryWait
		}
	}
	c.waits = false
	m := c.untried[0]
	found.NodeID = m.NodeID
	for _, t := range []*core.TransportConfiguration{m.Primary, m.Backup} {
		if t != nil {
			found.Connectors = append(found.Connectors, t)
		}
	}
	return found, true, 0
}

// Refused puts a candidate aside: it replicates already, or could not be reached.
func (c *Candidates) Refused(nodeID string) {
	i := slices.IndexFunc(c.untried, func(m Member) bool { return m.NodeID == nodeID })
	if i < 0 {
		return
	}
	c.tried = append(c.tried, c.untried[i])
	c.untried = slices.Delete(c.untried, i, i+1)
}
