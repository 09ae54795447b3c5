package raftfsm

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/saranga-mq/saranga/broker/config/yamlfile"
	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// Member is one member of the group. Its methods may be called from any goroutine, but not from a Listener.
type Member struct {
	cfg   Config
	log   hclog.Logger
	clock Clock

	raftLog hclog.Logger

	folder    *folder
	stores    *stores
	port      *port
	transport *transport
	links     *links
	machine   *machine
	raft      atomic.Pointer[raft.Raft] // nil until the group is known to be founded

	origin   uint64        // drawn at start: this member's commands
	requests atomic.Uint64 // numbers for commands that have neither session nor number
	moved    signal        // the leader has changed
	beat     beat
	refusal  time.Time    // when a refusal to be taken in was logged; of join's goroutine
	filled   atomic.Bool  // nothing is missing here that was confirmed by this member before
	caught   atomic.Bool  // a member that joins has what the leader has
	removed  atomic.Bool  // the leader says that this is no member any more
	inflight atomic.Int64 // bytes of proposals of others that wait for their commit

	ctx     context.Context // ends with the member
	cancel  context.CancelFunc
	running sync.WaitGroup
	leaving sync.RWMutex // running may be added to from outside while it is held and closed is false
	closed  bool

	failing sync.Once
	failed  chan struct{}
	err     error // set before failed is closed
	stop    sync.Once
}

// Start starts a member. An error says what is wrong with the configuration or the state folder, and what to do. The group need not exist or
// have a leader when Start returns: proposals wait for one.
func Start(cfg Config) (*Member, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("quorum member: %w", err)
	}
	m := &Member{cfg: cfg, log: cfg.Log, clock: cfg.Clock, machine: newMachine(), failed: make(chan struct{})}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.raftLog = newRaftLog(m.log.Named("raft"), m.clock, func() bool { return m.ctx.Err() != nil })
	var seed [8]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return nil, fmt.Errorf("quorum member: %w", err)
	}
	m.origin = binary.BigEndian.Uint64(seed[:])
	m.machine.origin, m.machine.failed = m.origin, m.fail
	if err := m.open(); err != nil {
		m.close()
		return nil, fmt.Errorf("quorum member %s: %w", cfg.Member, err)
	}
	if err := m.begin(); err != nil {
		m.Stop()
		return nil, fmt.Errorf("quorum member %s: %w", cfg.Member, err)
	}
	m.log.Info("quorum member started", "cluster", cfg.Cluster, "member", cfg.Member, "address", cfg.Advertise)
	return m, nil
}

// open opens folder and port.
func (m *Member) open() (err error) {
	if m.folder, err = openFolder(m.cfg); err != nil {
		return err
	}
	if m.stores, err = openStores(m.folder, m.cfg.storage, m.log); err != nil {
		return err
	}
	if m.port, err = listen(m.cfg); err != nil {
		return err
	}
	m.links = &links{port: m.port, ctx: m.ctx, open: map[string]*link{}}
	m.transport = newTransport(raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: stream{m.port}, MaxPool: 4, MaxRPCsInFlight: 1, Timeout: max(2*time.Second, 4*m.cfg.Timing.Election), Logger: m.raftLog,
	}), m.clock.Now)
	m.machine.applied = m.transport.applied
	m.transport.forgot = func(id string, confirmed, has uint64) {
		m.log.Error("a member lacks entries that it has confirmed: its state folder was lost, or put back from a copy. It gets them again; should a copy have been put back, "+
			"what only that member and others that are gone now had confirmed may be undone", "member", id, "confirmed", confirmed, "has", has)
	}
	return nil
}

// begin starts what runs.
func (m *Member) begin() error {
	m.running.Go(func() {
		select {
		case <-m.failed:
			m.machine.stop(m.err)
		case <-m.ctx.Done():
		}
	})
	var later func()
	m.filled.Store(true)
	switch m.folder.State {
	case phaseFounding:
		if m.cfg.foundsAlone() {
			if err := m.found(); err != nil {
				return err
			}
		} else {
			later = m.foundOrRefill
		}
	case phaseRefilling:
		if err := m.refill(m.folder.Floor); err != nil {
			return err
		}
	case phaseJoining:
		if last, err := m.stores.wal.LastIndex(); err != nil {
			return err
		} else if last > 0 {
			if err := m.runJoining(); err != nil {
				return err
			}
		}
		later = m.join
	default:
		if err := m.run(); err != nil {
			return err
		}
		if n := len(m.servers()); m.cfg.foundsAlone() && n > 1 {
			return yamlfile.Wrong("members", "the group has %d members but the list names this one only: should the state folder get lost, it would found a second group. List the others, too", n)
		}
	}
	m.port.start(m.serve)
	if later != nil {
		m.running.Go(later)
	}
	m.running.Go(m.report)
	m.running.Go(m.watchMembership)
	m.running.Go(m.lead)
	return nil
}

// run starts Raft on what the folder holds.
func (m *Member) run() error {
	conf := m.raftConfig()
	m.stores.fault.failed = m.fail
	r, err := raft.NewRaft(conf, m.machine, raftLogCache(m.stores.log), m.stores.stable, m.stores.snapshots, m.transport)
	if err != nil {
		return err
	}
	changes := make(chan raft.Observation, 16)
	r.RegisterObserver(raft.NewObserver(changes, false, func(o *raft.Observation) bool {
		_, ok := o.Data.(raft.LeaderObservation)
		return ok
	}))
	m.raft.Store(r)
	m.running.Go(func() {
		for {
			select {
			case <-changes:
				m.moved.raise()
			case <-m.ctx.Done():
				return
			}
		}
	})
	m.moved.raise()
	if m.ctx.Err() != nil { // it failed before it was known
		r.Shutdown()
	}
	return nil
}

