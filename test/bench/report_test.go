package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// both are the rounds of a metric with these figures.
func both(metric string, saranga, artemis []float64) (rounds []round) {
	for n := range saranga {
		rounds = append(rounds, round{Broker: sarangaName, Round: n, Values: values{metric: saranga[n]}})
	}
	for n := range artemis {
		rounds = append(rounds, round{Broker: artemisName, Round: n, Values: values{metric: artemis[n]}})
	}
	return rounds
}

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		name             string
		check            check
		saranga, artemis []float64
		target, result   string
	}{
		{"rate reached", check{atLeast: 4}, []float64{400}, []float64{100}, "≥ 4×", "pass"},
		{"rate missed", check{atLeast: 4}, []float64{399}, []float64{100}, "≥ 4×", "MISS"},
		{"CPU reached", check{atMost: 1. / 8}, []float64{1}, []float64{8}, "≤ 1/8", "pass"},
		{"CPU missed", check{atMost: 1. / 8}, []float64{1.01}, []float64{8}, "≤ 1/8", "MISS"},
		{"the median round counts", check{atLeast: 4}, []float64{100, 500, 500}, []float64{100, 100, 100}, "≥ 4×", "pass"},
		{"own figure reached", check{most: 1.4}, []float64{1.4}, []float64{9}, "≤ 1.4", "pass"},
		{"own figure missed", check{most: 1.4}, []float64{1.5}, []float64{9}, "≤ 1.4", "MISS"},
		{"own figure needs no peer", check{most: 25}, []float64{3}, nil, "≤ 25", "pass"},
		{"ratio reached, own figure missed", check{atMost: .05, most: 100}, []float64{101}, []float64{4000}, "≤ 1/20, ≤ 100", "MISS"},
		{"both reached", check{atMost: .05, most: 100}, []float64{99}, []float64{4000}, "≤ 1/20, ≤ 100", "pass"},
		{"nothing measured", check{atLeast: 4}, nil, nil, "≥ 4×", "MISS"},
		{"no peer", check{atLeast: 4}, []float64{400}, nil, "≥ 4×", "MISS"},
		{"no target", check{}, []float64{1}, []float64{2}, "", ""},
	} {
		c.check.metric = "m"
		l := c.check.line(both("m", c.saranga, c.artemis))
		if l.Target != c.target || l.Result != c.result {
			t.Errorf("%s: %q %q, want %q %q", c.name, l.Target, l.Result, c.target, c.result)
		}
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.123: "0.12", 1: "1", 1.4: "1.4", 2.345: "2.35", 29.94: "29.9", 100: "100", 999.4: "999", 1000: "1,000", 191829.4: "191,829",
		1234567: "1,234,567", -1234: "-1,234", -999: "-999",
	} {
		if got := number(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{4.25: "4.25×", 1: "1×", 0.125: "1/8", 1 / 2.2: "1/2.2", 1. / 153: "1/153"} {
		if got := fraction(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

func sampleReport() *report {
	r := &report{Began: time.Date(2025, 3, 9, 14, 5, 0, 0, time.UTC), Options: options{Rounds: 3, Length: 5 * time.Second}}
	result := r.add(&row{name: "core", title: "Core", checks: []check{rate(4), cpu(1. / 8)}})
	result.Rounds = both(metricRate, []float64{400_000, 500_000, 440_000}, []float64{100_000, 100_000, 110_000})
	result.Rounds = append(result.Rounds, round{Broker: artemisName, Round: 2, Error: "it took\nlonger"})
	r.finish()
	return r
}

func TestMarkdown(t *testing.T) {
	text := sampleReport().markdown()
	for _, want := range []string{
		"| Core | messages/s | 440,000 (400,000–500,000) | 100,000 (100,000–110,000) | 4× | ≥ 4× | pass |\n",
		"|  | broker CPU µs/message | – | – | – | ≤ 1/8 | MISS |\n",
		"\n- Core, artemis, round 3: it took\n  longer\n",
		"3 interleaved rounds, 5s each",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestStoreKeepsAllRounds(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "benchmarks.md")
	if err := os.WriteFile(page, []byte("# Benchmarks\n\n"+newestLine+"none yet\n\nMore.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := sampleReport().store(filepath.Join(dir, "bench"))
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "bench", "2025-03-09-1405.md"); file != want {
		t.Errorf("stored as %s, want %s", file, want)
	}
	text, err := os.ReadFile(strings.TrimSuffix(file, ".md") + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var kept report
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	if got := len(kept.Rows[0].Rounds); got != 7 {
		t.Errorf("%d rounds kept, want 7", got)
	}
	if err := linkNewest(page, file); err != nil {
		t.Fatal(err)
	}
	linked, err := os.ReadFile(page)
	if want := "# Benchmarks\n\nNewest result: [2025-03-09-1405](bench/2025-03-09-1405.md)\n\nMore.\n"; err != nil || string(linked) != want {
		t.Errorf("page %q, %v; want %q", linked, err, want)
	}
}

func TestMedianOfARowMeasuredBefore(t *testing.T) {
	r := sampleReport()
	r.extra = map[string]summary{}
	r.remember("core-persistent", artemisName, values{metricRate: 30_000})
	for _, c := range []struct {
		row, broker string
		want        float64
		found       bool
	}{{"core", sarangaName, 440_000, true}, {"core-persistent", artemisName, 30_000, true}, {"core-persistent", sarangaName, 0, false}} {
		if got, ok := r.median(c.row, c.broker, metricRate); got != c.want || ok != c.found {
			t.Errorf("%s of %s: %v %t, want %v %t", c.row, c.broker, got, ok, c.want, c.found)
		}
	}
}
