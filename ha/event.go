package ha

// An Event is a fact.
type Event interface{ event() }

// Facts about the process.
type (
	// Started is the first event. Sequence is that of server.activation.sequence, -1 if there is none.
	Started struct {
		NodeID   string
		Sequence int64
	}
	// StopAsked: the operator ends the process. Failover hands over to the backup even if the policy would not.
	StopAsked struct{ Failover bool }
	// SwitchAsked: the operator wants the other node to be active and this one to become its backup.
	SwitchAsked struct{}
	// Failed: this node can't go on, for its store, its configuration or an order failed in a way that has no event of
	// its own.
	Failed struct{ Err error }
	// TimerFired: a timer that was set, and not stopped since, has run out.
	TimerFired struct{ Timer Timer }
	// NetworkUnhealthy and NetworkHealthy are the results of network-check-*, each time they change.
	NetworkUnhealthy struct{}
	NetworkHealthy   struct{}
)

// Facts about the data and the engine.
type (
	DataMoved struct{} // MoveDataAway is done
	// DataChecked is the result of CheckData; Err says why a broker can't be started.
	DataChecked    struct{ Err error }
	Loaded         struct{} // Load is done
	ServingStopped struct{} // StopServing is done
)

// Facts about the lock manager.
type (
	ManagerStarted struct{}
	// ManagerUnavailable: StartManager, TryActivate or AwaitNext could not ask the store.
	ManagerUnavailable struct{}
	// ManagerLost: the started manager is lost for good.
	ManagerLost struct{}
	// LockAcquired: TryActivate got the lock. Sequence is the local one, which it may have repaired.
	LockAcquired struct{ Sequence int64 }
	// NotCandidate: TryActivate found the data stale.
	NotCandidate struct{}
	// LocalFailed: the local sequence could not be read or written.
	LocalFailed struct{ Err error }
	// Incremented: Increment is done.
	Incremented struct{ Sequence int64 }
	// IncrementFailed: Increment is not done; it left a state that TryActivate repairs.
	IncrementFailed struct{ Err error }
	// HeldChecked: whether the store still says that this node holds the lock. An error counts as no.
	HeldChecked struct{ Held bool }
	// LockLost: the holding ended by itself.
	LockLost struct{}
	// LeaseMissed: an answer could not leave, because the lease had run out (Deadline.Missed).
	LeaseMissed struct{}
	// NextActivation: whether AwaitNext saw another node activate.
	NextActivation struct{ Seen bool }
)

// Facts for a passive node with replication.
type (
	// ClusterJoined: JoinCluster is done.
	ClusterJoined struct{}
	// NodeUp: the topology shows a node. Group is its backup group.
	NodeUp struct{ NodeID, Group string }
	// NodeDown: the node has left the topology.
	NodeDown struct{ NodeID string }
	// ConnectFailed: no connection to the node that Register named, or it did not authorize us.
	ConnectFailed struct{}
	// RegistrationRefused: BACKUP_REGISTRATION_FAILED.
	RegistrationRefused struct{ Problem Problem }
	// SyncStarted: the active node begins; FailbackGranted is its answer to WantsFailback. It may come twice, once per
	// journal.
	SyncStarted struct {
		NodeID          string
		FailbackGranted bool
	}
	// SyncFinished: all is copied and loaded; the answer to the active node waits for ConfirmSync.
	SyncFinished struct {
		NodeID   string
		Sequence int64
	}
	StopCalled struct{} // SCHEDULED_FAILOVER STOP_CALLED
	FailOver   struct{} // SCHEDULED_FAILOVER FAIL_OVER
	LinkLost   struct{} // the replication connection ended
)

