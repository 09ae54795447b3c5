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

// A closedLoop has one message on its way at a time, over two connections. The read goroutine of the second does all:
// it acknowledges a message, notes how long it took and sends the next, so no hop in the client adds to the time.
type closedLoop struct {
	ctx     context.Context
	send    func() error
	encoded []byte
	queue   string
	times   times
	count   atomic.Int64
	state   atomic.Int32
	failed  error
	ended   chan struct{} // closed after the last message

	producer, consumer *link
}

// States of a loop.
const (
	settling int32 = iota // runs, nothing is noted
	noting
	ending // the next message is the last
)

func openClosedLoop(ctx context.Context, i peers.Instance, queue string, durable bool) (*closedLoop, error) {
	l := &closedLoop{ctx: ctx, queue: queue, times: newTimes(), ended: make(chan struct{})}
	if err := l.open(i, durable); err != nil {
		return nil, errors.Join(fmt.Errorf("closed loop on %s: %w", queue, err), l.producer.close(), l.consumer.close())
	}
	return l, nil
}

func (l *closedLoop) open(i peers.Instance, durable bool) error {
	cfg, err := clientConfig(i)
	if err != nil {
		return err
	}
	if l.producer, err = connect(l.ctx, cfg); err != nil {
		return err
	}
	if l.consumer, err = connect(l.ctx, cfg); err != nil {
		return err
	}
	if err := l.producer.createQueue(l.ctx, l.queue); err != nil {
		return err
	}
	p, err := l.producer.session.NewProducer(l.ctx, l.queue)
	if err != nil {
		return err
	}
	l.encoded = newBuilder(l.queue, bodySize, durable).AppendTo(nil)
	l.send = func() error {
		stamp(l.encoded, time.Now())
		err := p.SendEncoded(l.ctx, l.encoded, false)
		l.producer.session.Flush()
		return err
	}
	if _, err := l.consumer.session.NewConsumer(l.ctx, l.queue, client.ConsumerOptions{OnMessage: l.take}); err != nil {
		return err
	}
	if err := l.consumer.session.Start(l.ctx); err != nil {
		return err
	}
	return l.send()
}

func (l *closedLoop) take(m *client.Message) {
	took := stamped(m.Encoded(), time.Now())
	l.failed = m.Ack()
	state := l.state.Load()
	if state == noting {
		l.times.add(took)
		l.count.Add(1)
	}
	if state != ending && l.failed == nil {
		l.failed = l.send()
	}
	if state == ending || l.failed != nil {
		close(l.ended)
	}
}

// note notes times for a while.
func (l *closedLoop) note(ctx context.Context, length time.Duration) error {
	l.state.Store(noting)
	defer l.state.CompareAndSwap(noting, settling)
	if !pause(ctx, length) {
		return context.Cause(ctx)
	}
	return nil
}

// end lets the last message come. The times are the caller's then.
func (l *closedLoop) end() error {
	l.state.Store(ending)
	var err error
	select {
	case <-l.ended:
		err = l.failed
	case <-l.ctx.Done():
		err = context.Cause(l.ctx)
	case <-time.After(10 * time.Second):
		err = errors.New("the last message did not come in 10 s")
	}
	ctx := context.WithoutCancel(l.ctx)
	err = errors.Join(err, l.consumer.close())
	if err = errors.Join(err, l.producer.deleteQueue(ctx, l.queue), l.producer.close()); err != nil {
		return fmt.Errorf("closed loop on %s: %w", l.queue, err)
	}
	return nil
}

// closedRow measures a closed loop; a durable one beside the disk's own time.
func closedRow(durable bool) func(context.Context, *bench, *side) (values, error) {
	return func(ctx context.Context, b *bench, s *side) (values, error) {
		bare := 0.
		if durable {
			var err error
			if bare, err = bareWrites(s.main.Instance); err != nil {
				return nil, err
			}
		}
		l, err := openClosedLoop(ctx, s.main.Instance, b.queue(), durable)
		if err != nil {
			return nil, err
		}
		l.state.Store(noting)
		v, err := b.watch(ctx, s.main, l.count.Load)
		if err = errors.Join(err, l.end()); err != nil {
			return v, err
		}
		l.times.into(v)
		if durable {
			v["bare"], v["to-bare"] = bare, v[metricP50]/bare
		}
		return v, nil
	}
}
