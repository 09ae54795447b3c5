package xpath

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// function is a function of expressions, with the number of its arguments.
type function struct {
	least, most int
	call        func(e *evaluation, c context, args []value) value
}

// extension stands for the functions with a prefix, none of which there are.
var extension = function{0, math.MaxInt, func(e *evaluation, _ context, _ []value) value { return e.fail() }}

// functions by name.
var functions map[string]*function

func init() {
	text := func(of func(string) value) func(*evaluation, context, []value) value {
		return func(e *evaluation, c context, args []value) value { return of(e.string(orSelf(c, args)[0])) }
	}
	texts := func(of func(a, b string) value) func(*evaluation, context, []value) value {
		return func(e *evaluation, _ context, args []value) value { return of(e.string(args[0]), e.string(args[1])) }
	}
	numeric := func(of func(float64) float64) func(*evaluation, context, []value) value {
		return func(e *evaluation, c context, args []value) value { return ofNumber(of(e.number(orSelf(c, args)[0]))) }
	}
	// named is a function of the first node of a set, "" without one.
	named := func(of func(e *evaluation, i int32) string) func(*evaluation, context, []value) value {
		return func(e *evaluation, c context, args []value) value {
			v := orSelf(c, args)[0]
			if v.kind != nodesKind {
				return e.fail()
			}
			if len(v.nodes) == 0 {
				return ofText("")
			}
			return ofText(of(e, v.nodes[0]))
		}
	}
	constant := func(v value) func(*evaluation, context, []value) value {
		return func(*evaluation, context, []value) value { return v }
	}
	functions = map[string]*function{
		"last":     {0, 0, func(_ *evaluation, c context, _ []value) value { return ofNumber(float64(c.size)) }},
		"position": {0, 0, func(_ *evaluation, c context, _ []value) value { return ofNumber(float64(c.position)) }},
		"current":  {0, 0, func(*evaluation, context, []value) value { return ofNodes([]int32{0}) }},
		"count": {1, 1, func(e *evaluation, _ context, args []value) value {
			if args[0].kind != nodesKind {
				return e.fail()
			}
			return ofNumber(float64(len(args[0].nodes)))
		}},
		"sum": {1, 1, func(e *evaluation, _ context, args []value) value {
			if args[0].kind != nodesKind {
				return e.fail()
			}
			sum := 0.0
			for _, x := range e.numbers(args[0]) {
				sum += x
			}
			return ofNumber(sum)
		}},
		"id": {1, 1, constant(ofNodes(nil))}, // it takes a document type to say which attributes are ids

		"local-name":    {0, 1, named(func(e *evaluation, i int32) string { return e.names[e.nodes[i].name].local })},
		"namespace-uri": {0, 1, named(func(e *evaluation, i int32) string { return e.names[e.nodes[i].name].space })},
		"name":          {0, 1, named(func(e *evaluation, i int32) string { return e.names[e.nodes[i].name].qualified() })},
		"generate-id":   {0, 1, named(func(_ *evaluation, i int32) string { return "N" + strconv.Itoa(int(i)) })},

		"string":      {0, 1, text(ofText)},
		"concat":      {2, math.MaxInt, concat},
		"starts-with": {2, 2, texts(func(a, b string) value { return ofBool(strings.HasPrefix(a, b)) })},
		"contains":    {2, 2, texts(func(a, b string) value { return ofBool(strings.Contains(a, b)) })},
		"substring-before": {2, 2, texts(func(a, b string) value {
			before, _, found := strings.Cut(a, b)
			if !found {
				before = ""
			}
			return ofText(before)
		})},
		"substring-after": {2, 2, texts(func(a, b string) value {
			_, after, _ := strings.Cut(a, b)
			return ofText(after)
		})},
		"substring":     {2, 3, substring},
		"string-length": {0, 1, text(func(s string) value { return ofNumber(float64(utf16Length(s))) })},
		"normalize-space": {0, 1, func(e *evaluation, c context, args []value) value {
			s := e.string(orSelf(c, args)[0])
			e.spend(len(s) / 4)
			return ofText(strings.Join(strings.FieldsFunc(s, isBlank), " "))
		}},
		"translate": {3, 3, translate},

		"boolean": {1, 1, func(_ *evaluation, _ context, args []value) value { return ofBool(args[0].bool()) }},
		"not":     {1, 1, func(_ *evaluation, _ context, args []value) value { return ofBool(!args[0].bool()) }},
		"true":    {0, 0, constant(ofBool(true))},
		"false":   {0, 0, constant(ofBool(false))},
		"lang":    {1, 1, lang},

		"number":  {0, 1, numeric(func(x float64) float64 { return x })},
		"floor":   {1, 1, numeric(math.Floor)},
		"ceiling": {1, 1, numeric(math.Ceil)},
		"round":   {1, 1, numeric(round)},

		"system-property":     {1, 1, constant(ofText(""))},
		"element-available":   {1, 1, constant(ofBool(false))},
		"unparsed-entity-uri": {1, 1, constant(ofText(""))},
		"function-available":  {1, 1, text(func(s string) value { return ofBool(functions[s] != nil) })},
	}
}

