package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFacts(t *testing.T) {
	for _, c := range []struct{ name, out, want string }{
		{"go test of the crash suite",
			"=== RUN   TestKill\n    bench_test.go:61: seed 7 (-seed 7 does the same choices again)\n    bench_test.go:293: seed 7: 200 lives, 12 units of work\n--- PASS: TestKill (9.00s)\nPASS\n",
			"1 tests passed, 0 failed; 200 lives, 12 units of work"},
		{"write points", "=== RUN   TestCrashAtEveryWritePoint\n    memory_test.go:307: 1234 write points\n--- PASS: TestCrashAtEveryWritePoint (9.00s)\nPASS\n",
			"1 tests passed, 0 failed; 1234 write points"},
		{"subtests count", "--- FAIL: TestJMS (1.00s)\n    --- PASS: TestJMS/a (0.00s)\n    --- FAIL: TestJMS/b (0.00s)\n", "1 tests passed, 2 failed"},
		{"fuzzing: the last line counts",
			"fuzz: elapsed: 0s, gathering baseline coverage: 4/4 completed, now fuzzing with 1 workers\nfuzz: elapsed: 3s, execs: 10 (3/sec), new interesting: 1 (total: 5)\nfuzz: elapsed: 6s, execs: 6450 (3186/sec), new interesting: 27 (total: 31)\nPASS\n",
			"6450 executions, 27 new inputs of interest, 31 in all"},
		{"fuzzing that did not get to new inputs",
			"fuzz: elapsed: 0s, gathering baseline coverage: 0/400 completed\nfuzz: elapsed: 2s, gathering baseline coverage: 3/400 completed\nPASS\n",
			"no more than 3 of 400 known inputs"},
		{"nothing", "panic: oh\n", ""},
	} {
		if got := facts(c.out); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestTestFailure(t *testing.T) {
	ended := errors.New("exit status 1")
	for _, c := range []struct {
		name, out string
		err       error
		fails     bool
	}{
		{"passed", "--- PASS: TestKill (9.00s)\nPASS\n", nil, false},
		{"failed", "--- PASS: TestKill (9.00s)\n--- FAIL: TestKillJMS (9.00s)\nFAIL\n", ended, true},
		{"the end of -run's pattern", "testing: warning: no tests to run\nPASS\n", nil, true},
		{"skipped", "--- PASS: TestKill (9.00s)\n--- SKIP: TestKillJMS (0.00s)\nPASS\n", nil, true},
	} {
		if err := testFailure(c.out, c.err); (err != nil) != c.fails {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestStepKeepsOutput runs commands that are no tests: what they print is kept, and how they end decides.
func TestStepKeepsOutput(t *testing.T) {
	logs := t.TempDir()
	var progress bytes.Buffer
	s := step{name: "say, and fail", command: []string{"sh", "-c", "echo said; echo complained >&2; exit 3"}, failure: func(_ string, err error) error { return err }}
	if r := s.run(t.Context(), logs, &progress); r.Passed || r.Name != s.name {
		t.Errorf("result %+v", r)
	}
	text, err := os.ReadFile(filepath.Join(logs, "say-and-fail.log"))
	if err != nil || string(text) != "said\ncomplained\n" {
		t.Errorf("kept %q, %v", text, err)
	}
	if !strings.Contains(progress.String(), "complained") {
		t.Errorf("progress does not show the output of a failure: %s", &progress)
	}
	s.failure = func(string, error) error { return nil }
	if r := s.run(t.Context(), filepath.Join(logs, "missing"), &progress); r.Passed {
		t.Error("a step whose output is lost has passed")
	}
}
