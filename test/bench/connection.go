package main

import (
	"context"
	"errors"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// clientConfig is how every client of ours connects: as a JMS client with automatic acknowledgement does (an ack per
// message), but without producer credits, since the loads bound what is in flight themselves.
func clientConfig(i peers.Instance) (client.Config, error) {
	c, err := client.ParseURL(i.URL())
	c.User, c.Password = i.User, i.Password
	c.ProducerWindow = -1
	c.ConsumerWindow = 4 << 20
	c.InitialConnectAttempts, c.RetryInterval = 20, 100*time.Millisecond
	return c, err
}

// A link is a connection with a session.
type link struct {
	conn    *client.Conn
	session *client.Session
}

func connect(ctx context.Context, c client.Config) (*link, error) {
	conn, err := client.Dial(ctx, c)
	if err != nil {
		return nil, err
	}
	s, err := conn.NewSession(ctx, client.SessionOptions{AutoCommitSends: true, AutoCommitAcks: true})
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &link{conn, s}, nil
}

func (l *link) close() error {
	if l == nil {
		return nil
	}
	return l.conn.Close()
}

// createQueue makes a queue with an address of its own.
func (l *link) createQueue(ctx context.Context, name string) error {
	return l.session.CreateQueue(ctx, client.QueueOptions{Name: name, Durable: true, RoutingType: core.RoutingAnycast})
}

// deleteQueue removes a queue as soon as the broker has noticed that its consumer is gone.
func (l *link) deleteQueue(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		err := l.session.DeleteQueue(ctx, name)
		if err == nil || !errors.Is(err, core.IllegalState) || !pause(ctx, 20*time.Millisecond) {
			return err
		}
	}
}
