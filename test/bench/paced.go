package main

import (
	"context"
	"errors"
	"math"
	"runtime"
	"time"
)

// runPaced sends at a fixed rate whatever the broker does. A message's time begins when it should have been sent, so a
// broker that falls behind does not hide it. The thread is its own, since the runtime's timers are too coarse.
func (f *flow) runPaced(send func(at time.Time) error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(f.done)
	begin, period := time.Now(), time.Duration(float64(time.Second)/f.rate)
	for f.ctx.Err() == nil {
		due := begin.Add(time.Duration(f.sent) * period)
		if wait := time.Until(due); wait > 0 {
			f.producer.session.Flush()
			sleep(wait)
			continue
		}
		if err := send(due); err != nil {
			f.cancel(err)
			break
		}
		f.sent++
	}
	f.producer.session.Flush()
}

// pacedRow measures times at half of the lower throughput of both brokers.
func pacedRow(durable bool) func(context.Context, *bench, *side) (values, error) {
	return func(ctx context.Context, b *bench, s *side) (values, error) {
		rate, err := b.lowerRate(ctx, durable)
		if err != nil {
			return nil, err
		}
		f, err := openFlow(ctx, s.main.Instance, flowOptions{queue: b.queue(), size: bodySize, durable: durable, window: math.MaxInt64, rate: rate / 2})
		if err != nil {
			return nil, err
		}
		pause(ctx, settle)
		f.noting.Store(true)
		v, err := b.watch(ctx, s.main, f.received.Load)
		if err = errors.Join(err, f.close()); err != nil {
			return v, err
		}
		f.times.into(v)
		return v, nil
	}
}

// lowerRate is the throughput of the slower broker: as measured in this run, or measured now.
func (b *bench) lowerRate(ctx context.Context, durable bool) (float64, error) {
	name := "core"
	if durable {
		name = "core-persistent"
	}
	lowest := math.Inf(1)
	for _, s := range b.sides {
		rate, ok := b.report.median(name, s.broker.Name(), metricRate)
		if !ok {
			if _, err := b.warm(ctx, s); err != nil {
				return 0, err
			}
			v, err := flowRow(durable)(ctx, b, s)
			if err != nil {
				return 0, err
			}
			rate = v[metricRate]
			b.report.remember(name, s.broker.Name(), v)
		}
		lowest = min(lowest, rate)
	}
	if lowest < 2 {
		return 0, errors.New("no throughput was measured to pace the load by")
	}
	return lowest, nil
}
