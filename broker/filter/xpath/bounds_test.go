package xpath

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestExpressionBounds(t *testing.T) {
	nested := func(open, close string, n int) string {
		return strings.Repeat(open, n) + "1" + strings.Repeat(close, n)
	}
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"parentheses":          {nested("(", ")", MaxNesting-1), true},
		"too many parentheses": {nested("(", ")", MaxNesting), false},
		"too many calls":       {nested("not(", ")", MaxNesting), false},
		"too many predicates":  {nested("a[", "]", MaxNesting), false},
		"operators":            {"1" + strings.Repeat("+1", MaxOperators), true},
		"too many operators":   {"1" + strings.Repeat("+1", MaxOperators+1), false},
		"too many steps":       {"a" + strings.Repeat("/a", MaxOperators), false},
		"too many conditions":  {"a" + strings.Repeat("[1]", MaxOperators), false},
		"very long":            {strings.Repeat("(", 60000), false},
		"many minuses":         {strings.Repeat("-", 60000) + "1", false},
	} {
		if _, err := Compile(c.text); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// hostile are expressions that would take a long time, or much memory, on a large document.
var hostile = []string{
	"//a[count(//a) = 0]", "//a[.//a[.//a]]/b", "//a//a//a//a//b", "//*[contains(/, 'nosuch')]", "//a[preceding::a[preceding::a]]/b",
	"count(//a/ancestor::*/descendant::*/following::*) = 0", "//a != //a", "//a = //nosuch or //a < //a", "//@n = //a/b",
	"concat(/, /, /, /, /, /, /, /) = concat(/, /, /)", "//a[string-length(concat(/, /, /, /)) = 1]", "//a[translate(/, 'x', 'y') = '']",
	"//a[contains('" + strings.Repeat("x", 30000) + "', 'y')]", "sum(//a/ancestor::*//a) = 1", "//a[lang('x')]", "//a[id('x') or normalize-space(/) = '']",
	"//a[last() = 0 and //a]" + strings.Repeat("[//a]", 20), "//namespace::*/..//namespace::*[. = 'x']",
}

// documents that hostile expressions meet.
func hostileDocuments() []string {
	deep := strings.Repeat("<a n='1'>", MaxDepth-1) + strings.Repeat("x", 200<<10) + strings.Repeat("</a>", MaxDepth-1)
	attributes := "<a"
	for i := range MaxAttributes {
		attributes += fmt.Sprintf(" n%d=''", i)
	}
	attributes = "<a>" + strings.Repeat(attributes+"/>", 250_000/len(attributes)) + "</a>"
	return []string{"<r>" + strings.Repeat("<a n='1'>xxxxxxxx</a>", 10000) + "</r>", "<r>" + deep + "</r>", attributes}
}

// The work on a document is bounded, and that bounds time and memory.
func TestWorkIsBounded(t *testing.T) {
	for i, text := range hostileDocuments() {
		for _, expression := range hostile {
			x, err := Compile(expression)
			if err != nil {
				t.Fatalf("%.50s: %v", expression, err)
			}
			d, err := Parse(text, x.Namespaces())
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if x.Holds(d) && d.work == 0 {
				t.Errorf("document %d, %.50s: holds without work left", i, expression)
			}
			runtime.ReadMemStats(&after)
			if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 32 {
				t.Errorf("document %d, %.50s: %d MiB", i, expression, n)
			}
			if i == 0 && strings.HasPrefix(expression, "//a[count") && d.work != 0 {
				t.Errorf("%s: %d units are left", expression, d.work)
			}
		}
	}
}

func BenchmarkHostile(b *testing.B) {
	for i, text := range hostileDocuments() {
		for _, expression := range hostile {
			x, err := Compile(expression)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%d/%.30s", i, expression), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					d, err := Parse(text, x.Namespaces())
					if err != nil {
						b.Fatal(err)
					}
					x.Holds(d)
				}
			})
		}
	}
}

func BenchmarkOrder(b *testing.B) {
	const text = `<order id="17"><item n="1" price="9.50"><name>Nut</name></item><item n="2" price="20"><name>Bolt</name></item></order>`
	x, err := Compile("/order/item[@price > 10]")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		d, err := Parse(text, false)
		if err != nil || !x.Holds(d) {
			b.Fatal(err)
		}
	}
}
