package filter

import (
	"math"
	"strconv"
	"unsafe"
)

// Kind is the type of a [Value]. The numeric kinds are in the order in which they widen.
type Kind uint8

const (
	KindNull Kind = iota
	KindBool
	KindByte
	KindShort
	KindInt
	KindLong
	KindFloat
	KindDouble
	KindBig // an integer literal beyond 64 bits: decimal digits with a leading "-" when negative
	KindChar
	KindString
	KindBytes

	kindError // an evaluation failed: the whole filter does not match
)

// Value is the value of a property or of a part of a filter: a tagged union that needs no allocation. The zero
// Value is null.
type Value struct {
	kind Kind
	num  uint64 // bits of the number, 1 for true
	str  string
}

// Null is the value of a missing property, and the logical unknown.
var Null Value

var failed = Value{kind: kindError}

func Bool(b bool) Value {
	if b {
		return Value{kind: KindBool, num: 1}
	}
	return Value{kind: KindBool}
}

func Byte(n int8) Value          { return Value{kind: KindByte, num: uint64(n)} }
func Short(n int16) Value        { return Value{kind: KindShort, num: uint64(n)} }
func Int(n int32) Value          { return Value{kind: KindInt, num: uint64(n)} }
func Long(n int64) Value         { return Value{kind: KindLong, num: uint64(n)} }
func Float(n float32) Value      { return Value{kind: KindFloat, num: uint64(math.Float32bits(n))} }
func Double(n float64) Value     { return Value{kind: KindDouble, num: math.Float64bits(n)} }
func Char(utf16 uint16) Value    { return Value{kind: KindChar, num: uint64(utf16)} }
func String(s string) Value      { return Value{kind: KindString, str: s} }
func bigInt(digits string) Value { return Value{kind: KindBig, str: digits} }

// StringBytes is [String] of UTF-8 bytes that are not copied: the caller keeps them unchanged while the value lives.
func StringBytes(b []byte) Value {
	return Value{kind: KindString, str: unsafe.String(unsafe.SliceData(b), len(b))}
}

// Bytes is the value of a byte array property. The bytes are not copied: the caller keeps them unchanged while the
// value lives.
func Bytes(b []byte) Value {
	return Value{kind: KindBytes, str: unsafe.String(unsafe.SliceData(b), len(b))}
}

// Kind is the value's type.
func (v Value) Kind() Kind { return v.kind }

// IsNull says whether there is no value.
func (v Value) IsNull() bool { return v.kind == KindNull }

// String is the value as Java's string concatenation would print it; for logs and tests.
func (v Value) String() string {
	switch v.kind {
	case KindNull:
		return "null"
	case KindBool:
		return strconv.FormatBool(v.num != 0)
	case KindByte, KindShort, KindInt, KindLong:
		return strconv.FormatInt(int64(v.num), 10)
	case KindFloat:
		return javaFloatText(float64(math.Float32frombits(uint32(v.num))), 32)
	case KindDouble:
		return javaFloatText(math.Float64frombits(v.num), 64)
	case KindChar:
		return string(rune(v.num))
	case KindBig, KindString:
		return v.str
	case KindBytes:
		return "[B"
	default:
		return "error"
	}
}

func (v Value) numeric() bool { return v.kind >= KindByte && v.kind <= KindBig }

// long is the value of an integer kind, or the low 64 bits of a big one.
func (v Value) long() int64 {
	if v.kind == KindBig {
		return bigLow64(v.str)
	}
	return int64(v.num)
}

// double is the value of any numeric kind.
func (v Value) double() float64 {
	switch v.kind {
	case KindFloat:
		return float64(math.Float32frombits(uint32(v.num)))
	case KindDouble:
		return math.Float64frombits(v.num)
	case KindBig:
		return bigFloat(v.str)
	default:
		return float64(int64(v.num))
	}
}

// float is the value of any numeric kind but double and big, narrowed as Java does: a long straight to a float.
func (v Value) float() float32 {
	if v.kind == KindFloat {
		return math.Float32frombits(uint32(v.num))
	}
	return float32(int64(v.num))
}
