// Command soak runs the long tier of the suites and appends what came out to docs/soak.md: date, commit, machine, seeds
// and counts.
//
//	make soak                                                         everything, at most 90 minutes on two cores
//	go run ./test/soak -rounds 5 -swaps 2 -fuzz 10s -o /dev/null      does it work at all
//	make fuzz                                                         the fuzz targets only, in a minute
//
// The suites run one after the other, and beside them the fuzz targets with what they leave of the cores: several at
// once, so that each has its time in less than an hour. A step that fails does not end the run; it is told in the entry
// and by the exit code. The whole output of each step is kept in var/soak. An input that makes a target fail is kept in
// its package's testdata/fuzz, so that go test fails from then on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// longest bounds the whole run.
const longest = 90 * time.Minute

type options struct {
	rounds, swaps int
	fuzz          time.Duration // of each target
	within        time.Duration // in which all of them are done
	onlyFuzz      time.Duration // of all targets, without anything else; 0: the whole run
	seed          uint64
	file          string
	logs          string // folder
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 200, "how often a broker is killed")
	flag.IntVar(&o.swaps, "swaps", 10, "how often a broker is swapped for one of the other kind")
	flag.DurationVar(&o.fuzz, "fuzz", 10*time.Minute, "time for each fuzz target")
	flag.DurationVar(&o.within, "within", time.Hour, "time in which all fuzz targets are to be done: the shorter, the more of them share the cores")
	flag.DurationVar(&o.onlyFuzz, "only-fuzz", 0, "time for all fuzz targets together; nothing else is done and no entry is written")
	flag.Uint64Var(&o.seed, "seed", 1+rand.Uint64N(1_000_000_000), "seed of all that is random but the fuzzing")
	flag.StringVar(&o.file, "o", "docs/soak.md", "file that the entry is appended to")
	flag.StringVar(&o.logs, "logs", "var/soak", "folder for the output of the steps")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

var errFailed = errors.New("failed")

func run(ctx context.Context, o options) error {
	if err := os.MkdirAll(o.logs, 0o755); err != nil {
		return err
	}
	list, err := targets(".")
	if err != nil {
		return err
	}
	if o.onlyFuzz > 0 {
		e := entry{Results: fuzzing(ctx, list, inAll(len(list), o.onlyFuzz), o.logs, os.Stdout)}
		return e.err()
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	e := entry{Began: time.Now().UTC(), Seed: o.seed, Commit: commit(ctx), Machine: machine()}
	var fuzzed []result
	var beside sync.WaitGroup
	beside.Go(func() { fuzzed = fuzzing(ctx, list, within(len(list), o.fuzz, o.within), o.logs, os.Stdout) })
	for _, s := range suites(o) {
		e.Results = append(e.Results, s.run(ctx, o.logs, os.Stdout))
	}
	beside.Wait()
	e.Results = append(e.Results, fuzzed...)
	e.Took = time.Since(e.Began)
	if after := commit(context.WithoutCancel(ctx)); after != e.Commit {
		e.Commit += ", at the end " + after
	}
	if err := appendTo(o.file, e.markdown()); err != nil {
		return err
	}
	fmt.Print(e.markdown())
	return e.err()
}

func appendTo(file, text string) error {
	if _, err := os.Stat(file); os.IsNotExist(err) {
		text = title + text
	}
	f, err := os.OpenFile(filepath.Clean(file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}
