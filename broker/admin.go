package broker

import (
	"maps"
	"math"
	"slices"

	"github.com/saranga-mq/saranga/broker/filter"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
)

// Operations of management on the messages of a queue (queue-semantics §17). They are called with none of the broker's
// locks held, where waiting for the disk is allowed, and return when what they did is stored. Messages in delivery are
// not touched. A queue's lock is held for one piece at a time; messages that arrive meanwhile are left alone.

// pieceRefs is how many references one hold of the lock takes out of a queue.
const pieceRefs = 500

// maxStuck is how many messages that cannot be moved an operation goes past.
const maxStuck = 100

// everything is the limit of an operation without one.
const everything = math.MaxInt

// pin keeps chunks from being reused while a cursor is kept over several holds of the lock.
func (q *Queue) pin() {
	q.mu.Lock()
	q.pins++
	q.mu.Unlock()
}

func (q *Queue) unpin() {
	q.mu.Lock()
	q.pins--
	q.mu.Unlock()
}

// sweep takes waiting references out of the queue, in order, and hands each piece of them to take, with no lock held.
// It returns how many there were.
func (q *Queue) sweep(w *Work, pick func(*message.Message) bool, limit int, take func([]Ref)) int {
	q.pin()
	defer q.unpin()
	w.stuck = map[int64]bool{}
	newest := q.b.store.NextID()
	n := 0
	var piece []Ref
	for p := len(q.levels) - 1; p >= 0; p-- {
		var at cursor
		for more := true; more && n < limit && len(w.stuck) < maxStuck; {
			more = false
			q.mu.Lock()
			l := &q.levels[p]
			for range passScan {
				r := l.next(&at)
				if r == nil {
					break
				}
				more = true
				if id := r.Msg.ID(); id > newest || w.stuck[id] || !pick(r.Msg) {
					continue
				}
				piece = append(piece, l.take(&at, false))
				q.resident--
				if n++; n == limit || len(piece) == pieceRefs {
					break
				}
			}
			q.mu.Unlock()
			if len(piece) > 0 {
				take(piece)
				w.Flush()
				piece = piece[:0]
			}
		}
	}
	return n
}

// sweepScheduled takes references that wait for their time out of the queue.
func (q *Queue) sweepScheduled(w *Work, pick func(*message.Message) bool, limit int, take func([]Ref)) int {
	if limit <= 0 {
		return 0
	}
	q.mu.Lock()
	var refs []Ref
	w.until = map[int64]int64{}
	defer func() { w.until = nil }()
	for _, r := range q.takeScheduled(func(r *scheduledRef) bool {
		if limit <= 0 || !pick(r.Msg) {
			return false
		}
		limit--
		return true
	}) {
		refs = append(refs, r.Ref)
		w.until[r.Msg.ID()] = r.at
	}
	q.mu.Unlock()
	for piece := range slices.Chunk(refs, pieceRefs) {
		take(piece)
		w.Flush()
	}
	return len(refs)
}

// sweepAll is sweep and then sweepScheduled.
func (q *Queue) sweepAll(w *Work, pick func(*message.Message) bool, limit int, take func([]Ref)) int {
	n := q.sweep(w, pick, limit, take)
	return n + q.sweepScheduled(w, pick, limit-n, take)
}

// sync waits until everything appended so far is stored and has had its effect.
func (w *Work) sync() error {
	done := make(waitStored)
	if err := w.append(done, Transactional); err != nil {
		return err
	}
	select {
	case <-done:
	case <-w.b.ctx.Done():
		return ErrStoreFailed
	}
	w.Flush()
	if w.stuckErr != nil {
		return w.stuckErr
	}
	return nil
}

func byID(id int64) func(*message.Message) bool {
	return func(m *message.Message) bool { return m.ID() == id }
}

func (b *Broker) byFilter(text string) (func(*message.Message) bool, error) {
	f, err := b.parseFilter(text)
	if err != nil {
		return nil, err
	}
	return matching(f), nil
}

func matching(f *filter.Filter) func(*message.Message) bool {
	return func(m *message.Message) bool { return f == nil || f.Match(Filterable(m)) }
}

// RemoveMessages deletes the messages that a filter matches.
func (q *Queue) RemoveMessages(text string) (int, error) {
	pick, err := q.b.byFilter(text)
	if err != nil {
		return 0, err
	}
	return q.remove(pick, everything)
}

// RemoveMessage deletes a message; false: it does not wait here.
func (q *Queue) RemoveMessage(id int64) (bool, error) {
	n, err := q.remove(byID(id), 1)
	return n > 0, err
}

