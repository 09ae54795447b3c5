package replica

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/lock"
	"github.com/saranga-mq/saranga/wire/core"
)

// Owner is the HA policy, which decides what the facts mean. It is called on the goroutine that calls Handle, and may call the endpoint's
// Status only. An error ends the connection.
type Owner interface {
	// NodeID tells the active node's id, and whether it grants a failback, when a synchronisation begins: once for each
	// journal, after the response has left.
	NodeID(id string, failBackAllowed bool) error
	// UpToDate tells that everything is copied and loaded; the response leaves when it returns. The sequence is the
	// activation sequence, -1 with the legacy policy. ErrClosed says that the policy wants nothing more.
	UpToDate(nodeID string, sequence int64) error
	// StopCalled tells that the active node is about to stop.
	StopCalled()
	// FailOver tells that the active node has stopped, after the response has left.
	FailOver()
	// Paging tells that an address has a message in a page, which keeps this node from taking over.
	Paging(address string)
}

// Link is the connection to the active node.
type Link interface {
	// Send writes whole frames of channel 2, of which it keeps nothing. It may wait for the peer, and returns an error when
	// the connection has ended.
	Send(frames []byte) error
	// Close ends the connection without waiting. It may be called more than once.
	Close(reason error)
}

// Options say where a replica keeps what it is sent. Store, Owner, Link and Version are required.
type Options struct {
	// Store names the folders, which exist and were emptied by MoveAway, and how their journals behave.
	Store journal.StoreOptions
	Owner Owner
	Link  Link
	// Version is the active node's.
	Version core.Version
	Log     hclog.Logger // nil: silent
}

// syncEvery is how long the journals may go without a sync under a load that leaves them no rest.
const syncEvery = time.Second

// Errors of Handle and Activate.
var (
	// ErrNotInSync: the synchronisation has not ended, so the folders hold a part only.
	ErrNotInSync = errors.New("the replica is not in sync")
	// ErrClosed: the endpoint is closed.
	ErrClosed = errors.New("the replica is closed")
	// ErrLinkEnded: a response could not be sent. What was applied stays.
	ErrLinkEnded = errors.New("the connection to the active node has ended")
	// ErrOrder: a packet that does not belong where it came.
	ErrOrder = errors.New("a packet out of order")
)

// Endpoint is the receiving end of one connection. Handle and EndOfBatch are for one goroutine at a time, the other methods for any.
//
// Lock order: mu, then the locks of answers and files, which are leaves; no lock but mu is held while the owner is called.
type Endpoint struct {
	o   Options
	log hclog.Logger

	mu       sync.Mutex // held by Handle
	journals [2]*journal.Replica
	begun    [2]bool
	files    *growing
	bodies   bodies
	pages    pages
	out      answers
	err      error // why nothing is taken any more
	closed   bool
	closeErr error

	// Reused by decode and record.
	decoder   core.Decoder
	added     core.ReplicationAppend
	deleted   core.ReplicationDelete
	committed core.ReplicationCommitRollback
	rec       journal.Record

	now    func() time.Time
	synced time.Time // of written: when it asked for a sync

	status  statusCell
	packets atomic.Int64
	bytes   atomic.Int64
}

// Frames of responses.
var (
	response      = core.Append(nil, core.ChannelReplication, &core.ReplicationResponse{Form: core.TypeReplicationResponse}, core.VersionCurrent)
	startResponse = core.Append(nil, core.ChannelReplication, &core.ReplicationResponse{Form: core.TypeReplicationResponseV2}, core.VersionCurrent)
	finalResponse = core.Append(nil, core.ChannelReplication, &core.ReplicationResponse{Form: core.TypeReplicationResponseV2, SynchronizationIsFinishedAcknowledgement: true}, core.VersionCurrent)
)

// New returns an endpoint that waits for its first packet. Close must be called in the end.
func New(o Options) (*Endpoint, error) {
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	e := &Endpoint{o: o, log: o.Log, now: time.Now}
	e.out = answers{written: e.written, send: o.Link.Send, failed: e.lost}
	e.out.init()
	var err error
	if e.journals[journal.BindingsJournal], err = journal.NewReplica(o.Store.BindingsOptions(), e.out.fail); err != nil {
		return nil, err
	}
	if e.journals[journal.MessagesJournal], err = journal.NewReplica(o.Store.MessagesOptions(), e.out.fail); err != nil {
		return nil, err
	}
	e.files = newGrowing(o.Store.FS, e.out.fail)
	e.bodies = bodies{fsys: o.Store.FS, dir: o.Store.Large, files: e.files}
	e.pages = pages{fsys: o.Store.FS, dir: o.Store.Paging, files: e.files, stores: map[string]*pageStore{}, newFolder: newFolder}
	e.files.start()
	return e, nil
}

