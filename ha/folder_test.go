package ha

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// A folderSim is a pair on one shared folder: state, two locks, processes that crash, stop and freeze. What it shows: the store is
// open in one process at a time, and after all faults one node serves and the other waits.
type folderSim struct {
	rng    *rand.Rand
	now    quorum.Instant
	queue  eventQueue
	order  int
	state  byte
	locks  [3]*folderProc // 1 and 2 are used
	opened *folderProc    // has the store open
	nodes  [2]*folderNode
	broken error
	flaws  folderFlaws
}

// folderFlaws are ways to be wrong.
type folderFlaws struct {
	machine func(Machine) Machine
	steal   bool // the primary lock is taken whoever holds it
}

type folderNode struct {
	policy SharedStorePolicy
	proc   *folderProc
	trap   int // so many orders from now on the process crashes; 0: never
}

type folderProc struct {
	s       *folderSim
	n       *folderNode
	m       Machine
	timers  map[Timer]int
	waits   int
	frozen  bool
	delayed []func()
}

var (
	errTwoOpen = errors.New("the store is open twice")
	errKeeps   = errors.New("a node that neither serves nor wants to keeps the primary lock")
)

func (s *folderSim) after(d time.Duration, p *folderProc, f func()) {
	s.order++
	s.queue.push(simEvent{s.now.Add(d), s.order, nil, func() {
		switch {
		case p == nil:
			f()
		case p.n.proc != p:
		case p.frozen:
			p.delayed = append(p.delayed, f)
		default:
			f()
		}
	}})
}

func (s *folderSim) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(s.rng.Int64N(int64(hi-lo)+1))
}

func (s *folderSim) run(d time.Duration) {
	until := s.now.Add(d)
	for len(s.queue) > 0 && s.queue[0].at <= until && s.broken == nil {
		e := s.queue.pop()
		s.now = e.at
		e.f()
	}
	s.now = until
}

func (s *folderSim) start(n *folderNode) {
	if n.proc == nil {
		m := n.policy.Machine()
		if s.flaws.machine != nil {
			m = s.flaws.machine(m)
		}
		n.proc = &folderProc{s: s, n: n, m: m, timers: map[Timer]int{}}
		n.proc.step(Started{NodeID: "N", Sequence: -1})
	}
}

// end is the end of the process: the kernel lets its locks go.
func (p *folderProc) end() {
	p.n.proc = nil
	for i := range p.s.locks {
		p.unlock(i)
	}
	if p.s.opened == p {
		p.s.opened = nil
	}
	if q := p.peer(); q != nil {
		p.s.after(10*time.Millisecond, q, func() { q.step(BackupHidden{}) })
	}
}

func (p *folderProc) peer() *folderProc {
	for _, n := range p.s.nodes {
		if n != p.n {
			return n.proc
		}
	}
	return nil
}

func (p *folderProc) tryLock(i int) bool {
	if p.s.locks[i] == nil || p.s.flaws.steal && i == 1 {
		p.s.locks[i] = p
	}
	return p.s.locks[i] == p
}

func (p *folderProc) unlock(i int) {
	if p.s.locks[i] == p {
		p.s.locks[i] = nil
	}
}

func (p *folderProc) step(e Event) {
	for _, a := range slices.Clone(p.m.Step(p.s.now, e)) {
		if p.n.proc != p {
			return
		}
		p.do(a)
		if p.n.trap > 0 && p.n.proc == p {
			if p.n.trap--; p.n.trap == 0 {
				p.end()
			}
		}
	}
	switch phase(p.m.Status().Phase) {
	case isolated, awaitingLive:
		if p.s.locks[1] == p && p.s.broken == nil {
			p.s.broken = fmt.Errorf("%w: %s", errKeeps, p.m.Status().Phase)
		}
	}
}

// until tries again and again, as long as the order stands, and then hands on the fact.
func (p *folderProc) until(every time.Duration, try func() bool, e Event) {
	waits := p.waits
	var again func()
	again = func() {
		switch {
		case p.waits != waits:
		case try():
			p.s.after(p.s.between(0, 20*time.Millisecond), p, func() {
				if p.waits == waits {
					p.step(e)
				}
			})
		default:
			p.s.after(every, p, again)
		}
	}
	p.s.after(time.Millisecond, p, again)
}

func (p *folderProc) do(a Action) {
	s := p.s
	soon := func(lo, hi time.Duration, e Event) { s.after(s.between(lo, hi), p, func() { p.step(e) }) }
	const lockPeriod, look = 500 * time.Millisecond, 2 * time.Second
	switch a := a.(type) {
	case SetTimer:
		p.timers[a.Timer]++
		set := p.timers[a.Timer]
		s.after(a.After, p, func() {
			if p.timers[a.Timer] == set {
				p.step(TimerFired{a.Timer})
			}
		})
	case StopTimer:
		p.timers[a.Timer]++
	case Cancel:
		p.waits++
	case Exit:
		p.end()
	case Load:
		if s.opened != nil && s.broken == nil {
			s.broken = errTwoOpen
		}
		if s.locks[1] != p && s.broken == nil {
			s.broken = errTwoOpen
		}
		s.opened = p
		soon(10*time.Millisecond, 800*time.Millisecond, Loaded{})
	case CloseStore:
		s.opened = nil
	case StopServing:
		soon(time.Millisecond, 300*time.Millisecond, ServingStopped{})
	case JoinCluster:
		soon(time.Millisecond, 50*time.Millisecond, ClusterJoined{})
	case AnnounceBackup, AnnounceActive:
		for _, n := range s.nodes { // whoever is there later learns it as well
			if n.proc != nil {
				q := n.proc
				s.after(20*time.Millisecond, q, func() {
					if r := q.peer(); q.m.Status().Active && r != nil && !r.m.Status().Active {
						q.step(BackupShown{})
					}
				})
			}
		}
	case ProbePrimaryLock:
		soon(time.Millisecond, time.Millisecond, PrimaryLockProbed{s.locks[1] != nil})
	case LockPrimary:
		s.state = 'F'
		p.until(lockPeriod, func() bool { return p.tryLock(1) }, PrimaryLocked{})
	case LockBackup:
		p.until(lockPeriod, func() bool { return p.tryLock(2) }, BackupLocked{"N"})
	case AwaitPrimary:
		p.until(lockPeriod, func() bool {
			if s.state == '0' || !p.tryLock(1) {
				return false
			}
			if s.state == 'L' {
				return true
			}
			p.unlock(1)
			return false
		}, TakenOver{})
	case Activate:
		s.state = 'L'
	case ReleaseBackupLock:
		p.unlock(2)
	case CheckFailback:
		soon(time.Millisecond, time.Millisecond, FailbackChecked{s.state == 'F'})
	case ReleasePrimaryLock:
		if s.opened == p && s.broken == nil {
			s.broken = errTwoOpen // may come of it
		}
		if a.Paused && s.locks[1] == p {
			s.state = 'P'
		}
		p.unlock(1)
	case AwaitActive:
		p.until(look, func() bool { return s.state == 'L' }, ActiveSeen{})
	}
}

