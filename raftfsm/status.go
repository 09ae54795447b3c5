package raftfsm

import (
	"strings"

	"github.com/hashicorp/raft"

	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// Status is what a member knows of itself and the group. Its JSON form is part of the protocol: fields are only added.
type Status struct {
	Cluster string `json:"cluster"`
	Member  string `json:"member"`
	Address string `json:"address"`
	// Phase is founding, joining, refilling or member.
	Phase string `json:"phase"`
	// Role is leader, follower, candidate, or none before the group is founded.
	Role string `json:"role"`
	// Blank: this member has never known a group that had a leader.
	Blank bool   `json:"blank"`
	Fresh bool   `json:"fresh"`
	Term  uint64 `json:"term"`
	// Leader is the id of the leader, empty if there is none.
	Leader        string `json:"leader"`
	LeaderAddress string `json:"leaderAddress"`
	LastIndex     uint64 `json:"lastIndex"`   // of the log
	CommitIndex   uint64 `json:"commitIndex"` // as this member knows it
	Zxid          int64  `json:"zxid"`        // of the last command applied
	Sessions      int    `json:"sessions"`
	Nodes         int    `json:"nodes"`
	Bytes         int64  `json:"bytes"`

	Members []MemberStatus `json:"members"`
}

// MemberStatus is a member by the newest configuration.
type MemberStatus struct {
	ID      string `json:"id"`
	Address string `json:"address"`
	Voter   bool   `json:"voter"`
}

// Status tells how this member stands.
func (m *Member) Status() Status {
	out := Status{
		Cluster: m.cfg.Cluster, Member: m.cfg.Member, Address: m.cfg.Advertise, Role: "none", Blank: true,
	}
	out.Phase = string(m.folder.whose().State)
	if r := m.raft.Load(); r != nil {
		out.Role = strings.ToLower(r.State().String())
		out.Term, out.LastIndex, out.CommitIndex = r.CurrentTerm(), r.LastIndex(), r.CommitIndex()
		address, id := r.LeaderWithID()
		out.Leader, out.LeaderAddress = string(id), string(address)
		for _, s := range m.servers() {
			out.Members = append(out.Members, MemberStatus{string(s.ID), string(s.Address), s.Suffrage == raft.Voter})
		}
		// Term 1 and one entry are what founding writes.
		out.Blank = out.Term <= 1 && out.LastIndex <= 1
	}
	out.Blank = out.Blank && out.Phase != string(phaseRefilling)
	out.Fresh = m.Fresh()
	m.Read(func(v *tree.View) {
		out.Zxid, out.Sessions, out.Nodes, out.Bytes = v.Zxid(), v.NumSessions(), v.NumNodes(), v.NumBytes()
	})
	return out
}
