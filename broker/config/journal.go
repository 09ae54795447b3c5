package config

import "time"

// JournalType is how Artemis writes journal files. The files are the same for
// all three.
type JournalType string

// Journal types.
const (
	AsyncIO JournalType = "ASYNCIO"
	NIO     JournalType = "NIO"
	Mapped  JournalType = "MAPPED"
)

func (JournalType) values() []string { return []string{"ASYNCIO", "NIO", "MAPPED"} }

// Journal holds the folders and files of message journal, bindings journal and
// large messages. Folders are as written; Instance.Path makes them absolute.
type Journal struct {
	BindingsDirectory        string `cfg:"bindings-directory" check:"nonempty"`
	CreateBindingsDir        bool   `cfg:"create-bindings-dir"`
	Directory                string `cfg:"journal-directory" check:"nonempty"`
	CreateDir                bool   `cfg:"create-journal-dir"`
	LargeMessagesDirectory   string `cfg:"large-messages-directory" check:"nonempty"`
	NodeManagerLockDirectory string `cfg:"node-manager-lock-directory"` // empty: Directory
	Retention                JournalRetention

	Type             JournalType `cfg:"journal-type"`
	Datasync         bool        `cfg:"journal-datasync"`
	SyncLarge        bool        `cfg:"large-message-sync"`
	SyncTransactions bool        `cfg:"journal-sync-transactional"`
	SyncOthers       bool        `cfg:"journal-sync-non-transactional"`
	LogWriteRate     bool        `cfg:"log-journal-write-rate"`

	// BufferTimeout nil means Artemis' own: 500 µs for ASYNCIO, 3.333333 ms else.
	BufferTimeout *time.Duration `cfg:"journal-buffer-timeout" unit:"ns" check:">=0" bean:"journalBufferTimeout,journalBufferTimeout_NIO,journalBufferTimeout_AIO"`
	BufferSize    Bytes          `cfg:"journal-buffer-size" check:"size32" bean:"journalBufferSize,journalBufferSize_NIO,journalBufferSize_AIO"`
	// DeviceBlockSize is the alignment in bytes, 0 for the default of 4096.
	DeviceBlockSize int `cfg:"journal-device-block-size" check:"-1|>=0"`
	// MaxIO is the write queue depth, 0 for Artemis' own.
	MaxIO int `cfg:"journal-max-io" check:">0" bean:"journalMaxIO,journalMaxIO_NIO,journalMaxIO_AIO"`

	FileSize Bytes `cfg:"journal-file-size" check:"size32"`
	MinFiles int   `cfg:"journal-min-files" check:">0"`
	// PoolFiles is how many free files are kept; -1 is all.
	PoolFiles int `cfg:"journal-pool-files" check:"-1|>0"`
	// CompactPercentage is the share of live data below which compaction starts.
	CompactPercentage int           `cfg:"journal-compact-percentage" check:"percent"`
	CompactMinFiles   int           `cfg:"journal-compact-min-files" check:">=0"`
	FileOpenTimeout   time.Duration `cfg:"journal-file-open-timeout" unit:"s" check:">0"`
	// MaxAtticFiles has no element: only a broker property sets it.
	MaxAtticFiles int `bean:"journalMaxAtticFiles"`

	// LockAcquisitionTimeout is negative to wait for ever.
	LockAcquisitionTimeout time.Duration `cfg:"journal-lock-acquisition-timeout" unit:"ms" check:"-1|>0"`
	LockMonitorTimeout     time.Duration `cfg:"journal-lock-monitor-timeout" unit:"ms" check:">0"`
	LockMonitorMaxRetries  int           `cfg:"journal-lock-monitor-max-retries" check:">=0"`
}

// JournalRetention keeps consumed journal files for a while. Directory is empty
// when it is off.
type JournalRetention struct {
	Directory string `cfg:"journal-retention-directory/."`
	// Unit is that of Period: DAYS, HOURS, MINUTES or SECONDS.
	Unit RetentionUnit `cfg:"journal-retention-directory/@unit"`
	// Period is in Unit; 0 or less is no bound.
	Period int64 `cfg:"journal-retention-directory/@period" bean:"journalRetentionPeriod"`
	// StorageLimit is 0 or less for no bound.
	StorageLimit Bytes `cfg:"journal-retention-directory/@storage-limit" bean:"journalRetentionMaxBytes"`
}

