package main

import (
	"context"
	"errors"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/ha"
	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/ha/quorum/embedded"
	"github.com/saranga-mq/saranga/ha/quorum/file"
	"github.com/saranga-mq/saranga/ha/quorum/zookeeper"
	"github.com/saranga-mq/saranga/journal/fs"
)

// Orders about the lock manager.

func (p *pairNode) sequence() quorum.FileSequence {
	return quorum.FileSequence{FS: fs.OS{}, Dir: p.dir}
}

func (p *pairNode) startManager() error { return p.startManagerWith(nil) }

// memberNode is a pairNode whose lock manager may be the quorum member in this process.
type memberNode struct {
	*pairNode
	member *quorumMember
}

// carryOut implements hands.
func (n memberNode) carryOut(a ha.Action) error {
	if _, ok := a.(ha.StartManager); ok {
		return n.startManagerWith(n.member)
	}
	return n.pairNode.carryOut(a)
}

// connectProperty is the property of Artemis' Curator lock manager that names ZooKeeper servers.
const connectProperty = "connect-string"

// usesMember tells whether a lock manager is the quorum member in this process: that of Artemis' Curator class, which is the default, without
// servers to connect to. With servers it never is, also where there is a member: of two nodes that ask different stores both are active.
func usesMember(m *ha.LockManager) bool {
	_, connects := m.Properties[connectProperty]
	return !connects && (m.Class == "" || m.Class == quorum.ClassCurator || m.Class == quorum.ClassCuratorOld)
}

// checkManager refuses a lock manager that would have nothing to ask.
func checkManager(in *config.Instance, policy ha.Policy, q quorumConfig) error {
	r, ok := policy.(ha.ReplicationPolicy)
	if !ok || r.Manager == nil || q.member != nil || !usesMember(r.Manager) {
		return nil
	}
	role := "primary"
	if r.Backup {
		role = "backup"
	}
	file, line := config.Find(in.BrokerFile, map[string]string{"primary": "ha-policy/replication/primary|master/manager", "backup": "ha-policy/replication/backup|slave/manager"}[role])
	return &config.Error{
		File: file, Line: line, Element: "ha-policy/replication/" + role + "/manager",
		Problem: "it has no property " + connectProperty + ", and no quorum member runs in this process: there is no section quorum in " + q.file,
		Remedy:  "name ZooKeeper servers in that property, or describe the member in that file, as create --quorum-member does",
	}
}

// startManagerWith starts the lock manager. member is nil if none runs in this process.
func (p *pairNode) startManagerWith(member *quorumMember) error {
	config := p.policy.(ha.ReplicationPolicy).Manager
	curator := zookeeper.Kind(p.log)
	if member != nil && usesMember(config) {
		curator = embedded.Kind(member.raft, member.root, p.log)
	}
	m, err := quorum.New(config.Class, config.Properties, file.Kind(), curator)
	if err != nil {
		return err
	}
	p.manager = m
	p.quorum = &quorum.Node{ID: p.nodeID, Manager: m, Local: p.sequence(), Log: p.log}
	s := p.scope()
	p.managerScope = s
	s.do(func(ctx context.Context) ha.Event {
		if err := m.Start(ctx); err != nil {
			p.log.Warn("the lock manager cannot be reached", "error", err)
			return ha.ManagerUnavailable{}
		}
		s.post(ha.ManagerStarted{})
		select {
		case <-m.Unavailable():
			return ha.ManagerLost{}
		case <-ctx.Done():
			return nil
		}
	})
	return nil
}

func (p *pairNode) stopManager() {
	p.deadline.End()
	if p.manager == nil {
		return
	}
	p.cancel() // nobody asks it any more
	p.holding.Store(nil)
	p.managerScope.close()
	p.manager.Stop()
	p.manager, p.managerScope, p.quorum = nil, nil, nil
}

// tryActivate takes the lock, if this node's data may be served.
func (p *pairNode) tryActivate() {
	q := p.quorum
	q.ID = p.nodeID
	p.waiting.do(func(ctx context.Context) ha.Event {
		lock, _, err := q.TryActivate(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, quorum.ErrUnavailable), errors.Is(err, quorum.ErrNotStarted):
			p.log.Warn("the lock manager cannot be asked", "error", err)
			return ha.ManagerUnavailable{}
		case err != nil:
			return ha.LocalFailed{Err: err}
		case lock == nil:
			return ha.NotCandidate{}
		}
		sequence, err := q.Local.Load()
		if err != nil {
			return ha.LocalFailed{Err: err}
		}
		return ha.LockAcquired{Sequence: sequence}
	})
}

// watchLock has answers leave no later than the lock's lease allows.
func (p *pairNode) watchLock() error {
	lock, err := p.manager.Lock(p.nodeID)
	if err != nil {
		return err
	}
	lost, missed := lock.Lost(), p.deadline.Follow(lock)
	if lock.Lease() == quorum.NoLease {
		var recheck ha.Recheck
		verify := func(now quorum.Instant) error { return recheck.Verify(now, func() error { return stillHeld(lock) }) }
		p.holding.Store(&holding{verify: verify, lost: func() { p.post(ha.LockLost{}) }})
	}
	p.managerScope.do(func(ctx context.Context) ha.Event {
		select {
		case <-lost:
			return ha.LockLost{}
		case <-missed:
			return ha.LeaseMissed{}
		case <-ctx.Done():
			return nil
		}
	})
	return nil
}

func stillHeld(l quorum.Lock) error {
	held, err := l.HeldByCaller(context.Background())
	if err == nil && !held {
		err = quorum.ErrNotHolder
	}
	return err
}

func (p *pairNode) increment() {
	q := p.quorum
	p.managerScope.do(func(ctx context.Context) ha.Event {
		sequence, err := q.Increment(ctx)
		if err != nil {
			return ha.IncrementFailed{Err: err}
		}
		p.sequenceNow.Store(sequence)
		return ha.Incremented{Sequence: sequence}
	})
}

func (p *pairNode) checkHeld() error {
	lock, err := p.manager.Lock(p.nodeID)
	if err != nil {
		return err
	}
	p.managerScope.do(func(ctx context.Context) ha.Event {
		held, err := lock.HeldByCaller(ctx)
		if err != nil {
			p.log.Warn("the lock manager cannot say whether the lock is held", "error", err)
		}
		return ha.HeldChecked{Held: held && err == nil}
	})
	return nil
}

func (p *pairNode) awaitNext(a ha.AwaitNext) {
	q := p.quorum
	p.waiting.do(func(ctx context.Context) ha.Event {
		seen, err := q.AwaitNext(ctx, a.Sequence, a.Timeout)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			p.log.Warn("the lock manager cannot be asked", "error", err)
			return ha.ManagerUnavailable{}
		}
		return ha.NextActivation{Seen: seen}
	})
}
