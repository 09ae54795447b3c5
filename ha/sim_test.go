package ha

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// A sim is a pair of nodes, each a process with a disk and a real Machine and Deadline, a lock store with sessions, the
// connection between them, clients that write to whoever takes it, and faults: processes that crash, stop, or freeze; ways
// that are cut in one direction or both; a store that is away; slow loading and synchronising. Everything follows from the
// seed. There is one clock, which no node can set: nothing in it knows the wall clock, so that nothing can jump.
type sim struct {
	seed  uint64
	rng   *rand.Rand
	now   quorum.Instant
	queue eventQueue
	order int

	nodes [2]*simNode
	store simStore
	cut   [2]bool // replication and cluster connections from this node to the other
	hist  history
	write int
	trace *strings.Builder // nil: none
	flaws flaws
	brisk bool // nothing takes long
	votes bool // a pair with the voting, which has nobody to ask
}

// flaws are ways to be wrong, which the checker has to find.
type flaws struct {
	machine        func(Machine) Machine
	ignoreDeadline bool // answers leave whatever the lease says
	ignoreLock     bool // a lock that is held by the other is taken all the same
	forgetGate     bool // answers do not wait for the replica
}

const (
	sessionTime = 2 * time.Second // T
	leaseTime   = sessionTime * 5 / 8
	linkTTL     = 1500 * time.Millisecond
	syncTimeout = 1200 * time.Millisecond // for the answer to the finish packet
	rpcTimeout  = time.Second
	faultTime   = 14 * time.Second
	restartTime = 7 * time.Second // after all faults: until whatever was to start again has
	healTime    = 30 * time.Second
)

// simEvent belongs to a process, and is void when that is gone; or to the world.
type simEvent struct {
	at    quorum.Instant
	order int
	p     *proc
	f     func()
}

// eventQueue is a heap: the next event is the first.
type eventQueue []simEvent

func (q eventQueue) before(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}

func (q *eventQueue) push(e simEvent) {
	*q = append(*q, e)
	h := *q
	for i := len(h) - 1; i > 0 && h.before(i, (i-1)/2); i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
}

