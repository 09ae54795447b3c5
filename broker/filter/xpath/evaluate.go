package xpath

import (
	"math"
	"slices"
	"strings"
)

// Holds says whether the expression is true of a document. It is false when its evaluation fails, for example because
// all the work that a document is worth has been done.
func (x *Expr) Holds(d *Document) bool {
	e := &evaluation{Document: d}
	v := x.root.eval(e, context{position: -1})
	return v.bool() && !e.failed
}

// evaluation is one run of an expression. Once it has failed values mean nothing.
type evaluation struct {
	*Document
	failed bool
}

// spend does n units of work, false when there are none left.
func (e *evaluation) spend(n int) bool {
	if e.work -= n; e.work < 0 {
		e.work, e.failed = 0, true
	}
	return !e.failed
}

func (e *evaluation) fail() value {
	e.failed = true
	return value{}
}

func (n number) eval(*evaluation, context) value       { return ofNumber(float64(n)) }
func (l literal) eval(*evaluation, context) value      { return ofText(string(l)) }
func (variable) eval(e *evaluation, _ context) value   { return e.fail() }
func (n negation) eval(e *evaluation, c context) value { return ofNumber(-e.number(n.of.eval(e, c))) }

func (b binary) eval(e *evaluation, c context) value {
	left := b.left.eval(e, c)
	switch {
	case e.failed:
		return left
	case b.operator == "or" && left.bool(), b.operator == "and" && !left.bool():
		return ofBool(left.bool())
	}
	right := b.right.eval(e, c)
	if !e.spend(1) {
		return right
	}
	switch b.operator {
	case "or", "and":
		return ofBool(right.bool())
	case "|":
		if left.kind != nodesKind || right.kind != nodesKind {
			return e.fail()
		}
		return ofNodes(e.ordered(append(slices.Clip(left.nodes), right.nodes...)))
	case "=", "!=":
		return ofBool(e.equal(left, right, b.operator == "="))
	case "<", "<=", ">", ">=":
		return ofBool(e.related(left, right, b.operator))
	}
	x, y := e.number(left), e.number(right)
	switch b.operator {
	case "+":
		x += y
	case "-":
		x -= y
	case "*":
		x *= y
	case "div":
		x /= y
	case "mod":
		x = math.Mod(x, y)
	}
	return ofNumber(x)
}

// ordered sorts nodes in the order of the document, each once.
func (e *evaluation) ordered(nodes []int32) []int32 {
	for i := 1; i < len(nodes); i++ {
		if nodes[i-1] >= nodes[i] {
			e.spend(len(nodes))
			slices.Sort(nodes)
			return slices.Compact(nodes)
		}
	}
	return nodes
}

func (c call) eval(e *evaluation, at context) value {
	args := make([]value, len(c.args))
	for i, a := range c.args {
		args[i] = a.eval(e, at)
	}
	if !e.spend(1) {
		return value{}
	}
	return c.function.call(e, at, args)
}

func (f filtered) eval(e *evaluation, c context) value {
	v := f.of.eval(e, c)
	if v.kind != nodesKind {
		return e.fail()
	}
	return ofNodes(e.filter(slices.Clone(v.nodes), f.predicates))
}

// filter keeps the nodes for which all predicates hold. Positions count in the order given; the fraction of a position
// does not count, as in Java.
func (e *evaluation) filter(nodes []int32, predicates []expression) []int32 {
	for _, p := range predicates {
		kept := nodes[:0]
		size := len(nodes)
		for i, n := range nodes {
			if !e.spend(1) {
				return nil
			}
			v := p.eval(e, context{n, i + 1, size})
			if v.kind == numberKind && math.Trunc(v.number) == float64(i+1) || v.kind != numberKind && v.bool() {
				kept = append(kept, n)
			}
		}
		nodes = kept
	}
	return nodes
}

func (p path) eval(e *evaluation, c context) value {
	nodes := []int32{c.node}
	if p.absolute {
		nodes[0] = 0
	}
	if p.from != nil {
		v := p.from.eval(e, c)
		if v.kind != nodesKind {
			return e.fail()
		}
		nodes = v.nodes
	}
	for _, s := range p.steps {
		var found []int32
		for _, n := range nodes {
			from := len(found)
			found = e.walk(found, s, n)
			if len(s.predicates) > 0 {
				found = found[:from+len(e.filter(found[from:], s.predicates))]
			}
			if s.axis.reverse() {
				slices.Reverse(found[from:])
			}
			if e.failed {
				return value{}
			}
		}
		nodes = e.ordered(found)
	}
	return ofNodes(nodes)
}

