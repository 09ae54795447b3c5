package filter

import (
	"cmp"
	"math"
)

// compare orders a and b, neither null, widening numbers to the wider kind. comparable is false when values of these
// kinds never compare, so that every comparison of them is false. With convert a string meets another type by being
// read as that type.
func compare(a, b Value, convert bool) (order int, comparable bool) {
	if a.kind != b.kind {
		switch {
		case widens(a.kind, b.kind):
			return compareNumbers(a, b, max(a.kind, b.kind)), true
		case convert && a.kind == KindString:
			if a, comparable = parseAs(b.kind, a.str); !comparable {
				return 0, false
			}
		case convert && b.kind == KindString:
			if b, comparable = parseAs(a.kind, b.str); !comparable {
				return 0, false
			}
		default:
			return 0, false
		}
	}
	switch a.kind {
	case KindString:
		return compareUTF16(a.str, b.str), true
	case KindBig:
		return compareBig(a.str, b.str), true
	case KindBool, KindChar:
		return cmp.Compare(a.num, b.num), true
	default:
		return compareNumbers(a, b, a.kind), true
	}
}

// widens says whether numbers of two different kinds compare. A byte or short at the right of something wider does
// not, as in Artemis: "by = 5" may hold, "5 = by" never does.
func widens(left, right Kind) bool {
	if left < KindByte || left > KindDouble || right < KindByte || right > KindDouble {
		return false
	}
	return right > KindShort || left < right
}

func compareNumbers(a, b Value, kind Kind) int {
	switch kind {
	case KindFloat:
		return compareFloats(float64(a.float()), float64(b.float()))
	case KindDouble:
		return compareFloats(a.double(), b.double())
	default:
		return cmp.Compare(int64(a.num), int64(b.num))
	}
}

// compareFloats is the total order of java.lang.Double.compare: -0.0 is below 0.0, NaN is above all and equal to itself.
func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case math.IsNaN(a) || math.IsNaN(b):
		return cmp.Compare(bit(math.IsNaN(a)), bit(math.IsNaN(b)))
	default: // equal, zeros of either sign among them
		return cmp.Compare(bit(math.Signbit(b)), bit(math.Signbit(a)))
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compareUTF16 orders UTF-8 strings as Java orders them, by UTF-16 code units. It differs from byte order where a
// character of a supplementary plane (lead byte F0…) meets one of U+E000…U+FFFF (lead byte EE or EF).
func compareUTF16(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0) {
			return cmp.Compare(y, x)
		}
		return cmp.Compare(x, y)
	}
	return cmp.Compare(len(a), len(b))
}

// equalValues is "=" for two values that are not null.
func equalValues(a, b Value, convert bool) bool {
	if a.kind == KindBytes || b.kind == KindBytes {
		return a.kind == b.kind && a.str == b.str
	}
	if a.kind == KindString && b.kind == KindString {
		return a.str == b.str
	}
	order, comparable := compare(a, b, convert)
	return comparable && order == 0
}
