package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/wire/core/client"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Windows in bytes that keep flow control out of what is measured, unless the URL says something else.
const (
	perfProducerWindow = 1 << 20
	perfConsumerWindow = 1 << 20
)

// A load is a run of a perf command.
type load struct {
	o         *perfOptions
	cmd       *cobra.Command
	conns     []*client.Conn
	producers []*loadProducer
	consumers []*loadConsumer
	inFlight  *window // --window
	quota     *quota

	// ctx is the time of sending; it ends with the duration, a signal or a failure.
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func (o *perfOptions) run(cmd *cobra.Command, names []string, sends, receives bool) error {
	if err := o.connection.begin(cmd); err != nil {
		return err
	}
	destinations, err := o.destinations(names)
	if err != nil {
		return err
	}
	l := &load{o: o, cmd: cmd, quota: newQuota(o.messageCount)}
	l.ctx, l.cancel = context.WithCancelCause(cmd.Context())
	defer l.cancel(nil)
	if o.window > 0 {
		if o.window < o.batch() {
			return usageError("Invalid value for option '--window': it is less than a transaction has messages")
		}
		l.inFlight = newWindow(o.window)
	}
	defer l.close()
	if err := l.open(destinations, sends, receives); err != nil {
		return err
	}
	return l.measure()
}

// open connects, consumers first so that a topic loses nothing.
func (l *load) open(destinations []destination, sends, receives bool) error {
	consumed := connectionPool{load: l, flags: l.o.connection, size: l.o.consumerConnections}
	if l.o.consumerURL != "" {
		consumed.flags.url = l.o.consumerURL
	}
	produced := connectionPool{load: l, flags: l.o.connection}
	if l.o.sharedConnections {
		produced.size = 1
	}
	for _, d := range destinations {
		for n := range l.o.consumers {
			if !receives {
				break
			}
			conn, err := consumed.next()
			if err != nil {
				return err
			}
			c, err := l.newConsumer(conn, d, n)
			if err != nil {
				return err
			}
			l.consumers = append(l.consumers, c)
		}
	}
	total := len(destinations) * l.o.producers
	for _, d := range destinations {
		for range l.o.producers {
			if !sends {
				break
			}
			conn, err := produced.next()
			if err != nil {
				return err
			}
			p, err := l.newProducer(conn, d, total, len(l.producers))
			if err != nil {
				return err
			}
			l.producers = append(l.producers, p)
		}
	}
	return nil
}

// connectionPool gives each caller a connection of its own, or one of size.
type connectionPool struct {
	load  *load
	flags connectionFlags
	size  int
	conns []*client.Conn
	given int
}

func (p *connectionPool) next() (*client.Conn, error) {
	if p.size > 0 && len(p.conns) == p.size {
		p.given++
		return p.conns[p.given%p.size], nil
	}
	conn, err := p.dial()
	if err != nil {
		return nil, err
	}
	p.conns = append(p.conns, conn)
	p.load.conns = append(p.load.conns, conn)
	return conn, nil
}

// dial connects. The first connection of the run says so, checks the login and asks again if it fails.
func (p *connectionPool) dial() (*client.Conn, error) {
	configure := func(c *client.Config) {
		if c.ProducerWindow == 0 {
			c.ProducerWindow = perfProducerWindow
		}
		if c.ConsumerWindow == 0 {
			c.ConsumerWindow = perfConsumerWindow
		}
		c.NoBlockOnDurableSend = true
	}
	login := func(ctx context.Context, c *client.Conn) error {
		s, err := c.NewSession(ctx, client.SessionOptions{AutoCommitSends: true, AutoCommitAcks: true})
		if err != nil {
			return err
		}
		return s.Close(ctx)
	}
	if len(p.load.conns) == 0 {
		conn, err := p.flags.connect(p.load.cmd, messagingRetry, configure, login)
		p.load.o.connection.user, p.load.o.connection.password = p.flags.user, p.flags.password
		return conn, err
	}
	p.flags.user, p.flags.password = p.load.o.connection.user, p.load.o.connection.password
	return p.flags.dial(p.load.ctx, configure, func(context.Context, *client.Conn) error { return nil })
}

// measure lets producers and consumers run and reports.
func (l *load) measure() error {
	report, err := newPerfReport(l)
	if err != nil {
		return err
	}
	if l.o.duration > 0 {
		t := time.AfterFunc(time.Duration(l.o.duration)*time.Second, func() { l.cancel(errDurationOver) })
		defer t.Stop()
	}
	over := make(chan struct{})
	var watching sync.WaitGroup
	for _, conn := range l.conns {
		watching.Go(func() {
			select {
			case <-conn.Done():
				l.cancel(fmt.Errorf("connection lost: %w", conn.Err()))
			case <-over:
			}
		})
	}
	done := make(chan struct{})
	watching.Go(func() {
		l.work()
		close(done)
	})
	err = report.run(done)
	close(over)
	watching.Wait()
	if err == nil {
		err = l.failure()
	}
	return err
}

// Why a run ends in good order.
var (
	errDurationOver = errors.New("the time is over")
	errAllReceived  = errors.New("all messages have been received")
)

// failure is why the run ended early, nil if it did not.
func (l *load) failure() error {
	cause := context.Cause(l.ctx)
	if errors.Is(cause, errDurationOver) || errors.Is(cause, errAllReceived) || l.cmd.Context().Err() != nil {
		return nil
	}
	return cause
}

// receiveGrace is how long consumers have for what was sent, after the last of it.
const receiveGrace = 5 * time.Second

// work runs consumers and producers to their end.
func (l *load) work() {
	receiving, stopReceiving := context.WithCancel(context.WithoutCancel(l.ctx))
	defer stopReceiving()
	var consumers, producers sync.WaitGroup
	for _, c := range l.consumers {
		if err := c.start(receiving); err != nil {
			l.cancel(err)
			break
		}
		if c.batch > 0 {
			consumers.Go(func() { c.receive(receiving) })
		}
	}
	for _, p := range l.producers {
		producers.Go(p.run)
	}
	wake := context.AfterFunc(l.ctx, func() {
		if l.inFlight != nil {
			l.inFlight.close()
		}
		for _, p := range l.producers {
			p.pending.close()
		}
	})
	defer wake()
	if len(l.producers) == 0 {
		<-l.ctx.Done()
	}
	producers.Wait()
	if len(l.producers) > 0 && len(l.consumers) > 0 && l.failure() == nil {
		l.awaitReceived()
	}
	l.cancel(errAllReceived)
	stopReceiving()
	consumers.Wait()
}

// awaitReceived waits for consumers to have what was sent to them; in vain if others take messages too.
func (l *load) awaitReceived() {
	ctx, cancel := context.WithTimeout(l.cmd.Context(), receiveGrace)
	defer cancel()
	for !l.allReceived() && pause(ctx, 10*time.Millisecond) {
	}
}

// allReceived tells whether consumers have as many messages as the producers sent to them.
func (l *load) allReceived() bool {
	var expected, received int64
	for _, p := range l.producers {
		copies := int64(1)
		if p.d.topic {
			copies = int64(l.o.consumers)
			if l.o.shared > 0 {
				copies = int64(min(l.o.shared, l.o.consumers))
			}
		}
		expected += p.sent.Load() * copies
	}
	for _, c := range l.consumers {
		received += c.received.Load()
	}
	return received >= expected
}

func (l *load) close() {
	for _, c := range l.conns {
		c.Close()
	}
}
