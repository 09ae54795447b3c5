package raftfsm

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// keepAlive touches sessions on a member several times a second until stop is called.
func keepAlive(l *lab, on string, clients ...*client) (stop func()) {
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			if m := l.member(on); m != nil {
				for _, c := range clients {
					m.Touch(c.session, c.owner, 0)
				}
			}
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	return sync.OnceFunc(func() { close(done); running.Wait() })
}

func (l *lab) session(id string, session int64) (known bool) {
	l.member(id).Read(func(v *tree.View) { _, known = v.Session(session) })
	return known
}

// A session whose client is silent is expired with its nodes; one that is heard of on any member is not.
func TestSilentSessionExpires(t *testing.T) {
	l := newLab(t, 3)
	l.startAll()
	leader, follower := l.leader(), l.followers()[0]
	silent := l.connect(l.member(follower), 1, time.Second)
	onFollower := l.connect(l.member(follower), 2, time.Second)
	onLeader := l.connect(l.member(leader), 3, time.Second)
	defer keepAlive(l, follower, onFollower)()
	defer keepAlive(l, leader, onLeader)()
	silent.must(create("/gone", "", tree.Ephemeral))
	began := time.Now()
	until(t, "the silent session is expired", func() bool { return !l.session(follower, 1) })
	if took := time.Since(began); took < time.Second-10*time.Millisecond {
		t.Errorf("expired after %v, its timeout is 1 s", took)
	}
	if _, code := l.get(follower, "/gone"); code != tree.NoNode {
		t.Errorf("its node: %v", code)
	}
	wait(1500 * time.Millisecond)
	if !l.session(leader, 2) || !l.session(leader, 3) {
		t.Error("a living session was expired")
	}
}

// A lock holder counts its lease from the sending of a write, so a session does not expire within its timeout of one, whatever became of the reports.
func TestWritesKeepASessionAlive(t *testing.T) {
	l := newLab(t, 3)
	l.startAll()
	c := l.connect(l.member(l.followers()[0]), 1, time.Second)
	c.must(create("/x", "", tree.Ephemeral))
	for began := time.Now(); time.Since(began) < 4*time.Second; wait(100 * time.Millisecond) {
		c.must(&tree.SetData{Path: "/x", Version: -1}) // no touches
	}
}

// The leader is cut off for longer than the session timeout and comes back: no session of a living client expires (spec/ha.md 7, 16b), neither by
// the new leader nor by the old one.
func TestLeaderCutOffAndBack(t *testing.T) {
	l := newLab(t, 3)
	l.startAll()
	old := l.leader()
	on := l.followers()
	first := l.connect(l.member(on[0]), 1, 3*time.Second)
	second := l.connect(l.member(on[1]), 2, 3*time.Second)
	defer keepAlive(l, on[0], first)()
	defer keepAlive(l, on[1], second)()
	first.must(create("/one", "", tree.Ephemeral))
	l.isolate(old)
	until(t, "the old leader is not fresh", func() bool { return !l.member(old).Fresh() })
	until(t, "the others have a leader", func() bool {
		for _, id := range on {
			if m := l.member(id); m.Fresh() && m.Role() == "leader" {
				return true
			}
		}
		return false
	})
	second.must(create("/two", "", tree.Ephemeral))
	wait(4 * time.Second)
	l.heal()
	until(t, "the old leader is fresh again", func() bool { return l.member(old).Fresh() })
	wait(4 * time.Second)
	for _, path := range []string{"/one", "/two"} {
		if _, code := l.get(old, path); code != tree.OK {
			t.Errorf("%s: %v", path, code)
		}
	}
	l.same()
}

// A follower that is cut off stops serving within Freshness, which is less than what the smallest session timeout grants.
func TestFollowerCutOffIsNotFresh(t *testing.T) {
	l := newLab(t, 3)
	l.startAll()
	id := l.followers()[0]
	until(t, "fresh", l.member(id).Fresh)
	l.isolate(id)
	began := time.Now()
	until(t, "not fresh", func() bool { return !l.member(id).Fresh() })
	limit := l.member(id).cfg.Timing.Freshness
	if took := time.Since(began); took > limit+limit/4+500*time.Millisecond {
		t.Errorf("fresh for %v after the cut, with a limit of %v", took, limit)
	}
	l.heal()
	until(t, "fresh again", l.member(id).Fresh)
}

// The leader's sweep deletes a container that has lost its last child, and no other.
func TestSweep(t *testing.T) {
	l := newLab(t, 3)
	l.config = func(_ string, c *Config) { c.Timing.Sweep = 200 * time.Millisecond }
	l.startAll()
	c := l.connect(l.member(l.followers()[0]), 1, time.Minute)
	for _, path := range []string{"/never", "/used", "/full"} {
		c.must(create(path, "", tree.Container))
	}
	c.must(create("/used/x", "", tree.Persistent))
	c.must(create("/full/x", "", tree.Persistent))
	c.must(&tree.Delete{Path: "/used/x", Version: -1})
	until(t, "the empty container is gone", func() bool { return !slices.Contains(l.children("a", "/"), "used") })
	l.same()
	if got := l.children("a", "/"); !slices.Equal(got, []string{"full", "never", "zookeeper"}) {
		t.Errorf("left: %v", got)
	}
}

// recorder notes what a Listener is told, and that nothing is read meanwhile.
type recorder struct {
	zxids    []int64
	restored int
}

func (r *recorder) Applied(q *tree.Result) { r.zxids = append(r.zxids, q.Zxid) }
func (r *recorder) Restored()              { r.restored++ }

// A listener hears of every entry, in order, before Propose returns; and of a snapshot that replaced the state.
func TestListener(t *testing.T) {
	l := newLab(t, 3)
	l.startAll()
	m := l.member(l.followers()[0])
	r := &recorder{}
	stop := m.Listen(r)
	c := l.connect(m, 1, time.Minute)
	for range 20 {
		c.must(create("/x-", "", tree.PersistentSequential))
	}
	seen := len(r.zxids) // every entry was heard before its Propose returned
	stop()
	c.must(create("/after", "", tree.Persistent))
	if seen < 21 || len(r.zxids) != seen || !slices.IsSorted(r.zxids) || r.restored != 0 {
		t.Errorf("heard %d then %d of %v, restored %d", seen, len(r.zxids), r.zxids, r.restored)
	}
}
