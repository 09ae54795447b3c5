package raftfsm

import (
	"slices"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// The rules of spec/ha.md 3.9, 5 and 6, step by step. Times are ms since the start, the tick is 100 ms.
func TestLeases(t *testing.T) {
	type step struct {
		at   int
		do   string // begin, end, heard, tick
		term uint64
		id   int64
		own  uint64
		idle int
		live []tree.Session
		want []int64 // what the tick expires
	}
	s := func(id int64, owner uint64, timeout int32) tree.Session {
		return tree.Session{ID: id, Owner: owner, Timeout: timeout}
	}
	one := []tree.Session{s(1, 11, 1000)}
	ticks := func(from, to int, live []tree.Session) (out []step) {
		for at := from; at <= to; at += 100 {
			out = append(out, step{at: at, do: "tick", live: live})
		}
		return out
	}
	for name, steps := range map[string][]step{
		"nothing expires before a barrier": {
			{at: 0, do: "tick", live: one}, {at: 5000, do: "tick", live: one},
		},
		"a new leader grants one full timeout": slices.Concat([]step{{at: 0, do: "begin", term: 3}}, ticks(100, 1100, one),
			[]step{{at: 1101, do: "tick", live: one, want: []int64{1}}}),
		"a report extends by the time since the client was heard of": slices.Concat([]step{{at: 0, do: "begin", term: 3}}, ticks(100, 800, one),
			[]step{{at: 850, do: "heard", id: 1, own: 11, idle: 250}}, ticks(900, 1600, one), []step{{at: 1601, do: "tick", live: one, want: []int64{1}}}),
		"an old report takes nothing away": slices.Concat([]step{{at: 0, do: "begin", term: 3}}, ticks(100, 800, one),
			[]step{{at: 810, do: "heard", id: 1, own: 11, idle: 0}, {at: 820, do: "heard", id: 1, own: 11, idle: 700}}, ticks(900, 1800, one)),
		"a report of an owner that lost the session does not count": slices.Concat([]step{{at: 0, do: "begin", term: 3}}, ticks(100, 800, one),
			[]step{{at: 850, do: "heard", id: 1, own: 99}}, ticks(900, 1100, one), []step{{at: 1101, do: "tick", live: one, want: []int64{1}}}),
		"a new owner gets a full timeout": slices.Concat([]step{{at: 0, do: "begin", term: 3}}, ticks(100, 900, one),
			ticks(1000, 2000, []tree.Session{s(1, 12, 1000)}),
			[]step{{at: 2001, do: "tick", live: []tree.Session{s(1, 12, 1000)}, want: []int64{1}}}),
		"the own tick was late: all timers anew": slices.Concat([]step{{at: 0, do: "begin", term: 3}}, ticks(100, 900, one),
			ticks(15000, 16000, one), []step{{at: 16001, do: "tick", live: one, want: []int64{1}}}),
		"late before the first tick of the term": {
			{at: 0, do: "begin", term: 3}, {at: 1200, do: "tick", live: one}, {at: 2200, do: "tick", live: one},
		},
		"proposed once, and again when nothing came of it": slices.Concat([]step{{at: 0, do: "begin", term: 3}}, ticks(100, 1100, one),
			[]step{{at: 1200, do: "tick", live: one, want: []int64{1}}}, ticks(1300, 3200, one),
			[]step{{at: 3300, do: "tick", live: one, want: []int64{1}}}),
		"a session that is gone and comes again begins anew": slices.Concat([]step{{at: 0, do: "begin", term: 3}}, ticks(100, 500, one),
			ticks(600, 600, nil), ticks(700, 1700, one)),
		"a leader that is deposed expires nobody": slices.Concat([]step{{at: 0, do: "begin", term: 3}}, ticks(100, 900, one),
			[]step{{at: 950, do: "end"}}, ticks(1000, 3000, one)),
		"each by its own timeout": slices.Concat([]step{{at: 0, do: "begin", term: 3}},
			ticks(100, 500, []tree.Session{s(1, 11, 400), s(2, 22, 4000)}),
			[]step{{at: 501, do: "tick", live: []tree.Session{s(1, 11, 400), s(2, 22, 4000)}, want: []int64{1}}}),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			var l leases
			for _, step := range steps {
				now := start.Add(time.Duration(step.at) * time.Millisecond)
				switch step.do {
				case "begin":
					l.begin(now, step.term)
				case "end":
					l.end()
				case "heard":
					l.heard(now, step.id, step.own, time.Duration(step.idle)*time.Millisecond)
				case "tick":
					var got []int64
					for _, e := range l.tick(now, 100*time.Millisecond, slices.Values(step.live)) {
						got = append(got, e.Session)
						if e.Term != 3 || e.Owner != step.live[slices.IndexFunc(step.live, func(s tree.Session) bool { return s.ID == e.Session })].Owner {
							t.Errorf("at %d: bound to owner %d, term %d", step.at, e.Owner, e.Term)
						}
					}
					if !slices.Equal(got, step.want) {
						t.Fatalf("at %d: expired %v, want %v", step.at, got, step.want)
					}
				}
			}
		})
	}
}

