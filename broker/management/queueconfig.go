package management

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
)

// queueJSON is a queue's configuration as JSON has it: texts by key, only those that were given. Values may be strings
// or of their own types.
type queueJSON map[string]string

func parseQueue(text string) (queueJSON, error) {
	var raw map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&raw); err != nil {
		return nil, badJSON(text, err)
	}
	q := queueJSON{}
	for k, v := range raw {
		if v != nil {
			q[k] = fmt.Sprint(v)
		}
	}
	return q, nil
}

// reader collects the first value that is not of its type.
type reader struct {
	q   queueJSON
	err error
}

func (r *reader) text(key string) *string {
	if v, ok := r.q[key]; ok {
		return &v
	}
	return nil
}

func (r *reader) bool(key string) *bool {
	if v, ok := r.q[key]; ok {
		b := strings.EqualFold(v, "true")
		return &b
	}
	return nil
}

func (r *reader) long(key string) *int64 { return number[int64](r, key, 64) }
func (r *reader) int(key string) *int32  { return number[int32](r, key, 32) }

func number[T int32 | int64](r *reader, key string, bits int) *T {
	v, ok := r.q[key]
	if !ok {
		return nil
	}
	n, err := strconv.ParseInt(v, 10, bits)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("For input string: \"%s\"", v) //lint:ignore ST1005 the text of Java
	}
	t := T(n)
	return &t
}

func (r *reader) routing() *message.RoutingType {
	v, ok := r.q["routing-type"]
	if !ok {
		return nil
	}
	t, err := parseRouting(v)
	if err != nil && r.err == nil {
		r.err = err
	}
	return &t
}

func parseRouting(text string) (message.RoutingType, error) {
	switch strings.ToUpper(strings.TrimSpace(text)) {
	case "ANYCAST":
		return message.Anycast, nil
	case "MULTICAST":
		return message.Multicast, nil
	}
	return message.Unspecified, fmt.Errorf("AMQ229208: Invalid routing type %s", text)
}

func parseRoutings(text string) (broker.RoutingTypes, error) {
	var set broker.RoutingTypes
	for _, name := range strings.Split(text, ",") {
		if strings.TrimSpace(name) == "" {
			continue
		}
		t, err := parseRouting(name)
		if err != nil {
			return 0, err
		}
		set |= broker.SetOf(t)
	}
	return set, nil
}

// config is the configuration with the defaults of the queue's address.
func (q queueJSON) config(b *broker.Broker) (cfg broker.QueueConfig, autoCreateAddress bool, err error) {
	r := &reader{q: q}
	name, address := q["name"], q["address"]
	if a, n, ok := strings.Cut(name, "::"); ok {
		address, name = a, n
	}
	if address == "" {
		address = name
	}
	cfg = b.DefaultQueue(address, name)
	set(&cfg.Routing, r.routing())
	set(&cfg.Filter, r.text("filter-string"))
	set(&cfg.Durable, r.bool("durable"))
	set(&cfg.User, r.text("user"))
	set(&cfg.MaxConsumers, r.int("max-consumers"))
	set(&cfg.Exclusive, r.bool("exclusive"))
	set(&cfg.GroupRebalance, r.bool("group-rebalance"))
	set(&cfg.GroupRebalancePauseDisp, r.bool("group-rebalance-pause-dispatch"))
	set(&cfg.GroupBuckets, r.int("group-buckets"))
	set(&cfg.GroupFirstKey, r.text("group-first-key"))
	set(&cfg.LastValue, r.bool("last-value"))
	set(&cfg.LastValueKey, r.text("last-value-key"))
	set(&cfg.NonDestructive, r.bool("non-destructive"))
	set(&cfg.PurgeOnNoConsumers, r.bool("purge-on-no-consumers"))
	set(&cfg.Enabled, r.bool("enabled"))
	set(&cfg.ConsumersBeforeDispatch, r.int("consumers-before-dispatch"))
	set(&cfg.DelayBeforeDispatch, r.long("delay-before-dispatch"))
	set(&cfg.AutoDeleteDelay, r.long("auto-delete-delay"))
	set(&cfg.AutoDeleteMessageCount, r.long("auto-delete-message-count"))
	set(&cfg.RingSize, r.long("ring-size"))
	set(&cfg.ConfigurationManaged, r.bool("configuration-managed"))
	set(&cfg.Temporary, r.bool("temporary"))
	set(&cfg.Internal, r.bool("internal"))
	set(&cfg.Transient, r.bool("transient"))
	set(&cfg.AutoCreated, r.bool("auto-created"))
	s := b.SettingsFor(address)
	cfg.AutoDelete = !cfg.ConfigurationManaged && (cfg.AutoCreated && s.AutoDeleteQueues || !cfg.AutoCreated && s.AutoDeleteCreatedQueues)
	set(&cfg.AutoDelete, r.bool("auto-delete"))
	autoCreateAddress = s.AutoCreateAddresses
	set(&autoCreateAddress, r.bool("auto-create-address"))
	return cfg, autoCreateAddress, r.err
}

