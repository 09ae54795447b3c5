package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
)

// startTraced serves an instance with a line in the log for every garbage collection of a Go runtime.
func (s *side) startTraced(ctx context.Context, i peers.Instance) (*peers.Process, error) {
	const variable = "GODEBUG"
	old, was := os.LookupEnv(variable)
	if err := os.Setenv(variable, "gctrace=1"); err != nil {
		return nil, err
	}
	defer func() {
		if was {
			os.Setenv(variable, old)
		} else {
			os.Unsetenv(variable)
		}
	}()
	return s.start(ctx, i)
}

// gcCPUOf is the CPU that the garbage collections of a traced broker have used.
func gcCPUOf(i peers.Instance) (time.Duration, error) {
	f, err := os.Open(logOf(i))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return gcCPU(f)
}

// gcCPU adds up the CPU of all garbage collections in a log. Other lines are skipped. A line of the runtime is
//
//	gc 7 @2.104s 0%: 0.018+1.2+0.003 ms clock, 0.036+0.5/1.1/0.2+0.006 ms cpu, 4->4->1 MB, …
//
// with the CPU of sweep termination, of mark assists/dedicated and fractional workers/idle workers, and of mark
// termination.
func gcCPU(log io.Reader) (time.Duration, error) {
	var sum time.Duration
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		_, rest, found := strings.Cut(lines.Text(), " ms clock, ")
		if !found || !strings.HasPrefix(lines.Text(), "gc ") {
			continue
		}
		list, _, _ := strings.Cut(rest, " ms cpu")
		for _, text := range strings.FieldsFunc(list, func(r rune) bool { return r == '+' || r == '/' }) {
			ms, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return 0, fmt.Errorf("line %q: %w", lines.Text(), err)
			}
			sum += time.Duration(ms * float64(time.Millisecond))
		}
	}
	return sum, lines.Err()
}