// RetentionUnit is the unit of a retention period.
type RetentionUnit string

func (RetentionUnit) values() []string { return []string{"DAYS", "HOURS", "MINUTES", "SECONDS"} }

// Duration returns how long a file is kept, 0 for no bound.
func (r JournalRetention) Duration() time.Duration {
	if r.Period <= 0 {
		return 0
	}
	unit := map[RetentionUnit]time.Duration{"": 24 * time.Hour, "DAYS": 24 * time.Hour, "HOURS": time.Hour, "MINUTES": time.Minute, "SECONDS": time.Second}[r.Unit]
	return scaled(r.Period, unit)
}

// Paging holds what is common to all page stores.
type Paging struct {
	Directory string `cfg:"paging-directory" check:"nonempty"`
	// MaxConcurrentIO is -1 for no bound.
	MaxConcurrentIO int  `cfg:"page-max-concurrent-io" check:"-1|>0" bean:"pageMaxConcurrentIO"`
	ReadWholePage   bool `cfg:"read-whole-page"`
	// SyncTimeout nil means Artemis' own: 3.333333 ms.
	SyncTimeout  *time.Duration `cfg:"page-sync-timeout" unit:"ns" check:">=0"`
	PurgeFolders bool           `cfg:"purge-page-folders"`
}

// Store selects where messages are kept. At most one is set; both nil means files.
type Store struct {
	File     *FileStore     `cfg:"file-store"`
	Database *DatabaseStore `cfg:"database-store"`
}

// FileStore has no settings of its own.
type FileStore struct{}

// DatabaseStore keeps messages in tables of a database by JDBC.
type DatabaseStore struct {
	DriverClassName     string            `cfg:"jdbc-driver-class-name"`
	ConnectionURL       string            `cfg:"jdbc-connection-url"`
	User                string            `cfg:"jdbc-user"`
	Password            string            `cfg:"jdbc-password" secret:"true"`
	DataSourceClassName string            `cfg:"data-source-class-name"`
	DataSource          map[string]string `cfg:"data-source-properties/data-source-property{key,value}" bean:"dataSourceProperties"`
	MessageTable        string            `cfg:"message-table-name,required"`
	BindingsTable       string            `cfg:"bindings-table-name,required"`
	LargeMessageTable   string            `cfg:"large-message-table-name,required"`
	PageStoreTable      string            `cfg:"page-store-table-name,required"`
	NodeManagerTable    string            `cfg:"node-manager-store-table-name"`
	NetworkTimeout      time.Duration     `cfg:"jdbc-network-timeout" unit:"ms"`
	LockRenewPeriod     time.Duration     `cfg:"jdbc-lock-renew-period" unit:"ms"`
	LockExpiration      time.Duration     `cfg:"jdbc-lock-expiration" unit:"ms"`
	JournalSyncPeriod   time.Duration     `cfg:"jdbc-journal-sync-period" unit:"ms"`
	AllowedTimeDiff     time.Duration     `cfg:"jdbc-allowed-time-diff" unit:"ms"`
	MaxPageSize         Bytes             `cfg:"jdbc-max-page-size-bytes"`
}

func (s *DatabaseStore) defaults() {
	s.MessageTable, s.BindingsTable, s.LargeMessageTable = "MESSAGES", "BINDINGS", "LARGE_MESSAGES"
	s.PageStoreTable, s.NodeManagerTable = "PAGE_STORE", "NODE_MANAGER_STORE"
	s.LockExpiration, s.LockRenewPeriod = 20*time.Second, 4*time.Second
	s.AllowedTimeDiff, s.JournalSyncPeriod = 250*time.Millisecond, 5*time.Millisecond
	s.NetworkTimeout, s.MaxPageSize = 20*time.Second, 100<<10
}