func (q *eventQueue) pop() simEvent {
	h := *q
	e := h[0]
	n := len(h) - 1
	h[0], h[n] = h[n], simEvent{}
	h = h[:n]
	*q = h
	for i := 0; ; {
		c := 2*i + 1
		if c+1 < n && h.before(c+1, c) {
			c++
		}
		if c >= n || !h.before(c, i) {
			return e
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

func (s *sim) after(d time.Duration, p *proc, f func()) {
	s.order++
	s.queue.push(simEvent{s.now.Add(d), s.order, p, f})
}

// between is a random time.
func (s *sim) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(s.rng.Int64N(int64(hi-lo)+1))
}

func (s *sim) note(format string, args ...any) {
	if s.trace != nil {
		fmt.Fprintf(s.trace, "%9.3f "+format+"\n", append([]any{time.Duration(s.now - simStart).Seconds()}, args...)...)
	}
}

var errBroken = errors.New("the data cannot be served")

const simStart = quorum.Instant(1000 * time.Hour)

// simNode is a machine with a disk.
type simNode struct {
	i      int
	policy ReplicationPolicy
	id     string
	seq    int64
	log    []int
	proc   *proc // nil while no process runs
	broken bool  // a broker cannot be started on the data
	trap   int   // so many orders from now on the process crashes; 0: never
}

// simStore is the lock store: one lock, one long.
type simStore struct {
	holder *session
	seq    int64
	down   bool
	cut    [2]bool // requests of this node do not arrive
	deaf   [2]bool // replies to it do not arrive
}

// session is a manager's connection to the store.
type session struct {
	p      *proc
	heard  quorum.Instant // by the store
	reply  quorum.Instant // when the request was sent that was answered last
	dead   bool           // expired or closed at the store
	gone   bool           // given up by the client
	locked bool           // as far as the client knows
}

// Lease implements Lease.
func (x *session) Lease() quorum.Instant {
	if x.gone || !x.locked {
		return 0
	}
	return x.reply.Add(leaseTime)
}

// alive tells at the store whether the session is; once expired it never comes back.
func (s *sim) alive(x *session) bool {
	if !x.dead && s.now >= x.heard.Add(sessionTime) {
		x.dead = true
	}
	if x.dead && s.store.holder == x {
		s.store.holder = nil
	}
	return !x.dead
}

// link is a replication connection: from the passive node, which is ends[0], to the active one.
type link struct {
	ends   [2]*proc
	synced bool              // the replica has answered the finish packet
	closed [2]bool           // this end is closed
	dead   [2]bool           // what this end sends is lost
	last   [2]quorum.Instant // arrival of the last message of this end
}

// proc is a process.
type proc struct {
	s        *sim
	n        *simNode
	m        Machine
	frozen   bool
	deferred []func()
	timers   map[Timer]int
	ops      int // number of the present orders; Cancel begins a new one
	sess     *session
	deadline Deadline
	missed   <-chan struct{}
	mayEnd   bool  // the operator asked it to end, or its store failed
	loaded   bool  // the store is open
	epoch    int64 // of this activation, with the voting

	// Passive.
	link     *link
	seen     bool
	copy     []int // synchronising
	live     []int
	syncing  bool
	replica  bool // in sync: operations go to the disk
	received int
	polling  bool

	// Active.
	accepting bool
	to        *link   // to the replica
	asking    []*link // that want to be it
	tapped    bool    // operations are sent
	gated     bool    // answers wait for the replica
	sent      int
	confirmed int
	waiting   []answer
}

type answer struct{ id, mark int }

// run executes events up to the instant.
func (s *sim) run(until quorum.Instant) {
	for len(s.queue) > 0 && s.queue[0].at <= until && s.hist.broken == nil {
		e := s.queue.pop()
		s.now = e.at
		if e.p == nil {
			e.f()
		} else if e.p.n.proc == e.p {
			if e.p.frozen {
				e.p.deferred = append(e.p.deferred, e.f)
			} else {
				e.f()
			}
		}
	}
	s.now = until
}

func (s *sim) start(n *simNode) {
	if n.proc != nil {
		return
	}
	m := n.policy.Machine()
	if s.flaws.machine != nil {
		m = s.flaws.machine(m)
	}
	p := &proc{s: s, n: n, m: m, timers: map[Timer]int{}}
	n.proc = p
	s.note("node %d starts", n.i)
	p.step(Started{n.id, n.seq})
}

// crash is kill -9: connections end at once if the way is open, the session stays.
func (s *sim) crash(n *simNode) {
	p := n.proc
	if p == nil {
		return
	}
	s.note("node %d crashes", n.i)
	p.end()
}

func (p *proc) end() {
	p.n.proc = nil
	p.accepting = false
	for _, l := range p.links() {
		p.s.close(l, p)
	}
}

// links are the connections of the process.
func (p *proc) links() []*link {
	var out []*link
	for _, l := range append([]*link{p.link, p.to}, p.asking...) {
		if l != nil && !l.closed[l.end(p)] {
			out = append(out, l)
		}
	}
	return out
}

func (s *sim) freeze(n *simNode, d time.Duration) {
	p := n.proc
	if p == nil || p.frozen {
		return
	}
	s.note("node %d freezes for %v", n.i, d)
	p.frozen = true
	if d > linkTTL {
		for _, l := range p.links() {
			s.expect(l, 1-l.end(p), linkTTL)
		}
	}
	s.after(d, nil, func() {
		if n.proc != p {
			return
		}
		s.note("node %d goes on", n.i)
		p.frozen = false
		for len(p.deferred) > 0 && n.proc == p {
			f := p.deferred[0]
			p.deferred = p.deferred[1:]
			f()
		}
	})
}

// step gives a fact to the machine and carries out the orders.
func (p *proc) step(e Event) {
	if p.n.proc != p {
		return
	}
	if p.s.trace != nil {
		p.s.note("  %d < %T%+v", p.n.i, e, e)
	}
	for _, a := range slices.Clone(p.m.Step(p.s.now, e)) {
		if p.n.proc != p {
			return
		}
		if p.s.trace != nil {
			p.s.note("  %d >   %s", p.n.i, describe(a))
		}
		p.do(a)
		if p.n.trap > 0 && p.n.proc == p {
			if p.n.trap--; p.n.trap == 0 {
				p.s.crash(p.n)
			}
		}
	}
}

// soon is a fact that comes after a while, unless what it is about has been ended.
func (p *proc) soon(d time.Duration, valid func() bool, e Event) {
	p.s.after(d, p, func() {
		if valid() {
			p.step(e)
		}
	})
}

// order is what a driver relies on when it carries out an order.
func (p *proc) order(ok bool, otherwise string) {
	if !ok {
		p.s.hist.fail(errContract, "node %d, %s: %s", p.n.i, p.m.Status().Phase, otherwise)
	}
}

func (p *proc) peer() *simNode { return p.s.nodes[1-p.n.i] }

// do carries out an order.
func (p *proc) do(a Action) {
	s := p.s
	ops := p.ops
	current := func() bool { return p.ops == ops }
	always := func() bool { return true }
	switch a := a.(type) {
	case Log:
	case SetTimer:
		p.timers[a.Timer]++
		set := p.timers[a.Timer]
		p.soon(a.After, func() bool { return p.timers[a.Timer] == set }, TimerFired{a.Timer})
	case StopTimer:
		p.timers[a.Timer]++
	case Cancel:
		p.ops++
	case Exit:
		if !p.mayEnd {
			s.hist.fail(errExit, "node %d: %v", p.n.i, a.Err)
		}
		p.order(p.sess == nil, "it ends with the lock manager started")
		p.order(!p.loaded, "it ends with the store open")
		p.end()
	case UseNodeID:
		p.n.id = a.NodeID
	case WriteSequence:
		p.n.seq = a.Sequence
	case MoveDataAway:
		p.order(!p.loaded && p.link == nil, "the data is moved away while it is used")
		p.order(!p.n.broken || p.peer().proc != nil && p.peer().proc.accepting || p.seen, "data that may be the only copy is moved away with no active node")
		p.n.log, p.n.seq, p.n.broken = nil, -1, false
		p.soon(s.between(time.Millisecond, 50*time.Millisecond), current, DataMoved{})
	case CheckData:
		e := DataChecked{}
		if p.n.broken {
			e.Err = errBroken
		}
		p.soon(s.between(time.Millisecond, 20*time.Millisecond), current, e)
	case Load:
		p.order(!p.n.broken, "a broker is started on data that cannot be served")
		p.order(!p.loaded && p.link == nil, "the data is loaded while it is used")
		p.loaded = true
		if s.votes {
			p.deadline.Follow(Unlimited{})
		}
		p.soon(s.between(10*time.Millisecond, s.pick(200*time.Millisecond, 3*time.Second)), current, Loaded{})
	case AnnounceActive, AnnounceBackup:
	case CloseStore:
		p.loaded = false
	case OpenAcceptors:
		p.order(p.loaded, "clients are let in before the store is open")
		s.note("node %d is open with %d writes, sequence %d", p.n.i, len(p.n.log), p.n.seq)
		p.accepting = true
		p.sent, p.confirmed, p.tapped, p.gated, p.waiting = 0, 0, false, false, nil
		s.hist.open(s.now, p.n.i, p.n.log)
		p.epoch = int64(s.hist.opened)
	case StopServing:
		p.accepting = false
		p.waiting = nil
		p.deadline.End()
		if q := p.peer().proc; q != nil && s.open(p.n.i) {
			id := p.n.id
			s.after(5*time.Millisecond, q, func() { q.step(NodeDown{id}) })
		}
		p.soon(s.between(time.Millisecond, s.pick(20*time.Millisecond, 500*time.Millisecond)), always, ServingStopped{})
	case StartManager:
		p.startManager()
	case StopManager:
		p.order(!p.loaded, "the lock is let go while the store is open")
		p.stopManager()
	case TryActivate:
		p.order(!p.n.broken, "data that cannot be served is claimed")
		p.order(p.sess != nil && p.link == nil, "the lock is asked for without a manager, or while the data still comes")
		p.tryActivate(current)
	case WatchLock:
		p.missed = p.deadline.Follow(p.sess)
	case Increment:
		p.increment(p.sess)
	case CheckHeld:
		x := p.sess
		p.call(x, func() any { return s.store.holder == x }, func(v any, ok bool) {
			p.step(HeldChecked{ok && v.(bool)})
		})
	case LookForActive:
		p.soon(s.between(time.Millisecond, 50*time.Millisecond), current, ActiveFound{p.peer().proc != nil && p.peer().proc.accepting})
	case Vote:
		p.soon(s.between(time.Millisecond, 50*time.Millisecond), current, VoteDone{true})
	case CheckNetwork:
		p.soon(time.Millisecond, current, NetworkChecked{})
	case AwaitNext:
		p.awaitNext(current, a.Sequence, s.now.Add(a.Timeout))
	case JoinCluster:
		p.seen = false
		p.soon(20*time.Millisecond, current, ClusterJoined{})
		p.poll()
	case Register:
		p.register(a)
	case Persist:
		p.n.id, p.n.seq = a.NodeID, a.Sequence
	case ConfirmSync:
		p.replica = true
		s.send(p.link, p, "in sync", nil)
	case CloseLink:
		if p.link != nil {
			s.close(p.link, p)
			p.link = nil
		}
		p.syncing, p.replica, p.seen = false, false, false
	case RefuseRegistration: // answered by whoever asked, see register
	case StartSync:
		p.startSync(a)
	case FinishSync:
		l := p.to
		s.send(l, p, "finish", SyncFinished{p.n.id, a.Sequence})
		s.after(syncTimeout, p, func() {
			if p.to == l && !l.closed[1] && !l.synced {
				p.tapped = false
				s.close(l, p)
				p.step(SyncTimedOut{ClusterSize: 1})
			}
		})
	case AnnounceReplica:
		l := p.to
		p.soon(5*time.Millisecond, func() bool { return p.to == l }, BackupShown{})
	case HoldAnswers:
		p.tapped = false
	case DropReplica:
		if p.to != nil {
			s.close(p.to, p)
			p.to = nil
		}
		p.tapped = false
	case ReleaseAnswers:
		p.order(p.to == nil && !p.tapped, "answers leave without the replica that is still there")
		p.gated = false
		p.answer()
	case SendStopCalled:
		s.send(p.to, p, "fact", StopCalled{})
	case SendFailOver:
		s.send(p.to, p, "fail over", FailOver{})
	default:
		panic(fmt.Sprintf("order %T", a))
	}
}

// pick is mostly the first.
func (s *sim) pick(often, seldom time.Duration) time.Duration {
	if s.rng.IntN(8) == 0 && !s.brisk {
		return seldom
	}
	return often
}

// --- The store.

func (p *proc) startManager() {
	s := p.s
	p.order(p.sess == nil, "the lock manager is started twice")
	x := &session{p: p}
	p.sess = x
	sent := s.now
	s.after(s.between(time.Millisecond, 10*time.Millisecond), nil, func() {
		if s.store.down || s.store.cut[p.n.i] || s.store.deaf[p.n.i] {
			x.dead = true
			p.soon(rpcTimeout, func() bool { return p.sess == x }, ManagerUnavailable{})
			return
		}
		x.heard = s.now
		s.after(time.Millisecond, p, func() {
			if p.sess != x {
				return
			}
			x.reply = sent
			p.ping(x)
			p.step(ManagerStarted{})
		})
	})
}

// ping keeps the session, and gives it up when the store is silent for 40 % of its time.
func (p *proc) ping(x *session) {
	s := p.s
	s.after(s.between(sessionTime/4, sessionTime/3), p, func() {
		switch {
		case p.sess != x || x.gone:
			return
		case s.store.down || s.store.cut[p.n.i]:
		case !s.alive(x):
			if !s.store.deaf[p.n.i] {
				x.gone = true
			}
		default:
			x.heard = s.now
			if !s.store.deaf[p.n.i] {
				x.reply = s.now
			}
		}
		if x.gone || s.now.Sub(x.reply) > sessionTime*2/5+sessionTime/3 {
			x.gone = true
			p.step(ManagerLost{})
			return
		}
		p.ping(x)
	})
}

func (p *proc) stopManager() {
	x := p.sess
	if x == nil {
		return
	}
	p.sess, x.gone = nil, true
	p.ops++
	if !p.s.store.down && !p.s.store.cut[p.n.i] {
		x.dead = true
		p.s.alive(x)
	}
}

// call asks the store. ok is false when there was no answer, and what was asked may have happened.
func (p *proc) call(x *session, f func() any, then func(v any, ok bool)) {
	s := p.s
	live := func(v any, ok bool) func() {
		return func() {
			if p.sess == x {
				then(v, ok && !x.gone)
			}
		}
	}
	s.after(s.between(time.Millisecond, s.pick(10*time.Millisecond, 400*time.Millisecond)), nil, func() {
		if s.store.down || s.store.cut[p.n.i] {
			s.after(rpcTimeout, p, live(nil, false))
			return
		}
		if !s.alive(x) {
			s.after(time.Millisecond, p, live(nil, false))
			return
		}
		if s.store.holder != nil {
			s.alive(s.store.holder)
		}
		v := f()
		if s.store.deaf[p.n.i] {
			s.after(rpcTimeout, p, live(nil, false))
			return
		}
		s.after(s.between(time.Millisecond, s.pick(10*time.Millisecond, 400*time.Millisecond)), p, live(v, true))
	})
}

// tryActivate is spec ha §3.2.
func (p *proc) tryActivate(current func() bool) {
	s, x, local := p.s, p.sess, p.n.seq
	if local < 0 {
		p.soon(0, current, LocalFailed{quorum.ErrNoSequence})
		return
	}
	unavailable := func() { p.step(ManagerUnavailable{}) }
	get := func() any { return s.store.seq }
	p.call(x, get, func(v any, ok bool) {
		switch {
		case !current():
		case !ok:
			unavailable()
		case quorum.Compare(local, v.(int64)) == quorum.Stale:
			p.step(NotCandidate{})
		default:
			p.call(x, func() any {
				if s.store.holder == nil || s.flaws.ignoreLock {
					s.store.holder = x
				}
				return s.store.holder == x
			}, func(v any, ok bool) {
				switch {
				case !current():
				case !ok:
					unavailable()
				case !v.(bool):
					s.after(200*time.Millisecond, p, func() {
						if current() && p.sess == x {
							p.tryActivate(current)
						}
					})
				default:
					x.locked = true
					p.call(x, get, func(v any, ok bool) {
						if !current() {
							return
						}
						if !ok {
							unavailable()
							return
						}
						done := func(any, bool) {
							if current() {
								p.step(LockAcquired{p.n.seq})
							}
						}
						switch quorum.Compare(local, v.(int64)) {
						case quorum.Stale:
							x.locked = false
							p.call(x, func() any { s.release(x); return nil }, func(any, bool) {})
							p.step(NotCandidate{})
						case quorum.InSync:
							done(nil, true)
						case quorum.MaybeInSync:
							p.n.seq = local + 1
							fallthrough
						default:
							set := p.n.seq
							p.call(x, func() any {
								if s.store.holder == x {
									s.store.seq = set
								}
								return nil
							}, func(v any, ok bool) {
								if ok {
									done(v, ok)
								} else if current() {
									unavailable()
								}
							})
						}
					})
				}
			})
		}
	})
}

func (s *sim) release(x *session) {
	if s.store.holder == x {
		s.store.holder = nil
	}
}

// increment is spec ha §3.3.
func (p *proc) increment(x *session) {
	s, local := p.s, p.n.seq
	failed := func() { p.step(IncrementFailed{errExit}) }
	swap := func(from, to int64) func() any {
		return func() any {
			if s.store.seq != from {
				return false
			}
			s.store.seq = to
			return true
		}
	}
	p.call(x, func() any { return s.store.holder == x }, func(v any, ok bool) {
		if !ok || !v.(bool) {
			failed()
			return
		}
		p.call(x, swap(local, -local-1), func(v any, ok bool) {
			if !ok || !v.(bool) {
				failed()
				return
			}
			p.n.seq = local + 1
			p.call(x, swap(-local-1, local+1), func(v any, ok bool) {
				if !ok || !v.(bool) {
					failed()
					return
				}
				p.step(Incremented{local + 1})
			})
		})
	})
}

func (p *proc) awaitNext(current func() bool, local int64, deadline quorum.Instant) {
	p.call(p.sess, func() any { return p.s.store.seq }, func(v any, ok bool) {
		switch {
		case !current():
		case !ok:
			p.step(ManagerUnavailable{})
		case v.(int64) > local || -v.(int64)-local > 1:
			p.step(NextActivation{true})
		case p.s.now >= deadline:
			p.step(NextActivation{false})
		default:
			p.s.after(200*time.Millisecond, p, func() {
				if current() {
					p.awaitNext(current, local, deadline)
				}
			})
		}
	})
}

// --- The nodes' connection.

func (s *sim) open(from int) bool { return !s.cut[from] }

// poll is the topology: it shows an active node that can be reached.
func (p *proc) poll() {
	if p.polling {
		return
	}
	p.polling = true
	var look func()
	look = func() {
		q := p.peer().proc
		up := q != nil && q.accepting && !q.frozen && p.s.open(0) && p.s.open(1)
		if up && !p.seen && p.link == nil && p.m.Status().Backup {
			p.seen = true
			p.step(NodeUp{NodeID: q.n.id})
		}
		if !up {
			p.seen = false
		}
		if p.m.Status().Backup {
			p.s.after(300*time.Millisecond, p, look)
		} else {
			p.polling = false
		}
	}
	p.s.after(100*time.Millisecond, p, look)
}

// register connects and registers.
func (p *proc) register(a Register) {
	s := p.s
	q := p.peer().proc
	ops := p.ops
	if q == nil || !q.accepting || q.frozen || q.n.id != a.NodeID || !s.open(0) || !s.open(1) {
		p.soon(100*time.Millisecond, func() bool { return p.ops == ops }, ConnectFailed{})
		return
	}
	l := &link{ends: [2]*proc{p, q}}
	p.link = l
	q.asking = append(slices.DeleteFunc(q.asking, func(l *link) bool { return l.closed[1] }), l)
	s.after(5*time.Millisecond, q, func() {
		if l.closed[1] || l.closed[0] {
			return
		}
		acts := slices.Clone(q.m.Step(s.now, BackupRegistered{a.WantsFailback}))
		for _, x := range acts {
			if r, ok := x.(RefuseRegistration); ok {
				s.send(l, q, "fact", RegistrationRefused(r))
				continue
			}
			if _, ok := x.(StartSync); ok {
				q.to = l
			}
			q.do(x)
		}
	})
}

func (l *link) end(p *proc) int {
	if l.ends[0] == p {
		return 0
	}
	return 1
}

// send hands a message to the other end, in order, unless the way is cut: then all that follows is lost, too, and the other end
// notices after its TTL.
func (s *sim) send(l *link, from *proc, kind string, m any) {
	if l == nil {
		return
	}
	e := l.end(from)
	if l.closed[e] {
		return
	}
	if !s.open(from.n.i) {
		l.dead[e] = true
		s.expect(l, 1-e, linkTTL)
	}
	if l.dead[e] {
		return
	}
	at := s.now.Add(s.between(time.Millisecond, s.pick(5*time.Millisecond, 300*time.Millisecond)))
	at = max(at, l.last[e])
	l.last[e] = at
	q := l.ends[1-e]
	s.after(at.Sub(s.now), q, func() {
		if !l.closed[1-e] && !l.dead[e] {
			q.receive(l, kind, m)
		}
	})
}

// expect ends a connection at an end that hears nothing.
func (s *sim) expect(l *link, e int, after time.Duration) {
	p := l.ends[e]
	s.after(after, p, func() {
		if l.closed[e] {
			return
		}
		if o := l.ends[1-e]; l.dead[1-e] || o.n.proc != o || o.frozen {
			p.lost(l)
		}
	})
}

// close ends a connection at one end, which the other notices at once if the way is open.
func (s *sim) close(l *link, p *proc) {
	e := l.end(p)
	if l.closed[e] {
		return
	}
	l.closed[e] = true
	q := l.ends[1-e]
	if !s.open(p.n.i) || l.dead[e] {
		l.dead[e] = true
		s.expect(l, 1-e, linkTTL)
		return
	}
	at := max(s.now.Add(time.Millisecond), l.last[e])
	s.after(at.Sub(s.now), q, func() {
		if !l.closed[1-e] {
			q.lost(l)
		}
	})
}

// lost is the end of a connection, as one of its ends sees it.
func (p *proc) lost(l *link) {
	p.s.close(l, p)
	switch {
	case l == p.link:
		p.step(LinkLost{})
	case l == p.to:
		p.step(ReplicaLost{})
	}
}

func (p *proc) startSync(a StartSync) {
	s, l := p.s, p.to
	p.tapped, p.gated = true, true
	p.sent, p.confirmed = 0, 0
	for i := range p.waiting { // operations before the tap need no confirmation
		p.waiting[i].mark = 0
	}
	s.send(l, p, "start", SyncStarted{p.n.id, a.AllowsFailback})
	files := slices.Clone(p.n.log)
	s.after(s.between(20*time.Millisecond, s.pick(200*time.Millisecond, 3*time.Second)), p, func() {
		if p.to == l {
			s.send(l, p, "files", files)
			p.step(FilesSent{})
		}
	})
}

// receive handles a message of the other end.
func (p *proc) receive(l *link, kind string, m any) {
	s := p.s
	if p.link != l && p.to != l {
		return
	}
	switch kind {
	case "fact":
		p.step(m.(Event))
	case "start":
		p.syncing, p.copy, p.live, p.received = true, nil, nil, 0
		p.step(m.(Event))
	case "files":
		p.copy = m.([]int)
	case "write":
		p.received++
		if p.replica {
			p.n.log = append(p.n.log, m.(int))
		} else {
			p.live = append(p.live, m.(int))
		}
		s.send(l, p, "confirm", p.received)
	case "finish":
		s.after(s.pick(time.Millisecond, 2*time.Second), p, func() {
			if p.link == l && !l.closed[0] {
				p.n.log = append(slices.Clone(p.copy), p.live...)
				p.n.broken = !s.brisk && s.rng.IntN(20) == 0
				p.step(m.(Event))
			}
		})
	case "in sync":
		l.synced = true
		p.step(ReplicaInSync{})
	case "confirm":
		p.confirmed = max(p.confirmed, m.(int))
		p.answer()
	case "fail over":
		s.send(l, p, "fact", FailOverAnswered{})
		p.step(m.(Event))
	}
}

// --- Clients.

// clientWrite is a durable send that reached the node.
func (p *proc) clientWrite(id int) {
	if !p.accepting {
		return
	}
	p.n.log = append(p.n.log, id)
	mark := 0
	switch {
	case p.tapped:
		p.sent++
		mark = p.sent
		p.s.send(p.to, p, "write", id)
	case p.gated: // held: no replica will confirm it
		mark = 1 << 60
	}
	p.waiting = append(p.waiting, answer{id, mark})
	p.answer()
}

// answer lets answers leave in their order.
func (p *proc) answer() {
	s := p.s
	for len(p.waiting) > 0 && p.accepting {
		w := p.waiting[0]
		if p.gated && w.mark > p.confirmed && !s.flaws.forgetGate {
			return
		}
		p.waiting = p.waiting[1:]
		if !p.deadline.Live(s.now) && !s.flaws.ignoreDeadline {
			select {
			case <-p.missed:
				p.missed = nil
				s.after(0, p, func() { p.step(LeaseMissed{}) })
			default:
			}
			continue
		}
		q := p.peer().proc
		rival := q != nil && q.accepting && !q.frozen && (q.deadline.Live(s.now) || s.flaws.ignoreDeadline)
		sequence := p.m.Status().Sequence
		if s.votes {
			sequence = p.epoch
		}
		s.hist.acknowledge(s.now, p.n.i, sequence, w.id, rival)
	}
}

// clients write to both nodes, again and again.
func (s *sim) clients() {
	s.after(s.between(20*time.Millisecond, 250*time.Millisecond), nil, func() {
		s.write++
		for _, n := range s.nodes {
			if p := n.proc; p != nil && p.accepting {
				id := s.write*2 + n.i
				s.after(0, p, func() { p.clientWrite(id) })
			}
		}
		s.clients()
	})
}
