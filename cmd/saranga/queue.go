package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/wire/core/client"
)

func queueCommand() *cobra.Command {
	return group("queue", "Create, delete, update, watch and empty queues.",
		queueCreateCommand(), queueDeleteCommand(), queueUpdateCommand(), queueStatCommand(), queuePurgeCommand())
}

// queueFlags are the options of queue create and queue update.
type queueFlags struct {
	connection connectionFlags

	name, address, filter        string
	anycast, multicast           bool
	durable, notDurable          bool
	purge, preserve, autoAddress bool
	maxConsumers                 int
}

func (q *queueFlags) add(cmd *cobra.Command) {
	q.connection.add(cmd)
	f := cmd.Flags()
	f.StringVar(&q.name, "name", "", "name of the queue")
	f.StringVar(&q.address, "address", "", "its address (default: the name)")
	f.StringVar(&q.filter, "filter", "", "only messages that match it get into the queue")
	f.BoolVar(&q.anycast, "anycast", false, "routing type anycast")
	f.BoolVar(&q.multicast, "multicast", false, "routing type multicast")
	f.BoolVar(&q.durable, "durable", false, "the queue is still there after a restart")
	f.BoolVar(&q.notDurable, "no-durable", false, "it is not")
	f.BoolVar(&q.purge, "purge-on-no-consumers", false, "its messages are deleted when there is no consumer")
	f.BoolVar(&q.preserve, "preserve-on-no-consumers", false, "they are kept")
	f.BoolVar(&q.autoAddress, "auto-create-address", false, "create the address if it is not there")
	f.IntVar(&q.maxConsumers, "max-consumers", -1, "consumers at most; -1: no bound")
	cmd.MarkFlagsMutuallyExclusive("anycast", "multicast")
	cmd.MarkFlagsMutuallyExclusive("durable", "no-durable")
	cmd.MarkFlagsMutuallyExclusive("purge-on-no-consumers", "preserve-on-no-consumers")
}

// askName asks for the name of a queue that is not given.
func askName(ask *prompter, name *string) (err error) {
	if *name == "" {
		*name, err = ask.text("--name", "What is the name of the queue?", "")
	}
	return err
}

// askRouting settles the routing type; without an answer it is otherwise.
func (q *queueFlags) askRouting(ask *prompter, otherwise string) (_ string, err error) {
	if !q.anycast && !q.multicast {
		if q.anycast, err = ask.yes("--anycast", "Is this an anycast queue?", false); err != nil {
			return "", err
		}
		if !q.anycast {
			if q.multicast, err = ask.yes("--multicast", "Is this a multicast queue?", false); err != nil {
				return "", err
			}
		}
	}
	switch {
	case q.anycast:
		return "ANYCAST", nil
	case q.multicast:
		return "MULTICAST", nil
	}
	return otherwise, nil
}

// askPair asks for one of two options that exclude each other when none of them is given.
func askPair(cmd *cobra.Command, ask *prompter, yes, no, question string, value *bool) (err error) {
	if !cmd.Flag(yes).Changed && !cmd.Flag(no).Changed {
		*value, err = ask.yes("--"+yes, question, false)
	}
	return err
}

func queueCreateCommand() *cobra.Command {
	q := &queueFlags{}
	cmd := &cobra.Command{
		Use: "create", Short: "Create a queue.", Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return q.connection.manage(cmd, func(ctx context.Context, m *client.Management) error { return q.create(ctx, cmd, m) })
		},
	}
	q.add(cmd)
	return cmd
}

