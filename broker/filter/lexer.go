package filter

import "strings"

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenBad           // the text is the reason
	tokenSymbol
	tokenKeyword // the text is in upper case
	tokenIdentifier
	tokenString // the text is without quotes
	tokenDecimal
	tokenHex   // the text is without 0x
	tokenOctal // the text is with its leading 0
	tokenFloat
)

type token struct {
	kind tokenKind
	text string
	at   int // offset in bytes
}

func (t token) is(kind tokenKind, text string) bool { return t.kind == kind && t.text == text }

func isKeyword(upper string) bool {
	switch upper {
	case "NOT", "AND", "OR", "BETWEEN", "LIKE", "ESCAPE", "IN", "IS", "TRUE", "FALSE", "NULL", "XPATH", "XQUERY":
		return true
	}
	return false
}

// lexer cuts the text into tokens, taking the longest that fits at each place.
type lexer struct {
	text       string
	at         int
	hyphenated bool
	noLineEnd  bool // there is no line end after at: "--" starts no comment
}

func (l *lexer) next() token {
	if !l.skipBlanks() {
		return token{tokenBad, "comment without an end", l.at}
	}
	start := l.at
	if start == len(l.text) {
		return token{tokenEnd, "end of the filter", start}
	}
	switch c := l.text[start]; {
	case isLetter(c):
		return l.word()
	case c == '"' && !l.hyphenated:
		return l.quoted('"', tokenIdentifier)
	case c == '\'':
		return l.quoted('\'', tokenString)
	case isDigit(c), c == '.':
		return l.number()
	default:
		return l.symbol()
	}
}

// skipBlanks passes blanks and comments; false means a block comment that does not end. A line comment needs its
// line end: without one, "--" is two minus signs.
func (l *lexer) skipBlanks() bool {
	for l.at < len(l.text) {
		rest := l.text[l.at:]
		switch {
		case strings.IndexByte(" \t\r\n\f", rest[0]) >= 0:
			l.at++
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return false
			}
			l.at += 2 + end + 2
		case strings.HasPrefix(rest, "--") && !l.noLineEnd:
			end := strings.IndexAny(rest, "\r\n")
			if end < 0 {
				l.noLineEnd = true
				return true
			}
			l.at += end + 1
		default:
			return true
		}
	}
	return true
}

func (l *lexer) word() token {
	start := l.at
	for l.at < len(l.text) {
		c := l.text[l.at]
		if !isLetter(c) && !isDigit(c) && !(c == '-' && l.hyphenated) {
			break
		}
		l.at++
	}
	text := l.text[start:l.at]
	if len(text) <= len("BETWEEN") {
		if upper := strings.ToUpper(text); isKeyword(upper) {
			return token{tokenKeyword, upper, start}
		}
	}
	return token{tokenIdentifier, text, start}
}

// quoted reads up to the closing quote; a doubled quote stands for one.
func (l *lexer) quoted(quote byte, kind tokenKind) token {
	start := l.at
	doubled := false
	for at := start + 1; ; at++ {
		end := strings.IndexByte(l.text[at:], quote)
		if end < 0 {
			return token{tokenBad, "text without its closing quote", start}
		}
		at += end
		if at+1 < len(l.text) && l.text[at+1] == quote {
			doubled = true
			at++
			continue
		}
		l.at = at + 1
		text := l.text[start+1 : at]
		if doubled {
			q := string(quote)
			text = strings.ReplaceAll(text, q+q, q)
		}
		return token{kind, text, start}
	}
}

func (l *lexer) number() token {
	start := l.at
	rest := l.text[start:]
	digits := span(rest, isDigit)
	float := digits
	if float < len(rest) && rest[float] == '.' {
		float++
		fraction := span(rest[float:], isDigit)
		if digits == 0 && fraction == 0 {
			return token{tokenBad, `unexpected "."`, start}
		}
		float += fraction
	}
	float += exponent(rest[float:])
	take := func(n int, kind tokenKind) token {
		l.at += n
		return token{kind, rest[:n], start}
	}
	switch {
	case float > digits:
		return take(float, tokenFloat)
	case rest[0] != '0':
		if digits < len(rest) && rest[digits]|0x20 == 'l' {
			digits++
		}
		return take(digits, tokenDecimal)
	case len(rest) > 2 && rest[1]|0x20 == 'x' && isHex(rest[2]):
		n := span(rest[2:], isHex)
		l.at += 2 + n
		return token{tokenHex, rest[2 : 2+n], start}
	default:
		return take(span(rest, func(c byte) bool { return c >= '0' && c <= '7' }), tokenOctal)
	}
}

// exponent is the length of an exponent at the start of s, 0 when there is none.
func exponent(s string) int {
	if s == "" || s[0]|0x20 != 'e' {
		return 0
	}
	n := 1
	if n < len(s) && (s[n] == '+' || s[n] == '-') {
		n++
	}
	digits := span(s[n:], isDigit)
	if digits == 0 {
		return 0
	}
	return n + digits
}

func (l *lexer) symbol() token {
	rest := l.text[l.at:]
	n := 0
	switch {
	case strings.HasPrefix(rest, "<>"), strings.HasPrefix(rest, "<="), strings.HasPrefix(rest, ">="):
		n = 2
	case strings.IndexByte("=<>(),+-*/%", rest[0]) >= 0:
		n = 1
	default:
		for _, r := range rest {
			return token{tokenBad, "unexpected character " + quote(string(r)), l.at}
		}
	}
	t := token{tokenSymbol, rest[:n], l.at}
	l.at += n
	return t
}

func span(s string, in func(byte) bool) int {
	n := 0
	for n < len(s) && in(s[n]) {
		n++
	}
	return n
}

func isLetter(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
