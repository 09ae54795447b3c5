package filter

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestSelectors runs the scripts in testdata. Each line of an "eval" is a filter (with \n, \r, \t and \f for those
// characters) on the golden message; the answer in front of it is what Artemis gave.
func TestSelectors(t *testing.T) {
	unescape := strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\f`, "\f")
	datadriven.Walk(t, "testdata/selectors", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "eval" {
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				line = strings.TrimSuffix(line, "\n")
				fmt.Fprintf(&out, "%-7s %s\n", answer(unescape.Replace(line)), line)
			}
			return out.String()
		})
	})
}

func answer(text string) string {
	f, err := Parse(text)
	if err != nil {
		return "invalid"
	}
	outcome := matches(f.root, goldenMessage())
	if f.Match(goldenMessage()) != (outcome == yes) {
		return "Match differs"
	}
	return [...]string{no: "no", yes: "match", fails: "error"}[outcome]
}

func TestNoFilter(t *testing.T) {
	for _, text := range []string{"", " ", "\n\t"} {
		f, err := Parse(text)
		if f != nil || err != nil {
			t.Errorf("Parse(%q) = %v, %v, want no filter and no error", text, f, err)
		}
	}
	var none *Filter
	if !none.Match(message{}) || none.String() != "" {
		t.Error("the nil filter does not match everything or has a text")
	}
}

func TestText(t *testing.T) {
	f, err := Parse("  convert_string_expressions: a = 1 \n")
	if err != nil || f.String() != "convert_string_expressions: a = 1" {
		t.Errorf("got %q, %v", f, err)
	}
}

func TestErrors(t *testing.T) {
	deep := func(open, close string, n int) string {
		return strings.Repeat(open, n) + "a" + strings.Repeat(close, n)
	}
	for _, c := range []struct {
		name, text string
		offset     int
		reason     string
	}{
		{"xpath", "XPATH a", 6, `found "a", want a string`},
		{"xquery", "a AND XQUERY", 12, "want a string"},
		{"bad character", "a = 5;", 5, `unexpected character ";"`},
		{"open string", "a = 'x", 4, "closing quote"},
		{"open comment", "a /* b", 2, "comment without an end"},
		{"missing value", "a =", 3, "found end of the filter, want a value"},
		{"missing parenthesis", "(a = 5", 6, "want )"},
		{"too much", "a = 5)", 5, `found ")", want an operator or the end`},
		{"null", "a = NULL", 2, "use IS NULL"},
		{"ordered string", "a > 'x'", 2, "has no order"},
		{"value alone", "a + 1", 5, "not a condition"},
		{"parentheses", deep("(", ")", MaxDepth), MaxDepth, "nested more than 512 deep"},
		{"NOT", deep("NOT ", "", MaxDepth+1), 0, "nested more than 512 deep"},
		{"minus", deep("- ", "", MaxDepth+1), 0, "nested more than 512 deep"},
		{"sum", "a = 1" + strings.Repeat("+1", MaxDepth+1), 0, "nested more than 512 deep"},
		{"equals", deep("", "=b", MaxDepth+1), 0, "nested more than 512 deep"},
		{"orders", deep("", " NOT LIKE 'x'", MaxDepth), 0, "nested more than 512 deep"},
		{"length", "a = '" + strings.Repeat("x", MaxLength) + "'", MaxLength, "longer than 65536 bytes"},
	} {
		f, err := Parse(c.text)
		syntax, ok := err.(*SyntaxError)
		if !ok || f != nil {
			t.Errorf("%s: got %v, %v, want a syntax error", c.name, f, err)
			continue
		}
		if !strings.Contains(syntax.Reason, c.reason) || c.offset != 0 && syntax.Offset != c.offset {
			t.Errorf("%s: got %d, %q, want %d, %q", c.name, syntax.Offset, syntax.Reason, c.offset, c.reason)
		}
		if len(err.Error()) > 400 {
			t.Errorf("%s: error of %d bytes", c.name, len(err.Error()))
		}
	}
}

// Chains of OR and AND and lists of IN are as long as the text allows.
func TestLongFilters(t *testing.T) {
	or := strings.Repeat("i = 6 OR ", 7000) + "i = 5"
	in := "s IN ('x'" + strings.Repeat(",'y'", 16000) + ",'red')"
	for _, text := range []string{or, in, "NOT (" + strings.Repeat("i = 5 AND ", 6000) + "i = 6)"} {
		if got := answer(text); got != "match" {
			t.Errorf("%.20s…: %s, want match", text, got)
		}
	}
}

func TestConcatenationIsBounded(t *testing.T) {
	big := message{"s": String(strings.Repeat("x", maxConcat/2+1))}
	f, err := Parse("s + s LIKE 'x%' OR TRUE")
	if err != nil || f.Match(big) {
		t.Errorf("a string beyond the bound was built: %v", err)
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	var src Source = goldenMessage()
	for _, text := range []string{
		"s = 'red' AND i BETWEEN 1 AND 9",
		"s LIKE 'r%' OR s IN ('a','b')",
		"s IN ('a','b','c','d','e','f','g','h','red')",
		"uni LIKE '%_b' AND NOT (d * 2 + i > 20)",
		"AMQPriority > 4 AND AMQDurable = 'DURABLE' AND nope IS NULL",
		"convert_string_expressions:sn = 5 AND sf > 5.0",
	} {
		f, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if !f.Match(src) {
			t.Errorf("%s: no match", text)
		}
		if n := testing.AllocsPerRun(100, func() { f.Match(src) }); n != 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}

// The names follow the client of Artemis, which translates before it sends.
func TestFromJMS(t *testing.T) {
	for _, c := range []struct{ jms, want string }{
		{"JMSPriority = 7", "AMQPriority = 7"},
		{"JMSDeliveryMode='PERSISTENT' AND x = 1", "AMQDurable='DURABLE' AND x = 1"},
		{"JMSDeliveryMode <> 'NON_PERSISTENT'", "AMQDurable <> 'NON_DURABLE'"},
		{"JMSMessageID = 'ID:JMSPriority' or JMSTimestamp>5", "AMQUserID = 'ID:JMSPriority' or AMQTimestamp>5"},
		{"(JMSExpiration = 0) AND JMSXGroupID IN ('a''JMSPriority','b')", "(AMQExpiration = 0) AND AMQGroupID IN ('a''JMSPriority','b')"},
		{"JMSType = 'x' AND JMSCorrelationID = 'y'", "JMSType = 'x' AND JMSCorrelationID = 'y'"},
		{"MyJMSPriority = 1 /* JMSPriority */", "MyJMSPriority = 1 /* JMSPriority */"},
		{"hyphenated_props:JMSPriority-x = 1 AND JMSPriority = 2", "hyphenated_props:JMSPriority-x = 1 AND AMQPriority = 2"},
		{"convert_string_expressions:JMSPriority = '4'", "convert_string_expressions:AMQPriority = '4'"},
		{"color = 'red'", "color = 'red'"},
		{"JMSPriority = 'open", "AMQPriority = 'open"},
		{"", ""},
	} {
		if got := FromJMS(c.jms); got != c.want {
			t.Errorf("FromJMS(%q) = %q, want %q", c.jms, got, c.want)
		}
	}
}
