package broker

import (
	"strings"

	"github.com/saranga-mq/saranga/broker/message"
)

// A retroactive address keeps its last messages for the queues that will be created on it (queue-semantics §14). For an
// address X whose retroactive-message-count is above zero when it is created there are, with the internal naming prefix
// and the delimiter of wildcards at their defaults:
//
//	$.artemis.internal.X.divert.retro           a divert on X, not exclusive, that keeps the routing type
//	$.artemis.internal.X.address.retro          the address it leads to
//	$.artemis.internal.X.queue.multicast.retro  a ring queue there, as long as the count, that nobody may consume from
//	$.artemis.internal.X.queue.anycast.retro    another
//
// They are stored like all others, under the names that Artemis gives them, so that either broker finds them in the files
// of the other. A change of the count changes the length of the rings; one of an address that has none does nothing.
const retroactiveSuffix = "retro"

// RetroactiveResource tells whether an address, queue or divert of that name keeps messages for a retroactive address.
func (b *Broker) RetroactiveResource(name string) bool {
	return strings.HasPrefix(name, b.opts.InternalNamingPrefix) && strings.HasSuffix(name, retroactiveSuffix)
}

// Retroactive tells whether the divert is what makes its address retroactive.
func (d *Divert) Retroactive() bool { return d.b.RetroactiveResource(d.cfg.Name) }

func (b *Broker) retroactiveName(address string, kind ...string) string {
	words := append(append([]string{address}, kind...), retroactiveSuffix)
	return b.opts.InternalNamingPrefix + strings.Join(words, b.wildcards.Delimiter)
}

func (b *Broker) retroactiveRing(address string, t message.RoutingType) string {
	return b.retroactiveName(address, "queue", strings.ToLower(t.String()))
}

func (b *Broker) retroactiveDivert(a *Address) DivertConfig {
	name := b.retroactiveName(a.name, "divert")
	return DivertConfig{Name: name, RoutingName: name, Address: a.name, ForwardAddress: b.retroactiveName(a.name, "address"), RoutingType: DivertPass}
}

// makeRetroactive creates what a new address needs to be retroactive, if it is to be. A temporary address is not: the divert
// would keep it from going with its queue. Called with admin held.
func (b *Broker) makeRetroactive(a *Address) error {
	count := a.Settings().RetroactiveMessageCount
	if count <= 0 || a.internal || a.temporary || b.RetroactiveResource(a.name) {
		return nil
	}
	d := b.retroactiveDivert(a)
	if b.Address(d.ForwardAddress) == nil {
		if _, err := b.createAddress(d.ForwardAddress, MulticastSet|AnycastSet, false, false); err != nil {
			return err
		}
	}
	for _, t := range []message.RoutingType{message.Multicast, message.Anycast} {
		cfg := b.DefaultQueue(d.ForwardAddress, b.retroactiveRing(a.name, t))
		cfg.Routing, cfg.MaxConsumers, cfg.RingSize = t, 0, count
		cfg.AutoDelete = b.SettingsFor(d.ForwardAddress).AutoDeleteCreatedQueues
		if _, err := b.createQueue(cfg, CreateOptions{IgnoreExisting: true}); err != nil {
			return err
		}
	}
	b.mu.RLock()
	known := b.diverts[d.Name] != nil
	b.mu.RUnlock()
	if known {
		return nil
	}
	return b.createDivert(d, true)
}

// restoreRetroactive puts the diverts back that an older Artemis has not stored.
func (b *Broker) restoreRetroactive() {
	for _, a := range b.Addresses() {
		if a.internal || a.Settings().RetroactiveMessageCount <= 0 || b.RetroactiveResource(a.name) {
			continue
		}
		if d := b.retroactiveDivert(a); b.Address(d.ForwardAddress) != nil {
			if _, err := b.RestoreDivert(d); err != nil {
				b.log.Error("cannot restore the divert of a retroactive address", "address", a.name, "error", err)
			}
		}
	}
}

// removeRetroactive deletes what an address that is no more needed to be retroactive. Called with admin held.
func (b *Broker) removeRetroactive(w *Work, a *Address) error {
	d := b.retroactiveDivert(a)
	b.mu.RLock()
	known, kept := b.diverts[d.Name] != nil, b.addresses[d.ForwardAddress]
	b.mu.RUnlock()
	if known {
		if err := b.deleteDivert(d.Name); err != nil {
			return err
		}
	}
	if kept == nil {
		return nil
	}
	for _, q := range b.queuesOf(kept) {
		if err := b.deleteQueue(w, q, DeleteQueueOptions{}); err != nil {
			return err
		}
	}
	return b.deleteAddress(w, kept)
}

