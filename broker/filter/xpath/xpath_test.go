package xpath

import (
	"os"
	"strings"
	"testing"
)

// differs are the documents for which we differ by intent: no document type is read.
const differs = "dtd"

// golden reads testdata/java.txt.
func golden(t testing.TB) (names, documents []string, expressions [][2]string) {
	b, err := os.ReadFile("testdata/java.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "body "):
			name, document, _ := strings.Cut(line[5:], " ")
			names, documents = append(names, name), append(documents, strings.ReplaceAll(document, `\n`, "\n"))
		case strings.HasPrefix(line, "["):
			want, expression, _ := strings.Cut(line[1:], "] ")
			expressions = append(expressions, [2]string{expression, want})
		}
	}
	return names, documents, expressions
}

// TestGolden states what Java makes of expressions and documents.
func TestGolden(t *testing.T) {
	names, documents, expressions := golden(t)
	if len(expressions) < 500 {
		t.Fatal(len(expressions), "expressions")
	}
	all := holding(t, "1", names, documents)
	for _, c := range expressions {
		want := strings.ReplaceAll(c[1], "ALL", all)
		want = strings.Join(strings.Fields(strings.ReplaceAll(" "+want+" ", " "+differs+" ", " ")), " ")
		if got := holding(t, c[0], names, documents); got != want {
			t.Errorf("%s\n\t holds for %s\n\twant      %s", c[0], got, want)
		}
	}
}

func holding(t *testing.T, text string, names, documents []string) string {
	x, err := Compile(text)
	if err != nil {
		return "invalid"
	}
	var list []string
	for i, document := range documents {
		if d, err := Parse(document, x.Namespaces()); err == nil && names[i] != differs && x.Holds(d) {
			list = append(list, names[i])
		}
	}
	return strings.Join(list, " ")
}
