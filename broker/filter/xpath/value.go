package xpath

import (
	"math"
	"strconv"
	"strings"
)

type valueKind uint8

const (
	boolKind valueKind = iota
	numberKind
	textKind
	nodesKind
)

// value is the result of an expression. Nodes are in document order.
type value struct {
	kind   valueKind
	truth  bool
	number float64
	text   string
	nodes  []int32
}

func ofBool(b bool) value        { return value{kind: boolKind, truth: b} }
func ofNumber(f float64) value   { return value{kind: numberKind, number: f} }
func ofText(s string) value      { return value{kind: textKind, text: s} }
func ofNodes(list []int32) value { return value{kind: nodesKind, nodes: list} }

func (v value) bool() bool {
	switch v.kind {
	case numberKind:
		return v.number != 0 && !math.IsNaN(v.number)
	case textKind:
		return v.text != ""
	case nodesKind:
		return len(v.nodes) > 0
	default:
		return v.truth
	}
}

// string converts a value as the function string does.
func (e *evaluation) string(v value) string {
	switch v.kind {
	case boolKind:
		return strconv.FormatBool(v.truth)
	case numberKind:
		return formatNumber(v.number)
	case nodesKind:
		if len(v.nodes) == 0 {
			return ""
		}
		return e.textOf(v.nodes[0])
	}
	e.spend(len(v.text) / 16)
	return v.text
}

// number converts a value as the function number does.
func (e *evaluation) number(v value) float64 {
	switch v.kind {
	case numberKind:
		return v.number
	case boolKind:
		if v.truth {
			return 1
		}
		return 0
	}
	return parseNumber(e.string(v))
}

func formatNumber(f float64) string {
	switch {
	case f == 0:
		return "0"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func parseNumber(s string) float64 {
	s = strings.Trim(s, " \t\r\n")
	if !isNumber(strings.TrimPrefix(s, "-")) {
		return math.NaN()
	}
	f, _ := strconv.ParseFloat(s, 64) // too large: infinity
	return f
}

// equal compares by "=", or by "!=" when want is false. With node sets one node, or pair, that fits is enough.
func (e *evaluation) equal(a, b value, want bool) bool {
	if a.kind != nodesKind {
		a, b = b, a
	}
	switch {
	case a.kind != nodesKind:
		return e.same(a, b) == want
	case b.kind == boolKind:
		return a.bool() == b.truth == want
	case b.kind != nodesKind:
		for _, n := range a.nodes {
			if e.same(ofText(e.textOf(n)), b) == want && !e.failed {
				return true
			}
			if e.failed {
				return false
			}
		}
		return false
	}
	texts := e.texts(b.nodes)
	for _, n := range a.nodes {
		s := e.textOf(n)
		for _, t := range texts {
			cost := 1
			if len(s) == len(t) {
				cost += len(s) / 16
			}
			if !e.spend(cost) {
				return false
			}
			if (s == t) == want {
				return true
			}
		}
	}
	return false
}

func (e *evaluation) texts(nodes []int32) []string {
	list := make([]string, len(nodes))
	for i, n := range nodes {
		if list[i] = e.textOf(n); e.failed {
			return nil
		}
	}
	return list
}

// same compares two values that are not node sets.
func (e *evaluation) same(a, b value) bool {
	switch {
	case a.kind == boolKind || b.kind == boolKind:
		return a.bool() == b.bool()
	case a.kind == numberKind || b.kind == numberKind:
		return e.number(a) == e.number(b)
	}
	return e.string(a) == e.string(b)
}

// related compares by one of the ordering operators, as numbers.
func (e *evaluation) related(a, b value, operator string) bool {
	if a.kind == nodesKind && b.kind == boolKind {
		a = ofBool(a.bool())
	}
	if b.kind == nodesKind && a.kind == boolKind {
		b = ofBool(b.bool())
	}
	right := e.numbers(b)
	for _, x := range e.numbers(a) {
		for _, y := range right {
			if !e.spend(1) {
				return false
			}
			if operator == "<" && x < y || operator == "<=" && x <= y || operator == ">" && x > y || operator == ">=" && x >= y {
				return true
			}
		}
	}
	return false
}

// numbers are the numbers of all nodes, or that of another value.
func (e *evaluation) numbers(v value) []float64 {
	if v.kind != nodesKind {
		return []float64{e.number(v)}
	}
	list := make([]float64, 0, len(v.nodes))
	for _, n := range v.nodes {
		list = append(list, parseNumber(e.textOf(n)))
		if e.failed {
			return nil
		}
	}
	return list
}
