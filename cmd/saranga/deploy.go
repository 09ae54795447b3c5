package main

import (
	"errors"
	"fmt"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/message"
)

// deploy makes the broker have the addresses, queues and diverts of a configuration, at the start and after a reload.
// What isn't in it any more goes where the address settings say FORCE, with its messages. One thing that cannot be done
// does not keep the others from being done; the error names all.
func (n *node) deploy(c *config.Config) error {
	d := deployment{n: n, b: n.broker, c: c}
	d.undeployDiverts()
	d.addresses()
	d.undeploy()
	d.diverts()
	return errors.Join(d.errs...)
}

type deployment struct {
	n    *node
	b    *broker.Broker
	c    *config.Config
	errs []error
}

func (d *deployment) failed(err error, format string, args ...any) {
	d.errs = append(d.errs, fmt.Errorf(format+": %w", append(args, err)...))
}

func (d *deployment) addresses() {
	for _, a := range d.c.Addresses {
		var types broker.RoutingTypes
		for _, t := range a.RoutingTypes {
			types |= broker.SetOf(routingType(t))
		}
		if err := d.address(a.Name, types); err != nil {
			d.failed(err, "deploy address %s", a.Name)
			continue
		}
		for _, q := range a.Queues {
			if err := d.queue(a.Name, q); err != nil {
				d.failed(err, "deploy queue %s", q.Name)
			}
		}
	}
}

func (d *deployment) address(name string, types broker.RoutingTypes) error {
	have := d.b.Address(name)
	if have == nil {
		_, err := d.b.CreateAddress(name, types, false)
		if !isError(err, broker.AddressExists) { // a client may have been faster
			return err
		}
		have = d.b.Address(name)
	}
	if have == nil || types == 0 {
		return nil
	}
	now := d.b.Info(have).RoutingTypes
	if now == types {
		return nil
	}
	_, err := d.b.UpdateAddress(name, types)
	if err == nil || now&^types == 0 {
		return err
	}
	d.n.log.Warn("a routing type that queues have stays with their address", "address", name, "reason", err)
	if types |= now; types == now {
		return nil
	}
	_, err = d.b.UpdateAddress(name, types)
	return err
}

func isError(err error, code broker.Code) bool {
	var e *broker.Error
	return errors.As(err, &e) && e.Code == code
}

// queue creates a queue, or gives one that is there the attributes that a running queue can change.
func (d *deployment) queue(address string, q config.Queue) error {
	want := queueConfig(d.b, address, q)
	have := d.b.Queue(q.Name)
	if have == nil {
		created, err := d.b.CreateQueue(want, broker.CreateOptions{AutoCreateAddress: true, IgnoreExisting: true})
		if err != nil {
			return err
		}
		have = created
	}
	now := have.Config()
	if now.Address != want.Address {
		d.n.log.Warn("a queue of broker.xml exists on another address and stays there: delete it, or correct broker.xml", "queue", q.Name, "address", now.Address, "broker.xml", want.Address)
		return nil
	}
	next := now
	next.Routing, next.MaxConsumers, next.PurgeOnNoConsumers, next.Exclusive, next.Enabled, next.NonDestructive = want.Routing, want.MaxConsumers, want.PurgeOnNoConsumers, want.Exclusive, want.Enabled, want.NonDestructive
	next.GroupRebalance, next.GroupRebalancePauseDisp, next.GroupBuckets, next.GroupFirstKey = want.GroupRebalance, want.GroupRebalancePauseDisp, want.GroupBuckets, want.GroupFirstKey
	next.ConsumersBeforeDispatch, next.DelayBeforeDispatch, next.RingSize = want.ConsumersBeforeDispatch, want.DelayBeforeDispatch, want.RingSize
	next.Filter, next.User, next.ConfigurationManaged = want.Filter, want.User, true
	if next == now {
		return nil
	}
	u := broker.QueueUpdate{Routing: &next.Routing, MaxConsumers: &next.MaxConsumers, PurgeOnNoConsumers: &next.PurgeOnNoConsumers, Exclusive: &next.Exclusive, Enabled: &next.Enabled, NonDestructive: &next.NonDestructive,
		GroupRebalance: &next.GroupRebalance, GroupRebalancePauseDisp: &next.GroupRebalancePauseDisp, GroupBuckets: &next.GroupBuckets, GroupFirstKey: &next.GroupFirstKey,
		ConsumersBeforeDispatch: &next.ConsumersBeforeDispatch, DelayBeforeDispatch: &next.DelayBeforeDispatch, RingSize: &next.RingSize,
		Filter: next.Filter, User: &next.User, ConfigurationManaged: &next.ConfigurationManaged}
	_, err := d.b.UpdateQueue(d.b.NewWork(), q.Name, u)
	if isError(err, broker.IllegalState) && next.MaxConsumers != now.MaxConsumers {
		d.n.log.Warn("a queue has more consumers than broker.xml allows: the limit stays as it was", "queue", q.Name, "reason", err)
		u.MaxConsumers = nil
		_, err = d.b.UpdateQueue(d.b.NewWork(), q.Name, u)
	}
	return err
}

