package buf

import "unicode/utf8"

const (
	surrogateMin  = 0xd800
	lowSurrogate  = 0xdc00
	surrogateMax  = 0xdfff
	supplementary = 0x10000
)

func isHigh(u uint16) bool { return u >= surrogateMin && u < lowSurrogate }
func isLow(u uint16) bool  { return u >= lowSurrogate && u <= surrogateMax }

func joined(hi, lo uint16) rune {
	return supplementary + rune(hi-surrogateMin)<<10 + rune(lo-lowSurrogate)
}

// surrogates splits a supplementary character; pair is false for any other.
func surrogates(r rune) (hi, lo uint16, pair bool) {
	if r < supplementary {
		return 0, 0, false
	}
	r -= supplementary
	return surrogateMin + uint16(r>>10), lowSurrogate + uint16(r&0x3ff), true
}

// decodeRune is utf8.DecodeRuneInString that also takes the three-byte form of
// a surrogate. An invalid byte is U+FFFD.
func decodeRune(s string) (rune, int) {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 && len(s) >= 3 &&
		s[0] == 0xed && s[1]&0xe0 == 0xa0 && s[2]&0xc0 == 0x80 {
		return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), 3
	}
	return r, size
}

// appendUnit appends one UTF-16 unit in modified UTF-8, surrogates on their own.
func appendUnit(dst []byte, u uint16) []byte {
	switch {
	case u < 0x80:
		return append(dst, byte(u))
	case u < 0x800:
		return append(dst, 0xc0|byte(u>>6), 0x80|byte(u&0x3f))
	default:
		return append(dst, 0xe0|byte(u>>12), 0x80|byte(u>>6&0x3f), 0x80|byte(u&0x3f))
	}
}

// Units returns the number of UTF-16 code units of s (Java's String.length).
func Units(s string) int {
	n := 0
	for i := 0; i < len(s); n++ {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := decodeRune(s[i:])
		if r >= supplementary {
			n++
		}
		i += size
	}
	return n
}
