package filter

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A pattern matches what the regular expression with .* for % and . for _ matches.
func TestLikeIsItsRegularExpression(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOf(rapid.SampledFrom([]rune("aab%_é\n")))
		like := letters.Draw(t, "pattern")
		text := rapid.StringOf(rapid.SampledFrom([]rune("aabé\n"))).Draw(t, "text")
		var re strings.Builder
		re.WriteString(`(?s)\A`)
		for _, r := range like {
			switch r {
			case '%':
				re.WriteString(".*")
			case '_':
				re.WriteString(".")
			default:
				re.WriteString(regexp.QuoteMeta(string(r)))
			}
		}
		re.WriteString(`\z`)
		want := regexp.MustCompile(re.String()).MatchString(text)
		p := compileLike(like, 0)
		if got := p.match(text); got != want {
			t.Fatalf("%q LIKE %q = %v, want %v", text, like, got, want)
		}
	})
}

// A backtracking matcher takes practically forever for this one.
func TestLikeDoesNotBacktrack(t *testing.T) {
	text := strings.Repeat("a", 1<<20)
	p := compileLike(strings.Repeat("%a", 1000)+"%b", 0)
	start := time.Now()
	if p.match(text) {
		t.Error("matched a text without b")
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
}
