// Package broker is the engine: addresses, queues, routing, consumers, sessions, transactions, expiry and redelivery. It
// knows no socket and no file format: messages come in through Session, go out through Sink, and are kept by a Store.
//
// # The way of a message
//
// Session.Send routes the message (route, immutable and cached), takes a token of each queue, and appends the operations
// of a durable message to the Store. When they are stored, on the store's goroutine, the reference is added to the queues
// and the answer leaves; a non-durable message skips only the store. Queue.add delivers in place, into the consumers'
// sinks, or keeps the reference. Acknowledging adds operations to the caller's Work and releases the message.
//
// # Locks
//
// In this order: admin, registry (Broker.mu), Session.mu, Queue.mu, then the sinks' and outputs' own. The store's lock is
// a leaf that is taken with none of Queue.mu or a sink's held: what has to be appended is collected in a Work. admin
// serialises changes of what exists and is the only one held while the disk is waited for; no message waits for it.
package broker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/broker/timers"
)

// Options configure a Broker. Store, Settings and Log are required.
type Options struct {
	Store  Store
	Log    hclog.Logger
	Clock  timers.Clock // default timers.System
	NodeID string
	Name   string

	// Settings returns the merged address settings of an address; it is called again for all addresses by
	// Broker.SettingsChanged.
	Settings  func(address string) config.AddressSettings
	Wildcards config.Wildcards
	Access    *security.Permissions // nil: everything is allowed
	Notify    func(Notification)
	// Manage handles a message sent to the management address; it may take long.
	Manage    func(s *Session, m *message.Message)
	OnFailure func(error) // the store failed: stop
	Limits    func(user string) Limits
	Live      func() bool // is this node still the live one? asked when an answer leaves; nil: always

	InternalNamingPrefix          string // of the names that the broker gives itself
	ManagementAddress             string
	ManagementNotificationAddress string
	TemporaryQueueNamespace       string
	GlobalMaxBytes                int64 // -1: no limit
	GlobalMaxMessages             int64 // -1: no limit
	MaxRedeliveryRecords          int   // -1: no limit
	PersistDeliveryCountFirst     bool
	PersistIDCache                bool
	TransactionTimeout            int64 // ms
	TransactionScanPeriod         int64 // ms
	ExpiryScanPeriod              int64 // ms, <= 0: off
	AddressScanPeriod             int64 // ms, <= 0: off
	PopulateValidatedUser         bool
	RejectEmptyValidatedUser      bool
}

// Broker is the engine of one node.
type Broker struct {
	opts      Options
	store     Store
	log       hclog.Logger
	pool      message.Pool
	wheel     *timers.Wheel
	wildcards config.Wildcards
	backings  []Backing
	storeWork *Work // of the store's goroutine
	movers    movers
	owed      owed

	maxRedeliveryRecords int
	persistCountFirst    bool

	admin sync.Mutex // one change of what exists at a time

	mu            sync.RWMutex // guards the registry below
	addresses     map[string]*Address
	wildAddresses []*Address
	queues        map[string]*Queue
	queueIDs      map[int64]*Queue
	diverts       map[string]*Divert
	connections   map[string]*Connection
	awaited       map[*Connection]bool // have not ended; Stop waits for them
	sessions      map[string]*Session
	xas           map[Xid]*Tx
	heuristics    map[Xid]heuristic

	epoch  atomic.Uint64 // grows with every change of bindings
	routes sync.Map      // name -> *route

	total                             Account
	diskFull                          atomic.Bool
	shrunk                            chan struct{}
	warned                            sync.Map
	consumerSeq                       atomic.Int64
	producerSeq                       atomic.Int64
	openedConnections, openedSessions atomic.Int64
	started                           atomic.Bool
	stopping                          atomic.Bool
	failed                            atomic.Pointer[error]
	background                        sync.WaitGroup
	syncing                           sync.WaitGroup // of bodies
	ctx                               context.Context
	cancel                            context.CancelFunc
	startTime                         int64
	configs                           configStore
}