func TestFreshness(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	var f freshness
	check := func(want int) {
		t.Helper()
		if got := f.confirmed.Sub(start).Milliseconds(); want < 0 && !f.confirmed.IsZero() || want >= 0 && got != int64(want) {
			t.Errorf("confirmed at %d, want %d", got, want)
		}
	}
	f.promise(10, at(100))
	check(-1)
	f.applied(9)
	check(-1)
	f.promise(12, at(300))
	f.applied(10) // all that the leader had at 100, not what it had at 300
	check(100)
	f.applied(20)
	check(300)
	f.promise(15, at(200)) // an answer that was overtaken
	f.applied(20)
	check(300)
	f.promise(20, at(400))
	f.applied(20)
	check(400)
	// A member that is always a little behind gets on all the same.
	for i := range 100 {
		f.promise(int64(100+i), at(1000+i))
		f.applied(int64(100 + i - 5))
	}
	if late := at(1099).Sub(f.confirmed); late > 80*time.Millisecond {
		t.Errorf("starved: confirmed %v before the newest promise", late)
	}
	f.lead(at(5000))
	check(5000)
	f.lead(at(4000))
	check(5000)
}

func TestMajorityContact(t *testing.T) {
	now := time.Now()
	ago := func(ms int) time.Time { return now.Add(-time.Duration(ms) * time.Millisecond) }
	for name, c := range map[string]struct {
		voters   []string
		contacts map[string]time.Time
		want     time.Time
	}{
		"alone":                     {[]string{"a"}, nil, now},
		"the better of two":         {[]string{"a", "b", "c"}, map[string]time.Time{"b": ago(10), "c": ago(50)}, ago(10)},
		"two need both":             {[]string{"a", "b"}, map[string]time.Time{"b": ago(70)}, ago(70)},
		"five: the second best":     {[]string{"a", "b", "c", "d", "e"}, map[string]time.Time{"b": ago(10), "c": ago(50), "d": ago(60)}, ago(50)},
		"four: the second best":     {[]string{"a", "b", "c", "d"}, map[string]time.Time{"b": ago(10), "c": ago(50), "d": ago(60)}, ago(50)},
		"nobody":                    {[]string{"a", "b", "c"}, nil, time.Time{}},
		"one that does not vote":    {[]string{"a", "b", "c"}, map[string]time.Time{"x": ago(1)}, time.Time{}},
		"a leader that has no vote": {[]string{"b", "c", "d"}, map[string]time.Time{"b": ago(10), "c": ago(20)}, ago(20)},
	} {
		if got := majorityContact(now, "a", c.voters, c.contacts); !got.Equal(c.want) {
			t.Errorf("%s: %v before now, want %v", name, now.Sub(got), now.Sub(c.want))
		}
	}
}

// Of n voters n - n/2 others whose folders are whole have to answer, before a member that lost its folder takes part.
func TestDecideFounding(t *testing.T) {
	blank := Status{Blank: true, Phase: "founding"}
	group := func(ids string) (out []MemberStatus) {
		for _, id := range ids {
			out = append(out, MemberStatus{ID: string(id), Voter: true})
		}
		return out
	}
	lived := func(term, commit uint64, ids string) Status {
		return Status{Phase: "member", Term: term, CommitIndex: commit, Members: group(ids)}
	}
	founded := Status{Blank: true, Phase: "member", Term: 1, Members: group("abc")}
	emptied := Status{Phase: "refilling", Term: 8, Members: group("abc")}
	three, five := []string{"b", "c"}, []string{"b", "c", "d", "e"}
	type answers map[string]Status
	for name, c := range map[string]struct {
		others  []string
		answers answers
		want    founding
		floor   uint64
	}{
		"nobody answers":               {three, nil, foundingWait, 0},
		"one is missing":               {three, answers{"b": blank}, foundingWait, 0},
		"all are blank":                {three, answers{"b": blank, "c": blank}, foundingFound, 0},
		"one has founded":              {three, answers{"b": blank, "c": founded}, foundingFound, 0},
		"both know the group":          {three, answers{"b": lived(7, 5, "abc"), "c": lived(6, 5, "abc")}, foundingRefill, 7},
		"one has not heard of it":      {three, answers{"b": founded, "c": lived(7, 5, "abc")}, foundingRefill, 7},
		"one of two":                   {three, answers{"c": lived(7, 5, "abc")}, foundingFew, 7},
		"the other lost its, too":      {three, answers{"b": blank, "c": lived(7, 5, "abc")}, foundingFew, 7},
		"the other is being filled":    {three, answers{"b": emptied, "c": lived(7, 5, "abc")}, foundingFew, 8},
		"two of four":                  {five, answers{"b": lived(7, 5, "abcde"), "c": lived(7, 5, "abcde")}, foundingFew, 7},
		"three of four":                {five, answers{"b": lived(7, 5, "abcde"), "c": lived(7, 5, "abcde"), "e": lived(9, 1, "abcde")}, foundingRefill, 9},
		"the newest list counts":       {three, answers{"b": lived(3, 2, "abc"), "d": lived(7, 5, "ade"), "e": lived(7, 4, "ade")}, foundingRefill, 7},
		"those who left do not":        {three, answers{"b": lived(3, 2, "abc"), "c": lived(3, 2, "abc"), "d": lived(7, 5, "ade")}, foundingFew, 7},
		"the group is without it":      {three, answers{"b": lived(7, 5, "bc"), "c": lived(7, 5, "bc")}, foundingStranger, 7},
		"founder of a group of two":    {[]string{"b"}, answers{"b": lived(7, 5, "ab")}, foundingRefill, 7},
		"it founded a group by itself": {[]string{"b"}, answers{"b": lived(7, 5, "abc")}, foundingFew, 7},
	} {
		if got, floor := decideFounding("a", c.others, c.answers); got != c.want || floor != c.floor {
			t.Errorf("%s: %d with floor %d, want %d with %d", name, got, floor, c.want, c.floor)
		}
	}
}
