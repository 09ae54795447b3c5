package broker

import (
	"sort"
	"strings"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/message"
)

// Address returns an address, nil when there is none.
func (b *Broker) Address(name string) *Address {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.addresses[name]
}

// supports tells whether there is an address with a routing type.
func (b *Broker) supports(address string, t message.RoutingType) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	a := b.addresses[address]
	return a != nil && a.types.Has(t)
}

// Queue returns a queue by its name or as address::name, nil when there is none.
func (b *Broker) Queue(name string) *Queue {
	if _, q, ok := splitFQQN(name); ok {
		name = q
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.queues[name]
}

// Addresses returns all addresses by name.
func (b *Broker) Addresses() []*Address {
	b.mu.RLock()
	defer b.mu.RUnlock()
	out := make([]*Address, 0, len(b.addresses))
	for _, a := range b.addresses {
		out = append(out, a)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out
}

// Queues returns all queues by name.
func (b *Broker) Queues() []*Queue {
	b.mu.RLock()
	defer b.mu.RUnlock()
	out := make([]*Queue, 0, len(b.queues))
	for _, q := range b.queues {
		out = append(out, q)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].cfg.Name < out[j].cfg.Name })
	return out
}

// AddressInfo is what can be asked about an address.
type AddressInfo struct {
	ID           int64
	RoutingTypes RoutingTypes
	AutoCreated  bool
	Internal     bool
	Temporary    bool
	Paused       bool
	Created      int64
	Queues       []string // in order of creation
	Diverts      []string
}

// QueuesBound returns the names of the queues bound to an address or, if it has wildcards, to those that match it.
func (b *Broker) QueuesBound(address string) (names []string) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	add := func(a *Address) {
		for _, x := range a.bindings {
			if q, ok := x.(*Queue); ok {
				names = append(names, q.cfg.Name)
			}
		}
	}
	if a := b.addresses[address]; a != nil {
		add(a)
	}
	if b.isWild(address) {
		for name, a := range b.addresses {
			if name != address && b.matchesWild(address, name) {
				add(a)
			}
		}
	}
	return names
}

// Info returns what can be asked about the address.
func (b *Broker) Info(a *Address) AddressInfo {
	b.mu.RLock()
	defer b.mu.RUnlock()
	i := AddressInfo{ID: a.id, RoutingTypes: a.types, AutoCreated: a.autoCreated, Internal: a.internal, Temporary: a.temporary, Paused: a.paused.Load(), Created: a.created}
	for _, x := range a.bindings {
		switch x := x.(type) {
		case *Queue:
			i.Queues = append(i.Queues, x.cfg.Name)
		case *Divert:
			i.Diverts = append(i.Diverts, x.cfg.Name)
		}
	}
	return i
}

// newAddress makes an address and puts it into the registry. Called with admin held.
func (b *Broker) newAddress(rec AddressRecord, temporary, stored bool) *Address {
	a := &Address{name: rec.Name, id: rec.ID, types: rec.RoutingTypes, autoCreated: rec.AutoCreated, internal: rec.Internal,
		temporary: temporary, stored: stored, created: b.now()}
	a.account.parent, a.account.shrunk = &b.total, b.pokeGranter
	s := b.opts.Settings(b.settingsName(a))
	a.settings.Store(&s)
	a.dups = newDuplicates(a.name, s.IDCacheSize, b.opts.PersistIDCache)
	b.mu.Lock()
	b.addresses[a.name] = a
	if b.isWild(a.name) {
		b.wildAddresses = append(b.wildAddresses, a)
	}
	b.changed()
	b.mu.Unlock()
	return a
}

// CreateAddress creates an address. An address that exists is refused; see AddRoutingTypes.
func (b *Broker) CreateAddress(name string, types RoutingTypes, autoCreated bool) (*Address, error) {
	b.admin.Lock()
	defer b.admin.Unlock()
	return b.createAddress(name, types, autoCreated, false)
}