func (q *Queue) remove(pick func(*message.Message) bool, limit int) (int, error) {
	w := q.b.NewWork()
	n := q.sweepAll(w, pick, limit, func(refs []Ref) {
		q.mu.Lock()
		for _, r := range refs {
			q.leave(w, r, reasonKilled, nil)
		}
		q.mu.Unlock()
	})
	return n, w.sync()
}

// ExpireMessages takes the messages that a filter matches to the expiry address.
func (q *Queue) ExpireMessages(text string) (int, error) {
	pick, err := q.b.byFilter(text)
	if err != nil {
		return 0, err
	}
	return q.retire(pick, everything, q.expire)
}

// ExpireMessage takes one message to the expiry address.
func (q *Queue) ExpireMessage(id int64) (bool, error) {
	n, err := q.retire(byID(id), 1, q.expire)
	return n > 0, err
}

// SendToDeadLetterAddress takes the messages that a filter matches to the dead-letter address.
func (q *Queue) SendToDeadLetterAddress(text string) (int, error) {
	pick, err := q.b.byFilter(text)
	if err != nil {
		return 0, err
	}
	return q.retire(pick, everything, q.deadLetter)
}

// SendMessageToDeadLetterAddress takes one message there.
func (q *Queue) SendMessageToDeadLetterAddress(id int64) (bool, error) {
	n, err := q.retire(byID(id), 1, q.deadLetter)
	return n > 0, err
}

func (q *Queue) retire(pick func(*message.Message) bool, limit int, to func(*Work, Ref)) (int, error) {
	w := q.b.NewWork()
	n := q.sweep(w, pick, limit, func(refs []Ref) {
		q.mu.Lock()
		for _, r := range refs {
			to(w, r)
		}
		q.mu.Unlock()
	})
	return n, w.sync()
}

// MoveOptions change a move.
type MoveOptions struct {
	RejectDuplicates bool // a message whose duplicate id the target's address knows is only taken away here
	Count            int  // at most that many, <= 0: all
}

// MoveMessages moves the messages that a filter matches to another queue, and only there.
func (q *Queue) MoveMessages(text, target string, o MoveOptions) (int, error) {
	pick, err := q.b.byFilter(text)
	if err != nil {
		return 0, err
	}
	return q.moveTo(pick, target, o)
}

// MoveMessage moves one message.
func (q *Queue) MoveMessage(id int64, target string, o MoveOptions) (bool, error) {
	o.Count = 1
	n, err := q.moveTo(byID(id), target, o)
	return n > 0, err
}

func (q *Queue) moveTo(pick func(*message.Message) bool, target string, o MoveOptions) (int, error) {
	to := q.b.Queue(target)
	if to == nil {
		return 0, errorf(QueueDoesNotExist, "AMQ229049: No queue found for %s", target)
	}
	limit := o.Count
	if limit <= 0 {
		limit = everything
	}
	w := q.b.NewWork()
	n := q.sweepAll(w, pick, limit, func(refs []Ref) {
		for _, r := range refs {
			w.moves = append(w.moves, move{queue: q, ref: r, why: moveManaged, address: to.address.name, target: to, routing: originalRouting(r.Msg), once: o.RejectDuplicates})
		}
	})
	return n, w.sync()
}

// originalRouting is the routing type that a message had before it was moved for the first time.
func originalRouting(m *message.Message) message.RoutingType {
	if n, ok := m.Property(message.PropOrigRoutingType).Int64(); ok {
		return message.RoutingType(n)
	}
	return message.Unspecified
}

// CopyMessage puts a copy of a message into another queue; false: it does not wait here.
func (q *Queue) CopyMessage(id int64, target string) (bool, error) {
	to := q.b.Queue(target)
	if to == nil {
		return false, errorf(QueueDoesNotExist, "AMQ229049: No queue found for %s", target)
	}
	var found Ref
	q.each(byID(id), func(r Ref) bool {
		found = r
		r.Msg.Retain()
		return false
	})
	if found.Msg == nil {
		return false, nil
	}
	defer found.Msg.Release()
	w := q.b.NewWork()
	w.stuck = map[int64]bool{}
	w.moves = append(w.moves, move{queue: q, ref: found, why: moveManaged, address: to.address.name, target: to, routing: originalRouting(found.Msg), keep: true, raw: true})
	w.Flush()
	return true, w.sync()
}

