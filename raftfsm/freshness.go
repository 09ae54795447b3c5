package raftfsm

import (
	"slices"
	"time"
)

// freshness is how old the state that this member shows may be. Pure: time and state are passed in.
//
// Invariant: at the time confirmed, no command had been applied by the then leader that this member has not applied by now.
type freshness struct {
	confirmed time.Time
	marks     []mark // rising in both fields, not reached yet
}

// mark: whoever has applied zxid has all that the leader had at the time at.
type mark struct {
	zxid int64
	at   time.Time
}

const maxMarks = 32

// promise notes the leader's answer to a report: it had applied zxid, and was known to lead at the time at.
func (f *freshness) promise(zxid int64, at time.Time) {
	if n := len(f.marks); n > 0 {
		if last := f.marks[n-1]; !at.After(last.at) || zxid < last.zxid {
			return
		}
		if n == maxMarks {
			f.marks = slices.Delete(f.marks, n-1, n) // the oldest are the next to be reached
		}
	}
	f.marks = append(f.marks, mark{zxid, at})
}

// applied tells how far this member's state is.
func (f *freshness) applied(zxid int64) {
	for len(f.marks) > 0 && f.marks[0].zxid <= zxid {
		if f.marks[0].at.After(f.confirmed) {
			f.confirmed = f.marks[0].at
		}
		f.marks = slices.Delete(f.marks, 0, 1)
	}
}

// lead notes that this member itself was known to lead at the time at, with everything applied.
func (f *freshness) lead(at time.Time) {
	if at.After(f.confirmed) {
		f.confirmed = at
	}
	f.marks = nil
}

// majorityContact is the latest time at which a majority of the voters, the leader among them, is known to have taken it for their leader. contacts are
// the times at which exchanges began that the voter ended by saying yes. Zero if there was no such time.
func majorityContact(now time.Time, self string, voters []string, contacts map[string]time.Time) time.Time {
	times := make([]time.Time, 0, len(voters))
	for _, id := range voters {
		if id == self {
			times = append(times, now)
		} else {
			times = append(times, contacts[id])
		}
	}
	if len(times) == 0 {
		return time.Time{}
	}
	slices.SortFunc(times, func(a, b time.Time) int { return b.Compare(a) })
	return times[len(times)/2]
}