// newFolder names a page folder as Artemis does: by a new UUID.
func newFolder() (string, error) {
	u, err := lock.NewUUID(time.Now())
	return u.String(), err
}

// written has w told when everything that was applied is in the files.
func (e *Endpoint) written(w journal.Waiter) (n int, err error) {
	now := e.now()
	sync := now.Sub(e.synced) >= syncEvery
	if sync {
		e.synced = now
	}
	for _, j := range e.journals {
		later, err := j.Notify(w, sync)
		if err != nil {
			return n, err
		}
		if later {
			n++
		}
	}
	return n, nil
}

// lost is told by answers that they have ended.
func (e *Endpoint) lost(err error) {
	if !ended(err) {
		e.log.Error("the replica cannot write what it is sent", "error", err)
	}
	e.status.fail(err)
	e.o.Link.Close(err)
}

// Handle applies a frame of channel 2, of which it keeps nothing. Its response leaves some time after EndOfBatch. After an error, which was
// logged and has closed the link, nothing more is taken.
func (e *Endpoint) Handle(f core.Frame) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return e.err
	}
	p, err := e.decode(f)
	if err == nil {
		err = e.apply(p)
	}
	if err != nil {
		err = fmt.Errorf("replication packet %d, %v: %w", e.packets.Load()+1, f.Type, err)
		e.err = err
		e.status.fail(err)
		if !ended(err) {
			e.log.Error("the replica refuses what it is sent", "error", err)
		}
		e.o.Link.Close(err)
		return err
	}
	e.packets.Add(1)
	e.bytes.Add(int64(len(f.Raw)))
	return nil
}

// ended tells that err is an end, and no failure.
func ended(err error) bool { return errors.Is(err, ErrLinkEnded) || errors.Is(err, ErrClosed) }

// EndOfBatch has the responses of what was handled sent soon: to be called when no more frames are at hand.
func (e *Endpoint) EndOfBatch() { e.out.flush() }

// decode returns the packet of a frame, which the next call overwrites.
func (e *Endpoint) decode(f core.Frame) (core.Packet, error) {
	var p core.Packet
	switch f.Type {
	case core.TypeReplicationAppend, core.TypeReplicationAppendTx:
		e.added = core.ReplicationAppend{InTx: f.Type == core.TypeReplicationAppendTx}
		p = &e.added
	case core.TypeReplicationDelete, core.TypeReplicationDeleteTx:
		e.deleted = core.ReplicationDelete{InTx: f.Type == core.TypeReplicationDeleteTx}
		p = &e.deleted
	case core.TypeReplicationCommitRollback:
		e.committed = core.ReplicationCommitRollback{}
		p = &e.committed
	default:
		return core.Decode(f.Type, f.Payload, e.o.Version)
	}
	return p, e.decoder.Decode(p, f.Payload, e.o.Version)
}

// apply does what a packet says and pushes its response.
func (e *Endpoint) apply(p core.Packet) error {
	var err error
	switch p := p.(type) {
	case *core.ReplicationAppend:
		err = e.append(p)
	case *core.ReplicationDelete:
		r := journal.Record{Kind: journal.Delete, ID: p.ID}
		if p.InTx {
			r = journal.Record{Kind: journal.DeleteTx, Tx: p.TxID, ID: p.ID, Payload: p.Record}
		}
		err = e.record(p.Journal, r)
	case *core.ReplicationPrepare:
		err = e.record(p.Journal, journal.Record{Kind: journal.Prepare, Tx: p.TxID, Payload: p.ExtraData})
	case *core.ReplicationCommitRollback:
		kind := journal.Commit
		if p.Rollback {
			kind = journal.Rollback
		}
		err = e.record(p.Journal, journal.Record{Kind: kind, Tx: p.TxID})
	case *core.ReplicationLargeBegin:
		err = e.bodies.write(p.MessageID, nil)
	case *core.ReplicationLargeWrite:
		err = e.bodies.write(p.MessageID, p.Body)
	case *core.ReplicationLargeEnd:
		if p.IsDelete {
			err = e.bodies.delete(p.MessageID)
		} else {
			err = e.bodies.close(p.MessageID)
		}
	case *core.ReplicationPageWrite:
		err = e.pageWrite(p)
	case *core.ReplicationPageEvent:
		err = e.pageEvent(p)
	case *core.ReplicationSyncFile:
		err = e.syncFile(p)
	case *core.ReplicationStartFinishSync:
		return e.sync(p)
	case *core.ReplicationScheduledFailover:
		return e.scheduledFailOver(p)
	default:
		return fmt.Errorf("%w: %v", ErrOrder, p.Type())
	}
	if err != nil {
		return err
	}
	return e.out.push(response)
}

