package jute

import (
	"encoding/binary"
	"errors"
	"strings"
)

// ErrShort says that a record ends before its fields do, or that a length or count in it cannot be true.
var ErrShort = errors.New("record is too short")

// ErrTrailing says that bytes are left behind the last field.
var ErrTrailing = errors.New("record has trailing bytes")

// Reader takes the fields of a record from a payload. The first field that does not fit sets the error, and every
// further field reads as zero. The zero Reader reads an empty payload.
type Reader struct {
	rest []byte
	err  error
}

// NewReader reads payload, which must not change until the last field is taken. Fields are copies.
func NewReader(payload []byte) *Reader { return &Reader{rest: payload} }

// Err is nil, or ErrShort.
func (r *Reader) Err() error { return r.err }

// Len is the number of bytes that are left.
func (r *Reader) Len() int { return len(r.rest) }

// End is ErrShort, ErrTrailing, or nil if all bytes were taken and no more.
func (r *Reader) End() error {
	if r.err == nil && len(r.rest) > 0 {
		return ErrTrailing
	}
	return r.err
}

func (r *Reader) take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.rest) {
		r.fail()
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *Reader) fail() {
	r.err = ErrShort
	r.rest = nil
}

// Int takes an int.
func (r *Reader) Int() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

// Long takes a long.
func (r *Reader) Long() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// Bool takes a bool; every byte but 0 is true.
func (r *Reader) Bool() bool {
	b := r.take(1)
	return b != nil && b[0] != 0
}

// Buffer takes a buffer. A null one is nil, an empty one is not.
func (r *Reader) Buffer() []byte {
	n := r.Int()
	if n < 0 || r.err != nil {
		return nil
	}
	b := r.take(int(n))
	if r.err != nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

// String takes a ustring. A null one reads as "", bytes that are no UTF-8 as U+FFFD, which no path may contain.
func (r *Reader) String() string {
	n := r.Int()
	if n < 0 || r.err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(r.take(int(n))), "\uFFFD")
}

// count takes the count of a vector whose elements have at least size bytes each: -1 if it is null.
func (r *Reader) count(size int) int {
	n := int(r.Int())
	if n < 0 || r.err != nil {
		return -1
	}
	if n > len(r.rest)/size {
		r.fail()
		return -1
	}
	return n
}

// Strings takes a vector of ustrings; nil if it is null.
func (r *Reader) Strings() []string {
	n := r.count(4)
	if n < 0 {
		return nil
	}
	s := make([]string, 0, n)
	for range n {
		s = append(s, r.String())
	}
	return s
}

// AppendInt appends an int.
func AppendInt(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }

// AppendLong appends a long.
func AppendLong(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

// AppendBool appends a bool.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// AppendBuffer appends a buffer; a nil one is null.
func AppendBuffer(b, v []byte) []byte {
	if v == nil {
		return AppendInt(b, -1)
	}
	return append(AppendInt(b, int32(len(v))), v...)
}

// AppendString appends a ustring.
func AppendString(b []byte, v string) []byte { return append(AppendInt(b, int32(len(v))), v...) }

// AppendStrings appends a vector of ustrings; a nil one is empty, not null, because clients do not expect null in a reply.
func AppendStrings(b []byte, v []string) []byte {
	b = AppendInt(b, int32(len(v)))
	for _, s := range v {
		b = AppendString(b, s)
	}
	return b
}

// AppendFrame appends the payload that body appends, with its length in front.
func AppendFrame(b []byte, body func([]byte) []byte) []byte {
	at := len(b)
	b = body(append(b, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}
