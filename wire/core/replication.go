package core

import (
	"fmt"

	"github.com/saranga-mq/saranga/wire/buf"
)

// Journal ids in replication packets.
const (
	JournalBindings int8 = 0
	JournalMessages int8 = 1
)

// ReplicationResponse answers a replication packet. Form is
// TypeReplicationResponse, or TypeReplicationResponseV2 which has the field.
type ReplicationResponse struct {
	Form                                     Type
	SynchronizationIsFinishedAcknowledgement bool // V2
}

func (p *ReplicationResponse) Type() Type {
	if p.Form == 0 {
		return TypeReplicationResponseV2
	}
	return p.Form
}
func (p *ReplicationResponse) decode(r *buf.Reader, _ Version) {
	if p.Form == TypeReplicationResponseV2 {
		p.SynchronizationIsFinishedAcknowledgement = r.Bool()
	}
}
func (p *ReplicationResponse) encode(dst []byte, _ Version) []byte {
	if p.Type() == TypeReplicationResponseV2 {
		dst = buf.AppendBool(dst, p.SynchronizationIsFinishedAcknowledgement)
	}
	return dst
}

// RecordOperation is what a replicated record does.
type RecordOperation int8

// Operations of a ReplicationAppend. Peers below version 131 know Add and
// Update only, as the bool isUpdate.
const (
	RecordUpdate RecordOperation = 0
	RecordAdd    RecordOperation = 1
	RecordEvent  RecordOperation = 2
)

// ReplicationAppend replicates a record.
type ReplicationAppend struct {
	InTx       bool // REPLICATION_APPEND_TX
	Journal    int8
	Operation  RecordOperation
	TxID       int64 // in a transaction only
	ID         int64
	RecordType int8
	Record     []byte // block; view
}

func (p *ReplicationAppend) Type() Type {
	if p.InTx {
		return TypeReplicationAppendTx
	}
	return TypeReplicationAppend
}
func (p *ReplicationAppend) decode(r *buf.Reader, v Version) {
	p.Journal = r.Int8()
	if op := r.Int8(); !v.BeforeTwoEighteen() {
		p.Operation = RecordOperation(op)
	} else if op == 0 {
		p.Operation = RecordAdd
	} else {
		p.Operation = RecordUpdate
	}
	if p.InTx {
		p.TxID = r.Int64()
	}
	p.ID = r.Int64()
	p.RecordType = r.Int8()
	p.Record = r.Block()
}
func (p *ReplicationAppend) encode(dst []byte, v Version) []byte {
	dst = buf.AppendInt8(dst, p.Journal)
	if v.BeforeTwoEighteen() {
		dst = buf.AppendBool(dst, p.Operation == RecordUpdate)
	} else {
		dst = buf.AppendInt8(dst, int8(p.Operation))
	}
	if p.InTx {
		dst = buf.AppendInt64(dst, p.TxID)
	}
	dst = buf.AppendInt64(dst, p.ID)
	dst = buf.AppendInt8(dst, p.RecordType)
	return buf.AppendBlock(dst, p.Record)
}

// ReplicationDelete replicates the deletion of a record.
type ReplicationDelete struct {
	InTx    bool // REPLICATION_DELETE_TX
	Journal int8
	TxID    int64 // in a transaction only
	ID      int64
	Record  []byte // block; in a transaction only; view
}

func (p *ReplicationDelete) Type() Type {
	if p.InTx {
		return TypeReplicationDeleteTx
	}
	return TypeReplicationDelete
}
func (p *ReplicationDelete) decode(r *buf.Reader, _ Version) {
	p.Journal = r.Int8()
	if p.InTx {
		p.TxID = r.Int64()
	}
	p.ID = r.Int64()
	if p.InTx {
		p.Record = r.Block()
	}
}
func (p *ReplicationDelete) encode(dst []byte, _ Version) []byte {
	dst = buf.AppendInt8(dst, p.Journal)
	if !p.InTx {
		return buf.AppendInt64(dst, p.ID)
	}
	dst = buf.AppendInt64(buf.AppendInt64(dst, p.TxID), p.ID)
	return buf.AppendBlock(dst, p.Record)
}

// ReplicationPrepare replicates the preparation of a transaction.
type ReplicationPrepare struct {
	Journal   int8
	TxID      int64
	ExtraData []byte // block; view
}

