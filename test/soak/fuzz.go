package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A target is a fuzz target of the tree.
type target struct {
	pkg  string // as go test takes it: ./journal
	name string
}

var targetLine = regexp.MustCompile(`(?m)^func (Fuzz\w*)\(\w+ \*testing\.F\)`)

// targets finds the fuzz targets below a folder, by package and name. Folders that the go command passes over are passed
// over, too.
func targets(root string) ([]target, error) {
	var found []target
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // gone meanwhile: no source
			return nil
		}
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, m := range targetLine.FindAllSubmatch(text, -1) {
			found = append(found, target{"./" + filepath.ToSlash(folder), string(m[1])})
		}
		return nil
	})
	if err == nil && len(found) == 0 {
		err = errors.New("there are none")
	}
	if err != nil {
		return nil, fmt.Errorf("fuzz targets below %s: %w", root, err)
	}
	slices.SortFunc(found, func(a, b target) int {
		return strings.Compare(a.pkg+" "+a.name, b.pkg+" "+b.name)
	})
	return found, nil
}

// A schedule says how targets share the time.
type schedule struct {
	each   time.Duration // of a target
	atOnce int
}

// workers is how many targets are fuzzed at once at least: so many cores a run may count on.
const workers = 2

// inAll gives n targets equal parts of a time, but at least 2 seconds, in which a target does something at all.
func inAll(n int, all time.Duration) schedule {
	return schedule{max(2*time.Second, workers*all/time.Duration(n)), workers}
}

// within gives each of n targets its time, as many at once as it takes to be done within most. More at once than there
// are cores share them: the entry tells how much each of them got.
func within(n int, each, most time.Duration) schedule {
	turns := max(1, int(most/each))
	return schedule{each, max(workers, (n+turns-1)/turns)}
}

// fuzzing fuzzes targets, one worker each, in processes of their own that leave the cores to everybody else who wants
// them.
func fuzzing(ctx context.Context, list []target, s schedule, logs string, progress io.Writer) []result {
	results := make([]result, len(list))
	next := make(chan int)
	var work sync.WaitGroup
	for range s.atOnce {
		work.Go(func() {
			for i := range next {
				results[i] = list[i].step(s.each).run(ctx, logs, progress)
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	work.Wait()
	return results
}

func (t target) step(each time.Duration) step {
	return step{
		name:    "fuzz " + strings.TrimPrefix(t.pkg, "./") + " " + t.name,
		command: []string{"nice", "-n", "19", "go", "test", "-run", "^$", "-fuzz", "^" + t.name + "$", "-fuzztime", each.String(), "-parallel", "1", t.pkg},
		failure: func(out string, err error) error { return fuzzFailure(out, err, each) },
	}
}

var (
	fuzzLine     = regexp.MustCompile(`(?m)^fuzz: elapsed: \S+, execs: (\d+) .*new interesting: (\d+) \(total: (\d+)\)$`)
	baselineLine = regexp.MustCompile(`(?m)^fuzz: elapsed: \S+, gathering baseline coverage: (\d+)/(\d+) completed`)

	// What go test prints when it takes the end of its own time for a failure: this line, and otherwise nothing but what
	// it says of any run that fails.
	endOfTime = regexp.MustCompile(`(?m)^    context deadline exceeded$`)
	ofAnyRun  = regexp.MustCompile(`^(fuzz: elapsed: .*|warning: starting with empty corpus|--- FAIL: Fuzz\w* \(.*\)|    context deadline exceeded|FAIL(\t.*)?|exit status 1|)$`)
)

// long is a time in which a target gets to new inputs on any machine. In a shorter one a busy machine may do no more than
// the inputs that are known already.
const long = time.Minute

// fuzzFailure is what a run of a fuzz target for some time has found, nil for nothing. It passes over the fault of the go
// command that now and then reports the end of -fuzztime as a failure of the target.
func fuzzFailure(out string, err error, each time.Duration) error {
	switch {
	case err != nil && !endedByTime(out):
		return err
	case fuzzLine.MatchString(out):
		return nil
	case !baselineLine.MatchString(out):
		return errors.New("nothing was fuzzed")
	case each >= long:
		return errors.New("no new input was tried")
	}
	return nil
}

func endedByTime(out string) bool {
	if !endOfTime.MatchString(out) {
		return false
	}
	for line := range strings.Lines(out) {
		if !ofAnyRun.MatchString(strings.TrimSuffix(line, "\n")) {
			return false
		}
	}
	return true
}

// fuzzFacts are the counts of a run of a fuzz target, empty for the output of anything else.
func fuzzFacts(out string) string {
	if all := fuzzLine.FindAllStringSubmatch(out, -1); len(all) > 0 {
		last := all[len(all)-1]
		text := fmt.Sprintf("%s executions, %s new inputs of interest, %s in all", last[1], last[2], last[3])
		if endedByTime(out) {
			text += "; the go command took the end of its time for a failure"
		}
		return text
	}
	if all := baselineLine.FindAllStringSubmatch(out, -1); len(all) > 0 {
		last := all[len(all)-1]
		return fmt.Sprintf("no more than %s of %s known inputs", last[1], last[2])
	}
	return ""
}
