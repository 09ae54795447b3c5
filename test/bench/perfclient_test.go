package main

import (
	"math"
	"testing"
	"time"
)

// Shape of the report of Artemis 2.40.0's perf client, shortened.
const perfReport = `[
{"sampleType":"interval","warmup":true,"time":1001000,"sent":59,"delayed":0,"completed":57,"received":28},
{"sampleType":"interval","warmup":true,"time":1002000,"sent":59,"delayed":0,"completed":57,"received":5000},
{"sampleType":"interval","warmup":false,"time":1003000,"sent":175,"delayed":0,"completed":176,"received":9000},
{"sampleType":"interval","warmup":false,"time":1004000,"sent":441,"delayed":0,"completed":422,"received":11000},
{"sampleType":"summary","time":1004500,"result":"success","totalSent":25028,"totalReceived":25028,"totalTransferTime":{"mean":"126268.52","50":94207,"99":475135,"max":540671,"count":2258}}
]`

func TestPerfValues(t *testing.T) {
	// 1 ms of CPU in each of the first two seconds, 100 ms in each later one.
	used := cpuCurve{}
	for s, cpu := range []time.Duration{0, 1, 2, 102, 202, 302} {
		used = append(used, cpuPoint{time.UnixMilli(1_000_000 + int64(s)*1000), cpu * time.Millisecond})
	}
	v, err := perfValues([]byte(perfReport), used)
	if err != nil {
		t.Fatal(err)
	}
	// 20 000 messages in the two seconds after the warm-up, with 200 ms of CPU.
	for metric, want := range (values{metricRate: 10_000, metricCPU: 10, metricP99: 475135}) {
		if got := v[metric]; math.Abs(got-want) > 1e-6 {
			t.Errorf("%s %v, want %v", metric, got, want)
		}
	}
}

func TestPerfReportsThatSayNothing(t *testing.T) {
	for name, text := range map[string]string{
		"cut":          perfReport[:100],
		"failed":       `[{"sampleType":"summary","time":1,"result":"fail"}]`,
		"only warm-up": `[{"sampleType":"interval","warmup":true,"time":1,"received":5},{"sampleType":"summary","time":2,"result":"success"}]`,
	} {
		if v, err := perfValues([]byte(text), nil); err == nil {
			t.Errorf("%s: %v", name, v)
		}
	}
}

func TestCPUBetweenPoints(t *testing.T) {
	begin := time.Unix(1000, 0)
	curve := cpuCurve{{begin, time.Second}, {begin.Add(100 * time.Millisecond), 2 * time.Second}}
	for after, want := range map[time.Duration]time.Duration{
		-time.Second: time.Second, 0: time.Second, 50 * time.Millisecond: 1500 * time.Millisecond, 100 * time.Millisecond: 2 * time.Second, time.Hour: 2 * time.Second,
	} {
		if got := curve.at(begin.Add(after)); got != want {
			t.Errorf("after %v: %v, want %v", after, got, want)
		}
	}
}
