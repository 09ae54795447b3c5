package ha

// VotesNeeded is how many positive votes decide a vote of that size (quorum-size, or the largest cluster seen). 0: decided
// before it began, so that the backup of a lone pair always takes over.
//
// Source: spec ha §2.9; Artemis QuorumVoteServerConnect.
func VotesNeeded(size int) int {
	if size <= 2 {
		return max(size, 0) / 2
	}
	return size/2 + 1
}
