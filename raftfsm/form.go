package raftfsm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"
)

const (
	askEvery      = 200 * time.Millisecond // between two questions to those who have not answered
	complainAfter = 10 * time.Second       // between two log lines about them
	askTimeout    = 2 * time.Second
	maxAsked      = 64 // members, one after another
)

// found writes the first entry of the group, the same on all founders, and starts Raft.
func (m *Member) found() error {
	founders := slices.SortedFunc(slices.Values(m.cfg.Members), func(a, b Peer) int { return strings.Compare(a.ID, b.ID) })
	var c raft.Configuration
	for _, p := range founders {
		c.Servers = append(c.Servers, raft.Server{Suffrage: raft.Voter, ID: raft.ServerID(p.ID), Address: raft.ServerAddress(p.Address)})
	}
	s := m.stores
	if err := raft.BootstrapCluster(m.raftConfig(), s.log, s.stable, s.snapshots, m.transport, c); err != nil {
		return err
	}
	if err := m.mark(phaseMember, 0); err != nil {
		return err
	}
	return m.run()
}

// refill starts Raft on an empty folder of a group that exists. Until the leader has filled it, and in no term up to floor, it gives a vote; nor does it
// take entries of a term before floor: it may have promised a later leader not to.
func (m *Member) refill(floor uint64) error {
	m.log.Warn("this member's folder is empty but the group exists: the leader fills it, and until then this member does not vote", "member", m.cfg.Member)
	m.filled.Store(false)
	if m.folder.whose().State != phaseRefilling {
		if err := m.mark(phaseRefilling, floor); err != nil {
			return err
		}
	}
	term, err := m.stores.bolt.GetUint64([]byte(keyCurrentTerm))
	if err != nil && err.Error() != errTextNotFound {
		return fmt.Errorf("the term: %w", err)
	}
	if term < floor {
		if err := m.stores.stable.SetUint64([]byte(keyCurrentTerm), floor); err != nil {
			return err
		}
	}
	m.transport.guardVotes(func(term uint64) bool { return m.filled.Load() && term > floor })
	return m.run()
}

// runJoining starts Raft on the folder of a member that the group has taken in but that was not told yet that it has a vote. Until then it gives none.
func (m *Member) runJoining() error {
	m.filled.Store(false)
	m.transport.guardVotes(func(uint64) bool { return m.filled.Load() })
	return m.run()
}

func (m *Member) mark(state phase, floor uint64) error {
	return m.folder.write(marker{Cluster: m.cfg.Cluster, Member: m.cfg.Member, State: state, Floor: floor})
}

// foundOrRefill asks the other founders, and whoever they name, what they know until it is clear what to do.
func (m *Member) foundOrRefill() {
	others := slices.DeleteFunc(slices.Clone(m.cfg.Members), func(p Peer) bool { return p.ID == m.cfg.Member })
	var founders []string
	for _, p := range others {
		founders = append(founders, p.ID)
	}
	complained := m.clock.Now()
	for {
		answers := m.askStatus(others)
		decision, floor := decideFounding(m.cfg.Member, founders, answers)
		var err error
		switch decision {
		case foundingFound:
			err = m.found()
		case foundingRefill:
			err = m.refill(floor)
		default:
			if now := m.clock.Now(); now.Sub(complained) > complainAfter {
				complained = now
				m.complain(decision, others, answers)
			}
			others = m.named(others, answers)
			if !m.pause(askEvery) {
				return
			}
			continue
		}
		if err != nil {
			m.fail(err)
		}
		return
	}
}

// complain logs what a member with an empty folder waits for.
func (m *Member) complain(d founding, others []Peer, answers map[string]Status) {
	var silent []string
	for _, p := range others {
		if _, ok := answers[p.ID]; !ok {
			silent = append(silent, p.ID)
		}
	}
	waiting := strings.Join(silent, ", ")
	switch d {
	case foundingFew:
		m.log.Error("this member's state folder is empty but the group exists: it takes part again when enough of the others are there to tell what it may have confirmed", "waiting for", waiting)
	case foundingStranger:
		m.log.Error("this member's state folder is empty, and the group exists without it. To have it taken in, list the members that there are in members of etc/saranga.yaml, without this one, and set join: true",
			"member", m.cfg.Member)
	default:
		m.log.Warn("the group is founded when all its members are there once", "waiting for", waiting)
	}
}

// named are the peers with those that answers name besides.
func (m *Member) named(peers []Peer, answers map[string]Status) []Peer {
	for _, s := range answers {
		for _, other := range s.Members {
			if other.ID != m.cfg.Member && !slices.ContainsFunc(peers, func(p Peer) bool { return p.ID == other.ID }) {
				peers = append(peers, Peer{other.ID, other.Address})
			}
		}
	}
	return peers
}

// askStatus asks them all at once.
func (m *Member) askStatus(peers []Peer) map[string]Status {
	type answered struct {
		id     string
		status Status
		err    error
	}
	results := make(chan answered, len(peers))
	for _, p := range peers {
		m.running.Go(func() {
			ctx, cancel := context.WithTimeout(m.ctx, askTimeout)
			defer cancel()
			body, err := m.links.ask(ctx, p.Address, kindStatus, nil)
			a := answered{id: p.ID, err: err}
			if err == nil {
				a.err = json.Unmarshal(body, &a.status)
			}
			if a.err == nil && a.status.Member != p.ID {
				a.err = errNotFounded
				m.log.Error("another member answers at this address; the lists of members differ", "address", p.Address, "want", p.ID, "got", a.status.Member)
			}
			results <- a
		})
	}
	out := map[string]Status{}
	for range peers {
		if a := <-results; a.err == nil {
			out[a.id] = a.status
		} else {
			m.log.Debug("a member does not answer", "member", a.id, "error", a.err)
		}
	}
	return out
}