// RetryMessages sends messages that were expired or dead-lettered back to the queue they came from. It returns how many
// it has looked at: those whose queue is gone stay.
func (q *Queue) RetryMessages(text string) (int, error) {
	pick, err := q.b.byFilter(text)
	if err != nil {
		return 0, err
	}
	return q.retry(pick, everything)
}

// RetryMessage sends one message back.
func (q *Queue) RetryMessage(id int64) (bool, error) {
	n, err := q.retry(byID(id), 1)
	return n > 0, err
}

func (q *Queue) retry(pick func(*message.Message) bool, limit int) (int, error) {
	came := func(m *message.Message) (address, queue string) {
		if m.Has(message.HasOrigMessage) {
			address, _ = propertyText(m, message.PropOrigAddress)
			queue, _ = propertyText(m, message.PropOrigQueue)
		}
		return address, queue
	}
	// where they came from is found out first: it cannot be looked up under the queue's lock
	type origin struct{ address, queue string }
	targets := map[origin]*Queue{}
	open := map[origin]bool{}
	visited := 0
	look := func(m *message.Message) {
		var o origin
		if o.address, o.queue = came(m); o.address == "" {
			return
		}
		visited++
		if _, known := targets[o]; known {
			return
		}
		targets[o] = nil
		if o.queue != "" {
			targets[o] = q.b.Queue(o.queue)
			open[o] = targets[o] != nil
		} else {
			open[o] = !q.b.route(o.address).empty()
		}
	}
	q.each(pick, func(r Ref) bool {
		look(r.Msg)
		return visited < limit
	})
	q.eachScheduled(pick, func(r Ref, _ int64) bool {
		look(r.Msg)
		return visited < limit
	})
	w := q.b.NewWork()
	q.sweepAll(w, func(m *message.Message) bool {
		address, queue := came(m)
		return address != "" && open[origin{address, queue}] && pick(m)
	}, limit, func(refs []Ref) {
		for _, r := range refs {
			address, queue := came(r.Msg)
			w.moves = append(w.moves, move{queue: q, ref: r, why: moveManaged, address: address, target: targets[origin{address, queue}], routing: originalRouting(r.Msg)})
		}
	})
	return visited, w.sync()
}

// ChangeMessagesPriority gives another priority to the messages that a filter matches; they go behind those that have it.
func (q *Queue) ChangeMessagesPriority(text string, priority uint8) (int, error) {
	pick, err := q.b.byFilter(text)
	if err != nil {
		return 0, err
	}
	return q.changePriority(pick, everything, priority)
}

// ChangeMessagePriority changes one message.
func (q *Queue) ChangeMessagePriority(id int64, priority uint8) (bool, error) {
	n, err := q.changePriority(byID(id), 1, priority)
	return n > 0, err
}

func (q *Queue) changePriority(pick func(*message.Message) bool, limit int, priority uint8) (int, error) {
	if priority > 9 {
		return 0, errorf(IllegalState, "invalid newPriority value: %d. It must be between 0 and 9 (both included)", priority)
	}
	w := q.b.NewWork()
	var failed error
	seen := map[int64]bool{} // the level they go to may be swept after the one they come from
	n := q.sweep(w, func(m *message.Message) bool { return !seen[m.ID()] && pick(m) }, limit, func(refs []Ref) {
		for i, r := range refs {
			seen[r.Msg.ID()] = true
			changed, err := q.prioritized(r.Msg, priority)
			if err != nil {
				failed = err
			} else if changed != nil {
				w.release(r.Msg)
				refs[i].Msg = changed
			}
		}
		q.mu.Lock()
		for _, r := range refs {
			q.push(r)
		}
		q.deliver(w)
		q.mu.Unlock()
	})
	if failed != nil {
		return n, failed
	}
	return n, w.sync()
}

// prioritized returns the message with another priority, nil when it has it. The store keeps the old one, as Artemis
// does. The new message takes the old one's place with its id and counters, so it must be the only one of them: a message
// that is in several queues keeps its priority.
func (q *Queue) prioritized(m *message.Message, priority uint8) (*message.Message, error) {
	if m.Priority() == priority {
		return nil, nil
	}
	if m.Durable.Load() > 1 || m.Large() != nil && m.Queued.Load() > 1 {
		return nil, errorf(IllegalState, "message %d is in several queues: its priority cannot be changed in one of them", m.ID())
	}
	edit := m.Edit()
	edit.Priority = priority
	if body := m.Large(); body != nil {
		body.Retain()
		edit.SetLarge(body)
	}
	changed, err := q.b.pool.Build(edit)
	if err != nil {
		return nil, err
	}
	changed.SetID(m.ID())
	changed.Durable.Store(m.Durable.Load())
	changed.Queued.Store(m.Queued.Load())
	q.address.account.take(changed)
	return changed, nil
}

