package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/journal/bindings"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/journal/large"
	"github.com/saranga-mq/saranga/wire/buf"
)

// The user types of the messages journal, except those about pages, which are in package paging. The number in a record's id
// is the message's, except for types 37, 38 and 53, which have ids of their own.
const (
	typeOldLargePending = 29 // i64 message
	typeLargeMessage    = 30 // Core headers and properties
	typeOldMessage      = 31 // 1.x: ends the load
	typeRef             = 32 // i64 queue
	typeAck             = 33 // i64 queue
	typeDeliveryCount   = 34 // i64 queue, i32 count
	typeScheduled       = 36 // i64 queue, i64 ms since the epoch
	typeDuplicate       = 37 // SS address or cache, block id
	typeHeuristic       = 38 // xid, bool commit
	typeMessage         = 45 // persister byte and message
	typeMessageBody     = 49 // EVENT: chunk of a large body
	typeAckRetry        = 53
)

// Names of the two journals' files.
const (
	messagesPrefix = "activemq-data"
	messagesExt    = "amq"
	bindingsPrefix = "activemq-bindings"
	bindingsExt    = "bindings"
)

// bindingsFileSize is the size of a bindings file whatever journal-file-size says.
const bindingsFileSize = 1 << 20

// StoreOptions says where a store is and how it behaves. FS and the folders are required; folders are made if they are
// not there.
type StoreOptions struct {
	FS       fs.FS
	Bindings string // folders
	Journal  string
	Paging   string
	Large    string

	FileSize          int // journal-file-size, bytes
	MinFiles          int // journal-min-files
	PoolFiles         int // journal-pool-files; negative: keep all
	CompactMinFiles   int // journal-compact-min-files; 0: never
	CompactPercentage int // journal-compact-percentage
	BufferSize        int // journal-buffer-size: bounds a record
	MaxAttic          int // journal-max-attic-files
	NoDatasync        bool
	Direct            bool // journal-type ASYNCIO
	BlockSize         int  // journal-device-block-size; 0: what the file system says

	SyncTransactional    bool // journal-sync-transactional
	SyncNonTransactional bool // journal-sync-non-transactional

	Log hclog.Logger // nil: silent
}

// MessagesOptions are the options of the messages journal in it.
func (o *StoreOptions) MessagesOptions() Options {
	return Options{FS: o.FS, Dir: o.Journal, Prefix: messagesPrefix, Ext: messagesExt, FileSize: o.FileSize, MinFiles: o.MinFiles,
		PoolFiles: o.PoolFiles, MaxAttic: o.MaxAttic, CompactMinFiles: o.CompactMinFiles, CompactPercentage: o.CompactPercentage,
		BufferSize: o.BufferSize, NoDatasync: o.NoDatasync, Direct: o.Direct, BlockSize: o.BlockSize, Replaceable: replaceableUpdate,
		Log: o.Log}
}

// BindingsOptions are the options of the bindings journal in it.
func (o *StoreOptions) BindingsOptions() Options {
	return Options{FS: o.FS, Dir: o.Bindings, Prefix: bindingsPrefix, Ext: bindingsExt, FileSize: bindingsFileSize, MinFiles: 2,
		PoolFiles: 2, MaxAttic: o.MaxAttic, CompactMinFiles: o.CompactMinFiles, CompactPercentage: o.CompactPercentage,
		NoDatasync: o.NoDatasync, Buffer: 64 << 10, Log: o.Log}
}

// replaceableUpdate: of the delivery counts, and of the scheduled times, of a message in one queue only the last matters.
func replaceableUpdate(userType byte, payload []byte) (key uint64, ok bool) {
	if userType != typeDeliveryCount && userType != typeScheduled || len(payload) < 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(payload), true
}