func (*ReplicationPrepare) Type() Type { return TypeReplicationPrepare }
func (p *ReplicationPrepare) decode(r *buf.Reader, _ Version) {
	p.Journal = r.Int8()
	p.TxID = r.Int64()
	p.ExtraData = r.Block()
}
func (p *ReplicationPrepare) encode(dst []byte, _ Version) []byte {
	return buf.AppendBlock(buf.AppendInt64(buf.AppendInt8(dst, p.Journal), p.TxID), p.ExtraData)
}

// ReplicationCommitRollback replicates the end of a transaction.
type ReplicationCommitRollback struct {
	Journal  int8
	Rollback bool
	TxID     int64
}

func (*ReplicationCommitRollback) Type() Type { return TypeReplicationCommitRollback }
func (p *ReplicationCommitRollback) decode(r *buf.Reader, _ Version) {
	p.Journal = r.Int8()
	p.Rollback = r.Bool()
	p.TxID = r.Int64()
}
func (p *ReplicationCommitRollback) encode(dst []byte, _ Version) []byte {
	return buf.AppendInt64(buf.AppendBool(buf.AppendInt8(dst, p.Journal), p.Rollback), p.TxID)
}

// ReplicationPageWrite replicates a message written to a page.
type ReplicationPageWrite struct {
	Page    int64            // i32 below version 133
	Message []byte           // PagedMessage, see skipPagedMessage; view
	Address buf.Null[string] // SS; from version 133
}

func (*ReplicationPageWrite) Type() Type { return TypeReplicationPageWrite }
func (p *ReplicationPageWrite) decode(r *buf.Reader, v Version) {
	p.Page = readPage(r, v)
	if !v.LongPageNumbers() {
		p.Message = r.Bytes(r.Len())
		return
	}
	message := r.Rest()
	start := r.Offset()
	skipPagedMessage(r)
	if r.Err() == nil {
		p.Message = message[:r.Offset()-start]
	}
	p.Address = r.NSS()
}
func (p *ReplicationPageWrite) encode(dst []byte, v Version) []byte {
	dst = append(appendPage(dst, p.Page, v), p.Message...)
	if v.LongPageNumbers() {
		dst = buf.AppendNSS(dst, p.Address)
	}
	return dst
}

func readPage(r *buf.Reader, v Version) int64 {
	if v.LongPageNumbers() {
		return r.Int64()
	}
	return int64(r.Int32())
}

func appendPage(dst []byte, page int64, v Version) []byte {
	if v.LongPageNumbers() {
		return buf.AppendInt64(dst, page)
	}
	return buf.AppendInt32(dst, int32(page))
}

// Persisters of messages on disk.
const (
	persisterCore      = 1
	persisterAMQP      = 2
	persisterAMQPV2    = 3
	persisterAMQPLarge = 4
	persisterAMQPV3    = 5
)

// skipPagedMessage passes over a message as pages hold it: i64 transaction id,
// i8 kind, then for kind 1 and -1 (Core large) a block, else a persister byte
// and its message; then i32 n and n i64 queue ids.
func skipPagedMessage(r *buf.Reader) {
	r.Int64()
	if kind := r.Int8(); kind == 1 || kind == -1 {
		r.Block()
	} else {
		skipPersisted(r)
	}
	r.Skip(8 * r.Count(8))
}

func skipPersisted(r *buf.Reader) {
	switch persister := r.Int8(); persister {
	case persisterCore: // id, address, MSG
		r.Int64()
		r.NSSBytes()
		r.Block()
	case persisterAMQP, persisterAMQPV2, persisterAMQPV3: // id, format, address, encoding
		r.Skip(16)
		r.NSSBytes()
		r.Block()
		if persister != persisterAMQP {
			r.Block() // extra properties
		}
		if persister == persisterAMQPV3 {
			r.Int64() // expiration
		}
	case persisterAMQPLarge:
		skipAMQPLarge(r)
	default:
		r.Fail(fmt.Sprintf("persister %d", persister))
	}
}

// skipAMQPLarge passes over what persister 4 keeps of a large message: the
// positions of its sections in the file, and the sections before the body.
func skipAMQPLarge(r *buf.Reader) {
	r.Skip(8 + 1 + 8) // id, durable, format
	r.NSSBytes()      // address
	r.Block()         // extra properties
	r.Skip(8)         // position and size of the header
	skipAMQPValue(r, 0)
	r.Skip(12) // position and size of delivery annotations, position of message annotations
	skipAMQPValue(r, 0)
	r.Skip(4) // position of properties
	skipAMQPValue(r, 0)
	r.Skip(8) // positions of application properties and of the rest
	skipAMQPValue(r, 0)
	r.Skip(8 + 1) // expiration, reencoded
}

