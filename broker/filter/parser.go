package filter

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/saranga-mq/saranga/broker/filter/xpath"
)

// parser reads a filter by recursive descent. The first error stays in err and ends all loops, since no token comes
// after it.
type parser struct {
	text       string
	lexer      lexer
	token      token // the one to be read next
	convert    bool
	depth      int
	xpath      bool // XPATH occurs
	namespaces bool // in an XPATH, the namespace axis does
	err        error
}

// tree is a node with the number of operators above its deepest leaf.
type tree struct {
	node
	height int
}

// newParser reads the switches before the expression and the first token.
func newParser(text string) *parser {
	s := readSwitches(text)
	p := &parser{text: text, convert: s.convert, lexer: lexer{text: text, at: s.length, hyphenated: s.hyphenated}}
	p.advance()
	return p
}

// switches are the prefixes before an expression.
type switches struct {
	convert, hyphenated bool
	length              int // bytes
}

func readSwitches(text string) switches {
	var s switches
	for {
		name, _, found := strings.Cut(text[s.length:], ":")
		switch {
		case !found:
			return s
		case name == "convert_string_expressions", name == "no_convert_string_expressions":
			s.convert = name[0] == 'c'
		case name == "hyphenated_props", name == "no_hyphenated_props":
			s.hyphenated = name[0] == 'h'
		default:
			return s
		}
		s.length += len(name) + 1
	}
}

func (p *parser) fail(at int, format string, args ...any) {
	if p.err == nil {
		p.err = &SyntaxError{p.text, at, fmt.Sprintf(format, args...)}
	}
	p.token = token{kind: tokenEnd, at: at}
}

func (p *parser) advance() {
	if p.err != nil {
		return
	}
	p.token = p.lexer.next()
	if p.token.kind == tokenBad {
		p.fail(p.token.at, "%s", p.token.text)
	}
}

// symbol, keyword read the token if it is the next one.
func (p *parser) symbol(text string) bool  { return p.take(tokenSymbol, text) }
func (p *parser) keyword(text string) bool { return p.take(tokenKeyword, text) }

func (p *parser) take(kind tokenKind, text string) bool {
	if !p.token.is(kind, text) {
		return false
	}
	p.advance()
	return true
}

func (p *parser) expect(kind tokenKind, text string) {
	if !p.take(kind, text) {
		p.unexpected(text)
	}
}

func (p *parser) unexpected(want string) {
	t := p.token
	found := t.text
	if t.kind != tokenEnd {
		found = quote(found)
	}
	p.fail(t.at, "found %s, want %s", found, want)
}

func quote(s string) string {
	if len(s) > 40 {
		s = s[:40]
	}
	return strconv.Quote(s)
}

// enter counts the nesting of the parser itself, which always passes unary; each enter has its leave.
func (p *parser) enter() bool {
	p.depth++
	if p.depth > MaxDepth {
		p.fail(p.token.at, "nested more than %d deep", MaxDepth)
	}
	return p.err == nil
}

func (p *parser) leave() { p.depth-- }

// above makes the tree of a node over its parts.
func (p *parser) above(n node, parts ...tree) tree {
	height := 0
	for _, part := range parts {
		height = max(height, part.height)
	}
	if height++; height > MaxDepth {
		p.fail(p.token.at, "nested more than %d deep", MaxDepth)
	}
	return tree{n, height}
}

func (p *parser) selector() node {
	t := p.or()
	if p.err == nil && p.token.kind != tokenEnd {
		p.unexpected("an operator or the end")
	}
	return p.condition(t).node
}

func (p *parser) or() tree {
	left := p.and()
	if !p.token.is(tokenKeyword, "OR") {
		return left
	}
	parts := []tree{p.condition(left)}
	for p.keyword("OR") {
		parts = append(parts, p.condition(p.and()))
	}
	return p.above(or{nodes(parts)}, parts...)
}

func (p *parser) and() tree {
	left := p.equality()
	if !p.token.is(tokenKeyword, "AND") {
		return left
	}
	parts := []tree{p.condition(left)}
	for p.keyword("AND") {
		parts = append(parts, p.condition(p.equality()))
	}
	return p.above(and{nodes(parts)}, parts...)
}

