package cluster

import (
	"testing"

	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// TestVotesNeeded is the table of Artemis' QuorumVoteServerConnect, and ha §2.9.
func TestVotesNeeded(t *testing.T) {
	for size, want := range []int{0, 0, 1, 2, 3, 3, 4, 4, 5} {
		if got := VotesNeeded(size); got != want {
			t.Errorf("a cluster of %d needs %d votes, want %d", size, got, want)
		}
	}
}

func TestBallot(t *testing.T) {
	here, there := ConnectorText(tc(1)), ConnectorText(tc(2))
	yes := core.ServerConnectVote{Vote: true, NodeID: "n"}
	no := core.ServerConnectVote{NodeID: "n", Connector: buf.Of(here)}
	seen := func(text string) core.ServerConnectVote {
		return core.ServerConnectVote{Vote: true, NodeID: "n", Connector: buf.Of(text)}
	}
	for name, c := range map[string]struct {
		ballot    *Ballot
		answers   []core.ServerConnectVote
		closed    bool // before Close
		positive  bool
		elsewhere string // of the last answer
	}{
		"a lone pair fails over":                     {ballot: GoneBallot("n", 1), closed: true, positive: true},
		"nobody was ever seen":                       {ballot: GoneBallot("n", 0), closed: true, positive: true},
		"two nodes, no answer":                       {ballot: GoneBallot("n", 2)},
		"two nodes, the other one sees it":           {ballot: GoneBallot("n", 2), answers: []core.ServerConnectVote{no}},
		"two nodes, the other one does not":          {ballot: GoneBallot("n", 2), answers: []core.ServerConnectVote{yes}, closed: true, positive: true},
		"three nodes, one answer":                    {ballot: GoneBallot("n", 3), answers: []core.ServerConnectVote{yes}},
		"three nodes, two answers":                   {ballot: GoneBallot("n", 3), answers: []core.ServerConnectVote{yes, yes}, closed: true, positive: true},
		"three nodes, they differ":                   {ballot: GoneBallot("n", 3), answers: []core.ServerConnectVote{yes, no}},
		"more answers than needed":                   {ballot: GoneBallot("n", 3), answers: []core.ServerConnectVote{yes, yes, yes, no}, closed: true, positive: true},
		"four nodes need three":                      {ballot: GoneBallot("n", 4), answers: []core.ServerConnectVote{yes, yes}},
		"may stay: seen here":                        {ballot: StayBallot("n", tc(1), 2), answers: []core.ServerConnectVote{seen(here)}, closed: true, positive: true},
		"may stay: seen elsewhere":                   {ballot: StayBallot("n", tc(1), 2), answers: []core.ServerConnectVote{seen(there)}, elsewhere: there},
		"may stay: a positive answer without place":  {ballot: StayBallot("n", tc(1), 2), answers: []core.ServerConnectVote{yes}, elsewhere: "nowhere"},
		"may stay: not seen":                         {ballot: StayBallot("n", tc(1), 2), answers: []core.ServerConnectVote{{NodeID: "n"}}},
		"may stay: alone, nobody to ask":             {ballot: StayBallot("n", tc(1), 1), closed: true, positive: true},
		"may stay: three nodes, one sees the backup": {ballot: StayBallot("n", tc(1), 3), answers: []core.ServerConnectVote{seen(here), seen(there)}, elsewhere: there},
	} {
		t.Run(name, func(t *testing.T) {
			if q := c.ballot.Question(); q.NodeID != "n" || q.Connector.Valid {
				t.Errorf("question %+v", q)
			}
			elsewhere := ""
			for _, a := range c.answers {
				elsewhere = c.ballot.Answer(a)
			}
			if c.ballot.Closed() != c.closed || elsewhere != c.elsewhere {
				t.Errorf("closed %v, elsewhere %q; want %v, %q", c.ballot.Closed(), elsewhere, c.closed, c.elsewhere)
			}
			c.ballot.Close()
			for range 5 { // what comes late does not count
				c.ballot.Answer(yes)
				c.ballot.Answer(seen(here))
			}
			if !c.ballot.Closed() || c.ballot.Positive() != c.positive {
				t.Errorf("positive %v, want %v", c.ballot.Positive(), c.positive)
			}
		})
	}
	if q := StayBallot("n", tc(1), 2).Question(); !q.Vote {
		t.Error("who wants to stay active does not say so")
	}
}
