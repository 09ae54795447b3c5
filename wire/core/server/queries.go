package server

import (
	"strings"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// text is a string of which the empty one is null.
func text(s string) buf.Null[string] {
	if s == "" {
		return buf.Null[string]{}
	}
	return buf.Of(s)
}

// queueQuery answers SESS_QUEUEQUERY (core-protocol §6.7).
func (ch *channel) queueQuery(name string) (*core.QueueQueryResponse, error) {
	b := ch.s.b
	c := ch.conn.Load()
	bare, _ := c.strip(name)
	if q := b.Queue(bare); q != nil {
		cfg := q.Config()
		n := q.Counts()
		s := q.Address().Settings()
		r := response(cfg, s)
		r.Exists = true
		r.ConsumerCount, r.MessageCount = int32(n.Consumers), n.Messages
		r.ConfigurationManaged = buf.Of(cfg.ConfigurationManaged)
		r.Enabled = buf.Of(cfg.Enabled)
		if c.v().BeforeAddressChange() {
			prefix := "jms.topic."
			if cfg.Routing == message.Anycast {
				prefix = "jms.queue."
			}
			r.Address = buf.Of(prefix + cfg.Address)
		}
		return r, nil
	}
	address, queue, ok := strings.Cut(bare, "::")
	if !ok {
		queue = address
	}
	r := response(b.DefaultQueue(address, queue), b.SettingsFor(address))
	if queue == b.Options().ManagementAddress {
		r.Exists, r.MessageCount, r.ConsumerCount = true, -1, -1
		return r, nil
	}
	r.LastValueKey, r.GroupFirstKey = buf.Null[string]{}, buf.Null[string]{}
	r.ConfigurationManaged = buf.Of(false)
	return r, nil
}

// response fills in what attributes and settings say.
func response(cfg broker.QueueConfig, s *config.AddressSettings) *core.QueueQueryResponse {
	r := &core.QueueQueryResponse{
		Durable: cfg.Durable, Temporary: cfg.Temporary || cfg.Transient, Filter: text(cfg.Filter), Address: buf.Of(cfg.Address), Name: buf.Of(cfg.Name),
		AutoCreateQueues: s.AutoCreateQueues, AutoCreated: cfg.AutoCreated, PurgeOnNoConsumers: cfg.PurgeOnNoConsumers,
		RoutingType: core.RoutingType(cfg.Routing), MaxConsumers: cfg.MaxConsumers,
		DefaultConsumerWindowSize: buf.Of(int32(s.DefaultConsumerWindowSize)),
	}
	r.Exclusive = buf.Of(cfg.Exclusive)
	r.LastValue = buf.Of(cfg.LastValue)
	r.LastValueKey = text(cfg.LastValueKey)
	r.NonDestructive = buf.Of(cfg.NonDestructive)
	r.ConsumersBeforeDispatch = buf.Of(cfg.ConsumersBeforeDispatch)
	r.DelayBeforeDispatch = buf.Of(cfg.DelayBeforeDispatch)
	r.GroupRebalance = buf.Of(cfg.GroupRebalance)
	r.GroupBuckets = buf.Of(cfg.GroupBuckets)
	r.AutoDelete = buf.Of(cfg.AutoDelete)
	r.AutoDeleteDelay = buf.Of(cfg.AutoDeleteDelay)
	r.AutoDeleteMessageCount = buf.Of(cfg.AutoDeleteMessageCount)
	r.GroupFirstKey = text(cfg.GroupFirstKey)
	r.RingSize = buf.Of(cfg.RingSize)
	r.GroupRebalancePauseDispatch = buf.Of(cfg.GroupRebalancePauseDisp)
	return r
}

// bindingQuery answers SESS_BINDINGQUERY.
func (ch *channel) bindingQuery(name string) (*core.BindingQueryResponse, error) {
	b := ch.s.b
	c := ch.conn.Load()
	bare, _ := c.strip(name)
	bare, _, isFQQN := strings.Cut(bare, "::")
	s := b.SettingsFor(bare)
	r := &core.BindingQueryResponse{
		AutoCreateQueues: s.AutoCreateQueues, AutoCreateAddresses: s.AutoCreateAddresses,
		DefaultPurgeOnNoConsumers: s.DefaultPurgeOnNoConsumers, DefaultMaxConsumers: int32(s.DefaultMaxConsumers),
		DefaultExclusive: buf.Of(s.DefaultExclusiveQueue), DefaultLastValue: buf.Of(s.DefaultLastValueQueue), DefaultLastValueKey: text(s.DefaultLastValueKey),
		DefaultNonDestructive: buf.Of(s.DefaultNonDestructive), DefaultConsumersBeforeDispatch: buf.Of(int32(s.DefaultConsumersBeforeDispatch)),
		DefaultDelayBeforeDispatch: buf.Of(s.DefaultDelayBeforeDispatch.Milliseconds()),
	}
	if bare == b.Options().ManagementAddress {
		r.Exists, r.SupportsMulticast, r.SupportsAnycast = true, true, true
		return r, nil
	}
	r.QueueNames = b.QueuesBound(bare)
	if isFQQN && !c.v().NewFQQN() {
		for i, queue := range r.QueueNames {
			r.QueueNames[i] = bare + "::" + queue
		}
	}
	a := b.Address(bare)
	if a == nil {
		return r, nil
	}
	info := b.Info(a)
	r.Exists = true
	r.SupportsMulticast = info.RoutingTypes&broker.MulticastSet != 0
	r.SupportsAnycast = info.RoutingTypes&broker.AnycastSet != 0
	return r, nil
}

// createAddress is CREATE_ADDRESS.
func (ch *channel) createAddress(p *core.CreateAddress) error {
	b := ch.s.b
	name, t := ch.conn.Load().strip(p.Address)
	if err := ch.check(security.CreateAddress, name, ""); err != nil {
		return err
	}
	var types broker.RoutingTypes
	for _, r := range p.RoutingTypes {
		types |= broker.SetOf(message.RoutingType(r))
	}
	if t != message.Unspecified {
		types = broker.SetOf(t)
	}
	a := b.Address(name)
	if a == nil {
		_, err := b.CreateAddress(name, types, p.AutoCreated)
		if e, ok := err.(*broker.Error); !ok || e.Code != broker.AddressExists {
			return err
		}
		a = b.Address(name) // another client was first
	}
	if a == nil {
		return &broker.Error{Code: broker.InternalError}
	}
	_, err := b.UpdateAddress(name, types)
	return err
}

// createQueueV1 is CREATE_QUEUE of versions below 129: the prefix of the address says the routing type.
func (ch *channel) createQueueV1(p *core.CreateQueue) error {
	t := core.RoutingMulticast
	for _, prefix := range []string{"jms.queue.", "jms.tempqueue."} {
		if len(p.Address) > len(prefix) && p.Address[:len(prefix)] == prefix {
			t = core.RoutingAnycast
		}
	}
	return ch.createQueueV2(&core.CreateQueueV2{CreateQueue: *p, RoutingType: t, MaxConsumers: -1})
}

func over[T any](dst *T, v buf.Null[T]) {
	if v.Valid {
		*dst = v.V
	}
}

func apply(cfg *broker.QueueConfig, a *core.QueueAttributes) {
	over(&cfg.Exclusive, a.Exclusive)
	over(&cfg.LastValue, a.LastValue)
	over(&cfg.LastValueKey, a.LastValueKey)
	over(&cfg.NonDestructive, a.NonDestructive)
	over(&cfg.ConsumersBeforeDispatch, a.ConsumersBeforeDispatch)
	over(&cfg.DelayBeforeDispatch, a.DelayBeforeDispatch)
	over(&cfg.GroupRebalance, a.GroupRebalance)
	over(&cfg.GroupBuckets, a.GroupBuckets)
	over(&cfg.AutoDelete, a.AutoDelete)
	over(&cfg.AutoDeleteDelay, a.AutoDeleteDelay)
	over(&cfg.AutoDeleteMessageCount, a.AutoDeleteMessageCount)
	over(&cfg.GroupFirstKey, a.GroupFirstKey)
	over(&cfg.RingSize, a.RingSize)
	over(&cfg.Enabled, a.Enabled)
	over(&cfg.GroupRebalancePauseDisp, a.GroupRebalancePauseDispatch)
}

// createQueueV2 is CREATE_QUEUE_V2.
func (ch *channel) createQueueV2(p *core.CreateQueueV2) error {
	c := ch.conn.Load()
	address, t := c.strip(p.Address)
	name, _ := c.strip(p.Name)
	cfg := ch.s.b.DefaultQueue(address, name)
	s := ch.s.b.SettingsFor(address)
	if p.RoutingType != core.RoutingUnset {
		cfg.Routing = message.RoutingType(p.RoutingType)
	}
	if t != message.Unspecified {
		cfg.Routing = t
	}
	cfg.Filter = p.Filter.V
	cfg.Durable = p.Durable && !p.Temporary
	cfg.Temporary = p.Temporary
	cfg.AutoCreated = p.AutoCreated
	cfg.MaxConsumers = p.MaxConsumers
	cfg.PurgeOnNoConsumers = p.PurgeOnNoConsumers
	cfg.AutoDelete = p.AutoCreated && s.AutoDeleteQueues || !p.AutoCreated && s.AutoDeleteCreatedQueues
	apply(&cfg, &p.QueueAttributes)
	return ch.sess.CreateQueue(cfg, broker.CreateOptions{AutoCreateAddress: s.AutoCreateAddresses})
}

// createShared is CREATE_SHARED_QUEUE and its second form.
func (ch *channel) createShared(_ *broker.Work, p *core.CreateSharedQueueV2) error {
	c := ch.conn.Load()
	address, t := c.strip(p.Address)
	name, _ := c.strip(p.Name)
	if q := ch.s.b.Queue(name); q != nil {
		cfg := q.Config()
		if cfg.Address != address {
			return &broker.Error{Code: broker.InvalidTransientQueueUse, Text: "AMQ229082: Queue " + name + " already exists on another subscription"}
		}
		if cfg.Filter != p.Filter.V {
			return &broker.Error{Code: broker.InvalidTransientQueueUse, Text: "AMQ229083: Queue " + name + " has a different filter than requested"}
		}
		return nil
	}
	cfg := ch.s.b.DefaultQueue(address, name)
	if p.RoutingType != core.RoutingUnset {
		cfg.Routing = message.RoutingType(p.RoutingType)
	}
	if t != message.Unspecified {
		cfg.Routing = t
	}
	cfg.Filter = p.Filter.V
	cfg.Durable = p.Durable
	cfg.Transient = !p.Durable
	over(&cfg.MaxConsumers, p.MaxConsumers)
	over(&cfg.PurgeOnNoConsumers, p.PurgeOnNoConsumers)
	cfg.AutoDelete = ch.s.b.SettingsFor(address).AutoDeleteCreatedQueues
	apply(&cfg, &p.QueueAttributes)
	return ch.sess.CreateQueue(cfg, broker.CreateOptions{AutoCreateAddress: true, IgnoreExisting: true})
}

// deleteQueue is DELETE_QUEUE.
func (ch *channel) deleteQueue(w *broker.Work, name string) error {
	bare, _ := ch.conn.Load().strip(name)
	return ch.sess.DeleteQueue(w, bare)
}
