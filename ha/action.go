package ha

import "time"

// An Action is an order. Those that take time come back as an event, which the comment names; in between the machine goes on.
type Action interface{ action() }

// Level is how loud a Log is.
type Level string

// The levels.
const (
	Info  Level = "INFO"
	Warn  Level = "WARN"
	Error Level = "ERROR"
)

// Orders about the process.
type (
	// Log writes a line; Code may be empty.
	Log struct {
		Level Level
		Code  string // AMQ…
		Text  string
	}
	// SetTimer sets a timer, in place of the same one that may run: TimerFired.
	SetTimer struct {
		Timer Timer
		After time.Duration
	}
	// StopTimer stops it, if it runs.
	StopTimer struct{ Timer Timer }
	// Cancel ends all waiting orders (TryActivate, AwaitNext, LockPrimary, LockBackup, AwaitPrimary, AwaitActive, Vote,
	// LookForActive). They have no event any more.
	Cancel struct{}
	// Exit ends the process. Err is nil after a stop that was asked for.
	Exit struct{ Err error }
)

// Orders about the data and the engine.
type (
	// UseNodeID makes the node known by another id and writes it to server.lock (coordination-id): Failed if it can't.
	UseNodeID struct{ NodeID string }
	// MoveDataAway empties the data folders into oldreplica.N and keeps so many of these (-1: all, 0: none): DataMoved.
	MoveDataAway struct {
		Keep          int
		KeepLockFiles bool // server.lock and serverlock.* are copied there and stay
	}
	// CheckData finds out whether a broker can be started on the data that is there without missing anything: DataChecked.
	CheckData struct{}
	// Load loads the store and brings the engine up; clients can't connect yet: Loaded.
	Load struct{}
	// AnnounceActive tells the cluster that this node's id is active here, without a backup.
	AnnounceActive struct{}
	// OpenAcceptors lets clients in.
	OpenAcceptors struct{}
	// StopServing closes acceptors, clients and cluster connections, all but the replica's, and stops the engine. What the
	// engine writes at its end is still replicated. Answers that wait never leave (Deadline.End). Critical: nothing is
	// written any more. ServingStopped.
	StopServing struct{ Critical bool }
	// CloseStore closes the files. Locks are let go after that.
	CloseStore struct{}
)

// Orders about the lock manager.
type (
	StartManager struct{} // ManagerStarted, ManagerUnavailable
	StopManager  struct{} // lets go of the lock, too
	// WriteSequence writes the local sequence.
	WriteSequence struct{ Sequence int64 }
	// TryActivate is quorum.Node.TryActivate: LockAcquired, NotCandidate, ManagerUnavailable, LocalFailed.
	TryActivate struct{}
	// WatchLock hands on LockLost from now, and lets the Deadline follow the lock's lease.
	WatchLock struct{}
	// Increment is quorum.Node.Increment: Incremented, IncrementFailed.
	Increment struct{}
	// CheckHeld asks the store whether the lock is still held: HeldChecked.
	CheckHeld struct{}
	// AwaitNext is quorum.Node.AwaitNext: NextActivation, ManagerUnavailable.
	AwaitNext struct {
		Sequence int64
		Timeout  time.Duration
	}
)

// Orders for a passive node with replication.
type (
	// JoinCluster waits for the first connection to the cluster: ClusterJoined, then NodeUp and NodeDown.
	JoinCluster struct{}
	// Register connects to the node, by its primary connector and then its backup connector, starts the replica's end and
	// registers: ConnectFailed, RegistrationRefused, SyncStarted, SyncFinished, StopCalled, FailOver, LinkLost.
	Register struct {
		NodeID        string
		WantsFailback bool
	}
	// Persist writes node id and sequence to the node manager's folder, synced. Sequence -1 is not written. Failed if it can't.
	Persist struct {
		NodeID   string
		Sequence int64
	}
	ConfirmSync    struct{} // answer the finish packet
	AnnounceBackup struct{} // NODE_ANNOUNCE as backup
	CloseLink      struct{} // close the replica's end and the connection
)

