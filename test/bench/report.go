package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A report is all that a run has found.
type report struct {
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended"`
	Machine machine   `json:"machine"`
	Options options   `json:"options"`
	Rows    []*result `json:"rows"`
	Notes   []string  `json:"notes,omitempty"`

	extra map[string]summary // figures of rows that were not asked for, by row, broker and metric
}

// A result is a row with its rounds and, at the end, its lines.
type result struct {
	Name   string  `json:"name"`
	Title  string  `json:"title"`
	Lines  []line  `json:"lines"`
	Rounds []round `json:"rounds"`

	checks []check
}

// A line is what a check came to.
type line struct {
	Metric  string   `json:"metric"`
	Label   string   `json:"label"`
	Saranga *summary `json:"saranga,omitempty"`
	Artemis *summary `json:"artemis,omitempty"`
	Ratio   *summary `json:"ratio,omitempty"` // Saranga : Artemis, by round
	Target  string   `json:"target,omitempty"`
	Result  string   `json:"result,omitempty"` // pass or MISS, empty without a target
}

func newReport(ctx context.Context, b *bench) *report {
	return &report{Began: time.Now(), Machine: describeMachine(ctx, b), Options: b.options, extra: map[string]summary{}}
}

func (r *report) add(row *row) *result {
	result := &result{Name: row.name, Title: row.title, checks: row.checks}
	r.Rows = append(r.Rows, result)
	return result
}

func (r *report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// median is that of a row measured so far.
func (r *report) median(row, broker, metric string) (float64, bool) {
	for _, result := range r.Rows {
		if result.Name == row {
			if s, ok := summarize(listOf(figures(result.Rounds, broker, metric))); ok {
				return s.Median, true
			}
		}
	}
	s, ok := r.extra[row+broker+metric]
	return s.Median, ok
}

// remember keeps figures of a row that is not reported.
func (r *report) remember(row, broker string, v values) {
	for metric, value := range v {
		r.extra[row+broker+metric] = summary{Median: value}
	}
}

// finish makes the lines of all rows.
func (r *report) finish() {
	r.Ended = time.Now()
	for _, result := range r.Rows {
		for _, c := range result.checks {
			result.Lines = append(result.Lines, c.line(result.Rounds))
		}
	}
}

// line compares both brokers. A target without a figure is missed.
func (c check) line(rounds []round) line {
	saranga, artemis := figures(rounds, sarangaName, c.metric), figures(rounds, artemisName, c.metric)
	l := line{Metric: c.metric, Label: c.label, Target: c.target()}
	l.Saranga, l.Artemis, l.Ratio = optional(listOf(saranga)), optional(listOf(artemis)), optional(ratios(saranga, artemis))
	if l.Target != "" {
		l.Result = "MISS"
		if c.reached(l) {
			l.Result = "pass"
		}
	}
	return l
}

func (c check) reached(l line) bool {
	switch {
	case c.atLeast > 0 && (l.Ratio == nil || l.Ratio.Median < c.atLeast):
	case c.atMost > 0 && (l.Ratio == nil || l.Ratio.Median > c.atMost):
	case c.most > 0 && (l.Saranga == nil || l.Saranga.Median > c.most):
	default:
		return true
	}
	return false
}

func optional(list []float64) *summary {
	s, ok := summarize(list)
	if !ok {
		return nil
	}
	return &s
}

// store writes the report as text and as JSON and returns the text's file.
func (r *report) store(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("store the report: %w", err)
	}
	name := filepath.Join(dir, r.Began.Format("2006-01-02-1504"))
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return "", fmt.Errorf("store the report: %w", err)
	}
	if err := os.WriteFile(name+".json", append(text, '\n'), 0o644); err != nil {
		return "", fmt.Errorf("store the report: %w", err)
	}
	if err := os.WriteFile(name+".md", []byte(r.markdown()), 0o644); err != nil {
		return "", fmt.Errorf("store the report: %w", err)
	}
	return name + ".md", nil
}