func nodes(trees []tree) []node {
	list := make([]node, len(trees))
	for i, t := range trees {
		list[i] = t.node
	}
	return list
}

func (p *parser) equality() tree {
	left := p.comparison()
	for p.err == nil {
		at := p.token.at
		switch {
		case p.symbol("="):
			left = p.equal(at, left, p.comparison())
		case p.symbol("<>"):
			e := p.equal(at, left, p.comparison())
			left = p.above(not{e.node}, e)
		case p.keyword("IS"):
			negated := p.keyword("NOT")
			p.expect(tokenKeyword, "NULL")
			left = p.above(isNull{left.node}, left)
			if negated {
				left = p.above(not{left.node}, left)
			}
		default:
			return left
		}
	}
	return left
}

// equal refuses what can never be compared: NULL, and a boolean constant with another one.
func (p *parser) equal(at int, left, right tree) tree {
	l, leftConstant := left.node.(constant)
	r, rightConstant := right.node.(constant)
	if leftConstant && l.value.IsNull() || rightConstant && r.value.IsNull() {
		p.fail(at, "NULL cannot be compared; use IS NULL")
	}
	if leftConstant && rightConstant && l.value.kind == KindBool && r.value.kind != KindBool {
		p.fail(at, "%s cannot be compared with %s", l.value, quote(r.value.String()))
	}
	return p.above(equal{left.node, right.node, p.convert}, left, right)
}

func (p *parser) comparison() tree {
	left := p.add()
	for p.err == nil {
		at := p.token.at
		switch {
		case p.symbol(">"):
			left = p.relation(at, left, greater, p.add())
		case p.symbol(">="):
			left = p.relation(at, left, greater|same, p.add())
		case p.symbol("<"):
			left = p.relation(at, left, less, p.add())
		case p.symbol("<="):
			left = p.relation(at, left, less|same, p.add())
		case p.token.kind == tokenKeyword:
			negated := p.keyword("NOT")
			switch {
			case p.keyword("LIKE"):
				left = p.like(left, negated)
			case p.keyword("BETWEEN"):
				left = p.between(at, left, negated)
			case p.keyword("IN"):
				left = p.in(at, left, negated)
			case negated:
				p.unexpected("LIKE, BETWEEN or IN")
			default:
				return left
			}
		default:
			return left
		}
	}
	return left
}

// relation refuses constants that are not numbers, and conditions.
func (p *parser) relation(at int, left tree, accepted relationSet, right tree) tree {
	for _, side := range []tree{left, right} {
		if c, ok := side.node.(constant); ok && !c.value.numeric() {
			p.fail(at, "%s has no order", quote(c.value.String()))
		} else if !ok && isCondition(side.node) {
			p.fail(at, "a condition has no order")
		}
	}
	return p.above(relation{left.node, right.node, accepted, p.convert}, left, right)
}

func (p *parser) between(at int, value tree, negated bool) tree {
	low := p.add()
	p.expect(tokenKeyword, "AND")
	high := p.add()
	if negated {
		below, over := p.relation(at, value, less, low), p.relation(at, value, greater, high)
		return p.above(or{[]node{below.node, over.node}}, below, over)
	}
	from, to := p.relation(at, value, greater|same, low), p.relation(at, value, less|same, high)
	return p.above(and{[]node{from.node, to.node}}, from, to)
}

func (p *parser) like(left tree, negated bool) tree {
	text := p.string()
	escape := rune(0)
	if at := p.token.at; p.keyword("ESCAPE") {
		runes := []rune(p.string())
		if p.err == nil && (len(runes) != 1 || utf16.RuneLen(runes[0]) != 1) {
			p.fail(at, "ESCAPE takes a single character")
			return left
		}
		if p.err == nil {
			escape = runes[0]
		}
	}
	t := p.above(like{left.node, compileLike(text, escape)}, left)
	if negated {
		t = p.above(not{t.node}, t)
	}
	return t
}

// longList is the number of strings from which IN looks them up in a set.
const longList = 8