// skipAMQPValue passes over one AMQP value. The high half of the constructor
// tells its width.
func skipAMQPValue(r *buf.Reader, depth int) {
	if depth > 4 {
		r.Fail("AMQP descriptors too deep")
		return
	}
	switch c := r.Uint8(); c >> 4 {
	case 0x0:
		if c != 0 {
			r.Fail(fmt.Sprintf("AMQP constructor %#02x", c))
			return
		}
		skipAMQPValue(r, depth+1) // descriptor
		skipAMQPValue(r, depth+1)
	case 0x4:
	case 0x5:
		r.Skip(1)
	case 0x6:
		r.Skip(2)
	case 0x7:
		r.Skip(4)
	case 0x8:
		r.Skip(8)
	case 0x9:
		r.Skip(16)
	case 0xa, 0xc, 0xe:
		r.Skip(int(r.Uint8()))
	case 0xb, 0xd, 0xf:
		r.Block()
	default:
		r.Fail(fmt.Sprintf("AMQP constructor %#02x", c))
	}
}

// ReplicationPageEvent replicates the closing or deletion of a page.
type ReplicationPageEvent struct {
	StoreName string // SS
	Page      int64  // i32 below version 133
	IsDelete  bool
}

func (*ReplicationPageEvent) Type() Type { return TypeReplicationPageEvent }
func (p *ReplicationPageEvent) decode(r *buf.Reader, v Version) {
	p.StoreName = r.SS()
	p.Page = readPage(r, v)
	p.IsDelete = r.Bool()
}
func (p *ReplicationPageEvent) encode(dst []byte, v Version) []byte {
	return buf.AppendBool(appendPage(buf.AppendSS(dst, p.StoreName), p.Page, v), p.IsDelete)
}

// ReplicationLargeBegin replicates the creation of a large message's file.
type ReplicationLargeBegin struct {
	MessageID int64
}

func (*ReplicationLargeBegin) Type() Type                        { return TypeReplicationLargeBegin }
func (p *ReplicationLargeBegin) decode(r *buf.Reader, _ Version) { p.MessageID = r.Int64() }
func (p *ReplicationLargeBegin) encode(dst []byte, _ Version) []byte {
	return buf.AppendInt64(dst, p.MessageID)
}

// ReplicationLargeEnd replicates the closing or deletion of a large message's file.
type ReplicationLargeEnd struct {
	MessageID       int64
	PendingRecordID int64 // opt; negated
	IsDelete        bool  // opt
}

func (*ReplicationLargeEnd) Type() Type { return TypeReplicationLargeEnd }
func (p *ReplicationLargeEnd) decode(r *buf.Reader, _ Version) {
	p.MessageID = r.Int64()
	if r.Len() >= 8 {
		p.PendingRecordID = r.Int64()
	}
	if r.Len() > 0 {
		p.IsDelete = r.Bool()
	}
}
func (p *ReplicationLargeEnd) encode(dst []byte, _ Version) []byte {
	dst = buf.AppendInt64(buf.AppendInt64(dst, p.MessageID), p.PendingRecordID)
	return buf.AppendBool(dst, p.IsDelete)
}

// ReplicationLargeWrite replicates bytes added to a large message's file.
type ReplicationLargeWrite struct {
	MessageID int64
	Body      []byte // block; view
}

func (*ReplicationLargeWrite) Type() Type { return TypeReplicationLargeWrite }
func (p *ReplicationLargeWrite) decode(r *buf.Reader, _ Version) {
	p.MessageID = r.Int64()
	p.Body = r.Block()
}
func (p *ReplicationLargeWrite) encode(dst []byte, _ Version) []byte {
	return buf.AppendBlock(buf.AppendInt64(dst, p.MessageID), p.Body)
}

// FileType is the kind of a synchronised file.
type FileType int8

// Kinds of a ReplicationSyncFile.
const (
	FileJournal FileType = 0
	FilePage    FileType = 1
	FileLarge   FileType = 2
)

