package message

import (
	"encoding/binary"
	"math"

	"github.com/saranga-mq/saranga/wire/buf"
)

// AMQP type constructors that this package reads or writes (AMQP 1.0 part 1, 1.6).
const (
	amqpDescribed  = 0x00
	amqpNull       = 0x40
	amqpTrue       = 0x41
	amqpFalse      = 0x42
	amqpUint0      = 0x43
	amqpUlong0     = 0x44
	amqpList0      = 0x45
	amqpUbyte      = 0x50
	amqpByte       = 0x51
	amqpSmallUint  = 0x52
	amqpSmallUlong = 0x53
	amqpSmallInt   = 0x54
	amqpSmallLong  = 0x55
	amqpBoolean    = 0x56
	amqpUshort     = 0x60
	amqpShort      = 0x61
	amqpUint       = 0x70
	amqpInt        = 0x71
	amqpFloat      = 0x72
	amqpChar       = 0x73
	amqpUlong      = 0x80
	amqpLong       = 0x81
	amqpDouble     = 0x82
	amqpTimestamp  = 0x83
	amqpUUID       = 0x98
	amqpBinary8    = 0xa0
	amqpString8    = 0xa1
	amqpSymbol8    = 0xa3
	amqpBinary32   = 0xb0
	amqpString32   = 0xb1
	amqpSymbol32   = 0xb3
	amqpList8      = 0xc0
	amqpMap8       = 0xc1
	amqpList32     = 0xd0
	amqpMap32      = 0xd1
)

// amqpDepth bounds how deep descriptors may be described. What is inside a list, map or array is not looked at before it
// is asked for, so that nothing else nests.
const amqpDepth = 8

// An amqpValue is one encoded value with its constructor, whose size has been checked: a view. Nil is an absent one.
type amqpValue []byte

// amqpSize returns the size of the value that b begins with, -1 when there is none.
func amqpSize(b []byte, depth int) int {
	if len(b) == 0 {
		return -1
	}
	if b[0] == amqpDescribed {
		if depth == 0 {
			return -1
		}
		descriptor := amqpSize(b[1:], depth-1)
		if descriptor < 0 {
			return -1
		}
		value := amqpSize(b[1+descriptor:], depth-1)
		if value < 0 {
			return -1
		}
		return 1 + descriptor + value
	}
	var width int // of a fixed value, or of the size in front of a variable one
	switch b[0] >> 4 {
	case 0x4:
		width = 0
	case 0x5, 0xa, 0xc, 0xe:
		width = 1
	case 0x6:
		width = 2
	case 0x7, 0xb, 0xd, 0xf:
		width = 4
	case 0x8:
		width = 8
	case 0x9:
		width = 16
	default:
		return -1
	}
	if len(b) < 1+width {
		return -1
	}
	if b[0] < 0xa0 {
		return 1 + width
	}
	n := uint64(b[1])
	if width == 4 {
		n = uint64(binary.BigEndian.Uint32(b[1:]))
	}
	if n > uint64(len(b)-1-width) || b[0] >= 0xc0 && n < uint64(width) { // a count is as wide as the size
		return -1
	}
	return 1 + width + int(n)
}

// nextAMQP cuts the first value off b; ok is false when there is none.
func nextAMQP(b []byte) (v amqpValue, rest []byte, ok bool) {
	n := amqpSize(b, amqpDepth)
	if n < 0 {
		return nil, nil, false
	}
	return amqpValue(b[:n:n]), b[n:], true
}

func (v amqpValue) code() byte {
	if len(v) == 0 {
		return amqpNull
	}
	return v[0]
}

func (v amqpValue) isNull() bool { return v.code() == amqpNull }

// described splits a described value.
func (v amqpValue) described() (descriptor, value amqpValue, ok bool) {
	if v.code() != amqpDescribed {
		return nil, nil, false
	}
	descriptor, rest, ok := nextAMQP(v[1:])
	if !ok {
		return nil, nil, false
	}
	value, _, ok = nextAMQP(rest)
	return descriptor, value, ok
}

