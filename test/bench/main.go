package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	o, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options say how much is measured. The defaults are those of a published run.
type options struct {
	Rows       []string      `json:"rows"`
	Rounds     int           `json:"rounds"`
	Length     time.Duration `json:"measurement"` // length of one measurement
	WarmUp     int           `json:"warmUp"`      // messages through each broker before its first measurement
	Backlog    int           `json:"backlog"`     // messages
	Idle       int           `json:"idle"`        // connections
	Sync       int64         `json:"sync"`        // bytes of an initial synchronisation
	Neighbours time.Duration `json:"neighbours"`  // under full load beside busy processes
	Limit      time.Duration `json:"limit"`       // of the whole run
	only       string        // the broker to measure, for a profile of it; empty: both
	dir        string        // where instances are made
	out        string        // where the result goes, empty: nowhere
	docs       string        // the page whose link to the newest result is renewed, empty: none
}

func parseOptions(args []string) (options, error) {
	o := options{WarmUp: 300_000, Backlog: 1_000_000, Idle: 2000, Sync: 2 << 30}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	names := f.String("rows", "", "comma-separated `names` of rows, or "+groupOfPairs+" for those of pairs (default all: "+strings.Join(rowNames(), ",")+")")
	f.IntVar(&o.Rounds, "rounds", 3, "`rounds` of each row")
	seconds := f.Float64("seconds", 5, "`seconds` of one measurement")
	f.DurationVar(&o.Neighbours, "neighbours", 2*time.Minute, "`time` of each pair under full load beside busy processes")
	f.DurationVar(&o.Limit, "limit", 80*time.Minute, "`time` that the whole run may take")
	f.StringVar(&o.only, "only", "", "`broker` to measure without the other, saranga or artemis")
	f.StringVar(&o.dir, "dir", "var", "`folder` for the instances; its disk is what is measured")
	f.StringVar(&o.out, "out", "", "`folder` for the result (default docs/bench, after a complete run)")
	quick := f.Bool("quick", false, "one short round of each row, a smaller backlog: a few minutes, nothing to publish")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	o.Length = time.Duration(*seconds * float64(time.Second))
	if *quick {
		o.Rounds, o.Length, o.Backlog, o.Idle = 1, 2*time.Second, 100_000, 500
		o.Sync, o.Neighbours = 256<<20, 10*time.Second
	}
	if o.Rounds < 1 || o.Length < time.Second {
		return o, errors.New("at least one round of one second is needed")
	}
	o.Rows = rowNames()
	if *names != "" {
		o.Rows = expandGroups(strings.Split(*names, ","))
		for _, name := range o.Rows {
			if !slices.Contains(rowNames(), name) {
				return o, fmt.Errorf("there is no row %q, only %s", name, strings.Join(rowNames(), ", "))
			}
		}
	}
	if o.only != "" && o.only != sarangaName && o.only != artemisName {
		return o, fmt.Errorf("there is no broker %q", o.only)
	}
	if o.out == "" && *names == "" && o.only == "" && !*quick {
		o.out, o.docs = filepath.Join("docs", "bench"), filepath.Join("docs", "benchmarks.md")
	}
	return o, nil
}

// run measures, prints and stores. What was measured is reported also when the run is cut short.
func run(o options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, o.Limit, fmt.Errorf("the run took longer than %v", o.Limit))
	defer cancel()
	debug.SetGCPercent(400) // the client shares the cores with the broker

	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	r := newReport(ctx, b)
	failed := b.measure(ctx, r)
	if err := b.close(); err != nil && failed == nil {
		failed = err
	}
	r.finish()
	fmt.Print("\n", r.markdown())
	if o.out == "" {
		return failed
	}
	name, err := r.store(o.out)
	if err == nil && o.docs != "" {
		err = linkNewest(o.docs, name)
	}
	return errors.Join(failed, err)
}
