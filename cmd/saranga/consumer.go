package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// consuming is a run of the consumer command.
type consuming struct {
	messagingFlags

	durable, breakOnNull bool
	receiveTimeout       int // ms
	filter               string
}

func consumerCommand() *cobra.Command {
	c := &consuming{}
	cmd := &cobra.Command{
		Use: "consumer", Short: "Receive messages.", Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.durable && c.connection.clientID == "" {
				return usageError("--durable needs a --clientID")
			}
			return c.run(cmd, "Consumer", c.sayFilter, c.consume)
		},
	}
	c.add(cmd)
	f := cmd.Flags()
	f.BoolVar(&c.durable, "durable", false, "the subscription of a topic is durable")
	f.BoolVar(&c.breakOnNull, "break-on-null", false, "end when no message comes")
	f.IntVar(&c.receiveTimeout, "receive-timeout", 3000, "ms to wait for a message")
	f.StringVar(&c.filter, "filter", "", "receive only messages that match it")
	return cmd
}

func (c *consuming) sayFilter(out io.Writer) {
	sayFilter(out, c.filter)
	if c.connection.clientID != "" {
		fmt.Fprintf(out, "Consumer:: clientID = %s\n", c.connection.clientID)
	}
}

func sayFilter(out io.Writer, filter string) {
	fmt.Fprintf(out, "Consumer:: filter = %s\n", orNull(filter))
}

// subscriptionName is the queue of a durable subscription. Dots in the two parts are escaped.
func subscriptionName(clientID, name string) string {
	escape := strings.NewReplacer(`\`, `\\`, ".", `\.`)
	return escape.Replace(clientID) + "." + escape.Replace(name)
}

func (c *consuming) consume(ctx context.Context, w *worker) error {
	sub := subscription{}
	if c.durable {
		sub = subscription{name: subscriptionName(c.connection.clientID, w.name), durable: true}
	}
	queue, err := w.d.open(ctx, w.session, sub, c.filter)
	if err != nil {
		return err
	}
	receiver, err := w.session.NewConsumer(ctx, queue, client.ConsumerOptions{Filter: c.filter})
	if err != nil {
		return err
	}
	w.say("wait %dms until %d messages are consumed", c.receiveTimeout, c.count)
	if err := w.session.Start(ctx); err != nil {
		return err
	}
	begin := time.Now()
	commits := 0
	received := int64(0)
	for received < c.count && ctx.Err() == nil {
		m, err := receiver.ReceiveTimeout(ctx, time.Duration(c.receiveTimeout)*time.Millisecond)
		if err != nil {
			if ctx.Err() != nil {
				break
			}
			return err
		}
		if m == nil {
			if c.breakOnNull {
				break
			}
			continue
		}
		if err := c.take(w, m); err != nil {
			return err
		}
		received++
		if c.commitInterval > 0 && received%c.commitInterval == 0 {
			w.say("Committing transaction: %d", commits)
			commits++
			if err := w.session.Commit(ctx); err != nil {
				return err
			}
		}
		if !w.pause(ctx) {
			break
		}
	}
	closing, cancel := closeContext(ctx)
	defer cancel()
	if c.commitInterval > 0 {
		if err := w.session.Commit(closing); err != nil {
			return err
		}
	}
	w.say("Consumed: %d messages", c.count)
	w.elapsed(begin)
	w.say("Consumed: %d messages", received)
	w.say("Consumer thread finished")
	return w.session.Close(closing)
}

// take shows a message and acknowledges it. Of a large body only what is shown is read.
func (c *consuming) take(w *worker, m *client.Message) error {
	if w.connection.verbose {
		if err := c.show(w, m); err != nil {
			return err
		}
	}
	return m.Ack()
}

func (c *consuming) show(w *worker, m *client.Message) error {
	v, err := m.Core()
	if err != nil {
		return err
	}
	text, isText := m.Text()
	if !isText {
		text = v.UserIDText()
	}
	w.say("Received %s", text)
	w.detail("JMS Message ID:%s", v.UserIDText())
	switch {
	case isText:
		w.detail("Received text sized at %d", len([]rune(text)))
	case v.Type() == message.Object:
		w.detail("Received object %d", objectSize(v.Body()))
	}
	return nil
}
