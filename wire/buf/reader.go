package buf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Errors of a Reader. Err wraps them with the offset of the field.
var (
	ErrShort     = errors.New("short read")
	ErrMalformed = errors.New("malformed")
)

// Reader reads fields from a byte slice, front to back. It is a plain value:
// a copy is a second cursor over the same bytes. Not safe for concurrent use.
type Reader struct {
	b   []byte
	off int
	err error
}

// NewReader returns a Reader at the start of b. The Reader does not copy b.
func NewReader(b []byte) Reader { return Reader{b: b} }

// Err returns the first error met, nil if there was none.
func (r *Reader) Err() error { return r.err }

// Len returns the number of bytes not yet read; 0 after an error.
func (r *Reader) Len() int {
	if r.err != nil {
		return 0
	}
	return len(r.b) - r.off
}

// Offset returns the position of the next byte in the slice given to NewReader.
func (r *Reader) Offset() int { return r.off }

// Rest returns the bytes not yet read without reading them.
func (r *Reader) Rest() []byte {
	if r.err != nil {
		return nil
	}
	return r.b[r.off:]
}

// Fail sets the error, unless one is set already, to malformed with what is
// wrong with the field just read.
func (r *Reader) Fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w at byte %d: %s", ErrMalformed, r.off, what)
	}
}

func (r *Reader) short(n int) {
	if r.err == nil {
		r.err = fmt.Errorf("%w at byte %d: want %d bytes, have %d", ErrShort, r.off, n, len(r.b)-r.off)
	}
}

// Bytes returns a view of the next n bytes, nil on error. A negative n is an error.
func (r *Reader) Bytes(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.b)-r.off {
		r.short(n)
		return nil
	}
	v := r.b[r.off : r.off+n : r.off+n]
	r.off += n
	return v
}

// Skip passes over n bytes.
func (r *Reader) Skip(n int) { r.Bytes(n) }

// Uint8 reads one byte.
func (r *Reader) Uint8() uint8 {
	if r.err != nil || r.off >= len(r.b) {
		r.short(1)
		return 0
	}
	v := r.b[r.off]
	r.off++
	return v
}

// Int8 reads one signed byte.
func (r *Reader) Int8() int8 { return int8(r.Uint8()) }

// Bool reads one byte; any value but 0 is true.
func (r *Reader) Bool() bool { return r.Uint8() != 0 }

// Uint16 reads two bytes.
func (r *Reader) Uint16() uint16 {
	if r.err != nil || len(r.b)-r.off < 2 {
		r.short(2)
		return 0
	}
	v := binary.BigEndian.Uint16(r.b[r.off:])
	r.off += 2
	return v
}

// Int16 reads a signed 16-bit integer.
func (r *Reader) Int16() int16 { return int16(r.Uint16()) }

// Int32 reads a signed 32-bit integer.
func (r *Reader) Int32() int32 {
	if r.err != nil || len(r.b)-r.off < 4 {
		r.short(4)
		return 0
	}
	v := binary.BigEndian.Uint32(r.b[r.off:])
	r.off += 4
	return int32(v)
}

// Int64 reads a signed 64-bit integer.
func (r *Reader) Int64() int64 {
	if r.err != nil || len(r.b)-r.off < 8 {
		r.short(8)
		return 0
	}
	v := binary.BigEndian.Uint64(r.b[r.off:])
	r.off += 8
	return int64(v)
}

// Float32 reads a float.
func (r *Reader) Float32() float32 { return math.Float32frombits(uint32(r.Int32())) }

// Float64 reads a double.
func (r *Reader) Float64() float64 { return math.Float64frombits(uint64(r.Int64())) }

// Block reads an i32 byte length and returns a view of that many bytes.
func (r *Reader) Block() []byte { return r.Bytes(int(r.Int32())) }

// Count reads an i32 number of items, each of which takes at least size bytes
// (size ≥ 1), and fails if the bytes left cannot hold them.
func (r *Reader) Count(size int) int {
	n := int(r.Int32())
	if r.err == nil && (n < 0 || n > (len(r.b)-r.off)/size) {
		r.Fail(fmt.Sprintf("count %d does not fit in the %d bytes left", n, len(r.b)-r.off))
	}
	if r.err != nil {
		return 0
	}
	return n
}

// NBool reads a nullable bool.
func (r *Reader) NBool() Null[bool] {
	if !r.Bool() {
		return Null[bool]{}
	}
	return Of(r.Bool())
}

// NInt reads a nullable 32-bit integer.
func (r *Reader) NInt() Null[int32] {
	if !r.Bool() {
		return Null[int32]{}
	}
	return Of(r.Int32())
}

// NLong reads a nullable 64-bit integer.
func (r *Reader) NLong() Null[int64] {
	if !r.Bool() {
		return Null[int64]{}
	}
	return Of(r.Int64())
}
