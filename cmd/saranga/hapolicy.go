package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/logging"
	"github.com/saranga-mq/saranga/broker/netcheck"
	"github.com/saranga-mq/saranga/cluster"
	"github.com/saranga-mq/saranga/ha"
	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/ha/replication/primary"
	"github.com/saranga-mq/saranga/ha/replication/replica"
	"github.com/saranga-mq/saranga/ha/sharedstore"
	"github.com/saranga-mq/saranga/journal/lock"
)

// A pairNode is an instance in the hands of its HA policy: it does what the policy orders, with the parts that do it. A broker
// without a backup is one, too. A node is made for each time that the instance becomes active.
//
// Its methods are called on the goroutine of the activation, if nothing else is said; what waits runs in one of the scopes.
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

	outlook *scope                   // of the process
	network func() *netcheck.Checker // made once: without a network no name is found

	waiting *scope // of orders that Cancel ends
	monitor *scope // of the primary lock on a shared store

	node       *node  // open, serving or stopping; nil when passive
	activeLine string // to be logged when clients are let in
	ending     *scope // stops the node
	critical   bool   // the node is not stopped: the end of the process is the end of it
	deadline   ha.Deadline
	holding    atomic.Pointer[holding]

	manager      quorum.Manager
	managerScope *scope
	quorum       *quorum.Node
	sequenceNow  atomic.Int64

	cluster      *cluster.Deployment // of the time being: passive, or that of node
	members      atomic.Pointer[cluster.Nodes]
	controller   *cluster.Controller
	clusterScope *scope
	announcer    *cluster.Announcer

	// Passive, with replication.
	replica   atomic.Pointer[replica.Endpoint] // of the last connection
	linkScope *scope
	confirm   chan struct{} // the answer to the finish packet may leave

	// Active, with replication.
	primary     *primary.Primary // nil: nobody can register
	channel     *primary.Channel
	applicants  applicants
	registered  *registration // the present replica
	replicaLife atomic.Pointer[scope]
	unwatch     func()      // the topology
	held        atomic.Bool // answers are held for a replica that was lost
	leaving     atomic.Bool // the node stops
}

// newPairNode makes an instance ready for its policy.
func newPairNode(in *config.Instance, logs *logging.Logging, policy ha.Policy, begin time.Time) (*pairNode, error) {
	j := in.Broker.Journal
	dir := j.NodeManagerLockDirectory
	if dir == "" {
		dir = j.Directory
	}
	p := &pairNode{activation: newActivation(policy.Machine(), quorum.Now, logs.Logger(logging.Server)), in: in, logs: logs, policy: policy, begin: begin, dir: in.Path(dir)}
	p.hands = p
	p.waiting, p.outlook = p.scope(), p.scope()
	p.network = sync.OnceValue(func() *netcheck.Checker { return newChecker(p.outlook.ctx, in.Broker, p.log) })
	if err := p.openLocks(); err != nil {
		return nil, err
	}
	return p, nil
}

// serve runs the policy from the start of the process to its end.
func (p *pairNode) serve() error {
	started := ha.Started{NodeID: p.nodeID, Sequence: quorum.NoSequence}
	if p.replicates() {
		var err error
		if started.Sequence, err = p.sequence().Load(); err != nil {
			return errors.Join(err, p.closeLocks())
		}
	}
	defer p.outlook.close()
	if !p.alone() && checksNetwork(p.in.Broker) {
		p.outlook.do(func(ctx context.Context) ha.Event {
			p.watchNetwork(ctx)
			return nil
		})
	}
	return p.run(started)
}

func (p *pairNode) replicates() bool {
	_, ok := p.policy.(ha.ReplicationPolicy)
	return ok
}

