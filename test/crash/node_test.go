package crash

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/fs"
)

// A node is the engine on the real store, in this process, on whatever file system a test wants.
type node struct {
	*brokertest.Broker
	store *journal.Store
	clock *brokertest.Clock

	mu     sync.Mutex
	failed error
	times  int // how often the failure was reported
}

// smallFiles are the options of a store whose files roll, are reused and compacted after a few dozen messages.
func smallFiles(fsys fs.FS) journal.StoreOptions {
	return journal.StoreOptions{FS: fsys, Bindings: "/data/bindings", Journal: "/data/journal", Paging: "/data/paging", Large: "/data/large-messages",
		FileSize: 4096, MinFiles: 2, PoolFiles: 6, CompactMinFiles: 3, CompactPercentage: 50, BufferSize: 4000, MaxAttic: 10,
		SyncTransactional: true, SyncNonTransactional: true}
}

// settings of all nodes, by match.
var settings = map[string]string{
	"#":      `{"deadLetterAddress":"DLQ","expiryAddress":"ExpiryQueue","maxDeliveryAttempts":-1}`,
	"dead.#": `{"maxDeliveryAttempts":1}`,
}

// openNode loads the store and starts a broker on it; time stands still until Advance.
func openNode(t *testing.T, o journal.StoreOptions, now int64) (*node, error) {
	t.Helper()
	n := &node{store: journal.NewStore(o), clock: &brokertest.Clock{}}
	repo := config.NewRepository[*config.AddressSetting](config.DefaultWildcards(), "")
	for match, text := range settings {
		s := &config.AddressSetting{Match: match}
		if err := json.Unmarshal([]byte(text), s); err != nil {
			t.Fatal(err)
		}
		if err := repo.Set(match, s); err != nil {
			t.Fatal(err)
		}
	}
	n.Broker = &brokertest.Broker{T: t, Clock: n.clock, Broker: broker.New(broker.Options{
		Store: n.store, Clock: n.clock.Now, NodeID: "11111111-2222-3333-4444-555555555555", Name: "crash",
		Settings: func(address string) config.AddressSettings {
			return config.MergeSettings(repo.Find(config.SettingsAddress(address)), 20000)
		},
		Wildcards: config.DefaultWildcards(), ManagementAddress: "activemq.management", ManagementNotificationAddress: "activemq.notifications",
		GlobalMaxBytes: -1, GlobalMaxMessages: -1, MaxRedeliveryRecords: 10, PersistIDCache: true, TransactionTimeout: 300_000, ExpiryScanPeriod: 1000,
		OnFailure: func(err error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.failed = err
			n.times++
		},
	})}
	n.Advance(now)
	if err := n.Load(); err != nil {
		n.store.Close()
		return nil, fmt.Errorf("load: %w", err)
	}
	n.Start()
	return n, nil
}

// failure is what the store has reported, nil while it works.
func (n *node) failure() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.failed
}

// stop ends the broker and returns what closing the store said.
func (n *node) stop() error { return n.Stop() }

// stopClean ends a broker whose store works and checks that every account is zero.
func (n *node) stopClean() {
	n.T.Helper()
	if err := n.Stop(); err != nil {
		n.T.Errorf("stop: %v", err)
	}
	if live := n.Pool().Live(); live != 0 {
		n.T.Errorf("%d messages are held after the broker stopped", live)
	}
	if m, size := n.Total().Messages(), n.Total().Bytes(); m != 0 || size != 0 {
		n.T.Errorf("the accounts hold %d messages and %d bytes after the broker stopped", m, size)
	}
}

// An actor is a client that writes down what it does. After a failure of the store it goes on, and gets no answers.
type actor struct {
	*brokertest.Client
	n    *node
	h    *History
	last int64
}

func (n *node) actor(h *History, o broker.SessionOptions) *actor {
	n.T.Helper()
	return &actor{Client: n.Connect(o), n: n, h: h, last: 1 << 40}
}