func (v amqpValue) bool() (b, ok bool) {
	switch v.code() {
	case amqpTrue:
		return true, true
	case amqpFalse:
		return false, true
	case amqpBoolean:
		return v[1] != 0, true
	}
	return false, false
}

// int64 is the value of an integer type; a ulong above the range of int64 wraps.
func (v amqpValue) int64() (n int64, ok bool) {
	switch v.code() {
	case amqpUint0, amqpUlong0:
		return 0, true
	case amqpUbyte, amqpSmallUint, amqpSmallUlong:
		return int64(v[1]), true
	case amqpByte, amqpSmallInt, amqpSmallLong:
		return int64(int8(v[1])), true
	case amqpUshort:
		return int64(binary.BigEndian.Uint16(v[1:])), true
	case amqpShort:
		return int64(int16(binary.BigEndian.Uint16(v[1:]))), true
	case amqpUint:
		return int64(binary.BigEndian.Uint32(v[1:])), true
	case amqpInt:
		return int64(int32(binary.BigEndian.Uint32(v[1:]))), true
	case amqpUlong, amqpLong:
		return int64(binary.BigEndian.Uint64(v[1:])), true
	}
	return 0, false
}

// number is int64 that takes fractions too, cut off.
func (v amqpValue) number() (n int64, ok bool) {
	switch v.code() {
	case amqpFloat:
		return int64(math.Float32frombits(binary.BigEndian.Uint32(v[1:]))), true
	case amqpDouble:
		return int64(math.Float64frombits(binary.BigEndian.Uint64(v[1:]))), true
	}
	return v.int64()
}

// timestamp is the value of a timestamp in ms since the epoch.
func (v amqpValue) timestamp() (ms int64, ok bool) {
	if v.code() != amqpTimestamp {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(v[1:])), true
}

// text is the UTF-8 of a string or symbol.
func (v amqpValue) text() (utf8 []byte, ok bool) {
	switch v.code() {
	case amqpString8, amqpSymbol8:
		return v[2:], true
	case amqpString32, amqpSymbol32:
		return v[5:], true
	}
	return nil, false
}

func (v amqpValue) binary() (b []byte, ok bool) {
	switch v.code() {
	case amqpBinary8:
		return v[2:], true
	case amqpBinary32:
		return v[5:], true
	}
	return nil, false
}

// items returns the encoded items of a list, or keys and values of a map, and their number. Nothing is promised about
// them: nextAMQP may find fewer.
func (v amqpValue) items() (items []byte, n uint32) {
	switch v.code() {
	case amqpList8, amqpMap8:
		return v[3:], uint32(v[2])
	case amqpList32, amqpMap32:
		return v[9:], binary.BigEndian.Uint32(v[5:])
	}
	return nil, 0
}

func (v amqpValue) isList() bool {
	return v.code() == amqpList0 || v.code() == amqpList8 || v.code() == amqpList32
}

func (v amqpValue) isMap() bool { return v.code() == amqpMap8 || v.code() == amqpMap32 }

// field returns item i of a list, nil when there are fewer.
func (v amqpValue) field(i int) amqpValue {
	items, n := v.items()
	for ; n > 0; n-- {
		item, rest, ok := nextAMQP(items)
		if !ok {
			return nil
		}
		if i == 0 {
			return item
		}
		items, i = rest, i-1
	}
	return nil
}

// entries calls yield with the keys and values of a map, as far as they are well-formed.
func (v amqpValue) entries(yield func(key, value amqpValue) bool) {
	items, n := v.items()
	for ; n >= 2; n -= 2 {
		key, rest, ok := nextAMQP(items)
		if !ok {
			return
		}
		value, rest, ok := nextAMQP(rest)
		if !ok || !yield(key, value) {
			return
		}
		items = rest
	}
}

// lookup returns the value of a string or symbol key of a map.
func (v amqpValue) lookup(name string) (value amqpValue, found bool) {
	for k, item := range v.entries {
		if text, ok := k.text(); ok && string(text) == name {
			return item, true
		}
	}
	return nil, false
}