func raftLogCache(log raft.LogStore) raft.LogStore {
	cache, err := raft.NewLogCache(cachedLogs, log)
	if err != nil {
		return log // only for a capacity below 1
	}
	return cache
}

func (m *Member) raftConfig() *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(m.cfg.Member)
	conf.Logger = m.raftLog
	t, s := m.cfg.Timing, m.cfg.snapshot
	conf.HeartbeatTimeout, conf.ElectionTimeout, conf.LeaderLeaseTimeout, conf.CommitTimeout = t.Heartbeat, t.Election, t.Lease, t.Commit
	conf.SnapshotInterval, conf.SnapshotThreshold, conf.TrailingLogs = s.Interval, s.Threshold, s.Trailing
	conf.ShutdownOnRemove = false
	conf.NoLegacyTelemetry = true
	return conf
}

// fail ends the member: nothing leaves it any more. Safe under every lock.
func (m *Member) fail(err error) {
	m.failing.Do(func() {
		m.err = err
		close(m.failed)
		m.log.Error("the quorum member ends", "member", m.cfg.Member, "error", err)
		m.port.cut()
		if r := m.raft.Load(); r != nil {
			r.Shutdown()
		}
		m.cancel()
	})
}

// Failed is closed when the member has ended by itself: a disk that failed, or a command of a later version. Err tells why. Stop is still
// needed.
func (m *Member) Failed() <-chan struct{} { return m.failed }

// Err is why the member has ended by itself, nil if it has not.
func (m *Member) Err() error {
	select {
	case <-m.failed:
		return m.err
	default:
		return nil
	}
}

// Stop stops the member and waits for everything it started. A leader hands over first, so that the group goes on at once.
func (m *Member) Stop() {
	m.stop.Do(func() {
		if r := m.raft.Load(); r != nil && r.State() == raft.Leader {
			if err := r.LeadershipTransfer().Error(); err != nil {
				m.log.Debug("nobody took over the leadership", "error", err)
			}
		}
		m.close()
		m.log.Info("quorum member stopped", "member", m.cfg.Member)
	})
}

func (m *Member) close() {
	m.cancel()
	m.leaving.Lock()
	m.closed = true
	m.leaving.Unlock()
	m.machine.stop(ErrStopped)
	if m.port != nil {
		m.port.cut()
	}
	if r := m.raft.Load(); r != nil {
		if err := r.Shutdown().Error(); err != nil {
			m.log.Error("stop raft", "error", err)
		}
	}
	if m.transport != nil {
		m.transport.close()
	}
	m.running.Wait()
	if r := m.raft.Load(); r != nil { // it may have started meanwhile
		_ = r.Shutdown().Error()
	}
	if m.links != nil {
		m.links.running.Wait()
	}
	if m.port != nil {
		m.port.close()
	}
	if m.stores != nil {
		m.stores.close()
	}
	if m.folder != nil {
		m.folder.close()
	}
}

// Read calls f with the newest state of this member. No entry is applied meanwhile.
func (m *Member) Read(f func(*tree.View)) { m.machine.read(f) }

// Listen registers l, from now on. It is called until the function that is returned has returned.
func (m *Member) Listen(l Listener) (stop func()) { return m.machine.listen(l) }

// Role is "leader" or "follower", and "standalone" for a group of one.
func (m *Member) Role() string {
	r := m.raft.Load()
	switch {
	case r == nil || r.State() != raft.Leader:
		return "follower"
	case len(r.GetConfiguration().Configuration().Servers) == 1:
		return "standalone"
	default:
		return "leader"
	}
}

// leader is who leads as far as this member knows, and whether that is this one. The address is empty if nobody does.
func (m *Member) leader() (address string, self bool) {
	r := m.raft.Load()
	if r == nil {
		return "", false
	}
	a, id := r.LeaderWithID()
	return string(a), string(id) == m.cfg.Member && a != ""
}

// leads reports whether this member takes itself for the leader, and in which term.
func (m *Member) leads() (r *raft.Raft, term uint64, ok bool) {
	r = m.raft.Load()
	if r == nil || r.State() != raft.Leader {
		return nil, 0, false
	}
	return r, r.CurrentTerm(), true
}

// servers are the members by the newest configuration.
func (m *Member) servers() []raft.Server {
	r := m.raft.Load()
	if r == nil {
		return nil
	}
	f := r.GetConfiguration()
	if f.Error() != nil {
		return nil
	}
	return f.Configuration().Servers
}

// spawn runs f, and reports whether it does: not after Stop.
func (m *Member) spawn(f func()) bool {
	m.leaving.RLock()
	defer m.leaving.RUnlock()
	if !m.closed {
		m.running.Go(f)
	}
	return !m.closed
}

// pause waits for d, and reports whether the member still runs then.
func (m *Member) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-m.ctx.Done():
		return false
	}
}

// signal wakes everybody who waits for it.
type signal struct {
	mu sync.Mutex
	ch chan struct{}
}

// wait is closed by the next raise.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) raise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

var errNotFounded = errors.New("the group is not founded yet")
