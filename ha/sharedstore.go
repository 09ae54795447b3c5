package ha

import (
	"errors"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// Phases of the shared store beside those of replication.
const (
	probing       phase = "probing"        // PrimaryLockProbed
	announcing    phase = "announcing"     // ClusterJoined
	lockingFirst  phase = "locking"        // PrimaryLocked
	lockingBackup phase = "locking backup" // BackupLocked
	joiningBackup phase = "joining backup" // ClusterJoined
	awaiting      phase = "awaiting"       // TakenOver: passive
	awaitingLive  phase = "awaiting live"  // ActiveSeen
)

// sharedStore is the machine of both roles on one folder, and of a broker without a backup.
type sharedStore struct {
	orders
	policy SharedStorePolicy
	phase  phase

	taken bool // acting for the primary: its lock was taken over
	shown bool // the topology shows another node as our backup

	// Leaving.
	then   next
	paused bool // a backup is not to take over
	err    error
}

// Status implements Machine.
func (s *sharedStore) Status() Status {
	return Status{Active: s.phase == active, Backup: s.policy.Backup && !s.taken, Sequence: noSequence, Phase: string(s.phase)}
}

// Step implements Machine.
func (s *sharedStore) Step(_ quorum.Instant, e Event) []Action {
	if t, ok := e.(TimerFired); ok && !s.fired(t.Timer) || s.phase == ended {
		return nil
	}
	switch e := e.(type) {
	case Started:
		if s.phase == off {
			s.start()
		}
	case StopAsked:
		s.stop(e.Failover)
	case SwitchAsked:
		if s.phase == active && !s.policy.Alone {
			s.leave(false, toEnd)
		}
	case Failed:
		s.fail(e.Err)
	case LockLost:
		if s.phase == active || s.phase == loading {
			s.fail(errLockLost)
		}
	case NetworkUnhealthy:
		s.isolate()
	case NetworkHealthy:
		switch {
		case s.phase == isolated:
			s.start()
		case s.phase == leaving && s.then == toIsolation:
			s.then = toRestart
		}
	case BackupShown:
		s.shown = true
	case BackupHidden:
		s.shown = false
	default:
		s.step(e)
	}
	return s.take()
}

// start is the beginning of the configured role.
func (s *sharedStore) start() {
	s.taken, s.shown, s.err = false, false, nil
	switch {
	case s.policy.Backup:
		s.phase = lockingBackup
		s.log(Info, "AMQ221032", "Waiting to become backup node")
		s.do(LockBackup{})
	case s.policy.Alone:
		s.lock()
	default:
		s.log(Info, "AMQ221006", "Waiting to obtain primary lock")
		s.phase = probing
		s.do(ProbePrimaryLock{})
	}
}

// lock waits for the primary's lock, having told the holder by the state that it is wanted.
func (s *sharedStore) lock() {
	s.phase = lockingFirst
	s.log(Info, "AMQ221034", "Waiting to obtain primary lock")
	s.do(LockPrimary{})
}

func (s *sharedStore) step(e Event) {
	switch e := e.(type) {
	case PrimaryLockProbed:
		switch {
		case s.phase != probing:
		case e.Held: // somebody took over: be its backup meanwhile, so that clients know
			s.phase = announcing
			s.do(JoinCluster{})
		default:
			s.lock()
		}
	case ClusterJoined:
		switch s.phase {
		case announcing:
			s.do(AnnounceBackup{})
			s.lock()
		case joiningBackup:
			s.phase = awaiting
			s.do(AnnounceBackup{})
			s.log(Info, "AMQ221109", "Backup Server started; waiting for primary to fail before activating")
			s.do(AwaitPrimary{})
		}
	case BackupLocked:
		if s.phase == lockingBackup {
			s.log(Info, "AMQ221033", "** got backup lock")
			s.phase = joiningBackup
			s.do(JoinCluster{})
		}
	case PrimaryLocked:
		if s.phase == lockingFirst {
			s.log(Info, "AMQ221035", "Primary Server Obtained primary lock")
			s.phase = loading
			s.do(Load{})
		}
	case TakenOver:
		if s.phase == awaiting {
			s.log(Info, "AMQ221037", "to become 'active'")
			s.phase, s.taken = loading, true
			s.do(Load{})
		}
	case Loaded:
		if s.phase == loading {
			s.serve()
		}
	case TimerFired:
		if e.Timer == FailbackTimer && s.phase == active && s.taken {
			s.do(CheckFailback{})
		}
	case FailbackChecked:
		switch {
		case s.phase != active || !s.taken:
		case e.Wanted && s.shown:
			s.log(Info, "AMQ221008", "primary server wants to restart, restarting server in backup")
			s.leave(false, toPassive)
		default:
			s.setTimer(FailbackTimer, failbackPeriod)
		}
	case ServingStopped:
		if s.phase == leaving {
			s.left()
		}
	case ActiveSeen:
		if s.phase == awaitingLive {
			if s.policy.RestartBackup {
				s.start()
			} else {
				s.phase = ended
				s.do(Exit{})
			}
		}
	}
}

// serve opens the node to clients. The state says that it is active before anything can be acknowledged, so that the other
// node takes over whenever this one dies.
func (s *sharedStore) serve() {
	s.phase = active
	if !s.taken {
		s.do(Activate{})
	}
	s.do(MonitorLock{})
	if s.taken {
		s.log(Info, "AMQ221010", "Backup Server is now active")
	} else {
		s.log(Info, "AMQ221007", "Server is now active")
	}
	s.do(OpenAcceptors{}, AnnounceActive{})
	if s.taken {
		s.do(ReleaseBackupLock{})
		if s.policy.AllowFailback {
			s.setTimer(FailbackTimer, failbackPeriod)
		}
	}
}

// stop ends the process in good order.
func (s *sharedStore) stop(failover bool) {
	switch s.phase {
	case ended:
	case active:
		s.leave(!failover && !s.policy.FailoverOnShutdown, toEnd)
	case loading:
		s.do(Cancel{})
		s.leave(!s.taken && !failover && !s.policy.FailoverOnShutdown, toEnd)
	case leaving:
		s.then = toEnd
	default:
		s.quit(nil)
	}
}

// fail ends it because it can't go on. The state stays as it is: another node may take over.
func (s *sharedStore) fail(err error) {
	switch s.phase {
	case ended:
	case active, loading:
		s.err = err
		s.phase, s.paused, s.then = leaving, false, toEnd
		s.stopTimers(FailbackTimer)
		s.do(Cancel{}, StopServing{Critical: true})
	case leaving:
		s.then, s.paused = toEnd, false
		if s.err == nil {
			s.err = err
		}
	default:
		s.quit(err)
	}
}

// quit ends a node that does not hold the primary's lock.
func (s *sharedStore) quit(err error) {
	s.retreat()
	s.phase = ended
	s.do(Exit{err})
}

// retreat lets go of what a passive node has, and of what it may just have got: the fact that tells of it is void.
func (s *sharedStore) retreat() {
	s.do(Cancel{})
	switch s.phase {
	case lockingFirst, awaiting:
		s.do(ReleasePrimaryLock{})
	}
	switch s.phase {
	case lockingBackup, joiningBackup, awaiting:
		s.do(ReleaseBackupLock{})
	}
}

// isolate stops everything until the network is back. It is a stop as any: whether the other node takes over is for the policy.
func (s *sharedStore) isolate() {
	switch s.phase {
	case off, ended, isolated:
	case active, loading:
		s.log(Warn, "AMQ222213", "There was an issue on the network, server is isolated!")
		s.leave(!s.policy.FailoverOnShutdown, toIsolation)
	case leaving:
		if s.then != toEnd {
			s.then = toIsolation
		}
	default:
		s.retreat()
		s.phase = isolated
	}
}

func (s *sharedStore) leave(paused bool, then next) {
	s.phase, s.paused, s.then = leaving, paused, then
	s.stopTimers(FailbackTimer)
	s.do(StopServing{})
}

// left lets go of the locks, when nothing of the store is open any more.
func (s *sharedStore) left() {
	s.do(CloseStore{}, ReleasePrimaryLock{s.paused})
	if s.policy.Backup {
		s.do(ReleaseBackupLock{})
	}
	switch s.then {
	case toEnd:
		s.phase = ended
		s.do(Exit{s.err})
	case toIsolation:
		s.phase = isolated
	case toRestart:
		s.start()
	case toPassive:
		s.phase = awaitingLive
		s.do(AwaitActive{})
	}
}

var errLockLost = errors.New("the lock of the shared store is lost, so that another broker may be active")
