package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// perfOptions are the options of the perf commands.
type perfOptions struct {
	connection connectionFlags

	consumerURL, consumerProtocol    string
	producers, consumers, threads    int
	consumerConnections              int
	numDestinations                  int
	messageCount, messageSize        int64
	maxPending, window               int64
	rate                             int64
	ttl, txSize, commitInterval      int64
	duration, warmup                 int // seconds
	shared                           int
	durable, persistent, tx          bool
	sharedConnections                bool
	enableMessageID, enableTimestamp bool
	showLatency                      bool
	group, hdr, json                 string
}

func perfCommand() *cobra.Command {
	return group("perf", "Measure how many messages a broker passes on, and how long they take.",
		perfClientCommand(), perfProducerCommand(), perfConsumerCommand())
}

func perfClientCommand() *cobra.Command {
	o := &perfOptions{}
	cmd := perfSubcommand("client", "Send messages and receive them.", o, true, true)
	f := cmd.Flags()
	f.StringVar(&o.consumerURL, "consumer-url", "", "URL of the broker for consumers (default: --url)")
	f.StringVar(&o.consumerProtocol, "consumer-protocol", "", "protocol of consumers (default: --protocol)")
	f.IntVar(&o.consumerConnections, "consumer-connections", 0, "connections that consumers share; 0: each has its own")
	f.Int64Var(&o.window, "window", 0, "messages sent and not yet received at most, instead of --max-pending; 0: off")
	return cmd
}

func perfProducerCommand() *cobra.Command {
	return perfSubcommand("producer", "Send messages.", &perfOptions{}, true, false)
}

func perfConsumerCommand() *cobra.Command {
	o := &perfOptions{}
	cmd := perfSubcommand("consumer", "Receive messages.", o, false, true)
	cmd.Flags().IntVar(&o.consumerConnections, "num-connections", 0, "connections that consumers share; 0: each has its own")
	return cmd
}

// perfSubcommand makes a perf command with the options that all share, and those of sending and receiving.
func perfSubcommand(use, short string, o *perfOptions, sends, receives bool) *cobra.Command {
	cmd := &cobra.Command{
		Use: use + " [destinations]", Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"queue://TEST"}
			}
			return o.run(cmd, args, sends, receives)
		},
	}
	o.connection.add(cmd)
	f := cmd.Flags()
	f.IntVar(&o.numDestinations, "num-destinations", 1, "how many destinations, numbered from 0 if more than one")
	f.Int64Var(&o.messageCount, "message-count", 0, "messages in all; 0: without end")
	f.IntVar(&o.duration, "duration", 0, "seconds, with the warm-up; 0: until stopped")
	f.IntVar(&o.warmup, "warmup", 0, "seconds at the start that don't count for times")
	f.StringVar(&o.hdr, "hdr", "", "file for an HdrHistogram log")
	f.StringVar(&o.json, "json", "", "file for a report")
	f.BoolVar(&o.showLatency, "show-latency", false, "print times every second")
	f.Int64Var(&o.commitInterval, "commit-interval", 0, "messages in a transaction")
	f.Int64Var(&o.txSize, "tx-size", 0, "messages in a transaction")
	hide(cmd, "tx-size")
	if sends {
		f.IntVar(&o.producers, "producers", 1, "producers for each destination")
		f.IntVar(&o.threads, "threads", 1, "threads; each producer has one of its own here")
		f.Int64Var(&o.messageSize, "message-size", 1024, "bytes of a body")
		f.BoolVar(&o.persistent, "persistent", false, "messages are durable")
		f.Int64Var(&o.maxPending, "max-pending", 1, "messages that the broker has not answered at most, for each producer")
		f.Int64Var(&o.rate, "rate", 0, "messages a second in all; 0: as many as go")
		f.Int64Var(&o.ttl, "ttl", 0, "ms that a message lives; 0: for ever")
		f.StringVar(&o.group, "group", "", "message group")
		f.BoolVar(&o.sharedConnections, "shared-connections", false, "producers share a connection")
		f.BoolVar(&o.enableMessageID, "enable-msg-id", false, "give messages an id")
		f.BoolVar(&o.enableTimestamp, "enable-timestamp", false, "give messages a timestamp")
	}
	if receives {
		f.IntVar(&o.consumers, "consumers", 1, "consumers for each destination")
		f.IntVar(&o.shared, "shared", 0, "shared subscriptions for each topic; 0: each consumer has its own")
		f.BoolVar(&o.durable, "durable", false, "subscriptions are durable")
		f.BoolVar(&o.tx, "tx", false, "receive in transactions")
	}
	return cmd
}

// destinations are those to use, numbered if there are to be more than given.
func (o *perfOptions) destinations(names []string) ([]destination, error) {
	var list []destination
	for _, text := range names {
		for n := range max(o.numDestinations, 1) {
			name := text
			if o.numDestinations > 1 {
				name += itoa(n)
			}
			d, err := parseDestination(strings.TrimSpace(name))
			if err != nil {
				return nil, err
			}
			list = append(list, d)
		}
	}
	return list, nil
}

// batch is the number of messages in a transaction, 0 for none.
func (o *perfOptions) batch() int64 {
	n := max(o.commitInterval, o.txSize)
	if n == 0 && o.tx {
		n = 1
	}
	return n
}