// alone tells whether there is nobody who would take over.
func (p *pairNode) alone() bool {
	s, ok := p.policy.(ha.SharedStorePolicy)
	return ok && s.Alone
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
	if !p.critical {
		p.ending.close()
	}
	p.closeLink()
	p.leaveCluster()
	p.stopManager()
	if p.critical {
		return // a node that still runs must not lose its locks
	}
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
	case ha.Log:
		p.say(a)
	case ha.Cancel:
		p.cancel()

	case ha.UseNodeID:
		return p.useNodeID(a.NodeID)
	case ha.MoveDataAway:
		return p.moveDataAway(a)
	case ha.CheckData:
		p.checkData()
	case ha.Load:
		return p.load()
	case ha.AnnounceActive:
		return p.announceActive()
	case ha.OpenAcceptors:
		return p.openAcceptors()
	case ha.StopServing:
		p.stopServing(a.Critical)
	case ha.CloseStore:
		return p.closeStore()

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
		p.startSync(a.AllowsFailback)
	case ha.FinishSync: // the sender goes on by itself
	case ha.AnnounceReplica:
		return p.announceReplica()
	case ha.HoldAnswers: // the sender has, before it told of the loss
	case ha.DropReplica:
		p.dropReplica()
	case ha.ReleaseAnswers:
		p.releaseAnswers()
	case ha.SendStopCalled:
		p.sendStopCalled()
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
		return p.lockPrimary()
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
		if p.critical {
			return nil // the node may still write
		}
		return p.shared.Release(a.Paused)
	case ha.AwaitActive:
		p.await(p.shared.AwaitActive, func() ha.Event { return ha.ActiveSeen{} })
	default:
		return fmt.Errorf("the HA policy orders %T, which this node does not know", action)
	}
	return nil
}

// say logs what the policy says. That the node is active is said when clients can be let in; a node without a backup says
// nothing of a lock that it gets at once.
func (p *pairNode) say(l ha.Log) {
	switch {
	case l.Code == "AMQ221007", l.Code == "AMQ221010":
		p.activeLine = l.Code + ": " + l.Text
		return
	case p.alone() && (l.Code == "AMQ221034" || l.Code == "AMQ221035"):
		return
	}
	text := l.Text
	if l.Code != "" {
		text = l.Code + ": " + text
	}
	p.log.Log(levelOf(l.Level), text)
}

func levelOf(l ha.Level) hclog.Level {
	switch l {
	case ha.Warn:
		return hclog.Warn
	case ha.Error:
		return hclog.Error
	}
	return hclog.Info
}

// cancel ends the orders that wait.
func (p *pairNode) cancel() {
	p.waiting.close()
	p.waiting = p.scope()
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

func (p *pairNode) lockPrimary() error {
	if p.alone() {
		held, err := p.shared.PrimaryLockHeld()
		if err != nil {
			return err
		}
		if held {
			p.log.Info("AMQ221034: Waiting indefinitely to obtain primary lock", "folder", p.dir)
		}
	}
	shared, dir := p.shared, p.dir
	p.await(func(ctx context.Context) error {
		if err := shared.StartPrimary(ctx); err != nil {
			return fmt.Errorf("lock %s, which another broker uses: %w", dir, err)
		}
		return nil
	}, func() ha.Event { return ha.PrimaryLocked{} })
	return nil
}

func (p *pairNode) monitorLock() {
	if p.in.Broker.Journal.LockMonitorTimeout <= 0 {
		return
	}
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

// watchNetwork tells how the network is, each time that changes.
func (p *pairNode) watchNetwork(ctx context.Context) {
	checker := p.network()
	if checker.Empty() {
		p.log.Warn("nothing is left to be checked by network-check-list and network-check-URL-list: the network is not checked")
		return
	}
	tick := time.NewTicker(p.in.Broker.NetworkCheck.Period)
	defer tick.Stop()
	healthy := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch is := checker.Healthy(ctx); {
		case is == healthy || ctx.Err() != nil:
		case is:
			healthy = true
			p.post(ha.NetworkHealthy{})
		default:
			healthy = false
			p.post(ha.NetworkUnhealthy{})
		}
	}
}
