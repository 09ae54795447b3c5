package drill

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestHTML: the page is well-formed, needs nothing from elsewhere, has no script, and shows what text brings along as text.
func TestHTML(t *testing.T) {
	w := newWorld()
	w.take(w.send(Acknowledged, w.one), Acknowledged, w.one)
	w.send(Acknowledged, w.one)
	w.c.Stranger(`<script>alert("1")</script>`)
	r := &Report{Drill: "failover", Verdict: Check(w.h), Service: Service{Longest: Gap{4 * second, 5 * second}, Gaps: []Gap{{4 * second, 5 * second}}}, Timeline: failedOver(),
		Problem: "1 < 2 & so on", Nodes: []Status{{URL: "tcp://a:61616?password=secret", Serves: true, Active: true, Name: "a", Sequence: 3}}}
	var b bytes.Buffer
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	d := xml.NewDecoder(strings.NewReader(page))
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, page)
		}
		if e, ok := token.(xml.StartElement); ok {
			if e.Name.Local == "script" || e.Name.Local == "link" {
				t.Errorf("there is a %s", e.Name.Local)
			}
			for _, a := range e.Attr {
				if a.Name.Local == "src" || a.Name.Local == "href" {
					t.Errorf("%s has %s", e.Name.Local, a.Name.Local)
				}
			}
		}
	}
	for _, text := range []string{"Failover drill", "FAILED", "b.example.com:61616 is active", "prefers-color-scheme: dark", "1 &lt; 2 &amp; so on", "alert("} {
		if !strings.Contains(page, text) {
			t.Errorf("the page has no %q", text)
		}
	}
	if strings.Contains(page, "secret") {
		t.Error("the page tells a password")
	}
	if bad := regexp.MustCompile(`NaN|Inf|ZgotmplZ|%!`).FindString(page); bad != "" {
		t.Errorf("the page has %s", bad)
	}
	if to := os.Getenv("DRILL_PAGE"); to != "" { // to be looked at
		if err := os.WriteFile(filepath.Clean(to), b.Bytes(), 0o600); err != nil {
			t.Error(err)
		}
	}
	if err := (&Report{Verdict: &Verdict{}}).WriteHTML(io.Discard); err != nil {
		t.Errorf("an empty one: %v", err)
	}
}