// Orders for an active node with replication.
type (
	RefuseRegistration struct{ Problem Problem }
	// StartSync begins the synchronisation: FilesSent, ReplicaLost.
	StartSync struct{ AllowsFailback bool }
	// FinishSync sends the finish packet: ReplicaInSync, SyncTimedOut, ReplicaLost.
	FinishSync struct{ Sequence int64 }
	// AnnounceReplica adds the replica to the topology: BackupShown, when it is there.
	AnnounceReplica struct{}
	HoldAnswers     struct{} // detach the tap; answers the replica did not confirm stay held
	DropReplica     struct{} // close the connection to it; later facts about it are void
	ReleaseAnswers  struct{} // answers leave without a replica
	SendStopCalled  struct{}
	SendFailOver    struct{} // FailOverAnswered
)

// Orders of the voting.
type (
	// LookForActive looks in the cluster for a living node with our id, at most Wait: ActiveFound.
	LookForActive struct{ Wait time.Duration }
	// Vote asks the other members. Size -1 is the largest cluster seen: VoteDone.
	Vote struct {
		StayActive bool
		Size       int
		Wait       time.Duration
	}
	CheckNetwork struct{} // NetworkChecked
)

// Orders about a shared store; they are methods of sharedstore.NodeManager.
type (
	ProbePrimaryLock  struct{} // PrimaryLockProbed
	LockPrimary       struct{} // state F, then the primary lock: PrimaryLocked, Failed
	LockBackup        struct{} // BackupLocked, Failed
	AwaitPrimary      struct{} // TakenOver, Failed
	Activate          struct{} // state L
	MonitorLock       struct{} // LockLost
	ReleaseBackupLock struct{}
	CheckFailback     struct{} // FailbackChecked
	// ReleasePrimaryLock lets go. Paused writes state P before, so that no backup takes over.
	ReleasePrimaryLock struct{ Paused bool }
	AwaitActive        struct{} // ActiveSeen
)

func (Log) action()                {}
func (SetTimer) action()           {}
func (StopTimer) action()          {}
func (Cancel) action()             {}
func (Exit) action()               {}
func (UseNodeID) action()          {}
func (MoveDataAway) action()       {}
func (CheckData) action()          {}
func (Load) action()               {}
func (AnnounceActive) action()     {}
func (OpenAcceptors) action()      {}
func (StopServing) action()        {}
func (CloseStore) action()         {}
func (StartManager) action()       {}
func (StopManager) action()        {}
func (WriteSequence) action()      {}
func (TryActivate) action()        {}
func (WatchLock) action()          {}
func (Increment) action()          {}
func (CheckHeld) action()          {}
func (AwaitNext) action()          {}
func (JoinCluster) action()        {}
func (Register) action()           {}
func (Persist) action()            {}
func (ConfirmSync) action()        {}
func (AnnounceBackup) action()     {}
func (CloseLink) action()          {}
func (RefuseRegistration) action() {}
func (StartSync) action()          {}
func (FinishSync) action()         {}
func (AnnounceReplica) action()    {}
func (HoldAnswers) action()        {}
func (DropReplica) action()        {}
func (ReleaseAnswers) action()     {}
func (SendStopCalled) action()     {}
func (SendFailOver) action()       {}
func (LookForActive) action()      {}
func (Vote) action()               {}
func (CheckNetwork) action()       {}
func (ProbePrimaryLock) action()   {}
func (LockPrimary) action()        {}
func (LockBackup) action()         {}
func (AwaitPrimary) action()       {}
func (Activate) action()           {}
func (MonitorLock) action()        {}
func (ReleaseBackupLock) action()  {}
func (CheckFailback) action()      {}
func (ReleasePrimaryLock) action() {}
func (AwaitActive) action()        {}
