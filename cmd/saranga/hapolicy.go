package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/logging"
	"github.com/saranga-mq/saranga/cluster"
	"github.com/saranga-mq/saranga/ha"
	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/ha/replication/primary"
	"github.com/saranga-mq/saranga/ha/replication/replica"
	"github.com/saranga-mq/saranga/ha/sharedstore"
	"github.com/saranga-mq/saranga/journal/lock"
)

// A pairNode is an instance in the hands of its HA policy: it does what the policy orders, with the parts that do it. A node is
// made for each time that the instance becomes active.
//
// Its methods are called on the goroutine of the activation; what waits runs in one of the scopes.
type pairNode struct {
	*activation
	in     *config.Instance
	logs   *logging.Logging
	policy ha.Policy
	begin  time.Time

	dir    string // of the node manager: locks, node id, activation sequence
	nodeID string

	shared *sharedstore.NodeManager // a shared store's, and that of a node without a backup
	locks  *lock.Node               // with replication

	node     *node // open, serving or stopping; nil when passive
	deadline ha.Deadline
	waiting  *scope // of orders that Cancel ends
	monitor  *scope // of the primary lock on a shared store

	manager      quorum.Manager
	managerScope *scope
	quorum       *quorum.Node

	cluster      *cluster.Deployment // of the time being: passive, or that of node
	controller   *cluster.Controller
	clusterScope *scope
	announcer    *cluster.Announcer

	// Passive, with replication.
	replica   atomic.Pointer[replica.Endpoint] // of the last connection
	linkScope *scope
	confirm   chan struct{} // the answer to the finish packet may leave

	// Active, with replication.
	primary     *primary.Primary
	applicant   applicant // who asks to be the replica
	replicaLife *scope    // of the present replica
	watchBackup func()    // ends it
	sequenceNow atomic.Int64
}

// newPairNode makes an instance ready for its policy.
func newPairNode(in *config.Instance, logs *logging.Logging, policy ha.Policy, begin time.Time) (*pairNode, error) {
	log := logs.Logger(logging.Server)
	j := in.Broker.Journal
	dir := j.NodeManagerLockDirectory
	if dir == "" {
		dir = j.Directory
	}
	p := &pairNode{activation: newActivation(policy.Machine(), quorum.Now, log), in: in, logs: logs, policy: policy, begin: begin, dir: in.Path(dir)}
	p.hands = p
	p.waiting = p.scope()
	if err := p.openLocks(); err != nil {
		return nil, err
	}
	return p, nil
}

// serve runs the policy from the start of the process to its end.
func (p *pairNode) serve() error {
	sequence, err := p.sequence().Load()
	if err != nil {
		p.close()
		return err
	}
	return p.run(ha.Started{NodeID: p.nodeID, Sequence: sequence})
}

func (p *pairNode) replicates() bool {
	_, ok := p.policy.(ha.ReplicationPolicy)
	return ok
}

// openLocks opens the node manager's files, which gives the node an id if it has none.
func (p *pairNode) openLocks() error {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return fmt.Errorf("make a data folder: %w", err)
	}
	var err error
	if p.replicates() {
		if p.locks, err = lock.Open(p.dir); err != nil {
			return err
		}
		p.nodeID = p.locks.ID().String()
		return nil
	}
	j := p.in.Broker.Journal
	p.shared, err = sharedstore.Open(sharedstore.Options{Dir: p.dir, LockTimeout: j.LockAcquisitionTimeout, MonitorPeriod: j.LockMonitorTimeout, MonitorRetries: j.LockMonitorMaxRetries, Log: p.log})
	if err != nil {
		return err
	}
	p.nodeID = p.shared.NodeID()
	return nil
}

func (p *pairNode) closeLocks() error {
	var err error
	if p.locks != nil {
		err = p.locks.Close()
		p.locks = nil
	}
	if p.shared != nil {
		err = errors.Join(err, p.shared.Close())
		p.shared = nil
	}
	return err
}

// close implements hands.
func (p *pairNode) close() {
	p.waiting.close()
	p.monitor.close()
	p.closeReplica()
	p.closeLink()
	p.leaveCluster()
	p.stopManager()
	if err := p.closeLocks(); err != nil {
		p.log.Warn("the node's locks could not be closed", "error", err)
	}
}

// failOn is the event of an order that failed; none if it was cancelled.
func failOn(ctx context.Context, err error) ha.Event {
	if ctx.Err() != nil {
		return nil
	}
	return ha.Failed{Err: err}
}

