package journal

import "github.com/saranga-mq/saranga/broker"

// The replication seam of the store. The messages journal's stream orders everything a tap sees.

// Attach implements broker.Replicated, as all methods here.
func (s *Store) Attach(t broker.Tap) { s.setTap(t, true) }

func (s *Store) Confirm(m broker.Mark) { s.messages.Confirm(Mark(m)) }

func (s *Store) ReplicaLost() { s.setTap(nil, false) }

func (s *Store) setTap(t broker.Tap, gate bool) {
	s.messages.mu.Lock()
	s.tap = t
	s.tapped.Store(t != nil)
	if gate {
		s.messages.gate()
	} else {
		s.messages.lose()
	}
	s.messages.mu.Unlock()
}

func (s *Store) Release() {
	if !s.tapped.Load() {
		s.messages.Release()
	}
}

func (s *Store) Barrier(f func() error) error {
	// The messages first: an append may wait for a reservation of ids in the bindings, but not the other way round.
	return s.messages.Barrier(func([]FileInfo) error {
		return s.bindings.Barrier(func([]FileInfo) error { return f() })
	})
}
