package config

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
)

// Pattern is a compiled match of settings. It follows Artemis' settings
// repository, which differs a little from wildcard routing: the any-words
// character, with the delimiter before it, stands for nothing or for the
// delimiter and more; the single-word character for one or more characters
// without delimiter; the any-words character alone for everything.
type Pattern struct {
	match string
	// expr is nil for an exact match; literal ones compare with text.
	expr *regexp.Regexp
	text string
	// literal is set when the match stood between literal match markers.
	literal bool
}

// Compile makes the pattern of a match. markers are the two literal match
// markers, or empty.
func (w Wildcards) Compile(match, markers string) (Pattern, error) {
	p := Pattern{match: match, text: match}
	if m := []rune(markers); len(m) == 2 {
		if inner, ok := strings.CutPrefix(match, string(m[0])); ok && strings.HasSuffix(inner, string(m[1])) {
			p.literal, p.text = true, strings.TrimSuffix(inner, string(m[1]))
			return p, nil
		}
	}
	if !w.pattern(match) {
		return p, nil
	}
	var b strings.Builder
	b.WriteString(`(?s)\A(?:`)
	if match == w.AnyWords {
		b.WriteString(`.*`)
	} else {
		short := strings.ReplaceAll(match, w.Delimiter+w.AnyWords, w.AnyWords)
		for _, r := range short {
			switch c := string(r); c {
			case w.AnyWords:
				b.WriteString(`(?:` + regexp.QuoteMeta(w.Delimiter) + `.+)*`)
			case w.SingleWord:
				b.WriteString(`[^` + regexp.QuoteMeta(w.Delimiter) + `]+`)
			default:
				b.WriteString(regexp.QuoteMeta(c))
			}
		}
	}
	b.WriteString(`)\z`)
	expr, err := regexp.Compile(b.String())
	if err != nil {
		return p, fmt.Errorf("match %q: %w", short(match), err)
	}
	p.expr = expr
	return p, nil
}

// Match tells whether the pattern covers an address.
func (p Pattern) Match(address string) bool {
	if p.expr == nil {
		return p.text == address
	}
	return p.expr.MatchString(address)
}

// String is the match as it was written.
func (p Pattern) String() string { return p.match }

// pattern tells whether a match has wildcards.
func (w Wildcards) pattern(match string) bool {
	return strings.Contains(match, w.AnyWords) || strings.Contains(match, w.SingleWord)
}

// Compare orders two matches that cover one address: negative if a is more
// specific. Exact comes before literal before wildcards; without any-words
// before with; of two with it the longer one first; without single-word before
// with; of two with it the one with the first literal word where the other has a
// wildcard; else the shorter text.
func (w Wildcards) Compare(a, b Pattern) int {
	rank := func(p Pattern) int {
		switch {
		case p.literal:
			return 1
		case p.expr != nil:
			return 2
		}
		return 0
	}
	if d := rank(a) - rank(b); d != 0 {
		return d
	}
	has := func(p Pattern, c string) int {
		if strings.Contains(p.match, c) {
			return 1
		}
		return 0
	}
	if d := has(a, w.AnyWords) - has(b, w.AnyWords); d != 0 {
		return d
	}
	if has(a, w.AnyWords) == 1 {
		return len(b.match) - len(a.match)
	}
	if d := has(a, w.SingleWord) - has(b, w.SingleWord); d != 0 {
		return d
	}
	if has(a, w.SingleWord) == 1 {
		left, right := strings.Split(a.match, w.Delimiter), strings.Split(b.match, w.Delimiter)
		for i, l := range left {
			if i >= len(right) {
				return -1
			}
			switch r := right[i]; {
			case l == w.SingleWord && r != w.SingleWord:
				return 1
			case l != w.SingleWord && r == w.SingleWord:
				return -1
			}
		}
		if len(right) > len(left) {
			return 1
		}
	}
	return len(a.match) - len(b.match)
}

// Repository holds settings by match and finds those for an address. It is not
// safe for concurrent use while it is changed.
type Repository[T any] struct {
	wildcards Wildcards
	markers   string
	exact     map[string]T
	patterns  []entry[T]
}

type entry[T any] struct {
	pattern Pattern
	value   T
}

// NewRepository returns an empty repository for this syntax of matches. markers
// are the literal match markers, or empty.
func NewRepository[T any](w Wildcards, markers string) *Repository[T] {
	return &Repository[T]{wildcards: w, markers: markers, exact: map[string]T{}}
}

// Set adds a setting or replaces the one with the same match.
func (r *Repository[T]) Set(match string, value T) error {
	p, err := r.wildcards.Compile(match, r.markers)
	if err != nil {
		return err
	}
	r.Remove(match)
	if p.expr == nil && !p.literal {
		r.exact[match] = value
		return nil
	}
	i := sort.Search(len(r.patterns), func(i int) bool { return r.wildcards.Compare(p, r.patterns[i].pattern) < 0 })
	r.patterns = append(r.patterns, entry[T]{})
	copy(r.patterns[i+1:], r.patterns[i:])
	r.patterns[i] = entry[T]{p, value}
	return nil
}

// Remove takes the setting with exactly this match away and tells whether there
// was one.
func (r *Repository[T]) Remove(match string) bool {
	if _, ok := r.exact[match]; ok {
		delete(r.exact, match)
		return true
	}
	for i, e := range r.patterns {
		if e.pattern.match == match {
			r.patterns = append(r.patterns[:i:i], r.patterns[i+1:]...)
			return true
		}
	}
	return false
}

// Get returns the setting with exactly this match.
func (r *Repository[T]) Get(match string) (value T, ok bool) {
	if value, ok = r.exact[match]; ok {
		return value, true
	}
	for _, e := range r.patterns {
		if e.pattern.match == match {
			return e.value, true
		}
	}
	return value, false
}

// Find returns all settings that cover an address, the most specific first.
func (r *Repository[T]) Find(address string) []T {
	var out []T
	if v, ok := r.exact[address]; ok {
		out = append(out, v)
	}
	for _, e := range r.patterns {
		if e.pattern.Match(address) {
			out = append(out, e.value)
		}
	}
	return out
}
