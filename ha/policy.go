package ha

import "time"

// ReplicationPolicy is ha-policy/replication of one node, primary or backup.
type ReplicationPolicy struct {
	Backup  bool         // the configured role
	Manager *LockManager // nil: quorum voting

	GroupName   string // "" pairs with any node
	ClusterName string // of the cluster-connection; "" is the first
	// RetryInterval is the cluster-connection's pause between attempts to connect; 0 means 500 ms.
	RetryInterval time.Duration
	// RetryReplicationWait is how long a node that has a replica already is left alone.
	RetryReplicationWait time.Duration
	// InitialSyncTimeout is for the answer to the finish packet, and for each flush of files.
	InitialSyncTimeout time.Duration
	// MaxSavedReplicas is how many oldreplica.N folders are kept: -1 all, 0 none.
	MaxSavedReplicas int
	// AllowFailback lets a backup that is active give way to a primary that wants its place back.
	AllowFailback bool
	// CoordinationID is the node id that primaries share; "" is none.
	CoordinationID string

	Voting Voting // without a manager
}

// LockManager selects the lock manager; quorum.New makes it.
type LockManager struct {
	Class      string
	Properties map[string]string
}

// Voting are the settings of the quorum voting.
type Voting struct {
	CheckForActive bool          // primary: look for a node with our id before becoming active
	OnLoss         bool          // active: vote when the replica's connection fails
	Size           int           // -1 is the largest cluster seen
	Retries        int           // rounds of a backup
	RetryWait      time.Duration // between rounds
	Wait           time.Duration // for the answers of one round
}

// SharedStorePolicy is ha-policy/shared-store of one node, or, with Alone, primary-only.
type SharedStorePolicy struct {
	Backup             bool
	Alone              bool // primary-only: nothing is announced
	FailoverOnShutdown bool // a clean stop lets the other node take over
	AllowFailback      bool // backup: give way to the primary
	RestartBackup      bool // backup: begin again after giving way
	WaitForActivation  bool // primary: only of interest to who embeds the broker
}

// A Policy makes the machine of a node.
type Policy interface {
	Machine() Machine
	// Name is what management shows as HAPolicy.
	Name() string
}

// Machine implements Policy.
func (p ReplicationPolicy) Machine() Machine {
	if p.RetryInterval <= 0 {
		p.RetryInterval = defaultInterval
	}
	return &replication{policy: p, sequence: noSequence, phase: off}
}

// Name implements Policy.
func (p ReplicationPolicy) Name() string {
	role, kind := "Primary", "quorum voting"
	if p.Backup {
		role = "Backup"
	}
	if p.Manager != nil {
		kind = "lock manager"
	}
	return "Replication " + role + " w/" + kind
}

// Machine implements Policy.
func (p SharedStorePolicy) Machine() Machine { return &sharedStore{policy: p, phase: off} }

// Name implements Policy.
func (p SharedStorePolicy) Name() string {
	switch {
	case p.Alone:
		return "Primary Only"
	case p.Backup:
		return "Shared Store Backup"
	}
	return "Shared Store Primary"
}

const noSequence int64 = -1