func (b *Broker) createAddress(name string, types RoutingTypes, autoCreated, temporary bool) (*Address, error) {
	if name == "" {
		return nil, errorf(IllegalState, "an address must have a name")
	}
	if strings.Contains(name, "::") {
		name = bareAddress(name)
	}
	if b.Address(name) != nil {
		return nil, errorf(AddressExists, "AMQ229204: Address already exists: %s", name)
	}
	if types == 0 {
		types = MulticastSet
		if b.opts.Settings(name).DefaultAddressRoutingType == config.Anycast {
			types = AnycastSet
		}
	}
	rec := AddressRecord{Name: name, RoutingTypes: types, AutoCreated: autoCreated}
	rec.ID = b.store.NextID()
	if !temporary {
		if err := b.store.StoreAddress(rec); err != nil {
			return nil, err
		}
	}
	a := b.newAddress(rec, temporary, !temporary)
	b.notify("ADDRESS_ADDED", Prop{"_AMQ_Address", name}, Prop{"_AMQ_Routing_Type", firstType(types)})
	if err := b.makeRetroactive(a); err != nil {
		b.log.Error("cannot make an address retroactive", "address", name, "error", err)
	}
	return a, nil
}

// typesText lists routing types.
func typesText(t RoutingTypes) string {
	var names []string
	for _, r := range t.List() {
		names = append(names, r.String())
	}
	return strings.Join(names, ",")
}

// firstType is a routing type of an address for notifications, which have room for one.
func firstType(t RoutingTypes) any {
	if list := t.List(); len(list) > 0 {
		return int8(list[0])
	}
	return nil
}

// UpdateAddress sets the routing types of an address. A type that a queue has cannot be taken away.
func (b *Broker) UpdateAddress(name string, types RoutingTypes) (*Address, error) {
	b.admin.Lock()
	defer b.admin.Unlock()
	a := b.Address(name)
	if a == nil {
		return nil, errNoAddress(name)
	}
	if types == 0 || types == a.types {
		return a, nil
	}
	for _, q := range b.queuesOf(a) {
		if !types.Has(q.Routing()) {
			return nil, errorf(InternalError, "AMQ229209: Can't remove routing type %s, queues exists for address: %s. Please delete queues before removing this routing type.", q.Routing(), name)
		}
	}
	return a, b.setTypes(a, types)
}

func (b *Broker) setTypes(a *Address, types RoutingTypes) error {
	if a.stored {
		rec := AddressRecord{ID: a.id, Name: a.name, RoutingTypes: types, AutoCreated: a.autoCreated, Internal: a.internal}
		if err := b.store.UpdateAddress(rec); err != nil {
			return err
		}
	}
	b.mu.Lock()
	a.types = types
	b.changed()
	b.mu.Unlock()
	return nil
}

func (b *Broker) queuesOf(a *Address) []*Queue {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var out []*Queue
	for _, x := range a.bindings {
		if q, ok := x.(*Queue); ok {
			out = append(out, q)
		}
	}
	return out
}

// DeleteAddress deletes an address. With bindings it is refused unless force deletes them too.
func (b *Broker) DeleteAddress(w *Work, name string, force bool) error {
	w.settle() // moves may create queues themselves
	b.admin.Lock()
	defer b.admin.Unlock()
	a := b.Address(name)
	if a == nil {
		return errNoAddress(name)
	}
	if len(a.bindings) > 0 {
		if !force {
			return errorf(DeleteAddressError, "AMQ229205: Address %s has bindings", name)
		}
		for _, q := range b.queuesOf(a) {
			if err := b.deleteQueue(w, q, DeleteQueueOptions{}); err != nil {
				return err
			}
		}
		if n := len(a.bindings); n > 1 || n == 1 && a.bindings[0].Name() != b.retroactiveDivert(a).Name {
			return errorf(DeleteAddressError, "AMQ229205: Address %s has bindings", name)
		}
	}
	return b.deleteAddress(w, a)
}

