package ha

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// A single fault of a pair in sync, and how soon who has to serve. The times are those of the simulation: a session of 2 s, and 1.5 s
// until a silent peer counts as gone.
var singleFaults = []struct {
	name  string
	do    func(s *sim, active, passive *simNode)
	takes bool          // the passive node takes over, else the active one goes on
	soon  time.Duration // until then
	place bool          // a primary gets its place back in the end, if it may
	votes bool          // it holds with the voting, too, which knows nothing of a node that is frozen or cut off
}{
	{"the active node crashes", func(s *sim, a, p *simNode) { s.crash(a) }, true, sessionTime + time.Second, true, true},
	{"it stops", func(s *sim, a, p *simNode) { a.proc.mayEnd = true; a.proc.step(StopAsked{}) }, true, time.Second, true, true},
	{"its store fails", func(s *sim, a, p *simNode) { a.proc.mayEnd = true; a.proc.step(Failed{errNoService}) }, true, time.Second, true, true},
	{"it gives way", func(s *sim, a, p *simNode) { a.proc.step(SwitchAsked{}) }, true, time.Second, false, true},
	{"it is frozen", func(s *sim, a, p *simNode) { s.freeze(a, 8*time.Second) }, true, linkTTL + sessionTime + time.Second, true, false},
	{"its network is gone", func(s *sim, a, p *simNode) {
		a.proc.step(NetworkUnhealthy{})
		s.after(8*time.Second, a.proc, func() { a.proc.step(NetworkHealthy{}) })
	}, true, time.Second, true, true},
	{"it cannot ask the store", func(s *sim, a, p *simNode) {
		s.store.cut[a.i] = true
		s.after(8*time.Second, nil, func() { s.store.cut[a.i] = false })
	}, true, 2 * sessionTime, true, false},
	{"the replica crashes", func(s *sim, a, p *simNode) { s.crash(p) }, false, 500 * time.Millisecond, false, true},
	{"the replica stops", func(s *sim, a, p *simNode) { p.proc.mayEnd = true; p.proc.step(StopAsked{}) }, false, 500 * time.Millisecond, false, true},
	{"the replica is frozen", func(s *sim, a, p *simNode) { s.freeze(p, 8*time.Second) }, false, linkTTL + 500*time.Millisecond, false, false},
	{"the nodes are cut off from each other", func(s *sim, a, p *simNode) {
		s.cut = [2]bool{true, true}
		s.cutLinks(0)
		s.cutLinks(1)
		s.after(8*time.Second, nil, func() { s.cut = [2]bool{} })
	}, false, linkTTL + 500*time.Millisecond, false, false},
	{"the replica cannot ask the store", func(s *sim, a, p *simNode) {
		s.store.cut[p.i] = true
		s.after(8*time.Second, nil, func() { s.store.cut[p.i] = false })
	}, false, time.Second, false, false},
}

// serves tells whether the node, and only that, acknowledges.
func (s *sim) serves(n *simNode) error {
	before := len(s.hist.acked)
	s.run(s.now.Add(500 * time.Millisecond))
	if s.hist.broken == nil && (len(s.hist.acked) == before || s.hist.node != n.i) {
		return fmt.Errorf("%w: %d writes acknowledged, the last by node %d, want node %d", errNoService, len(s.hist.acked)-before, s.hist.node, n.i)
	}
	return s.hist.broken
}

// settle runs until one node serves and the other is its replica in sync.
func (s *sim) settle(limit time.Duration) error {
	for until := s.now.Add(limit); ; {
		before := len(s.hist.acked)
		s.run(s.now.Add(500 * time.Millisecond))
		err := s.healed(before)
		switch {
		case s.hist.broken != nil:
			return s.hist.broken
		case err == nil:
			return nil
		case s.now > until:
			return fmt.Errorf("%w: %w", errNotHealed, err)
		}
	}
}

// oneFault brings a pair up, and then a fault.
func oneFault(kind int, seed uint64, f flaws, votes bool, trace *strings.Builder) error {
	s := newSim(seed, f, trace)
	s.brisk, s.votes = true, votes
	if votes {
		for _, n := range s.nodes {
			n.policy.Manager, n.policy.CoordinationID = nil, ""
			n.policy.Voting = Voting{CheckForActive: true, OnLoss: s.rng.IntN(2) == 0, Size: -1, Retries: 2, RetryWait: 100 * time.Millisecond, Wait: time.Second}
		}
		s.nodes[1].policy.Backup, s.nodes[1].policy.AllowFailback = true, s.rng.IntN(4) > 0
	}
	if err := s.settle(8 * time.Second); err != nil {
		return err
	}
	active, passive := s.nodes[0], s.nodes[1]
	if !active.proc.accepting {
		active, passive = passive, active
	}
	fault := singleFaults[kind]
	s.after(s.between(0, 100*time.Millisecond), nil, func() {
		s.note("%s (%d)", fault.name, active.i)
		fault.do(s, active, passive)
	})
	s.run(s.now.Add(100*time.Millisecond + fault.soon))
	serving := active
	if fault.takes {
		serving = passive
	}
	if err := s.serves(serving); err != nil {
		return err
	}
	s.run(s.now.Add(6 * time.Second))
	for _, n := range s.nodes {
		s.start(n)
	}
	if err := s.settle(15 * time.Second); err != nil {
		return err
	}
	if fault.place && s.nodes[1].policy.AllowFailback { // a backup that may
		s.run(s.now.Add(4 * time.Second))
		serving = s.nodes[0]
	}
	return s.serves(serving)
}

func TestOneFault(t *testing.T) {
	for kind, fault := range singleFaults {
		t.Run(fault.name, func(t *testing.T) { testOneFault(t, kind, false) })
		if fault.votes {
			t.Run(fault.name+", with the voting", func(t *testing.T) { testOneFault(t, kind, true) })
		}
	}
}

func testOneFault(t *testing.T, kind int, votes bool) {
	if *simSeed != 0 {
		var trace strings.Builder
		err := oneFault(kind, *simSeed, flaws{}, votes, &trace)
		t.Logf("seed %d\n%s", *simSeed, trace.String())
		if err != nil {
			t.Error(err)
		}
		return
	}
	base := rand.Uint64()>>1 | 1
	for i := range uint64(*simRuns / 50) {
		if err := oneFault(kind, base+i, flaws{}, votes, nil); err != nil {
			t.Fatalf("seed %d (-sim.seed=%[1]d prints the run): %v", base+i, err)
		}
	}
}