// core is the value as filters see it: of the Core type that takes it, unsigned numbers as long. False for what has no
// such type: timestamp, uuid, decimals, lists, maps, arrays, described values and characters outside of the BMP.
func (v amqpValue) core() (buf.Value, bool) {
	var b []byte
	switch code := v.code(); code {
	case amqpNull:
		return buf.Value{}, true
	case amqpTrue, amqpFalse, amqpBoolean:
		t, _ := v.bool()
		b = buf.AppendBool01([]byte{byte(buf.TypeBool)}, t)
	case amqpByte:
		b = []byte{byte(buf.TypeByte), v[1]}
	case amqpShort:
		b = append([]byte{byte(buf.TypeShort)}, v[1:]...)
	case amqpInt, amqpSmallInt:
		n, _ := v.int64()
		b = buf.AppendInt32([]byte{byte(buf.TypeInt)}, int32(n))
	case amqpFloat:
		b = append([]byte{byte(buf.TypeFloat)}, v[1:]...)
	case amqpDouble:
		b = append([]byte{byte(buf.TypeDouble)}, v[1:]...)
	case amqpChar:
		c := binary.BigEndian.Uint32(v[1:])
		if c > math.MaxUint16 {
			return buf.Value{}, false
		}
		b = buf.AppendInt16([]byte{byte(buf.TypeChar)}, int16(c))
	case amqpBinary8, amqpBinary32:
		data, _ := v.binary()
		b = buf.AppendBlock([]byte{byte(buf.TypeBytes)}, data)
	case amqpString8, amqpString32, amqpSymbol8, amqpSymbol32:
		text, _ := v.text()
		return stringValue(string(text)), true
	default:
		n, ok := v.int64()
		if !ok {
			return buf.Value{}, false
		}
		b = buf.AppendInt64([]byte{byte(buf.TypeLong)}, n)
	}
	r := buf.NewReader(b)
	return r.Value(), true
}

func stringValue(s string) buf.Value {
	r := buf.NewReader(buf.AppendSS([]byte{byte(buf.TypeString)}, s))
	return r.Value()
}

// appendAMQPValue appends a Core value in AMQP encoding.
func appendAMQPValue(dst []byte, v buf.Value) []byte {
	raw := v.Raw()
	switch v.Type {
	case buf.TypeBool:
		if v.Bool() {
			return append(dst, amqpTrue)
		}
		return append(dst, amqpFalse)
	case buf.TypeByte:
		return append(dst, amqpByte, raw[0])
	case buf.TypeBytes:
		return append(appendVariable(dst, amqpBinary8, len(raw)), raw...)
	case buf.TypeShort:
		return append(append(dst, amqpShort), raw...)
	case buf.TypeInt:
		return append(append(dst, amqpInt), raw...)
	case buf.TypeLong:
		return append(append(dst, amqpLong), raw...)
	case buf.TypeFloat:
		return append(append(dst, amqpFloat), raw...)
	case buf.TypeDouble:
		return append(append(dst, amqpDouble), raw...)
	case buf.TypeString:
		return appendAMQPText(dst, amqpString8, buf.StringFromSS(raw))
	case buf.TypeChar:
		return append(append(dst, amqpChar, 0, 0), raw...)
	}
	return append(dst, amqpNull)
}

// appendAMQPText appends a string or symbol, given its constructor with a size of one byte.
func appendAMQPText(dst []byte, code byte, s string) []byte {
	return append(appendVariable(dst, code, len(s)), s...)
}

// appendVariable appends the constructor and size of a variable-width value of n bytes. code is the constructor with a
// size of one byte; the one with four bytes is 0x10 above it.
func appendVariable(dst []byte, code byte, n int) []byte {
	if n <= math.MaxUint8 {
		return append(dst, code, byte(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, code+0x10), uint32(n))
}

// appendCompound appends a list or map of n items, given its constructor with sizes of one byte.
func appendCompound(dst []byte, code byte, n int, items []byte) []byte {
	if len(items) < math.MaxUint8 && n <= math.MaxUint8 {
		dst = append(dst, code, byte(1+len(items)), byte(n))
	} else {
		dst = binary.BigEndian.AppendUint32(append(dst, code+0x10), uint32(4+len(items)))
		dst = binary.BigEndian.AppendUint32(dst, uint32(n))
	}
	return append(dst, items...)
}
