package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
	"github.com/saranga-mq/saranga/wire/core/client"
)

type flowOptions struct {
	queue   string
	size    int // bytes of a body
	durable bool
	window  int64   // messages sent and not yet received, at most
	rate    float64 // messages a second; 0: as many as the window lets through
}

// A flow sends messages over one connection and receives them over another. The broker answers every durable message.
type flow struct {
	*pair
	*window
	flowOptions
	ctx    context.Context // ended by stop, or by the first failure
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when no more is sent

	noting atomic.Bool
	times  times // of messages received while noting; the caller's after close
}

// errStopped ends a flow that did not fail.
var errStopped = errors.New("stopped")

func openFlow(ctx context.Context, i peers.Instance, o flowOptions) (*flow, error) {
	p, err := openPair(ctx, i, o.queue, nil)
	if err != nil {
		return nil, err
	}
	f := &flow{pair: p, window: newWindow(o.window), flowOptions: o, done: make(chan struct{}), times: newTimes()}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	producer, err := p.start(ctx, client.ConsumerOptions{OnMessage: f.take})
	if err != nil {
		f.cancel(err)
		return nil, errors.Join(err, p.close(ctx))
	}
	send := f.sender(ctx, producer)
	if o.rate > 0 {
		go f.runPaced(send)
	} else {
		go f.run(send)
	}
	return f, nil
}

// sender is a function that sends a message, with a time in it unless it is a large one. ctx is not the flow's: a send
// that has begun is finished.
func (f *flow) sender(ctx context.Context, p *client.Producer) func(at time.Time) error {
	var answered func(error)
	if f.durable {
		answered = func(err error) {
			if err != nil {
				f.cancel(err)
			}
		}
	}
	m := newBuilder(f.pair.queue, f.size, f.durable)
	if f.size >= client.DefaultMinLargeMessageSize {
		return func(time.Time) error { return p.SendAsync(ctx, m, answered) }
	}
	encoded := m.AppendTo(nil)
	return func(at time.Time) error {
		stamp(encoded, at)
		if answered == nil {
			return p.SendEncoded(ctx, encoded, false)
		}
		return p.SendEncodedAsync(ctx, encoded, answered)
	}
}

// run sends as the window allows.
func (f *flow) run(send func(at time.Time) error) {
	defer close(f.done)
	for f.ctx.Err() == nil {
		if f.full() {
			f.producer.session.Flush()
			if !f.wait(f.ctx) {
				break
			}
		}
		if err := send(time.Time{}); err != nil {
			f.cancel(err)
			break
		}
		f.sent++
	}
	f.producer.session.Flush()
}

func (f *flow) take(m *client.Message) {
	if f.noting.Load() {
		f.times.add(stamped(m.Encoded(), time.Now()))
	}
	if err := m.Ack(); err != nil {
		f.cancel(err)
	}
	f.receive()
}

// close stops sending, waits for what was sent and removes the queue.
func (f *flow) close() error {
	f.cancel(errStopped)
	<-f.done
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), 30*time.Second)
	defer cancel()
	err := context.Cause(f.ctx)
	if errors.Is(err, errStopped) {
		err = nil
		for f.received.Load() < f.sent && err == nil {
			if !pause(ctx, time.Millisecond) {
				err = fmt.Errorf("%s: %d of %d messages were received", f.pair.queue, f.received.Load(), f.sent)
			}
		}
	}
	f.noting.Store(false)
	return errors.Join(err, f.pair.close(ctx))
}

// flowRow measures a flow of 1 KiB messages.
func flowRow(durable bool) func(context.Context, *bench, *side) (values, error) {
	return func(ctx context.Context, b *bench, s *side) (values, error) {
		return b.flows(ctx, s.main, 1, flowOptions{size: bodySize, durable: durable, window: flowWindow})
	}
}

// largeRow measures a flow of large messages beside what the disk does without a broker.
func largeRow(ctx context.Context, b *bench, s *side) (values, error) {
	bare, err := bareFiles(s.main.Instance)
	if err != nil {
		return nil, err
	}
	v, err := b.flows(ctx, s.main, 1, flowOptions{size: 1 << 20, durable: true, window: 8})
	if err == nil {
		v["bare"] = bare
	}
	return v, err
}

// queuesRow measures 100 flows, each with a queue and two connections.
func queuesRow(ctx context.Context, b *bench, s *side) (values, error) {
	return b.flows(ctx, s.main, 100, flowOptions{size: bodySize, durable: true, window: 100})
}

// flows measures n flows at once.
func (b *bench) flows(ctx context.Context, p *peers.Process, n int, o flowOptions) (values, error) {
	var open []*flow
	closeAll := func() error {
		for _, f := range open {
			f.cancel(errStopped)
		}
		var errs []error
		for _, f := range open {
			errs = append(errs, f.close())
		}
		return errors.Join(errs...)
	}
	for range n {
		o.queue = b.queue()
		f, err := openFlow(ctx, p.Instance, o)
		if err != nil {
			return nil, errors.Join(err, closeAll())
		}
		open = append(open, f)
	}
	v, err := b.watch(ctx, p, func() (sum int64) {
		for _, f := range open {
			sum += f.received.Load()
		}
		return sum
	})
	return v, errors.Join(err, closeAll())
}
