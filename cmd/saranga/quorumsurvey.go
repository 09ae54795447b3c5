package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/raftfsm"
)

// A survey is what the members of a group said of themselves and of it at one time. Its JSON form is that of quorum status --json.
type survey struct {
	Cluster string `json:"cluster"`
	// Leader is the id of the member that leads with a majority, empty if there is none.
	Leader  string     `json:"leader"`
	Voters  int        `json:"voters"`
	Present int        `json:"present"` // voters that answer and are ready to vote
	Members []surveyed `json:"members"` // by the newest list that anybody knows
}

// surveyed is one member.
type surveyed struct {
	ID      string          `json:"id"`
	Address string          `json:"address"`
	Voter   bool            `json:"voter"`
	Error   string          `json:"error,omitempty"`  // why it does not answer
	Status  *raftfsm.Status `json:"status,omitempty"` // what it answers
}

// votes tells whether its vote counts now.
func (s surveyed) votes() bool { return s.Voter && s.Status != nil && s.Status.Phase == "member" }

// majority is how many of n voters decide.
func majority(n int) int { return n/2 + 1 }

// an answer of a member.
type memberAnswer struct {
	status raftfsm.Status
	err    error
}

// newSurvey makes a survey of answers by address. configured is the list that the configuration has; it counts as long as nobody knows of a
// group.
func newSurvey(cluster string, configured []raftfsm.Peer, answers map[string]memberAnswer) survey {
	out := survey{Cluster: cluster}
	var newest *raftfsm.Status
	for _, a := range answers {
		if s := a.status; a.err == nil && len(s.Members) > 0 && (newest == nil || cmp.Or(cmp.Compare(s.CommitIndex, newest.CommitIndex), cmp.Compare(s.Term, newest.Term)) > 0) {
			newest = &s
		}
	}
	if newest != nil {
		for _, m := range newest.Members {
			out.Members = append(out.Members, surveyed{ID: m.ID, Address: m.Address, Voter: m.Voter})
		}
	} else {
		for _, p := range configured {
			out.Members = append(out.Members, surveyed{ID: p.ID, Address: p.Address, Voter: true})
		}
	}
	slices.SortFunc(out.Members, func(a, b surveyed) int { return strings.Compare(a.ID, b.ID) })
	for i := range out.Members {
		m := &out.Members[i]
		switch a, asked := answers[m.Address]; {
		case !asked:
			m.Error = "not asked"
		case a.err != nil:
			m.Error = a.err.Error()
		case a.status.Member != m.ID:
			m.Error = fmt.Sprintf("member %q answers there", a.status.Member)
		default:
			m.Status = &a.status
		}
		if m.Voter {
			out.Voters++
		}
		if m.votes() {
			out.Present++
		}
		if m.Status != nil && m.Status.Role == "leader" && m.Status.Fresh {
			out.Leader = m.ID
		}
	}
	return out
}

func (s survey) member(id string) (surveyed, bool) {
	i := slices.IndexFunc(s.Members, func(m surveyed) bool { return m.ID == id })
	if i < 0 {
		return surveyed{}, false
	}
	return s.Members[i], true
}

// ids are those of all members.
func (s survey) ids() string {
	var list []string
	for _, m := range s.Members {
		list = append(list, m.ID)
	}
	return strings.Join(list, ", ")
}

// sentence says in one line how the group is.
func (s survey) sentence() string {
	switch spare := s.Present - majority(s.Voters); {
	case s.Leader == "" && s.Present < majority(s.Voters):
		return fmt.Sprintf("Group %s has NO MAJORITY: %d of its %d voters are present, %d are needed. Start the others.", s.Cluster, s.Present, s.Voters, majority(s.Voters))
	case s.Leader == "":
		return fmt.Sprintf("Group %s has NO LEADER, but %d of its %d voters are present: it should have one in a moment.", s.Cluster, s.Present, s.Voters)
	case spare <= 0:
		return fmt.Sprintf("Group %s: %s leads, %d of %d voters are present. It does NOT survive the loss of another.", s.Cluster, s.Leader, s.Present, s.Voters)
	default:
		return fmt.Sprintf("Group %s: %s leads, %d of %d voters are present. It survives the loss of %d.", s.Cluster, s.Leader, s.Present, s.Voters, spare)
	}
}

// surveyTimeout is how long one member may take to answer.
const surveyTimeout = 3 * time.Second

// takeSurvey asks the members of the configured list, this one, and those that they name. An error says that nobody answers.
func takeSurvey(ctx context.Context, c raftfsm.Config) (survey, error) {
	answers := map[string]memberAnswer{}
	ask := []string{ownAddress(c)}
	for _, p := range c.Members {
		ask = append(ask, p.Address)
	}
	for len(ask) > 0 {
		askAll(ctx, c, ask, answers)
		ask = nil
		for _, m := range newSurvey(c.Cluster, c.Members, answers).Members {
			if _, asked := answers[m.Address]; !asked {
				ask = append(ask, m.Address)
			}
		}
	}
	s := newSurvey(c.Cluster, c.Members, answers)
	if slices.ContainsFunc(s.Members, func(m surveyed) bool { return m.Status != nil }) {
		return s, nil
	}
	var b strings.Builder
	for _, m := range s.Members {
		fmt.Fprintf(&b, "\n  %s: %s", m.ID, m.Error)
	}
	return s, fmt.Errorf("no member of group %s answers; saranga run, or saranga quorum run, starts one:%s", c.Cluster, b.String())
}

// ownAddress is where this member is reached.
func ownAddress(c raftfsm.Config) string {
	for _, p := range c.Members {
		if p.ID == c.Member && c.Advertise == "" {
			return p.Address
		}
	}
	return cmp.Or(c.Advertise, c.Listen)
}

// askAll asks them at once and adds what they answer.
func askAll(ctx context.Context, c raftfsm.Config, addresses []string, answers map[string]memberAnswer) {
	var mu sync.Mutex
	var asking sync.WaitGroup
	slices.Sort(addresses)
	for _, address := range slices.Compact(addresses) {
		asking.Go(func() {
			var a memberAnswer
			a.status, a.err = askStatus(ctx, c, address)
			mu.Lock()
			defer mu.Unlock()
			answers[address] = a
		})
	}
	asking.Wait()
}

func askStatus(ctx context.Context, c raftfsm.Config, address string) (raftfsm.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, surveyTimeout)
	defer cancel()
	t, err := raftfsm.Connect(ctx, c.Cluster, address, c.TLS)
	if err != nil {
		return raftfsm.Status{}, err
	}
	defer t.Close()
	return t.Status(ctx)
}