// watchMembership asks the others, while there is no leader, whether this member was removed: nobody tells one that was away meanwhile.
func (m *Member) watchMembership() {
	for m.pause(complainAfter) {
		address, _ := m.leader()
		r := m.raft.Load()
		if r == nil || address != "" || m.removed.Load() || m.folder.whose().State != phaseMember {
			continue
		}
		var others []Peer
		listed := false
		for _, s := range m.servers() {
			if string(s.ID) == m.cfg.Member {
				listed = true
			} else {
				others = append(others, Peer{string(s.ID), string(s.Address)})
			}
		}
		if !listed {
			m.wasRemoved()
		}
		for _, s := range m.askStatus(others) {
			if whole(s) && s.CommitIndex > r.LastIndex() && !slices.ContainsFunc(s.Members, func(o MemberStatus) bool { return o.ID == m.cfg.Member }) {
				m.wasRemoved()
			}
		}
	}
}

// wasRemoved notes that the group goes on without this member.
func (m *Member) wasRemoved() {
	if m.removed.CompareAndSwap(false, true) {
		m.log.Error("this member was removed from the group and does not serve any more; to come back it needs an empty folder and join: true", "member", m.cfg.Member)
	}
}

// maxAge is how long ago a majority may have confirmed the leader whose word ends a refill.
const maxAge = time.Second

// catchUp looks whether a member that is being filled, or joins, has all that the leader has.
func (m *Member) catchUp(s standing) {
	r := m.raft.Load()
	if r == nil || time.Duration(s.Age)*time.Millisecond > maxAge || r.LastIndex() < s.Last || m.machine.applies.Load() < s.Zxid {
		return
	}
	switch at := m.folder.whose(); {
	case at.State == phaseRefilling && s.Term >= at.Floor:
		if err := m.mark(phaseMember, 0); err != nil {
			m.fail(err)
			return
		}
		m.filled.Store(true)
		m.log.Info("the leader has filled this member", "member", m.cfg.Member, "last entry", s.Last)
	case at.State == phaseJoining:
		m.caught.Store(true)
	}
}

// join asks to be taken in, and for a vote as soon as it has what the others have. A member that has nothing yet does not run before: should the group know
// it as a voter, its folder was lost, and what it would confirm now contradicts what it has confirmed before.
func (m *Member) join() {
	how := howNew
	if m.raft.Load() != nil {
		how = howAgain
	}
	add := appendName(appendName(appendName(nil, m.cfg.Member), m.cfg.Advertise), how)
	for !m.askAny(kindAdd, add) {
		if !m.pause(askEvery) {
			return
		}
	}
	if m.raft.Load() == nil {
		if err := m.runJoining(); err != nil {
			m.fail(err)
			return
		}
	}
	for !m.caught.Load() {
		if !m.pause(m.cfg.Timing.Report) {
			return
		}
	}
	for !m.askAny(kindPromote, appendName(nil, m.cfg.Member)) {
		if !m.pause(askEvery) {
			return
		}
	}
	if err := m.mark(phaseMember, 0); err != nil {
		m.fail(err)
		return
	}
	m.filled.Store(true)
	m.log.Info("this member has joined the group", "member", m.cfg.Member)
}

// askAny asks the leader, as far as it is known here, to the members of the list, or to whoever they name.
func (m *Member) askAny(k kind, body []byte) bool {
	addresses := make([]string, 0, 1+len(m.cfg.Members))
	if address, self := m.leader(); address != "" && !self {
		addresses = append(addresses, address)
	}
	for _, p := range m.cfg.Members {
		addresses = append(addresses, p.Address)
	}
	for i := 0; i < len(addresses) && i < maxAsked; i++ {
		err := m.askOne(addresses[i], k, body)
		switch {
		case err == nil:
			return true
		case errors.Is(err, ErrRefused):
			if now := m.clock.Now(); now.Sub(m.refusal) > complainAfter {
				m.refusal = now
				m.log.Error("this member cannot join the group", "member", m.cfg.Member, "asked", addresses[i], "error", err)
			}
		case errors.Is(err, errNotLeader):
			if leader := m.leaderOf(addresses[i]); leader != "" && !slices.Contains(addresses, leader) {
				addresses = append(addresses, leader)
			}
		}
		m.log.Debug("a member did not help to join", "address", addresses[i], "error", err)
	}
	return false
}

func (m *Member) askOne(address string, k kind, body []byte) error {
	ctx, cancel := context.WithTimeout(m.ctx, askTimeout)
	defer cancel()
	_, err := m.links.ask(ctx, address, k, body)
	return err
}

// leaderOf is the address of the leader that a member knows of.
func (m *Member) leaderOf(address string) string {
	ctx, cancel := context.WithTimeout(m.ctx, askTimeout)
	defer cancel()
	var s Status
	body, err := m.links.ask(ctx, address, kindStatus, nil)
	if err != nil || json.Unmarshal(body, &s) != nil {
		return ""
	}
	return s.LeaderAddress
}
