package create

// Journal is how the created broker.xml says journal files are written.
type Journal string

// Journal types of the create command. Saranga writes them all alike; real
// Artemis, run on the same instance, doesn't.
const (
	NIO    Journal = "NIO"
	AIO    Journal = "ASYNCIO"
	Mapped Journal = "MAPPED"
)

// Options are the flags of the create command, named after them. Zero values are
// Artemis' defaults where the comment says nothing else.
type Options struct {
	// Directory is the instance folder, absolute.
	Directory string
	// Etc and Data are --etc and --data: relative to Directory or absolute; empty
	// is etc and data.
	Etc, Data string
	// Home is recorded as ARTEMIS_HOME; empty is Directory.
	Home string
	// Saranga is the program that bin/artemis starts, recorded in the profiles.
	Saranga string
	// Encoding is that of text files: UTF-8 (or empty), UTF-16, UTF-16BE,
	// UTF-16LE, ISO-8859-1 or US-ASCII.
	Encoding string

	Name, Host string
	// DefaultPort is 61616 if 0.
	DefaultPort, PortOffset int
	// HTTPHost is localhost if empty, HTTPPort 8161 if 0.
	HTTPHost string
	HTTPPort int
	NoWeb    bool
	// RelaxJolokia drops the origin check of the console's management bridge.
	RelaxJolokia bool
	// SSLKey and the following make the console's port an HTTPS one.
	SSLKey, SSLKeyPassword, SSLTrust, SSLTrustPassword string
	UseClientAuth                                      bool

	// User and Role are the first user and its comma-separated roles; Role is amq
	// if empty.
	User, Role string
	// PasswordHash is the user's password as it goes to artemis-users.properties:
	// the ENC(iterations:salt:hash) form.
	PasswordHash string
	// AllowAnonymous adds the guest module, which lets everybody in as User.
	AllowAnonymous bool
	// BasicSecurity keeps users in the bindings journal (--security-manager basic).
	BasicSecurity bool

	// Journal is NIO if empty, or MAPPED with NoFsync.
	Journal Journal
	NoFsync bool
	// JournalBufferTimeout and PageSyncTimeout are what autotuning measured, in
	// ns; nil leaves the elements out (--no-autotune).
	JournalBufferTimeout, PageSyncTimeout *int64
	// JournalMaxIO is 4096 if 0; it is written with JournalBufferTimeout.
	JournalMaxIO int
	// JournalDeviceBlockSize is 4096 if 0.
	JournalDeviceBlockSize int
	// JournalRetention is in days, 0 is off; JournalRetentionMaxBytes is a size.
	JournalRetention         int
	JournalRetentionMaxBytes string
	DisablePersistence       bool
	PurgePageFolders         bool

	// Blocking makes full addresses block their senders instead of paging.
	Blocking     bool
	NoAutoCreate bool
	AutoDelete   bool
	// Queues and Addresses are comma lists of name or name:type, where type is
	// anycast (the default for queues) or multicast (that for addresses).
	Queues, Addresses string
	// GlobalMaxSize is a size, empty for none; GlobalMaxMessages 0 means -1.
	GlobalMaxSize     string
	GlobalMaxMessages int64

	NoAMQPAcceptor, NoSTOMPAcceptor, NoMQTTAcceptor, NoHornetQAcceptor bool
	SupportAdvisory, SuppressInternalManagementObjects                 bool

	// Clustered is implied by StaticCluster, Replicated and SharedStore.
	Clustered                    bool
	ClusterUser, ClusterPassword string
	// StaticCluster is a comma list of connector URIs of other nodes.
	StaticCluster string
	MaxHops       int
	// MessageLoadBalancing is ON_DEMAND if empty.
	MessageLoadBalancing                                string
	Replicated, SharedStore, Backup, FailoverOnShutdown bool

	// QuorumMembers are the founders of a quorum, as ID=HOST:PORT; QuorumID is this one's id. They are written to etc/saranga.yaml, and a replicated
	// instance then has its lock with the quorum. QuorumCluster is DefaultQuorumCluster if empty.
	QuorumMembers           []string
	QuorumID, QuorumCluster string
	// QuorumZooKeeper and QuorumZooKeeperAllow are as in Quorum.
	QuorumZooKeeper      string
	QuorumZooKeeperAllow []string

	// JDBC keeps messages in a database; nil is files.
	JDBC *JDBC

	// Ping is a comma list of hosts for the network check.
	Ping string

	// JavaMemory is 2G if empty; Saranga takes its memory bound from it.
	JavaMemory                      string
	JavaOptions, JavaUtilityOptions []string

	// Windows writes .cmd profiles and start scripts.
	Windows bool
}

// JDBC are the --jdbc-… flags; empty or 0 is Artemis' default.
type JDBC struct {
	ConnectionURL, DriverClassName, User, Password                                   string
	MessageTable, BindingsTable, LargeMessageTable, PageStoreTable, NodeManagerTable string
	// LockExpiration, LockRenewPeriod and NetworkTimeout are in ms.
	LockExpiration, LockRenewPeriod, NetworkTimeout int64
}
