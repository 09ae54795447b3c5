package buf

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Type is the type byte of a property value.
type Type uint8

// Property types and how their values are encoded. Type 1 is not assigned.
const (
	TypeNull   Type = 0  // nothing
	TypeBool   Type = 2  // 00 or 01
	TypeByte   Type = 3  // i8
	TypeBytes  Type = 4  // block
	TypeShort  Type = 5  // i16
	TypeInt    Type = 6  // i32
	TypeLong   Type = 7  // i64
	TypeFloat  Type = 8  // i32 bits
	TypeDouble Type = 9  // i64 bits
	TypeString Type = 10 // SS
	TypeChar   Type = 11 // i16
)

// typeSizes holds the size of a value in bytes: -1 for a block, -2 for no type.
var typeSizes = [12]int8{0, -2, 1, 1, -1, 2, 4, 8, 4, 8, -1, 2}

// propertyMin is the least a property takes: empty key, null value.
const propertyMin = 4 + 1

// Value is a view of a property value. It is valid as long as the bytes it was
// read from. The zero Value is null.
type Value struct {
	Type Type
	raw  []byte // without the length of a block
}

// Raw returns the bytes of the value, of bytes and strings without the length.
func (v Value) Raw() []byte { return v.raw }

// Bool returns the value of a boolean, false for any other type.
func (v Value) Bool() bool { return v.Type == TypeBool && v.raw[0] != 0 }

// Int64 returns the value of a byte, short, int or long.
func (v Value) Int64() (n int64, ok bool) {
	switch v.Type {
	case TypeByte:
		return int64(int8(v.raw[0])), true
	case TypeShort:
		return int64(int16(binary.BigEndian.Uint16(v.raw))), true
	case TypeInt:
		return int64(int32(binary.BigEndian.Uint32(v.raw))), true
	case TypeLong:
		return int64(binary.BigEndian.Uint64(v.raw)), true
	}
	return 0, false
}

// Float64 returns the value of a float or double.
func (v Value) Float64() (f float64, ok bool) {
	switch v.Type {
	case TypeFloat:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(v.raw))), true
	case TypeDouble:
		return math.Float64frombits(binary.BigEndian.Uint64(v.raw)), true
	}
	return 0, false
}

// Char returns the UTF-16 unit of a char.
func (v Value) Char() (u uint16, ok bool) {
	if v.Type != TypeChar {
		return 0, false
	}
	return binary.BigEndian.Uint16(v.raw), true
}

// Bytes returns a view of a byte array, nil for any other type.
func (v Value) Bytes() []byte {
	if v.Type != TypeBytes {
		return nil
	}
	return v.raw
}

// SSBytes returns a view of the UTF-16LE units of a string, nil for any other type.
func (v Value) SSBytes() []byte {
	if v.Type != TypeString {
		return nil
	}
	return v.raw
}

// Text returns the value of a string.
func (v Value) Text() (s string, ok bool) {
	if v.Type != TypeString {
		return "", false
	}
	return StringFromSS(v.raw), true
}

// Any returns the value as nil, bool, int8, []byte (a copy), int16, int32,
// int64, float32, float64, string, or uint16 for a char.
func (v Value) Any() any {
	switch v.Type {
	case TypeBool:
		return v.Bool()
	case TypeByte:
		return int8(v.raw[0])
	case TypeBytes:
		return append([]byte{}, v.raw...)
	case TypeShort:
		return int16(binary.BigEndian.Uint16(v.raw))
	case TypeInt:
		return int32(binary.BigEndian.Uint32(v.raw))
	case TypeLong:
		return int64(binary.BigEndian.Uint64(v.raw))
	case TypeFloat:
		return math.Float32frombits(binary.BigEndian.Uint32(v.raw))
	case TypeDouble:
		return math.Float64frombits(binary.BigEndian.Uint64(v.raw))
	case TypeString:
		return StringFromSS(v.raw)
	case TypeChar:
		return binary.BigEndian.Uint16(v.raw)
	}
	return nil
}

// Value reads a type byte and the value. The raw bytes of the item are a view.
func (r *Reader) Value() Value {
	t := Type(r.Uint8())
	if r.err != nil {
		return Value{}
	}
	size := int8(-2)
	if int(t) < len(typeSizes) {
		size = typeSizes[t]
	}
	var raw []byte
	switch {
	case size >= 0:
		raw = r.Bytes(int(size))
	case size == -2:
		r.Fail(fmt.Sprintf("property type %d", t))
	case t == TypeString:
		raw = r.SSBytes()
	default:
		raw = r.Block()
	}
	if r.err != nil {
		return Value{}
	}
	return Value{Type: t, raw: raw}
}

