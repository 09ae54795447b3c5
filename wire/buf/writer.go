package buf

import (
	"encoding/binary"
	"math"
)

// AppendInt8 appends one signed byte.
func AppendInt8(dst []byte, v int8) []byte { return append(dst, byte(v)) }

// AppendInt16 appends a signed 16-bit integer.
func AppendInt16(dst []byte, v int16) []byte { return binary.BigEndian.AppendUint16(dst, uint16(v)) }

// AppendInt32 appends a signed 32-bit integer.
func AppendInt32(dst []byte, v int32) []byte { return binary.BigEndian.AppendUint32(dst, uint32(v)) }

// AppendInt64 appends a signed 64-bit integer.
func AppendInt64(dst []byte, v int64) []byte { return binary.BigEndian.AppendUint64(dst, uint64(v)) }

// AppendFloat32 appends a float.
func AppendFloat32(dst []byte, v float32) []byte {
	return binary.BigEndian.AppendUint32(dst, math.Float32bits(v))
}

// AppendFloat64 appends a double.
func AppendFloat64(dst []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(v))
}

// AppendBool appends a bool as packets have it: ff for true.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 0xff)
	}
	return append(dst, 0)
}

// AppendBool01 appends a bool as message headers and typed properties have it:
// 01 for true.
func AppendBool01(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// AppendBlock appends an i32 byte length and the bytes.
func AppendBlock(dst, v []byte) []byte { return append(AppendInt32(dst, int32(len(v))), v...) }

// AppendNBool appends a nullable bool as packets have it: ff before a value.
func AppendNBool(dst []byte, v Null[bool]) []byte {
	if !v.Valid {
		return append(dst, 0)
	}
	return AppendBool(append(dst, 0xff), v.V)
}

// AppendNInt appends a nullable 32-bit integer as packets have it: ff before a value.
func AppendNInt(dst []byte, v Null[int32]) []byte {
	if !v.Valid {
		return append(dst, 0)
	}
	return AppendInt32(append(dst, 0xff), v.V)
}

// AppendNLong appends a nullable 64-bit integer as packets have it: ff before a value.
func AppendNLong(dst []byte, v Null[int64]) []byte {
	if !v.Valid {
		return append(dst, 0)
	}
	return AppendInt64(append(dst, 0xff), v.V)
}

// AppendNBool01 appends a nullable bool as records and federation policies
// have it: 01 before a value, which is ff when true all the same.
func AppendNBool01(dst []byte, v Null[bool]) []byte {
	if !v.Valid {
		return append(dst, 0)
	}
	return AppendBool(append(dst, 1), v.V)
}

// AppendNInt01 appends a nullable 32-bit integer with 01 before a value.
func AppendNInt01(dst []byte, v Null[int32]) []byte {
	if !v.Valid {
		return append(dst, 0)
	}
	return AppendInt32(append(dst, 1), v.V)
}

// AppendNLong01 appends a nullable 64-bit integer with 01 before a value.
func AppendNLong01(dst []byte, v Null[int64]) []byte {
	if !v.Valid {
		return append(dst, 0)
	}
	return AppendInt64(append(dst, 1), v.V)
}