// Store implements broker.Store on files that are Artemis' own.
type Store struct {
	o        StoreOptions
	log      hclog.Logger
	messages *Journal
	bindings *Journal
	ids      *bindings.IDs
	bodies   *large.Folder

	over  chan struct{} // closed when nobody who still waits will be told: Abandon, Close
	ended sync.Once

	configMu sync.Mutex
	configs  map[configKey][]int64 // records of the stored settings

	failMu  sync.Mutex
	failed  chan struct{} // closed after failure is set
	failure error
	hooks   broker.Hooks
}

type configKey struct {
	kind broker.ConfigKind
	key  string
}

var _ broker.Store = (*Store)(nil)

// NewStore returns a store that is not loaded yet.
func NewStore(o StoreOptions) *Store {
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	return &Store{o: o, log: o.Log, ids: bindings.NewIDs(), configs: map[configKey][]int64{}, failed: make(chan struct{}), over: make(chan struct{})}
}

// NextID returns a new id. See broker.Store.
func (s *Store) NextID() int64 { return s.ids.Next() }

// MaxRecord is the largest payload of a message's record, in bytes.
func (s *Store) MaxRecord() int { return s.messages.MaxRecord() - fixedSize[AddTx] }

// Synced is the mark up to which waiters have been told.
func (s *Store) Synced() broker.Mark { return broker.Mark(s.messages.Synced()) }

// Append implements broker.Store.
func (s *Store) Append(ops []broker.Op, w broker.Waiter, mode broker.AppendMode) (broker.Mark, error) {
	m, sync := Wait, s.o.SyncNonTransactional
	if mode&broker.Reserve != 0 {
		m = Reserve
	}
	if mode&broker.Transactional != 0 {
		sync = s.o.SyncTransactional
	}
	s.ids.Ensure()
	a, err := s.messages.Begin(m)
	if err != nil {
		return 0, err
	}
	for i := range ops {
		s.append(a, &ops[i])
		sync = sync || ops[i].Kind == broker.OpHeuristic
	}
	mark, err := a.Commit(w, sync)
	return broker.Mark(mark), err
}

// append encodes one operation.
func (s *Store) append(a *Appender, op *broker.Op) {
	id := op.ID
	if op.Msg != nil {
		if id = op.Msg.ID(); id == 0 {
			id = s.ids.Next()
			op.Msg.SetID(id)
		}
	}
	be := binary.BigEndian
	switch op.Kind {
	case broker.OpAddMessage:
		op.Msg.AppendRecord(add(a, op.Tx, id, op.Msg.RecordType(), op.Msg.RecordSize())[:0])
	case broker.OpAddRef:
		if p := update(a, op.Tx, id, typeRef, 8); p != nil {
			be.PutUint64(p, uint64(op.Queue))
		}
	case broker.OpAckRef:
		if p := update(a, op.Tx, id, typeAck, 8); p != nil {
			be.PutUint64(p, uint64(op.Queue))
		}
	case broker.OpDeliveryCount:
		if p := update(a, op.Tx, id, typeDeliveryCount, 12); p != nil {
			be.PutUint64(p, uint64(op.Queue))
			be.PutUint32(p[8:], uint32(op.N))
		}
	case broker.OpScheduled:
		if p := update(a, op.Tx, id, typeScheduled, 16); p != nil {
			be.PutUint64(p, uint64(op.Queue))
			be.PutUint64(p[8:], uint64(op.N))
		}
	case broker.OpDeleteMessage, broker.OpDeleteRecord:
		if op.Tx != 0 {
			a.DeleteTx(op.Tx, id)
		} else {
			_ = a.Delete(id) // not live: the other side of a race has deleted it
		}
	case broker.OpAddDuplicate:
		p := add(a, op.Tx, id, typeDuplicate, 8+2*buf.Units(op.Name)+len(op.Bytes))
		buf.AppendBlock(buf.AppendSS(p[:0], op.Name), op.Bytes)
	case broker.OpHeuristic:
		p := add(a, 0, id, typeHeuristic, xidSize(op.Xid)+1)
		buf.AppendBool01(appendXid(p[:0], op.Xid), op.N != 0)
	case broker.OpPrepare:
		a.Prepare(op.Tx, appendXid(nil, op.Xid))
	case broker.OpCommit:
		a.CommitTx(op.Tx)
	case broker.OpRollback:
		a.RollbackTx(op.Tx)
	}
}

