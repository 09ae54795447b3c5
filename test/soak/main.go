// Command soak runs the long tier of the suites and appends what came out to docs/soak.md: date, commit, machine, seeds
// and counts.
//
//	make soak                                           everything, at most 90 minutes on two cores
//	go run ./test/soak -rounds 5 -swaps 2 -fuzz 10s -o /dev/null      does it work at all
//
// A step that fails does not end the run; it is told in the entry and by the exit code. The whole output of each step
// is kept in var/soak.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
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
	seed          uint64
	file          string
	logs          string // folder
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 200, "how often a broker is killed")
	flag.IntVar(&o.swaps, "swaps", 10, "how often a broker is swapped for one of the other kind")
	flag.DurationVar(&o.fuzz, "fuzz", 10*time.Minute, "time for each fuzz target")
	flag.Uint64Var(&o.seed, "seed", 1+rand.Uint64N(1_000_000_000), "seed of all that is random")
	flag.StringVar(&o.file, "o", "docs/soak.md", "file that the entry is appended to")
	flag.StringVar(&o.logs, "logs", "var/soak", "folder for the output of the steps")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	passed, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
	}
	if err != nil || !passed {
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (passed bool, err error) {
	if err := os.MkdirAll(o.logs, 0o755); err != nil {
		return false, err
	}
	e := entry{Began: time.Now().UTC(), Seed: o.seed, About: about(ctx)}
	for _, s := range suites(o) {
		e.Results = append(e.Results, s.run(ctx, o.logs, os.Stdout))
	}
	e.Results = append(e.Results, fuzzing(ctx, o, os.Stdout)...)
	e.Took = time.Since(e.Began)
	if err := appendTo(o.file, e.markdown()); err != nil {
		return false, err
	}
	fmt.Print(e.markdown())
	return e.passed(), nil
}

// fuzzing runs the fuzz targets two at a time, one worker each: so many cores the run may count on.
func fuzzing(ctx context.Context, o options, progress io.Writer) []result {
	steps := fuzzTargets(o)
	results := make([]result, len(steps))
	var next sync.Mutex
	var i int
	var work sync.WaitGroup
	for range 2 {
		work.Go(func() {
			for {
				next.Lock()
				mine := i
				i++
				next.Unlock()
				if mine >= len(steps) {
					return
				}
				results[mine] = steps[mine].run(ctx, o.logs, progress)
			}
		})
	}
	work.Wait()
	return results
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
