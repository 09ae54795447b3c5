package filter

// A node is a part of a parsed filter. eval gives its value; a node of boolean type gives true, false or null
// (unknown), and any node may give an error value, which ends the evaluation.
type node interface {
	eval(src Source) Value
}

type constant struct{ value Value }

type property struct{ name string }

// cast makes a property a condition: only boolean true is true, null stays unknown.
type cast struct{ of property }

type not struct{ of node }

// and, or have at least two parts.
type (
	and struct{ parts []node }
	or  struct{ parts []node }
)

// equal is "=". Two nulls are equal; with null at the left only it is unknown, at the right only it is false, as in
// Artemis: "NOT (nope = 6)" does not match, "NOT (6 = nope)" does.
type equal struct {
	left, right node
	convert     bool
}

type isNull struct{ of node }

// relation is one of the four ordering operators: it holds when the order of left and right is one of accepted.
type relation struct {
	left, right node
	accepted    relationSet
	convert     bool
}

// relationSet is a set of the results of a comparison.
type relationSet uint8

const (
	less relationSet = 1 << iota
	same
	greater
)

type like struct {
	of      node
	pattern pattern
}

// in has a property at the left and strings at the right: a short list, or a set.
type in struct {
	of   property
	list []string
	set  map[string]struct{}
	not  bool
}

func (n constant) eval(Source) Value     { return n.value }
func (n property) eval(src Source) Value { return src.Property(n.name) }

func (n cast) eval(src Source) Value {
	v := n.of.eval(src)
	switch v.kind {
	case KindNull, KindBool, kindError:
		return v
	default:
		return Bool(false)
	}
}

func (n not) eval(src Source) Value {
	v := n.of.eval(src)
	if v.kind == KindBool {
		v.num ^= 1
	}
	return v
}

func (n and) eval(src Source) Value {
	answer := Bool(true)
	for _, part := range n.parts {
		switch v := part.eval(src); {
		case v.kind == kindError, v == Bool(false):
			return v
		case v.kind == KindNull:
			answer = Null
		}
	}
	return answer
}

func (n or) eval(src Source) Value {
	answer := Bool(false)
	for _, part := range n.parts {
		switch v := part.eval(src); {
		case v.kind == kindError, v == Bool(true):
			return v
		case v.kind == KindNull:
			answer = Null
		}
	}
	return answer
}

func (n equal) eval(src Source) Value {
	a := n.left.eval(src)
	if a.kind == kindError {
		return a
	}
	b := n.right.eval(src)
	switch {
	case b.kind == kindError:
		return b
	case b.IsNull():
		return Bool(a.IsNull())
	case a.IsNull():
		return Null
	}
	return Bool(equalValues(a, b, n.convert))
}

func (n isNull) eval(src Source) Value {
	v := n.of.eval(src)
	if v.kind == kindError {
		return v
	}
	return Bool(v.IsNull())
}

func (n relation) eval(src Source) Value {
	a := n.left.eval(src)
	if a.IsNull() || a.kind == kindError {
		return a
	}
	if a.kind == KindBytes {
		return failed
	}
	b := n.right.eval(src)
	if b.IsNull() || b.kind == kindError {
		return b
	}
	if b.kind == KindBytes {
		return failed
	}
	order, comparable := compare(a, b, n.convert)
	if !comparable {
		return Bool(false)
	}
	result := same
	if order < 0 {
		result = less
	} else if order > 0 {
		result = greater
	}
	return Bool(n.accepted&result != 0)
}

func (n like) eval(src Source) Value {
	v := n.of.eval(src)
	switch v.kind {
	case KindNull, kindError:
		return v
	case KindString:
		return Bool(n.pattern.match(v.str))
	default:
		return Bool(false)
	}
}

func (n in) eval(src Source) Value {
	v := n.of.eval(src)
	if v.kind != KindString {
		return Null
	}
	return Bool(n.contains(v.str) != n.not)
}

func (n in) contains(s string) bool {
	if n.set != nil {
		_, found := n.set[s]
		return found
	}
	for _, x := range n.list {
		if x == s {
			return true
		}
	}
	return false
}

// outcome of a condition at the top of a filter, where unknown is no.
type outcome uint8

const (
	no outcome = iota
	yes
	fails
)

// matches evaluates a condition whose unknown counts as false. It differs from eval where AND and OR stand at the
// top: a part that is not true ends an AND there, so that an error behind an unknown part does no harm.
func matches(n node, src Source) outcome {
	switch n := n.(type) {
	case and:
		for _, part := range n.parts {
			if answer := matches(part, src); answer != yes {
				return answer
			}
		}
		return yes
	case or:
		for _, part := range n.parts {
			if answer := matches(part, src); answer != no {
				return answer
			}
		}
		return no
	}
	switch v := n.eval(src); {
	case v.kind == kindError:
		return fails
	case v == Bool(true):
		return yes
	default:
		return no
	}
}