func (e *Endpoint) append(p *core.ReplicationAppend) error {
	var kind journal.Kind
	switch p.Operation {
	case core.RecordAdd:
		kind = journal.Add
	case core.RecordUpdate:
		kind = journal.Update
	case core.RecordEvent:
		if p.InTx {
			return fmt.Errorf("event %d in transaction %d", p.ID, p.TxID)
		}
		kind = journal.Event
	default:
		return fmt.Errorf("operation %d on record %d", p.Operation, p.ID)
	}
	if p.InTx {
		kind += journal.AddTx - journal.Add
	}
	return e.record(p.Journal, journal.Record{Kind: kind, UserType: byte(p.RecordType), Tx: p.TxID, ID: p.ID, Payload: p.Record})
}

func (e *Endpoint) record(id int8, r journal.Record) error {
	j, err := e.journal(id)
	if err != nil {
		return err
	}
	e.rec = r
	err = j.Append(&e.rec)
	e.rec.Payload = nil
	return err
}

func (e *Endpoint) journal(id int8) (*journal.Replica, error) {
	if id < 0 || int(id) >= len(e.journals) {
		return nil, fmt.Errorf("journal %d", id)
	}
	if !e.begun[id] {
		return nil, fmt.Errorf("%w: the %v journal has not begun", ErrOrder, journal.JournalID(id))
	}
	return e.journals[id], nil
}

func (e *Endpoint) pageWrite(p *core.ReplicationPageWrite) error {
	address := p.Address.V
	if !p.Address.Valid || address == "" {
		var err error
		if address, err = addressOf(p.Message); err != nil {
			return fmt.Errorf("message of page %d: %w", p.Page, err)
		}
	}
	first, err := e.pages.write(address, p.Page, p.Message)
	e.seenPage(address, first)
	return err
}

// seenPage tells that an address has begun to page.
func (e *Endpoint) seenPage(address string, first bool) {
	if !first {
		return
	}
	e.log.Error("an address of the active node pages: this node cannot take over before its pages are drained, because it does not serve pages yet", "address", address)
	e.status.paging(e.pages.paging())
	e.o.Owner.Paging(address)
}

func (e *Endpoint) pageEvent(p *core.ReplicationPageEvent) error {
	if !p.IsDelete {
		return e.pages.close(p.StoreName, p.Page)
	}
	last, err := e.pages.delete(p.StoreName, p.Page)
	if last {
		e.log.Info("an address of the active node has no messages in pages any more", "address", p.StoreName)
		e.status.paging(e.pages.paging())
	}
	return err
}

func (e *Endpoint) scheduledFailOver(p *core.ReplicationScheduledFailover) error {
	if err := e.out.push(response); err != nil {
		return err
	}
	if err := e.out.drain(); err != nil {
		return err
	}
	if p.Stopping == core.StopCalled {
		e.log.Info("the active node is about to stop")
		e.o.Owner.StopCalled()
	} else {
		e.log.Info("the active node has stopped")
		e.o.Owner.FailOver()
	}
	return nil
}

// Close ends the endpoint: nothing more is taken or answered, and everything is on disk when it returns. It closes the link. It may be
// called more than once.
func (e *Endpoint) Close() error {
	e.o.Link.Close(ErrClosed) // so that Send ends
	e.out.stop()
	e.files.stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return e.closeErr
	}
	e.closed = true
	if e.err == nil {
		e.err = ErrClosed
	}
	var errs []error
	for _, j := range e.journals {
		errs = append(errs, j.Close())
	}
	errs = append(errs, e.files.closeAll())
	e.closeErr = errors.Join(errs...)
	e.status.close()
	return e.closeErr
}

// Activate closes the endpoint and tells whether a broker may be started on its folders: an error means that it would lose something, or
// would not start.
func (e *Endpoint) Activate() error {
	if err := e.Close(); err != nil {
		return fmt.Errorf("activate the replica: %w", err)
	}
	s := e.Status()
	if !s.UpToDate {
		return fmt.Errorf("activate the replica: %w", ErrNotInSync)
	}
	if s.Broken != nil {
		return fmt.Errorf("activate the replica: %w", s.Broken)
	}
	if len(s.Paging) == 0 {
		return nil
	}
	// A page stays for a while after its last message was consumed.
	if err := journal.LivePages(e.o.Store); err != nil {
		return fmt.Errorf("activate the replica: %w", err)
	}
	return nil
}