func (b *Broker) deleteAddress(w *Work, a *Address) error {
	if a.stored {
		if err := b.store.DeleteAddress(a.id); err != nil {
			return err
		}
		if a.pauseRec != 0 {
			if err := b.store.DeleteBinding(a.pauseRec); err != nil {
				return err
			}
		}
	}
	b.mu.Lock()
	delete(b.addresses, a.name)
	for i, x := range b.wildAddresses {
		if x == a {
			b.wildAddresses = append(b.wildAddresses[:i:i], b.wildAddresses[i+1:]...)
			break
		}
	}
	b.changed()
	b.mu.Unlock()
	b.routes.Range(func(k, v any) bool {
		if v.(*route).address == a {
			b.routes.Delete(k)
		}
		return true
	})
	a.grantAll()
	b.notify("ADDRESS_REMOVED", Prop{"_AMQ_Address", a.name}, Prop{"_AMQ_Routing_Type", firstType(a.types)})
	return b.removeRetroactive(w, a)
}

// DefaultQueue returns the attributes of a queue as the settings of its address have them.
func (b *Broker) DefaultQueue(address, name string) QueueConfig {
	s := b.SettingsFor(address)
	cfg := NewQueueConfig(name)
	cfg.Address = address
	if s.DefaultQueueRoutingType == config.Anycast {
		cfg.Routing = message.Anycast
	}
	cfg.MaxConsumers = int32(s.DefaultMaxConsumers)
	cfg.PurgeOnNoConsumers = s.DefaultPurgeOnNoConsumers
	cfg.Exclusive = s.DefaultExclusiveQueue
	cfg.LastValue = s.DefaultLastValueQueue
	cfg.LastValueKey = s.DefaultLastValueKey
	cfg.NonDestructive = s.DefaultNonDestructive
	cfg.ConsumersBeforeDispatch = int32(s.DefaultConsumersBeforeDispatch)
	cfg.DelayBeforeDispatch = s.DefaultDelayBeforeDispatch.Milliseconds()
	cfg.GroupRebalance = s.DefaultGroupRebalance
	cfg.GroupRebalancePauseDisp = s.DefaultGroupRebalancePauseDispatch
	cfg.GroupBuckets = int32(s.DefaultGroupBuckets)
	cfg.GroupFirstKey = s.DefaultGroupFirstKey
	cfg.RingSize = s.DefaultRingSize
	cfg.AutoDeleteDelay = s.AutoDeleteQueuesDelay.Milliseconds()
	cfg.AutoDeleteMessageCount = s.AutoDeleteQueuesMessageCount
	return cfg
}

// CreateOptions say how CreateQueue treats what is there.
type CreateOptions struct {
	AutoCreateAddress bool // create the address or add the routing type
	IgnoreExisting    bool // an existing queue of that name is returned

	limited bool // the user's limit counts
}

// CreateQueue creates a queue with exactly these attributes.
func (b *Broker) CreateQueue(cfg QueueConfig, o CreateOptions) (*Queue, error) {
	b.admin.Lock()
	defer b.admin.Unlock()
	return b.createQueue(cfg, o)
}

