package tree

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestWatchesAccounts does everything at random and looks at the accounts: both indexes hold the same, the counts are right, a session never has more
// than its limit, and nothing is left in the end.
func TestWatchesAccounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 4
		w := NewWatches(limit)
		session := rapid.Int64Range(1, 3)
		path := rapid.SampledFrom([]string{"/", "/a", "/a/b", "/a/b/c", "/d", "/d/e"})
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			s, p := session.Draw(t, "session"), path.Draw(t, "path")
			switch rapid.IntRange(0, 6).Draw(t, "op") {
			case 0, 1, 2:
				_, had := w.sessions[s][p]
				full := len(w.sessions[s]) == limit && !had
				if code := w.Add(s, p, WatchMode(1<<rapid.IntRange(0, 3).Draw(t, "mode"))); (code == QuotaExceeded) != full {
					t.Fatalf("Add = %v with %d paths", code, len(w.sessions[s]))
				}
			case 3:
				kind := WatchType(rapid.IntRange(0, 6).Draw(t, "type"))
				has := w.Has(s, p, kind)
				if code := w.Remove(s, p, kind); code != has || code == OK && w.Has(s, p, kind) != NoWatcher {
					t.Fatalf("Remove = %v after Has = %v", code, has)
				}
			case 4:
				told := map[int64]int{}
				e := Event{Type: EventType(rapid.IntRange(1, 4).Draw(t, "event")), Path: p}
				w.Fire(e, func(s int64, e Event) { told[s]++ })
				for s, n := range told {
					if n != 1 {
						t.Fatalf("session %d was told %d times", s, n)
					}
				}
			case 5:
				w.RemoveSession(s)
			}
			paths, total, recursive := map[string]map[int64]WatchMode{}, 0, 0
			for s, of := range w.sessions {
				if len(of) == 0 || len(of) > limit {
					t.Fatalf("session %d has %d paths", s, len(of))
				}
				for p, mode := range of {
					put(paths, p, s, mode)
					total++
					if mode == 0 {
						t.Fatalf("session %d has an empty watch on %s", s, p)
					}
					if mode&WatchRecursive != 0 {
						recursive++
					}
				}
			}
			if w.Len() != total || w.recursive != recursive || w.Sessions() != len(w.sessions) || w.Paths() != len(paths) || !maps.EqualFunc(paths, w.paths, maps.Equal) {
				t.Fatalf("%d watches, %d recursive, paths %v; counted %d, %d, %v", w.Len(), w.recursive, w.paths, total, recursive, paths)
			}
		}
		for s := range int64(4) {
			w.RemoveSession(s)
		}
		if w.Len() != 0 || w.Sessions() != 0 || w.Paths() != 0 || w.recursive != 0 {
			t.Fatalf("left: %+v", w)
		}
	})
}

// TestRestoreWatchesBounded has a client that brings along more watches than it may have.
func TestRestoreWatchesBounded(t *testing.T) {
	s, w, c := New(), NewWatches(2), &Caller{Chroot: ClientRoot}
	r := Registration{Data: []string{"/", "malformed", "/zookeeper"}, Persistent: []string{"/a"}}
	told := 0
	if code := w.Restore(&s.View, c, 1, r, func(int64, Event) { told++ }); code != QuotaExceeded || told != 0 || w.Len() != 2 {
		t.Errorf("%v, %d events, %d watches", code, told, w.Len())
	}
}

// TestWatchesBytesBounded has a client that watches paths longer than those of any node.
func TestWatchesBytesBounded(t *testing.T) {
	w := NewWatches(4)
	long := "/" + strings.Repeat("x", 4*256-1)
	for path, want := range map[string]Code{long + "y": QuotaExceeded, long: OK} {
		if code := w.Add(1, path, WatchData); code != want {
			t.Errorf("%d bytes: %v, want %v", len(path), code, want)
		}
		w.RemoveSession(1)
	}
	if code := w.Add(1, long, WatchData); code != OK {
		t.Errorf("after the removal: %v", code)
	}
	if code := w.Add(1, "/y", WatchData); code != QuotaExceeded {
		t.Errorf("beyond: %v", code)
	}
	if code := w.Add(1, long, WatchChildren); code != OK {
		t.Errorf("another watch on the same path: %v", code)
	}
	if code := w.Add(2, "/y", WatchData); code != OK {
		t.Errorf("another session: %v", code)
	}
	w.RemoveSession(1)
	w.RemoveSession(2)
	if len(w.bytes) != 0 {
		t.Errorf("left: %v", w.bytes)
	}
}

// TestLongMultiIsNotRemembered: what a session remembers of a multi beyond the limit does not grow with it.
func TestLongMultiIsNotRemembered(t *testing.T) {
	s := New()
	s.ApplyCommand(1, 1, &Command{Session: 1, Owner: 1, Op: &NewSession{Timeout: 4000}})
	m := &Multi{}
	for range DefaultLimits().Multi + 1 {
		m.Ops = append(m.Ops, &Check{Path: "/", Version: -1})
	}
	r := s.ApplyCommand(2, 1, &Command{Session: 1, Owner: 1, Request: 1, Caller: Caller{Chroot: ClientRoot}, Op: m})
	if r.Code != BadArguments {
		t.Errorf("%v", r.Code)
	}
	if one, _ := s.sessions.get(1); len(one.outcome.Ops) != 0 {
		t.Errorf("the session remembers %d outcomes", len(one.outcome.Ops))
	}
}

func TestCodes(t *testing.T) {
	for c, want := range map[Code]string{NoNode: "NONODE (-101)", -7: "code -7", OK: "OK (0)"} {
		if c.Error() != want {
			t.Errorf("%d: %s, want %s", int32(c), c.Error(), want)
		}
	}
	if OK.Err() != nil || NoAuth.Err() != error(NoAuth) {
		t.Error("Err")
	}
	if got := fmt.Sprint(SessionMoved); got != "SESSIONMOVED (-118)" {
		t.Error(got)
	}
}