// each calls visit for the waiting references that pick chooses, in order and with no lock held, until it returns false.
// The message is held for the length of the call.
func (q *Queue) each(pick func(*message.Message) bool, visit func(Ref) bool) {
	q.pin()
	defer q.unpin()
	var piece []Ref
	defer func() {
		for _, r := range piece {
			r.Msg.Release()
		}
	}()
	for p := len(q.levels) - 1; p >= 0; p-- {
		var pl place
		for more := true; more; {
			more = false
			q.mu.Lock()
			l := &q.levels[p]
			if pl.at.c != nil && pl.at.epoch != l.epoch { // refs were inserted meanwhile
				pl.startOver(l.epoch, true)
			}
			for range passScan {
				r := l.next(&pl.at)
				if r == nil {
					pl.caughtUp()
					break
				}
				more = true
				if pl.again && pl.knows(r) {
					continue
				}
				pl.gave(r.Msg.ID(), r.flags&refStray != 0)
				if pick(r.Msg) {
					r.Msg.Retain()
					piece = append(piece, *r)
					if len(piece) == pieceRefs {
						break
					}
				}
			}
			q.mu.Unlock()
			for len(piece) > 0 {
				goOn := visit(piece[0])
				piece[0].Msg.Release()
				piece = piece[1:]
				if !goOn {
					return
				}
			}
		}
	}
}

func (q *Queue) eachScheduled(pick func(*message.Message) bool, visit func(r Ref, at int64) bool) {
	q.mu.Lock()
	var refs []scheduledRef
	for _, r := range q.scheduled.refs {
		if pick(r.Msg) {
			r.Msg.Retain()
			refs = append(refs, r)
		}
	}
	q.mu.Unlock()
	slices.SortFunc(refs, func(a, b scheduledRef) int {
		if a.at != b.at {
			return int(max(-1, min(1, a.at-b.at)))
		}
		return int(max(-1, min(1, int64(a.seq)-int64(b.seq))))
	})
	goOn := true
	for _, r := range refs {
		goOn = goOn && visit(r.Ref, r.at)
		r.Msg.Release()
	}
}

// Browse calls visit for the waiting messages that a filter matches, in order, until it returns false. m is held for the
// length of the call; no lock is. count is how often the message was delivered.
func (q *Queue) Browse(text string, visit func(m *message.Message, count int32) bool) error {
	pick, err := q.b.byFilter(text)
	if err != nil {
		return err
	}
	q.each(pick, func(r Ref) bool { return visit(r.Msg, r.Count) })
	return nil
}

// BrowseScheduled is Browse for the messages that wait for their time, the first due first.
func (q *Queue) BrowseScheduled(text string, visit func(m *message.Message, count int32, at int64) bool) error {
	pick, err := q.b.byFilter(text)
	if err != nil {
		return err
	}
	q.eachScheduled(pick, func(r Ref, at int64) bool { return visit(r.Msg, r.Count, at) })
	return nil
}

// BrowseDelivering is Browse for the messages delivered and not acknowledged, by consumer.
func (q *Queue) BrowseDelivering(text string, visit func(c *Consumer, m *message.Message, count int32) bool) error {
	pick, err := q.b.byFilter(text)
	if err != nil {
		return err
	}
	for _, c := range q.Consumers() {
		var refs []Ref
		q.mu.Lock()
		for i := range c.given.n {
			if r := *c.given.at(i); pick(r.Msg) {
				r.Msg.Retain()
				refs = append(refs, r)
			}
		}
		q.mu.Unlock()
		goOn := true
		for _, r := range refs {
			goOn = goOn && visit(c, r.Msg, r.Count)
			r.Msg.Release()
		}
		if !goOn {
			return nil
		}
	}
	return nil
}

// Consumers returns the queue's consumers, those of the highest priority first, and then its browsers.
func (q *Queue) Consumers() []*Consumer {
	q.mu.Lock()
	defer q.mu.Unlock()
	var out []*Consumer
	for _, l := range q.consumers {
		out = append(out, l.list...)
	}
	return append(out, q.browsers...)
}

