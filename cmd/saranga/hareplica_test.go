package main

import (
	"errors"
	"testing"

	"github.com/saranga-mq/saranga/ha/replication/replica"
)

// The active node dies right after the policy has confirmed the end of the synchronisation: the replica is in sync, whichever of the
// two it hears of first.
func TestConfirmedReplicaWhoseLinkEnds(t *testing.T) {
	a := &activation{wake: make(chan struct{}, 1)}
	for range 100 {
		s := a.scope()
		confirm := make(chan struct{})
		close(confirm)
		s.close()
		if err := (replicaOwner{s, confirm}).UpToDate("n", 1); err != nil {
			t.Fatal(err)
		}
	}
	s := a.scope()
	s.close()
	if err := (replicaOwner{s, make(chan struct{})}).UpToDate("n", 1); !errors.Is(err, replica.ErrClosed) {
		t.Errorf("not confirmed: %v, want %v", err, replica.ErrClosed)
	}
}