func (q *queueFlags) create(ctx context.Context, cmd *cobra.Command, m *client.Management) error {
	ask := newPrompter(cmd, q.connection.silent)
	if err := askName(ask, &q.name); err != nil {
		return err
	}
	if q.address == "" {
		q.address = q.name
	}
	if err := askPair(cmd, ask, "durable", "no-durable", "Is the queue still there after a restart?", &q.durable); err != nil {
		return err
	}
	if err := askPair(cmd, ask, "purge-on-no-consumers", "preserve-on-no-consumers", "Are its messages deleted when there is no consumer?", &q.purge); err != nil {
		return err
	}
	if !cmd.Flag("auto-create-address").Changed {
		var err error
		if q.autoAddress, err = ask.yes("--auto-create-address", "Is the address created if it is not there?", false); err != nil {
			return err
		}
	}
	routing, err := q.askRouting(ask, "MULTICAST")
	if err != nil {
		return err
	}
	answer, err := m.Invoke(ctx, client.BrokerResource, "createQueue", q.address, routing, q.name, q.filterOrNull(cmd), q.durable, q.maxConsumers, q.purge, q.autoAddress)
	if err != nil {
		return refused(cmd, err, "Failed to create queue %s", q.name)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s created successfully.\n", answer.Text())
	return nil
}

func (q *queueFlags) filterOrNull(cmd *cobra.Command) any {
	if cmd.Flag("filter").Changed {
		return q.filter
	}
	return nil
}

func queueUpdateCommand() *cobra.Command {
	q := &queueFlags{}
	cmd := &cobra.Command{
		Use: "update", Short: "Change the routing type, the number of consumers or the purging of a queue.", Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return q.connection.manage(cmd, func(ctx context.Context, m *client.Management) error { return q.update(ctx, cmd, m) })
		},
	}
	q.add(cmd)
	return cmd
}

// update changes what is given; null leaves an attribute as it is.
func (q *queueFlags) update(ctx context.Context, cmd *cobra.Command, m *client.Management) error {
	ask := newPrompter(cmd, q.connection.silent)
	if err := askName(ask, &q.name); err != nil {
		return err
	}
	routing, err := q.askRouting(ask, "")
	if err != nil {
		return err
	}
	var routingType, maxConsumers, purge any
	if routing != "" {
		routingType = routing
	}
	if cmd.Flag("max-consumers").Changed {
		maxConsumers = q.maxConsumers
	}
	if cmd.Flag("purge-on-no-consumers").Changed || cmd.Flag("preserve-on-no-consumers").Changed {
		purge = q.purge
	}
	answer, err := m.Invoke(ctx, client.BrokerResource, "updateQueue", q.name, routingType, maxConsumers, purge)
	switch {
	case err != nil:
		return refused(cmd, err, "Failed to update %s", q.name)
	case answer.Text() == "" || answer.Text() == "null":
		fmt.Fprintf(cmd.ErrOrStderr(), "Failed to update %s. Reason: AMQ229017: Queue %s does not exist\n", q.name, q.name)
	default:
		fmt.Fprintf(cmd.OutOrStdout(), "%s updated successfully.\n", answer.Text())
	}
	return nil
}

func queueDeleteCommand() *cobra.Command {
	var connection connectionFlags
	var name string
	var removeConsumers, autoDeleteAddress bool
	cmd := &cobra.Command{
		Use: "delete", Short: "Delete a queue.", Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return connection.manage(cmd, func(ctx context.Context, m *client.Management) error {
				if err := askName(newPrompter(cmd, connection.silent), &name); err != nil {
					return err
				}
				if _, err := m.Invoke(ctx, client.BrokerResource, "destroyQueue", name, removeConsumers, autoDeleteAddress); err != nil {
					return refused(cmd, err, "Failed to delete queue %s", name)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "Queue %s deleted successfully.\n", name)
				return nil
			})
		},
	}
	connection.add(cmd)
	cmd.Flags().StringVar(&name, "name", "", "name of the queue")
	cmd.Flags().BoolVar(&removeConsumers, "removeConsumers", false, "delete it even if it has consumers")
	cmd.Flags().BoolVar(&autoDeleteAddress, "autoDeleteAddress", false, "delete its address too, if nothing else is on it")
	return cmd
}

func queuePurgeCommand() *cobra.Command {
	var connection connectionFlags
	var name string
	cmd := &cobra.Command{
		Use: "purge", Short: "Delete all messages in a queue.", Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return connection.manage(cmd, func(ctx context.Context, m *client.Management) error {
				if err := askName(newPrompter(cmd, connection.silent), &name); err != nil {
					return err
				}
				if _, err := m.Invoke(ctx, client.QueueResource(name), "removeAllMessages"); err != nil {
					return refused(cmd, err, "Failed to purge queue %s", name)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "Queue %s purged successfully.\n", name)
				return nil
			})
		},
	}
	connection.add(cmd)
	cmd.Flags().StringVar(&name, "name", "", "name of the queue")
	return cmd
}