// New makes a broker. Load and Start follow.
func New(o Options) *Broker {
	if o.Clock == nil {
		o.Clock = timers.System
	}
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	b := &Broker{
		opts: o, store: o.Store, log: o.Log, wheel: timers.New(o.Clock), wildcards: o.Wildcards,
		backings:             []Backing{fromJournal: journalBacking{}, fromMemory: memoryBacking{}},
		maxRedeliveryRecords: o.MaxRedeliveryRecords, persistCountFirst: o.PersistDeliveryCountFirst,
		addresses: map[string]*Address{}, queues: map[string]*Queue{}, queueIDs: map[int64]*Queue{}, diverts: map[string]*Divert{},
		connections: map[string]*Connection{}, awaited: map[*Connection]bool{}, sessions: map[string]*Session{}, xas: map[Xid]*Tx{}, heuristics: map[Xid]heuristic{},
		shrunk: make(chan struct{}, 1),
	}
	b.configs.Store = o.Store
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.storeWork = &Work{b: b, stored: true}
	b.movers.b = b
	b.owed.b = b
	b.total.shrunk = b.pokeGranter
	b.pool.OnBreach = func(err error) {
		b.log.Error("a message was released twice; memory is not recycled any more, restart the broker when convenient and report this", "error", err)
	}
	return b
}

// Pool is where messages of this broker live.
func (b *Broker) Pool() *message.Pool { return &b.pool }

// Wheel runs timers.
func (b *Broker) Wheel() *timers.Wheel { return b.wheel }

// Options returns the options the broker was made with.
func (b *Broker) Options() *Options { return &b.opts }

// Store returns the broker's store.
func (b *Broker) Store() Store { return &b.configs }

// Log is the broker's logger.
func (b *Broker) Log() hclog.Logger { return b.log }

func (b *Broker) now() int64 { return b.wheel.Now() }

// Load reads the store. What the configuration deploys comes after it, before Start.
func (b *Broker) Load() error {
	if err := b.store.Load(&b.pool, (*recovery)(b)); err != nil {
		return err
	}
	b.store.Start(b)
	w := b.NewWork()
	w.ops, b.storeWork.ops = b.storeWork.ops, nil // what the load found to be deleted
	w.released, b.storeWork.released = b.storeWork.released, nil
	w.Flush()
	b.restoreRetroactive()
	return nil
}

// Start begins to serve: deliveries to come, scans, timeouts.
func (b *Broker) Start() {
	b.startTime = b.now()
	b.reap(true)
	b.createNotificationAddress()
	b.wheel.Start()
	b.goroutine(b.granter)
	b.started.Store(true)
	b.repeat(b.opts.ExpiryScanPeriod, b.scanExpired)
	b.repeat(b.opts.AddressScanPeriod, func() { b.reap(false) })
	b.repeat(b.opts.TransactionScanPeriod, b.scanTransactions)
	b.repeat(1000, b.scanSlowConsumers)
}

// createNotificationAddress makes the address of notifications be there, for those who may not create addresses.
func (b *Broker) createNotificationAddress() {
	name := b.opts.ManagementNotificationAddress
	if name == "" || b.Address(name) != nil {
		return
	}
	if _, err := b.CreateAddress(name, MulticastSet, false); err != nil {
		b.log.Warn("AMQ222270: Unable to create management notification address", "address", name, "error", err)
	}
}

// Started tells whether clients are served.
func (b *Broker) Started() bool { return b.started.Load() && !b.stopping.Load() }

// Uptime is the time since Start in ms.
func (b *Broker) Uptime() int64 { return b.now() - b.startTime }

// repeat runs f every period ms until Stop; f gets a goroutine of its own and is never run twice at once.
func (b *Broker) repeat(period int64, f func()) {
	if period <= 0 {
		return
	}
	var again func()
	again = func() {
		b.executor(func() {
			f()
			if !b.stopping.Load() {
				b.wheel.After(period, again)
			}
		})
	}
	b.wheel.After(period, again)
}

// Go runs f on a goroutine that Stop waits for. Only what Stop waits for may call it: a connection before its end, or such
// a goroutine.
func (b *Broker) Go(f func()) { b.goroutine(f) }

// goroutine runs f on a goroutine that Stop waits for.
func (b *Broker) goroutine(f func()) { b.background.Go(f) }

// executor runs f on a goroutine unless the broker is stopping.
func (b *Broker) executor(f func()) {
	if !b.stopping.Load() {
		b.goroutine(f)
	}
}

// Stop ends the broker: sessions are closed in good order, what is in the store's buffer is written, and all memory is
// given up. Connections that are awaited are closed, if they have not been before, and waited for: nobody uses the store
// after it.
func (b *Broker) Stop() error {
	if !b.stopping.CompareAndSwap(false, true) {
		return nil
	}
	b.endConnections()
	b.mu.RLock()
	var open []*Session
	for _, s := range b.sessions {
		open = append(open, s)
	}
	b.mu.RUnlock()
	for _, s := range open {
		s.Close(b.NewWork(), false)
	}
	b.syncing.Wait()
	b.cancel()
	b.wheel.Close()
	b.background.Wait()
	b.owed.pay()
	err := b.store.Close()
	b.drain()
	return err
}

