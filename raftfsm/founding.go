package raftfsm

// founding is what a member with an empty folder makes of the answers of the others. Pure.
type founding int

const (
	foundingWait     founding = iota // not all have answered
	foundingFound                    // nobody has ever seen a leader: write the first entry
	foundingRefill                   // the group exists: the folder here was lost
	foundingFew                      // the group exists, but too few that know what it did have answered
	foundingStranger                 // the group exists without this member
)

// decideFounding looks at the answers that came so far, by member id. floor is the highest term that anybody has seen.
//
// What self has confirmed and forgotten counted with a majority that self was in. So many others must answer that at least one was in it, whichever
// majority it was: then floor is no lower than the term of what was confirmed, and self, which takes no entry of a term before floor, cannot help an older
// leader to undo it. Of n voters that is n - n/2 others whose folders are whole.
func decideFounding(self string, others []string, answers map[string]Status) (decision founding, floor uint64) {
	exists, all := false, true
	newest := Status{}
	for _, s := range answers {
		floor = max(floor, s.Term)
		exists = exists || !s.Blank
		if whole(s) && (newest.Members == nil || s.CommitIndex > newest.CommitIndex) {
			newest = s
		}
	}
	for _, id := range others {
		_, ok := answers[id]
		all = all && ok
	}
	switch {
	case !exists && all:
		return foundingFound, 0
	case !exists:
		return foundingWait, 0
	case newest.Members == nil:
		return foundingFew, floor
	}
	member, voters, there := false, 0, 0
	for _, v := range newest.Members {
		member = member || v.ID == self
		if !v.Voter {
			continue
		}
		voters++
		if s, ok := answers[v.ID]; ok && whole(s) && v.ID != self {
			there++
		}
	}
	switch {
	case !member:
		return foundingStranger, floor
	case there < voters-voters/2:
		return foundingFew, floor
	}
	return foundingRefill, floor
}

// whole tells whether the member that answers knows all that it has confirmed.
func whole(s Status) bool { return s.Phase == string(phaseMember) && len(s.Members) > 0 }
