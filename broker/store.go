package broker

import (
	"errors"

	"github.com/saranga-mq/saranga/broker/message"
)

// A Mark is a position in a store's stream of operations: everything appended up to it.
type Mark uint64

// OpKind is a kind of operation in the stream (record types of journal §3).
type OpKind uint8

const (
	OpAddMessage    OpKind = iota + 1 // 45 or 30: Msg
	OpAddRef                          // 32: Msg or ID, Queue
	OpAckRef                          // 33: ID, Queue
	OpDeliveryCount                   // 34: ID, Queue, N = count
	OpScheduled                       // 36: ID, Queue, N = ms since the epoch
	OpDeleteMessage                   // DELETE of the message ID and all its references; Queue: that of the last one
	OpAddDuplicate                    // 37: ID = record, Name = address or cache, Bytes = duplicate id
	OpDeleteRecord                    // DELETE of the record ID that is not a message
	OpHeuristic                       // 38: ID = record, Xid, N = 1 commit, 0 rollback; always synced
	OpPrepare                         // Tx, Xid
	OpCommit                          // Tx
	OpRollback                        // Tx
)

// An Op is one operation. Tx, when not 0, puts an add, an acknowledgement or a delete into that transaction: it counts
// only with the transaction's OpCommit.
type Op struct {
	Kind  OpKind
	Tx    int64
	Msg   *message.Message // borrowed for the length of the call
	ID    int64            // ignored when Msg is set
	Queue int64
	N     int64
	Name  string
	Bytes []byte
	Xid   Xid
}

// Xid identifies a branch of a distributed transaction. It is comparable.
type Xid struct {
	Format int32
	Global string
	Branch string
}

// AppendMode changes how operations are appended.
type AppendMode uint8

const (
	// Transactional takes journal-sync-transactional, and not journal-sync-non-transactional, as the rule of when a
	// waiter is answered.
	Transactional AppendMode = 1 << iota
	// Reserve marks an append that must not wait for space: those made from Stored and BatchEnd.
	Reserve
)

// A Waiter is told that the operations it was appended with are stored.
type Waiter interface {
	// Stored is called on a goroutine of the store, in the order of the stream and never two at a time, when the
	// operations are on disk and, while a replica is attached, confirmed by it. It must not block and may append only
	// with Reserve. It is never called after a failure: what is not known to be stored stays unanswered.
	Stored()
}

// Hooks is what a store calls back besides waiters.
type Hooks interface {
	// BatchEnd follows each group of Stored calls, under the same rules.
	BatchEnd()
	// Fatal is called once when a write or sync has failed: nothing that was not acknowledged before will ever be. The
	// broker must stop.
	Fatal(error)
}

// Errors of a store that a caller acts on.
var (
	// ErrNoSpace: nothing was written, the operation is refused, the store goes on.
	ErrNoSpace = errors.New("no space left for the journal")
	// ErrTooLarge: a message is larger than a record may be; it has to be stored as a large message.
	ErrTooLarge = errors.New("record larger than the journal allows")
	// ErrStoreFailed: an earlier write or sync failed.
	ErrStoreFailed = errors.New("the store has failed")
)

// A Store keeps messages: one ordered stream of operations. Implementations: journal.Store; a store in memory in the
// engine's tests.
//
// All methods may be called from any goroutine, and with none of the broker's locks held.
type Store interface {
	// NextID returns a new id, above every id ever used in this store and never 0. It seldom blocks (a reservation).
	NextID() int64
	// MaxRecord is the largest RecordSize of a message that Append takes, in bytes.
	MaxRecord() int
	// Append puts ops into the stream, next to each other. Messages without an id get theirs here, so that ids grow in
	// the order of the stream. An acknowledgement or count of a message that is no longer in the store is left out in
	// silence: the other side of a race has deleted it. Append returns when ops are in the write buffer; with a Waiter
	// they are synced soon and the waiter is told, without one they ride along. ops is not kept.
	Append(ops []Op, w Waiter, mode AppendMode) (Mark, error)
	// Synced is the mark up to which waiters have been told.
	Synced() Mark
	// Load reads what is there into r and makes the store ready for appends. Messages are made in the pool.
	Load(pool *message.Pool, r Recovery) error
	// Start begins to call the hooks. Appends are allowed only after it.
	Start(Hooks)
	// Close flushes, syncs and closes. No waiter is called after it returns.
	Close() error

	Bindings
	Bodies
}