// ReplicationSyncFile carries a piece of a file to a new replica. Nothing
// follows a FileID of -1. Real senders write their whole buffer behind a size
// above zero; a reader keeps the first DataSize bytes and skips the rest, a
// writer need not pad.
type ReplicationSyncFile struct {
	FileID   int64 // journal file id (from the file's header), page number or message id
	FileType FileType
	Journal  int8   // FileJournal
	Store    string // SS; FilePage
	DataSize int32  // bytes in Data; 0 or -1: end of the file
	Data     []byte // view
}

func (*ReplicationSyncFile) Type() Type { return TypeReplicationSyncFile }
func (p *ReplicationSyncFile) decode(r *buf.Reader, _ Version) {
	p.FileID = r.Int64()
	if p.FileID == -1 {
		return
	}
	switch p.FileType = FileType(r.Int8()); p.FileType {
	case FileJournal:
		p.Journal = r.Int8()
	case FilePage:
		p.Store = r.SS()
	case FileLarge:
	default:
		r.Fail(fmt.Sprintf("file type %d", p.FileType))
	}
	p.DataSize = r.Int32()
	if p.DataSize > 0 {
		p.Data = r.Bytes(int(p.DataSize))
		r.Skip(r.Len())
	}
}
func (p *ReplicationSyncFile) encode(dst []byte, _ Version) []byte {
	dst = buf.AppendInt64(dst, p.FileID)
	if p.FileID == -1 {
		return dst
	}
	dst = buf.AppendInt8(dst, int8(p.FileType))
	switch p.FileType {
	case FileJournal:
		dst = buf.AppendInt8(dst, p.Journal)
	case FilePage:
		dst = buf.AppendSS(dst, p.Store)
	}
	dst = buf.AppendInt32(dst, p.DataSize)
	if p.DataSize > 0 {
		dst = append(dst, p.Data...)
	}
	return dst
}

// SyncDataType tells what the ids of a ReplicationStartFinishSync are.
type SyncDataType int8

// Data types of a ReplicationStartFinishSync.
const (
	SyncJournalBindings    SyncDataType = 0
	SyncJournalMessages    SyncDataType = 1
	SyncLargeMessages      SyncDataType = 2
	SyncActivationSequence SyncDataType = 3
)

// ReplicationStartFinishSync begins or ends a synchronisation. Peers below
// version 131 end it without data type and ids.
type ReplicationStartFinishSync struct {
	Finished           bool
	AllowsAutoFailBack bool
	NodeID             string // STR
	DataType           buf.Null[SyncDataType]
	IDs                []int64
}

func (*ReplicationStartFinishSync) Type() Type { return TypeReplicationStartFinishSync }
func (p *ReplicationStartFinishSync) decode(r *buf.Reader, _ Version) {
	p.Finished = r.Bool()
	p.AllowsAutoFailBack = r.Bool()
	p.NodeID = r.STR()
	if r.Len() == 0 {
		return
	}
	p.DataType = buf.Of(SyncDataType(r.Int8()))
	n := r.Count(8)
	for range n {
		p.IDs = append(p.IDs, r.Int64())
	}
}
func (p *ReplicationStartFinishSync) encode(dst []byte, _ Version) []byte {
	dst = buf.AppendBool(dst, p.Finished)
	dst = buf.AppendBool(dst, p.AllowsAutoFailBack)
	dst = buf.AppendSTR(dst, p.NodeID)
	if !p.DataType.Valid {
		return dst
	}
	dst = buf.AppendInt8(dst, int8(p.DataType.V))
	dst = buf.AppendInt32(dst, int32(len(p.IDs)))
	for _, id := range p.IDs {
		dst = buf.AppendInt64(dst, id)
	}
	return dst
}

// Stopping codes of a ReplicationScheduledFailover. Any other reads as fail-over.
const (
	StopCalled int32 = 0
	FailOver   int32 = 1
)

// ReplicationScheduledFailover tells the replica that its primary is stopping.
type ReplicationScheduledFailover struct {
	Stopping int32
}

func (*ReplicationScheduledFailover) Type() Type { return TypeReplicationScheduledFailover }
func (p *ReplicationScheduledFailover) decode(r *buf.Reader, _ Version) {
	p.Stopping = r.Int32()
}
func (p *ReplicationScheduledFailover) encode(dst []byte, _ Version) []byte {
	return buf.AppendInt32(dst, p.Stopping)
}
