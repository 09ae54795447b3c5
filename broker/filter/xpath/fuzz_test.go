package xpath

import "testing"

// Any text is an expression or an error, any text a document or an error, and evaluation ends within its work. An
// expression gives one answer every time.
func FuzzXPath(f *testing.F) {
	_, documents, expressions := golden(f)
	for i, c := range expressions {
		f.Add(c[0], documents[i%len(documents)])
	}
	for _, c := range hostile {
		f.Add(c, "<r><a n='1'>x<a/></a></r>")
	}
	f.Fuzz(func(t *testing.T, expression, text string) {
		x, err := Compile(expression)
		if err != nil {
			return
		}
		first, err := Parse(text, x.Namespaces())
		if err != nil {
			return
		}
		for i, n := range first.nodes {
			if n.end <= int32(i) || int(n.end) > len(first.nodes) || n.parent >= int32(i) || n.next != 0 && n.next != n.end {
				t.Fatalf("node %d of %q: %+v", i, text, n)
			}
		}
		answer := x.Holds(first)
		if first.work < 0 {
			t.Fatalf("%d units of work left", first.work)
		}
		second, err := Parse(text, x.Namespaces())
		if err != nil || x.Holds(second) != answer {
			t.Fatalf("%q on %q gives two answers, %v", expression, text, err)
		}
	})
}