// ask makes a request and waits for its answer or the store's failure. answered tells which.
func (a *actor) ask(request func(w *broker.Work, answer broker.Answer)) (answered bool, err error) {
	a.n.T.Helper()
	a.last++
	id := a.last
	a.Act(func(w *broker.Work) { request(w, broker.Answer{Kind: 1, ID: id}) })
	brokertest.Until(a.n.T, "an answer or a failure", func() bool {
		for _, x := range a.Answers() {
			if x.ID == id {
				answered, err = true, x.Err
			}
		}
		return answered || a.n.failure() != nil
	})
	return answered, err
}

// outcome asks and writes the unit down: may while there is no answer, Applied with a good one. With a refusal it is as
// before: a branch that is prepared in doubt, anything else undone.
func (a *actor) outcome(u *Unit, may States, request func(w *broker.Work, answer broker.Answer)) error {
	a.n.T.Helper()
	a.h.Set(u, may)
	answered, err := a.ask(request)
	switch {
	case answered && err == nil:
		a.h.Set(u, Applied)
	case answered && may&InDoubt != 0:
		a.h.Set(u, InDoubt)
	case answered:
		a.h.Set(u, Undone)
	}
	return err
}

func (a *actor) build(m *message.Builder) *message.Message {
	a.n.T.Helper()
	built, err := a.n.Pool().Build(m)
	if err != nil {
		a.n.T.Fatalf("build message: %v", err)
	}
	return built
}

func (a *actor) post(m *message.Message) func(w *broker.Work, answer broker.Answer) {
	return func(w *broker.Work, answer broker.Answer) {
		if err := a.Session.Send(w, m, broker.SendOptions{Answer: answer, Routing: message.Unspecified}); err != nil {
			a.n.T.Errorf("send: %v", err)
		}
	}
}

// send sends a durable message whose text is its id.
func (a *actor) send(address, id string, queues []string, change func(*message.Builder)) error {
	a.n.T.Helper()
	m := brokertest.Text(address, id, message.Unspecified)
	if change != nil {
		change(m)
	}
	u := &Unit{Name: "send " + id, Sends: Address{Queues: queues}.copies(id)}
	a.h.Begin(u)
	return a.outcome(u, Applied|Undone, a.post(a.build(m)))
}

// sendLarge sends a message with a body in a file. The error is that of the body or of the send.
func (a *actor) sendLarge(queue, id string, size int) error {
	a.n.T.Helper()
	m := brokertest.Text(queue, id, message.Unspecified)
	m.Set(idProperty, id)
	m.Type, m.Body = message.Bytes, nil
	mid, w, err := a.BeginLarge(true)
	if err != nil {
		return err
	}
	if _, err := w.Write(largeBody(id, size)); err != nil {
		a.AbortLarge()
		return err
	}
	file, err := w.Complete()
	if err != nil {
		a.AbortLarge()
		return err
	}
	a.EndLarge()
	m.SetLarge(file)
	built := a.build(m)
	built.SetID(mid)
	u := &Unit{Name: "send large " + id, Sends: []Copy{{queue, id}}}
	a.h.Begin(u)
	return a.outcome(u, Applied|Undone, func(work *broker.Work, answer broker.Answer) {
		if err := a.Session.Send(work, built, broker.SendOptions{Answer: answer, Routing: message.Unspecified, Body: w}); err != nil {
			a.n.T.Errorf("send large: %v", err)
		}
	})
}

func largeBody(id string, size int) []byte {
	var b []byte
	for len(b) < size {
		b = append(b, id...)
	}
	return b[:size]
}

// receive attaches a consumer that gets n messages if there are so many; they are delivered when it returns.
func (a *actor) receive(queue string, n int64) (*brokertest.Sink, []brokertest.Delivery) {
	a.n.T.Helper()
	k, err := a.Consume(broker.ConsumerOptions{Queue: queue}, 0)
	if err != nil {
		return nil, nil
	}
	settled := make(chan struct{})
	a.Act(func(w *broker.Work) {
		k.Grant(w, n)
		k.Settled(w, func(*broker.Work) { close(settled) })
	})
	<-settled
	got := k.Got()
	for _, d := range got {
		a.h.Delivered(Copy{queue, nameOf(d)})
	}
	return k, got
}

