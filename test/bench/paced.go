package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// A paced load sends messages at a fixed rate whatever the broker does. A message's time begins when it should have been
// sent, so a broker that falls behind does not hide it.
type paced struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	times    times
	received atomic.Int64
	noting   atomic.Bool
	sent     int64
	done     chan struct{} // closed when no more is sent
	queue    string

	producer, consumer *link
}

func openPaced(ctx context.Context, i peers.Instance, queue string, durable bool, rate float64) (*paced, error) {
	l := &paced{times: newTimes(), queue: queue, done: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	if err := l.open(ctx, i, durable, rate); err != nil {
		l.cancel(err)
		return nil, errors.Join(fmt.Errorf("paced load on %s: %w", queue, err), l.producer.close(), l.consumer.close())
	}
	return l, nil
}

func (l *paced) open(ctx context.Context, i peers.Instance, durable bool, rate float64) error {
	cfg, err := clientConfig(i)
	if err != nil {
		return err
	}
	if l.producer, err = connect(ctx, cfg); err != nil {
		return err
	}
	if l.consumer, err = connect(ctx, cfg); err != nil {
		return err
	}
	if err := l.producer.createQueue(ctx, l.queue); err != nil {
		return err
	}
	if _, err := l.consumer.session.NewConsumer(ctx, l.queue, client.ConsumerOptions{OnMessage: l.take}); err != nil {
		return err
	}
	if err := l.consumer.session.Start(ctx); err != nil {
		return err
	}
	p, err := l.producer.session.NewProducer(ctx, l.queue)
	if err != nil {
		return err
	}
	encoded := newBuilder(l.queue, bodySize, durable).AppendTo(nil)
	answered := func(err error) {
		if err != nil {
			l.cancel(err)
		}
	}
	send := func(intended time.Time) error {
		stamp(encoded, intended)
		if durable {
			return p.SendEncodedAsync(ctx, encoded, answered)
		}
		return p.SendEncoded(ctx, encoded, false)
	}
	go l.run(time.Duration(float64(time.Second)/rate), send)
	return nil
}

// run sends what is due and sleeps, on a thread of its own, since the runtime's timers are too coarse.
func (l *paced) run(period time.Duration, send func(intended time.Time) error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(l.done)
	begin := time.Now()
	for l.ctx.Err() == nil {
		due := begin.Add(time.Duration(l.sent) * period)
		if wait := time.Until(due); wait > 0 {
			l.producer.session.Flush()
			sleep(wait)
			continue
		}
		if err := send(due); err != nil {
			l.cancel(err)
			return
		}
		l.sent++
	}
	l.producer.session.Flush()
}

func (l *paced) take(m *client.Message) {
	if l.noting.Load() {
		l.times.add(stamped(m.Encoded(), time.Now()))
	}
	if err := m.Ack(); err != nil {
		l.cancel(err)
	}
	l.received.Add(1)
}

// close stops sending, waits for what was sent and removes the queue. The times are the caller's then.
func (l *paced) close() error {
	l.cancel(errStopped)
	<-l.done
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), 30*time.Second)
	defer cancel()
	err := context.Cause(l.ctx)
	if errors.Is(err, errStopped) {
		err = nil
		for l.received.Load() < l.sent && err == nil {
			if !pause(ctx, time.Millisecond) {
				err = fmt.Errorf("%d of %d messages were received", l.received.Load(), l.sent)
			}
		}
	}
	err = errors.Join(err, l.consumer.close())
	if err = errors.Join(err, l.producer.deleteQueue(ctx, l.queue), l.producer.close()); err != nil {
		return fmt.Errorf("paced load on %s: %w", l.queue, err)
	}
	return nil
}

// pacedRow measures times at half of the lower throughput of both brokers.
func pacedRow(durable bool) func(context.Context, *bench, *side) (values, error) {
	return func(ctx context.Context, b *bench, s *side) (values, error) {
		rate, err := b.lowerRate(ctx, durable)
		if err != nil {
			return nil, err
		}
		l, err := openPaced(ctx, s.main.Instance, b.queue(), durable, rate/2)
		if err != nil {
			return nil, err
		}
		l.noting.Store(true)
		v, err := b.watch(ctx, s.main, l.received.Load)
		l.noting.Store(false)
		if err = errors.Join(err, l.close()); err != nil {
			return v, err
		}
		l.times.into(v)
		return v, nil
	}
}

// lowerRate is the throughput of the slower broker: as measured in this run, or measured now.
func (b *bench) lowerRate(ctx context.Context, durable bool) (float64, error) {
	name := "core"
	if durable {
		name = "core-persistent"
	}
	lowest := 0.
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
		if lowest == 0 || rate < lowest {
			lowest = rate
		}
	}
	if lowest == 0 {
		return 0, errors.New("no throughput was measured to pace the load by")
	}
	return lowest, nil
}
