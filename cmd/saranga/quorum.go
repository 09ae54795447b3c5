package main

import "github.com/spf13/cobra"

// quorumCommand are the commands of the quorum: the Raft group that decides which node of a pair is active.
func quorumCommand() *cobra.Command {
	return group("quorum", "Run and look after the quorum that decides which node of a pair is active.",
		quorumRunCommand(), quorumStatusCommand(), quorumMembersCommand(), quorumTransferCommand(), quorumJoinCommand(), quorumLeaveCommand(),
	)
}
