package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
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
	Commit  string
	Machine string
	Results []result
}

// A result is what came out of a step.
type result struct {
	Name   string
	Passed bool
	Took   time.Duration
	CPU    time.Duration // of its processes that have ended and been waited for
	Facts  string
}

func (r result) outcome() string {
	if r.Passed {
		return "passed"
	}
	return "FAILED"
}

// err is nil if all steps have passed.
func (e entry) err() error {
	if len(e.Results) == 0 {
		return errFailed
	}
	for _, r := range e.Results {
		if !r.Passed {
			return errFailed
		}
	}
	return nil
}

func (e entry) markdown() string {
	outcome := "passed"
	if e.err() != nil {
		outcome = "FAILED"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s, %s\n\nCommit %s. %s. Seed %d, %v.\n\n", e.Began.Format("2006-01-02 15:04 UTC"), outcome, e.Commit, e.Machine, e.Seed, e.Took.Round(time.Minute))
	b.WriteString("| step | | took | CPU | |\n| --- | --- | --- | --- | --- |\n")
	for _, r := range e.Results {
		fmt.Fprintf(&b, "| %s | %s | %v | %v | %s |\n", r.Name, r.outcome(), r.Took.Round(time.Second), r.CPU.Round(time.Second), strings.ReplaceAll(r.Facts, "|", `\|`))
	}
	return b.String()
}

// machine describes this one, as far as it can be told.
func machine() string {
	return fmt.Sprintf("%s, %s/%s %s, %d cores (%s), %s of memory", runtime.Version(), runtime.GOOS, runtime.GOARCH,
		firstLine("/proc/sys/kernel/osrelease", ""), runtime.NumCPU(), firstLine("/proc/cpuinfo", "model name"), firstLine("/proc/meminfo", "MemTotal"))
}

// commit is the one that is checked out, and says whether the tree is another one. Earlier entries make no other tree.
func commit(ctx context.Context) string {
	id, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	c := strings.TrimSpace(string(id))
	if changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", ".", ":!docs/soak.md").Output(); err != nil || len(changes) > 0 {
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
