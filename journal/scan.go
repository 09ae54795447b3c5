package journal

import (
	"encoding/binary"
	"fmt"
)

// Header is a journal file's header.
type Header struct {
	Version int32
	ID      int64
}

// ReadHeader reads the header of a file of at least 16 bytes. A format version other than 1 and 2 or a user version other
// than 0 is an error: such data was written by something else and must not be touched.
func ReadHeader(b []byte) (Header, error) {
	if len(b) < headerSize {
		return Header{}, fmt.Errorf("%d bytes are no journal file", len(b))
	}
	h := Header{int32(binary.BigEndian.Uint32(b)), int64(binary.BigEndian.Uint64(b[8:]))}
	if h.Version != formatVersion && h.Version != oldFormatVersion {
		return h, fmt.Errorf("format version %d is not supported (1 and 2 are)", h.Version)
	}
	if user := int32(binary.BigEndian.Uint32(b[4:])); user != 0 {
		return h, fmt.Errorf("user version %d is not supported (0 is)", user)
	}
	return h, nil
}

// Scanner finds the records in a file's bytes. A torn or damaged record is no error: the scan goes on one byte further.
type Scanner struct {
	b       []byte
	pos     int
	version int32
	file    int32
	stale   bool

	// Last is the end of the last record found, 0 when there was none.
	Last int
	// Damaged tells that something looked like a record of this file but was not whole.
	Damaged bool
}

// NewScanner scans the whole content b of a file with header h. With stale set, records of the file's former uses are
// found too, as `data print --reclaimed` does.
func NewScanner(b []byte, h Header, stale bool) *Scanner {
	return &Scanner{b: b, pos: headerSize, version: h.Version, file: recordFileID(h.ID), stale: stale}
}

// Next finds the next record. Its payload is a view of the scanned bytes.
func (s *Scanner) Next(r *Record) bool {
	b := s.b
	for p := s.pos; p < len(b); p++ {
		if k := b[p]; k < byte(Event) || k > byte(Rollback) {
			for k == 0 && p+8 < len(b) && binary.LittleEndian.Uint64(b[p+1:]) == 0 {
				p += 8
			}
			continue
		}
		if s.record(r, p) {
			s.pos, s.Last = r.End, r.End
			return true
		}
	}
	s.pos = len(b)
	return false
}

// record decodes the record at p.
func (s *Scanner) record(r *Record, p int) bool {
	be := binary.BigEndian
	b, start := s.b, p
	if len(b)-p < 5 {
		return false
	}
	*r = Record{Kind: Kind(b[p]), File: int32(be.Uint32(b[p+1:])), Pos: p}
	if r.File != s.file && !s.stale {
		return false
	}
	fixed := fixedSize[r.Kind] // up to and with the check size
	if s.version == oldFormatVersion {
		fixed--
	}
	if len(b)-p < fixed-4 {
		return false
	}
	p += 5
	if s.version != oldFormatVersion {
		r.Compact = b[p]
		p++
	}
	if r.Kind.InTx() || r.Kind >= Prepare {
		r.Tx = int64(be.Uint64(b[p:]))
		p += 8
	}
	if r.Kind <= Delete {
		r.ID = int64(be.Uint64(b[p:]))
		p += 8
	}
	if r.Kind == Prepare || r.Kind == Commit {
		r.N = int32(be.Uint32(b[p:]))
		p += 4
	}
	n := 0
	if r.Kind <= DeleteTx || r.Kind == Prepare {
		n = int(int32(be.Uint32(b[p:])))
		p += 4
		if n < 0 {
			return false
		}
	}
	if r.Kind <= UpdateTx {
		r.UserType = b[p]
		p++
	}
	if n > len(b)-p-4 || int(int32(be.Uint32(b[p+n:]))) != fixed+n {
		s.Damaged = true
		return false
	}
	r.Payload = b[p : p+n : p+n]
	r.End = start + fixed + n
	return true
}
