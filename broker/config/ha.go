package config

import "time"

// HAKind is the kind of high availability policy.
type HAKind string

// Kinds of policy, named as in broker properties. The zero value means none was
// written, which is PrimaryOnly.
const (
	PrimaryOnly              HAKind = "PRIMARY_ONLY"
	ReplicationPrimaryVoting HAKind = "REPLICATION_PRIMARY_QUORUM_VOTING"
	ReplicationBackupVoting  HAKind = "REPLICATION_BACKUP_QUORUM_VOTING"
	ReplicationPrimaryLock   HAKind = "REPLICATION_PRIMARY_LOCK_MANAGER"
	ReplicationBackupLock    HAKind = "REPLICATION_BACKUP_LOCK_MANAGER"
	SharedStorePrimary       HAKind = "SHARED_STORE_PRIMARY"
	SharedStoreBackup        HAKind = "SHARED_STORE_BACKUP"
	Colocated                HAKind = "COLOCATED"
)

// HAPolicy is the ha-policy element. Which of its parts decides is told by Kind.
type HAPolicy struct {
	PrimaryOnly *PrimaryOnlyPolicy `cfg:"primary-only|live-only"`
	Replication *ReplicationPolicy `cfg:"replication"`
	SharedStore *SharedStorePolicy `cfg:"shared-store"`
}

// Kind returns the policy in force. In Artemis' order: primary-only, then
// replication, then shared-store; inside them colocated, the old names, primary,
// backup.
func (p *HAPolicy) Kind() HAKind {
	switch {
	case p.PrimaryOnly != nil:
		return PrimaryOnly
	case p.Replication != nil:
		r := p.Replication
		switch {
		case r.Colocated != nil:
			return Colocated
		case r.Primary != nil && r.Primary.Manager != nil:
			return ReplicationPrimaryLock
		case r.Primary != nil:
			return ReplicationPrimaryVoting
		case r.Backup != nil && r.Backup.Manager != nil:
			return ReplicationBackupLock
		case r.Backup != nil:
			return ReplicationBackupVoting
		}
	case p.SharedStore != nil:
		s := p.SharedStore
		switch {
		case s.Colocated != nil:
			return Colocated
		case s.Primary != nil:
			return SharedStorePrimary
		case s.Backup != nil:
			return SharedStoreBackup
		}
	}
	return PrimaryOnly
}

// PrimaryOnlyPolicy is a broker without a backup.
type PrimaryOnlyPolicy struct {
	ScaleDown *ScaleDown `cfg:"scale-down" bean:"scaleDownConfiguration"`
}

// ScaleDown moves messages to another broker at a clean stop.
type ScaleDown struct {
	Enabled        bool     `cfg:"enabled"`
	GroupName      string   `cfg:"group-name"`
	DiscoveryGroup string   `cfg:"discovery-group-ref/@discovery-group-name"`
	Connectors     []string `cfg:"connectors/connector-ref"`
	CommitInterval int      `cfg:"commit-interval"`
}

func (s *ScaleDown) defaults() { s.Enabled, s.CommitInterval = true, -1 }

// ReplicationPolicy keeps a copy of the store at another broker. The old names
// master and slave never take a manager.
type ReplicationPolicy struct {
	Primary   *ReplicationPrimary   `cfg:"primary|master"`
	Backup    *ReplicationBackup    `cfg:"backup|slave"`
	Colocated *ColocatedReplication `cfg:"colocated"`
}

// ReplicationPrimary are the settings of the broker whose store is copied.
// Manager nil means quorum voting.
type ReplicationPrimary struct {
	GroupName   string `cfg:"group-name"`
	ClusterName string `cfg:"cluster-name"`
	// MaxSavedReplicatedJournalsSize counts folders; -1 keeps all, 0 none.
	MaxSavedReplicatedJournalsSize int           `cfg:"max-saved-replicated-journals-size" check:"-1|>=0"`
	CheckForActiveServer           bool          `cfg:"check-for-active-server|check-for-live-server" bean:"checkForPrimaryServer,checkForActiveServer"`
	InitialReplicationSyncTimeout  time.Duration `cfg:"initial-replication-sync-timeout" unit:"ms" check:">0"`
	VoteOnReplicationFailure       bool          `cfg:"vote-on-replication-failure"`
	// QuorumSize -1 is the largest cluster seen.
	QuorumSize           int           `cfg:"quorum-size" check:"-1|>0"`
	VoteRetries          int           `cfg:"vote-retries" check:"-1|>=0"`
	VoteRetryWait        time.Duration `cfg:"vote-retry-wait" unit:"ms" check:">0"`
	QuorumVoteWait       time.Duration `cfg:"quorum-vote-wait" unit:"s" check:">0"`
	RetryReplicationWait time.Duration `cfg:"retry-replication-wait" unit:"ms" check:">0"`
	Manager              *LockManager  `cfg:"manager" bean:"distributedManagerConfiguration"`
	CoordinationID       string        `cfg:"coordination-id"`
}

func (r *ReplicationPrimary) defaults() {
	r.MaxSavedReplicatedJournalsSize, r.QuorumSize, r.VoteRetries = 2, -1, 12
	r.InitialReplicationSyncTimeout = 30 * time.Second
	r.VoteRetryWait, r.QuorumVoteWait, r.RetryReplicationWait = 5*time.Second, 30*time.Second, 5*time.Second
}

