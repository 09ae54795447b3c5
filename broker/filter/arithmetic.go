package filter

import (
	"math"
	"strings"
)

type negate struct{ of node }

// arithmetic is one of + - * / %.
type arithmetic struct {
	operator    byte
	left, right node
	convert     bool
}

// eval of what is not a number gives null; a byte or a short cannot be negated, as in Artemis.
func (n negate) eval(src Source) Value {
	v := n.of.eval(src)
	switch v.kind {
	case KindInt:
		return Int(-int32(v.num))
	case KindLong:
		return Long(-int64(v.num))
	case KindFloat:
		return Float(-v.float())
	case KindDouble:
		return Double(-v.double())
	case KindBig:
		return negateBig(v.str)
	case KindByte, KindShort, kindError:
		return failed
	default:
		return Null
	}
}

func (n arithmetic) eval(src Source) Value {
	a := n.left.eval(src)
	if a.IsNull() || a.kind == kindError {
		return a
	}
	b := n.right.eval(src)
	if b.IsNull() || b.kind == kindError {
		return b
	}
	if n.operator == '+' && a.kind == KindString {
		return concat(a, b)
	}
	a, b = n.number(a), n.number(b)
	switch {
	case a.kind == kindError || b.kind == kindError:
		return failed
	case n.operator == '/':
		return Double(a.double() / b.double())
	case n.operator == '%':
		return Double(math.Mod(a.double(), b.double()))
	case isFloating(a) || isFloating(b):
		return Double(calculate(n.operator, a.double(), b.double()))
	case a.kind == KindLong || b.kind == KindLong:
		return Long(calculate(n.operator, a.long(), b.long()))
	default:
		return Int(calculate(n.operator, int32(a.long()), int32(b.long())))
	}
}

// concat bounds its result, since a chain of + may double a string at each step.
func concat(a, b Value) Value {
	if len(a.str)+len(b.str) > maxConcat {
		return failed
	}
	return String(a.str + b.String())
}

// maxConcat is the longest string in bytes that a filter may build; beyond it the evaluation fails.
const maxConcat = 1 << 20

// number is the operand v as a number: a string is read as one when the filter converts strings.
func (n arithmetic) number(v Value) Value {
	if v.numeric() {
		return v
	}
	if !n.convert || v.kind != KindString {
		return failed
	}
	kind := KindLong
	if strings.Contains(v.str, ".") {
		kind = KindDouble
	}
	number, ok := parseAs(kind, v.str)
	if !ok {
		return failed
	}
	return number
}

func isFloating(v Value) bool { return v.kind == KindFloat || v.kind == KindDouble }

// calculate wraps around on overflow, as Java does.
func calculate[T int32 | int64 | float64](operator byte, a, b T) T {
	switch operator {
	case '+':
		return a + b
	case '-':
		return a - b
	default:
		return a * b
	}
}
