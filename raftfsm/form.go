package raftfsm

import (
	"context"
	"encoding/json"
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

// runJoining starts Raft on the folder of a member that was never known to be a voter. It gives no vote until it has heard that it has one: if it had one
// before, what it confirmed was in a folder that is lost.
func (m *Member) runJoining() error {
	m.filled.Store(false)
	m.transport.guardVotes(func(uint64) bool { return m.filled.Load() })
	return m.run()
}

func (m *Member) mark(state phase, floor uint64) error {
	return m.folder.write(marker{Cluster: m.cfg.Cluster, Member: m.cfg.Member, State: state, Floor: floor})
}

// foundOrRefill asks the other founders what they know until it is clear what to do.
func (m *Member) foundOrRefill() {
	var others []string
	for _, p := range m.cfg.Members {
		if p.ID != m.cfg.Member {
			others = append(others, p.ID)
		}
	}
	complained := m.clock.Now()
	for {
		answers := m.askFounders()
		decision, floor := decideFounding(others, answers)
		var err error
		switch decision {
		case foundingFound:
			err = m.found()
		case foundingRefill:
			err = m.refill(floor)
		case foundingWait:
			if now := m.clock.Now(); now.Sub(complained) > complainAfter {
				complained = now
				silent := slices.DeleteFunc(slices.Clone(others), func(id string) bool { _, ok := answers[id]; return ok })
				m.log.Warn("the group is founded when all its members are there once", "waiting for", strings.Join(silent, ", "))
			}
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

// askFounders asks all others at once.
func (m *Member) askFounders() map[string]Status {
	type answered struct {
		id     string
		status Status
		err    error
	}
	results := make(chan answered, len(m.cfg.Members))
	asked := 0
	for _, p := range m.cfg.Members {
		if p.ID == m.cfg.Member {
			continue
		}
		asked++
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
	for range asked {
		if a := <-results; a.err == nil {
			out[a.id] = a.status
		} else {
			m.log.Debug("a founder does not answer", "member", a.id, "error", a.err)
		}
	}
	return out
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

// join asks to be taken in, and for a vote as soon as it has what the others have.
func (m *Member) join() {
	add := appendName(appendName(nil, m.cfg.Member), m.cfg.Advertise)
	for !m.askAny(kindAdd, add) {
		if !m.pause(askEvery) {
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

// askAny asks the leader, or else the founders until one leads.
func (m *Member) askAny(k kind, body []byte) bool {
	addresses := make([]string, 0, 1+len(m.cfg.Members))
	if address, self := m.leader(); address != "" && !self {
		addresses = append(addresses, address)
	}
	for _, p := range m.cfg.Members {
		addresses = append(addresses, p.Address)
	}
	for _, address := range addresses {
		ctx, cancel := context.WithTimeout(m.ctx, askTimeout)
		_, err := m.links.ask(ctx, address, k, body)
		cancel()
		if err == nil {
			return true
		}
		m.log.Debug("a member did not help to join", "address", address, "error", err)
	}
	return false
}
