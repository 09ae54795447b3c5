package xpath

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	endToken tokenKind = iota
	symbolToken
	nameToken
	numberToken
	literalToken
	badToken
)

type token struct {
	kind tokenKind
	text string
	at   int  // offset
	far  bool // blanks before it
}

// delimiters end a word; "-" does so behind a number only.
const delimiters = "@([)]|/*+=,<>^!$:\\\"' \t\r\n"

// scan splits an expression. Every symbol has one character, but for "..".
func scan(text string) []token {
	var list []token
	far := false
	for i := 0; i < len(text); {
		start := i
		switch c := text[i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			far = true
			i++
			continue
		case c == '"' || c == '\'':
			n := strings.IndexByte(text[i+1:], c)
			if n < 0 {
				return append(list, token{badToken, text[i:], i, far})
			}
			list = append(list, token{literalToken, text[i+1 : i+1+n], i, far})
			i += n + 2
		case strings.IndexByte(delimiters, c) >= 0 || c == '-':
			list = append(list, token{symbolToken, text[i : i+1], i, far})
			i++
		default:
			word := text[i:]
			if n := strings.IndexAny(word, delimiters); n >= 0 {
				word = word[:n]
			}
			kind := badToken
			first, _ := utf8.DecodeRuneInString(word)
			switch {
			case isDigit(word[0]) || word[0] == '.' && len(word) > 1 && isDigit(word[1]):
				word, _, _ = strings.Cut(word, "-")
				if isNumber(word) {
					kind = numberToken
				}
			case unicode.IsLetter(first) || first == '_':
				kind = nameToken
			default:
				if word, _, _ = strings.Cut(word, "-"); word == "." || word == ".." {
					kind = symbolToken
				}
			}
			i += max(len(word), 1)
			list = append(list, token{kind, text[start:i], start, far})
		}
		far = false
	}
	return append(list, token{kind: endToken, at: len(text)})
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isNumber tells whether s is digits with at most one dot, as numbers are written in expressions.
func isNumber(s string) bool {
	digits, dots := 0, 0
	for i := range len(s) {
		switch {
		case isDigit(s[i]):
			digits++
		case s[i] == '.':
			dots++
		default:
			return false
		}
	}
	return digits > 0 && dots <= 1
}
