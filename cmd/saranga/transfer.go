package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// transferring is a run of the transfer command.
type transferring struct {
	source, target connectionFlags

	sourceQueue, sourceTopic, targetQueue, targetTopic string
	filter                                             string
	durableConsumer, shared, sharedDurable             string
	count                                              int
	receiveTimeout                                     int // ms
	commitInterval                                     int
	copy, noLocal, silent                              bool
}

func transferCommand() *cobra.Command {
	t := &transferring{}
	cmd := &cobra.Command{
		Use: "transfer", Short: "Move or copy messages from one queue or topic to another, on the same broker or not.", Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return t.run(cmd) },
	}
	f := cmd.Flags()
	for _, side := range []struct {
		name string
		c    *connectionFlags
	}{{"source", &t.source}, {"target", &t.target}} {
		f.StringVar(&side.c.url, side.name+"-url", defaultURL, "URL of the "+side.name+" broker")
		f.StringVar(&side.c.user, side.name+"-user", "", "user there")
		f.StringVar(&side.c.password, side.name+"-password", "", "password there")
		f.StringVar(&side.c.protocol, side.name+"-protocol", "core", "protocol to use")
	}
	f.StringVar(&t.source.acceptor, "source-acceptor", "artemis", "acceptor in the instance's broker.xml to take the URL from")
	f.StringVar(&t.source.clientID, "source-client-id", "", "client id, for durable subscriptions")
	f.StringVar(&t.sourceQueue, "source-queue", "", "queue to take messages from")
	f.StringVar(&t.sourceTopic, "source-topic", "", "topic to take messages from")
	f.StringVar(&t.targetQueue, "target-queue", "", "queue to send them to")
	f.StringVar(&t.targetTopic, "target-topic", "", "topic to send them to")
	f.StringVar(&t.filter, "source-filter", "", "take only messages that match it")
	f.StringVar(&t.durableConsumer, "durable-consumer", "", "durable subscription of the source topic")
	f.StringVar(&t.shared, "shared-subscription", "", "shared subscription of the source topic")
	f.StringVar(&t.sharedDurable, "shared-durable-subscription", "", "shared durable subscription of the source topic")
	f.IntVar(&t.count, "message-count", 1<<31-1, "messages at most")
	f.IntVar(&t.receiveTimeout, "receive-timeout", 5000, "ms to wait for a message")
	f.IntVar(&t.commitInterval, "commit-interval", 1000, "messages in a transaction")
	f.BoolVar(&t.copy, "copy", false, "leave the messages where they are")
	f.BoolVar(&t.noLocal, "no-Local", false, "take no messages that were sent over the same connection")
	f.BoolVar(&t.silent, "silent", false, "ask nothing")
	for _, pair := range [][]string{{"source-queue", "source-topic"}, {"target-queue", "target-topic"}} {
		cmd.MarkFlagsMutuallyExclusive(pair...)
		cmd.MarkFlagsOneRequired(pair...)
	}
	cmd.MarkFlagsMutuallyExclusive("durable-consumer", "shared-subscription", "shared-durable-subscription")
	return cmd
}

func (t *transferring) run(cmd *cobra.Command) error {
	for _, c := range []*connectionFlags{&t.source, &t.target} {
		c.silent = t.silent
		if !strings.EqualFold(c.protocol, "CORE") {
			return usageError(fmt.Sprintf("Invalid value for option '--source-protocol' or '--target-protocol': '%s' is not core", c.protocol))
		}
	}
	if !cmd.Flag("source-url").Changed {
		t.source.url = acceptorURL(cmd, t.source.acceptor)
	}
	from, err := t.destination(t.sourceQueue, t.sourceTopic)
	if err != nil {
		return err
	}
	to, err := t.destination(t.targetQueue, t.targetTopic)
	if err != nil {
		return err
	}
	var taking, sending *client.Session
	open := func(s **client.Session) func(context.Context, *client.Conn) error {
		return func(ctx context.Context, c *client.Conn) (err error) {
			*s, err = c.NewSession(ctx, client.SessionOptions{})
			return err
		}
	}
	source, err := t.source.connect(cmd, messagingRetry, nil, open(&taking))
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := t.target.establish(cmd, messagingRetry, nil, open(&sending))
	if err != nil {
		return err
	}
	defer target.Close()
	ctx := cmd.Context()
	receiver, err := t.receiver(ctx, taking, from)
	if err != nil {
		return errors.New(reason(err))
	}
	if err := to.ensure(ctx, sending); err != nil {
		return errors.New(reason(err))
	}
	producer, err := sending.NewProducer(ctx, to.name)
	if err != nil {
		return err
	}
	return t.transfer(cmd, receiver, producer, to, taking, sending)
}