// orSelf are the arguments, or the context node in the place of a missing one.
func orSelf(c context, args []value) []value {
	if len(args) == 0 {
		return []value{ofNodes([]int32{c.node})}
	}
	return args
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' || r == '\r' || r == '\n' }

func concat(e *evaluation, _ context, args []value) value {
	var b strings.Builder
	for _, a := range args {
		if b.WriteString(e.string(a)); e.failed {
			return value{}
		}
	}
	return ofText(b.String())
}

// round rounds halves up; what is rounded up to 0 is -0.
func round(x float64) float64 {
	if x < 0 && x >= -0.5 {
		return math.Copysign(0, -1)
	}
	return math.Floor(x + 0.5)
}

func utf16Length(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// substring counts characters from 1.
func substring(e *evaluation, _ context, args []value) value {
	s := e.string(args[0])
	from := round(e.number(args[1]))
	end := math.Inf(1)
	if len(args) == 3 {
		end = from + round(e.number(args[2]))
	}
	first, last := len(s), len(s)
	position := 1.0
	for i, r := range s {
		if position >= from && position < end {
			first = min(first, i)
		} else if first < len(s) {
			last = i
			break
		}
		position++
		if r > 0xFFFF {
			position++
		}
	}
	return ofText(s[first:max(first, last)])
}

// translate replaces characters by those at the same place of the third argument, or drops them.
func translate(e *evaluation, _ context, args []value) value {
	s, from, to := e.string(args[0]), e.string(args[1]), e.string(args[2])
	if !e.spend((len(s) + len(from)) / 2) {
		return value{}
	}
	table := make(map[rune]rune)
	for _, r := range from {
		t, size := utf8.DecodeRuneInString(to)
		if size == 0 {
			t = -1
		}
		to = to[size:]
		if _, twice := table[r]; !twice {
			table[r] = t
		}
	}
	return ofText(strings.Map(func(r rune) rune {
		if t, ok := table[r]; ok {
			return t
		}
		return r
	}, s))
}

// lang compares the language of the context node, which is that of the innermost element with an xml:lang.
func lang(e *evaluation, c context, args []value) value {
	want := e.string(args[0])
	for i := c.node; i >= 0; i = e.nodes[i].parent {
		n := &e.nodes[i]
		for j := i + 1; n.kind == elementNode && j < n.end && (e.nodes[j].kind == attributeNode || e.nodes[j].kind == namespaceNode); j++ {
			if !e.spend(1) {
				return value{}
			}
			if a := &e.nodes[j]; a.kind == attributeNode && e.names[a.name] == (name{"xml", "lang", xmlNamespace}) {
				have := a.text
				return ofBool(len(have) >= len(want) && strings.EqualFold(have[:len(want)], want) && (len(have) == len(want) || have[len(want)] == '-'))
			}
		}
		if !e.spend(1) {
			return value{}
		}
	}
	return ofBool(false)
}
