package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Range and precision of recorded times: microseconds up to an hour, two significant digits as Artemis' tool has.
const (
	longestTime = int64(3_600_000_000)
	timeDigits  = 2
)

// A recorder collects times from one goroutine; another takes them away now and then.
type recorder struct {
	mu  sync.Mutex
	now *hdrhistogram.Histogram
}

func newRecorder() *recorder { return &recorder{now: newHistogram()} }

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, longestTime, timeDigits) }

// record adds a time. What is out of range counts as its end: clocks of two machines may make a time negative.
func (r *recorder) record(d time.Duration) {
	us := min(max(d.Microseconds(), 0), longestTime)
	r.mu.Lock()
	_ = r.now.RecordValue(us) // in range
	r.mu.Unlock()
}

// takeInto moves what was collected into h.
func (r *recorder) takeInto(h *hdrhistogram.Histogram) {
	r.mu.Lock()
	h.Merge(r.now)
	r.now.Reset()
	r.mu.Unlock()
}

// shownPercentiles are those of reports, with their names in text and in JSON.
var shownPercentiles = []struct {
	percentile float64
	text, json string
}{{50, "50.00%", "50"}, {90, "90.00%", "90"}, {99, "99.00%", "99"}, {99.9, "99.90%", "99.9"}, {99.99, "99.99%", "99.99"}}

// timesText is the line of a histogram: "mean:   1055.68 us - 50.00%:    143.00 us - …".
func timesText(h *hdrhistogram.Histogram) string {
	var b strings.Builder
	fmt.Fprintf(&b, "mean:%10.2f us", h.Mean())
	for _, p := range shownPercentiles {
		fmt.Fprintf(&b, " - %s:%10.2f us", p.text, float64(h.ValueAtPercentile(p.percentile)))
	}
	fmt.Fprintf(&b, " - max:%13.2f us", float64(h.Max()))
	return b.String()
}

// timesJSON is a histogram in the report.
func timesJSON(h *hdrhistogram.Histogram) string {
	var b strings.Builder
	b.WriteString(`{"mean":"` + strconv.FormatFloat(h.Mean(), 'f', 2, 64) + `"`)
	for _, p := range shownPercentiles {
		fmt.Fprintf(&b, `,"%s":%d`, p.json, h.ValueAtPercentile(p.percentile))
	}
	fmt.Fprintf(&b, `,"max":%d,"count":%d}`, h.Max(), h.TotalCount())
	return b.String()
}

// hdrLog writes histograms in the HdrHistogram log format, which its tools plot.
type hdrLog struct{ out io.Writer }

func (l hdrLog) begin() error {
	_, err := fmt.Fprintf(l.out, "#[Histogram log format version 1.3]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n")
	return err
}

// write adds the times of an interval. The longest is in seconds.
func (l hdrLog) write(tag string, from, to time.Time, h *hdrhistogram.Histogram) error {
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return fmt.Errorf("encode a histogram: %w", err)
	}
	_, err = fmt.Fprintf(l.out, "Tag=%s,%.3f,%.3f,%.3f,%s\n", tag, float64(from.UnixMilli())/1000, to.Sub(from).Seconds(), float64(h.Max())/1e6, encoded)
	return err
}
