package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// A stall is a consumer that has unlimited credit and stops reading its socket, while durable messages for it go on and
// more wait than all buffers on the way hold.
type stall struct {
	tls    bool
	filter string // half of the messages match

	ctx    context.Context // ended by close, or by the first failure
	cancel context.CancelCauseFunc
	queue  string
	stop   chan struct{} // closed: the consumer stops reading
	resume chan struct{} // closed: it reads on, so that its connection can be closed
	done   chan struct{} // closed when no more is sent
	once   sync.Once

	producer, consumer *link
	send               func(durable bool) error
}

const (
	stallRate  = 200    // durable messages a second for the consumer, before and while it stalls
	stallBurst = 30_000 // messages of 1 KiB at its beginning
)

func (l *stall) open(ctx context.Context, i peers.Instance, tlsPort int) error {
	cfg, err := clientConfig(i)
	if err != nil {
		return err
	}
	if l.producer, err = connect(ctx, cfg); err != nil {
		return err
	}
	if err := l.producer.createQueue(ctx, l.queue); err != nil {
		return err
	}
	p, err := l.producer.session.NewProducer(ctx, l.queue)
	if err != nil {
		return err
	}
	l.send = l.sender(p)
	if l.tls {
		cfg = withTLS(cfg, tlsPort)
	}
	if l.consumer, err = connect(ctx, cfg); err != nil {
		return err
	}
	if _, err := l.consumer.session.NewConsumer(ctx, l.queue, client.ConsumerOptions{Window: -1, Filter: l.filter, OnMessage: l.take}); err != nil {
		return err
	}
	if err := l.consumer.session.Start(ctx); err != nil {
		return err
	}
	go l.run()
	return nil
}

// sender is a function that sends a message: in turn one that a filter wants and one that it does not.
func (l *stall) sender(p *client.Producer) func(durable bool) error {
	encoded := map[bool][2][]byte{}
	for _, durable := range []bool{false, true} {
		var both [2][]byte
		for i, kind := range []string{"wanted", "other"} {
			m := newBuilder(l.queue, bodySize, durable)
			m.Set("kind", kind)
			both[i] = m.AppendTo(nil)
		}
		encoded[durable] = both
	}
	turn := 0
	return func(durable bool) error {
		turn++
		return p.SendEncoded(l.ctx, encoded[durable][turn%2], false)
	}
}

func (l *stall) take(m *client.Message) {
	select {
	case <-l.stop:
		<-l.resume
	default:
	}
	if err := m.Ack(); err != nil && l.ctx.Err() == nil {
		l.cancel(err)
	}
}

// run sends durable messages at a slow rate and, when the consumer stalls, the burst.
func (l *stall) run() {
	defer close(l.done)
	tick := time.NewTicker(time.Second / stallRate)
	defer tick.Stop()
	stop := l.stop
	for {
		var err error
		select {
		case <-l.ctx.Done():
			return
		case <-stop:
			for n := 0; n < stallBurst && err == nil; n++ {
				err = l.send(false)
			}
			stop = nil
		case <-tick.C:
			err = l.send(true)
			l.producer.session.Flush()
		}
		if err != nil {
			l.cancel(err)
			return
		}
	}
}

// close ends the load and removes the queue with all that is in it.
func (l *stall) close() error {
	l.cancel(errStopped)
	err := context.Cause(l.ctx)
	if errors.Is(err, errStopped) {
		err = nil
	}
	l.once.Do(func() { close(l.resume) })
	if l.send != nil {
		<-l.done
	}
	ctx := context.WithoutCancel(l.ctx)
	err = errors.Join(err, l.consumer.close())
	if l.producer != nil {
		err = errors.Join(err, l.producer.deleteQueue(ctx, l.queue), l.producer.close())
	}
	if err != nil {
		return fmt.Errorf("stalled consumer of %s: %w", l.queue, err)
	}
	return nil
}

// stallRow measures a durable closed loop, first while the other consumer reads, then while it has stalled.
func stallRow(kind stall) func(context.Context, *bench, *side) (values, error) {
	return func(ctx context.Context, b *bench, s *side) (_ values, err error) {
		l := &stall{tls: kind.tls, filter: kind.filter, queue: b.queue(), stop: make(chan struct{}), resume: make(chan struct{}), done: make(chan struct{})}
		l.ctx, l.cancel = context.WithCancelCause(ctx)
		if err := l.open(ctx, s.main.Instance, s.tls); err != nil {
			close(l.done)
			return nil, errors.Join(err, l.close())
		}
		defer func() { err = errors.Join(err, l.close()) }()
		before, err := b.loopBeside(ctx, s)
		if err != nil {
			return nil, err
		}
		close(l.stop)
		beside, err := b.loopBeside(ctx, s)
		if err != nil {
			return nil, err
		}
		return values{"before": before, "beside": beside, "factor": beside / before}, nil
	}
}

// loopBeside is the p99 of a durable closed loop.
func (b *bench) loopBeside(ctx context.Context, s *side) (float64, error) {
	loop, err := openClosedLoop(ctx, s.main.Instance, b.queue(), true)
	if err != nil {
		return 0, err
	}
	if pause(ctx, settle) { // the burst is over then
		err = loop.note(ctx, b.Seconds)
	}
	if err = errors.Join(err, loop.end()); err != nil {
		return 0, err
	}
	return loop.times.at(99), nil
}
