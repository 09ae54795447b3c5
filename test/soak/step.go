package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A step is one go test.
type step struct {
	name string
	args []string // of go test
}

// suites are the long forms of what make test runs.
func suites(o options) []step {
	test := func(name, run, pkg string, args ...string) step {
		return step{name, append([]string{"-count=1", "-v", "-timeout", "60m", "-run", run, pkg, "-args"}, args...)}
	}
	seed := fmt.Sprint(o.seed)
	return []step{
		test("JMS program, Artemis: the recording is true", "^TestJMS$", "./test/interop", "-broker=artemis"),
		test("JMS program, Saranga: as recorded", "^TestJMS$", "./test/interop"),
		test(fmt.Sprintf("kill -9, %d rounds", o.rounds), "^TestKill", "./test/crash", "-soak", "-rounds", fmt.Sprint(o.rounds), "-seed", seed),
		test("crash at every write point in memory", "^TestCrash", "./test/crash", "-soak"),
		test(fmt.Sprintf("swaps with Artemis under load, %d", o.swaps), "^TestSwap", "./test/crash", "-soak", "-swaps", fmt.Sprint(o.swaps), "-seed", seed),
	}
}

// fuzzTargets are the decoders of what others send or write: frames, properties, messages, journal files, XML, selectors.
func fuzzTargets(o options) []step {
	var steps []step
	for _, t := range []struct{ pkg, target string }{
		{"./wire/core", "FuzzDecode"},
		{"./wire/core", "FuzzSplit"},
		{"./wire/buf", "FuzzReader"},
		{"./broker/message", "FuzzParseCore"},
		{"./journal", "FuzzLoad"},
		{"./journal/bindings", "FuzzRead"},
		{"./broker/config", "FuzzBroker"},
		{"./broker/filter", "FuzzParse"},
	} {
		steps = append(steps, step{"fuzz " + strings.TrimPrefix(t.pkg, "./") + " " + t.target,
			[]string{"-run", "^$", "-fuzz", "^" + t.target + "$", "-fuzztime", o.fuzz.String(), "-parallel", "1", t.pkg}})
	}
	return steps
}

// run does the step and keeps its output.
func (s step) run(ctx context.Context, logs string, progress io.Writer) result {
	r := result{Name: s.name}
	fmt.Fprintf(progress, "%s: begins\n", s.name)
	began := time.Now()
	cmd := exec.CommandContext(ctx, "go", append([]string{"test"}, s.args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that the end of time ends the test program and its brokers, too
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	r.Took = time.Since(began)
	r.Passed = err == nil
	r.Facts = facts(string(out))
	log := filepath.Join(logs, strings.Join(strings.FieldsFunc(s.name, notWord), "-")+".log")
	if err := os.WriteFile(log, out, 0o644); err != nil {
		fmt.Fprintf(progress, "%s: keep the output: %v\n", s.name, err)
	}
	fmt.Fprintf(progress, "%s: %s after %v\n", s.name, r.outcome(), r.Took.Round(time.Second))
	if err != nil {
		fmt.Fprintf(progress, "%v; the output is in %s and ends with\n%s\n", err, log, lastLines(string(out), 40))
	}
	return r
}

func notWord(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
