package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"
)

const title = "# Soak\n\nRuns of `make soak`, the latest last.\n"

// An entry is one run.
type entry struct {
	Began   time.Time
	Took    time.Duration
	Seed    uint64
	About   string // commit and machine
	Results []result
}

// A result is what came out of a step.
type result struct {
	Name   string
	Passed bool
	Took   time.Duration
	Facts  string
}

func (r result) outcome() string {
	if r.Passed {
		return "passed"
	}
	return "FAILED"
}

func (e entry) passed() bool {
	for _, r := range e.Results {
		if !r.Passed {
			return false
		}
	}
	return len(e.Results) > 0
}

func (e entry) markdown() string {
	outcome := "passed"
	if !e.passed() {
		outcome = "FAILED"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s, %s\n\n%s Seed %d, %v.\n\n", e.Began.Format("2006-01-02 15:04 UTC"), outcome, e.About, e.Seed, e.Took.Round(time.Minute))
	b.WriteString("| step | | took | |\n| --- | --- | --- | --- |\n")
	for _, r := range e.Results {
		fmt.Fprintf(&b, "| %s | %s | %v | %s |\n", r.Name, r.outcome(), r.Took.Round(time.Second), strings.ReplaceAll(r.Facts, "|", `\|`))
	}
	return b.String()
}

var (
	passedTest = regexp.MustCompile(`(?m)^\s*--- PASS: `)
	failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: `)
	seedLine   = regexp.MustCompile(`(?m)seed \d+: (.+)$`)
	fuzzLine   = regexp.MustCompile(`(?m)^fuzz: elapsed: \S+, execs: (\d+) .*\(total: (\d+)\)$`)
)

// facts are the counts in a step's output.
func facts(out string) string {
	var list []string
	if p, f := len(passedTest.FindAllString(out, -1)), len(failedTest.FindAllString(out, -1)); p+f > 0 {
		list = append(list, fmt.Sprintf("%d tests passed, %d failed", p, f))
	}
	for _, m := range seedLine.FindAllStringSubmatch(out, -1) {
		list = append(list, m[1])
	}
	if all := fuzzLine.FindAllStringSubmatch(out, -1); len(all) > 0 {
		last := all[len(all)-1]
		list = append(list, fmt.Sprintf("%s inputs, corpus of %s", last[1], last[2]))
	}
	return strings.Join(list, "; ")
}

// about is the commit and the machine, as far as they can be told.
func about(ctx context.Context) string {
	return fmt.Sprintf("Commit %s. %s, %s/%s %s, %d cores (%s), %s of memory.", commit(ctx), runtime.Version(), runtime.GOOS, runtime.GOARCH,
		firstLine("/proc/sys/kernel/osrelease", ""), runtime.NumCPU(), firstLine("/proc/cpuinfo", "model name"), firstLine("/proc/meminfo", "MemTotal"))
}

func commit(ctx context.Context) string {
	id, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	c := strings.TrimSpace(string(id))
	if changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--untracked-files=no").Output(); err != nil || len(changes) > 0 {
		c += " with changes that are not committed"
	}
	return c
}

// firstLine is the value of the first line of a file that begins with key, or the whole first line for no key.
func firstLine(file, key string) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(content)) {
		if key == "" {
			return strings.TrimSpace(line)
		}
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
