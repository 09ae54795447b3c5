package xpath

import (
	"fmt"
	"strconv"
)

// Expr is a compiled expression. It is immutable and safe for concurrent use.
type Expr struct {
	root       expression
	namespaces bool
}

// Namespaces tells that the expression asks for the namespace axis.
func (x *Expr) Namespaces() bool { return x.namespaces }

// Compile reads an expression.
func Compile(text string) (*Expr, error) {
	p := &parser{tokens: scan(text)}
	root := p.or()
	if p.err == nil && p.token().kind != endToken {
		p.fail("it goes on")
	}
	if p.err != nil {
		return nil, p.err
	}
	return &Expr{root, p.namespaces}, nil
}

// parser is a recursive descent. After an error the rest of the text counts as read.
type parser struct {
	tokens     []token
	at         int
	nesting    int
	operators  int
	namespaces bool
	err        error
}

func (p *parser) token() token { return p.tokens[p.at] }

func (p *parser) ahead(n int) token {
	return p.tokens[min(p.at+n, len(p.tokens)-1)]
}

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != endToken {
		p.at++
	}
	return t
}

func (p *parser) fail(reason string) {
	if p.err == nil {
		p.err = fmt.Errorf("XPath at %d: %s", p.token().at, reason)
	}
	p.at = len(p.tokens) - 1
}

// is tells whether the token n places ahead is a symbol.
func (p *parser) is(n int, symbol string) bool {
	t := p.ahead(n)
	return t.kind == symbolToken && t.text == symbol
}

