package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// producing is a run of the producer command.
type producing struct {
	messagingFlags

	body                           string
	bytesSize, objectSize, txtSize int
	ttl                            int64 // ms
	nonPersistent                  bool
	group, properties              string

	values map[string]any
}

func producerCommand() *cobra.Command {
	p := &producing{}
	cmd := &cobra.Command{
		Use: "producer", Short: "Send messages.", Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if p.values, err = parseProperties(p.properties); err != nil {
				return err
			}
			return p.run(cmd, "Producer", func(io.Writer) {}, p.produce)
		},
	}
	p.add(cmd)
	f := cmd.Flags()
	f.StringVar(&p.body, "message", "", "text of the messages")
	f.IntVar(&p.bytesSize, "message-size", 0, "send bytes messages of so many bytes")
	f.IntVar(&p.txtSize, "text-size", 0, "send text messages of so many characters")
	f.IntVar(&p.objectSize, "object-size", 0, "send object messages of so many bytes")
	f.Int64Var(&p.ttl, "msgttl", 0, "ms that a message lives; 0: for ever")
	f.BoolVar(&p.nonPersistent, "non-persistent", false, "messages are not durable")
	f.StringVar(&p.group, "group", "", "message group")
	f.StringVar(&p.properties, "properties", "", `properties of the messages: [{"type":"int","key":"a","value":"1"}]`)
	return cmd
}

func (p *producing) produce(ctx context.Context, w *worker) error {
	if err := w.d.ensure(ctx, w.session); err != nil {
		return err
	}
	sender, err := w.session.NewProducer(ctx, w.d.name)
	if err != nil {
		return err
	}
	w.say("Started to calculate elapsed time ...\n")
	begin := time.Now()
	commits := 0
	sent := int64(0)
	for ; sent < p.count && ctx.Err() == nil; sent++ {
		if err := p.send(ctx, w, sender, sent); err != nil {
			return err
		}
		if p.commitInterval > 0 && sent > 0 && sent%p.commitInterval == 0 {
			w.say("Committing transaction: %d", commits)
			commits++
			if err := w.session.Commit(ctx); err != nil {
				return err
			}
		}
		if !w.pause(ctx) {
			sent++
			break
		}
	}
	if p.commitInterval > 0 {
		closing, cancel := closeContext(ctx)
		defer cancel()
		if err := w.session.Commit(closing); err != nil {
			return err
		}
	}
	w.say("Produced: %d messages", sent)
	w.elapsed(begin)
	return nil
}

func (p *producing) send(ctx context.Context, w *worker, sender *client.Producer, n int64) error {
	m, shown := p.message(w.d, n)
	m.Set("count", int32(n))
	m.Set("ThreadSent", w.name)
	if p.group != "" {
		m.Set(message.PropGroupID, p.group)
	}
	for key, value := range p.values {
		m.Set(key, value)
	}
	m.Durable = !p.nonPersistent
	if p.ttl > 0 {
		m.Expiration = m.Timestamp + p.ttl
	}
	if err := sender.Send(ctx, m); err != nil {
		return err
	}
	if w.connection.verbose {
		w.say("Sent: %s", shown)
	}
	return nil
}

// message makes the nth message, and what --verbose shows of it.
func (p *producing) message(d destination, n int64) (m *message.Builder, shown string) {
	text := p.body
	switch {
	case text != "":
	case p.bytesSize > 0:
		m = newMessage(d, message.Bytes, bytes.Repeat([]byte{'b'}, p.bytesSize))
	case p.objectSize > 0:
		m = newMessage(d, message.Object, objectBody(p.objectSize))
	case p.txtSize > 0 || p.textSize > 0:
		text = filler(max(p.txtSize, p.textSize))
	default:
		text = fmt.Sprintf("test message: %d", n)
	}
	if m == nil {
		return newTextMessage(d, text), text
	}
	return m, "ID:" + uuidText(m.UserID)
}
