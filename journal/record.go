package journal

import "encoding/binary"

// Kind is a record's first byte.
type Kind byte

// The record kinds. These values are part of the format.
const (
	Event    Kind = 10
	Add      Kind = 11
	Update   Kind = 12
	AddTx    Kind = 13
	UpdateTx Kind = 14
	DeleteTx Kind = 15
	Delete   Kind = 16
	Prepare  Kind = 17
	Commit   Kind = 18
	Rollback Kind = 19
)

// The format version this package writes, and the oldest it reads (which lacks the compact count).
const (
	formatVersion    = 2
	oldFormatVersion = 1
)

// headerSize is the size of a file's header: i32 format version, i32 user version (0), i64 file id.
const headerSize = 16

// fixedSize is a record's size in format version 2 without its payload.
var fixedSize = [20]int{Event: 23, Add: 23, Update: 23, AddTx: 31, UpdateTx: 31, DeleteTx: 30, Delete: 18, Prepare: 26, Commit: 22, Rollback: 18}

// Size returns the number of bytes a record of kind k with a payload of n bytes takes in a file.
func (k Kind) Size(n int) int { return fixedSize[k] + n }

// InTx tells whether records of this kind belong to a transaction's body.
func (k Kind) InTx() bool { return k == AddTx || k == UpdateTx || k == DeleteTx }

// Record is one record as it stands in a file. Which fields mean something depends on the kind.
type Record struct {
	Kind     Kind
	UserType byte  // Event, Add, Update and their Tx forms
	Compact  uint8 // how often the compactor has rewritten it; capped at 127
	N        int32 // Prepare, Commit: records of the transaction in the same file
	ID       int64 // all but Prepare, Commit, Rollback
	Tx       int64 // Tx kinds, Prepare, Commit, Rollback
	Payload  []byte
	File     int32 // the file id the record carries: low 31 bits
	Pos, End int   // byte range in the file

	own bool // Payload is a copy
}

// Size is the record's length in the file it was read from.
func (r *Record) Size() int { return r.End - r.Pos }

// recordFileID is what a record carries of its file's id.
func recordFileID(id int64) int32 { return int32(id & 0x7fffffff) }

// putRecord encodes r, all but its payload, into dst, which has exactly the record's size, and returns where the payload goes.
func putRecord(dst []byte, r *Record, payload int) []byte {
	be := binary.BigEndian
	dst[0] = byte(r.Kind)
	be.PutUint32(dst[1:], uint32(r.File))
	dst[5] = r.Compact
	p := 6
	switch r.Kind {
	case AddTx, UpdateTx, DeleteTx, Prepare, Commit, Rollback:
		be.PutUint64(dst[p:], uint64(r.Tx))
		p += 8
	}
	switch r.Kind {
	case Event, Add, Update, AddTx, UpdateTx:
		be.PutUint64(dst[p:], uint64(r.ID))
		be.PutUint32(dst[p+8:], uint32(payload))
		dst[p+12] = r.UserType
		p += 13
	case DeleteTx:
		be.PutUint64(dst[p:], uint64(r.ID))
		be.PutUint32(dst[p+8:], uint32(payload))
		p += 12
	case Delete:
		be.PutUint64(dst[p:], uint64(r.ID))
		p += 8
	case Prepare:
		be.PutUint32(dst[p:], uint32(r.N))
		be.PutUint32(dst[p+4:], uint32(payload))
		p += 8
	case Commit:
		be.PutUint32(dst[p:], uint32(r.N))
		p += 4
	}
	be.PutUint32(dst[len(dst)-4:], uint32(len(dst)))
	return dst[p : p+payload : p+payload]
}

func putHeader(dst []byte, id int64) {
	binary.BigEndian.PutUint32(dst, formatVersion)
	binary.BigEndian.PutUint32(dst[4:], 0)
	binary.BigEndian.PutUint64(dst[8:], uint64(id))
}
