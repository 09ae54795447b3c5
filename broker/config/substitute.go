package config

import (
	"errors"
	"strings"
)

// Bounds of a substitution: values may hold placeholders again.
const (
	maxSubstDepth = 32
	maxSubstSize  = 32 << 20
)

// Lookup answers a placeholder's name; ok is false when it isn't set.
type Lookup func(name string) (value string, ok bool)

// Substitute replaces ${name} and ${name:default} by what lookup says, else the
// default, else nothing. Names and defaults may hold placeholders, and values are
// substituted again. A "${" without its "}" is left as it is. It fails when
// values refer to each other without end.
func Substitute(text string, lookup Lookup) (string, error) {
	if !strings.Contains(text, "${") {
		return text, nil
	}
	s := substitution{lookup: lookup}
	var b strings.Builder
	if err := s.expand(&b, text, 0); err != nil {
		return "", err
	}
	return b.String(), nil
}

type substitution struct {
	lookup  Lookup
	written int
}

func (s *substitution) expand(b *strings.Builder, text string, depth int) error {
	if depth > maxSubstDepth {
		return errors.New("placeholders refer to each other without end")
	}
	for {
		start := strings.Index(text, "${")
		end := -1
		if start >= 0 {
			end = closing(text[start:])
		}
		if end < 0 {
			return s.write(b, text)
		}
		if err := s.write(b, text[:start]); err != nil {
			return err
		}
		var inner strings.Builder
		if err := s.expand(&inner, text[start+2:start+end], depth+1); err != nil {
			return err
		}
		name, fallback, _ := strings.Cut(inner.String(), ":")
		value, ok := s.lookup(strings.TrimSpace(name))
		if !ok {
			value = strings.TrimSpace(fallback)
		}
		if err := s.expand(b, value, depth+1); err != nil {
			return err
		}
		text = text[start+end+1:]
	}
}

func (s *substitution) write(b *strings.Builder, text string) error {
	if s.written += len(text); s.written > maxSubstSize {
		return errors.New("the text with its placeholders replaced is too long")
	}
	b.WriteString(text)
	return nil
}

// closing returns the index of the } that ends the placeholder text starts with,
// or -1.
func closing(text string) int {
	open := 0
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], "${"):
			open++
			i++
		case text[i] == '}':
			if open--; open == 0 {
				return i
			}
		}
	}
	return -1
}