func (t *transferring) destination(queue, topic string) (destination, error) {
	if topic != "" {
		return parseDestination("topic://" + topic)
	}
	return parseDestination("queue://" + queue)
}

func (t *transferring) receiver(ctx context.Context, s *client.Session, from destination) (*client.Consumer, error) {
	var sub subscription
	switch {
	case t.durableConsumer != "":
		if t.source.clientID == "" {
			return nil, usageError("--durable-consumer needs a --source-client-id")
		}
		sub = subscription{name: subscriptionName(t.source.clientID, t.durableConsumer), durable: true}
	case t.sharedDurable != "":
		sub = subscription{name: subscriptionName(t.source.clientID, t.sharedDurable), durable: true, shared: true}
		if t.source.clientID == "" {
			sub.name = t.sharedDurable
		}
	case t.shared != "":
		sub = subscription{name: "nonDurable." + t.shared, shared: true}
	}
	queue, err := from.open(ctx, s, sub, t.filter)
	if err != nil {
		return nil, err
	}
	c, err := s.NewConsumer(ctx, queue, client.ConsumerOptions{Filter: t.filter, Browse: t.copy})
	if err != nil {
		return nil, err
	}
	return c, s.Start(ctx)
}

// transfer moves messages. What was sent is committed before what was taken: after a failure in between messages are
// there twice, not lost.
func (t *transferring) transfer(cmd *cobra.Command, receiver *client.Consumer, producer *client.Producer, to destination, taking, sending *client.Session) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	commit := func(ctx context.Context) error {
		if err := sending.Commit(ctx); err != nil {
			return err
		}
		return taking.Commit(ctx)
	}
	total, pending := 0, 0
	for total < t.count {
		m, err := receiver.ReceiveTimeout(ctx, time.Duration(t.receiveTimeout)*time.Millisecond)
		if err != nil && ctx.Err() == nil {
			return errors.New(reason(err))
		}
		if m == nil {
			break
		}
		if err := forward(ctx, m, producer, to); err != nil {
			return errors.New(reason(err))
		}
		if !t.copy {
			if err := m.Ack(); err != nil {
				return errors.New(reason(err))
			}
		}
		total++
		// Artemis' command commits after one message more than it is told to.
		if pending++; pending > t.commitInterval {
			if err := commit(ctx); err != nil {
				return errors.New(reason(err))
			}
			fmt.Fprintf(out, "Transferred %d messages of %d\n", pending, total)
			pending = 0
		}
	}
	closing, cancel := closeContext(ctx)
	defer cancel()
	if err := commit(closing); err != nil {
		return errors.New(reason(err))
	}
	fmt.Fprintf(out, "Transferred a total of %d messages\n", total)
	return nil
}

// forward sends a received message to another destination.
func forward(ctx context.Context, m *client.Message, producer *client.Producer, to destination) error {
	v, err := m.Core()
	if err != nil {
		return err
	}
	b := v.Edit()
	_, routing := to.routing()
	b.Address = &to.name
	b.UserID = newMessageID()
	b.Remove(message.IsInternalProperty)
	b.Set(message.PropRoutingType, int8(routing))
	if !m.IsLarge() {
		return producer.Send(ctx, b)
	}
	body, err := m.Body()
	if err != nil {
		return err
	}
	b.Remove(func(name string) bool { return name == message.PropLargeSize || name == message.PropCompressed })
	return producer.SendLarge(ctx, b, body)
}