// Bindings is the part of a store that keeps what exists: addresses, queues, settings. Every call returns when the change
// is stored (and replicated). Ids come from NextID.
type Bindings interface {
	StoreAddress(AddressRecord) error
	// ReplaceAddress deletes the record old and adds a in one transaction: an address that gains a routing type.
	ReplaceAddress(old int64, a AddressRecord) error
	UpdateAddress(AddressRecord) error
	DeleteAddress(id int64) error
	StoreQueue(QueueRecord) error
	UpdateQueue(QueueRecord) error
	DeleteQueue(id int64) error
	// StorePause records that an address or queue is paused and returns the record, which DeleteBinding removes.
	StorePause(kind PauseKind, id int64) (record int64, err error)
	DeleteBinding(record int64) error
	// StoreConfig stores a setting made by management, replacing the one of the same kind and key.
	StoreConfig(StoredConfig) error
	// DeleteConfig removes it; absent is fine.
	DeleteConfig(kind ConfigKind, key string) error
}

// PauseKind says what a pause record is about.
type PauseKind uint8

const (
	PausedQueue PauseKind = iota
	PausedAddress
)

// AddressRecord is what is stored of an address.
type AddressRecord struct {
	ID           int64
	Name         string
	RoutingTypes RoutingTypes
	AutoCreated  bool
	Internal     bool
}

// QueueRecord is what is stored of a durable queue. ID is also the queue's id in message operations.
type QueueRecord struct {
	ID int64
	QueueConfig
}

// ConfigKind is a kind of stored setting.
type ConfigKind uint8

const (
	AddressSettingConfig  ConfigKind = iota // Key = match, JSON
	SecuritySettingConfig                   // Key = match, Roles
	DivertConfigKind                        // Key = name, Divert
	UserConfig                              // Key = user, Text = stored password
	RoleConfig                              // Key = user, Roles
	ConnectorConfig                         // Key = name, Text = URL
	KeyValueConfig                          // Key = map id + NUL + key, Text = value
)

// StoredConfig is a setting that was made by management and outlives a restart.
type StoredConfig struct {
	Kind   ConfigKind
	Key    string
	JSON   string
	Text   string
	Roles  []string // security: one comma-separated list per permission, in the order of journal §4.4
	Divert DivertConfig
}

// Bodies is the part of a store that keeps the bodies of large messages, one file each.
type Bodies interface {
	// CreateBody begins the body of message id. It may block on the disk.
	CreateBody(id int64, durable bool) (BodyWriter, error)
	// CopyBody begins a body with a full copy of another.
	CopyBody(id int64, durable bool, from message.Body) (message.Body, error)
	// DeleteBody removes the file once nobody reads it any more. Called after the deletion of its message was appended.
	DeleteBody(id int64)
}

// A BodyWriter takes the bytes of a large body as they arrive: Write, then Complete and Sync, or Abort. Not for use by two
// goroutines at once.
type BodyWriter interface {
	Write(p []byte) (int, error)
	// Complete hands the body over. A durable one is not on disk before Sync. After an error the file is gone.
	Complete() (message.Body, error)
	// Sync syncs a durable body and its name; for others it does nothing. It may take milliseconds.
	Sync() error
	// Abort removes the file. After Complete it only gives up the sync: whoever has the body discards it.
	Abort()
}

// FinishBody completes and syncs a body. After an error the file is gone.
func FinishBody(w BodyWriter) (message.Body, error) {
	body, err := w.Complete()
	if err != nil {
		return nil, err
	}
	if err := w.Sync(); err != nil {
		body.Discard()
		body.Release()
		return nil, err
	}
	return body, nil
}

// Recovery takes what a store holds at start, in this order: configs, addresses, queues, pauses; then, after
// BindingsLoaded, references in queue order, prepared transactions, duplicate ids (oldest first) and heuristic outcomes.
type Recovery interface {
	Config(StoredConfig)
	Address(AddressRecord)
	Queue(QueueRecord)
	Paused(kind PauseKind, id, record int64)
	BindingsLoaded() error
	// Ref adds a reference. False: there is no such queue, the store drops the reference. The broker retains m.
	Ref(m *message.Message, queue int64, deliveryCount int32, scheduled int64) bool
	Prepared(PreparedTx)
	// Duplicate is an entry of an address's cache. The broker deletes records that it does not keep.
	Duplicate(address string, id []byte, record int64)
	Heuristic(record int64, xid Xid, commit bool)
}

// PreparedTx is a transaction found prepared but neither committed nor rolled back.
type PreparedTx struct {
	Tx   int64
	Xid  Xid
	Sent []PreparedRef // messages to add at commit
	Acks []PreparedRef // references acknowledged by it; also handed to Recovery.Ref before
	Dups []PreparedDup
}

// PreparedRef is a reference in a prepared transaction. The broker retains Msg.
type PreparedRef struct {
	Msg       *message.Message
	Queue     int64
	Scheduled int64
}

// PreparedDup is a duplicate id that a prepared transaction adds.
type PreparedDup struct {
	Address string
	ID      []byte
	Record  int64
}
