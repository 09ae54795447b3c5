package replica

import (
	"fmt"
	"slices"
	"sync"
)

// Status is how a replica is.
type Status struct {
	NodeID   string // of the active node; empty before it began
	UpToDate bool   // the synchronisation has ended
	Sequence int64  // activation sequence told then; -1 without

	Copied, Files int   // journal files and bodies whose end was told, of those announced; a body may end without a word
	Packets       int64 // handled
	Bytes         int64 // of frames

	// Paging are the addresses with a message in a page, in order: as long as there are any, Activate may refuse.
	Paging []string
	// Broken is why the endpoint takes nothing more, if that is not the end of the connection: a failure of the disk, or
	// a packet that it refuses. The active node may have gone on without this node since.
	Broken error
	Closed bool
}

// statusCell is what Status tells, under a lock of its own, so that the owner may ask while it is called.
type statusCell struct {
	mu sync.Mutex
	s  Status
}

// Status tells how the replica is.
func (e *Endpoint) Status() Status {
	e.status.mu.Lock()
	defer e.status.mu.Unlock()
	s := e.status.s
	s.Paging = slices.Clone(s.Paging)
	s.Packets, s.Bytes = e.packets.Load(), e.bytes.Load()
	return s
}

func (c *statusCell) change(f func(*Status)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.s)
}

func (c *statusCell) begin(nodeID string, files int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if nodeID == "" || len(nodeID) > 256 {
		return fmt.Errorf("node id %.100q", nodeID)
	}
	if c.s.NodeID != "" && c.s.NodeID != nodeID {
		return fmt.Errorf("%w: node id %.100q, and %s before", ErrOrder, nodeID, c.s.NodeID)
	}
	c.s.NodeID, c.s.Sequence = nodeID, -1
	c.s.Files += files
	return nil
}

func (c *statusCell) sameNode(nodeID string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.s.NodeID != nodeID {
		return fmt.Errorf("%w: node id %.100q at the finish, and %s before", ErrOrder, nodeID, c.s.NodeID)
	}
	return nil
}

func (c *statusCell) upToDate() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.s.UpToDate
}

func (c *statusCell) expect(files int) { c.change(func(s *Status) { s.Files += files }) }
func (c *statusCell) copied()          { c.change(func(s *Status) { s.Copied++ }) }
func (c *statusCell) finish(sequence int64) {
	c.change(func(s *Status) { s.UpToDate, s.Sequence, s.Copied = true, sequence, s.Files })
}
func (c *statusCell) paging(addresses []string) { c.change(func(s *Status) { s.Paging = addresses }) }
func (c *statusCell) close()                    { c.change(func(s *Status) { s.Closed = true }) }

// fail remembers the first failure, unless the end was asked for.
func (c *statusCell) fail(err error) {
	c.change(func(s *Status) {
		if s.Broken == nil && !s.Closed && !ended(err) {
			s.Broken = err
		}
	})
}
