package quorum

import "fmt"

// A Standing is how the data of a node with the local sequence L stands to the coordinated sequence S.
type Standing int

const (
	// Stale: S went on without this node. It must not become active.
	Stale Standing = iota
	// InSync: L = S. All data is here.
	InSync
	// SelfRepair: |S| = L is claimed and was written locally, but not committed: this node was about to become active
	// and lacks nothing.
	SelfRepair
	// MaybeInSync: |S| = L+1 is claimed and not committed. Whoever claimed it has acknowledged nothing under that
	// sequence, so this node has all data, unless the claimer is faster.
	MaybeInSync
)

func (s Standing) String() string {
	switch s {
	case Stale:
		return "stale"
	case InSync:
		return "in sync"
	case SelfRepair:
		return "self-repair"
	case MaybeInSync:
		return "maybe in sync"
	}
	return fmt.Sprintf("Standing(%d)", int(s))
}

// Compare tells how local, which is not negative, stands to the coordinated sequence.
func Compare(local, coordinated int64) Standing {
	switch {
	case local == coordinated:
		return InSync
	case coordinated > 0:
		return Stale
	case -coordinated == local:
		return SelfRepair
	case -coordinated-local == 1:
		return MaybeInSync
	}
	return Stale
}