// undeploy deletes the addresses and queues that came from a configuration and are not in it any more, where
// config-delete-addresses and config-delete-queues are FORCE.
func (d *deployment) undeploy() {
	addresses, queues := map[string]bool{d.c.ManagementAddress: true, d.c.ManagementNotificationAddress: true}, map[string]bool{}
	for _, a := range d.c.Addresses {
		addresses[a.Name] = true
		for _, q := range a.Queues {
			queues[q.Name] = true
		}
	}
	for _, a := range d.b.Addresses() {
		info := d.b.Info(a)
		if info.Internal || info.Temporary || d.b.RetroactiveResource(a.Name()) { // the last goes with its address
			continue
		}
		s := a.Settings()
		gone := !addresses[a.Name()] && !info.AutoCreated && s.ConfigDeleteAddresses == config.DeleteForce
		for _, name := range info.Queues {
			q := d.b.Queue(name)
			if q != nil && (gone || s.ConfigDeleteQueues == config.DeleteForce && q.Config().ConfigurationManaged && !queues[name]) {
				d.deleteQueue(name)
			}
		}
		if gone {
			d.n.log.Info("AMQ224076: Undeploying address " + a.Name())
			if err := d.b.DeleteAddress(d.b.NewWork(), a.Name(), false); err != nil && !isError(err, broker.AddressDoesNotExist) {
				d.n.log.Warn("AMQ224102: unable to undeploy address "+a.Name(), "reason", err)
			}
		}
	}
}

func (d *deployment) deleteQueue(name string) {
	d.n.log.Info("AMQ224077: Undeploying queue " + name)
	w := d.b.NewWork()
	err := d.b.DeleteQueue(w, name, broker.DeleteQueueOptions{RemoveConsumers: true})
	w.Flush()
	if err != nil && !isError(err, broker.QueueDoesNotExist) {
		d.n.log.Warn("AMQ224103: unable to undeploy queue "+name, "reason", err)
	}
}

// storedDiverts are the diverts that management made.
func (d *deployment) storedDiverts() []broker.DivertConfig {
	var list []broker.DivertConfig
	for _, x := range d.b.StoredConfigs() {
		if x.Kind == broker.DivertConfigKind {
			list = append(list, x.Divert)
		}
	}
	return list
}

// undeployDiverts deletes the diverts that are not in the configuration. Those made by management stay, unless
// config-delete-diverts of their address is FORCE.
func (d *deployment) undeployDiverts() {
	in := map[string]bool{}
	for _, x := range d.c.Diverts {
		in[x.Name] = true
	}
	gone := map[string]bool{}
	for _, x := range d.storedDiverts() {
		if !in[x.Name] && !d.b.RetroactiveResource(x.Name) && d.b.SettingsFor(x.Address).ConfigDeleteDiverts == config.DeleteForce {
			gone[x.Name] = true
			if err := d.b.Store().DeleteConfig(broker.DivertConfigKind, x.Name); err != nil {
				d.failed(err, "undeploy divert %s", x.Name)
			}
		}
	}
	for _, x := range d.b.Diverts() {
		if gone[x.Name()] || !in[x.Name()] && !x.Stored() {
			if err := d.b.DeleteDivert(x.Name()); err != nil && !isError(err, broker.DivertDoesNotExist) {
				d.failed(err, "undeploy divert %s", x.Name())
			}
		}
	}
}

func (d *deployment) diverts() {
	for _, x := range d.storedDiverts() {
		if _, err := d.b.RestoreDivert(x); err != nil {
			d.failed(err, "restore divert %s, made by management", x.Name)
		}
	}
	for _, x := range d.c.Diverts {
		if _, err := d.b.DeployDivert(divertConfig(x)); err != nil {
			d.failed(err, "deploy divert %s", x.Name)
		}
	}
}

func routingType(t config.RoutingType) message.RoutingType {
	if t == config.Anycast {
		return message.Anycast
	}
	return message.Multicast
}

func override[T any](dst *T, v *T) {
	if v != nil {
		*dst = *v
	}
}

func override32(dst *int32, v *int) {
	if v != nil {
		*dst = int32(*v)
	}
}

// queueConfig is a queue of broker.xml with the defaults of its address.
func queueConfig(b *broker.Broker, address string, q config.Queue) broker.QueueConfig {
	c := b.DefaultQueue(address, q.Name)
	c.Routing = routingType(q.RoutingType)
	c.Filter, c.Durable, c.User, c.ConfigurationManaged = q.Filter, q.Durable, q.User, true
	override32(&c.MaxConsumers, q.MaxConsumers)
	override(&c.PurgeOnNoConsumers, q.PurgeOnNoConsumers)
	override(&c.Exclusive, q.Exclusive)
	override(&c.GroupRebalance, q.GroupRebalance)
	override(&c.GroupRebalancePauseDisp, q.GroupRebalancePauseDispatch)
	override32(&c.GroupBuckets, q.GroupBuckets)
	override(&c.GroupFirstKey, q.GroupFirstKey)
	override(&c.LastValue, q.LastValue)
	override(&c.LastValueKey, q.LastValueKey)
	override(&c.NonDestructive, q.NonDestructive)
	override32(&c.ConsumersBeforeDispatch, q.ConsumersBeforeDispatch)
	if q.DelayBeforeDispatch != nil {
		c.DelayBeforeDispatch = q.DelayBeforeDispatch.Milliseconds()
	}
	override(&c.RingSize, q.RingSize)
	override(&c.Enabled, q.Enabled)
	return c
}

func divertConfig(d config.Divert) broker.DivertConfig {
	out := broker.DivertConfig{Name: d.Name, Address: d.Address, ForwardAddress: d.ForwardingAddress, RoutingName: d.RoutingName, Exclusive: d.Exclusive, Filter: d.Filter,
		TransformerClass: d.Transformer.ClassName, TransformerProps: d.Transformer.Properties}
	switch d.RoutingType {
	case config.ToAnycast:
		out.RoutingType = broker.DivertAnycast
	case config.ToMulticast:
		out.RoutingType = broker.DivertMulticast
	case config.Pass:
		out.RoutingType = broker.DivertPass
	default:
		out.RoutingType = broker.DivertStrip
	}
	return out
}
