package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// A step is one command.
type step struct {
	name    string
	command []string
	failure func(out string, err error) error // what the output and the end of the command mean
}

// suites are the long forms of what make test runs.
func suites(o options) []step {
	test := func(name, run, pkg string, args ...string) step {
		return step{name, append([]string{"go", "test", "-count=1", "-v", "-timeout", "80m", "-run", run, pkg, "-args"}, args...), testFailure}
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

var (
	passedTest  = regexp.MustCompile(`(?m)^\s*--- PASS: `)
	failedTest  = regexp.MustCompile(`(?m)^\s*--- FAIL: `)
	skippedTest = regexp.MustCompile(`(?m)^\s*--- SKIP: `)
	counts      = regexp.MustCompile(`(?m): (?:seed \d+: (.+)|(\d+ write points))$`)
)

// testFailure is what is wrong with a run of go test -v. A run in which a test is skipped or none is found has tested
// less than it should.
func testFailure(out string, err error) error {
	switch {
	case err != nil:
		return err
	case skippedTest.MatchString(out):
		return errors.New("tests were skipped")
	case !passedTest.MatchString(out):
		return errors.New("no test ran")
	}
	return nil
}

// facts are the counts in a step's output.
func facts(out string) string {
	if f := fuzzFacts(out); f != "" {
		return f
	}
	var list []string
	if p, f := len(passedTest.FindAllString(out, -1)), len(failedTest.FindAllString(out, -1)); p+f > 0 {
		list = append(list, fmt.Sprintf("%d tests passed, %d failed", p, f))
	}
	for _, m := range counts.FindAllStringSubmatch(out, -1) {
		list = append(list, m[1]+m[2])
	}
	return strings.Join(list, "; ")
}

// run does the step and keeps its output.
func (s step) run(ctx context.Context, logs string, progress io.Writer) result {
	r := result{Name: s.name}
	fmt.Fprintf(progress, "%s: begins\n", s.name)
	began := time.Now()
	cmd := exec.CommandContext(ctx, s.command[0], s.command[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that the end of time ends the test program and its brokers, too
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	r.Took = time.Since(began)
	if cmd.ProcessState != nil {
		r.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	err = s.failure(string(out), err)
	r.Passed = err == nil
	r.Facts = facts(string(out))
	log := filepath.Join(logs, strings.Join(strings.FieldsFunc(s.name, notWord), "-")+".log")
	if keeping := os.WriteFile(log, out, 0o644); keeping != nil {
		r.Passed = false
		fmt.Fprintf(progress, "%s: keep the output: %v\n", s.name, keeping)
	}
	fmt.Fprintf(progress, "%s: %s after %v. %s\n", s.name, r.outcome(), r.Took.Round(time.Second), r.Facts)
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
