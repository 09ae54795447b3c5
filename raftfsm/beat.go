package raftfsm

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// beat is what a member knows of time: whose client is alive, and how fresh its own state is. Safe for concurrent use.
type beat struct {
	mu        sync.Mutex
	touched   map[int64]touched // since the last report
	leases    leases
	freshness freshness
}

// touched is a session whose client is connected to this member.
type touched struct {
	owner uint64
	heard time.Time
}

func (b *beat) begin(now time.Time, term uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leases.begin(now, term)
}

func (b *beat) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leases.end()
}

// term is that in which this member leads and has done its barrier, 0 if there is none.
func (b *beat) term() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.leases.term
}

func (b *beat) tick(now time.Time, interval time.Duration, sessions []tree.Session) []expiry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.leases.tick(now, interval, func(f func(tree.Session) bool) {
		for _, s := range sessions {
			if !f(s) {
				return
			}
		}
	})
}

func (b *beat) heard(now time.Time, touches []touch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range touches {
		b.leases.heard(now, t.Session, t.Owner, time.Duration(t.Idle)*time.Millisecond)
	}
}

// take gives what was touched since the last call.
func (b *beat) take(now time.Time) []touch {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]touch, 0, len(b.touched))
	for id, t := range b.touched {
		out = append(out, touch{id, t.owner, uint32(max(0, now.Sub(t.heard).Milliseconds()))})
	}
	clear(b.touched)
	return out
}

// Touch tells the leader, with the next report, that the client of a session was heard of idle ago. Call it for every session of this member several
// times a second: each call is reported once, and a report may get lost.
func (m *Member) Touch(session int64, owner uint64, idle time.Duration) {
	heard := m.clock.Now().Add(-max(0, idle))
	b := &m.beat
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.touched == nil {
		b.touched = map[int64]touched{}
	}
	if t, ok := b.touched[session]; ok && t.owner == owner && t.heard.After(heard) || !ok && len(b.touched) >= maxReports {
		return
	}
	b.touched[session] = touched{owner, heard}
}

// Fresh reports whether this member may serve: within Timing.Freshness it has applied all that the leader had, and a majority took that one for its
// leader. Cheap.
func (m *Member) Fresh() bool {
	now := m.clock.Now()
	limit := m.cfg.Timing.Freshness
	b := &m.beat
	b.mu.Lock()
	defer b.mu.Unlock()
	if age := now.Sub(b.freshness.confirmed); age <= limit/4 {
		return m.ctx.Err() == nil
	}
	m.refresh(now)
	return m.ctx.Err() == nil && now.Sub(b.freshness.confirmed) <= limit
}

// refresh brings freshness up to date. Under beat.mu.
func (m *Member) refresh(now time.Time) {
	b := &m.beat
	if _, term, ok := m.leads(); ok && term == b.leases.term {
		b.freshness.lead(m.contact(now, term))
	}
	b.freshness.applied(m.machine.applies.Load())
}

// contact is when a majority last took this member for the leader of term.
func (m *Member) contact(now time.Time, term uint64) time.Time {
	var voters []string
	for _, s := range m.servers() {
		if s.Suffrage == raft.Voter {
			voters = append(voters, string(s.ID))
		}
	}
	return majorityContact(now, m.cfg.Member, voters, m.transport.contacts(term))
}

// report tells the leader several times a second who is alive, and hears from it how fresh this member's state is.
func (m *Member) report() {
	tick := time.NewTicker(m.cfg.Timing.Report)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-m.ctx.Done():
			return
		}
		address, self := m.leader()
		now := m.clock.Now()
		switch {
		case self:
			m.beat.heard(now, m.beat.take(now))
			m.beat.mu.Lock()
			m.refresh(now)
			m.beat.mu.Unlock()
		case address != "":
			m.reportTo(address, now)
		}
	}
}

func (m *Member) reportTo(address string, now time.Time) {
	ctx, cancel := context.WithTimeout(m.ctx, 2*m.cfg.Timing.Report)
	defer cancel()
	reply, err := m.links.ask(ctx, address, kindReport, appendReport(nil, m.beat.take(now)))
	if errors.Is(err, ErrRemoved) {
		m.wasRemoved()
	}
	if err != nil {
		m.log.Trace("a report was lost", "leader", address, "error", err)
		return
	}
	s, err := decodeStanding(reply)
	if err != nil {
		m.log.Warn("the leader's answer to a report", "leader", address, "error", err)
		return
	}
	m.beat.mu.Lock()
	// Before the question was asked: so the state is at least as new as that.
	m.beat.freshness.promise(s.Zxid, now.Add(-time.Duration(s.Age)*time.Millisecond))
	m.refresh(m.clock.Now())
	m.beat.mu.Unlock()
	m.catchUp(s)
}

// hear is the leader's side of a report.
func (m *Member) hear(from string, body []byte) ([]byte, error) {
	touches, err := decodeReport(body)
	if err != nil {
		return nil, err
	}
	r, term, ok := m.leads()
	if !ok || m.beat.term() != term {
		return nil, errNotLeader
	}
	known := false
	for _, s := range m.servers() {
		known = known || string(s.ID) == from
	}
	if !known {
		return nil, ErrRemoved
	}
	now := m.clock.Now()
	m.beat.heard(now, touches)
	contact := m.contact(now, term)
	if contact.IsZero() {
		return nil, errNotLeader
	}
	s := standing{Term: term, Last: r.LastIndex(), Age: uint32(min(now.Sub(contact).Milliseconds()+1, 1<<31))}
	s.Zxid = m.machine.applies.Load()
	return s.append(nil), nil
}

func sessionID(session int64) string { return "0x" + strconv.FormatUint(uint64(session), 16) }
