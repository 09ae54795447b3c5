package config

import (
	"time"
)

// RoutingType says whether a message goes to one queue of an address or to all.
type RoutingType string

// Routing types.
const (
	Anycast   RoutingType = "ANYCAST"
	Multicast RoutingType = "MULTICAST"
)

func (RoutingType) values() []string { return []string{"MULTICAST", "ANYCAST"} }

// Address is an address deployed from the configuration, with its queues.
// RoutingTypes holds each type at most once.
type Address struct {
	Name         string        `bean:"name"`
	RoutingTypes []RoutingType `bean:"routingTypes"`
	Queues       []Queue       `bean:"queueConfigs,queueConfigurations"`
}

// Queue is a queue deployed from the configuration. A nil pointer takes the
// address setting's default- value; PurgeOnNoConsumers and RingSize are never
// nil in a loaded Config, as in Artemis.
type Queue struct {
	Name        string      `cfg:"@name,required"`
	Address     string      `bean:"address"`
	RoutingType RoutingType `bean:"routingType"`
	// Filter is a selector, empty for none.
	Filter  string `cfg:"filter/@string" bean:"filterString"`
	Durable bool   `cfg:"durable"`
	// User is the owner, empty for none.
	User                        string         `cfg:"user"`
	MaxConsumers                *int           `cfg:"@max-consumers" check:"-1|>=0"`
	PurgeOnNoConsumers          *bool          `cfg:"@purge-on-no-consumers"`
	Exclusive                   *bool          `cfg:"@exclusive"`
	GroupRebalance              *bool          `cfg:"@group-rebalance"`
	GroupRebalancePauseDispatch *bool          `cfg:"@group-rebalance-pause-dispatch"`
	GroupBuckets                *int           `cfg:"@group-buckets"`
	GroupFirstKey               *string        `cfg:"@group-first-key"`
	LastValue                   *bool          `cfg:"@last-value"`
	LastValueKey                *string        `cfg:"@last-value-key"`
	NonDestructive              *bool          `cfg:"@non-destructive"`
	ConsumersBeforeDispatch     *int           `cfg:"@consumers-before-dispatch"`
	DelayBeforeDispatch         *time.Duration `cfg:"@delay-before-dispatch" unit:"ms"`
	RingSize                    *int64         `cfg:"@ring-size"`
	Enabled                     *bool          `cfg:"@enabled"`
}

// OldQueue is a queue outside of an address element.
type OldQueue struct {
	Queue
	// On is the address, empty for the queue's name.
	On string `cfg:"address"`
}

// addressXML is an address as the file has it.
type addressXML struct {
	Name      string    `cfg:"@name,required"`
	Anycast   *queueSet `cfg:"anycast"`
	Multicast *queueSet `cfg:"multicast"`
}

type queueSet struct {
	Queues []Queue `cfg:"queue"`
}

// ComponentRoutingType is what a divert or bridge does with the routing type of
// the messages it passes on.
type ComponentRoutingType string

// Routing types of diverts and bridges: set ANYCAST or MULTICAST, STRIP it, or
// PASS it unchanged.
const (
	ToAnycast   ComponentRoutingType = "ANYCAST"
	ToMulticast ComponentRoutingType = "MULTICAST"
	Strip       ComponentRoutingType = "STRIP"
	Pass        ComponentRoutingType = "PASS"
)

func (ComponentRoutingType) values() []string {
	return []string{"MULTICAST", "ANYCAST", "STRIP", "PASS"}
}

// Divert copies or moves messages from one address to another.
type Divert struct {
	Name string `cfg:"@name,required"`
	// RoutingName is empty when the broker is to make one up.
	RoutingName       string               `cfg:"routing-name"`
	Address           string               `cfg:"address,required"`
	ForwardingAddress string               `cfg:"forwarding-address,required"`
	Exclusive         bool                 `cfg:"exclusive"`
	Filter            string               `cfg:"filter/@string" bean:"filterString"`
	RoutingType       ComponentRoutingType `cfg:"routing-type"`
	Transformer       Transformer          `bean:"transformerConfiguration"`
}

func (d *Divert) defaults() { d.RoutingType = Strip }

// Transformer names a class that changes messages on their way. ClassName is
// empty for none.
type Transformer struct {
	ClassName  string            `cfg:"transformer/class-name|transformer-class-name"`
	Properties map[string]string `cfg:"transformer/property{key,value}"`
}

// AddHeaders is the one transformer class that a broker without Java can run:
// each property is put as a string property of the message.
const AddHeaders = "org.apache.activemq.artemis.core.server.transformer.AddHeadersTransformer"