// Facts for an active node with replication.
type (
	// BackupRegistered: a node asks to be the replica.
	BackupRegistered struct{ WantsFailback bool }
	// FilesSent: the first part of the synchronisation is done and no journal write can happen; FinishSync may be sent.
	FilesSent struct{}
	// ReplicaInSync: the replica has answered the finish packet.
	ReplicaInSync struct{}
	// ReplicaLost: the connection to the replica ended, or synchronising failed. Orderly is a close that is no failure.
	ReplicaLost struct{ Orderly bool }
	// SyncTimedOut: no answer to the finish packet. ClusterSize is the largest number of members seen.
	SyncTimedOut struct{ ClusterSize int }
	// FailOverAnswered: the replica has taken FAIL_OVER.
	FailOverAnswered struct{}
	// BackupShown: the own topology shows another node as backup of this node's id. BackupHidden: it does not any more.
	BackupShown  struct{}
	BackupHidden struct{}
)

// Facts of the voting.
type (
	// ActiveFound: whether LookForActive found a living node with our id.
	ActiveFound struct{ Found bool }
	// VoteDone: a vote has ended. For a backup, Positive means that there is no such active node any more; for an active
	// node that enough others see it at its connector.
	VoteDone struct{ Positive bool }
	// NetworkChecked is the result of CheckNetwork. Without anything to check Configured is false.
	NetworkChecked struct{ Configured, Healthy bool }
)

// Facts about a shared store.
type (
	PrimaryLockProbed struct{ Held bool } // ProbePrimaryLock: held by another process
	PrimaryLocked     struct{}            // LockPrimary is done
	BackupLocked      struct{ NodeID string }
	TakenOver         struct{}              // AwaitPrimary: the primary died, its lock is ours
	FailbackChecked   struct{ Wanted bool } // CheckFailback: a primary wants its place back
	ActiveSeen        struct{}              // AwaitActive: the node that wanted its place back is active
)

// Problem is the reason of BACKUP_REGISTRATION_FAILED, as on the wire.
type Problem int32

// The problems.
const (
	Exception          Problem = 0
	Authentication     Problem = 1
	AlreadyReplicating Problem = 2
)

func (p Problem) String() string {
	switch p {
	case Authentication:
		return "authentication"
	case AlreadyReplicating:
		return "already replicating"
	}
	return "exception"
}

func (Started) event()             {}
func (StopAsked) event()           {}
func (SwitchAsked) event()         {}
func (Failed) event()              {}
func (TimerFired) event()          {}
func (NetworkUnhealthy) event()    {}
func (NetworkHealthy) event()      {}
func (DataMoved) event()           {}
func (DataChecked) event()         {}
func (Loaded) event()              {}
func (ServingStopped) event()      {}
func (ManagerStarted) event()      {}
func (ManagerUnavailable) event()  {}
func (ManagerLost) event()         {}
func (LockAcquired) event()        {}
func (NotCandidate) event()        {}
func (LocalFailed) event()         {}
func (Incremented) event()         {}
func (IncrementFailed) event()     {}
func (HeldChecked) event()         {}
func (LockLost) event()            {}
func (LeaseMissed) event()         {}
func (NextActivation) event()      {}
func (ClusterJoined) event()       {}
func (NodeUp) event()              {}
func (NodeDown) event()            {}
func (ConnectFailed) event()       {}
func (RegistrationRefused) event() {}
func (SyncStarted) event()         {}
func (SyncFinished) event()        {}
func (StopCalled) event()          {}
func (FailOver) event()            {}
func (LinkLost) event()            {}
func (BackupRegistered) event()    {}
func (FilesSent) event()           {}
func (ReplicaInSync) event()       {}
func (ReplicaLost) event()         {}
func (SyncTimedOut) event()        {}
func (FailOverAnswered) event()    {}
func (BackupShown) event()         {}
func (BackupHidden) event()        {}
func (ActiveFound) event()         {}
func (VoteDone) event()            {}
func (NetworkChecked) event()      {}
func (PrimaryLockProbed) event()   {}
func (PrimaryLocked) event()       {}
func (BackupLocked) event()        {}
func (TakenOver) event()           {}
func (FailbackChecked) event()     {}
func (ActiveSeen) event()          {}
