package main

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// times collects how long messages took, up to a minute, to three digits. One goroutine uses it at a time.
type times struct{ h *hdrhistogram.Histogram }

func newTimes() times { return times{hdrhistogram.New(1, int64(time.Minute), 3)} }

func (t times) add(d time.Duration) { t.h.RecordValue(min(max(int64(d), 1), int64(time.Minute))) }

// at is the time in µs that so many percent of the messages did not exceed.
func (t times) at(percent float64) float64 {
	return micros(time.Duration(t.h.ValueAtQuantile(percent)))
}

func (t times) into(v values) {
	v[metricP50], v[metricP99], v[metricP999] = t.at(50), t.at(99), t.at(99.9)
}