// carryOut implements hands.
func (p *pairNode) carryOut(action ha.Action) error {
	switch a := action.(type) {
	case ha.Cancel:
		p.waiting.close()
		p.waiting = p.scope()

	case ha.UseNodeID:
		return p.useNodeID(a.NodeID)
	case ha.MoveDataAway:
		return p.moveDataAway(a)
	case ha.Load:
		return p.load()
	case ha.AnnounceActive:
		return p.announceActive()
	case ha.OpenAcceptors:
		return p.openAcceptors()
	case ha.StopServing:
		p.stopServing(a.Critical)
	case ha.CloseStore: // stopServing has

	case ha.StartManager:
		return p.startManager()
	case ha.StopManager:
		p.stopManager()
	case ha.WriteSequence:
		return p.sequence().Store(a.Sequence)
	case ha.TryActivate:
		p.tryActivate()
	case ha.WatchLock:
		return p.watchLock()
	case ha.Increment:
		p.increment()
	case ha.CheckHeld:
		return p.checkHeld()
	case ha.AwaitNext:
		p.awaitNext(a)

	case ha.JoinCluster:
		return p.joinCluster()
	case ha.Register:
		p.register(a)
	case ha.Persist:
		return p.persist(a)
	case ha.ConfirmSync:
		close(p.confirm)
	case ha.AnnounceBackup:
		return p.announceBackup()
	case ha.CloseLink:
		p.closeLink()

	case ha.RefuseRegistration:
		p.refuseRegistration(a.Problem)
	case ha.StartSync:
		return p.startSync(a.AllowsFailback)
	case ha.FinishSync: // the sender goes on by itself
	case ha.AnnounceReplica:
		return p.announceReplica()
	case ha.HoldAnswers: // the sender has, before it told of the loss
	case ha.DropReplica:
		p.closeReplica()
	case ha.ReleaseAnswers:
		p.primary.Release()
	case ha.SendStopCalled:
		p.primary.StopCalled()
	case ha.SendFailOver:
		p.sendFailOver()

	case ha.LookForActive:
		return p.lookForActive(a.Wait)
	case ha.Vote:
		p.vote(a)
	case ha.CheckNetwork:
		p.checkNetwork()

	case ha.ProbePrimaryLock:
		held, err := p.shared.PrimaryLockHeld()
		if err != nil {
			return err
		}
		p.post(ha.PrimaryLockProbed{Held: held})
	case ha.LockPrimary:
		p.await(p.shared.StartPrimary, func() ha.Event { return ha.PrimaryLocked{} })
	case ha.LockBackup:
		shared := p.shared
		p.await(shared.StartBackup, func() ha.Event { return ha.BackupLocked{NodeID: shared.NodeID()} })
	case ha.AwaitPrimary:
		p.await(p.shared.AwaitPrimary, func() ha.Event { return ha.TakenOver{} })
	case ha.Activate:
		return p.shared.Activate()
	case ha.MonitorLock:
		p.monitorLock()
	case ha.ReleaseBackupLock:
		return p.shared.ReleaseBackup()
	case ha.CheckFailback:
		wanted, err := p.shared.AwaitingFailback()
		if err != nil {
			return err
		}
		p.post(ha.FailbackChecked{Wanted: wanted})
	case ha.ReleasePrimaryLock:
		p.monitor.close()
		p.monitor = nil
		return p.shared.Release(a.Paused)
	case ha.AwaitActive:
		p.await(p.shared.AwaitActive, func() ha.Event { return ha.ActiveSeen{} })
	default:
		return fmt.Errorf("the HA policy orders %T, which this node does not know", action)
	}
	return nil
}

// await runs an order that Cancel ends.
func (p *pairNode) await(wait func(context.Context) error, done func() ha.Event) {
	p.waiting.do(func(ctx context.Context) ha.Event {
		if err := wait(ctx); err != nil {
			return failOn(ctx, err)
		}
		return done()
	})
}

func (p *pairNode) monitorLock() {
	p.monitor = p.scope()
	shared := p.shared
	p.monitor.do(func(ctx context.Context) ha.Event {
		if err := shared.Monitor(ctx); err != nil {
			p.log.Error("the primary lock is lost", "error", err)
			return ha.LockLost{}
		}
		return nil
	})
}

func (p *pairNode) useNodeID(id string) error {
	uuid, err := quorum.NodeID(id)
	if err != nil {
		return err
	}
	p.nodeID = id
	return p.locks.SetID(uuid)
}

func (p *pairNode) persist(a ha.Persist) error {
	if err := p.useNodeID(a.NodeID); err != nil {
		return err
	}
	if a.Sequence < 0 {
		return nil
	}
	return p.sequence().Store(a.Sequence)
}

// moveDataAway makes the folders empty. Lock files that move have to be closed.
func (p *pairNode) moveDataAway(a ha.MoveDataAway) error {
	if !a.KeepLockFiles {
		if err := p.closeLocks(); err != nil {
			return err
		}
	}
	p.replica.Store(nil)
	if err := replica.MoveAway(storeOptions(p.in, hclog.NewNullLogger()), a.Keep, a.KeepLockFiles); err != nil {
		return err
	}
	if p.locks == nil {
		if err := p.openLocks(); err != nil {
			return err
		}
	}
	p.post(ha.DataMoved{})
	return nil
}
