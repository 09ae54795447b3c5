package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
)

// A perfRow measures with Artemis' own perf client.
type perfRow struct {
	pending      int // messages not yet completed, of each producer
	size         int // bytes of a body
	persistent   bool
	destinations int // 0: one
}

// perfWarmUp is how long the client runs before it counts: it is a fresh JVM.
const perfWarmUp = 4 * time.Second

func (r perfRow) measure(ctx context.Context, b *bench, s *side) (values, error) {
	return r.run(ctx, b, s.main.Instance, func() (time.Duration, error) {
		u, err := s.main.Usage()
		return u.CPU, err
	})
}

// run lets the client send to an instance; used tells the run time of what is measured so far.
func (r perfRow) run(ctx context.Context, b *bench, i peers.Instance, used func() (time.Duration, error)) (values, error) {
	name := b.queue()
	file := filepath.Join(b.dir, name+".json")
	args := []string{"perf", "client", "--silent", "--url", i.URL(), "--user", i.User, "--password", i.Password,
		"--max-pending", fmt.Sprint(r.pending), "--message-size", fmt.Sprint(r.size), "--json", file,
		"--warmup", fmt.Sprint(int(perfWarmUp.Seconds())), "--duration", fmt.Sprint(int((perfWarmUp + b.Length).Seconds()) + 1)}
	if r.persistent {
		args = append(args, "--persistent")
	}
	if r.destinations > 0 {
		args = append(args, "--num-destinations", fmt.Sprint(r.destinations))
	}
	cpu := watchCPU(used)
	cmd := b.artemis.Tool(ctx, append(args, "queue://"+name)...)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	curve, cpuErr := cpu.stop()
	if err != nil {
		return nil, fmt.Errorf("perf client: %w: %s", err, out)
	}
	if cpuErr != nil {
		return nil, cpuErr
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("perf client: %w", err)
	}
	return perfValues(text, curve)
}

// A perfSample is an element of the client's JSON report.
type perfSample struct {
	Type         string             `json:"sampleType"`
	Warmup       bool               `json:"warmup"`
	Time         int64              `json:"time"` // ms, of its end
	Received     int64              `json:"received"`
	Result       string             `json:"result"`
	TransferTime map[string]numeric `json:"totalTransferTime"`
}

// numeric is a number that may be written as text.
type numeric float64

func (n *numeric) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(bytes.Trim(text, `"`), (*float64)(n))
}

// perfValues takes rate and times out of the client's report, and the CPU that the broker used meanwhile out of used.
func perfValues(report []byte, used cpuCurve) (values, error) {
	var samples []perfSample
	if err := json.Unmarshal(report, &samples); err != nil {
		return nil, fmt.Errorf("report of the perf client: %w", err)
	}
	var begin, end, n int64
	v := values{}
	for i, s := range samples {
		switch {
		case s.Type == "summary":
			if s.Result != "success" {
				return nil, fmt.Errorf("perf client: result %q", s.Result)
			}
			v[metricP99] = float64(s.TransferTime["99"])
		case !s.Warmup && i > 0:
			if begin == 0 {
				begin = samples[i-1].Time
			}
			end = s.Time
			n += s.Received
		}
	}
	if end <= begin || n == 0 {
		return nil, errors.New("report of the perf client: no message was received after the warm-up")
	}
	from, to := time.UnixMilli(begin), time.UnixMilli(end)
	for metric, value := range flowValues(n, to.Sub(from), used.at(to)-used.at(from)) {
		v[metric] = value
	}
	return v, nil
}

// A cpuWatch notes the CPU that a broker has used, ten times a second.
type cpuWatch struct {
	quit  chan struct{}
	done  chan struct{}
	curve cpuCurve
	err   error
}

func watchCPU(used func() (time.Duration, error)) *cpuWatch {
	w := &cpuWatch{quit: make(chan struct{}), done: make(chan struct{})}
	go w.run(used)
	return w
}

func (w *cpuWatch) run(used func() (time.Duration, error)) {
	defer close(w.done)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		cpu, err := used()
		if err != nil {
			w.err = err
			return
		}
		w.curve = append(w.curve, cpuPoint{time.Now(), cpu})
		select {
		case <-tick.C:
		case <-w.quit:
			return
		}
	}
}

func (w *cpuWatch) stop() (cpuCurve, error) {
	close(w.quit)
	<-w.done
	return w.curve, w.err
}

// A cpuCurve is CPU used over time.
type cpuCurve []cpuPoint

type cpuPoint struct {
	at   time.Time
	used time.Duration
}

// at is what was used up to a moment, between the points that were noted.
func (c cpuCurve) at(t time.Time) time.Duration {
	if len(c) == 0 {
		return 0
	}
	for i, p := range c {
		if p.at.Before(t) {
			continue
		}
		if i == 0 {
			return p.used
		}
		last := c[i-1]
		part := float64(t.Sub(last.at)) / float64(p.at.Sub(last.at))
		return last.used + time.Duration(part*float64(p.used-last.used))
	}
	return c[len(c)-1].used
}
