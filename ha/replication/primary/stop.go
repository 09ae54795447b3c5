package primary

import (
	"errors"
	"time"

	"github.com/saranga-mq/saranga/wire/core"
)

// Reasons of a sender that has ended by this node's will.
var (
	errFailedOver = errors.New("the replica becomes active")
	errClosed     = errors.New("the node ends the replication")
)

// stopCalled announces a clean stop. A replica that does not have everything is dropped: to it the announcement would mean
// that it shall not take over.
func (s *Sender) stopCalled() {
	if !s.Synchronised() {
		s.fail(ErrStopping)
		return
	}
	s.mu.Lock()
	first := !s.stopping
	s.stopping = true
	s.mu.Unlock()
	if first {
		s.q.send(&core.ReplicationScheduledFailover{Stopping: core.StopCalled})
		s.pumpSoon()
	}
}

// failOver has the replica become active, and ends the sender.
func (s *Sender) failOver() bool {
	answered := false
	if s.Synchronised() {
		s.q.send(&core.ReplicationScheduledFailover{Stopping: core.FailOver})
		s.pumpSoon()
		silent := time.AfterFunc(s.o.FailOverTimeout, func() { s.fail(errFailedOver) })
		answered = s.q.await()
		silent.Stop()
		s.fail(errFailedOver)
	}
	s.work.Wait()
	return answered
}