// ReplicationBackup are the settings of the broker that holds the copy.
type ReplicationBackup struct {
	GroupName                      string        `cfg:"group-name"`
	ClusterName                    string        `cfg:"cluster-name"`
	MaxSavedReplicatedJournalsSize int           `cfg:"max-saved-replicated-journals-size" check:"-1|>=0"`
	ScaleDown                      *ScaleDown    `cfg:"scale-down" bean:"scaleDownConfiguration"`
	RestartBackup                  bool          `cfg:"restart-backup"`
	AllowFailback                  bool          `cfg:"allow-failback"`
	FailbackDelay                  time.Duration `cfg:"failback-delay" unit:"ms"`
	InitialReplicationSyncTimeout  time.Duration `cfg:"initial-replication-sync-timeout" unit:"ms" check:">0"`
	VoteOnReplicationFailure       bool          `cfg:"vote-on-replication-failure"`
	QuorumSize                     int           `cfg:"quorum-size" check:"-1|>0"`
	VoteRetries                    int           `cfg:"vote-retries" check:"-1|>=0"`
	VoteRetryWait                  time.Duration `cfg:"vote-retry-wait" unit:"ms" check:">0"`
	QuorumVoteWait                 time.Duration `cfg:"quorum-vote-wait" unit:"s" check:">0"`
	RetryReplicationWait           time.Duration `cfg:"retry-replication-wait" unit:"ms" check:">0"`
	Manager                        *LockManager  `cfg:"manager" bean:"distributedManagerConfiguration"`
}

func (r *ReplicationBackup) defaults() {
	r.MaxSavedReplicatedJournalsSize, r.QuorumSize, r.VoteRetries = 2, -1, 12
	r.RestartBackup, r.AllowFailback = true, true
	r.FailbackDelay, r.InitialReplicationSyncTimeout = 5*time.Second, 30*time.Second
	r.VoteRetryWait, r.QuorumVoteWait, r.RetryReplicationWait = 5*time.Second, 30*time.Second, 5*time.Second
}

// LockManager names the class that decides by locks who is active.
type LockManager struct {
	ClassName  string            `cfg:"class-name"`
	Properties map[string]string `cfg:"properties/property{key,value}"`
}

// CuratorLockManager is the ZooKeeper lock manager, the default class.
const CuratorLockManager = "org.apache.activemq.artemis.lockmanager.zookeeper.CuratorDistributedLockManager"

func (m *LockManager) defaults() { m.ClassName = CuratorLockManager }

// SharedStorePolicy shares one store between two brokers.
type SharedStorePolicy struct {
	Primary   *SharedStorePrimarySettings `cfg:"primary|master"`
	Backup    *SharedStoreBackupSettings  `cfg:"backup|slave"`
	Colocated *ColocatedSharedStore       `cfg:"colocated"`
}

// SharedStorePrimarySettings are those of the broker that normally is active.
type SharedStorePrimarySettings struct {
	FailbackDelay      time.Duration `cfg:"failback-delay" unit:"ms"`
	FailoverOnShutdown bool          `cfg:"failover-on-shutdown" bean:"failoverOnServerShutdown"`
	WaitForActivation  bool          `cfg:"wait-for-activation"`
}

func (s *SharedStorePrimarySettings) defaults() {
	s.FailbackDelay, s.WaitForActivation = 5*time.Second, true
}

// SharedStoreBackupSettings are those of the broker that waits for the store.
type SharedStoreBackupSettings struct {
	AllowFailback      bool          `cfg:"allow-failback"`
	FailbackDelay      time.Duration `cfg:"failback-delay" unit:"ms"`
	FailoverOnShutdown bool          `cfg:"failover-on-shutdown" bean:"failoverOnServerShutdown"`
	ScaleDown          *ScaleDown    `cfg:"scale-down" bean:"scaleDownConfiguration"`
	RestartBackup      bool          `cfg:"restart-backup"`
}

func (s *SharedStoreBackupSettings) defaults() {
	s.AllowFailback, s.RestartBackup, s.FailbackDelay = true, true, 5*time.Second
}

// Colocation are the settings of a broker that hosts backups of others.
type Colocation struct {
	RequestBackup              bool          `cfg:"request-backup"`
	BackupRequestRetries       int           `cfg:"backup-request-retries"`
	BackupRequestRetryInterval time.Duration `cfg:"backup-request-retry-interval" unit:"ms" check:">0"`
	MaxBackups                 int           `cfg:"max-backups" check:">=0"`
	BackupPortOffset           int           `cfg:"backup-port-offset" check:">0"`
}

func (c *Colocation) defaults() {
	c.BackupRequestRetries, c.BackupRequestRetryInterval = -1, 5*time.Second
	c.MaxBackups, c.BackupPortOffset = 1, 100
}

// ColocatedReplication hosts replicating backups.
type ColocatedReplication struct {
	Colocation
	Excludes []string            `cfg:"excludes/connector-ref"`
	Primary  *ReplicationPrimary `cfg:"primary|master"`
	Backup   *ReplicationBackup  `cfg:"backup|slave"`
}

// ColocatedSharedStore hosts shared-store backups.
type ColocatedSharedStore struct {
	Colocation
	Primary *SharedStorePrimarySettings `cfg:"primary|master"`
	Backup  *SharedStoreBackupSettings  `cfg:"backup|slave"`
}

// LockCoordinator holds a distributed lock for acceptors and broker connections.
type LockCoordinator struct {
	Name        string            `cfg:"@name,required"`
	AutoStart   bool              `cfg:"@auto-start"`
	LockID      string            `cfg:"lock-id"`
	ClassName   string            `cfg:"class-name,required"`
	CheckPeriod time.Duration     `cfg:"check-period" unit:"ms"`
	Properties  map[string]string `cfg:"properties/property{key,value}"`
}

func (l *LockCoordinator) defaults() { l.AutoStart, l.CheckPeriod = true, 5*time.Second }