// Props is a view of typed properties and at the same time an iterator: Next
// moves it, a copy taken before starts over. Find and Len look at what Next
// has not passed. It does not allocate. Props come only from Reader.Props,
// which has checked every entry. The zero value is empty.
type Props struct {
	entries []byte
	n       int
}

// Props reads typed properties, checking all of them.
func (r *Reader) Props() Props {
	if !r.Bool() {
		return Props{}
	}
	n := r.Count(propertyMin)
	start := r.off
	for range n {
		r.SSBytes()
		r.Value()
		if r.err != nil {
			return Props{}
		}
	}
	return Props{entries: r.b[start:r.off:r.off], n: n}
}

// Len returns the number of properties.
func (p Props) Len() int { return p.n }

// Entries returns the encoded properties, without the leading 01 and count.
func (p Props) Entries() []byte { return p.entries }

// Next returns the next property; key is a view of its UTF-16LE units.
// ok is false at the end.
func (p *Props) Next() (key []byte, v Value, ok bool) {
	if p.n == 0 {
		return nil, Value{}, false
	}
	r := Reader{b: p.entries}
	key = r.SSBytes()
	v = r.Value()
	p.entries = p.entries[r.off:]
	p.n--
	return key, v, true
}

// Find returns the value of the property key. Its cost is linear in the size
// of the properties.
func (p Props) Find(key string) (v Value, ok bool) {
	for {
		k, v, ok := p.Next()
		if !ok {
			return Value{}, false
		}
		if EqualSS(k, key) {
			return v, true
		}
	}
}

// Append appends the properties as a PROPS block.
func (p Props) Append(dst []byte) []byte {
	return append(AppendPropsHeader(dst, p.n), p.entries...)
}

// AppendPropsHeader begins a PROPS block of n properties, which the caller
// appends after it with AppendProp and its kin.
func AppendPropsHeader(dst []byte, n int) []byte {
	if n == 0 {
		return append(dst, 0)
	}
	return AppendInt32(append(dst, 1), int32(n))
}

// AppendProp appends one property with a value read elsewhere; key is in UTF-16LE units.
func AppendProp(dst, key []byte, v Value) []byte { return AppendValue(AppendBlock(dst, key), v) }

// AppendValue appends the type byte and the value.
func AppendValue(dst []byte, v Value) []byte {
	dst = append(dst, byte(v.Type))
	if v.Type == TypeString || v.Type == TypeBytes {
		return AppendBlock(dst, v.raw)
	}
	return append(dst, v.raw...)
}

// AppendPropNull appends a null property.
func AppendPropNull(dst []byte, key string) []byte {
	return append(AppendSS(dst, key), byte(TypeNull))
}

// AppendPropBool appends a boolean property.
func AppendPropBool(dst []byte, key string, v bool) []byte {
	return AppendBool01(append(AppendSS(dst, key), byte(TypeBool)), v)
}

// AppendPropByte appends a byte property.
func AppendPropByte(dst []byte, key string, v int8) []byte {
	return append(AppendSS(dst, key), byte(TypeByte), byte(v))
}

// AppendPropBytes appends a byte array property.
func AppendPropBytes(dst []byte, key string, v []byte) []byte {
	return AppendBlock(append(AppendSS(dst, key), byte(TypeBytes)), v)
}

// AppendPropShort appends a short property.
func AppendPropShort(dst []byte, key string, v int16) []byte {
	return AppendInt16(append(AppendSS(dst, key), byte(TypeShort)), v)
}

// AppendPropInt appends an int property.
func AppendPropInt(dst []byte, key string, v int32) []byte {
	return AppendInt32(append(AppendSS(dst, key), byte(TypeInt)), v)
}

// AppendPropLong appends a long property.
func AppendPropLong(dst []byte, key string, v int64) []byte {
	return AppendInt64(append(AppendSS(dst, key), byte(TypeLong)), v)
}

// AppendPropFloat appends a float property.
func AppendPropFloat(dst []byte, key string, v float32) []byte {
	return AppendFloat32(append(AppendSS(dst, key), byte(TypeFloat)), v)
}

// AppendPropDouble appends a double property.
func AppendPropDouble(dst []byte, key string, v float64) []byte {
	return AppendFloat64(append(AppendSS(dst, key), byte(TypeDouble)), v)
}

// AppendPropString appends a string property.
func AppendPropString(dst []byte, key, v string) []byte {
	return AppendSS(append(AppendSS(dst, key), byte(TypeString)), v)
}

// AppendPropChar appends a char property, one UTF-16 unit.
func AppendPropChar(dst []byte, key string, v uint16) []byte {
	return AppendInt16(append(AppendSS(dst, key), byte(TypeChar)), int16(v))
}
