package architecture

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// places are paths of the machines the project is worked on, and hosts that packages come from: a file that names one
// works on that machine only. They are written so that this file does not name them.
var places = []*regexp.Regexp{
	regexp.MustCompile(`(^|[^\w.}-])/[w]ork/(main|shared)\b`),
	regexp.MustCompile(`(^|[^\w.}-])/[r]oot/`),
	regexp.MustCompile(`/tmp/[s]aranga/`),
	regexp.MustCompile(`\b(proxy|sum)\.[g]olang\.org\b`),
	regexp.MustCompile(`\brepo1?\.[m]aven\b`),
	regexp.MustCompile(`\b(deb|security)\.[d]ebian\.org\b`),
}

// TestNoPlaces reads every text file of the project.
func TestNoPlaces(t *testing.T) {
	walk(t, func(file string) {
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Error(err)
			return
		}
		if bytes.IndexByte(content, 0) >= 0 { // captured bytes
			return
		}
		for _, p := range places {
			if at := p.FindIndex(content); at != nil {
				t.Errorf("%s:%d names %q", file, 1+bytes.Count(content[:at[0]], []byte("\n")), bytes.TrimSpace(content[at[0]:at[1]]))
			}
		}
	})
}

func TestPlacesMatch(t *testing.T) {
	for text, want := range map[string]bool{
		"cd /" + "work/main && make":            true,
		"at /" + "root/.m2":                     true,
		"/" + "root/x at the beginning":         true,
		"the URL http://h/" + "root/x":          false,
		"deployment/work" + "/main":             false,
		"GOPROXY=https://proxy." + "golang.org": true,
	} {
		got := false
		for _, p := range places {
			got = got || p.MatchString(text)
		}
		if got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