// connectionEnd is how long Stop waits for the end of connections that it has closed.
const connectionEnd = 30 * time.Second

// endConnections closes the connections that are awaited and waits for their end.
func (b *Broker) endConnections() {
	b.mu.RLock()
	left := slices.Collect(maps.Keys(b.awaited))
	b.mu.RUnlock()
	for _, c := range left {
		c.Close("the broker stops")
	}
	late := time.NewTimer(connectionEnd)
	defer late.Stop()
	for _, c := range left {
		select {
		case <-c.over:
		case <-late.C:
			b.log.Error("a connection does not end and is left behind: the broker stops without it", "connection", c.ID, "remote", c.Remote)
			return
		}
	}
}

// drain lets go of every message still held, so that the accounts can be checked to be zero.
func (b *Broker) drain() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.queues {
		q.mu.Lock()
		for p := q.top(); p >= 0; p = q.top() {
			r := q.levels[p].popFront(true)
			q.resident--
			r.Msg.Release()
		}
		for _, r := range q.takeScheduled(func(*scheduledRef) bool { return true }) {
			r.Msg.Release()
		}
		q.mu.Unlock()
	}
	for _, tx := range b.xas {
		tx.forget()
	}
}

// Done is closed when the broker stops.
func (b *Broker) Done() <-chan struct{} { return b.ctx.Done() }

// Total is the account over all addresses.
func (b *Broker) Total() *Account { return &b.total }

// BatchEnd implements Hooks.
func (b *Broker) BatchEnd() {
	b.storeWork.Flush()
	b.storeWork.Now = 0
}

// onStore returns the work of the store's goroutine; the first use after a batch begins the next.
func (b *Broker) onStore() *Work {
	if b.storeWork.Now == 0 {
		b.storeWork.Begin()
	}
	return b.storeWork
}

// Fatal implements Hooks.
func (b *Broker) Fatal(err error) {
	if !b.failed.CompareAndSwap(nil, &err) {
		return
	}
	b.log.Error("the journal cannot be written: nothing is acknowledged any more and the broker stops", "error", err)
	b.cancel() // nobody waits for the store any more
	if b.opts.OnFailure != nil {
		b.opts.OnFailure(err)
	}
}

// Live tells whether this node may still answer. It is asked when everything that the answer says has become true.
func (b *Broker) Live() bool {
	return b.failed.Load() == nil && (b.opts.Live == nil || b.opts.Live())
}

// warnOnce logs a warning the first time for a kind and subject.
func (b *Broker) warnOnce(kind, subject, text string, args ...any) {
	if _, seen := b.warned.LoadOrStore(kind+"\x00"+subject, true); !seen {
		b.log.Warn(text, args...)
	}
}

// SettingsFor returns the settings in force for an address that may not exist.
func (b *Broker) SettingsFor(name string) *config.AddressSettings {
	name = bareAddress(name)
	b.mu.RLock()
	a := b.addresses[name]
	b.mu.RUnlock()
	if a != nil {
		return a.Settings()
	}
	s := b.opts.Settings(name)
	return &s
}

// SettingsChanged reads the settings of all addresses again.
func (b *Broker) SettingsChanged() {
	b.mu.RLock()
	list := make([]*Address, 0, len(b.addresses))
	for _, a := range b.addresses {
		list = append(list, a)
	}
	b.mu.RUnlock()
	for _, a := range list {
		s := b.opts.Settings(b.settingsName(a))
		a.settings.Store(&s)
	}
	b.resizeRetroactive()
	b.pokeGranter()
}

func (b *Broker) settingsName(a *Address) string {
	if a.temporary && b.opts.TemporaryQueueNamespace != "" {
		return b.opts.TemporaryQueueNamespace + b.wildcards.Delimiter + a.name
	}
	return a.name
}

// changed marks all cached routes as out of date.
func (b *Broker) changed() { b.epoch.Add(1) }

func (b *Broker) String() string { return fmt.Sprintf("broker %s", b.opts.Name) }

// Notification is something that happened, for the notification address and management.
type Notification struct {
	Type  string
	Props []Prop
}

// Prop is one property of a notification.
type Prop struct {
	Name  string
	Value any
}

// textOrNull is a text as a property that is null when there is none.
func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (b *Broker) notify(kind string, props ...Prop) {
	if b.opts.Notify != nil {
		b.opts.Notify(Notification{kind, props})
	}
}
