package main

import (
	"strings"
	"testing"
	"time"
)

func TestFacts(t *testing.T) {
	for _, c := range []struct{ name, out, want string }{
		{"go test of the crash suite",
			"=== RUN   TestKill\n    bench_test.go:61: seed 7 (-seed 7 does the same choices again)\n    bench_test.go:293: seed 7: 200 lives, 12 units of work\n--- PASS: TestKill (9.00s)\nPASS\n",
			"1 tests passed, 0 failed; 200 lives, 12 units of work"},
		{"subtests count", "--- FAIL: TestJMS (1.00s)\n    --- PASS: TestJMS/a (0.00s)\n    --- FAIL: TestJMS/b (0.00s)\n", "1 tests passed, 2 failed"},
		{"fuzzing: the last line counts",
			"fuzz: elapsed: 0s, gathering baseline coverage: 4/4 completed, now fuzzing with 1 workers\nfuzz: elapsed: 3s, execs: 10 (3/sec), new interesting: 1 (total: 5)\nfuzz: elapsed: 6s, execs: 6450 (3186/sec), new interesting: 27 (total: 31)\nPASS\n",
			"6450 inputs, corpus of 31"},
		{"nothing", "panic: oh\n", ""},
	} {
		if got := facts(c.out); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestEntry(t *testing.T) {
	e := entry{Began: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), Took: 61 * time.Minute, Seed: 5, About: "Commit abc.",
		Results: []result{{"kill", true, 70 * time.Second, "200 lives"}, {"swap", false, time.Second, "a|b"}}}
	want := "\n## 2026-01-02 03:04 UTC, FAILED\n\nCommit abc. Seed 5, 1h1m0s.\n\n" +
		"| step | | took | |\n| --- | --- | --- | --- |\n| kill | passed | 1m10s | 200 lives |\n| swap | FAILED | 1s | a\\|b |\n"
	if got := e.markdown(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	e.Results = e.Results[:1]
	if !e.passed() || !strings.Contains(e.markdown(), "UTC, passed") {
		t.Error("a run without a failed step has passed")
	}
	if (entry{}).passed() {
		t.Error("a run without steps has not passed")
	}
}
