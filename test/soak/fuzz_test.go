package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// The outputs are what go test of Go 1.26 prints.
func TestFuzzFailure(t *testing.T) {
	const (
		begin = "fuzz: elapsed: 0s, gathering baseline coverage: 0/2 completed\nfuzz: elapsed: 0s, gathering baseline coverage: 2/2 completed, now fuzzing with 1 workers\n"
		stats = "fuzz: elapsed: 5s, execs: 63250 (12648/sec), new interesting: 2 (total: 4)\n"
		known = "fuzz: elapsed: 0s, gathering baseline coverage: 0/400 completed\nfuzz: elapsed: 5s, gathering baseline coverage: 3/400 completed\nPASS\nok  \texample.com/p\t5.1s\n"
		fail  = "FAIL\nexit status 1\nFAIL\texample.com/p\t5.1s\n"
	)
	ended := errors.New("exit status 1")
	for _, c := range []struct {
		name, out string
		err       error
		fails     bool
	}{
		{"nothing found", begin + stats + "PASS\nok  \texample.com/p\t5.1s\n", nil, false},
		{"the end of time reported as a failure", begin + stats + "--- FAIL: FuzzX (5.01s)\n    context deadline exceeded\n" + fail, ended, false},
		{"no corpus at all", "warning: starting with empty corpus\n" + begin + stats + "--- FAIL: FuzzX (5.01s)\n    context deadline exceeded\n" + fail, ended, false},
		{"a failing input", begin + "fuzz: minimizing 31-byte failing input file\n" + stats +
			"--- FAIL: FuzzX (0.02s)\n    --- FAIL: FuzzX (0.00s)\n        x_test.go:7: bad\n    \n    Failing input written to testdata/fuzz/FuzzX/06\n    To re-run:\n    go test -run=FuzzX/06\n" + fail, ended, true},
		{"a failing input whose message is that of the end", begin + stats +
			"--- FAIL: FuzzX (0.02s)\n    --- FAIL: FuzzX (0.00s)\n        x_test.go:7: read: context deadline exceeded\n    \n    Failing input written to testdata/fuzz/FuzzX/06\n    To re-run:\n    go test -run=FuzzX/06\n" + fail, ended, true},
		{"a failing seed", "fuzz: elapsed: 0s, gathering baseline coverage: 0/2 completed\nfailure while testing seed corpus entry: FuzzX/seed#1\n" + stats +
			"--- FAIL: FuzzX (0.02s)\n    --- FAIL: FuzzX (0.00s)\n        x_test.go:7: context deadline exceeded\n    \n" + fail, ended, true},
		{"a panic", begin + "panic: context deadline exceeded\n\ngoroutine 1 [running]:\n" + fail, ended, true},
		{"a worker that ends", begin + stats + "--- FAIL: FuzzX (0.4s)\n    fuzzing process hung or terminated unexpectedly: exit status 2\n" + fail, ended, true},
		{"does not compile", "# example.com/p [example.com/p.test]\n./x_test.go:3:1: syntax error\nFAIL\texample.com/p [build failed]\nFAIL\n", ended, true},
		{"ended by soak", begin + stats, errors.New("signal: killed"), true},
		{"no such target", "testing: warning: no fuzz tests to fuzz\nPASS\nok  \texample.com/p\t0.1s\n", nil, true},
		{"nothing but known inputs in a minute", known, nil, true},
	} {
		if err := fuzzFailure(c.out, c.err, time.Minute); (err != nil) != c.fails {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := fuzzFailure(known, nil, 5*time.Second); err != nil {
		t.Errorf("nothing but known inputs in seconds: %v", err)
	}
}

func TestTargets(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"b/b_test.go":          "package b\n\nfunc FuzzTwo(f *testing.F) {\n}\n\nfunc FuzzOne(f *testing.F) {\n}\n\nfunc TestFuzz(t *testing.T) {}\n",
		"a/c/x_test.go":        "package c\nfunc FuzzOne(f *testing.F) {}\nfunc FuzzHelp(f *testing.T) {}\n// func FuzzThree(f *testing.F) {}\n",
		"a/x.go":               "package a\nfunc FuzzNoTest(f *testing.F) {}\n",
		"a/testdata/x_test.go": "package a\nfunc FuzzData(f *testing.F) {}\n",
		".x/x_test.go":         "package a\nfunc FuzzHidden(f *testing.F) {}\n",
		"_x/x_test.go":         "package a\nfunc FuzzUnder(f *testing.F) {}\n",
		"r_test.go":            "package r\nfunc FuzzRoot(f *testing.F) {}\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := targets(root)
	if want := []target{{"./.", "FuzzRoot"}, {"./a/c", "FuzzOne"}, {"./b", "FuzzOne"}, {"./b", "FuzzTwo"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if got, err := targets(filepath.Join(root, "a", "testdata", "none")); err == nil {
		t.Errorf("a tree without targets: %v", got)
	}
}

func TestSchedule(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want schedule
	}{
		{"soak", within(26, 10*time.Minute, time.Hour), schedule{10 * time.Minute, 5}},
		{"six at once fill the hour", within(36, 10*time.Minute, time.Hour), schedule{10 * time.Minute, 6}},
		{"one more takes another worker", within(37, 10*time.Minute, time.Hour), schedule{10 * time.Minute, 7}},
		{"all cores are used", within(26, 5*time.Second, time.Hour), schedule{5 * time.Second, 2}},
		{"longer than there is time", within(3, 2*time.Hour, time.Hour), schedule{2 * time.Hour, 3}},
		{"a minute in all", inAll(20, time.Minute), schedule{6 * time.Second, 2}},
		{"not less than two seconds", inAll(600, time.Minute), schedule{2 * time.Second, 2}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}