func nameOf(d brokertest.Delivery) string {
	if id, ok := d.Props[idProperty].(string); ok {
		return id
	}
	return d.Text
}

// ack acknowledges everything up to the last of got.
func (a *actor) ack(k *brokertest.Sink, queue string, got []brokertest.Delivery) error {
	u := &Unit{Name: "ack"}
	for _, d := range got {
		u.Acks = append(u.Acks, Copy{queue, nameOf(d)})
	}
	a.h.Begin(u)
	err := a.outcome(u, Applied|Undone, func(w *broker.Work, answer broker.Answer) {
		a.Acknowledge(w, k.ID, got[len(got)-1].ID, true, answer)
	})
	if err != nil { // an acknowledgement that could not be stored is seen again after a restart, or not
		a.h.Set(u, Applied|Undone)
	}
	return err
}

func (a *actor) leave(k *brokertest.Sink) {
	a.Act(func(w *broker.Work) { a.CloseConsumer(w, k.ID) })
}

// Names of pretended queues in which the ledger keeps what is not a message.
const (
	theQueues = "(queues)"
	thePaused = "(paused queues)"
)

// sync does something that is stored when it and everything appended before is; the store may fail in the middle.
func (n *node) sync(do func() error) error {
	n.T.Helper()
	done := make(chan error, 1)
	go func() {
		err := do()
		if err == nil {
			err = n.Sync()
		}
		done <- err
	}()
	var err error
	brokertest.Until(n.T, "the end of an operation or a failure", func() bool {
		select {
		case err = <-done:
			return true
		default:
			err = n.failure()
			return err != nil
		}
	})
	return err
}

// createQueue creates a durable queue, or a subscription when the address is not its own.
func (n *node) createQueue(h *History, address, name string, routing message.RoutingType) error {
	n.T.Helper()
	u := &Unit{Name: "create " + name, Sends: []Copy{{theQueues, name}}, May: Applied | Undone}
	h.Begin(u)
	cfg := n.DefaultQueue(address, name)
	cfg.Routing = routing
	err := n.sync(func() error {
		_, err := n.CreateQueue(cfg, broker.CreateOptions{AutoCreateAddress: true})
		return err
	})
	if err == nil {
		h.Set(u, Applied)
	}
	return err
}

// observe lists everything the broker holds.
func (n *node) observe() (after map[Copy]int, inDoubt []string) {
	n.T.Helper()
	after = map[Copy]int{}
	for _, q := range n.Queues() {
		if q.Name() == "DLQ" || q.Name() == "ExpiryQueue" || q.Config().Durable {
			after[Copy{theQueues, q.Name()}]++
		}
		if q.PersistedPause() {
			after[Copy{thePaused, q.Name()}]++
		}
		see := func(m *message.Message) {
			id, _ := m.TextBody()
			if body := m.Large(); body != nil {
				id, _ = m.Property(idProperty).Text()
				b := make([]byte, body.Size())
				if _, err := body.ReadAt(b, 0); err != nil || string(b) != string(largeBody(id, len(b))) || len(b) == 0 {
					n.T.Errorf("large message %s: %d bytes, %v: not the body that was sent", id, len(b), err)
				}
			}
			after[Copy{q.Name(), id}]++
		}
		if err := q.Browse("", func(m *message.Message, _ int32) bool { see(m); return true }); err != nil {
			n.T.Errorf("browse %s: %v", q.Name(), err)
		}
		if err := q.BrowseScheduled("", func(m *message.Message, _ int32, at int64) bool { see(m); return true }); err != nil {
			n.T.Errorf("browse %s: %v", q.Name(), err)
		}
	}
	for _, x := range n.XAInDoubt() {
		inDoubt = append(inDoubt, x.Global)
	}
	slices.Sort(inDoubt)
	return after, inDoubt
}

// judge compares what the broker holds with what was done in its life before.
func (n *node) judge(r *Round) bool {
	n.T.Helper()
	r.After, r.Branches = n.observe()
	found := r.Check()
	for _, v := range found {
		n.T.Error(v)
	}
	return len(found) == 0
}
