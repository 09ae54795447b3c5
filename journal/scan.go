package journal

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/saranga-mq/saranga/journal/fs"
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

// Scanner finds the records in a file. A torn or damaged record is no error: the scan goes on one byte further.
type Scanner struct {
	b       []byte // what is in memory of the file …
	base    int    // … from this offset on
	size    int    // of the file
	src     fs.File
	pos     int
	version int32
	file    int32
	stale   bool

	// Last is the end of the last record found, 0 when there was none.
	Last int
	// Damaged tells that something looked like a record of this file but was not whole.
	Damaged bool
	// Err is the first error of reading the file. The scan ends with it.
	Err error
}

// NewScanner scans the whole content b of a file with header h. With stale set, records of the file's former uses are
// found too, as `data print --reclaimed` does. Payloads are views of b.
func NewScanner(b []byte, h Header, stale bool) *Scanner {
	return &Scanner{b: b, size: len(b), pos: headerSize, version: h.Version, file: recordFileID(h.ID), stale: stale}
}

// scanWindow is how much of a file a scanner that reads it holds in memory, unless a record is larger.
const scanWindow = 256 << 10

// scanFile scans the first size bytes of a file, reading as it goes into the memory of window, if there is any. A payload
// is valid until Next is called again.
func scanFile(f fs.File, size int, h Header, window []byte) *Scanner {
	return &Scanner{src: f, b: window[:0], base: headerSize, size: size, pos: headerSize, version: h.Version, file: recordFileID(h.ID)}
}

// at returns the file from p on, at least n bytes of it, or nil when there are not so many.
func (s *Scanner) at(p, n int) []byte {
	if n > s.size-p {
		return nil
	}
	if p+n > s.base+len(s.b) && !s.fill(p, n) {
		return nil
	}
	return s.b[p-s.base:]
}

// fill moves the window to p.
func (s *Scanner) fill(p, n int) bool {
	if s.src == nil {
		return false
	}
	want := cap(s.b)
	if want == 0 {
		want = scanWindow
	}
	want = min(max(n, want), s.size-p)
	b := s.b[:cap(s.b)]
	if len(b) < want {
		b = make([]byte, want)
	}
	have := copy(b, s.b[min(p-s.base, len(s.b)):])
	if got, err := s.src.ReadAt(b[have:want], int64(p+have)); got < want-have {
		s.Err, s.size = err, p // ends here
		if err == nil {
			s.Err = io.ErrUnexpectedEOF
		}
		return false
	}
	s.b, s.base = b[:want], p
	return true
}

// Next finds the next record.
func (s *Scanner) Next(r *Record) bool {
	for p := s.pos; p < s.size; {
		w := s.at(p, 1)
		i := 0
		for i < len(w) && (w[i] < byte(Event) || w[i] > byte(Rollback)) {
			if i+8 <= len(w) && binary.LittleEndian.Uint64(w[i:]) == 0 {
				i += 8 // the rest of a file is zeros, mostly
			} else {
				i++
			}
		}
		if p += i; i == len(w) {
			continue
		}
		if s.record(r, p) {
			s.pos, s.Last = r.End, r.End
			return true
		}
		p++
	}
	s.pos = s.size
	return false
}

// record decodes the record at p.
func (s *Scanner) record(r *Record, p int) bool {
	be := binary.BigEndian
	b := s.at(p, 5)
	if b == nil {
		return false
	}
	*r = Record{Kind: Kind(b[0]), File: int32(be.Uint32(b[1:])), Pos: p}
	if r.File != s.file && !s.stale {
		return false
	}
	fixed := fixedSize[r.Kind] // up to and with the check size
	if s.version == oldFormatVersion {
		fixed--
	}
	if b = s.at(p, fixed-4); b == nil {
		return false
	}
	i := 5
	if s.version != oldFormatVersion {
		r.Compact = b[i]
		i++
	}
	if r.Kind.InTx() || r.Kind >= Prepare {
		r.Tx = int64(be.Uint64(b[i:]))
		i += 8
	}
	if r.Kind <= Delete {
		r.ID = int64(be.Uint64(b[i:]))
		i += 8
	}
	if r.Kind == Prepare || r.Kind == Commit {
		r.N = int32(be.Uint32(b[i:]))
		i += 4
	}
	n := 0
	if r.Kind <= DeleteTx || r.Kind == Prepare {
		n = int(int32(be.Uint32(b[i:])))
		i += 4
		if n < 0 {
			return false
		}
	}
	if r.Kind <= UpdateTx {
		r.UserType = b[i]
		i++
	}
	if b = s.at(p, fixed+n); b == nil || int(int32(be.Uint32(b[i+n:]))) != fixed+n {
		s.Damaged = true
		return false
	}
	r.Payload = b[i : i+n : i+n]
	r.End = p + fixed + n
	return true
}