// CountMessages counts the waiting messages that a filter matches; without one, all messages of the queue.
func (q *Queue) CountMessages(text string) (int64, error) {
	f, err := q.b.parseFilter(text)
	if err != nil {
		return 0, err
	}
	if f == nil {
		return q.MessageCount(), nil
	}
	n := int64(0)
	q.each(matching(f), func(Ref) bool { n++; return true })
	return n, nil
}

// PersistedPause tells whether the queue stays paused over a restart.
func (q *Queue) PersistedPause() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pauseRec != 0
}

// DurableCounts are the parts of Counts that are about durable messages.
type DurableCounts struct {
	Size                                 int64
	Delivering, DeliveringSize           int64
	Scheduled, ScheduledSize, DurableSch int64
	DurableSchSize                       int64
}

// Scheduled sizes and durable counts, for management: it looks at every message in delivery or scheduled.
func (q *Queue) DurableCounts() DurableCounts {
	q.mu.Lock()
	defer q.mu.Unlock()
	var d DurableCounts
	for _, r := range q.scheduled.refs {
		d.Scheduled++
		d.ScheduledSize += r.Msg.PersistentSize()
		if stored(q, r.Ref) {
			d.DurableSch++
			d.DurableSchSize += r.Msg.PersistentSize()
		}
	}
	for _, l := range q.consumers {
		for _, c := range l.list {
			for i := range c.given.n {
				if r := c.given.at(i); stored(q, *r) {
					d.Delivering++
					d.DeliveringSize += r.Msg.PersistentSize()
				}
			}
		}
	}
	return d
}

// ClearDuplicates forgets the duplicate ids of an address.
func (b *Broker) ClearDuplicates(a *Address) error {
	w := b.NewWork()
	a.dups.clear(w)
	return w.sync()
}

// DuplicateCount is how many duplicate ids the address remembers.
func (a *Address) DuplicateCount() int {
	a.dups.mu.Lock()
	defer a.dups.mu.Unlock()
	return len(a.dups.ring)
}

// A Publisher sends messages of the broker itself: notifications, replies of management, messages an operator sends. For
// one goroutine, which may block.
type Publisher struct {
	s    *Session
	w    *Work
	done chan error
}

// NewPublisher returns a publisher that sends with the rights of who. It is no session that anybody sees.
func (b *Broker) NewPublisher(who security.Principal) *Publisher {
	p := &Publisher{w: b.NewWork(), done: make(chan error, 1)}
	conn := &Connection{ID: "internal", Protocol: "CORE", Created: b.now(), b: b}
	p.s = &Session{b: b, SessionOptions: SessionOptions{Principal: who, Client: (*publisherClient)(p), AutoCommitSends: true, AutoCommitAcks: true},
		Created: b.now(), MayBlock: true, consumers: map[int64]*Consumer{}, metadata: map[string]string{}}
	p.s.conn.Store(conn)
	return p
}

type publisherClient Publisher

// Answer implements Client.
func (c *publisherClient) Answer(_ *Work, _ Answer, err error) { c.done <- err }

// Send sends a message and waits until it is stored. It returns the message's id.
func (p *Publisher) Send(m *message.Builder) (int64, error) {
	built, err := p.build(m)
	if err != nil {
		return 0, err
	}
	id := built.ID()
	p.w.Begin()
	if err := p.s.Send(p.w, built, SendOptions{Routing: message.Unspecified, Answer: Answer{Kind: 1, Inside: true}}); err != nil {
		return 0, err
	}
	return id, p.wait()
}

// SendTo sends a message to one queue of its address only.
func (p *Publisher) SendTo(q *Queue, m *message.Builder) (int64, error) {
	if err := p.s.check(security.Send, q.address.name, q.cfg.Name); err != nil {
		return 0, err
	}
	m.Address = &q.address.name
	built, err := p.build(m)
	if err != nil {
		return 0, err
	}
	id := built.ID()
	p.w.Begin()
	out := newOutcome(p.s, Answer{Kind: 1, Inside: true})
	out.send.msg = built
	q.address.account.take(built)
	if q.accept() {
		out.send.add(q)
	}
	p.s.commitSend(p.w, q.address, out)
	return id, p.wait()
}

func (p *Publisher) build(m *message.Builder) (*message.Message, error) {
	built, err := p.s.b.pool.Build(m)
	if err != nil {
		return nil, err
	}
	built.SetID(p.s.b.store.NextID())
	return built, nil
}

func (p *Publisher) wait() error {
	p.w.Flush()
	select {
	case err := <-p.done:
		return err
	case <-p.s.b.ctx.Done():
		return ErrStoreFailed
	}
}