func (b *Broker) createQueue(cfg QueueConfig, o CreateOptions) (*Queue, error) {
	if a, n, ok := splitFQQN(cfg.Name); ok {
		cfg.Address, cfg.Name = a, n
	}
	cfg.Address = bareAddress(cfg.Address)
	if cfg.Name == "" {
		return nil, errorf(IllegalState, "AMQ229216: Invalid queue name: %s", cfg.Name)
	}
	cfg.Filter = strings.TrimSpace(cfg.Filter)
	f, err := b.parseFilter(cfg.Filter)
	if err != nil {
		return nil, err
	}
	if q := b.Queue(cfg.Name); q != nil {
		if o.IgnoreExisting {
			q.mu.Lock()
			q.reapMarked = false
			q.mu.Unlock()
			return q, nil
		}
		return nil, errQueueExists(cfg.Name, q.address.name)
	}
	if o.limited {
		if err := b.checkQueues(cfg.User); err != nil {
			return nil, err
		}
	}
	a := b.Address(cfg.Address)
	create := o.AutoCreateAddress || cfg.Temporary // or give it the routing type
	switch {
	case a == nil && !create:
		return nil, errNoAddress(cfg.Address)
	case a == nil:
		if a, err = b.createAddress(cfg.Address, SetOf(cfg.Routing), true, !cfg.Durable && cfg.Temporary); err != nil {
			return nil, err
		}
	case !a.types.Has(cfg.Routing):
		if !create {
			return nil, errorf(InternalError, "AMQ229207: Can not create queue with routing type: %s, Supported routing types for address: %s are %s", cfg.Routing, cfg.Address, typesText(a.types))
		}
		if err := b.addType(a, cfg.Routing); err != nil {
			return nil, err
		}
	}
	if cfg.Temporary || cfg.Transient {
		cfg.Durable = false
	}
	id := b.store.NextID()
	if cfg.Durable {
		if !a.stored {
			// a durable queue on a temporary address: the address has to outlive a restart with it
			if err := b.store.StoreAddress(AddressRecord{ID: a.id, Name: a.name, RoutingTypes: a.types, AutoCreated: a.autoCreated}); err != nil {
				return nil, err
			}
			b.mu.Lock()
			a.stored, a.temporary = true, false
			b.mu.Unlock()
		}
		if err := b.store.StoreQueue(QueueRecord{ID: id, QueueConfig: cfg}); err != nil {
			return nil, err
		}
	}
	q := b.newQueue(id, cfg, a)
	q.match.Store(&queueMatch{routing: cfg.Routing, filter: f})
	b.bind(a, q)
	props := []Prop{{"_AMQ_Binding_Type", int32(0)}, {"_AMQ_Address", a.name}, {"_AMQ_ClusterName", cfg.Name + b.opts.NodeID},
		{"_AMQ_RoutingName", cfg.Name}, {"_AMQ_Binding_ID", id}, {"_AMQ_Distance", int32(0)}}
	if cfg.Filter != "" {
		props = append(props, Prop{"_AMQ_FilterString", cfg.Filter})
	}
	b.notify("BINDING_ADDED", props...)
	if err := b.copyRetroactive(q); err != nil {
		b.log.Error("cannot copy the messages that a retroactive address has kept", "address", a.name, "queue", cfg.Name, "error", err)
	}
	return q, nil
}

// addType adds a routing type by use: the address gets a new record and id.
func (b *Broker) addType(a *Address, t message.RoutingType) error {
	types := a.types | SetOf(t)
	if a.stored {
		rec := AddressRecord{ID: b.store.NextID(), Name: a.name, RoutingTypes: types, AutoCreated: a.autoCreated, Internal: a.internal}
		if err := b.store.ReplaceAddress(a.id, rec); err != nil {
			return err
		}
		b.mu.Lock()
		a.id = rec.ID
		b.mu.Unlock()
	}
	b.mu.Lock()
	a.types = types
	b.changed()
	b.mu.Unlock()
	return nil
}

func (b *Broker) newQueue(id int64, cfg QueueConfig, a *Address) *Queue {
	q := &Queue{ID: id, b: b, address: a, cfg: cfg, created: b.now()}
	if cfg.LastValue || cfg.LastValueKey != "" {
		q.lastValues = map[string]int64{}
	}
	q.match.Store(&queueMatch{routing: cfg.Routing})
	q.gate()
	q.rescan()
	return q
}

// gate notes whether takesNew has to look.
func (q *Queue) gate() {
	n := int32(0)
	if !q.cfg.Enabled || q.cfg.PurgeOnNoConsumers {
		n = 1
	}
	q.gates.Store(n)
}

// bind puts a queue into the registry and under its address.
func (b *Broker) bind(a *Address, q *Queue) {
	b.mu.Lock()
	b.queues[q.cfg.Name] = q
	b.queueIDs[q.ID] = q
	a.bindings = append(a.bindings[:len(a.bindings):len(a.bindings)], q)
	a.reapMarked = false
	b.changed()
	b.mu.Unlock()
}

// QueueUpdate changes attributes of a queue; nil leaves one as it is. Filter is always applied.
type QueueUpdate struct {
	Routing                 *message.RoutingType
	MaxConsumers            *int32
	PurgeOnNoConsumers      *bool
	Exclusive               *bool
	Enabled                 *bool
	NonDestructive          *bool
	GroupRebalance          *bool
	GroupRebalancePauseDisp *bool
	GroupBuckets            *int32
	GroupFirstKey           *string
	ConsumersBeforeDispatch *int32
	DelayBeforeDispatch     *int64
	RingSize                *int64
	Filter                  string
	User                    *string
	ConfigurationManaged    *bool
}

