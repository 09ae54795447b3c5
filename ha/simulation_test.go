package ha

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/ha/quorum"
)

var (
	simSeed = flag.Uint64("sim.seed", 0, "run this seed only, and print what happened")
	simRuns = flag.Int("sim.runs", 10000, "number of simulated runs")
)

// TestPairKeepsItsPromise runs random faults on a pair with a lock manager that has leases.
func TestPairKeepsItsPromise(t *testing.T) {
	if *simSeed != 0 {
		var trace strings.Builder
		_, err := simulate(*simSeed, flaws{}, &trace)
		t.Logf("seed %d\n%s", *simSeed, trace.String())
		if err != nil {
			t.Error(err)
		}
		return
	}
	base := rand.Uint64()>>1 | 1
	t.Logf("seeds %d to %d", base, base+uint64(*simRuns)-1)
	activations, writes := 0, 0
	for i := range uint64(*simRuns) {
		h, err := simulate(base+i, flaws{}, nil)
		if err != nil {
			t.Fatalf("seed %d (-sim.seed=%[1]d prints the run): %v", base+i, err)
		}
		activations += h.opened
		writes += len(h.acked)
	}
	// Runs in which nothing happens prove nothing.
	if activations < 2**simRuns || writes < 50**simRuns {
		t.Errorf("%d activations and %d acknowledged writes in %d runs", activations, writes, *simRuns)
	}
	t.Logf("%d activations, %d acknowledged writes", activations, writes)
}

// TestSimulationFindsBrokenMachines: each of these has to be caught, and by the right rule.
func TestSimulationFindsBrokenMachines(t *testing.T) {
	for name, c := range map[string]struct {
		flaws flaws
		want  []error
	}{
		"answers leave after the lease":            {flaws{ignoreDeadline: true}, []error{errTwoActive, errOldActive}},
		"the lock is stolen":                       {flaws{ignoreLock: true}, []error{errTwoActive, errOldActive, errLostWrite}},
		"answers do not wait for the replica":      {flaws{forgetGate: true}, []error{errLostWrite}},
		"released before the sequence is raised":   {flaws{machine: change(releaseEarly)}, []error{errContract}},
		"in sync before the files are sent":        {flaws{machine: func(m Machine) Machine { return hasty{m} }}, []error{errLostWrite}},
		"active without raising the sequence":      {flaws{machine: func(m Machine) Machine { return lazy{m} }}, []error{errOldActive, errLostWrite}},
		"does not come back after losing the lock": {flaws{machine: change(forgetRestart)}, []error{errNotHealed}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); seed <= 3000; seed++ {
				_, err := simulate(seed, c.flaws, nil)
				if err == nil {
					continue
				}
				for _, want := range c.want {
					if errors.Is(err, want) {
						t.Logf("seed %d: %v", seed, err)
						return
					}
				}
			}
			t.Errorf("3000 runs have not found one of %v", c.want)
		})
	}
}

// changed is a machine with other orders.
type changed struct {
	Machine
	change func([]Action) []Action
}

func change(f func([]Action) []Action) func(Machine) Machine {
	return func(m Machine) Machine { return changed{m, f} }
}

func (c changed) Step(now quorum.Instant, e Event) []Action { return c.change(c.Machine.Step(now, e)) }

// releaseEarly lets answers leave when the replica is lost, and raises the sequence after that.
func releaseEarly(in []Action) []Action {
	var out []Action
	for _, a := range in {
		out = append(out, a)
		if _, ok := a.(HoldAnswers); ok {
			out = append(out, ReleaseAnswers{})
		}
	}
	return out
}

func forgetRestart(in []Action) []Action {
	return slices.DeleteFunc(slices.Clone(in), func(a Action) bool { t, ok := a.(SetTimer); return ok && t.Timer == RestartTimer })
}

// hasty sends the finish packet first.
type hasty struct{ Machine }

func (m hasty) Step(now quorum.Instant, e Event) []Action {
	out := slices.Clone(m.Machine.Step(now, e))
	for _, a := range out {
		if _, ok := a.(StartSync); ok {
			out = append(out, m.Machine.Step(now, FilesSent{})...)
		}
	}
	return out
}

// lazy activates without raising the sequence, but for the first time.
type lazy struct{ Machine }

func (m lazy) Step(now quorum.Instant, e Event) []Action {
	var out []Action
	for _, a := range slices.Clone(m.Machine.Step(now, e)) {
		if _, ok := a.(Increment); ok && m.Status().Phase == string(raising) && m.Status().Sequence > 1 {
			out = append(out, m.Machine.Step(now, Incremented{m.Status().Sequence})...)
			continue
		}
		out = append(out, a)
	}
	return out
}

// newSim is a pair that is about to start.
func newSim(seed uint64, f flaws, trace *strings.Builder) *sim {
	s := &sim{seed: seed, rng: rand.New(rand.NewPCG(seed, 0x5a7a)), now: simStart, trace: trace, flaws: f}
	policy := ReplicationPolicy{Manager: &LockManager{}, RetryReplicationWait: time.Second, RetryInterval: 300 * time.Millisecond, MaxSavedReplicas: 2}
	s.nodes[0] = &simNode{i: 0, policy: policy, id: "N", seq: noSequence}
	policy.Backup, policy.AllowFailback = true, s.rng.IntN(4) > 0
	s.nodes[1] = &simNode{i: 1, policy: policy, id: "B", seq: noSequence}
	if s.rng.IntN(4) == 0 { // peers
		for _, n := range s.nodes {
			n.policy.Backup, n.policy.AllowFailback, n.policy.CoordinationID = false, false, "N"
		}
	}
	for _, n := range s.nodes {
		s.after(s.between(0, time.Second), nil, func() { s.start(n) })
	}
	s.clients()
	return s
}