// walk appends the nodes on an axis that pass a test.
func (e *evaluation) walk(found []int32, s step, at int32) []int32 {
	add := func(i int32) bool {
		if !e.spend(1) {
			return false
		}
		if e.passes(s, i) {
			found = append(found, i)
		}
		return true
	}
	n := &e.nodes[at]
	special := n.kind == attributeNode || n.kind == namespaceNode
	switch s.axis {
	case child:
		for i := n.first; i != 0 && add(i); i = e.nodes[i].next {
		}
	case descendant:
		e.each(at+1, n.end, add)
	case descendantOrSelf:
		if add(at) {
			e.each(at+1, n.end, add)
		}
	case self:
		add(at)
	case parent:
		if n.parent >= 0 {
			add(n.parent)
		}
	case ancestor, ancestorOrSelf:
		i := at
		if s.axis == ancestor {
			i = n.parent
		}
		for ; i >= 0 && add(i); i = e.nodes[i].parent {
		}
	case followingSibling:
		for i := n.next; i != 0 && add(i); i = e.nodes[i].next {
		}
	case precedingSibling:
		for i := n.previous; i != 0 && add(i); i = e.nodes[i].previous {
		}
	case following: // of an attribute: the content of its element, too
		from := n.end
		if special {
			from = at + 1
		}
		e.each(from, int32(len(e.nodes)), add)
	case preceding:
		for i := at - 1; i > 0; i-- {
			if k := e.nodes[i].kind; e.nodes[i].end > at || k == attributeNode || k == namespaceNode {
				if !e.spend(1) { // an ancestor, or not on the axis
					return found
				}
			} else if !add(i) {
				return found
			}
		}
	case attribute, namespace:
		want := attributeNode
		if s.axis == namespace {
			want = namespaceNode
		}
		for i := at + 1; n.kind == elementNode && i < n.end; i++ {
			k := e.nodes[i].kind
			if k != attributeNode && k != namespaceNode || k == want && !add(i) {
				return found
			}
		}
	}
	return found
}

// each visits the nodes of a part of the document that are neither attributes nor namespaces.
func (e *evaluation) each(from, end int32, visit func(int32) bool) {
	for i := from; i < end; i++ {
		if k := e.nodes[i].kind; k == attributeNode || k == namespaceNode {
			if !e.spend(1) {
				return
			}
		} else if !visit(i) {
			return
		}
	}
}

func (e *evaluation) passes(s step, i int32) bool {
	n := &e.nodes[i]
	switch s.test.kind {
	case anyTest:
		return true
	case textTest:
		return n.kind == textNode
	case commentTest:
		return false
	case instructionTest:
		return n.kind == instructionNode && (s.test.all || e.names[n.name].local == s.test.local)
	}
	principal := elementNode
	if s.axis == attribute {
		principal = attributeNode
	} else if s.axis == namespace {
		principal = namespaceNode
	}
	if n.kind != principal {
		return false
	}
	name := &e.names[n.name]
	if s.test.all {
		return s.test.space == "" || name.space == s.test.space
	}
	return name.local == s.test.local && name.space == s.test.space
}

// textOf is the string value of a node.
func (e *evaluation) textOf(i int32) string {
	n := &e.nodes[i]
	if n.kind != elementNode && n.kind != rootNode {
		e.spend(1 + len(n.text)/16)
		return n.text
	}
	if !e.spend(int(n.end - i)) {
		return ""
	}
	size, parts, only := 0, 0, ""
	for _, m := range e.nodes[i+1 : n.end] {
		if m.kind == textNode {
			size += len(m.text)
			parts++
			only = m.text
		}
	}
	if !e.spend(size/16) || parts <= 1 {
		return only
	}
	var b strings.Builder
	b.Grow(size)
	for _, m := range e.nodes[i+1 : n.end] {
		if m.kind == textNode {
			b.WriteString(m.text)
		}
	}
	return b.String()
}
