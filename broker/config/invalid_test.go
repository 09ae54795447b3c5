package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What Artemis 2.40.0 did with each golden/config/invalid file: starts, and then
// a piece of the warning it logged; or refuses, with the element at fault and a
// piece of the message. ours marks where this broker refuses what Artemis starts,
// because the element isn't built yet.
var invalidCases = []struct {
	name   string
	starts bool
	ours   bool
	line   int
	want   string
}{
	{name: "bad-address-full-policy", line: 128, want: "FOO"},
	{name: "bad-enc-password", line: 15, want: "not encrypted"},
	{name: "bad-journal-type", line: 21, want: "FLOPPY"},
	{name: "bad-size-suffix", line: 44, want: "AMQ209004"},
	{name: "boolean-uppercase-TRUE", line: 15, want: "TRUE"},
	{name: "bridge-missing-queue", ours: true, line: 15, want: "bridges"},
	{name: "cluster-connection-unknown-connector-ref", starts: true, want: "AMQ222217"},
	{name: "divert-without-address", line: 15, want: "element address is missing"},
	{name: "duplicate-acceptor-name", starts: true, want: "twice"},
	{name: "duplicate-element", line: 15, want: "twice"},
	{name: "fractional-size", line: 44, want: "AMQ209004"},
	{name: "invalid-boolean", line: 15, want: "maybe"},
	{name: "invalid-queue-filter", starts: true},
	{name: "malformed-xml", line: 183, want: "core"},
	{name: "max-disk-usage-200", line: 68, want: "AMQ229214"},
	{name: "negative-journal-file-size", line: 44, want: "AMQ229226"},
	{name: "no-core-element", line: 2, want: "no core element"},
	{name: "non-numeric-int", line: 38, want: "abc"},
	{name: "port-in-use-same-acceptor", starts: true}, // the bind fails later
	{name: "property-with-default", starts: true},
	{name: "size-suffix-MiB-KB-lowercase", starts: true},
	{name: "unknown-acceptor-parameter", starts: true},
	{name: "unknown-acceptor-scheme", line: 98, want: `"foo"`},
	{name: "unknown-element-in-core", line: 15, want: "no such element"},
	{name: "unknown-permission-type", starts: true, want: "AMQ222177"},
	{name: "unknown-protocol-in-acceptor", starts: true, want: "AMQ222203"},
	{name: "unresolved-property", line: 38, want: "AMQ219054"},
	{name: "xinclude-missing-file", line: 165, want: "nope.xml"},
}

func TestInvalidGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/invalid/*.broker.xml")
	if err != nil || len(files) != len(invalidCases) {
		t.Fatalf("%d files for %d cases (%v)", len(files), len(invalidCases), err)
	}
	for _, c := range invalidCases {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join("testdata", "invalid", c.name+".broker.xml")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, warns, err := ParseBroker(file, string(text), nil)
			if c.starts {
				if err != nil {
					t.Fatalf("Artemis starts with it, but: %v", err)
				}
				found := c.want == ""
				for _, w := range warns {
					found = found || strings.Contains(w.String(), c.want)
				}
				if !found {
					t.Errorf("no warning has %q: %v", c.want, warns)
				}
				return
			}
			var errs Errors
			if !errors.As(err, &errs) {
				t.Fatalf("Artemis refuses it, but it was accepted (%v)", err)
			}
			if len(errs) != 1 {
				t.Fatalf("%d errors, want 1: %v", len(errs), errs)
			}
			if e := errs[0]; !strings.Contains(e.Error(), c.want) || e.File != file || e.Line != c.line || e.Remedy == "" {
				t.Errorf("error %v, want line %d and %q", e, c.line, c.want)
			}
		})
	}
}
