package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// reportPeriod is the time between lines of a run.
const reportPeriod = time.Second

// A perfReport prints what a load does, every second and at its end, and writes the files asked for.
type perfReport struct {
	l     *load
	sends bool
	takes bool
	begin time.Time
	hdr   *os.File
	json  *os.File
	total perfTimes
	last  perfCounts
}

// perfCounts are numbers of messages.
type perfCounts struct{ sent, blocked, completed, received int64 }

// perfTimes are what messages took, in microseconds: from when they should have been sent to when they were, from then
// to their completion, and from then to their receipt.
type perfTimes struct{ delay, send, transfer *hdrhistogram.Histogram }

func newPerfTimes() perfTimes { return perfTimes{newHistogram(), newHistogram(), newHistogram()} }

func (t perfTimes) add(o perfTimes) {
	t.delay.Merge(o.delay)
	t.send.Merge(o.send)
	t.transfer.Merge(o.transfer)
}

func newPerfReport(l *load) (*perfReport, error) {
	r := &perfReport{l: l, sends: len(l.producers) > 0, takes: len(l.consumers) > 0, total: newPerfTimes()}
	var err error
	if l.o.hdr != "" {
		if r.hdr, err = os.Create(l.o.hdr); err != nil {
			return nil, fmt.Errorf("histogram log: %w", err)
		}
		if err := (hdrLog{r.hdr}).begin(); err != nil {
			return nil, fmt.Errorf("histogram log: %w", err)
		}
	}
	if l.o.json != "" {
		if r.json, err = os.Create(l.o.json); err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		if _, err = r.json.WriteString("[\n"); err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
	}
	return r, nil
}

// run reports until the load is done.
func (r *perfReport) run(done <-chan struct{}) error {
	r.begin = time.Now()
	from := r.begin
	tick := time.NewTicker(reportPeriod)
	defer tick.Stop()
	var failed error
	for {
		over := false
		select {
		case <-tick.C:
		case <-done:
			over = true
		}
		now := time.Now()
		if err := r.interval(from, now, over); err != nil && failed == nil {
			failed = err // the load goes on; it is told at the end
		}
		if over {
			break
		}
		from = now
	}
	if err := r.summary(); err != nil && failed == nil {
		failed = err
	}
	return failed
}

// paced tells whether there are times at which messages should be sent.
func (r *perfReport) paced() bool { return r.sends && r.l.o.rate > 0 }

func (r *perfReport) counts() (c perfCounts) {
	for _, p := range r.l.producers {
		c.sent += p.sent.Load()
		c.blocked += p.blocked.Load()
		c.completed += p.completed.Load()
	}
	for _, k := range r.l.consumers {
		c.received += k.received.Load()
	}
	return c
}

func (r *perfReport) takeTimes() perfTimes {
	t := newPerfTimes()
	for _, p := range r.l.producers {
		p.delay.takeInto(t.delay)
		p.took.takeInto(t.send)
	}
	for _, c := range r.l.consumers {
		c.transfer.takeInto(t.transfer)
	}
	return t
}