// take consumes a symbol.
func (p *parser) take(symbol string) bool {
	if !p.is(0, symbol) {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(symbol string) {
	if !p.take(symbol) {
		p.fail("want " + symbol)
	}
}

// count bounds the size of the tree.
func (p *parser) count() {
	if p.operators++; p.operators > MaxOperators {
		p.fail("too many operators")
	}
}

// chain reads operands with operators of one level between them.
func (p *parser) chain(operand func() expression, operator func() string) expression {
	left := operand()
	for p.err == nil {
		o := operator()
		if o == "" {
			break
		}
		p.count()
		left = binary{o, left, operand()}
	}
	return left
}

// words takes one of the operators that are names.
func (p *parser) words(list ...string) string {
	for _, w := range list {
		if t := p.token(); t.kind == nameToken && t.text == w {
			p.at++
			return w
		}
	}
	return ""
}

func (p *parser) or() expression {
	if p.nesting++; p.nesting > MaxNesting {
		p.fail("nested too deeply")
	}
	defer func() { p.nesting-- }()
	return p.chain(p.and, func() string { return p.words("or") })
}

func (p *parser) and() expression {
	return p.chain(p.equality, func() string { return p.words("and") })
}

func (p *parser) equality() expression {
	return p.chain(p.relation, func() string {
		switch {
		case p.take("="):
			return "="
		case p.is(0, "!") && p.is(1, "="):
			p.at += 2
			return "!="
		}
		return ""
	})
}

func (p *parser) relation() expression {
	return p.chain(p.sum, func() string {
		for _, o := range []string{"<", ">"} {
			if p.take(o) {
				if p.take("=") {
					o += "="
				}
				return o
			}
		}
		return ""
	})
}

func (p *parser) sum() expression {
	return p.chain(p.product, func() string {
		switch {
		case p.take("+"):
			return "+"
		case p.take("-"):
			return "-"
		}
		return ""
	})
}

func (p *parser) product() expression {
	return p.chain(p.unary, func() string {
		if p.take("*") {
			return "*"
		}
		return p.words("div", "mod")
	})
}

// unary has at most one minus, as in Java.
func (p *parser) unary() expression {
	if p.take("-") {
		return negation{p.union()}
	}
	return p.union()
}

func (p *parser) union() expression {
	return p.chain(p.path, func() string {
		if p.take("|") {
			return "|"
		}
		return ""
	})
}

func (p *parser) path() expression {
	var from expression
	switch t := p.token(); {
	case t.kind == literalToken:
		p.at++
		return p.predicated(literal(t.text))
	case t.kind == numberToken:
		p.at++
		f, _ := strconv.ParseFloat(t.text, 64) // digits and a dot; too large: infinity
		return p.predicated(number(f))
	case p.take("$"):
		if p.token().kind == nameToken {
			p.name()
		}
		from = p.predicated(variable{})
	case p.take("("):
		inner := p.or()
		p.expect(")")
		from = p.predicated(inner)
	case t.kind == nameToken && p.isCall():
		from = p.predicated(p.call())
	default:
		return p.location(nil)
	}
	if p.is(0, "/") {
		return p.location(from)
	}
	return from
}

// predicated adds predicates to a primary expression.
func (p *parser) predicated(of expression) expression {
	if list := p.predicates(); len(list) > 0 {
		return filtered{of, list}
	}
	return of
}

func (p *parser) predicates() []expression {
	var list []expression
	for p.take("[") {
		p.count()
		list = append(list, p.or())
		p.expect("]")
	}
	return list
}

// isCall tells whether a name is that of a function.
func (p *parser) isCall() bool {
	n := 1
	for p.is(n, ":") && p.ahead(n+1).kind == nameToken {
		n += 2
	}
	if !p.is(n, "(") {
		return false
	}
	_, isType := nodeTypes[p.token().text]
	return n > 1 || !isType
}

func (p *parser) call() expression {
	prefix, local := p.name()
	f := functions[local]
	if prefix != "" {
		f = &extension
	} else if f == nil {
		p.fail("there is no function " + local)
		return literal("")
	}
	p.count()
	p.expect("(")
	var args []expression
	if !p.take(")") {
		args = append(args, p.or())
		for p.take(",") {
			args = append(args, p.or())
		}
		p.expect(")")
	}
	if len(args) < f.least || len(args) > f.most {
		p.fail("the wrong number of arguments for " + local)
	}
	return call{f, args}
}

// name reads a name with or without a prefix. Behind a prefix more colons are no error, as in Java.
func (p *parser) name() (prefix, local string) {
	local = p.next().text
	for p.is(0, ":") && !p.token().far && p.ahead(1).kind == nameToken && !p.ahead(1).far {
		p.at++
		more := p.next().text
		if prefix == "" {
			prefix, local = local, more
		} else {
			local += ":" + more
		}
	}
	return prefix, local
}

// location reads steps. from is nil at the start of an expression.
func (p *parser) location(from expression) expression {
	l := path{from: from}
	if p.take("/") {
		l.absolute = from == nil
		if p.take("/") {
			l.steps = append(l.steps, step{axis: descendantOrSelf, test: test{kind: anyTest}})
		} else if l.absolute && !p.startsStep() {
			return l
		}
	}
	for p.err == nil {
		l.steps = append(l.steps, p.step())
		if !p.take("/") {
			break
		}
		if p.take("/") {
			l.steps = append(l.steps, step{axis: descendantOrSelf, test: test{kind: anyTest}})
		}
	}
	return l
}

func (p *parser) startsStep() bool {
	return p.token().kind == nameToken || p.is(0, "*") || p.is(0, "@") || p.is(0, ".") || p.is(0, "..")
}

func (p *parser) step() step {
	p.count()
	if p.take(".") {
		return step{axis: self, test: test{kind: anyTest}}
	}
	if p.take("..") {
		return step{axis: parent, test: test{kind: anyTest}}
	}
	var s step
	if p.take("@") {
		s.axis = attribute
	} else if p.is(1, ":") && p.is(2, ":") && p.token().kind == nameToken {
		a, ok := axes[p.token().text]
		if !ok {
			p.fail("there is no such axis")
		} else {
			p.at += 3
		}
		s.axis = a
	}
	if s.axis == namespace {
		p.namespaces = true
	}
	s.test = p.test()
	s.predicates = p.predicates()
	return s
}

var nodeTypes = map[string]testKind{"node": anyTest, "text": textTest, "comment": commentTest, "processing-instruction": instructionTest}

func (p *parser) test() test {
	if p.take("*") {
		return test{all: true}
	}
	t := p.token()
	if t.kind != nameToken {
		p.fail("want a name")
		return test{}
	}
	if p.is(1, "(") {
		k, ok := nodeTypes[t.text]
		if !ok {
			p.fail("a function can't be a step")
			return test{}
		}
		p.at += 2
		answer := test{kind: k, all: true}
		if k == instructionTest && p.token().kind == literalToken {
			answer = test{kind: k, local: p.next().text}
		}
		p.expect(")")
		return answer
	}
	if p.is(1, ":") && p.is(2, "*") && !p.ahead(1).far && !p.ahead(2).far {
		p.at += 3
		return test{space: t.text, all: true}
	}
	prefix, local := p.name()
	return test{space: prefix, local: local}
}
