package buf

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// Limits of the three forms of STR, in UTF-16 units.
const (
	strShortMax = 9      // below: big-endian units
	strUTFMax   = 0x0fff // below: UTF; from here on: SS
)

// UTF reads a string in modified UTF-8. Four-byte sequences are malformed.
func (r *Reader) UTF() string {
	s, _ := r.utf()
	return s
}

func (r *Reader) utf() (s string, units int) {
	raw := r.Bytes(int(r.Uint16()))
	var stack [256]byte
	text, units, ok := appendModifiedUTF8(stack[:0], raw)
	if !ok {
		r.Fail("modified UTF-8")
		return "", 0
	}
	return string(text), units
}

// appendModifiedUTF8 appends the text of modified UTF-8 and counts its UTF-16
// units. Overlong forms are taken, as Java takes them.
func appendModifiedUTF8(dst, raw []byte) (text []byte, units int, ok bool) {
	var high uint16 // a high surrogate that waits for its low one
	for i := 0; i < len(raw); units++ {
		var u uint16
		switch c := raw[i]; {
		case c < 0x80:
			u = uint16(c)
			i++
		case c&0xe0 == 0xc0:
			if i+1 >= len(raw) || raw[i+1]&0xc0 != 0x80 {
				return nil, 0, false
			}
			u = uint16(c&0x1f)<<6 | uint16(raw[i+1]&0x3f)
			i += 2
		case c&0xf0 == 0xe0:
			if i+2 >= len(raw) || raw[i+1]&0xc0 != 0x80 || raw[i+2]&0xc0 != 0x80 {
				return nil, 0, false
			}
			u = uint16(c&0x0f)<<12 | uint16(raw[i+1]&0x3f)<<6 | uint16(raw[i+2]&0x3f)
			i += 3
		default:
			return nil, 0, false
		}
		if high != 0 {
			if isLow(u) {
				dst = utf8.AppendRune(dst, joined(high, u))
				high = 0
				continue
			}
			dst = appendUnit(dst, high)
			high = 0
		}
		if isHigh(u) {
			high = u
			continue
		}
		dst = appendUnit(dst, u)
	}
	if high != 0 {
		dst = appendUnit(dst, high)
	}
	return dst, units, true
}

// AppendUTF appends s in modified UTF-8. It fails, and appends nothing, when
// that takes more than 65535 bytes.
func AppendUTF(dst []byte, s string) ([]byte, error) {
	at := len(dst)
	dst = appendUTF(dst, s)
	if n := len(dst) - at - 2; n > math.MaxUint16 {
		return dst[:at], fmt.Errorf("string takes %d bytes of modified UTF-8, at most %d fit", n, math.MaxUint16)
	}
	return dst, nil
}

func appendUTF(dst []byte, s string) []byte {
	at := len(dst)
	dst = append(dst, 0, 0)
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			dst = append(dst, c)
			i++
			continue
		}
		r, size := decodeRune(s[i:])
		i += size
		if hi, lo, pair := surrogates(r); pair {
			dst = appendUnit(appendUnit(dst, hi), lo)
		} else {
			dst = appendUnit(dst, uint16(r))
		}
	}
	binary.BigEndian.PutUint16(dst[at:], uint16(len(dst)-at-2))
	return dst
}

// STR reads a string in the form its length calls for.
func (r *Reader) STR() string {
	n := int(r.Int32())
	switch {
	case r.err != nil:
		return ""
	case n < 0:
		r.Fail("negative string length")
		return ""
	case n < strShortMax:
		return r.shortSTR(n)
	case n < strUTFMax:
		s, units := r.utf()
		if r.err == nil && units != n {
			r.Fail("string length differs from its text")
			return ""
		}
		return s
	default:
		raw := r.SSBytes()
		if r.err == nil && len(raw) != 2*n {
			r.Fail("string length differs from its text")
			return ""
		}
		return StringFromSS(raw)
	}
}

func (r *Reader) shortSTR(n int) string {
	raw := r.Bytes(2 * n)
	var le [2 * strShortMax]byte
	for i := 0; i+1 < len(raw); i += 2 {
		le[i], le[i+1] = raw[i+1], raw[i]
	}
	return StringFromSS(le[:len(raw)])
}

// NSTR reads a nullable STR.
func (r *Reader) NSTR() Null[string] {
	if !r.Bool() {
		return Null[string]{}
	}
	return Of(r.STR())
}

// AppendSTR appends s in the form its length calls for.
func AppendSTR(dst []byte, s string) []byte {
	n := Units(s)
	dst = AppendInt32(dst, int32(n))
	switch {
	case n < strShortMax:
		at := len(dst)
		dst = AppendSSUnits(dst, s)
		for i := at; i+1 < len(dst); i += 2 {
			dst[i], dst[i+1] = dst[i+1], dst[i]
		}
		return dst
	case n < strUTFMax: // at most 3 bytes a unit: always fits
		return appendUTF(dst, s)
	default:
		return AppendSS(dst, s)
	}
}

// AppendNSTR appends a nullable STR.
func AppendNSTR(dst []byte, s Null[string]) []byte {
	if !s.Valid {
		return append(dst, 0)
	}
	return AppendSTR(append(dst, 1), s.V)
}
