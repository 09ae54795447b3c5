package quorum

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
)

// A number is a LocalSequence in memory.
type number int64

func (n *number) Load() (int64, error) { return int64(*n), nil }
func (n *number) Store(v int64) error  { *n = number(v); return nil }

func newNode(s *store, local int64) *Node {
	n := number(local)
	return &Node{ID: "node", Manager: &manager{s}, Local: &n, Log: hclog.NewNullLogger()}
}

func local(t *testing.T, n *Node) int64 {
	t.Helper()
	v, err := n.Local.Load()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTryActivate(t *testing.T) {
	for _, c := range []struct {
		name               string
		local, coordinated int64
		want               Standing
		localAfter         int64
		history            []int64 // of the coordinated sequence
	}{
		{"first start", 0, 0, InSync, 0, nil},
		{"in sync", 4, 4, InSync, 4, nil},
		{"stale", 4, 5, Stale, 4, nil},
		{"own claim, written locally", 5, -5, SelfRepair, 5, []int64{5}},
		{"claim of somebody who did not activate", 4, -5, MaybeInSync, 5, []int64{5}},
		{"claim after an activation that was missed", 4, -6, Stale, 4, nil},
	} {
		s := &store{value: c.coordinated, writes: -1}
		n := newNode(s, c.local)
		lock, got, err := n.TryActivate(t.Context())
		if err != nil || got != c.want || (lock != nil) != (c.want != Stale) {
			t.Errorf("%s: %v, %v, %v", c.name, lock, got, err)
		}
		if held := s.holder == n.Manager; held != (c.want != Stale) {
			t.Errorf("%s: lock held: %v", c.name, held)
		}
		if local(t, n) != c.localAfter || !slices.Equal(s.history, c.history) {
			t.Errorf("%s: local %d, coordinated %v", c.name, local(t, n), s.history)
		}
	}
}

// TestIncrement has the sequences that were seen between two real brokers (spec ha §3.4).
func TestIncrement(t *testing.T) {
	s := &store{writes: -1}
	p := newNode(s, 0)
	b := newNode(s, NoSequence)
	activate := func(n *Node) {
		t.Helper()
		if _, _, err := n.TryActivate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Increment(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	replicate := func(from, to *Node) { _ = to.Local.Store(local(t, from)) }
	activate(p)
	replicate(p, b)
	s.holder = nil // p is killed, its session expires
	activate(b)
	if _, standing, err := p.TryActivate(t.Context()); standing != Stale || err != nil {
		t.Fatalf("the returning primary: %v, %v", standing, err)
	}
	replicate(b, p)
	s.holder = nil // failback
	activate(p)
	replicate(p, b)
	s.holder = nil // clean stop
	activate(b)
	if want := []int64{-1, 1, -2, 2, -3, 3, -4, 4}; !slices.Equal(s.history, want) {
		t.Errorf("coordinated %v, want %v", s.history, want)
	}
}

func TestIncrementRefused(t *testing.T) {
	s := &store{value: 3, writes: -1}
	n := newNode(s, 3)
	if _, err := n.Increment(t.Context()); !errors.Is(err, ErrNotHolder) {
		t.Errorf("without the lock: %v", err)
	}
	s.holder = n.Manager.(*manager)
	s.value = 4
	if _, err := n.Increment(t.Context()); !errors.Is(err, ErrSequenceMoved) {
		t.Errorf("with another sequence: %v", err)
	}
	if local(t, n) != 3 || s.history != nil {
		t.Errorf("local %d, coordinated %v", local(t, n), s.history)
	}
	if _, _, err := newNode(s, NoSequence).TryActivate(t.Context()); !errors.Is(err, ErrNoSequence) {
		t.Errorf("without a local sequence: %v", err)
	}
	s.refused = ErrUnavailable
	if _, _, err := n.TryActivate(t.Context()); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without a store: %v", err)
	}
}

// TestWaiting lets a candidate wait for the lock until its holder lets go, and until it sees that it is stale.
func TestWaiting(t *testing.T) {
	for _, c := range []struct {
		name  string
		value int64 // before the holder lets go
		then  int64 // after 3 s
		want  Standing
		after time.Duration
	}{
		{"in sync, the lock gets free", 2, 2, InSync, 3 * time.Second},
		{"in sync, then stale", 2, 3, Stale, 4 * time.Second}, // seen after the second 2 s of attempts
		{"maybe in sync, then stale", -3, 3, Stale, 3 * time.Second},
		{"maybe in sync, the claimer dies", -3, -3, MaybeInSync, 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &store{value: c.value, writes: -1}
				other := &manager{s}
				s.holder = other
				time.AfterFunc(3*time.Second, func() {
					s.mu.Lock()
					defer s.mu.Unlock()
					s.value = c.then
					if c.want != Stale {
						s.holder = nil
					}
				})
				began := time.Now()
				_, got, err := newNode(s, 2).TryActivate(t.Context())
				if err != nil || got != c.want {
					t.Errorf("%v, %v", got, err)
				}
				if d := time.Since(began); d < c.after || d > c.after+250*time.Millisecond {
					t.Errorf("after %v, want %v", d, c.after)
				}
			})
		})
	}
}

func TestTryActivateEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{value: 1, writes: -1}
		s.holder = &manager{s}
		why := errors.New("stop")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, why)
		defer cancel()
		if _, _, err := newNode(s, 1).TryActivate(ctx); !errors.Is(err, why) {
			t.Error(err)
		}
	})
}

func TestTryLockFor(t *testing.T) {
	for _, c := range []struct {
		timeout time.Duration
		want    []time.Duration
	}{
		{0, []time.Duration{0}},
		{100 * time.Millisecond, []time.Duration{0, 100 * time.Millisecond}},
		{600 * time.Millisecond, []time.Duration{0, 250 * time.Millisecond, 500 * time.Millisecond, 600 * time.Millisecond}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &store{}
			s.holder = &manager{s}
			began := time.Now()
			if held, err := TryLockFor(t.Context(), fakeLock{&manager{s}, ""}, c.timeout); held || err != nil {
				t.Errorf("%v: %v, %v", c.timeout, held, err)
			}
			var got []time.Duration
			for _, at := range s.tries {
				got = append(got, at.Sub(began))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v: attempts at %v, want %v", c.timeout, got, c.want)
			}
		})
	}
}

func TestAwaitNext(t *testing.T) {
	for _, c := range []struct {
		then int64 // after 1 s
		want bool
	}{{2, false}, {-3, false}, {3, true}, {-4, true}, {4, true}} {
		synctest.Test(t, func(t *testing.T) {
			s := &store{value: 2}
			time.AfterFunc(time.Second, func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.value = c.then
			})
			began := time.Now()
			got, err := newNode(s, 2).AwaitNext(t.Context(), 2, 4*time.Second)
			if err != nil || got != c.want {
				t.Errorf("S=%d: %v, %v", c.then, got, err)
			}
			want := 4 * time.Second
			if c.want {
				want = time.Second
			}
			if d := time.Since(began); d < want || d > want+200*time.Millisecond {
				t.Errorf("S=%d: after %v", c.then, d)
			}
		})
	}
}
