package ha

// stepActive is an active node, up to the end of its leaving.
func (r *replication) stepActive(e Event) {
	switch e := e.(type) {
	case BackupRegistered:
		switch {
		case r.phase != active:
			r.do(RefuseRegistration{Exception})
		case r.replica != noReplica:
			r.do(RefuseRegistration{AlreadyReplicating})
		default:
			r.replica = replicaSyncing
			r.failback = e.WantsFailback && r.allowsFailback()
			r.do(StartSync{r.failback})
		}
	case FilesSent:
		if r.phase == active && r.replica == replicaSyncing {
			r.replica = replicaFinishing
			r.do(FinishSync{r.finishSequence()})
		}
	case ReplicaInSync:
		if r.phase == active && r.replica == replicaFinishing {
			r.replica = replicaInSync
			r.do(AnnounceReplica{})
			if r.failback && !r.shown {
				r.setTimer(FailbackTimer, announceWait)
			}
			r.tryGiveWay()
		}
	case SyncTimedOut:
		switch {
		case r.replica != replicaFinishing:
		case r.phase == active && !r.locked() && e.ClusterSize <= 2:
			r.stop(errUnknownCopy, true)
		default:
			r.replicaLost(true)
		}
	case ReplicaLost:
		r.replicaLost(e.Orderly)
	case Incremented:
		if r.phase == active && r.replica == replicaSettling {
			r.sequence = e.Sequence
			r.replica = noReplica
			r.do(DropReplica{}, ReleaseAnswers{})
		}
	case IncrementFailed:
		if r.phase == active && r.replica == replicaSettling {
			r.log(Error, "", "the activation sequence can't be raised, so that nothing may be acknowledged without the backup: "+text(e.Err))
			r.leave(false, toRestart)
		}
	case VoteDone:
		switch {
		case r.phase != active || r.replica != replicaSettling || r.locked():
		case e.Positive:
			r.replica = noReplica
			r.do(DropReplica{}, ReleaseAnswers{})
		default:
			r.err = errVotedOut
			r.log(Error, "", "stopping: "+errVotedOut.Error())
			r.leave(false, toEnd)
		}
	case TimerFired:
		switch {
		case e.Timer == FailbackTimer && r.phase == active && r.failback:
			r.failback = false
			r.log(Error, "AMQ224057", "Backup server that requested fail-back was not announced. Server will not stop for fail-back.")
		case e.Timer == AnswerTimer && r.phase == handingOver:
			r.left()
		}
	case ServingStopped:
		if r.phase != leaving {
			return
		}
		if r.handOver && r.replica != noReplica {
			r.phase = handingOver
			r.do(SendFailOver{})
			r.setTimer(AnswerTimer, failOverAnswer)
			return
		}
		r.left()
	case FailOverAnswered:
		if r.phase == handingOver {
			r.left()
		}
	}
}

// allowsFailback: a primary never gives its place away, unless it is one of the voting.
func (r *replication) allowsFailback() bool {
	if r.policy.Backup {
		return r.policy.AllowFailback
	}
	return !r.locked()
}

// finishSequence is what the finish packet carries.
func (r *replication) finishSequence() int64 {
	if r.locked() {
		return r.sequence
	}
	return -1
}

// replicaLost is the end of a replica. One that was, or may be, in sync has to be made stale before anything is
// acknowledged that it does not have; with the voting the others decide first, if they are to be asked. (Artemis lets the answers
// leave and asks then.)
func (r *replication) replicaLost(orderly bool) {
	lost := r.replica
	switch {
	case lost == noReplica || lost == replicaSettling:
		return
	case r.phase == handingOver:
		r.left()
		return
	case r.phase == leaving:
		r.replica = noReplica // held answers never leave
		r.do(DropReplica{})
		return
	}
	r.failback, r.shown = false, false
	r.stopTimers(FailbackTimer)
	switch {
	case r.locked() && lost != replicaSyncing:
		r.replica = replicaSettling
		r.do(HoldAnswers{}, Increment{})
	case !r.locked() && !orderly && r.policy.Voting.OnLoss:
		r.replica = replicaSettling
		r.do(HoldAnswers{}, Vote{true, r.policy.Voting.Size, stayActiveWait})
	default:
		r.replica = noReplica
		r.do(DropReplica{}, ReleaseAnswers{})
	}
}

// tryGiveWay gives way to a node that asked for its place when it is in sync and known to all.
func (r *replication) tryGiveWay() {
	if r.phase == active && r.failback && r.shown && r.replica == replicaInSync {
		r.log(Info, "", "the primary is in sync and wants its place back: giving way")
		r.leave(true, toPassive)
	}
}

// giveWayAsked is the operator's wish.
func (r *replication) giveWayAsked() {
	if r.phase != active || r.replica != replicaInSync {
		r.log(Warn, "", "there is no replica in sync that could become active: nothing is switched")
		return
	}
	r.switched = true
	r.leave(true, toPassive)
}

// leave ends the service.
func (r *replication) leave(handOver bool, then next) {
	r.phase, r.handOver, r.then = leaving, handOver, then
	r.stopTimers(FailbackTimer)
	if handOver {
		r.do(SendStopCalled{})
	}
	r.do(StopServing{})
}

// left is the end of the service: nothing is written any more, and nobody waits for an answer. The lock goes last.
func (r *replication) left() {
	r.stopTimers(AnswerTimer)
	if r.replica != noReplica {
		r.replica = noReplica
		r.do(DropReplica{})
	}
	r.do(CloseStore{})
	if r.locked() {
		r.do(StopManager{})
	}
	switch r.then {
	case toEnd:
		r.phase = ended
		r.do(Exit{r.err})
	case toIsolation:
		r.phase = isolated
	case toRestart:
		if r.locked() {
			r.phase = pausing
			r.setTimer(RestartTimer, restartPause)
			return
		}
		r.comeBack()
	case toPassive:
		if r.locked() {
			r.startManager(managerAgain)
			return
		}
		r.gaveWay()
	}
}

// gaveWay begins the life as the backup of the node that was given way to.
func (r *replication) gaveWay() {
	if r.locked() {
		r.do(StopManager{})
	}
	r.log(Info, "AMQ221039", "Restarting as replicating backup server after primary restart")
	r.becomePassive()
}