func set[T any](dst *T, v *T) {
	if v != nil {
		*dst = *v
	}
}

// UpdateQueue changes a queue.
func (b *Broker) UpdateQueue(w *Work, name string, u QueueUpdate) (*Queue, error) {
	b.admin.Lock()
	defer b.admin.Unlock()
	q := b.Queue(name)
	if q == nil {
		return nil, errNoQueue(name)
	}
	f, err := b.parseFilter(u.Filter)
	if err != nil {
		return nil, err
	}
	cfg := q.Config()
	set(&cfg.Routing, u.Routing)
	set(&cfg.MaxConsumers, u.MaxConsumers)
	set(&cfg.PurgeOnNoConsumers, u.PurgeOnNoConsumers)
	set(&cfg.Exclusive, u.Exclusive)
	set(&cfg.Enabled, u.Enabled)
	set(&cfg.NonDestructive, u.NonDestructive)
	set(&cfg.GroupRebalance, u.GroupRebalance)
	set(&cfg.GroupRebalancePauseDisp, u.GroupRebalancePauseDisp)
	set(&cfg.GroupBuckets, u.GroupBuckets)
	set(&cfg.GroupFirstKey, u.GroupFirstKey)
	set(&cfg.ConsumersBeforeDispatch, u.ConsumersBeforeDispatch)
	set(&cfg.DelayBeforeDispatch, u.DelayBeforeDispatch)
	set(&cfg.RingSize, u.RingSize)
	set(&cfg.User, u.User)
	set(&cfg.ConfigurationManaged, u.ConfigurationManaged)
	cfg.Filter = strings.TrimSpace(u.Filter)
	if n := q.Counts().Consumers; cfg.MaxConsumers >= 0 && n > int(cfg.MaxConsumers) {
		return nil, errorf(IllegalState, "AMQ229210: Can't update queue %s with maxConsumers: %d. Current consumers are %d.", name, cfg.MaxConsumers, n)
	}
	if !q.address.types.Has(cfg.Routing) {
		if err := b.addType(q.address, cfg.Routing); err != nil {
			return nil, err
		}
	}
	if cfg.Durable {
		if err := b.store.UpdateQueue(QueueRecord{ID: q.ID, QueueConfig: cfg}); err != nil {
			return nil, err
		}
	}
	q.mu.Lock()
	q.cfg = cfg
	q.match.Store(&queueMatch{routing: cfg.Routing, filter: f})
	q.gate()
	if !cfg.Exclusive {
		q.exclusive = nil
	}
	q.rescan()
	q.deliver(w)
	q.mu.Unlock()
	b.mu.Lock()
	b.changed()
	b.mu.Unlock()
	return q, nil
}

// DeleteQueueOptions say what DeleteQueue checks and does besides.
type DeleteQueueOptions struct {
	CheckConsumers    bool // refuse while there are consumers
	CheckMessages     bool // refuse while there are, or come, more messages than the queue's AutoDeleteMessageCount
	RemoveConsumers   bool // tell consumers that their queue is gone
	AutoDeleteAddress bool // delete the address too when it was auto-created, nothing is bound to it any more, and its settings name no delay
}

// localQueueBinding is what Artemis prints where the text of AMQ229025 promises a number.
const localQueueBinding = "org.apache.activemq.artemis.core.postoffice.impl.LocalQueueBinding"

// DeleteQueue deletes a queue and its messages.
func (b *Broker) DeleteQueue(w *Work, name string, o DeleteQueueOptions) error {
	w.settle() // moves may create queues themselves
	b.admin.Lock()
	defer b.admin.Unlock()
	q := b.Queue(name)
	if q == nil {
		return &Error{Code: QueueDoesNotExist}
	}
	if err := b.deleteQueue(w, q, o); err != nil {
		return err
	}
	if a := q.address; o.AutoDeleteAddress && a.autoCreated && len(a.bindings) == 0 && (a.Settings().AutoDeleteAddressesDelay == 0 || a.temporary) {
		return b.deleteAddress(w, a)
	}
	return nil
}

