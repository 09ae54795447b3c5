package quorum

import "testing"

// TestCompare has the cases of spec ha §3.2 step 1, and those in which Artemis relies on an assertion that is off in production.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		local, coordinated int64
		want               Standing
	}{
		{0, 0, InSync}, // the first start of a pair
		{1, 1, InSync},
		{0, 1, Stale}, // a new node where another has been active
		{1, 2, Stale},
		{2, 1, Stale}, // the store went back
		{1, 0, Stale}, // the store was emptied
		{2, 0, Stale},
		{1, -1, SelfRepair},
		{0, -1, MaybeInSync},
		{1, -2, MaybeInSync},
		{1, -3, Stale},
		{3, -2, Stale},
		{2, -1, Stale},
	} {
		if got := Compare(c.local, c.coordinated); got != c.want {
			t.Errorf("L=%d S=%d: %v, want %v", c.local, c.coordinated, got, c.want)
		}
	}
}
