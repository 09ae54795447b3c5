package filter

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// decimalLiteral reads digits with an optional l or L: an int when it fits, else a long, else a big integer. A big
// integer whose low 64 bits fit an int becomes that int, as in Artemis.
func decimalLiteral(text string) Value {
	text = strings.TrimRight(text, "lL")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		n = bigLow64(text)
		if n != int64(int32(n)) {
			return bigInt(text)
		}
	}
	return intOrLong(n)
}

// radixLiteral reads a hexadecimal or octal literal, which must fit a long; its digits have been checked.
func radixLiteral(digits string, base int) (Value, bool) {
	n, err := strconv.ParseInt(digits, base, 64)
	return intOrLong(n), err == nil
}

func intOrLong(n int64) Value {
	if n == int64(int32(n)) {
		return Int(int32(n))
	}
	return Long(n)
}

// floatLiteral reads a floating point literal; what is out of range becomes infinite or zero.
func floatLiteral(text string) Value {
	n, _ := strconv.ParseFloat(text, 64)
	return Double(n)
}

func bigLow64(digits string) int64 {
	n, _ := new(big.Int).SetString(digits, 10)
	low := new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64))
	return int64(low.Uint64())
}

func bigFloat(digits string) float64 {
	n, _ := strconv.ParseFloat(digits, 64)
	return n
}

// negateBig is minus the number. The one that fits a long then, the smallest long, becomes a long.
func negateBig(digits string) Value {
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		return bigInt(rest)
	}
	if n, err := strconv.ParseInt("-"+digits, 10, 64); err == nil {
		return Long(n)
	}
	return bigInt("-" + digits)
}

// compareBig orders two big integers without leading zeros.
func compareBig(a, b string) int {
	an, bn := a[0] == '-', b[0] == '-'
	switch {
	case an && !bn:
		return -1
	case bn && !an:
		return 1
	case an:
		a, b = b[1:], a[1:]
	}
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// parseAs reads a string as a value of the kind, by the rules of Java's valueOf methods.
func parseAs(kind Kind, s string) (Value, bool) {
	switch kind {
	case KindBool:
		return Bool(strings.EqualFold(s, "true")), true
	case KindByte:
		n, err := strconv.ParseInt(s, 10, 8)
		return Byte(int8(n)), err == nil
	case KindShort:
		n, err := strconv.ParseInt(s, 10, 16)
		return Short(int16(n)), err == nil
	case KindInt:
		n, err := strconv.ParseInt(s, 10, 32)
		return Int(int32(n)), err == nil
	case KindLong:
		n, err := strconv.ParseInt(s, 10, 64)
		return Long(n), err == nil
	case KindFloat:
		n, ok := javaParseFloat(s, 32)
		return Float(float32(n)), ok
	case KindDouble:
		n, ok := javaParseFloat(s, 64)
		return Double(n), ok
	default:
		return Null, false
	}
}

// javaParseFloat reads what java.lang.Double.valueOf reads: blanks around it and a type letter behind it are fine.
func javaParseFloat(s string, bits int) (float64, bool) {
	s = trim(s)
	switch s {
	case "NaN", "+NaN", "-NaN":
		return math.NaN(), true
	case "Infinity", "+Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	if s != "" && strings.ContainsRune("fFdD", rune(s[len(s)-1])) {
		s = s[:len(s)-1]
	}
	if strings.Trim(s, "0123456789abcdefABCDEFxXpP.+-") != "" { // keeps out "inf", "_" and other Go spellings
		return 0, false
	}
	n, err := strconv.ParseFloat(s, bits)
	if err != nil && !math.IsInf(n, 0) {
		return 0, false
	}
	return n, true
}

// javaFloatText prints a float or double as Java does: plain from 1e-3 up to 1e7, else with an exponent.
func javaFloatText(n float64, bits int) string {
	switch {
	case math.IsNaN(n):
		return "NaN"
	case math.IsInf(n, 1):
		return "Infinity"
	case math.IsInf(n, -1):
		return "-Infinity"
	}
	abs := math.Abs(n)
	if abs == 0 || abs >= 1e-3 && abs < 1e7 {
		s := strconv.FormatFloat(n, 'f', -1, bits)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(n, 'e', -1, bits), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	e, _ := strconv.Atoi(exponent)
	return mantissa + "E" + strconv.Itoa(e)
}
