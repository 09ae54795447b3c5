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
	*pair
	ctx    context.Context
	send   func() error
	times  times // of messages received while noting; the caller's after end
	count  atomic.Int64
	state  atomic.Int32
	failed error
	ended  chan struct{} // closed after the last message
}

// States of a loop.
const (
	settling int32 = iota // runs, nothing is noted
	noting
	ending // the next message is the last
)

func openClosedLoop(ctx context.Context, i peers.Instance, queue string, durable bool) (*closedLoop, error) {
	p, err := openPair(ctx, i, queue, nil)
	if err != nil {
		return nil, err
	}
	l := &closedLoop{pair: p, ctx: ctx, times: newTimes(), ended: make(chan struct{})}
	producer, err := p.start(ctx, client.ConsumerOptions{OnMessage: l.take})
	if err == nil {
		encoded := newBuilder(queue, bodySize, durable).AppendTo(nil)
		l.send = func() error {
			stamp(encoded, time.Now())
			err := producer.SendEncoded(ctx, encoded, false)
			p.producer.session.Flush()
			return err
		}
		err = l.send()
	}
	if err != nil {
		return nil, errors.Join(err, p.close(ctx))
	}
	return l, nil
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

// end lets the last message come.
func (l *closedLoop) end() error {
	l.state.Store(ending)
	var err error
	select {
	case <-l.ended:
		err = l.failed
	case <-l.ctx.Done():
		err = context.Cause(l.ctx)
	case <-time.After(10 * time.Second):
		err = fmt.Errorf("closed loop on %s: the last message did not come in 10 s", l.queue)
	}
	return errors.Join(err, l.close(context.WithoutCancel(l.ctx)))
}

// closedRow measures a closed loop.
func closedRow(durable bool) func(context.Context, *bench, *side) (values, error) {
	return func(ctx context.Context, b *bench, s *side) (values, error) {
		l, err := openClosedLoop(ctx, s.main.Instance, b.queue(), durable)
		if err != nil {
			return nil, err
		}
		pause(ctx, settle)
		l.state.Store(noting)
		v, err := b.watch(ctx, s.main, l.count.Load)
		if err = errors.Join(err, l.end()); err != nil {
			return v, err
		}
		l.times.into(v)
		return v, nil
	}
}

// besideWakes measures a closed loop and the machine's own time to wake two threads.
func besideWakes(ctx context.Context, b *bench, s *side) (values, error) {
	wake, err := wakes()
	if err != nil {
		return nil, err
	}
	v, err := closedRow(false)(ctx, b, s)
	if err == nil {
		v["wake"] = wake
	}
	return v, err
}

// bareRest is about the time of a closed loop without the sync.
const bareRest = 100 * time.Microsecond

// besideBare measures a durable closed loop between two measurements of the disk's own time.
func besideBare(ctx context.Context, b *bench, s *side) (values, error) {
	before, err := bareWrites(s.main.Instance, 0)
	if err != nil {
		return nil, err
	}
	rested, err := bareWrites(s.main.Instance, bareRest)
	if err != nil {
		return nil, err
	}
	v, err := closedRow(true)(ctx, b, s)
	if err != nil {
		return v, err
	}
	after, err := bareWrites(s.main.Instance, 0)
	v["bare"], v["rested"] = (before+after)/2, rested
	v["to-bare"] = v[metricP50] / v["bare"]
	return v, err
}
