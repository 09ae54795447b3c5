package raftfsm

import (
	"errors"

	"github.com/hashicorp/raft"
)

// Errors that a caller acts on.
var (
	// ErrUnknown is wrapped by every error of a proposal that may have been applied, or be applied yet.
	ErrUnknown = errors.New("outcome unknown")
	// ErrNoLeader: there was no leader to take the proposal until the context ended. It was not applied.
	ErrNoLeader = errors.New("the group has no leader")
	// ErrStopped: the member has stopped, or ended with the error that Err gives.
	ErrStopped = errors.New("the member has stopped")
	// ErrRefused: a member does not do what it was asked for, or does not talk to us; the text says why.
	ErrRefused = errors.New("refused")
	// ErrInUse: another command with this kind, session, owner stamp and request number waits for its result.
	ErrInUse = errors.New("a command with the same request number is on its way")
	// ErrFolder is wrapped by every refusal of a state folder.
	ErrFolder = errors.New("state folder refused")
	// ErrRemoved: the member was removed from the group.
	ErrRemoved = errors.New("the member was removed from the group")
)

// errNotLeader: the command was not appended.
var errNotLeader = errors.New("not the leader")

// fate says what an error of raft.Apply or of a request means for the command.
func fate(err error) replyCode {
	switch {
	case err == nil:
		return replyOK
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout), errors.Is(err, raft.ErrLeadershipTransferInProgress),
		errors.Is(err, errNotLeader):
		return replyNotLeader
	case errors.Is(err, ErrRefused):
		return replyRefused
	case errors.Is(err, errBusy):
		return replyBusy
	case errors.Is(err, ErrRemoved):
		return replyRemoved
	default:
		return replyUnknown
	}
}

var errBusy = errors.New("too many proposals at once")
