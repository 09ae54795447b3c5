package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal/export"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// importing is a run of data imp.
type importing struct {
	connection connectionFlags

	host           string
	port           int
	input          string
	commitInterval int
	legacyPrefixes bool
	sort           bool
}

func dataImportCommand() *cobra.Command {
	i := &importing{}
	var transaction bool
	cmd := &cobra.Command{
		Use: "imp", Short: "Import messages that were exported into a running broker.", Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return i.run(cmd) },
	}
	i.connection.add(cmd)
	f := cmd.Flags()
	f.StringVar(&i.input, "input", "exp.dmp", "file to read")
	f.StringVar(&i.host, "host", "", "host of the broker")
	f.IntVar(&i.port, "port", 61616, "its port")
	f.IntVar(&i.commitInterval, "commit-interval", 1000, "messages in a transaction")
	f.BoolVar(&transaction, "transaction", false, "import in transactions, which is always done")
	f.BoolVar(&i.legacyPrefixes, "legacy-prefixes", false, "leave jms.queue. and jms.topic. before the names of an export of 1.x")
	f.BoolVar(&i.sort, "sort", false, "send messages in the order of their ids")
	hide(cmd, "host", "port", "commit-interval", "transaction")
	return cmd
}

func (i *importing) run(cmd *cobra.Command) error {
	in, err := os.Open(i.input)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	defer in.Close()
	if err := i.connection.begin(cmd); err != nil {
		return err
	}
	if i.host != "" {
		i.connection.url = fmt.Sprintf("tcp://%s:%d", i.host, i.port)
	}
	im := &importer{ctx: cmd.Context(), interval: i.commitInterval, legacyPrefixes: i.legacyPrefixes, queues: map[string]export.Queue{}, sole: map[string]int{}}
	conn, err := i.connection.connect(cmd, messagingRetry, nil, func(ctx context.Context, c *client.Conn) (err error) {
		im.session, err = c.NewSession(ctx, client.SessionOptions{})
		return err
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	if im.producer, err = im.session.NewProducer(im.ctx, ""); err != nil {
		return err
	}
	if i.sort {
		return i.sorted(im, in)
	}
	if err := export.Read(in, im); err != nil {
		return err
	}
	return im.session.Commit(im.ctx)
}

// sorted sends messages by their ids. Their bodies wait in a file that goes with the process.
func (i *importing) sorted(im *importer, in io.Reader) (err error) {
	bodies, err := os.CreateTemp("", "saranga-import")
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	defer func() { err = errors.Join(err, bodies.Close()) }()
	if err := os.Remove(bodies.Name()); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	k := &keptMessages{importer: im, bodies: bodies}
	if err := export.Read(in, k); err != nil {
		return err
	}
	slices.SortStableFunc(k.list, func(a, b keptMessage) int { return cmp.Compare(a.ID, b.ID) })
	for _, m := range k.list {
		m.Body = io.NewSectionReader(bodies, m.at, m.size)
		if err := im.Message(&m.Message); err != nil {
			return err
		}
	}
	return im.session.Commit(im.ctx)
}

// keptMessages handles an export by keeping its messages.
type keptMessages struct {
	*importer
	bodies *os.File
	end    int64
	list   []keptMessage
}

type keptMessage struct {
	export.Message
	at, size int64
}

// Message implements export.Handler.
func (k *keptMessages) Message(m *export.Message) error {
	n, err := io.Copy(io.NewOffsetWriter(k.bodies, k.end), m.Body)
	if err != nil {
		return err
	}
	k.list = append(k.list, keptMessage{*m, k.end, n})
	k.end += n
	return nil
}

// An importer sends what an export holds to a broker.
type importer struct {
	ctx            context.Context
	session        *client.Session
	producer       *client.Producer
	interval       int
	pending        int
	legacyPrefixes bool

	queues map[string]export.Queue // by name
	sole   map[string]int          // queues by address
}

// Address implements export.Handler.
func (im *importer) Address(a export.Address) error {
	var types []core.RoutingType
	for _, t := range a.RoutingTypes {
		types = append(types, coreRouting(t))
	}
	return ignore(im.session.CreateAddress(im.ctx, a.Name, false, types...), core.AddressExists)
}

func coreRouting(t message.RoutingType) core.RoutingType {
	if t == message.Anycast {
		return core.RoutingAnycast
	}
	return core.RoutingMulticast
}

// Queue implements export.Handler.
func (im *importer) Queue(q export.Queue) error {
	given := q.Name
	if q.Legacy {
		topic := strings.HasPrefix(q.Address, "jms.topic.")
		q.Routing = message.Anycast
		if topic {
			q.Routing = message.Multicast
		}
		if !im.legacyPrefixes {
			q.Name, q.Address = stripLegacy(q.Name), stripLegacy(q.Address)
		}
	}
	im.queues[given] = q
	im.sole[q.Address]++
	return ignore(im.session.CreateQueue(im.ctx, client.QueueOptions{Address: q.Address, Name: q.Name, Filter: q.Filter, Durable: true, RoutingType: coreRouting(q.Routing)}), core.QueueExists)
}

func stripLegacy(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, "jms.queue."), "jms.topic.")
}

// Message implements export.Handler.
func (im *importer) Message(m *export.Message) error {
	if len(m.Queues) == 1 {
		return im.send(m, m.Queues[0], m.Body)
	}
	// Each queue gets a message of its own.
	body, err := io.ReadAll(m.Body)
	if err != nil {
		return err
	}
	for _, name := range m.Queues {
		if err := im.send(m, name, bytes.NewReader(body)); err != nil {
			return err
		}
	}
	return nil
}

// send sends a message to a queue. Its address alone is enough where the queue is the only one there.
func (im *importer) send(m *export.Message, name string, body io.Reader) error {
	q, ok := im.queues[name]
	if !ok {
		return fmt.Errorf("message %d is in queue %s, which the export does not have", m.ID, name)
	}
	to := q.Address + "::" + q.Name
	if im.sole[q.Address] == 1 && q.Filter == "" {
		to = q.Address
	}
	b := message.New(to, m.Type)
	b.UserID, b.Durable, b.Expiration, b.Timestamp, b.Priority = newMessageID(), true, m.Expiration, m.Timestamp, m.Priority
	for _, p := range m.Properties {
		b.Set(p.Name, p.Value)
	}
	b.Set(message.PropRoutingType, int8(q.Routing))
	if err := im.put(m, b, body); err != nil {
		return fmt.Errorf("send message %d to %s: %w", m.ID, to, err)
	}
	if im.pending++; im.pending >= im.interval {
		im.pending = 0
		return im.session.Commit(im.ctx)
	}
	return nil
}

func (im *importer) put(m *export.Message, b *message.Builder, body io.Reader) (err error) {
	if m.Large {
		return im.producer.SendLarge(im.ctx, b, body)
	}
	if b.Body, err = io.ReadAll(body); err != nil {
		return err
	}
	return im.producer.Send(im.ctx, b)
}
