package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/saranga-mq/saranga/test/peers"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// A pair is a queue of its own with a connection that sends and one that receives.
type pair struct {
	queue              string
	producer, consumer *link
}

// openPair connects both and creates the queue. The consumer's connection may be configured in another way.
func openPair(ctx context.Context, i peers.Instance, queue string, consumer func(client.Config) client.Config) (_ *pair, err error) {
	p := &pair{queue: queue}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open %s: %w", queue, err), p.producer.close(), p.consumer.close())
		}
	}()
	cfg, err := clientConfig(i)
	if err != nil {
		return nil, err
	}
	if p.producer, err = connect(ctx, cfg); err != nil {
		return nil, err
	}
	if consumer != nil {
		cfg = consumer(cfg)
	}
	if p.consumer, err = connect(ctx, cfg); err != nil {
		return nil, err
	}
	return p, p.producer.createQueue(ctx, queue)
}

// start lets take have the queue's messages, and returns a producer for it.
func (p *pair) start(ctx context.Context, o client.ConsumerOptions) (*client.Producer, error) {
	producer, err := p.producer.session.NewProducer(ctx, p.queue)
	if err != nil {
		return nil, err
	}
	if _, err := p.consumer.session.NewConsumer(ctx, p.queue, o); err != nil {
		return nil, err
	}
	return producer, p.consumer.session.Start(ctx)
}

// close ends the connections and removes the queue with what is in it.
func (p *pair) close(ctx context.Context) error {
	err := p.consumer.close()
	if err = errors.Join(err, p.producer.deleteQueue(ctx, p.queue), p.producer.close()); err != nil {
		return fmt.Errorf("close %s: %w", p.queue, err)
	}
	return nil
}
