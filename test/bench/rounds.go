package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// values are what one measurement found, by metric.
type values map[string]float64

// A round is one measurement of one broker.
type round struct {
	Broker string    `json:"broker"`
	Round  int       `json:"round"`
	At     time.Time `json:"at"`
	Load   string    `json:"load"` // of the machine over the last minute, before it
	Values values    `json:"values,omitempty"`
	Error  string    `json:"error,omitempty"`
}

// measure measures all rows. A measurement that fails is a round with an error; only the end of ctx ends the run.
func (b *bench) measure(ctx context.Context, r *report) error {
	b.report = r
	for _, row := range rows {
		if !row.wanted(b.Rows) {
			continue
		}
		result := r.add(row)
		for n := range row.rounds(b.Rounds) {
			for _, i := range order(n) {
				if b.only != "" && b.only != b.sides[i].broker.Name() {
					continue
				}
				measured := b.one(ctx, row, b.sides[i], n)
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				fmt.Fprintln(os.Stderr, progress(row, measured))
				result.Rounds = append(result.Rounds, measured)
			}
		}
	}
	return nil
}

// order is which side comes first and second: A B, B A, A B …
func order(n int) [2]int {
	if n%2 == 0 {
		return [2]int{0, 1}
	}
	return [2]int{1, 0}
}

// one makes one measurement, bounded in time.
func (b *bench) one(ctx context.Context, row *row, s *side, n int) round {
	r := round{Broker: s.broker.Name(), Round: n, At: time.Now(), Load: loadAverage()}
	limit := 5*time.Minute + 6*b.Length
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v", limit))
	defer cancel()
	v, err := row.measure(ctx, b, s)
	if r.Values = v; err != nil {
		r.Error = err.Error()
	}
	return r
}

func progress(row *row, r round) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %-20s %-8s", r.At.Format(time.TimeOnly), row.name, r.Broker)
	for _, c := range row.checks {
		if v, ok := r.Values[c.metric]; ok {
			fmt.Fprintf(&b, "  %s %s", c.metric, number(v))
		}
	}
	if r.Error != "" {
		b.WriteString("  " + r.Error)
	}
	return b.String()
}
