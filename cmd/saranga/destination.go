package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// A destination is what the commands send to and receive from: queue://NAME or NAME, topic://NAME, or ADDRESS::QUEUE.
type destination struct {
	topic   bool
	address string
	queue   string // of a fully qualified name, else the address
	name    string // as given, without the scheme
}

func parseDestination(text string) (destination, error) {
	name, topic := strings.CutPrefix(text, "topic://")
	if !topic {
		name = strings.TrimPrefix(text, "queue://")
	}
	d := destination{topic: topic, name: name, address: name, queue: name}
	if address, queue, ok := strings.Cut(name, "::"); ok {
		d.address, d.queue = address, queue
	}
	if d.address == "" || d.queue == "" {
		return destination{}, usageError(fmt.Sprintf("Invalid value for option '--destination': '%s' names nothing", text))
	}
	return d, nil
}

// qualified tells whether the queue is named apart from its address.
func (d destination) qualified() bool { return strings.Contains(d.name, "::") }

// String is how a JMS client of Artemis shows the destination.
func (d destination) String() string {
	if d.topic {
		return "ActiveMQTopic[" + d.name + "]"
	}
	return "ActiveMQQueue[" + d.name + "]"
}

func (d destination) routing() (core.RoutingType, message.RoutingType) {
	if d.topic {
		return core.RoutingMulticast, message.Multicast
	}
	return core.RoutingAnycast, message.Anycast
}

// ensure creates what a producer or a consumer of the destination needs and the broker may create by itself: the queue
// of a queue destination, the address of a topic.
func (d destination) ensure(ctx context.Context, s *client.Session) error {
	found, err := s.AddressQuery(ctx, d.address)
	if err != nil {
		return err
	}
	routing, _ := d.routing()
	// Old brokers tell of neither.
	if told := found.SupportsAnycast || found.SupportsMulticast; found.Exists && told {
		if d.topic && !found.SupportsMulticast || !d.topic && !found.SupportsAnycast {
			return fmt.Errorf("address %s has no %s routing", d.address, map[bool]string{true: "multicast", false: "anycast"}[d.topic])
		}
	}
	if d.topic && !d.qualified() {
		if found.Exists {
			return nil
		}
		if !found.AutoCreateAddresses {
			return fmt.Errorf("Destination %s does not exist", d.name) //lint:ignore ST1005 Artemis' own words
		}
		return ignore(s.CreateAddress(ctx, d.address, true, routing), core.AddressExists)
	}
	for _, name := range found.QueueNames {
		if name == d.queue {
			return nil
		}
	}
	if !found.AutoCreateQueues {
		return fmt.Errorf("Destination %s does not exist", d.name) //lint:ignore ST1005 Artemis' own words
	}
	return ignore(s.CreateQueue(ctx, client.QueueOptions{Address: d.address, Name: d.queue, Durable: true, AutoCreated: true, RoutingType: routing}), core.QueueExists)
}

// ignore drops an error of that code.
func ignore(err error, code core.Code) error {
	if errors.Is(err, code) {
		return nil
	}
	return err
}

// subscription says how a consumer takes messages of a topic.
type subscription struct {
	name    string // empty: one of its own that goes with the connection
	durable bool
	shared  bool
}

// open returns the queue to consume from.
func (d destination) open(ctx context.Context, s *client.Session, sub subscription, filter string) (queue string, err error) {
	if err := d.ensure(ctx, s); err != nil {
		return "", err
	}
	if !d.topic || d.qualified() {
		return d.queue, nil
	}
	o := client.QueueOptions{Address: d.address, Name: sub.name, Filter: filter, Durable: sub.durable, RoutingType: core.RoutingMulticast}
	switch {
	case sub.shared:
		return o.Name, s.CreateSharedQueue(ctx, o)
	case sub.name == "":
		o.Name, o.Temporary, o.Durable = newUUID(), true, false
		return o.Name, s.CreateQueue(ctx, o)
	}
	return o.Name, ignore(s.CreateQueue(ctx, o), core.QueueExists)
}

// newUUID returns the text of a random UUID.
func newUUID() string { return uuidText(newMessageID()) }

func uuidText(b []byte) string {
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// newMessageID returns a random UUID, which is what the id of a message is. Clients of Artemis show every id as one of
// version 1, so it says that it is.
func newMessageID() []byte {
	b := make([]byte, 16)
	rand.Read(b)
	b[6] = b[6]&0x0f | 0x10
	b[8] = b[8]&0x3f | 0x80
	return b
}