// Bound tells whether a message sent to that address would reach anybody.
func (b *Broker) Bound(address string) bool { return !b.route(address).empty() }

// Sync waits until everything appended so far is stored and has had its effect.
func (b *Broker) Sync() error { return b.NewWork().sync() }

// OutstandingSize is the size of the messages delivered and not acknowledged, in bytes.
func (c *Consumer) OutstandingSize() int64 {
	c.Queue.mu.Lock()
	defer c.Queue.mu.Unlock()
	n := int64(0)
	for i := range c.given.n {
		n += c.given.at(i).Msg.PersistentSize()
	}
	return n
}

// Block gives producers of an address no more credits, or lets them have some again. It reports whether that changed
// something.
func (b *Broker) Block(a *Address, on bool) bool {
	changed := a.blocked.Swap(on) != on
	if changed && !on {
		b.pokeGranter()
	}
	return changed
}

// Blocked tells whether an operator has blocked the address.
func (a *Address) Blocked() bool { return a.blocked.Load() }

// ReplaceDivert changes a divert; its address stays. No message is missed or diverted twice meanwhile.
func (b *Broker) ReplaceDivert(cfg DivertConfig) error {
	b.admin.Lock()
	defer b.admin.Unlock()
	f, err := b.parseFilter(cfg.Filter)
	if err != nil {
		return err
	}
	b.mu.RLock()
	old := b.diverts[cfg.Name]
	b.mu.RUnlock()
	if old == nil {
		return errorf(DivertDoesNotExist, "AMQ229223: Divert %s does not exist", cfg.Name)
	}
	cfg.Address = old.cfg.Address
	if err := b.configs.StoreConfig(StoredConfig{Kind: DivertConfigKind, Key: cfg.Name, Divert: cfg}); err != nil {
		return err
	}
	if a := b.Address(cfg.Address); a != nil {
		b.swapDivert(old, &Divert{b: b, cfg: cfg, filter: f, stored: true}, a)
	}
	return nil
}

// PreparedAcks is how many messages of a queue were acknowledged in prepared transactions.
func (b *Broker) PreparedAcks(q *Queue) int {
	n := 0
	b.eachPrepared(func(_ Xid, tx *Tx) {
		for _, k := range tx.acks {
			if k.queue == q {
				n++
			}
		}
	})
	return n
}

// PreparedMessages calls visit for each message that a prepared branch sends or acknowledges. m is held for the length of
// the call; no lock is.
func (b *Broker) PreparedMessages(x Xid, visit func(sent bool, m *message.Message)) {
	var sent, acked []*message.Message
	b.eachPrepared(func(y Xid, tx *Tx) {
		if y != x {
			return
		}
		for i := range tx.sends {
			tx.sends[i].msg.Retain()
			sent = append(sent, tx.sends[i].msg)
		}
		for _, k := range tx.acks {
			k.ref.Msg.Retain()
			acked = append(acked, k.ref.Msg)
		}
	})
	for _, m := range sent {
		visit(true, m)
		m.Release()
	}
	for _, m := range acked {
		visit(false, m)
		m.Release()
	}
}

func (b *Broker) eachPrepared(visit func(Xid, *Tx)) {
	b.mu.RLock()
	branches := maps.Clone(b.xas)
	b.mu.RUnlock()
	for x, tx := range branches {
		tx.mu.Lock()
		if tx.prepared && !tx.finished {
			visit(x, tx)
		}
		tx.mu.Unlock()
	}
}

// Opened is how many connections and sessions there have been since the broker was made.
func (b *Broker) Opened() (connections, sessions int64) {
	return b.openedConnections.Load(), b.openedSessions.Load()
}

// AddressMatches tells whether a pattern with the broker's wildcards, or a name, covers an address.
func (b *Broker) AddressMatches(pattern, address string) bool {
	return pattern == address || b.matchesWild(pattern, address)
}

// Detach takes a consumer away from its client, which is told: what it had goes back to the queue.
func (b *Broker) Detach(c *Consumer) {
	w := b.NewWork()
	c.Session.removeConsumer(w, c, false)
	w.settle()
	c.sink.QueueGone(c)
	w.Flush()
}

// PermissionsChanged makes sessions ask for permissions again that they were granted before.
func (b *Broker) PermissionsChanged() {
	b.mu.Lock()
	b.changed()
	b.mu.Unlock()
}

// Notify reports something that happened outside the engine.
func (b *Broker) Notify(kind string, props ...Prop) { b.notify(kind, props...) }
