package ha

import "github.com/saranga-mq/saranga/ha/quorum"

// becomePassive begins the life of a backup: one that has data of its own tries to become active first.
func (r *replication) becomePassive() {
	r.passive = true
	r.returned = !r.policy.Backup
	r.peer, r.retry, r.rounds = "", false, 0
	if !r.locked() {
		r.moveAway()
		return
	}
	r.useCoordinationID()
	r.startManager(startingManager)
}

// moveAway makes room for a copy of the active node's data, and joins the cluster. Data that is kept stays until locate has found an
// active node.
func (r *replication) moveAway() {
	r.peer = ""
	r.nodes = locator{group: r.policy.GroupName, wait: r.policy.RetryReplicationWait}
	if r.returned && r.locked() {
		r.nodes.id = r.nodeID
		r.nodes.group = ""
	}
	if r.kept {
		r.phase = joining
		r.do(JoinCluster{})
		return
	}
	r.move()
}

func (r *replication) move() {
	r.phase, r.kept = moving, false
	r.sequence = noSequence // which goes with the data, whatever happens before DataMoved comes
	r.do(MoveDataAway{r.policy.MaxSavedReplicas, r.returned && r.locked()})
}

// register asks the peer to replicate to this node.
func (r *replication) register() {
	r.phase = registering
	r.do(Register{r.peer, r.wantsFailback()})
}

// stepPassive is a backup until it is active.
func (r *replication) stepPassive(now quorum.Instant, e Event) {
	switch e := e.(type) {
	case ManagerStarted:
		switch {
		case r.phase != startingManager:
		case r.sequence > 0 || r.sequence == 0 && r.returned: // else the data can't be worth anything
			r.examine(activating)
		default:
			r.moveAway()
		}
	case ManagerUnavailable:
		switch r.phase {
		case startingManager, activating:
			r.managerUnavailable()
		case deciding:
			r.notChosen()
		}
	case DataChecked:
		if r.phase == examining {
			r.examined(e.Err)
		}
	case LockAcquired:
		if r.phase == activating || r.phase == deciding {
			r.raise(e.Sequence)
		}
	case NotCandidate:
		switch r.phase {
		case activating:
			r.moveAway()
		case deciding:
			r.notChosen()
		}
	case LocalFailed:
		switch r.phase {
		case activating:
			r.stop(e.Err, true)
		case deciding:
			r.notChosen()
		}
	case DataMoved:
		switch {
		case r.phase != moving:
		case r.peer != "": // it was found before
			r.register()
		default:
			r.phase = joining
			r.do(JoinCluster{})
		}
	case ClusterJoined:
		if r.phase == joining {
			r.log(Info, "AMQ221109", "Backup Server started; waiting for an active node to replicate from")
			r.locate(now)
		}
	case ConnectFailed:
		if r.phase == registering {
			r.do(CloseLink{})
			r.nodes.unreachable(r.peer)
			r.peer = ""
			r.phase = unreachable
			r.setTimer(LocateTimer, r.policy.RetryInterval)
		}
	case RegistrationRefused:
		if r.phase == registering || r.phase == syncing {
			r.refused(now, e.Problem)
		}
	case SyncStarted:
		r.syncStarted(e)
	case SyncFinished:
		r.syncFinished(e)
	case StopCalled:
		switch r.phase {
		case inSync:
			r.phase = stopCalled
			r.setTimer(ForcedTimer, forcedFailover)
		case registering, syncing:
			if !r.locked() {
				r.stop(errNotInSync, true)
			}
		}
	case FailOver:
		switch r.phase {
		case inSync, stopCalled, voting, judging:
			r.takeOver()
		case registering, syncing:
			if r.locked() {
				r.linkEnded(now)
			} else {
				r.stop(errNotInSync, true)
			}
		}
	case LinkLost:
		r.linkEnded(now)
	case VoteDone:
		r.voted(e.Positive)
	case NetworkChecked:
		r.networkChecked(e)
	case TimerFired:
		r.passiveTimer(now, e.Timer)
	}
}

func (r *replication) passiveTimer(now quorum.Instant, t Timer) {
	switch {
	case t == ManagerTimer && r.phase == managerAway:
		r.startManager(startingManager)
	case t == RestartTimer && r.phase == pausing:
		r.becomePassive()
	case t == LocateTimer && (r.phase == locating || r.phase == unreachable):
		r.locate(now)
	case t == VoteTimer && r.phase == voting:
		r.ask()
	case t == ForcedTimer && r.phase == stopCalled:
		if r.retry {
			r.notChosen()
		} else {
			r.takeOver()
		}
	}
}

