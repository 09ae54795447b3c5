package cluster

import (
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// Names of the handler of votes on whether a node is still there. Peers of before version 136 know the old one only.
const (
	PrimaryFailoverVote    = "PrimaryFailoverQuorumVote"
	OldPrimaryFailoverVote = "LiveFailoverQuorumVote"
)

// VotesNeeded is how many positive answers decide a vote in a cluster of size members.
//
//	size    0  1  2  3  4  5  6
//	needed  0  0  1  2  3  3  4
func VotesNeeded(size int) int {
	if size <= 2 {
		return max(0, size/2)
	}
	return size/2 + 1
}

// A Ballot counts the answers of one vote. A backup asks whether the node it replicates is gone: a positive decision lets it
// go active. An active node asks whether it may stay so: a positive answer counts only if it names this node's own
// connector. It is pure. It is not safe for concurrent use.
//
// Source: ha §2.9; Artemis QuorumVoteServerConnect.
type Ballot struct {
	nodeID     string
	stayActive bool
	connector  string // ConnectorText of this node's own
	needed     int
	closed     bool // no answer counts any more
}

// GoneBallot asks whether nodeID is gone, in a cluster of size members. With nothing needed it is decided: a pair that is
// alone always fails over.
func GoneBallot(nodeID string, size int) *Ballot {
	return newBallot(&Ballot{nodeID: nodeID}, size)
}

// StayBallot asks whether this node, seen by others at its connector, may stay active.
func StayBallot(nodeID string, connector *core.TransportConfiguration, size int) *Ballot {
	return newBallot(&Ballot{nodeID: nodeID, stayActive: true, connector: ConnectorText(connector)}, size)
}

func newBallot(b *Ballot, size int) *Ballot {
	b.needed = VotesNeeded(size)
	b.closed = b.needed == 0
	return b
}

// Question is what is sent to each member.
func (b *Ballot) Question() core.ServerConnectVote {
	return core.ServerConnectVote{Vote: b.stayActive, NodeID: b.nodeID}
}

// Answer counts an answer. elsewhere, if not "", is where the voter sees this node active: not here.
func (b *Ballot) Answer(v core.ServerConnectVote) (elsewhere string) {
	if b.closed || !v.Vote {
		return ""
	}
	if b.stayActive && v.Connector.V != b.connector {
		return v.Connector.Or("nowhere")
	}
	b.needed--
	b.closed = b.needed == 0
	return ""
}

// Close ends the vote: all were asked, or the time is over.
func (b *Ballot) Close() { b.closed = true }

// Closed tells whether the decision will not change any more.
func (b *Ballot) Closed() bool { return b.closed }

// Positive is the decision, or what it would be now.
func (b *Ballot) Positive() bool { return b.needed == 0 }

// answer is this node's answer to whether a node is still there. m is what its topology knows of it.
func answer(question core.ServerConnectVote, m Member, known bool) core.ServerConnectVote {
	if known && m.Primary != nil {
		return core.ServerConnectVote{Vote: question.Vote, NodeID: question.NodeID, Connector: buf.Of(ConnectorText(m.Primary))}
	}
	return core.ServerConnectVote{Vote: !question.Vote, NodeID: question.NodeID}
}
