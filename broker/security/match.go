package security

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Wildcards is the syntax of matches. The zero value is the default one: ".", "#" and "*".
type Wildcards struct {
	Delimiter  string // between words
	AnyWords   string // any number of words, at the end of a match only
	SingleWord string // one word, or one part of a word that is not empty
}

func (w Wildcards) orDefault() Wildcards {
	if w.Delimiter == "" {
		w.Delimiter = "."
	}
	if w.AnyWords == "" {
		w.AnyWords = "#"
	}
	if w.SingleWord == "" {
		w.SingleWord = "*"
	}
	return w
}

func (w Wildcards) isWild(match string) bool {
	return strings.Contains(match, w.AnyWords) || strings.Contains(match, w.SingleWord)
}

// ErrMatch is wrapped by the error for a match that is none.
var ErrMatch = errors.New("AMQ229071: # can only be at end of match")

// compile makes the regular expression of a wild match. "a.#" covers "a" and all below it; in difference to wildcard
// addresses, "*" takes at least one character. Characters other than wildcards are literal: Artemis lets its users
// write regular expressions there by accident.
func (w Wildcards) compile(match string) (*regexp.Regexp, error) {
	if match == w.AnyWords {
		return regexp.MustCompile(`(?s)\A.*\z`), nil
	}
	delimiter := regexp.QuoteMeta(w.Delimiter)
	head, tail, any := strings.Cut(match, w.AnyWords)
	if tail != "" {
		return nil, fmt.Errorf("match %q: %w", match, ErrMatch)
	}
	if any {
		head = strings.TrimSuffix(head, w.Delimiter)
	}
	var re strings.Builder
	re.WriteString(`(?s)\A`)
	for i, part := range strings.Split(head, w.SingleWord) {
		if i > 0 {
			re.WriteString(`[^` + delimiter + `]+`)
		}
		re.WriteString(regexp.QuoteMeta(part))
	}
	if any {
		re.WriteString(`(?:` + delimiter + `.+)*`)
	}
	re.WriteString(`\z`)
	compiled, err := regexp.Compile(re.String())
	if err != nil {
		return nil, fmt.Errorf("match %q: %w", match, err)
	}
	return compiled, nil
}

// compare orders wild matches, the most specific first: without AnyWords before with it, among these the longer first;
// without SingleWord before with it, among these the one with a literal word where the other has SingleWord; then the
// shorter. Where Artemis leaves it open, two of the same length with AnyWords, the rules after that decide.
func (w Wildcards) compare(a, b string) int {
	aAny, bAny := strings.Contains(a, w.AnyWords), strings.Contains(b, w.AnyWords)
	aOne, bOne := strings.Contains(a, w.SingleWord), strings.Contains(b, w.SingleWord)
	switch {
	case aAny != bAny:
		return order(bAny)
	case aAny && len(a) != len(b):
		return len(b) - len(a)
	case aOne != bOne:
		return order(bOne)
	}
	left, right := strings.Split(a, w.Delimiter), strings.Split(b, w.Delimiter)
	for i := range min(len(left), len(right)) {
		if l, r := left[i] == w.SingleWord, right[i] == w.SingleWord; l != r {
			return order(r)
		}
	}
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// order is the sign that puts a first.
func order(aFirst bool) int {
	if aFirst {
		return -1
	}
	return 1
}

// wildSetting is a setting of a wild match.
type wildSetting struct {
	pattern *regexp.Regexp
	*Setting
}

func (w Wildcards) sort(settings []wildSetting) {
	slices.SortFunc(settings, func(a, b wildSetting) int { return w.compare(a.Match, b.Match) })
}
