package raftfsm

import (
	"time"

	"github.com/hashicorp/raft"

	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// sweepLimit is the most containers that one sweep deletes.
const sweepLimit = 1000

// lead does the leader's duties for as long as the member runs: at every tick it looks who leads and in which term, and begins anew with a barrier when
// that is news. Nothing here is proof of leadership; what is proposed is bound to the term.
func (m *Member) lead() {
	tick := time.NewTicker(m.cfg.Timing.Tick)
	defer tick.Stop()
	swept := m.clock.Now()
	for {
		select {
		case <-tick.C:
		case <-m.ctx.Done():
			return
		}
		r, term, ok := m.leads()
		if !ok {
			m.beat.end()
			continue
		}
		if m.beat.term() != term {
			if err := r.Barrier(enqueueTimeout).Error(); err != nil {
				continue
			}
			if _, now, ok := m.leads(); !ok || now != term {
				continue
			}
			m.beat.begin(m.clock.Now(), term)
			m.log.Info("this member leads", "member", m.cfg.Member, "term", term)
			swept = m.clock.Now()
		}
		m.expire(r)
		if now := m.clock.Now(); now.Sub(swept) >= m.cfg.Timing.Sweep {
			swept = now
			m.sweep(r)
		}
	}
}

// expire proposes the end of sessions whose clients are gone. An expiry is never forwarded and never repeated.
func (m *Member) expire(r *raft.Raft) {
	var sessions []tree.Session
	m.machine.read(func(v *tree.View) {
		sessions = make([]tree.Session, 0, v.NumSessions())
		v.Sessions(func(s tree.Session) bool {
			sessions = append(sessions, s)
			return true
		})
	})
	for _, e := range m.beat.tick(m.clock.Now(), m.cfg.Timing.Tick, sessions) {
		m.log.Info("the session is to expire", "session", sessionID(e.Session), "term", e.Term)
		m.asAdmin(r, &tree.Command{Request: e.Request, Session: e.Session, Owner: e.Owner, Op: &tree.ExpireSession{Term: e.Term}})
	}
}

// sweep deletes containers that have lost their last child.
func (m *Member) sweep(r *raft.Raft) {
	m.machine.mu.Lock()
	snapshot := m.machine.state.Snapshot()
	m.machine.mu.Unlock()
	for _, path := range snapshot.EmptyContainers(sweepLimit) {
		m.log.Debug("the empty container is deleted", "path", path)
		m.asAdmin(r, &tree.Command{Op: &tree.DeleteContainer{Path: path}})
	}
}

// asAdmin appends a command of the leader's own, without waiting for its result.
func (m *Member) asAdmin(r *raft.Raft, c *tree.Command) {
	c.Origin, c.Caller, c.Time = m.origin, tree.Caller{Admin: true}, m.clock.Now().UnixMilli()
	encoded, err := c.Append(nil)
	if err != nil {
		m.log.Error("encode a command", "error", err)
		return
	}
	m.running.Go(func() {
		if err := r.Apply(encoded, enqueueTimeout).Error(); err != nil {
			m.log.Debug("a command of the leader was lost", "error", err)
		}
	})
}