// markDeleted marks a queue as deleted, unless something that o names is against it: no consumer or message can come in between.
// Called with admin and the registry lock held.
func (q *Queue) markDeleted(o DeleteQueueOptions) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if o.CheckConsumers && q.nCons > 0 {
		return errorf(IllegalState, "AMQ229025: Cannot delete queue %[1]s on binding %[1]s - it has consumers = %[2]s", q.cfg.Name, localQueueBinding)
	}
	q.deleted.Store(true) // who takes a token from now on routes again
	if !o.CheckMessages {
		return nil
	}
	n := int64(q.resident+q.delivering+q.scheduled.len()) + q.b.remaining(q)
	if q.incoming.Load() > 0 || q.cfg.AutoDeleteMessageCount >= 0 && n > q.cfg.AutoDeleteMessageCount {
		q.deleted.Store(false)
		return errorf(IllegalState, "queue %s has got messages", q.cfg.Name)
	}
	return nil
}

// deleteQueue takes the queue out of routing and drops all it has; messages on their way to it are dropped when they arrive.
// Called with admin held.
func (b *Broker) deleteQueue(w *Work, q *Queue, o DeleteQueueOptions) error {
	a := q.address
	b.mu.Lock()
	if err := q.markDeleted(o); err != nil {
		b.mu.Unlock()
		return err
	}
	delete(b.queues, q.cfg.Name)
	delete(b.queueIDs, q.ID)
	a.bindings = removeBinding(a.bindings, q)
	if len(a.bindings) == 0 {
		a.unboundAt = b.now()
	}
	b.changed()
	b.mu.Unlock()
	if len(a.bindings) == 0 {
		a.dups.clear(w)
	}
	// References that arrive from now on are dropped by the queue itself. The record goes after those in it.
	q.mu.Lock()
	var gone []*Consumer
	for _, l := range q.consumers {
		gone = append(gone, l.list...)
	}
	gone = append(gone, q.browsers...)
	for _, c := range gone {
		c.closed = true
		for c.given.n > 0 {
			r := c.given.popFront()
			if r.flags&refHeld != 0 {
				w.release(r.Msg)
				continue
			}
			q.delivering--
			q.deliveringSize -= r.Msg.PersistentSize()
			q.drop(w, r, reasonKilled)
		}
	}
	q.consumers, q.browsers, q.nCons = nil, nil, 0
	q.purge(w)
	rec := q.pauseRec
	q.scheduled.timer.Stop()
	q.mu.Unlock()
	w.settle()
	for _, c := range gone {
		c.Session.forgetConsumer(c)
		c.sink.QueueGone(c)
	}
	if q.cfg.Durable {
		if err := b.store.DeleteQueue(q.ID); err != nil {
			return err
		}
		if rec != 0 {
			if err := b.store.DeleteBinding(rec); err != nil {
				return err
			}
		}
	}
	b.notify("BINDING_REMOVED", Prop{"_AMQ_Address", a.name}, Prop{"_AMQ_ClusterName", q.cfg.Name + b.opts.NodeID}, Prop{"_AMQ_RoutingName", a.name},
		Prop{"_AMQ_Binding_ID", q.ID}, Prop{"_AMQ_Distance", int32(0)}, Prop{"_AMQ_FilterString", textOrNull(q.cfg.Filter)})
	return nil
}

// Pause stops delivery from a queue. persist keeps that over a restart.
func (b *Broker) Pause(q *Queue, persist bool) error {
	b.admin.Lock()
	defer b.admin.Unlock()
	q.mu.Lock()
	known := q.pauseRec
	q.paused = true
	q.mu.Unlock()
	if !persist || known != 0 || !q.cfg.Durable {
		return nil
	}
	rec, err := b.store.StorePause(PausedQueue, q.ID)
	if err != nil {
		return err
	}
	q.mu.Lock()
	q.pauseRec = rec
	q.mu.Unlock()
	return nil
}

// Resume starts delivery again.
func (b *Broker) Resume(w *Work, q *Queue) error {
	b.admin.Lock()
	defer b.admin.Unlock()
	q.mu.Lock()
	rec := q.pauseRec
	q.paused, q.pauseRec = false, 0
	q.deliver(w)
	q.mu.Unlock()
	if rec != 0 {
		return b.store.DeleteBinding(rec)
	}
	return nil
}

