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

// A sendLoop is a client that sends a durable message and waits for the answer before it sends the next. The read goroutine
// does all, so no hop in the client adds to the time. Nobody receives the messages.
type sendLoop struct {
	link     *link
	queue    string
	producer *client.Producer
	encoded  []byte
	sent     time.Time
	times    times // of answers while noting; the caller's after end
	count    atomic.Int64
	state    atomic.Int32
	failed   error
	ended    chan struct{} // closed after the last answer
}

func openSendLoop(ctx context.Context, i peers.Instance, queue string) (_ *sendLoop, err error) {
	cfg, err := clientConfig(i)
	if err != nil {
		return nil, err
	}
	l := &sendLoop{queue: queue, encoded: newBuilder(queue, bodySize, true).AppendTo(nil), times: newTimes(), ended: make(chan struct{})}
	if l.link, err = connect(ctx, cfg); err != nil {
		return nil, err
	}
	if err = l.link.createQueue(ctx, queue); err == nil {
		l.producer, err = l.link.session.NewProducer(ctx, queue)
	}
	if err == nil {
		err = l.send(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, l.link.close())
	}
	return l, nil
}

func (l *sendLoop) send(ctx context.Context) error {
	l.sent = time.Now()
	err := l.producer.SendEncodedAsync(ctx, l.encoded, func(err error) { l.answered(ctx, err) })
	l.link.session.Flush()
	return err
}

func (l *sendLoop) answered(ctx context.Context, err error) {
	took := time.Since(l.sent)
	l.failed = err
	state := l.state.Load()
	if state == noting {
		l.times.add(took)
		l.count.Add(1)
	}
	if state != ending && l.failed == nil {
		l.failed = l.send(ctx)
	}
	if state == ending || l.failed != nil {
		close(l.ended)
	}
}

// end lets the last answer come and removes the queue with what is in it.
func (l *sendLoop) end(ctx context.Context) error {
	l.state.Store(ending)
	var err error
	select {
	case <-l.ended:
		err = l.failed
	case <-time.After(10 * time.Second):
		err = fmt.Errorf("send and wait on %s: the last answer did not come in 10 s", l.queue)
	}
	return errors.Join(err, l.link.deleteQueue(context.WithoutCancel(ctx), l.queue), l.link.close())
}

// sendAndWait measures a closed loop of one client on a pair, between two measurements of what no pair can avoid.
func sendAndWait(ctx context.Context, b *bench, p *haPair) (values, error) {
	before, err := bareDurable(p.primary.instance)
	if err != nil {
		return nil, err
	}
	l, err := openSendLoop(ctx, p.primary.instance, b.queue())
	if err != nil {
		return nil, err
	}
	pause(ctx, settle)
	l.state.Store(noting)
	v, err := b.watchPair(ctx, p, l.count.Load)
	if err = errors.Join(err, l.end(ctx)); err != nil {
		return v, err
	}
	l.times.into(v)
	after, err := bareDurable(p.primary.instance)
	if err != nil {
		return v, err
	}
	for metric := range before {
		v[metric] = (before[metric] + after[metric]) / 2
	}
	v["to-bare"] = v[metricP50] / (v["bare"] + v["loopback"])
	return v, nil
}

// bareDurable are the p50 in µs of a write + fdatasync, of a loopback round trip, and of both one after the other.
func bareDurable(i peers.Instance) (values, error) {
	v := values{}
	var err error
	if v["bare"], err = bareWrites(i, 0); err != nil {
		return nil, err
	}
	if v["loopback"], err = roundTrips(bodySize+300, 32); err != nil {
		return nil, err
	}
	return v, nil
}