// resizeRetroactive gives the rings of retroactive addresses the length that the settings have now. No message is lost by it:
// a shorter length is not stored, so that a restart finds room for all.
func (b *Broker) resizeRetroactive() {
	w := b.NewWork()
	for _, a := range b.Addresses() {
		if b.RetroactiveResource(a.name) || b.Address(b.retroactiveName(a.name, "address")) == nil {
			continue
		}
		count := a.Settings().RetroactiveMessageCount
		for _, t := range []message.RoutingType{message.Multicast, message.Anycast} {
			q := b.Queue(b.retroactiveRing(a.name, t))
			if q == nil {
				continue
			}
			q.mu.Lock()
			cfg := q.cfg
			if cfg.RingSize > count {
				q.cfg.RingSize = count
			}
			q.mu.Unlock()
			if cfg.RingSize >= count {
				continue
			}
			if _, err := b.UpdateQueue(w, cfg.Name, QueueUpdate{RingSize: &count, Filter: cfg.Filter}); err != nil {
				b.log.Error("cannot change how many messages a retroactive address keeps", "address", a.name, "queue", cfg.Name, "error", err)
			}
		}
	}
	w.Flush()
}

// storedRing is how long a stored ring has to be while its messages are loaded: Artemis does not store the length that a
// changed count gives the ring of a retroactive address, and keeps as many messages all the same.
func (b *Broker) storedRing(cfg QueueConfig) int64 {
	of, ours := strings.CutPrefix(cfg.Address, b.opts.InternalNamingPrefix)
	of, address := strings.CutSuffix(of, b.wildcards.Delimiter+"address"+b.wildcards.Delimiter+retroactiveSuffix)
	if !ours || !address || cfg.RingSize < 0 {
		return cfg.RingSize
	}
	s := b.opts.Settings(of)
	return max(cfg.RingSize, s.RetroactiveMessageCount)
}

// copyRetroactive puts copies of the messages that a retroactive address has kept into a queue that was just created on it,
// and returns when they are stored and there. They are the messages as they were sent, with the headers that a divert adds.
// Called with admin held: what comes up on the way is left to others.
func (b *Broker) copyRetroactive(q *Queue) error {
	if q.address.Settings().RetroactiveMessageCount <= 0 {
		return nil
	}
	ring := b.Queue(b.retroactiveRing(q.address.name, q.cfg.Routing))
	if ring == nil {
		return nil
	}
	w := b.NewWork()
	batch := &retold{b: b}
	var failed error
	visit := func(r Ref) bool {
		if failed = batch.add(q, r.Msg); failed == nil && len(batch.sends) == pieceRefs {
			failed = batch.store(w)
		}
		return failed == nil
	}
	pick := matching(q.match.Load().filter)
	ring.each(pick, visit)
	if failed == nil {
		ring.eachScheduled(pick, func(r Ref, _ int64) bool { return visit(r) })
	}
	if failed != nil {
		batch.abandon()
		return failed
	}
	return batch.store(w)
}

// retold are copies of kept messages on their way to a new queue, and the waiter that has them arrive when they are stored.
type retold struct {
	b     *Broker
	sends []*send
}

func (t *retold) add(q *Queue, m *message.Message) error {
	if !q.accept() {
		return nil
	}
	edit := m.Edit()
	edit.Address = &q.address.name
	c, err := t.b.buildCopy(edit, m)
	if err != nil {
		q.incoming.Add(-1)
		return err
	}
	q.address.account.take(c)
	s := &send{msg: c}
	s.queues = append(s.one[:0], q)
	t.sends = append(t.sends, s)
	return nil
}

// store stores the copies in one transaction and waits until they are in their queue.
func (t *retold) store(w *Work) error {
	if len(t.sends) == 0 {
		return nil
	}
	tx := t.b.store.NextID()
	for _, s := range t.sends {
		if s.durable() {
			s.ops(w, tx)
		} else {
			s.number(t.b)
		}
	}
	if len(w.ops) == 0 {
		t.arrive(w)
		t.b.movers.hand(w.moves) // moves may create queues, for which admin is needed
		w.moves = nil
		w.Flush()
		return nil
	}
	w.op(Op{Kind: OpCommit, Tx: tx})
	done := &retold{b: t.b, sends: t.sends}
	if err := w.append(done, Transactional); err != nil {
		t.abandon()
		return err
	}
	t.sends = nil
	return w.sync()
}

// Stored implements Waiter.
func (t *retold) Stored() { t.arrive(t.b.onStore()) }

func (t *retold) arrive(w *Work) {
	for _, s := range t.sends {
		s.arrive(w)
	}
	t.sends = nil
}

func (t *retold) abandon() {
	for _, s := range t.sends {
		s.abandon()
	}
	t.sends = nil
}