func simulateFolder(seed uint64, f folderFlaws) error {
	s := &folderSim{rng: rand.New(rand.NewPCG(seed, 1)), now: simStart, state: '0', flaws: f}
	failover := s.rng.IntN(2) == 0
	s.nodes[0] = &folderNode{policy: SharedStorePolicy{FailoverOnShutdown: failover}}
	s.nodes[1] = &folderNode{policy: SharedStorePolicy{Backup: true, AllowFailback: s.rng.IntN(3) > 0, RestartBackup: true, FailoverOnShutdown: failover}}
	for _, n := range s.nodes {
		s.after(s.between(0, 3*time.Second), nil, func() { s.start(n) })
	}
	for range 1 + s.rng.IntN(8) {
		s.after(s.between(time.Second, 30*time.Second), nil, func() {
			n := s.nodes[s.rng.IntN(2)]
			p := n.proc
			later := s.between(100*time.Millisecond, 5*time.Second)
			switch kind := s.rng.IntN(7); {
			case kind == 6:
				n.trap = 1 + s.rng.IntN(20)
				s.after(later, nil, func() { n.trap = 0 })
			case p == nil:
			case kind == 5:
				s.after(0, p, func() { p.step(NetworkUnhealthy{}) })
				s.after(later, p, func() { p.step(NetworkHealthy{}) })
			case kind == 4:
				s.after(0, p, func() { p.step(Failed{errTwoOpen}) })
			case kind == 0:
				p.end()
			case kind == 1:
				s.after(0, p, func() { p.step(StopAsked{Failover: s.rng.IntN(2) == 0}) })
			case kind == 2:
				s.after(0, p, func() { p.step(SwitchAsked{}) })
			default:
				p.frozen = true
				s.after(later, nil, func() {
					p.frozen = false
					for len(p.delayed) > 0 && n.proc == p {
						f := p.delayed[0]
						p.delayed = p.delayed[1:]
						f()
					}
				})
			}
			s.after(later, nil, func() { s.start(n) })
		})
	}
	s.run(36 * time.Second)
	for _, n := range s.nodes {
		s.start(n)
	}
	s.run(30 * time.Second)
	if err := s.healed(); err != nil {
		return err
	}
	// Whoever waits takes over when the other dies, and a primary gets its place back if it may.
	for _, n := range s.nodes {
		if n.proc.m.Status().Active {
			n.proc.end()
			s.run(5 * time.Second)
			if p := s.nodes[1-slices.Index(s.nodes[:], n)].proc; s.broken == nil && !p.m.Status().Active {
				return fmt.Errorf("%w: state %c, %s", errNoService, s.state, p.m.Status().Phase)
			}
			s.start(n)
			break
		}
	}
	s.run(20 * time.Second)
	if err := s.healed(); err != nil {
		return err
	}
	if s.nodes[1].policy.AllowFailback && !s.nodes[0].proc.m.Status().Active {
		return fmt.Errorf("%w: the primary is %s", errNoService, s.nodes[0].proc.m.Status().Phase)
	}
	return nil
}

// healed tells what is missing: one node serves and the other waits.
func (s *folderSim) healed() error {
	if s.broken != nil {
		return s.broken
	}
	serve, wait := 0, 0
	phases := ""
	for _, n := range s.nodes {
		if n.proc == nil {
			continue
		}
		p := n.proc.m.Status().Phase
		phases += p + " "
		switch phase(p) {
		case active:
			serve++
		case awaiting, lockingFirst:
			wait++
		}
	}
	if serve != 1 || wait != 1 {
		return fmt.Errorf("%w: %d serve, %d wait, state %c: %s", errNotHealed, serve, wait, s.state, phases)
	}
	return nil
}

func TestSharedFolderIsOpenOnce(t *testing.T) {
	base := rand.Uint64()>>1 | 1
	t.Logf("seeds from %d", base)
	for i := range uint64(3000) {
		if err := simulateFolder(base+i, folderFlaws{}); err != nil {
			t.Fatalf("seed %d: %v", base+i, err)
		}
	}
	for seed := uint64(1); ; seed++ {
		if err := simulateFolder(seed, folderFlaws{steal: true}); errors.Is(err, errTwoOpen) {
			break
		}
		if seed == 200 {
			t.Error("a lock that is stolen is not found")
			break
		}
	}
}
