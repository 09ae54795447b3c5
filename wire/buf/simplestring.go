package buf

import (
	"encoding/binary"
	"unicode/utf8"
)

// SSBytes returns a view of the UTF-16LE units of a SimpleString, without
// its length; nil on error, empty and not nil for an empty string.
func (r *Reader) SSBytes() []byte {
	n := int(r.Int32())
	if n&1 != 0 {
		r.Fail("odd SimpleString length")
		return nil
	}
	return r.Bytes(n)
}

// NSSBytes is SSBytes of a nullable SimpleString; nil when it is null.
func (r *Reader) NSSBytes() []byte {
	if !r.Bool() {
		return nil
	}
	return r.SSBytes()
}

// SS reads a SimpleString.
func (r *Reader) SS() string { return StringFromSS(r.SSBytes()) }

// NSS reads a nullable SimpleString.
func (r *Reader) NSS() Null[string] {
	if !r.Bool() {
		return Null[string]{}
	}
	return Of(r.SS())
}

// AppendSS appends s as a SimpleString.
func AppendSS(dst []byte, s string) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = AppendSSUnits(dst, s)
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// AppendNSS appends a nullable SimpleString.
func AppendNSS(dst []byte, s Null[string]) []byte {
	if !s.Valid {
		return append(dst, 0)
	}
	return AppendSS(append(dst, 1), s.V)
}

// AppendNSSBytes appends a nullable SimpleString given as its UTF-16LE units;
// nil is null.
func AppendNSSBytes(dst, raw []byte) []byte {
	if raw == nil {
		return append(dst, 0)
	}
	return AppendBlock(append(dst, 1), raw)
}

// AppendSSUnits appends the UTF-16LE units of s without a length.
func AppendSSUnits(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			dst = append(dst, c, 0)
			i++
			continue
		}
		r, size := decodeRune(s[i:])
		i += size
		if hi, lo, pair := surrogates(r); pair {
			dst = append(dst, byte(hi), byte(hi>>8), byte(lo), byte(lo>>8))
		} else {
			dst = append(dst, byte(r), byte(r>>8))
		}
	}
	return dst
}

// StringFromSS converts UTF-16LE units to a string: one allocation up to 256 bytes.
func StringFromSS(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	var stack [256]byte
	dst := stack[:0]
	if len(raw) > 2*len(stack) {
		dst = make([]byte, 0, len(raw)/2+len(raw)/8)
	}
	return string(AppendUTF8FromSS(dst, raw))
}

// AppendUTF8FromSS appends the text of UTF-16LE units. An odd last byte is ignored.
func AppendUTF8FromSS(dst, raw []byte) []byte {
	for i := 0; i+1 < len(raw); i += 2 {
		u := uint16(raw[i]) | uint16(raw[i+1])<<8
		if u < utf8.RuneSelf {
			dst = append(dst, byte(u))
			continue
		}
		if isHigh(u) && i+3 < len(raw) {
			if lo := uint16(raw[i+2]) | uint16(raw[i+3])<<8; isLow(lo) {
				dst = utf8.AppendRune(dst, joined(u, lo))
				i += 2
				continue
			}
		}
		dst = appendUnit(dst, u)
	}
	return dst
}

// EqualSS reports whether the UTF-16LE units of a SimpleString spell s.
func EqualSS(raw []byte, s string) bool {
	if len(raw) > 2*len(s) { // a unit takes at least one byte of UTF-8
		return false
	}
	j := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if j+2 > len(raw) || raw[j] != c || raw[j+1] != 0 {
				return false
			}
			i++
			j += 2
			continue
		}
		r, size := decodeRune(s[i:])
		i += size
		hi, lo, pair := surrogates(r)
		if !pair {
			hi = uint16(r)
		}
		if j+2 > len(raw) || binary.LittleEndian.Uint16(raw[j:]) != hi {
			return false
		}
		j += 2
		if pair {
			if j+2 > len(raw) || binary.LittleEndian.Uint16(raw[j:]) != lo {
				return false
			}
			j += 2
		}
	}
	return j == len(raw)
}
