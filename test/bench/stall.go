package main

import (
	"context"
	"errors"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// A stallKind is how the consumer is connected and what it wants.
type stallKind struct {
	tls    bool
	filter string // half of the messages match
}

// A stall is a consumer that has unlimited credit and stops reading its socket, while durable messages for it go on and
// more wait than all buffers on the way hold.
type stall struct {
	*pair
	ctx    context.Context // ended by close, or by the first failure
	cancel context.CancelCauseFunc
	stop   chan struct{} // closed: the consumer stops reading
	resume chan struct{} // closed: it reads on, so that its connection can be closed
	done   chan struct{} // closed when no more is sent
}

const (
	stallRate  = 200    // durable messages a second for the consumer, before and while it stalls
	stallBurst = 30_000 // messages of 1 KiB at its beginning
)

func openStall(ctx context.Context, i peers.Instance, tlsPort int, queue string, kind stallKind) (*stall, error) {
	p, err := openPair(ctx, i, queue, func(c client.Config) client.Config {
		if kind.tls {
			return withTLS(c, tlsPort)
		}
		return c
	})
	if err != nil {
		return nil, err
	}
	l := &stall{pair: p, stop: make(chan struct{}), resume: make(chan struct{}), done: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	producer, err := p.start(ctx, client.ConsumerOptions{Window: -1, Filter: kind.filter, OnMessage: l.take})
	if err != nil {
		l.cancel(err)
		return nil, errors.Join(err, p.close(ctx))
	}
	go l.run(l.sender(producer))
	return l, nil
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
func (l *stall) run(send func(durable bool) error) {
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
				err = send(false)
			}
			stop = nil
		case <-tick.C:
			err = send(true)
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
	close(l.resume)
	<-l.done
	return errors.Join(err, l.pair.close(context.WithoutCancel(l.ctx)))
}

// stallRow measures a durable closed loop, first while the other consumer reads, then while it has stalled.
func stallRow(kind stallKind) func(context.Context, *bench, *side) (values, error) {
	return func(ctx context.Context, b *bench, s *side) (_ values, err error) {
		l, err := openStall(ctx, s.main.Instance, s.tls, b.queue(), kind)
		if err != nil {
			return nil, err
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
	pause(ctx, settle) // the burst is over then
	loop.state.Store(noting)
	pause(ctx, b.Length)
	if err := loop.end(); err != nil {
		return 0, err
	}
	return loop.times.at(99), nil
}