// PauseAddress pauses all queues of an address and those to come.
func (b *Broker) PauseAddress(a *Address, persist bool) error {
	b.admin.Lock()
	defer b.admin.Unlock()
	a.paused.Store(true)
	if !persist || a.pauseRec != 0 || !a.stored {
		return nil
	}
	rec, err := b.store.StorePause(PausedAddress, a.id)
	a.pauseRec = rec
	return err
}

// ResumeAddress ends PauseAddress.
func (b *Broker) ResumeAddress(w *Work, a *Address) error {
	b.admin.Lock()
	defer b.admin.Unlock()
	a.paused.Store(false)
	rec := a.pauseRec
	a.pauseRec = 0
	for _, q := range b.queuesOf(a) {
		q.mu.Lock()
		q.deliver(w)
		q.mu.Unlock()
	}
	if rec != 0 {
		return b.store.DeleteBinding(rec)
	}
	return nil
}

// CreateDivert adds a divert. stored: it comes from the store or is to be stored by the caller.
func (b *Broker) CreateDivert(cfg DivertConfig, persist bool) error {
	b.admin.Lock()
	defer b.admin.Unlock()
	return b.createDivert(cfg, persist)
}

func (b *Broker) createDivert(cfg DivertConfig, persist bool) error {
	f, err := b.parseFilter(cfg.Filter)
	if err != nil {
		return err
	}
	if cfg.RoutingName == "" {
		cfg.RoutingName = cfg.Name
	}
	b.mu.RLock()
	_, known := b.diverts[cfg.Name]
	b.mu.RUnlock()
	if known {
		return errorf(IllegalState, "AMQ229235: Incompatible binding with name %[1]s already exists: %[1]s", cfg.Name)
	}
	if persist {
		if err := b.configs.StoreConfig(StoredConfig{Kind: DivertConfigKind, Key: cfg.Name, Divert: cfg}); err != nil {
			return err
		}
	}
	a := b.Address(cfg.Address)
	if a == nil {
		if a, err = b.createAddress(cfg.Address, MulticastSet|AnycastSet, true, false); err != nil {
			return err
		}
	}
	d := &Divert{b: b, cfg: cfg, filter: f, stored: persist}
	b.mu.Lock()
	b.diverts[cfg.Name] = d
	a.bindings = append(a.bindings[:len(a.bindings):len(a.bindings)], d)
	b.changed()
	b.mu.Unlock()
	props := []Prop{{"_AMQ_Binding_Type", int32(2)}, {"_AMQ_Address", a.name}, {"_AMQ_ClusterName", cfg.Name}, {"_AMQ_RoutingName", cfg.RoutingName},
		{"_AMQ_Binding_ID", b.store.NextID()}, {"_AMQ_Distance", int32(0)}}
	if cfg.Filter != "" {
		props = append(props, Prop{"_AMQ_FilterString", cfg.Filter})
	}
	b.notify("BINDING_ADDED", props...)
	return nil
}

// DeleteDivert removes a divert.
func (b *Broker) DeleteDivert(name string) error {
	b.admin.Lock()
	defer b.admin.Unlock()
	return b.deleteDivert(name)
}

func (b *Broker) deleteDivert(name string) error {
	b.mu.Lock()
	d := b.diverts[name]
	if d == nil {
		b.mu.Unlock()
		return errorf(DivertDoesNotExist, "AMQ229231: Divert Does Not Exist: %s", name)
	}
	delete(b.diverts, name)
	if a := b.addresses[d.cfg.Address]; a != nil {
		a.bindings = removeBinding(a.bindings, d)
	}
	b.changed()
	b.mu.Unlock()
	return b.configs.DeleteConfig(DivertConfigKind, name)
}

// Diverts returns all diverts by name.
func (b *Broker) Diverts() []*Divert {
	b.mu.RLock()
	defer b.mu.RUnlock()
	out := make([]*Divert, 0, len(b.diverts))
	for _, d := range b.diverts {
		out = append(out, d)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].cfg.Name < out[j].cfg.Name })
	return out
}
