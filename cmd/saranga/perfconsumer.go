package main

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/saranga-mq/saranga/wire/core/client"
)

// A loadConsumer receives messages: on the connection's read goroutine, or in transactions on one of its own.
type loadConsumer struct {
	l        *load
	d        destination
	session  *client.Session
	consumer *client.Consumer
	batch    int64 // messages in a transaction, 0 for none

	received atomic.Int64
	transfer *recorder
}

// newConsumer makes the nth consumer of a destination. It receives nothing before start.
func (l *load) newConsumer(conn *client.Conn, d destination, n int) (*loadConsumer, error) {
	o := l.o
	c := &loadConsumer{l: l, d: d, batch: o.batch(), transfer: newRecorder()}
	var err error
	if c.session, err = conn.NewSession(l.ctx, client.SessionOptions{AutoCommitSends: true, AutoCommitAcks: c.batch == 0}); err != nil {
		return nil, err
	}
	sub := subscription{durable: o.durable, shared: o.shared > 0}
	if sub.durable || sub.shared {
		sub.name = d.address + ".perf-" + strconv.Itoa(n%max(o.shared, o.consumers))
		if sub.shared {
			sub.name = d.address + ".perf-shared-" + strconv.Itoa(n%o.shared)
		}
	}
	queue, err := d.open(l.ctx, c.session, sub, "")
	if err != nil {
		return nil, err
	}
	options := client.ConsumerOptions{}
	if c.batch == 0 {
		options.OnMessage = c.take
	}
	c.consumer, err = c.session.NewConsumer(l.ctx, queue, options)
	return c, err
}

func (c *loadConsumer) start(ctx context.Context) error { return c.session.Start(ctx) }

// take takes a message.
func (c *loadConsumer) take(m *client.Message) {
	c.count(m)
	if err := m.Ack(); err != nil {
		c.fail(err)
	}
	if w := c.l.inFlight; w != nil {
		w.release()
	}
	if len(c.l.producers) == 0 && c.l.quota.take() && c.l.quota.done() {
		c.l.cancel(errAllReceived)
	}
}

func (c *loadConsumer) count(m *client.Message) {
	c.received.Add(1)
	v, err := m.Core()
	if err != nil {
		c.fail(err)
		return
	}
	if sent, ok := v.Property(sentProperty).Int64(); ok {
		c.transfer.record(time.Duration(time.Now().UnixNano() - sent))
	}
}

// receive takes messages in transactions until the context ends.
func (c *loadConsumer) receive(ctx context.Context) {
	for n := int64(0); ; {
		m, err := c.consumer.Receive(ctx)
		if err != nil {
			if ctx.Err() == nil {
				c.fail(err)
				return
			}
			closing, cancel := closeContext(ctx)
			defer cancel()
			if err := c.session.Commit(closing); err != nil {
				c.fail(err)
			}
			return
		}
		c.take(m)
		m.Release()
		if n++; n == c.batch {
			n = 0
			if err := c.session.Commit(ctx); err != nil && ctx.Err() == nil {
				c.fail(err)
				return
			}
		}
	}
}

func (c *loadConsumer) fail(err error) {
	c.l.cancel(fmt.Errorf("receive from %s: %w", c.d, err))
}
