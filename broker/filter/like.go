package filter

import (
	"strings"
	"unicode/utf8"
)

// pattern is a LIKE pattern cut at its "%" signs. A pattern without one has a single segment that is the whole text;
// else the first segment starts the text, the last ends it, and the others follow in order in between. Taking the
// leftmost place for each is enough, so there is no backtracking.
type pattern struct {
	segments []segment
}

// segment is a run of characters without "%". Without "_" it is literal; else it is characters, where anyCharacter
// stands for "_".
type segment struct {
	literal    string
	characters []rune
}

const anyCharacter = -1

// compileLike reads a pattern. escape (0: none) makes "%", "_" or itself literal when right before it, and is an
// ordinary character elsewhere.
func compileLike(text string, escape rune) pattern {
	var p pattern
	var characters []rune
	wild := false
	end := func() {
		s := segment{characters: characters}
		if !wild {
			s = segment{literal: string(characters)}
		}
		p.segments = append(p.segments, s)
		characters, wild = nil, false
	}
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case escape != 0 && r == escape && i+1 < len(runes) && (runes[i+1] == '%' || runes[i+1] == '_' || runes[i+1] == escape):
			i++
			characters = append(characters, runes[i])
		case r == '%':
			end()
		case r == '_':
			characters, wild = append(characters, anyCharacter), true
		default:
			characters = append(characters, r)
		}
	}
	end()
	return p
}

func (p pattern) match(text string) bool {
	first, rest := p.segments[0], p.segments[1:]
	n := first.prefix(text)
	if n < 0 {
		return false
	}
	text = text[n:]
	if len(rest) == 0 {
		return text == ""
	}
	last := rest[len(rest)-1]
	for _, s := range rest[:len(rest)-1] {
		at, n := s.find(text)
		if at < 0 {
			return false
		}
		text = text[at+n:]
	}
	return last.suffix(text)
}

// prefix gives the length in bytes of the segment at the start of text, -1 when it is not there.
func (s segment) prefix(text string) int {
	if s.characters == nil {
		if strings.HasPrefix(text, s.literal) {
			return len(s.literal)
		}
		return -1
	}
	at := 0
	for _, want := range s.characters {
		r, n := utf8.DecodeRuneInString(text[at:])
		if n == 0 || want != anyCharacter && want != r {
			return -1
		}
		at += n
	}
	return at
}

func (s segment) suffix(text string) bool {
	if s.characters == nil {
		return strings.HasSuffix(text, s.literal)
	}
	for i := len(s.characters) - 1; i >= 0; i-- {
		r, n := utf8.DecodeLastRuneInString(text)
		if want := s.characters[i]; n == 0 || want != anyCharacter && want != r {
			return false
		}
		text = text[:len(text)-n]
	}
	return true
}

// find gives the leftmost place of the segment in text and its length in bytes, or -1.
func (s segment) find(text string) (at, length int) {
	if s.characters == nil {
		return strings.Index(text, s.literal), len(s.literal)
	}
	for at <= len(text) {
		if n := s.prefix(text[at:]); n >= 0 {
			return at, n
		}
		_, n := utf8.DecodeRuneInString(text[at:])
		if n == 0 {
			break
		}
		at += n
	}
	return -1, 0
}
