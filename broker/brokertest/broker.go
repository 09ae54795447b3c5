package brokertest

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/message"
)

// Deadline is how long helpers wait for something that should happen.
const Deadline = 10 * time.Second

// Epoch is where a Clock starts, in ms since 1970.
const Epoch = int64(1_700_000_000_000)

// A Clock is a clock that tests set.
type Clock struct{ now atomic.Int64 }

// Now is the time in ms since 1970.
func (c *Clock) Now() int64 { return c.now.Load() }

// Settings are the address settings of a test.
type Settings struct {
	mu   sync.Mutex
	repo *config.Repository[*config.AddressSetting]
}

// Set sets what a match has: keys as in management ("maxDeliveryAttempts"). Other keys of the match stay.
func (s *Settings) Set(match, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &config.AddressSetting{Match: match}
	if old, ok := s.repo.Get(match); ok {
		c := *old
		a = &c
	}
	if err := json.Unmarshal([]byte(text), a); err != nil {
		return err
	}
	return s.repo.Set(match, a)
}

// Remove removes a match.
func (s *Settings) Remove(match string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repo.Remove(match)
}

// For returns the merged settings of an address.
func (s *Settings) For(address string) config.AddressSettings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return config.MergeSettings(s.repo.Find(config.SettingsAddress(address)), 20000)
}

// A Broker is a broker under test with what it works on.
type Broker struct {
	*broker.Broker
	T        testing.TB
	Store    *Store
	Clock    *Clock
	Settings *Settings

	configure func(*broker.Options)
	mu        sync.Mutex
	clients   []*Client
	seq       int
}

func (b *Broker) next() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seq++
	return b.seq
}

// New starts a broker: settings "#" with dead-letter address DLQ and expiry address ExpiryQueue, both of which exist as
// anycast queues; no scans; a clock that stands still until Advance. configure, unless nil, changes the options. At the
// end of the test the broker is stopped and its accounts are checked to be zero.
func New(t testing.TB, configure func(*broker.Options)) *Broker {
	t.Helper()
	b := &Broker{T: t, Store: NewStore(), Clock: &Clock{}, configure: configure,
		Settings: &Settings{repo: config.NewRepository[*config.AddressSetting](config.DefaultWildcards(), "")}}
	b.Clock.now.Store(Epoch)
	if err := b.Settings.Set("#", `{"deadLetterAddress":"DLQ","expiryAddress":"ExpiryQueue"}`); err != nil {
		t.Fatal(err)
	}
	b.start()
	t.Cleanup(b.stop)
	return b
}

func (b *Broker) start() {
	b.T.Helper()
	o := broker.Options{
		Store: b.Store, Clock: b.Clock.Now, NodeID: "11111111-2222-3333-4444-555555555555", Name: "test",
		Settings: b.Settings.For, Wildcards: config.DefaultWildcards(),
		InternalNamingPrefix: "$.artemis.internal.", ManagementAddress: "activemq.management", ManagementNotificationAddress: "activemq.notifications",
		GlobalMaxBytes: -1, GlobalMaxMessages: -1, MaxRedeliveryRecords: 10, PersistIDCache: true, TransactionTimeout: 300000,
	}
	if b.configure != nil {
		b.configure(&o)
	}
	b.Broker = broker.New(o)
	if err := b.Load(); err != nil {
		b.T.Fatalf("load: %v", err)
	}
	for _, name := range []string{"DLQ", "ExpiryQueue"} {
		b.CreateAnycast(name)
	}
	b.Start()
}

// CreateAnycast creates a durable anycast queue on an address of its own name, if it is not there.
func (b *Broker) CreateAnycast(name string) *broker.Queue {
	b.T.Helper()
	cfg := b.DefaultQueue(name, name)
	cfg.Routing = message.Anycast
	q, err := b.CreateQueue(cfg, broker.CreateOptions{AutoCreateAddress: true, IgnoreExisting: true})
	if err != nil {
		b.T.Fatalf("create queue %s: %v", name, err)
	}
	return q
}

// Restart stops the broker and starts another on the same store.
func (b *Broker) Restart() {
	b.T.Helper()
	b.stop()
	b.Store.Reopen()
	b.start()
}

func (b *Broker) stop() {
	b.T.Helper()
	for _, c := range b.clients {
		c.Disconnect(false)
	}
	b.clients = nil
	if err := b.Stop(); err != nil {
		b.T.Errorf("stop: %v", err)
	}
	if b.Store.Failed() {
		return // what was waiting for the store is never let go
	}
	if n := b.Pool().Live(); n != 0 {
		b.T.Errorf("%d messages are still held after the broker stopped", n)
	}
	if n := b.Store.HeldBodies(); n != 0 {
		b.T.Errorf("%d bodies of large messages are still held after the broker stopped", n)
	}
	if n, size := b.Total().Messages(), b.Total().Bytes(); n != 0 || size != 0 {
		b.T.Errorf("the accounts hold %d messages and %d bytes after the broker stopped", n, size)
	}
}

// Advance lets time pass and runs what is due.
func (b *Broker) Advance(ms int64) {
	b.Clock.now.Add(ms)
	b.Wheel().Advance()
}

// Until waits until ok returns true.
func (b *Broker) Until(what string, ok func() bool) {
	b.T.Helper()
	Until(b.T, what, ok)
}

// Until waits until ok returns true, and fails the test after Deadline.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for end := time.Now().Add(Deadline); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// Find returns the settings that apply to an address, the most specific first.
func (s *Settings) Find(address string) []*config.AddressSetting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.repo.Find(config.SettingsAddress(address))
}

// Put sets everything that a match has.
func (s *Settings) Put(match string, a *config.AddressSetting) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.repo.Set(match, a)
}
