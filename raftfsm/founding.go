package raftfsm

// founding is what a member with an empty folder makes of the answers of the others. Pure.
type founding int

const (
	foundingWait   founding = iota // not all have answered
	foundingFound                  // nobody has ever seen a leader: write the first entry
	foundingRefill                 // the group exists: the folder here was lost
)

// decideFounding looks at the answers that came so far, by member id. floor is the highest term that anybody has seen.
func decideFounding(others []string, answers map[string]Status) (decision founding, floor uint64) {
	all := true
	for _, id := range others {
		s, ok := answers[id]
		all = all && ok
		if ok && !s.Blank {
			decision, floor = foundingRefill, max(floor, s.Term)
		}
	}
	if decision == foundingWait && all {
		decision = foundingFound
	}
	return decision, floor
}
