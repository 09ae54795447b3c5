package curator

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/raftfsm/tree"
)

func setData(p string, v int64) *tree.SetData {
	return &tree.SetData{Path: p, Data: binary.BigEndian.AppendUint64(nil, uint64(v)), Version: -1}
}

// TestLostAnswers runs three managers whose operations are lost on the way there or back, at random. Never have two of them the
// lock, and when the connections are good again nothing of earlier attempts is in the way.
func TestLostAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		var sessions []*faultySession
		var locks []*Lock
		plan := rapid.SliceOfN(rapid.IntRange(0, 5), 20, 80).Draw(t, "plan")
		fault := func(string) (done, lost bool) {
			if len(plan) == 0 {
				return true, false
			}
			n := plan[0]
			plan = plan[1:]
			return n != 0, n <= 1 // 0: lost on the way there, 1: on the way back
		}
		for n := range 3 {
			s := w.session(int64(n+1), time.Hour)
			m := start(t, s, Options{Retries: rapid.IntRange(0, 2).Draw(t, "retries")})
			defer m.Stop()
			sessions = append(sessions, s)
			locks = append(locks, mustLock(t, m, id))
			s.fault = fault
		}
		holders := func() (n int) {
			for _, l := range locks {
				if l.Lease() != 0 {
					n++
				}
			}
			return n
		}
		for range rapid.IntRange(5, 20).Draw(t, "steps") {
			l := rapid.SampledFrom(locks).Draw(t, "lock")
			switch rapid.IntRange(0, 3).Draw(t, "do") {
			case 0, 1:
				if _, err := l.TryLock(context.Background()); err != nil && !errors.Is(err, quorum.ErrUnavailable) && !errors.Is(err, quorum.ErrHeld) {
					t.Fatal(err)
				}
			case 2:
				if err := l.Unlock(context.Background()); err != nil && !errors.Is(err, quorum.ErrUnavailable) {
					t.Fatal(err)
				}
			case 3:
				before := l.Lease() != 0
				held, err := l.HeldByCaller(context.Background())
				if err == nil && held != before {
					t.Fatalf("held: %v, was %v", held, before)
				}
			}
			if n := holders(); n > 1 {
				t.Fatalf("%d holders", n)
			}
		}
		w.mu.Lock()
		for _, s := range sessions {
			s.fault = nil
		}
		w.mu.Unlock()
		for _, l := range locks {
			if err := l.Unlock(context.Background()); err != nil {
				t.Fatal(err)
			}
			if err := l.live.sweep(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		if turns, leases := w.names(locks[0].turns()), w.names(locks[0].leases()); len(turns)+len(leases) > 0 {
			t.Fatalf("left behind: %q %q", turns, leases)
		}
		if held, err := locks[0].TryLock(context.Background()); !held || err != nil {
			t.Fatalf("tryLock: %v, %v", held, err)
		}
	})
}

// TestLostAnswerOfCreate: the node of a creation whose answer was lost is found again, not made twice.
func TestLostAnswerOfCreate(t *testing.T) {
	w := newWorld()
	s := w.session(1, time.Hour)
	m := start(t, s, Options{Retries: 1})
	defer m.Stop()
	l := mustLock(t, m, id)
	try(t, l, true)
	_ = l.Unlock(t.Context())
	lost := 0
	s.fault = func(op string) (bool, bool) {
		if op == "create" {
			lost++
			return true, true
		}
		return true, false
	}
	try(t, l, true)
	if lost != 2 { // of the turn and of the lease, each made once
		t.Errorf("%d creations", lost)
	}
}

// TestCompareAndSetLostAnswer: the value itself tells whether a write whose answer was lost was done.
func TestCompareAndSetLostAnswer(t *testing.T) {
	for _, done := range []bool{false, true} {
		for _, first := range []int64{0, 3} { // absent, present
			w := newWorld()
			s := w.session(1, time.Hour)
			m := start(t, s, Options{Retries: 1})
			n := mustLong(t, m, id)
			if err := n.Set(t.Context(), 1); err != nil { // makes the folders
				t.Fatal(err)
			}
			if first == 0 {
				_ = s.Delete(t.Context(), n.path)
			} else if err := n.Set(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			s.fault = func(op string) (bool, bool) {
				if op == "set" || op == "create" {
					s.fault = nil
					return done, true
				}
				return true, false
			}
			if ok, err := n.CompareAndSet(t.Context(), first, -4); !ok || err != nil {
				t.Errorf("done %v, from %d: %v, %v", done, first, ok, err)
			}
			if v, err := n.Get(t.Context()); v != -4 || err != nil {
				t.Errorf("done %v, from %d: %d, %v", done, first, v, err)
			}
			m.Stop()
		}
	}
}

// TestRetries counts how often an operation is tried, and when.
func TestRetries(t *testing.T) {
	for _, c := range []struct{ retries, tries int }{{0, 1}, {1, 2}, {3, 4}, {-1, 100}} {
		synctest.Test(t, func(t *testing.T) {
			s := newWorld().session(1, time.Hour)
			m := start(t, s, Options{Retries: c.retries, RetryPause: time.Second})
			defer m.Stop()
			n := mustLong(t, m, id)
			tries := 0
			s.fault = func(string) (bool, bool) {
				tries++
				return tries == 100, tries != 100
			}
			began := time.Now()
			_, err := n.Get(t.Context())
			if c.retries >= 0 && !errors.Is(err, quorum.ErrUnavailable) || c.retries < 0 && err != nil {
				t.Errorf("%d retries: %v", c.retries, err)
			}
			if d := time.Since(began); tries != c.tries || d != time.Duration(c.tries-1)*time.Second {
				t.Errorf("%d retries: %d tries in %v", c.retries, tries, d)
			}
		})
	}
}

// TestContext: an attempt that its caller gave up leaves nothing behind for long.
func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := w.session(1, 9*time.Second)
		m := start(t, s, Options{Retries: 1, RetryPause: time.Second})
		defer m.Stop()
		l := mustLock(t, m, id)
		try(t, l, true)
		_ = l.Unlock(t.Context())
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		s.fault = func(op string) (bool, bool) {
			if op == "create" {
				cancel(why) // the node is made, but nobody waits for the answer
			}
			return true, op == "create"
		}
		if _, err := l.TryLock(ctx); !errors.Is(err, why) {
			t.Errorf("%v", err)
		}
		if len(w.names(l.turns())) != 1 {
			t.Fatal("the test is pointless: nothing was left behind")
		}
		time.Sleep(time.Second) // keep's next turn
		synctest.Wait()
		if names := w.names(l.turns()); len(names) != 0 {
			t.Errorf("left behind: %q", names)
		}
	})
}
