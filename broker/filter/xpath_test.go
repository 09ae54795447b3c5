package filter

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/broker/filter/xpath"
)

// bodied is a message with a body that counts how often it is asked for.
type bodied struct {
	message
	body string
	text bool
	read int
}

func (b *bodied) StringBody(limit int) (string, bool) {
	b.read++
	return b.body, b.text && len(b.body) <= limit
}

func TestXPath(t *testing.T) {
	golden, err := os.ReadFile("testdata/xpath.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(golden)) {
		want, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		got := "invalid"
		if f, err := Parse(text); err == nil {
			got = fmt.Sprint(f.Match(&bodied{message: message{"i": Int(5)}, body: `<r><a n="5"/></r>`, text: true}))
		}
		if want == "fails" { // the message does not match
			want = "false"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// XPATH is false, not unknown, for what is not XML text.
func TestXPathOfOtherBodies(t *testing.T) {
	is, _ := Parse("XPATH '/'")
	not, _ := Parse("NOT XPATH '/'")
	for name, src := range map[string]Source{
		"no body":  message{},
		"no text":  &bodied{body: "<a/>"},
		"no XML":   &bodied{body: "a", text: true},
		"two":      &bodied{body: "<a/><a/>", text: true},
		"too long": &bodied{body: "<a>" + strings.Repeat(" ", xpath.MaxText) + "</a>", text: true},
		"too deep": &bodied{body: strings.Repeat("<a>", xpath.MaxDepth+1) + strings.Repeat("</a>", xpath.MaxDepth+1), text: true},
	} {
		if is.Match(src) || !not.Match(src) {
			t.Errorf("%s: not false", name)
		}
	}
}

// The body is read once, and not at all when the properties decide.
func TestBodyIsReadWhenAskedFor(t *testing.T) {
	for text, want := range map[string]int{
		"i = 5": 0, "i = 6 AND XPATH '//a'": 0, "i = 5 OR XPATH '//a'": 0, "XQUERY 'x'": 0,
		"i = 5 AND XPATH '//a'": 1, "XPATH '//b' OR XPATH '//c' OR XPATH '//d'": 1,
	} {
		f, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		b := &bodied{message: message{"i": Int(5)}, body: "<a/>", text: true}
		if f.Match(b); b.read != want {
			t.Errorf("%s: read %d times, want %d", text, b.read, want)
		}
	}
}

// The expressions of a filter share the work that a document is worth.
func TestXPathBudgetOfAFilter(t *testing.T) {
	body := "<r>" + strings.Repeat("<a/>", 30000) + "</r>"
	const expensive = "XPATH '//a[count(//a) = 0]'"
	f, err := Parse("XPATH '//a' AND NOT " + expensive + " AND XPATH '//a'")
	if err != nil {
		t.Fatal(err)
	}
	if f.Match(&bodied{body: body, text: true}) {
		t.Error("there is work left behind an expensive expression")
	}
}
