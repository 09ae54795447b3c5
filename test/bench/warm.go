package main

import (
	"context"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
)

// settle is how long a load runs before it counts.
const settle = time.Second

// onWarm makes a measurement of one on a warm broker: with the peak of memory while it lasts.
func onWarm(measure func(context.Context, *bench, *side) (values, error)) func(context.Context, *bench, *side) (values, error) {
	return func(ctx context.Context, b *bench, s *side) (values, error) {
		p, err := b.warm(ctx, s)
		if err != nil {
			return nil, err
		}
		if err := p.ResetPeak(); err != nil {
			return nil, err
		}
		v, err := measure(ctx, b, s)
		if err != nil {
			return v, err
		}
		u, err := p.Usage()
		v[metricPeak] = mib(u.Peak)
		return v, err
	}
}

// watch finds rate and CPU per message of a load that runs, from what it has received.
func (b *bench) watch(ctx context.Context, p *peers.Process, received func() int64) (values, error) {
	if !pause(ctx, settle) {
		return nil, context.Cause(ctx)
	}
	before, err := p.Usage()
	if err != nil {
		return nil, err
	}
	begin, first := time.Now(), received()
	if !pause(ctx, b.Length) {
		return nil, context.Cause(ctx)
	}
	after, err := p.Usage()
	if err != nil {
		return nil, err
	}
	return flowValues(received()-first, time.Since(begin), after.CPU-before.CPU), nil
}

// flowValues are rate and CPU of n messages. Without a message the CPU is that of one.
func flowValues(n int64, took, cpu time.Duration) values {
	return values{metricRate: float64(n) / took.Seconds(), metricCPU: micros(cpu) / float64(max(n, 1))}
}

func mib(bytes int64) float64        { return float64(bytes) / (1 << 20) }
func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