func add(a *Appender, tx, id int64, userType byte, n int) []byte {
	if tx != 0 {
		return a.AddTx(tx, id, userType, n)
	}
	return a.Add(id, userType, n)
}

// update returns nil when the message is gone.
func update(a *Appender, tx, id int64, userType byte, n int) []byte {
	if tx != 0 {
		return a.UpdateTx(tx, id, userType, n)
	}
	p, err := a.Update(id, userType, n)
	if err != nil {
		return nil
	}
	return p
}

func xidSize(x broker.Xid) int { return 12 + len(x.Global) + len(x.Branch) }

func appendXid(dst []byte, x broker.Xid) []byte {
	return buf.AppendXid(dst, buf.Xid{FormatID: x.Format, Branch: x.Branch, Global: x.Global})
}

// Start implements broker.Store.
func (s *Store) Start(h broker.Hooks) {
	s.messages.Start(Hooks{BatchEnd: h.BatchEnd, Fatal: s.fail})
	s.failMu.Lock()
	s.hooks = h
	failure := s.failure
	s.failMu.Unlock()
	if failure != nil { // before anybody could be told
		h.Fatal(failure)
	}
}

// fail ends the store: after a failure in one file nothing is acknowledged any more.
func (s *Store) fail(err error) {
	s.failMu.Lock()
	first := s.failure == nil
	if first {
		s.failure = err
		if !errors.Is(err, ErrFailed) {
			s.failure = fmt.Errorf("%w: %w", ErrFailed, err)
		}
		close(s.failed)
	}
	h, failure, journals := s.hooks, s.failure, []*Journal{s.messages, s.bindings}
	s.failMu.Unlock()
	if !first {
		return
	}
	for _, j := range journals {
		if j != nil {
			j.fail(err)
		}
	}
	if h != nil {
		go h.Fatal(failure) // it may close the store, which waits for the goroutine we may be on
	}
}

// Busy tells for how long the messages or the bindings journal has been writing and syncing one batch: a watchdog's question.
func (s *Store) Busy(now time.Time) time.Duration {
	return max(s.messages.Busy(now), s.bindings.Busy(now))
}

// join makes a journal part of the store: where to is, and whose failure is everybody's.
func (s *Store) join(to **Journal, j *Journal) {
	s.failMu.Lock()
	*to = j
	failure := s.failure
	s.failMu.Unlock()
	j.Start(Hooks{Fatal: s.fail})
	if failure != nil {
		j.fail(failure)
	}
}

// Close implements broker.Store. What a failed store holds is not lost by it.
func (s *Store) Close() error {
	var err error
	if s.messages != nil {
		err = s.messages.Close()
	}
	if s.bindings != nil {
		if err == nil {
			err = s.ids.Close()
		}
		err = errors.Join(err, s.bindings.Close())
	}
	if s.bodies != nil {
		s.bodies.Close()
	}
	s.Abandon()
	return err
}

// makeFolders makes the four folders if they are not there.
func (s *Store) makeFolders() error {
	for _, dir := range []string{s.o.Bindings, s.o.Journal, s.o.Paging, s.o.Large} {
		if ok, err := fs.Exists(s.o.FS, dir); err != nil || ok {
			if err != nil {
				return fmt.Errorf("store: %w", err)
			}
			continue
		}
		if err := s.o.FS.MkdirAll(dir); err != nil {
			return fmt.Errorf("store: make %s: %w", dir, err)
		}
		if err := s.o.FS.SyncDir(path.Dir(dir)); err != nil {
			return fmt.Errorf("store: sync %s: %w", path.Dir(dir), err)
		}
	}
	return nil
}
