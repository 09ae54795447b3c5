package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/wire/core/client"
)

// browsing is a run of the browser command.
type browsing struct {
	messagingFlags

	filter string
}

func browserCommand() *cobra.Command {
	b := &browsing{}
	cmd := &cobra.Command{
		Use: "browser", Short: "Look at the messages in a queue.", Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return b.run(cmd, "Consumer", func(out io.Writer) { sayFilter(out, b.filter) }, b.browse)
		},
	}
	b.add(cmd)
	cmd.Flags().StringVar(&b.filter, "filter", "", "look only at messages that match it")
	return cmd
}

func (b *browsing) browse(ctx context.Context, w *worker) error {
	w.say("trying to browse %d messages", b.count)
	if w.d.topic {
		return usageError("only a queue can be browsed")
	}
	queue, err := w.d.open(ctx, w.session, subscription{}, "")
	if err != nil {
		return err
	}
	receiver, err := w.session.NewConsumer(ctx, queue, client.ConsumerOptions{Filter: b.filter, Browse: true})
	if err != nil {
		return err
	}
	if err := w.session.Start(ctx); err != nil {
		return err
	}
	seen := int64(0)
	for seen < b.count && ctx.Err() == nil {
		m, err := receiver.ReceiveTimeout(ctx, 0)
		if err != nil {
			if ctx.Err() != nil {
				break
			}
			return err
		}
		if m == nil {
			break
		}
		w.say("browsing %s", describe(m))
		if v, err := m.Core(); err == nil {
			w.detail("...%s", details(v, m.ID()))
		}
		seen++
		if !w.pause(ctx) {
			break
		}
	}
	w.say("browsed: %d messages", seen)
	w.say("Browser thread finished")
	closing, cancel := closeContext(ctx)
	defer cancel()
	return w.session.Close(closing)
}