// interval reports what happened since from. The last one, which is short, is not printed.
func (r *perfReport) interval(from, to time.Time, last bool) error {
	warmup := from.Sub(r.begin) < time.Duration(r.l.o.warmup)*time.Second
	times, now := r.takeTimes(), r.counts()
	d := perfCounts{now.sent - r.last.sent, now.blocked - r.last.blocked, now.completed - r.last.completed, now.received - r.last.received}
	r.last = now
	if !warmup {
		r.total.add(times)
	}
	if r.hdr != nil {
		if err := r.logTimes(warmup, from, to, times); err != nil {
			return err
		}
	}
	if last {
		return nil
	}
	r.printInterval(warmup, to.Sub(from), d, times)
	if r.json == nil {
		return nil
	}
	_, err := fmt.Fprintf(r.json, `{"sampleType":"interval","warmup":%t,"time":%d%s},`+"\n", warmup, to.UnixMilli(), r.jsonFields(d, times, ""))
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

func (r *perfReport) printInterval(warmup bool, took time.Duration, d perfCounts, times perfTimes) {
	rate := func(n int64) int64 { return int64(float64(n) / took.Seconds()) }
	lines := []string{fmt.Sprintf("--- warmup %-5t", warmup)}
	if r.sends {
		lines = append(lines, fmt.Sprintf("--- sent:%14d msg/sec", rate(d.sent)), fmt.Sprintf("--- blocked:%11d msg/sec", rate(d.blocked)), fmt.Sprintf("--- completed:%9d msg/sec", rate(d.completed)))
	}
	if r.takes {
		lines = append(lines, fmt.Sprintf("--- received:%10d msg/sec", rate(d.received)))
	}
	if r.l.o.showLatency {
		if r.paced() {
			lines = append(lines, "--- send delay time: "+timesText(times.delay))
		}
		if r.sends {
			lines = append(lines, "--- send ack time:   "+timesText(times.send))
		}
		if r.takes {
			lines = append(lines, "--- transfer time:   "+timesText(times.transfer))
		}
	}
	fmt.Fprintf(r.l.cmd.OutOrStdout(), "\n%s\n", strings.Join(lines, " \n"))
}

func (r *perfReport) logTimes(warmup bool, from, to time.Time, t perfTimes) error {
	prefix := ""
	if warmup {
		prefix = "warmup "
	}
	write := func(tag string, h *hdrhistogram.Histogram) error {
		if err := (hdrLog{r.hdr}).write(prefix+tag, from, to, h); err != nil {
			return fmt.Errorf("histogram log: %w", err)
		}
		return nil
	}
	if r.paced() {
		if err := write("delay send", t.delay); err != nil {
			return err
		}
	}
	if r.sends {
		if err := write("send", t.send); err != nil {
			return err
		}
	}
	if r.takes {
		return write("transfer", t.transfer)
	}
	return nil
}

// jsonFields are the numbers and times of a sample; those of the summary have a prefix.
func (r *perfReport) jsonFields(d perfCounts, t perfTimes, prefix string) string {
	var b strings.Builder
	name := func(s string) string {
		if prefix == "" {
			return s
		}
		return prefix + strings.ToUpper(s[:1]) + s[1:]
	}
	blocked := "delayed"
	if prefix != "" {
		blocked = "blocked"
	}
	if r.sends {
		fmt.Fprintf(&b, `,"%s":%d,"%s":%d,"%s":%d`, name("sent"), d.sent, name(blocked), d.blocked, name("completed"), d.completed)
	}
	if r.takes {
		fmt.Fprintf(&b, `,"%s":%d`, name("received"), d.received)
	}
	if r.paced() {
		fmt.Fprintf(&b, `,"%s":%s`, name("delaySendTime"), timesJSON(t.delay))
	}
	if r.sends {
		fmt.Fprintf(&b, `,"%s":%s`, name("sendTime"), timesJSON(t.send))
	}
	if r.takes {
		fmt.Fprintf(&b, `,"%s":%s`, name("transferTime"), timesJSON(t.transfer))
	}
	return b.String()
}

// summary reports the whole run.
func (r *perfReport) summary() error {
	result := "success"
	if r.l.failure() != nil {
		result = "fail"
	}
	lines := []string{"--- SUMMARY\n--- result:" + fmt.Sprintf("%21s", result)}
	add := func(format string, n int64) { lines[0] += "\n" + fmt.Sprintf(format, n) }
	if r.sends {
		add("--- total sent:%17d", r.last.sent)
		add("--- total blocked:%14d", r.last.blocked)
		add("--- total completed:%12d", r.last.completed)
	}
	if r.takes {
		add("--- total received:%13d", r.last.received)
	}
	if r.paced() {
		lines = append(lines, "--- aggregated delay send time: "+timesText(r.total.delay))
	}
	if r.sends {
		lines = append(lines, "--- aggregated send time:       "+timesText(r.total.send))
	}
	if r.takes {
		lines = append(lines, "--- aggregated transfer time:   "+timesText(r.total.transfer))
	}
	fmt.Fprintf(r.l.cmd.OutOrStdout(), "\n%s\n", strings.Join(lines, " \n"))
	if r.json != nil {
		_, err := fmt.Fprintf(r.json, `{"sampleType":"summary","time":%d,"result":"%s"%s}`+"\n]\n", time.Now().UnixMilli(), result, r.jsonFields(r.last, r.total, "total"))
		if err == nil {
			err = r.json.Close()
		}
		if err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	if r.hdr != nil {
		if err := r.hdr.Close(); err != nil {
			return fmt.Errorf("histogram log: %w", err)
		}
	}
	return nil
}
