package raftfsm

import (
	"time"

	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// expiry is a session that the leader wants to end: it takes effect only in this term and while the session has this owner.
type expiry struct {
	Session int64
	Owner   uint64
	Request uint64 // the session's last one that the leader has seen
	Term    uint64
}

const (
	// lateTick is how late the leader's own tick may be before it takes itself for the one that was away: the reports of the living then lie
	// unread in its sockets.
	lateTick = time.Second
	// expireAgain is how long an expiry may be on its way before it is proposed anew, in the same term.
	expireAgain = 2 * time.Second
)

// leases are the leader's timers, one per session of the state. They live in memory and for one term: a new leader gives every session its full
// timeout. Pure: time and sessions are passed in.
//
// Invariant: a session is expired in a term only if no report of it came for its whole timeout, counted from begin, from its creation, from the last
// change of its owner, from the last tick that was late, and from when its last numbered write was appended, whichever was last. Writes count
// because a lock holder counts its lease from the sending of one: an expiry names the last write that the leader has seen, and the state machine refuses it after
// another one, so no order of the two in the log ends a session within its timeout of a write that was answered with OK.
type leases struct {
	term   uint64 // 0: not leading
	ticked time.Time
	round  uint64
	timers map[int64]*lease
}

type lease struct {
	owner    uint64
	heard    time.Time // never after the time of the call that set it
	proposed time.Time // when its expiry was proposed, zero if it was not
	round    uint64    // of the last tick that saw the session
}

// begin starts a term of leadership. The leader calls it after a barrier of that term, so that it knows all sessions.
func (l *leases) begin(now time.Time, term uint64) {
	*l = leases{term: term, ticked: now, timers: map[int64]*lease{}}
}

// end forgets everything.
func (l *leases) end() { *l = leases{} }

// heard notes that the client of a session was heard of idle ago by the member that has it with this owner stamp.
func (l *leases) heard(now time.Time, session int64, owner uint64, idle time.Duration) {
	t := l.timers[session]
	if t == nil || t.owner != owner {
		return // not seen yet: the next tick gives it its whole timeout
	}
	if at := now.Add(-max(idle, 0)); at.After(t.heard) {
		t.heard, t.proposed = at, time.Time{}
	}
}

// tick looks at all sessions and returns those whose time is over.
func (l *leases) tick(now time.Time, interval time.Duration, sessions func(func(tree.Session) bool)) []expiry {
	if l.term == 0 {
		return nil
	}
	late := now.Sub(l.ticked) > interval+lateTick
	l.ticked = now
	l.round++
	var out []expiry
	sessions(func(s tree.Session) bool {
		t := l.timers[s.ID]
		if t == nil || t.owner != s.Owner {
			t = &lease{owner: s.Owner, heard: now}
			l.timers[s.ID] = t
		}
		t.round = l.round
		switch {
		case late:
			t.heard, t.proposed = now, time.Time{}
		case now.Sub(t.heard) <= time.Duration(s.Timeout)*time.Millisecond:
		case t.proposed.IsZero() || now.Sub(t.proposed) > expireAgain:
			t.proposed = now
			out = append(out, expiry{s.ID, s.Owner, s.Request, l.term})
		}
		return true
	})
	if len(l.timers) > 0 {
		for id, t := range l.timers {
			if t.round != l.round {
				delete(l.timers, id)
			}
		}
	}
	return out
}
