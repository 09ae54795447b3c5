package ha

import (
	"errors"
	"fmt"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// phase is where a machine is. Each says what it waits for.
type phase string

const (
	off     phase = "off"     // Started
	ended   phase = "ended"   // nothing
	pausing phase = "pausing" // RestartTimer

	// The way to being active.
	startingManager phase = "starting manager" // ManagerStarted
	managerAway     phase = "manager away"     // ManagerTimer
	lookingForSelf  phase = "looking for self" // ActiveFound (voting)
	examining       phase = "examining data"   // DataChecked; wanted is what comes after it
	activating      phase = "activating"       // LockAcquired, NotCandidate
	raising         phase = "raising"          // Incremented
	loading         phase = "loading"          // Loaded
	checking        phase = "checking"         // HeldChecked
	active          phase = "active"

	// Passive.
	moving      phase = "moving data" // DataMoved
	joining     phase = "joining"     // ClusterJoined
	locating    phase = "locating"    // NodeUp, LocateTimer
	unreachable phase = "unreachable" // LocateTimer
	registering phase = "registering" // SyncStarted
	syncing     phase = "syncing"     // SyncFinished
	inSync      phase = "in sync"     // the end of the link, StopCalled
	stopCalled  phase = "stop called" // FailOver, ForcedTimer
	voting      phase = "voting"      // VoteDone, VoteTimer
	judging     phase = "judging"     // NetworkChecked, after the votes
	deciding    phase = "deciding"    // LockAcquired, NotCandidate, with the replica's data

	// The way out of being active.
	leaving       phase = "leaving"        // ServingStopped
	handingOver   phase = "handing over"   // FailOverAnswered
	managerAgain  phase = "manager again"  // ManagerStarted, to see the other node activate
	awaitingOther phase = "awaiting other" // NextActivation
	isolated      phase = "isolated"       // NetworkHealthy
)

// replica is what an active node knows about the other end.
type replica int

const (
	noReplica        replica = iota
	replicaSyncing           // files are sent
	replicaFinishing         // the finish packet is on its way: it may be in sync
	replicaInSync
	replicaSettling // lost; answers are held until the sequence is raised, or the vote is done
)

// next is what comes after leaving.
type next int

const (
	toEnd     next = iota
	toPassive      // after giving way
	toRestart      // after losing the lock
	toIsolation
)

// replication is the machine of both roles. Invariants: replica is noReplica unless phase is active, leaving or handingOver;
// held implies a lock manager.
type replication struct {
	orders
	policy ReplicationPolicy
	phase  phase

	nodeID   string
	sequence int64 // L; noSequence when the data is gone or without a manager

	// Passive.
	passive  bool
	returned bool   // failback: the data and the id were ours, and we want only the node that has them now
	switched bool   // the operator took our place away: don't ask for it
	peer     string // id of the node being replicated, once seen
	retry    bool   // after STOP_CALLED: the network is gone, so don't fail over
	rounds   int    // of votes
	nodes    locator
	wanted   phase // activating, deciding, or loading with the voting
	kept     bool  // the data can't be served and may be the only copy: it stays until there is an active node

	// Active.
	replica  replica
	failback bool // granted to the replica
	shown    bool // the replica is in the topology

	// Leaving.
	handOver bool
	then     next
	err      error
}

// Status implements Machine.
func (r *replication) Status() Status {
	s := Status{Active: r.phase == active, Backup: r.passive, Sequence: r.sequence, Phase: string(r.phase)}
	s.ReplicaSync = r.replica == replicaInSync || r.passive && (r.phase == inSync || r.phase == stopCalled)
	return s
}

// Step implements Machine.
func (r *replication) Step(now quorum.Instant, e Event) []Action {
	if t, ok := e.(TimerFired); ok && !r.fired(t.Timer) || r.phase == ended {
		return nil
	}
	switch e := e.(type) {
	case Started:
		if r.phase == off {
			r.nodeID, r.sequence = e.NodeID, e.Sequence
			r.start()
		}
	case StopAsked:
		r.stop(nil, false)
	case Failed:
		r.stop(e.Err, true)
	case SwitchAsked:
		r.giveWayAsked()
	case NetworkUnhealthy:
		r.isolate()
	case NetworkHealthy:
		r.rejoin()
	case LockLost, ManagerLost, LeaseMissed:
		r.quorumLost()
	case NodeUp:
		r.nodes.up(e)
		if r.phase == locating {
			r.locate(now)
		}
	case NodeDown:
		r.nodes.down()
		switch {
		case r.phase == locating:
			r.locate(now)
		case r.phase == inSync || r.phase == stopCalled:
			// A node that stops leaves the topology before its last writes are replicated: only the end of the link is the end.
		case e.NodeID == r.peer && !r.returned: // while failing back it is the normal course
			r.linkEnded(now)
		}
	case BackupShown:
		r.shown = true
		r.tryGiveWay()
	case BackupHidden:
		r.shown = false
	default:
		switch {
		case r.phase == active || r.phase == leaving || r.phase == handingOver:
			r.stepActive(e)
		case r.passive:
			r.stepPassive(now, e)
		default:
			r.stepStarting(e)
		}
	}
	return r.take()
}

func (r *replication) locked() bool { return r.policy.Manager != nil }

// start is the beginning of the configured role.
func (r *replication) start() {
	switch {
	case r.policy.Backup:
		r.becomePassive()
	case r.locked():
		r.useCoordinationID()
		if r.sequence == noSequence {
			r.sequence = 0
			r.do(WriteSequence{0})
		}
		r.startManager(startingManager)
	case r.policy.Voting.CheckForActive:
		r.phase = lookingForSelf
		r.do(LookForActive{startCheckWait})
	default:
		r.load()
	}
}

func (r *replication) useCoordinationID() {
	if id := r.policy.CoordinationID; id != "" && id != r.nodeID {
		r.nodeID = id
		r.do(UseNodeID{id})
	}
}

func (r *replication) startManager(p phase) {
	r.phase = p
	r.do(StartManager{})
}

// managerUnavailable waits until the store can be asked.
func (r *replication) managerUnavailable() {
	r.phase = managerAway
	r.do(StopManager{})
	r.setTimer(ManagerTimer, managerPause)
}

// stepStarting is the way of a primary, and of a backup that takes over, to being active.
func (r *replication) stepStarting(e Event) {
	switch e := e.(type) {
	case TimerFired:
		switch {
		case e.Timer == ManagerTimer && r.phase == managerAway:
			r.startManager(startingManager)
		case e.Timer == RestartTimer && r.phase == pausing:
			r.becomePassive()
		}
	case ManagerStarted:
		switch r.phase {
		case startingManager:
			r.examine(activating)
		case managerAgain:
			r.phase = awaitingOther
			r.do(AwaitNext{r.sequence, nextActivation})
		}
	case ManagerUnavailable:
		switch r.phase {
		case startingManager, activating:
			r.managerUnavailable()
		case managerAgain, awaitingOther:
			r.gaveWay()
		}
	case NextActivation:
		if r.phase == awaitingOther {
			if !e.Seen {
				r.log(Warn, "", "the node that was given way to has not activated in time; this node competes for the lock again")
			}
			r.gaveWay()
		}
	case DataChecked:
		if r.phase == examining {
			r.examined(e.Err)
		}
	case LockAcquired:
		if r.phase == activating {
			r.raise(e.Sequence)
		}
	case NotCandidate:
		if r.phase == activating {
			r.log(Info, "", "This broker cannot become primary with NodeID = "+r.nodeID+": restarting as backup")
			r.passive, r.returned = true, true
			r.moveAway()
		}
	case LocalFailed:
		if r.phase == activating {
			r.stop(e.Err, true)
		}
	case ActiveFound:
		if r.phase == lookingForSelf {
			if e.Found {
				r.becomePassive()
			} else {
				r.load()
			}
		}
	case Incremented:
		if r.phase == raising {
			r.sequence = e.Sequence
			r.load()
		}
	case IncrementFailed:
		if r.phase == raising {
			r.log(Warn, "", "activation failed: "+text(e.Err))
			r.restart()
		}
	case Loaded:
		switch {
		case r.phase != loading:
		case r.locked():
			// Loading may have taken longer than the lease.
			r.phase = checking
			r.do(CheckHeld{})
		default:
			r.serve()
		}
	case HeldChecked:
		switch {
		case r.phase != checking:
		case e.Held:
			r.serve()
		default:
			r.log(Error, "", "This broker isn't active anymore, probably due to application pauses: the lock was lost while it loaded")
			r.leave(false, toRestart)
		}
	}
}

// examine looks at the data before a way on which this node claims it: from then on every other copy is stale.
func (r *replication) examine(wanted phase) {
	r.phase, r.wanted = examining, wanted
	r.do(CheckData{})
}

func (r *replication) examined(err error) {
	switch {
	case err == nil && r.wanted == loading:
		r.log(Info, "AMQ221037", "to become 'active'")
		r.do(Persist{r.nodeID, noSequence})
		r.load()
	case err == nil:
		r.phase = r.wanted
		r.do(TryActivate{})
	default:
		r.log(Error, "", "this node cannot take over: "+text(err)+". Its data stays where it is until an active node has other data for it")
		r.kept = true
		if r.wanted == activating {
			r.passive, r.returned = true, r.returned || !r.passive
			r.moveAway()
		} else {
			r.restart()
		}
	}
}

// raise is what comes after the lock, before the data may be used.
func (r *replication) raise(sequence int64) {
	r.sequence = sequence
	if r.passive {
		r.log(Info, "AMQ221037", "to become 'active'")
	}
	r.passive = false
	r.phase = raising
	r.do(WatchLock{}, Increment{})
}

func (r *replication) load() {
	r.phase, r.passive = loading, false
	r.do(Load{})
}

// serve opens the node to clients.
func (r *replication) serve() {
	r.phase = active
	r.replica, r.failback, r.shown, r.switched = noReplica, false, false, false
	r.log(Info, "AMQ221007", "Server is now active")
	r.do(OpenAcceptors{}, AnnounceActive{})
}

// quorumLost: the lock or the store is gone, or the lease is missed.
func (r *replication) quorumLost() {
	if !r.locked() {
		return
	}
	switch r.phase {
	case active, checking:
		r.log(Error, "", "Quorum UNAVAILABLE: async stopping broker.")
		r.leave(false, toRestart)
	case loading:
		r.log(Error, "", "Quorum UNAVAILABLE: async stopping broker.")
		r.do(Cancel{})
		r.leave(false, toRestart)
	case raising, activating, examining, startingManager:
		r.do(Cancel{})
		r.restart()
	case managerAgain, awaitingOther:
		r.do(Cancel{})
		r.gaveWay()
	case moving, joining, locating, unreachable, registering, syncing, inSync, stopCalled, deciding:
		r.log(Info, "", "Unavailable quorum service detected: try restart server")
		r.do(Cancel{})
		r.restart()
	}
}

// restart begins anew as a backup, which takes up its data again if it may. What was replicated and is not in sync is
// forgotten: its sequence is noSequence since the data was moved away.
func (r *replication) restart() {
	r.endLink()
	if r.locked() {
		r.do(StopManager{})
	}
	r.phase = pausing
	r.setTimer(RestartTimer, restartPause)
}

// endLink leaves nothing of the passive node's connection.
func (r *replication) endLink() {
	switch r.phase {
	case voting:
		r.do(Cancel{}, CloseLink{})
	case registering, syncing, inSync, stopCalled, judging:
		r.do(CloseLink{})
	}
	r.stopTimers(LocateTimer, ForcedTimer, VoteTimer)
}

// stop ends the process: asked for (err nil) or because it can't go on.
func (r *replication) stop(err error, critical bool) {
	switch r.phase {
	case ended:
	case active:
		r.err = err
		if critical {
			r.then, r.handOver, r.phase = toEnd, false, leaving
			r.do(StopServing{Critical: true})
			return
		}
		r.leave(r.replica != noReplica && r.replica != replicaSettling, toEnd)
	case leaving, handingOver:
		r.then = toEnd
		if r.err == nil {
			r.err = err
		}
	case loading, checking:
		r.err = err
		r.do(Cancel{})
		r.leave(false, toEnd)
	default:
		r.do(Cancel{})
		r.endLink()
		if r.locked() {
			r.do(StopManager{})
		}
		r.phase = ended
		r.do(Exit{err})
	}
}

// isolate stops everything until the network is back. No failover message: the others decide by themselves.
func (r *replication) isolate() {
	switch r.phase {
	case off, ended, isolated:
	case active, loading, checking:
		r.log(Warn, "AMQ222213", "There was an issue on the network, server is isolated!")
		r.leave(false, toIsolation)
	case leaving, handingOver:
		if r.then != toEnd {
			r.then = toIsolation
		}
	default:
		r.do(Cancel{})
		r.endLink()
		if r.locked() {
			r.do(StopManager{})
		}
		r.phase = isolated
	}
}

// rejoin begins anew after an isolation.
func (r *replication) rejoin() {
	switch {
	case (r.phase == leaving || r.phase == handingOver) && r.then == toIsolation:
		r.then = toRestart
	case r.phase == isolated:
		r.comeBack()
	}
}

// comeBack is the begin of a node that was active and left without giving way. With the voting only the cluster can tell
// whether somebody took over meanwhile.
func (r *replication) comeBack() {
	switch {
	case r.locked() || r.passive:
		r.becomePassive()
	default:
		r.phase = lookingForSelf
		r.do(LookForActive{startCheckWait})
	}
}

func text(err error) string {
	if err == nil {
		return "unknown"
	}
	return err.Error()
}

var (
	errWrongNode     = errors.New("the active node has another node id than expected: maybe it is misconfigured")
	errWrongSequence = errors.New("the active node has no activation sequence: it does not use a lock manager")
	errNotInSync     = errors.New("the active node stops and this backup is not in sync")
	errVotedOut      = errors.New("the other members of the cluster do not see this node as active")
	errUnknownCopy   = errors.New("the replica did not confirm the end of the synchronisation, and may take over")
)

func errRegistration(p Problem) error {
	return fmt.Errorf("the active node refused the registration as its backup: %s", p)
}
