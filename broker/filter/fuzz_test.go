package filter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Any text is a filter or an error. A filter survives a second parse of its own text, gives one answer every time,
// and is not changed by the translation from JMS unless it has JMS names.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/selectors/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds: ", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			f.Add(strings.TrimSpace(line))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := Parse(text)
		if (err != nil) && parsed != nil {
			t.Fatal("a filter and an error")
		}
		translated := FromJMS(text)
		if parsed == nil {
			return
		}
		if strings.Contains(text, "JMS") || strings.Contains(text, "PERSISTENT") {
			if _, err := Parse(translated); err != nil {
				t.Fatalf("%q translates to %q: %v", text, translated, err)
			}
		} else if translated != text {
			t.Fatalf("%q became %q", text, translated)
		}
		again, err := Parse(parsed.String())
		if err != nil {
			t.Fatalf("%q does not parse again: %v", parsed, err)
		}
		if parsed.Match(goldenMessage()) != again.Match(goldenMessage()) {
			t.Fatalf("%q gives two answers", text)
		}
	})
}
