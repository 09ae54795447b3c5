package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync/atomic"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// backlog fills a queue and then sends and receives at that depth. Both brokers may hold 4 GiB of messages.
func backlog(ctx context.Context, b *bench, s *side) (_ values, err error) {
	i, err := s.create(ctx, b.queue(), "--global-max-size", "4G", "--java-memory", "4G")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(i.Dir)
	p, err := s.startTraced(ctx, i)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stopIfRunning(p)) }()
	begin, queue := time.Now(), b.queue()
	v := values{"messages": float64(b.Backlog)}
	if v["push-rate"], err = push(ctx, i, queue, b.Backlog); err != nil {
		return v, err
	}
	u, err := p.Usage()
	if err != nil {
		return v, err
	}
	v["queued"] = mib(u.Resident)
	if err := b.churn(ctx, p, queue, v); err != nil || s.broker.Name() != sarangaName {
		return v, err
	}
	collected, err := gcCPUOf(i)
	v["gc"] = 100 * collected.Seconds() / time.Since(begin).Seconds()
	return v, err
}

// push sends n messages that nobody receives, and returns how many a second the broker took.
func push(ctx context.Context, i peers.Instance, queue string, n int) (rate float64, err error) {
	cfg, err := clientConfig(i)
	if err != nil {
		return 0, err
	}
	l, err := connect(ctx, cfg)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if err := l.createQueue(ctx, queue); err != nil {
		return 0, err
	}
	p, err := l.session.NewProducer(ctx, queue)
	if err != nil {
		return 0, err
	}
	encoded := newBuilder(queue, bodySize, false).AppendTo(nil)
	begin := time.Now()
	for k := range n {
		if err := p.SendEncoded(ctx, encoded, k == n-1); err != nil { // the last one is answered when all are there
			return 0, fmt.Errorf("message %d of the backlog: %w", k+1, err)
		}
	}
	return float64(n) / time.Since(begin).Seconds(), nil
}

// A churn keeps a backlog as deep as it is: for each message it receives, over one connection, it sends one over another.
type churn struct {
	*pair
	ctx      context.Context // ended by stop, or by the first failure
	cancel   context.CancelCauseFunc
	received atomic.Int64
}

func openChurn(ctx context.Context, i peers.Instance, queue string) (_ *churn, err error) {
	c := &churn{pair: &pair{queue: queue}}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("churn %s: %w", queue, err), c.close())
		}
	}()
	cfg, err := clientConfig(i)
	if err != nil {
		return nil, err
	}
	if c.producer, err = connect(ctx, cfg); err != nil {
		return nil, err
	}
	if c.consumer, err = connect(ctx, cfg); err != nil {
		return nil, err
	}
	encoded := newBuilder(queue, bodySize, false).AppendTo(nil)
	ready := make(chan struct{})
	var p *client.Producer
	take := func(m *client.Message) {
		<-ready
		if c.ctx.Err() != nil {
			return
		}
		if err := errors.Join(m.Ack(), p.SendEncoded(c.ctx, encoded, false)); err != nil && c.ctx.Err() == nil {
			c.cancel(err)
		}
		c.received.Add(1)
	}
	p, err = c.start(ctx, client.ConsumerOptions{OnMessage: take})
	close(ready)
	return c, err
}

// close ends the churn. The queue stays as it is.
func (c *churn) close() error {
	c.cancel(errStopped)
	err := context.Cause(c.ctx)
	if errors.Is(err, errStopped) {
		err = nil
	}
	return errors.Join(err, c.consumer.close(), c.producer.close())
}

// churn measures a queue that holds a backlog.
func (b *bench) churn(ctx context.Context, p *peers.Process, queue string, v values) error {
	if err := p.ResetPeak(); err != nil {
		return err
	}
	c, err := openChurn(ctx, p.Instance, queue)
	if err != nil {
		return err
	}
	found, err := b.watch(ctx, p, c.received.Load)
	maps.Copy(v, found)
	u, usageErr := p.Usage()
	if err = errors.Join(err, usageErr, c.close()); err != nil {
		return err
	}
	v["resident"] = mib(u.Peak)
	return nil
}