// simulate is one run with faults at any time.
func simulate(seed uint64, f flaws, trace *strings.Builder) (*history, error) {
	s := newSim(seed, f, trace)
	for range 2 + s.rng.IntN(10) {
		s.after(s.between(500*time.Millisecond, faultTime-time.Second), nil, s.fault)
	}
	s.run(simStart.Add(faultTime))
	s.heal()
	for {
		before := len(s.hist.acked)
		s.run(s.now.Add(2 * time.Second))
		err := s.healed(before)
		if err == nil && s.now > simStart.Add(faultTime+restartTime) || s.hist.broken != nil {
			break
		}
		if s.now > simStart.Add(faultTime+healTime) {
			s.hist.fail(errNotHealed, "%v", err)
			break
		}
	}
	if s.hist.broken != nil {
		s.note("%v", s.hist.broken)
	}
	return &s.hist, s.hist.broken
}

// fault is something that goes wrong, and right again.
func (s *sim) fault() {
	i := s.rng.IntN(2)
	n := s.nodes[i]
	d := s.between(100*time.Millisecond, 6*time.Second)
	later := func(f func()) { s.after(d, nil, f) }
	flip := func(what string, bits ...*bool) {
		s.note("%s, for %v (%d)", what, d, i)
		for _, b := range bits {
			*b = true
		}
		later(func() {
			for _, b := range bits {
				*b = false
			}
		})
	}
	switch s.rng.IntN(15) {
	case 0, 1:
		s.crash(n)
		later(func() { s.start(n) })
	case 2:
		if p := n.proc; p != nil {
			s.after(0, p, func() { p.mayEnd = true; p.step(StopAsked{Failover: s.rng.IntN(2) == 0}) })
		}
		later(func() { s.start(n) })
	case 3, 4:
		s.freeze(n, d)
	case 5:
		flip("one way between the nodes is cut", &s.cut[i])
		s.cutLinks(i)
	case 6:
		flip("the nodes are cut off from each other", &s.cut[0], &s.cut[1])
		s.cutLinks(0)
		s.cutLinks(1)
	case 7:
		bits := [][]*bool{{&s.store.cut[i]}, {&s.store.deaf[i]}, {&s.store.cut[i], &s.store.deaf[i]}}
		flip("a way to the store is cut", bits[s.rng.IntN(3)]...)
	case 8:
		flip("the store is away", &s.store.down)
	case 9:
		if p := n.proc; p != nil {
			s.after(0, p, func() { p.step(SwitchAsked{}) })
		}
	case 10, 11: // at whatever it does next
		n.trap = 1 + s.rng.IntN(40)
		s.note("node %d will crash %d orders later", i, n.trap)
		s.after(d+time.Second, nil, func() { n.trap = 0; s.start(n) })
	case 12:
		if p := n.proc; p != nil {
			s.note("the store of node %d fails", i)
			s.after(0, p, func() { p.mayEnd = true; p.step(Failed{errNoService}) })
		}
		later(func() { s.start(n) })
	case 13:
		if p := n.proc; p != nil {
			s.note("node %d finds the network gone, for %v", i, d)
			s.after(0, p, func() { p.step(NetworkUnhealthy{}) })
			s.after(d, p, func() { p.step(NetworkHealthy{}) })
		}
	case 14: // all ways of a node
		flip("a node is cut off", &s.cut[0], &s.cut[1], &s.store.cut[i], &s.store.deaf[i])
		s.cutLinks(0)
		s.cutLinks(1)
	}
}

// cutLinks loses what is under way from that node, and what follows.
func (s *sim) cutLinks(from int) {
	p := s.nodes[from].proc
	if p == nil {
		return
	}
	for _, l := range p.links() {
		e := l.end(p)
		l.dead[e] = true
		s.expect(l, 1-e, linkTTL)
	}
}

// heal ends all faults.
func (s *sim) heal() {
	s.note("all faults end")
	s.cut, s.store.cut, s.store.deaf, s.store.down = [2]bool{}, [2]bool{}, [2]bool{}, false
	for _, n := range s.nodes {
		n.trap = 0
		s.after(restartTime, nil, func() { s.start(n) })
	}
}

// healed tells what is missing: one node serves, the other is its replica in sync, and writes are acknowledged.
func (s *sim) healed(before int) error {
	serving, synced := 0, 0
	phases := ""
	for _, n := range s.nodes {
		if n.proc == nil {
			continue
		}
		st := n.proc.m.Status()
		phases += st.Phase + " "
		if n.proc.accepting && n.proc.deadline.Live(s.now) {
			serving++
		} else if st.Backup && st.ReplicaSync {
			synced++
		}
	}
	if serving != 1 || synced != 1 || len(s.hist.acked) == before {
		return fmt.Errorf("%d serve, %d in sync, %d writes acknowledged at the end: %s", serving, synced, len(s.hist.acked)-before, phases)
	}
	return nil
}