// update is the configuration as a change of a queue.
func (q queueJSON) update() (broker.QueueUpdate, error) {
	r := &reader{q: q}
	u := broker.QueueUpdate{
		Routing: r.routing(), MaxConsumers: r.int("max-consumers"), PurgeOnNoConsumers: r.bool("purge-on-no-consumers"), Exclusive: r.bool("exclusive"),
		Enabled: r.bool("enabled"), NonDestructive: r.bool("non-destructive"), GroupRebalance: r.bool("group-rebalance"),
		GroupRebalancePauseDisp: r.bool("group-rebalance-pause-dispatch"), GroupBuckets: r.int("group-buckets"), GroupFirstKey: r.text("group-first-key"),
		ConsumersBeforeDispatch: r.int("consumers-before-dispatch"), DelayBeforeDispatch: r.long("delay-before-dispatch"), RingSize: r.long("ring-size"),
		Filter: q["filter-string"], User: r.text("user"), ConfigurationManaged: r.bool("configuration-managed"),
	}
	return u, r.err
}

// queueObject is a queue's configuration as JSON. What is not set is left out.
func queueObject(id int64, c broker.QueueConfig, autoCreateAddress, fqqn bool) Object {
	o := Object{{"id", id}, {"name", c.Name}, {"address", c.Address}, {"routing-type", c.Routing.String()}}
	text := func(name, v string) {
		if v != "" {
			o = append(o, Member{name, v})
		}
	}
	add := func(name string, v any) { o = append(o, Member{name, v}) }
	text("filter-string", c.Filter)
	add("durable", c.Durable)
	text("user", c.User)
	add("max-consumers", c.MaxConsumers)
	add("exclusive", c.Exclusive)
	add("group-rebalance", c.GroupRebalance)
	add("group-rebalance-pause-dispatch", c.GroupRebalancePauseDisp)
	add("group-buckets", c.GroupBuckets)
	text("group-first-key", c.GroupFirstKey)
	add("last-value", c.LastValue)
	text("last-value-key", c.LastValueKey)
	add("non-destructive", c.NonDestructive)
	add("purge-on-no-consumers", c.PurgeOnNoConsumers)
	if !c.Enabled {
		add("enabled", false)
	}
	add("consumers-before-dispatch", c.ConsumersBeforeDispatch)
	add("delay-before-dispatch", c.DelayBeforeDispatch)
	add("auto-delete", c.AutoDelete)
	add("auto-delete-delay", c.AutoDeleteDelay)
	add("auto-delete-message-count", c.AutoDeleteMessageCount)
	add("ring-size", c.RingSize)
	add("configuration-managed", c.ConfigurationManaged)
	add("temporary", c.Temporary)
	add("auto-create-address", autoCreateAddress)
	add("internal", c.Internal)
	add("transient", c.Transient)
	add("auto-created", c.AutoCreated)
	add("fqqn", fqqn)
	return o
}

// queueText is a queue as the older operations describe it.
func queueText(c broker.QueueConfig) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Queue [name=%s, address=%s, routingType=%s", c.Name, c.Address, c.Routing)
	if c.Filter != "" {
		fmt.Fprintf(&b, ", filter=%s", c.Filter)
	}
	fmt.Fprintf(&b, ", durable=%t", c.Durable)
	if c.User != "" {
		fmt.Fprintf(&b, ", user=%s", c.User)
	}
	if c.MaxConsumers != -1 {
		fmt.Fprintf(&b, ", maxConsumers=%d", c.MaxConsumers)
	}
	key := "null"
	if c.LastValueKey != "" {
		key = c.LastValueKey
	}
	fmt.Fprintf(&b, ", purgeOnNoConsumers=%t, autoCreateAddress=false, exclusive=%t, lastValue=%t, lastValueKey=%s, nonDestructive=%t, consumersBeforeDispatch=%d, delayBeforeDispatch=%d, autoCreateAddress=false]",
		c.PurgeOnNoConsumers, c.Exclusive, c.LastValue, key, c.NonDestructive, c.ConsumersBeforeDispatch, c.DelayBeforeDispatch)
	return b.String()
}

// addressText is an address as operations describe it.
func addressText(name string, i broker.AddressInfo) string {
	var names []string
	for _, t := range i.RoutingTypes.List() {
		names = append(names, t.String())
	}
	return fmt.Sprintf("Address [name=%s, routingTypes={%s}, autoCreated=%t]", name, strings.Join(names, ","), i.AutoCreated)
}