func (p *parser) in(at int, left tree, negated bool) tree {
	p.expect(tokenSymbol, "(")
	list := []string{p.string()}
	for p.symbol(",") {
		list = append(list, p.string())
	}
	p.expect(tokenSymbol, ")")
	name, ok := left.node.(property)
	if !ok {
		p.fail(at, "IN takes a property at its left")
		return left
	}
	n := in{of: name, list: list, not: negated}
	if len(list) >= longList {
		n.list, n.set = nil, make(map[string]struct{}, len(list))
		for _, s := range list {
			n.set[s] = struct{}{}
		}
	}
	return p.above(n, left)
}

// string reads a string literal.
func (p *parser) string() string {
	if p.token.kind != tokenString {
		p.unexpected("a string")
		return ""
	}
	text := p.token.text
	p.advance()
	return text
}

func (p *parser) add() tree {
	left := p.multiply()
	for {
		switch {
		case p.symbol("+"):
			left = p.arithmetic('+', left, p.multiply())
		case p.symbol("-"):
			left = p.arithmetic('-', left, p.multiply())
		default:
			return left
		}
	}
}

func (p *parser) multiply() tree {
	left := p.unary()
	for {
		switch {
		case p.symbol("*"):
			left = p.arithmetic('*', left, p.unary())
		case p.symbol("/"):
			left = p.arithmetic('/', left, p.unary())
		case p.symbol("%"):
			left = p.arithmetic('%', left, p.unary())
		default:
			return left
		}
	}
}

func (p *parser) arithmetic(operator byte, left, right tree) tree {
	return p.above(arithmetic{operator, left.node, right.node, p.convert}, left, right)
}

func (p *parser) unary() tree {
	if !p.enter() {
		return tree{}
	}
	defer p.leave()
	switch {
	case p.symbol("+"):
		return p.unary()
	case p.symbol("-"):
		t := p.unary()
		return p.above(negate{t.node}, t)
	case p.keyword("NOT"):
		t := p.condition(p.unary())
		return p.above(not{t.node}, t)
	case p.keyword("XPATH"):
		return p.path()
	case p.keyword("XQUERY"):
		p.string()
		return tree{node: xquery{}}
	default:
		return p.primary()
	}
}

// path reads the expression of an XPATH.
func (p *parser) path() tree {
	at := p.token.at
	text := p.string()
	if p.err != nil {
		return tree{}
	}
	x, err := xpath.Compile(text)
	if err != nil {
		p.fail(at, "%s", err)
		return tree{}
	}
	p.xpath = true
	p.namespaces = p.namespaces || x.Namespaces()
	return tree{node: path{x}}
}

func (p *parser) primary() tree {
	if p.symbol("(") {
		t := p.or()
		p.expect(tokenSymbol, ")")
		return t
	}
	t := p.token
	var n node
	switch t.kind {
	case tokenIdentifier:
		n = property{t.text}
	case tokenString:
		n = constant{String(t.text)}
	case tokenDecimal:
		n = constant{decimalLiteral(t.text)}
	case tokenHex, tokenOctal:
		base := 8
		if t.kind == tokenHex {
			base = 16
		}
		value, ok := radixLiteral(t.text, base)
		if !ok {
			p.fail(t.at, "number beyond 64 bits")
		}
		n = constant{value}
	case tokenFloat:
		n = constant{floatLiteral(t.text)}
	case tokenKeyword:
		switch t.text {
		case "TRUE":
			n = constant{Bool(true)}
		case "FALSE":
			n = constant{Bool(false)}
		case "NULL":
			n = constant{Null}
		}
	}
	if n == nil {
		p.unexpected("a value")
		return tree{}
	}
	p.advance()
	return tree{node: n}
}

// condition makes a boolean of a property, and refuses what never is one.
func (p *parser) condition(t tree) tree {
	if p.err != nil || isCondition(t.node) {
		return t
	}
	if name, ok := t.node.(property); ok {
		return p.above(cast{name}, t)
	}
	p.fail(p.token.at, "this part of the filter is a value, not a condition")
	return t
}

func isCondition(n node) bool {
	switch n := n.(type) {
	case not, and, or, equal, isNull, relation, like, in, cast, path, xquery:
		return true
	case constant:
		return n.value.kind == KindNull || n.value.kind == KindBool
	}
	return false
}
