package main

import (
	"strings"
	"testing"
	"time"
)

func TestEntry(t *testing.T) {
	e := entry{Began: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), Took: 61 * time.Minute, Seed: 5, Commit: "abc", Machine: "2 cores",
		Results: []result{{"kill", true, 70 * time.Second, time.Minute, "200 lives"}, {"swap", false, time.Second, 0, "a|b"}}}
	want := "\n## 2026-01-02 03:04 UTC, FAILED\n\nCommit abc. 2 cores. Seed 5, 1h1m0s.\n\n" +
		"| step | | took | CPU | |\n| --- | --- | --- | --- | --- |\n| kill | passed | 1m10s | 1m0s | 200 lives |\n| swap | FAILED | 1s | 0s | a\\|b |\n"
	if got := e.markdown(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if e.err() == nil {
		t.Error("a run with a failed step has failed")
	}
	e.Results = e.Results[:1]
	if e.err() != nil || !strings.Contains(e.markdown(), "UTC, passed") {
		t.Error("a run without a failed step has passed")
	}
	if (entry{}).err() == nil {
		t.Error("a run without steps has not passed")
	}
}
