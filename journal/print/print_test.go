package print

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/internal/golden"
)

func options(t *testing.T, name string) Options {
	t.Helper()
	return Options{Store: journal.StoreOptions{FS: golden.Dir(t, filepath.Join("../testdata/golden", name)), Bindings: "/data/bindings", Journal: "/data/journal",
		Paging: "/data/paging", Large: "/data/large-messages", FileSize: 102400}, MaxPages: -1, Location: time.UTC}
}

// What means nothing, or is not promised, is made equal in both texts.
var equal = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`\]@\d+`), "]@"},                  // an object's hash code
	{regexp.MustCompile(`XidImpl \(-?\d+`), "XidImpl (N"}, // the same
	{regexp.MustCompile(`(AMQP(?:Standard|Large)Message\( \[durable=\w+, messageID=\d+, address=[^,]*, size=\d+).*`), "$1"}, // AMQP sections
	{regexp.MustCompile(`userMessageID=[^;]*;msg=AMQP`), "msg=AMQP"},
	{regexp.MustCompile(`, setting=AddressSettings.*`), "}"},
	{regexp.MustCompile(`bridgeConfiguration=.*`), "bridgeConfiguration"},
	{regexp.MustCompile(`(Journal path: |folder = )\S*(/data|DATA)/`), "$1/data/"},
	// A field that an old binding lacks is its default here, and nothing there.
	{regexp.MustCompile(`(configurationManaged|internal)=null`), "$1=false"},
	// Artemis' printer fails on a record 41 with an exception and goes on without it.
	{regexp.MustCompile(`^##SubsCounter for queue=11, value=[01]$`), "##SubsCounter for queue=11"},
	{regexp.MustCompile(`AMQP(Standard|Large)Message\( \[(.*)\]$`), "AMQP${1}Message( [$2"},
}

var props = regexp.MustCompile(`TypedProperties\[([^\]]*(?:\[[0-9A-F ]*\][^\]]*)*)\]`)

func normal(text string) []string {
	var out []string
	start := strings.Index(text, "B I N D I N G S")
	for _, line := range strings.Split(text[start:], "\n") {
		if strings.HasPrefix(line, "20") && strings.Contains(line, " WARN ") || strings.HasPrefix(line, "java.lang") || strings.HasPrefix(line, "\tat ") {
			continue // its log
		}
		for _, e := range equal {
			line = e.re.ReplaceAllString(line, e.to)
		}
		line = props.ReplaceAllStringFunc(line, func(s string) string { // hash order
			p := strings.Split(strings.TrimSuffix(strings.TrimPrefix(s, "TypedProperties["), "]"), ", ")
			slices.Sort(p)
			return "TypedProperties[" + strings.Join(p, ", ") + "]"
		})
		if line = strings.TrimRight(line, " "); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// The counts per queue, and the page folders, come in hash order.
func sortBlocks(lines []string) []string {
	for i := 0; i < len(lines); i++ {
		k := i
		for k < len(lines) && strings.HasPrefix(lines[k], "queue id ") {
			k++
		}
		slices.Sort(lines[i:k])
	}
	return lines
}

func TestGoldens(t *testing.T) {
	dirs, err := filepath.Glob("../testdata/golden/*/data-print.txt.gz")
	if err != nil || len(dirs) != 26 {
		t.Fatal(len(dirs), err)
	}
	for _, d := range dirs {
		name := filepath.Base(filepath.Dir(d))
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			o := options(t, name)
			o.NodeID = "the-id"
			if err := Data(&out, o); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(out.String(), rule+"\nServer's ID=the-id\n"+rule+"\n\n"+rule+"\nB I N D I N G S  J O U R N A L\n") {
				t.Errorf("begins %q", out.String()[:200])
			}
			if name == "hand" || name == "hand512" {
				// Artemis has opened the address for writing, and a new page behind the torn one: printing changes nothing here.
				out = *bytes.NewBufferString(strings.Replace(out.String(), "Number of pages ::2, Current writing page ::2", "Number of pages ::3, Current writing page ::3", 1) + "*******   Page 3\n")
			}
			got, want := sortBlocks(normal(out.String())), sortBlocks(normal(string(golden.Gunzip(t, d))))
			diff := 0
			for i := 0; i < max(len(got), len(want)) && diff < 5; i++ {
				var g, w string
				if i < len(got) {
					g = got[i]
				}
				if i < len(want) {
					w = want[i]
				}
				if g != w {
					t.Errorf("line %d:\n got  %s\n want %s", i, g, w)
					diff++
				}
			}
		})
	}
}

func TestOptions(t *testing.T) {
	o := options(t, "paging")
	o.Safe, o.SkipBindings, o.MaxPages = true, true, 1
	var out bytes.Buffer
	if err := Data(&out, o); err != nil {
		t.Fatal(err)
	}
	s := out.String()
	if strings.Contains(s, "B I N D I N G S") || strings.Contains(s, "CoreMessage") || strings.Contains(s, "Page 4") || !strings.Contains(s, "(safe data)") {
		t.Error("not trimmed")
	}
	// Reclaimed records are those of a file's former use.
	plain, all := options(t, "compact"), options(t, "compact")
	all.Reclaimed = true
	var a, b bytes.Buffer
	if err := Data(&a, plain); err != nil {
		t.Fatal(err)
	}
	if err := Data(&b, all); err != nil {
		t.Fatal(err)
	}
	if strings.Count(b.String(), "operation@") <= strings.Count(a.String(), "operation@") {
		t.Error("no reclaimed record was printed")
	}
}
