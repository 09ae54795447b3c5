package curator

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/saranga-mq/saranga/ha/quorum"
)

const id = "d81f6a2c-ecb1-11f1-a88d-02fc00000001"

func mustLock(t tb, m *Manager, id string) *Lock {
	t.Helper()
	l, err := m.Lock(id)
	if err != nil {
		t.Fatal(err)
	}
	return l.(*Lock)
}

func mustLong(t tb, m *Manager, id string) *Long {
	t.Helper()
	l, err := m.Long(id)
	if err != nil {
		t.Fatal(err)
	}
	return l.(*Long)
}

func try(t tb, l *Lock, want bool) {
	t.Helper()
	if held, err := l.TryLock(context.Background()); err != nil || held != want {
		t.Fatalf("tryLock: %v, %v, want %v", held, err, want)
	}
}

// TestLayout compares the nodes with those that a real Artemis made (spec ha §3.6; the recording of its first activation).
func TestLayout(t *testing.T) {
	w := newWorld()
	m := start(t, w.session(1, time.Hour), Options{Namespace: "saranga"})
	defer m.Stop()
	l := mustLock(t, m, id)
	try(t, l, true)
	const uuid = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`
	dir := "/saranga/" + id
	if want := []string{
		"create /", "create /saranga", "create " + dir, "create " + dir + "/locks", "create " + dir + "/locks/locks", // four folders, the turn
		"create " + dir + "/locks", "create " + dir + "/locks/leases", // a folder, the lease
		"delete " + dir + "/locks/locks",
	}; !slices.Equal(w.log, want) {
		t.Errorf("writes %q, want %q", w.log, want)
	}
	leases := w.names(dir + "/locks/leases")
	if len(leases) != 1 || !regexp.MustCompile(`^_c_`+uuid+`-lease-0000000000$`).MatchString(leases[0]) {
		t.Fatalf("leases %q", leases)
	}
	data, stat := w.get(t, dir+"/locks/leases/"+leases[0])
	if !regexp.MustCompile("^"+uuid+"$").MatchString(data) || stat.EphemeralOwner != 1 {
		t.Errorf("lease %q of session %d", data, stat.EphemeralOwner)
	}
	if turns := w.names(dir + "/locks/locks"); len(turns) != 0 {
		t.Errorf("locks %q", turns)
	}
	n := mustLong(t, m, id)
	if err := n.Set(t.Context(), -1); err != nil {
		t.Fatal(err)
	}
	if data, stat := w.get(t, dir+"/activation-sequence"); data != "\xff\xff\xff\xff\xff\xff\xff\xff" || stat.EphemeralOwner != 0 {
		t.Errorf("activation-sequence %x", data)
	}
	if err := l.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if leases := w.names(dir + "/locks/leases"); len(leases) != 0 {
		t.Errorf("leases after unlock %q", leases)
	}
	// Data of the node that is somebody's turn.
	turn, err := m.live.create(t.Context(), l.turns(), "lock-", []byte(m.live.session.Address()))
	if err != nil {
		t.Fatal(err)
	}
	if data, _ := w.get(t, l.turns()+"/"+turn); data != "192.0.2.1" || !regexp.MustCompile(`^_c_`+uuid+`-lock-0000000001$`).MatchString(turn) {
		t.Errorf("%s: %q", turn, data)
	}
}

func TestTwoManagers(t *testing.T) {
	w := newWorld()
	a := start(t, w.session(1, time.Hour), Options{})
	b := start(t, w.session(2, time.Hour), Options{})
	defer b.Stop()
	la, lb := mustLock(t, a, id), mustLock(t, b, id)
	if la != mustLock(t, a, id) {
		t.Error("two instances of one lock")
	}
	try(t, la, true)
	try(t, lb, false)
	if _, err := la.TryLock(t.Context()); !errors.Is(err, quorum.ErrHeld) {
		t.Errorf("a second tryLock: %v", err)
	}
	for l, want := range map[*Lock]bool{la: true, lb: false} {
		if held, err := l.HeldByCaller(t.Context()); err != nil || held != want {
			t.Errorf("held: %v, %v, want %v", held, err, want)
		}
	}
	try(t, mustLock(t, b, "another"), true)
	a.Stop()
	try(t, lb, true)
	if _, err := a.Lock(id); !errors.Is(err, quorum.ErrNotStarted) {
		t.Errorf("lock of a stopped manager: %v", err)
	}
	if _, err := la.TryLock(t.Context()); !errors.Is(err, quorum.ErrUnavailable) {
		t.Errorf("tryLock of a stopped manager: %v", err)
	}
}

// TestForeignTurn: as long as somebody else has his turn nobody tries, whatever he does with it.
func TestForeignTurn(t *testing.T) {
	w := newWorld()
	a := start(t, w.session(1, time.Hour), Options{})
	b := start(t, w.session(2, time.Hour), Options{})
	defer a.Stop()
	defer b.Stop()
	l := mustLock(t, a, id)
	turn, err := b.live.create(t.Context(), l.turns(), "lock-", nil)
	if err != nil {
		t.Fatal(err)
	}
	try(t, l, false)
	if names := w.names(l.turns()); len(names) != 1 {
		t.Errorf("turns %q", names)
	}
	if err := b.live.remove(t.Context(), l.turns(), turn); err != nil {
		t.Fatal(err)
	}
	try(t, l, true)
}

// TestOneHolder lets many goroutines fight for a lock.
func TestOneHolder(t *testing.T) {
	w := newWorld()
	var holders, got atomic.Int32
	var all sync.WaitGroup
	for n := range 4 {
		m := start(t, w.session(int64(n+1), time.Hour), Options{})
		defer m.Stop()
		for range 2 {
			l := mustLock(t, m, id)
			all.Go(func() {
				for range 50 {
					held, err := l.TryLock(t.Context())
					if err != nil && !errors.Is(err, quorum.ErrHeld) {
						t.Error(err)
					}
					if !held {
						continue
					}
					if n := holders.Add(1); n != 1 {
						t.Errorf("%d holders", n)
					}
					got.Add(1)
					if ok, err := l.HeldByCaller(t.Context()); !ok || err != nil {
						t.Errorf("not held: %v", err)
					}
					holders.Add(-1)
					if err := l.Unlock(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	if got.Load() == 0 {
		t.Error("nobody ever got it")
	}
}

// TestLease follows the lease of a lock through renewals, silence and the loss of the session. T is 9 s.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := w.session(1, 9*time.Second)
		began := time.Now()
		now := func() quorum.Instant { return 1000 + quorum.Instant(time.Since(began)) }
		m := start(t, s, Options{Now: now})
		defer m.Stop()
		l := mustLock(t, m, id)
		if l.Lease() != 0 {
			t.Error("a lease without the lock")
		}
		<-l.Lost() // what isn't held counts as lost
		try(t, l, true)
		want := func(sent time.Duration) {
			t.Helper()
			if got, want := l.Lease(), quorum.Instant(1000).Add(sent+9*time.Second*5/8); got != want {
				t.Errorf("at %v the lease is %v, want %v", time.Since(began), got, want)
			}
		}
		want(0)
		lost := l.Lost()
		wait := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		wait(999 * time.Millisecond)
		want(0)
		wait(time.Millisecond)
		want(time.Second)
		wait(5 * time.Second)
		want(6 * time.Second)
		w.mu.Lock()
		s.fault = func(string) (bool, bool) { return true, true } // no answer counts
		w.mu.Unlock()
		wait(2 * time.Second)
		want(6 * time.Second)
		w.mu.Lock()
		s.fault = nil
		w.mu.Unlock()
		wait(500 * time.Millisecond)
		s.moved <- struct{}{} // a reconnection renews at once
		wait(time.Millisecond)
		want(8500 * time.Millisecond)
		w.mu.Lock()
		s.fault = func(string) (bool, bool) { return true, true }
		s.timeout = 3 * time.Second // another server grants less: what the old time gave is too long
		w.mu.Unlock()
		s.moved <- struct{}{}
		wait(time.Millisecond)
		if got, most := l.Lease(), now().Add(3*time.Second*5/8); got > most {
			t.Errorf("the lease is %v too long for the new session time", got.Sub(most))
		}
		w.mu.Lock()
		s.fault = nil
		w.mu.Unlock()
		select {
		case <-lost:
			t.Error("the lock counts as lost")
		case <-m.Unavailable():
			t.Error("the manager counts as unavailable")
		default:
		}
		s.expire()
		<-lost
		<-m.Unavailable()
		synctest.Wait()
		if l.Lease() != 0 {
			t.Error("a lease of a session that is lost")
		}
		<-l.Lost()
		if _, err := l.TryLock(t.Context()); !errors.Is(err, quorum.ErrUnavailable) {
			t.Errorf("tryLock: %v", err)
		}
		if _, err := l.HeldByCaller(t.Context()); !errors.Is(err, quorum.ErrUnavailable) {
			t.Errorf("heldByCaller: %v", err)
		}
	})
}

// TestNodeGone: a lock whose node was removed by somebody is lost, when the lease is renewed or when the store is asked.
func TestNodeGone(t *testing.T) {
	for _, ask := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			s := w.session(1, 9*time.Second)
			m := start(t, s, Options{})
			defer m.Stop()
			l := mustLock(t, m, id)
			try(t, l, true)
			lost := l.Lost()
			if err := s.Delete(t.Context(), l.leases()+"/"+w.names(l.leases())[0]); err != nil {
				t.Fatal(err)
			}
			if ask {
				if held, err := l.HeldByCaller(t.Context()); held || err != nil {
					t.Errorf("%v, %v", held, err)
				}
			}
			<-lost
			try(t, l, true)
		})
	}
}

func TestLong(t *testing.T) {
	w := newWorld()
	s := w.session(1, time.Hour)
	m := start(t, s, Options{Namespace: "n/m"})
	defer m.Stop()
	n := mustLong(t, m, id)
	want := func(want int64) {
		t.Helper()
		if got, err := n.Get(t.Context()); err != nil || got != want {
			t.Errorf("%d, %v, want %d", got, err, want)
		}
	}
	want(0)
	for _, c := range []struct {
		expected, value int64
		done            bool
		after           int64
	}{{1, 5, false, 0}, {0, -1, true, -1}, {0, 7, false, -1}, {-1, 1, true, 1}} {
		if done, err := n.CompareAndSet(t.Context(), c.expected, c.value); err != nil || done != c.done {
			t.Errorf("compareAndSet %d %d: %v, %v", c.expected, c.value, done, err)
		}
		want(c.after)
	}
	if err := n.Set(t.Context(), 9); err != nil {
		t.Fatal(err)
	}
	want(9)
	for data, ok := range map[string]bool{"": true, "1234567": false} {
		if err := s.Set(t.Context(), n.path, []byte(data), AnyVersion); err != nil {
			t.Fatal(err)
		}
		if v, err := n.Get(t.Context()); (err == nil) != ok || v != 0 {
			t.Errorf("data %q: %d, %v", data, v, err)
		}
	}
	if err := n.Set(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	// Somebody writes between the read and the write of compareAndSet.
	other := start(t, w.session(2, time.Hour), Options{Namespace: "n/m"})
	defer other.Stop()
	w.mu.Lock()
	s.fault = func(op string) (bool, bool) {
		if op == "set" {
			s.fault = nil
			w.apply(2, setData(n.path, 4))
		}
		return true, false
	}
	w.mu.Unlock()
	if done, err := n.CompareAndSet(t.Context(), 3, 5); done || err != nil {
		t.Errorf("compareAndSet with another writer: %v, %v", done, err)
	}
	want(4)
}

func TestBadIDs(t *testing.T) {
	m := start(t, newWorld().session(1, time.Hour), Options{})
	defer m.Stop()
	for _, id := range []string{"", ".", "a/..", "a//b", "a\x00", "/a", "a/"} {
		if _, err := m.Lock(id); !errors.Is(err, quorum.ErrBadID) {
			t.Errorf("lock %q: %v", id, err)
		}
	}
	if _, err := New(Options{Namespace: "a//b"}, nil); err == nil {
		t.Error("a bad namespace was taken")
	}
}
