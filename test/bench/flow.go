package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
	"github.com/saranga-mq/saranga/wire/core/client"
)

type flowOptions struct {
	queue   string
	size    int // bytes of a body
	durable bool
	window  int64
}

// A flow sends messages over one connection and receives them over another, as fast as its window lets it. The broker
// answers every durable message.
type flow struct {
	*window
	ctx    context.Context // ended by stop, or by the first failure
	cancel context.CancelCauseFunc
	queue  string
	done   chan struct{} // closed when no more is sent

	producer, consumer *link
}

// errStopped ends a flow that did not fail.
var errStopped = errors.New("stopped")

func openFlow(ctx context.Context, i peers.Instance, o flowOptions) (*flow, error) {
	f := &flow{window: newWindow(o.window), queue: o.queue, done: make(chan struct{})}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	if err := f.open(ctx, i, o); err != nil {
		f.cancel(err)
		return nil, errors.Join(fmt.Errorf("flow on %s: %w", o.queue, err), f.producer.close(), f.consumer.close())
	}
	return f, nil
}

func (f *flow) open(ctx context.Context, i peers.Instance, o flowOptions) error {
	cfg, err := clientConfig(i)
	if err != nil {
		return err
	}
	if f.producer, err = connect(ctx, cfg); err != nil {
		return err
	}
	if f.consumer, err = connect(ctx, cfg); err != nil {
		return err
	}
	if err := f.producer.createQueue(ctx, f.queue); err != nil {
		return err
	}
	if _, err := f.consumer.session.NewConsumer(ctx, f.queue, client.ConsumerOptions{OnMessage: f.take}); err != nil {
		return err
	}
	if err := f.consumer.session.Start(ctx); err != nil {
		return err
	}
	p, err := f.producer.session.NewProducer(ctx, f.queue)
	if err != nil {
		return err
	}
	go f.run(f.sender(ctx, p, o))
	return nil
}

// sender is a function that sends a message. ctx is not the flow's: a send that has begun is finished.
func (f *flow) sender(ctx context.Context, p *client.Producer, o flowOptions) func() error {
	var answered func(error)
	if o.durable {
		answered = f.answer
	}
	m := newBuilder(f.queue, o.size, o.durable)
	if o.size >= client.DefaultMinLargeMessageSize {
		return func() error { return p.SendAsync(ctx, m, answered) }
	}
	encoded := m.AppendTo(nil)
	if answered == nil {
		return func() error { return p.SendEncoded(ctx, encoded, false) }
	}
	return func() error { return p.SendEncodedAsync(ctx, encoded, answered) }
}

func (f *flow) run(send func() error) {
	defer close(f.done)
	for f.ctx.Err() == nil {
		if f.full() {
			f.producer.session.Flush()
			if !f.wait(f.ctx) {
				break
			}
		}
		if err := send(); err != nil {
			f.cancel(err)
			break
		}
		f.sent++
	}
	f.producer.session.Flush()
}

func (f *flow) take(m *client.Message) {
	if err := m.Ack(); err != nil {
		f.cancel(err)
	}
	f.receive()
}

func (f *flow) answer(err error) {
	if err != nil {
		f.cancel(err)
	}
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
				err = fmt.Errorf("%d of %d messages were received", f.received.Load(), f.sent)
			}
		}
	}
	errs := []error{err, f.consumer.close()}
	errs = append(errs, f.producer.deleteQueue(ctx, f.queue), f.producer.close())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("flow on %s: %w", f.queue, err)
	}
	return nil
}

// flowRow measures a flow of 1 KiB messages.
func flowRow(durable bool) func(context.Context, *bench, *side) (values, error) {
	return func(ctx context.Context, b *bench, s *side) (values, error) {
		return b.flows(ctx, s.main, 1, flowOptions{size: bodySize, durable: durable, window: flowWindow})
	}
}

// largeRow measures a flow of large messages.
func largeRow(ctx context.Context, b *bench, s *side) (values, error) {
	return b.flows(ctx, s.main, 1, flowOptions{size: 1 << 20, durable: true, window: 8})
}

// queuesRow measures 100 flows, each with a queue and two connections.
func queuesRow(ctx context.Context, b *bench, s *side) (values, error) {
	return b.flows(ctx, s.main, 100, flowOptions{size: bodySize, durable: true, window: 10})
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
