package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Bytes is a size in bytes. -1 often means no bound.
type Bytes int64

// String is the plain number.
func (b Bytes) String() string { return strconv.FormatInt(int64(b), 10) }

// ParseBytes reads a size as Artemis does: digits, then optionally blanks and one
// of k, ki, m, mi, g, gi and a b, in any case, all powers of 1024, with blanks
// around; or a plain integer with a sign and no blanks. There is no T and there
// are no fractions.
func ParseBytes(text string) (Bytes, error) {
	s := strings.ToLower(strings.Trim(text, " \t\n\r\f\v"))
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	if digits == 0 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, badSize(text)
		}
		return Bytes(n), nil
	}
	var shift uint
	switch unit := strings.TrimSuffix(strings.TrimLeft(s[digits:], " \t\n\r\f\v"), "b"); unit {
	case "":
	case "k", "ki":
		shift = 10
	case "m", "mi":
		shift = 20
	case "g", "gi":
		shift = 30
	default:
		return 0, badSize(text)
	}
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	if err != nil || n > math.MaxInt64>>shift {
		return 0, badSize(text)
	}
	return Bytes(n << shift), nil
}

func badSize(text string) error {
	return fmt.Errorf("AMQ209004: %q is not a size (digits and an optional K, M or G, as in 10M)", text)
}

// scaled multiplies n by unit, stopping at the ends of time.Duration. -1, which
// means off, stays recognizable as negative.
func scaled(n int64, unit time.Duration) time.Duration {
	switch {
	case n > math.MaxInt64/int64(unit):
		return math.MaxInt64
	case n < math.MinInt64/int64(unit):
		return math.MinInt64
	}
	return time.Duration(n) * unit
}

var units = map[string]time.Duration{"ns": time.Nanosecond, "ms": time.Millisecond, "s": time.Second}

// parseBool reads an XSD boolean. Artemis lets 1 and 0 pass its schema but then
// reads both as false.
func parseBool(text string) (bool, error) {
	switch strings.TrimSpace(text) {
	case "true":
		return true, nil
	case "false", "0", "1":
		return false, nil
	}
	return false, fmt.Errorf("%q is not true or false", text)
}

func parseInt(text string, bits int) (int64, error) {
	s := strings.TrimSpace(text)
	if s == "" {
		return 0, errors.New("AMQ219054: an integer is required, but the value is empty")
	}
	n, err := strconv.ParseInt(s, 10, bits)
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%s does not fit in %d bits", s, bits)
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not an integer", text)
	}
	return n, nil
}

// checkNumber applies a check tag: alternatives separated by |.
//
//	>0 >=0 -1   as they read
//	percent     0..100
//	size32      1..2^31-1
//	pow2        a positive power of two
//	1..10       a range
func checkNumber(check string, n int64) error {
	if check == "" {
		return nil
	}
	for alt := range strings.SplitSeq(check, "|") {
		ok := false
		switch alt {
		case ">0":
			ok = n > 0
		case ">=0":
			ok = n >= 0
		case "-1":
			ok = n == -1
		case "percent":
			ok = n >= 0 && n <= 100
		case "size32":
			ok = n > 0 && n <= math.MaxInt32
		case "pow2":
			ok = n > 0 && n&(n-1) == 0
		case "1..10":
			ok = n >= 1 && n <= 10
		}
		if ok {
			return nil
		}
	}
	said, known := map[string]string{
		"percent|-1": "AMQ229214: must be a percentage between 0 and 100, or -1",
		"percent":    "must be a percentage between 0 and 100",
		"size32":     "AMQ229226: must be greater than 0 and at most 2147483647",
		"-1|size32":  "must be -1, or greater than 0 and at most 2147483647",
		"pow2":       "must be a power of two",
		"-1|>0":      "must be -1 or greater than 0",
		"-1|>=0":     "must be -1, 0 or greater",
		">0":         "must be greater than 0",
		">=0":        "must be 0 or greater",
	}[check]
	if !known {
		said = "must be " + check
	}
	return fmt.Errorf("%s (actual value: %d)", said, n)
}

func checkString(check, s string) error {
	switch {
	case check == "nonempty" && s == "":
		return errors.New("must not be empty")
	case check == "len1" && len([]rune(s)) != 1:
		return fmt.Errorf("must be one character (actual value: %q)", s)
	case check == "len0or2" && s != "" && len([]rune(s)) != 2:
		return fmt.Errorf("must be two characters (actual value: %q)", s)
	}
	return nil
}

// enum is a string type with a fixed set of values, spelled exactly.
type enum interface{ values() []string }