// locate registers with the next candidate, or waits for one.
func (r *replication) locate(now quorum.Instant) {
	id, wait := r.nodes.next(now)
	if id == "" {
		r.phase = locating
		r.setTimer(LocateTimer, wait)
		return
	}
	r.stopTimers(LocateTimer)
	r.peer = id
	if r.kept {
		r.move()
	} else {
		r.register()
	}
}

func (r *replication) wantsFailback() bool { return r.returned && !r.switched }

func (r *replication) refused(now quorum.Instant, p Problem) {
	switch p {
	case AlreadyReplicating:
		r.do(CloseLink{})
		r.nodes.setAside(now, r.peer)
		r.locate(now)
	case Authentication:
		r.log(Warn, "AMQ222164", "Error when trying to start replication: "+p.String())
		r.stop(errRegistration(p), true)
	default: // it may only be too early
		r.log(Warn, "AMQ222164", "Error when trying to start replication: "+p.String())
		r.do(CloseLink{})
		r.nodes.setAside(now, r.peer)
		r.locate(now)
	}
}

// syncStarted learns whose data comes.
func (r *replication) syncStarted(e SyncStarted) {
	switch r.phase {
	case registering:
		if r.locked() && r.returned && e.NodeID != r.nodeID {
			r.stop(errWrongNode, true)
			return
		}
		r.phase, r.peer = syncing, e.NodeID
		if !r.locked() {
			r.nodeID = e.NodeID
		}
		if r.wantsFailback() && !e.FailbackGranted {
			r.log(Warn, "", "the active node does not give way: this node stays a backup")
		}
	case syncing:
		if r.locked() && e.NodeID != r.peer {
			r.stop(errWrongNode, true)
		}
	}
}

// syncFinished makes this node the replica that may take over. From the answer on the active node relies on that.
func (r *replication) syncFinished(e SyncFinished) {
	if r.phase != syncing {
		return
	}
	if r.locked() {
		if e.NodeID != r.peer {
			r.stop(errWrongNode, true)
			return
		}
		if e.Sequence <= 0 {
			r.stop(errWrongSequence, true)
			return
		}
		r.sequence = e.Sequence
		r.do(Persist(e))
	}
	r.nodeID = e.NodeID
	r.phase = inSync
	r.do(ConfirmSync{}, AnnounceBackup{})
	r.log(Info, "AMQ221024", "Backup server is synchronized with primary server, nodeID="+r.nodeID+".")
}

// linkEnded decides whether this node takes over.
func (r *replication) linkEnded(now quorum.Instant) {
	switch r.phase {
	case registering, syncing:
		r.log(Info, "", "Replication failure while initial sync not yet completed: restart as backup")
		r.restart()
	case inSync:
		if r.locked() {
			r.takeOver()
			return
		}
		r.phase, r.rounds = voting, 0
		r.ask()
	case stopCalled:
		if r.locked() {
			r.takeOver()
			return
		}
		r.do(CheckNetwork{}) // the countdown decides, unless the network is gone
	}
}

// ask begins the next round of votes, or gives up.
func (r *replication) ask() {
	if r.rounds >= r.policy.Voting.Retries {
		r.retry = true
		r.phase = judging
		r.do(CheckNetwork{})
		return
	}
	r.rounds++
	r.do(Vote{false, r.policy.Voting.Size, r.policy.Voting.Wait})
}

func (r *replication) voted(gone bool) {
	switch {
	case r.phase != voting:
	case gone:
		r.retry = false
		r.phase = judging
		r.do(CheckNetwork{})
	case r.rounds < r.policy.Voting.Retries:
		r.setTimer(VoteTimer, r.policy.Voting.RetryWait)
	default:
		r.ask()
	}
}

// networkChecked: what can be checked overrides the votes.
func (r *replication) networkChecked(e NetworkChecked) {
	switch r.phase {
	case stopCalled:
		r.retry = e.Configured && !e.Healthy
	case judging:
		if e.Configured {
			if r.retry = !e.Healthy; r.retry {
				r.log(Warn, "AMQ222213", "There was an issue on the network, server is isolated!")
			}
		}
		if r.retry {
			r.notChosen()
			return
		}
		r.log(Info, "AMQ221071", "Failing over based on quorum vote results.")
		r.takeOver()
	}
}

// takeOver: the active node is gone and this one is in sync.
func (r *replication) takeOver() {
	r.endLink()
	if r.locked() {
		r.examine(deciding)
	} else {
		r.examine(loading)
	}
}

// notChosen: another node is or will be active.
func (r *replication) notChosen() {
	r.log(Info, "AMQ221070", "Restarting as backup based on quorum vote results.")
	r.restart()
}
