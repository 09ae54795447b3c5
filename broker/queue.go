package broker

import (
	"sync"
	"sync/atomic"

	"github.com/saranga-mq/saranga/broker/filter"
	"github.com/saranga-mq/saranga/broker/message"
)

// A Queue holds references in order and hands them to consumers.
//
// Its lock is a leaf but for the consumers' sinks. Under it no store operation is appended, nothing is read from a disk
// and nobody waits: what has to be done outside is collected in the caller's Work.
//
// Invariants, under the lock: resident is the number of live refs in levels, and bit p of occupied is set when levels[p]
// may have one; a ref is in levels, in scheduled, in one consumer's given, or in one transaction, except that a
// non-destructive queue keeps refs in levels while consumers hold copies; delivering counts refs given or in transactions.
type Queue struct {
	ID      int64
	b       *Broker
	address *Address

	// incoming counts messages routed here whose reference has not arrived yet; in a deleted queue they are dropped when
	// they arrive.
	incoming atomic.Int64
	deleted  atomic.Bool

	match atomic.Pointer[queueMatch]
	gates atomic.Int32 // not 0: takesNew has to look

	mu       sync.Mutex
	cfg      QueueConfig // Name, Address and Durable never change and may be read without the lock
	levels   [10]refList
	occupied uint16
	resident int

	groups     map[string]*Consumer // owners of message groups
	lastValues map[string]int64     // last-value queue: id of the current message of each key; else nil
	scheduled  schedule

	consumers []*consumerLevel // by priority, highest first
	browsers  []*Consumer
	nCons     int
	cursored  int       // consumers and browsers with a place of their own
	pins      int       // scans that keep a cursor while the lock is released
	exclusive *Consumer // gets everything: who got the first message of an exclusive queue
	// scanning is set while somebody may not simply get the head of the queue: filters, groups, encodings, copies.
	scanning bool
	grouped  bool // messages with a group came
	foreign  bool // messages came that not every consumer can take
	open     bool // consumers-before-dispatch has been satisfied
	openAt   int64
	paused   bool
	pauseRec int64
	hold     bool // no delivery while a rollback puts refs back, or a group rebalance waits

	running bool     // the runner is scheduled or at work
	resting bool     // the runner waits: what it took away was put back
	behind  bool     // a pass ended at its budget: the runner goes on
	forced  []forced // forced deliveries that wait for the runner or for their consumer

	stats QueueStats

	delivering     int
	deliveringSize int64
	size           int64 // persistent size of resident, delivering and scheduled refs
	durableCount   int64
	durableSize    int64 // of those

	usedBefore       bool  // it has had a consumer
	lastConsumerLeft int64 // ms
	created          int64
	reapMarked       bool
	encodingWarned   bool
	rateAt, rateSeen int64
}

// queueMatch is what routing looks at without the queue's lock.
type queueMatch struct {
	routing message.RoutingType
	filter  *filter.Filter
}

// QueueStats are the counters of a queue, since it was created or they were reset.
type QueueStats struct {
	Added, Acknowledged, AckAttempts, Expired, Killed, Replaced int64
}

type consumerLevel struct {
	priority int32
	list     []*Consumer
	next     int // round robin
}

const (
	// passRefs and passBytes bound what one hold of the lock delivers.
	passRefs  = 256
	passBytes = 256 << 10
	// passScan bounds how many references one hold looks at.
	passScan = 2048
)

// Name is the queue's name, unique in the broker.
func (q *Queue) Name() string { return q.cfg.Name }

// Address is the address the queue is bound to.
func (q *Queue) Address() *Address { return q.address }

// Config returns the attributes as they are now.
func (q *Queue) Config() QueueConfig {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.cfg
}

// add takes a reference that has been routed here and stored. The caller holds no queue lock.
func (q *Queue) add(w *Work, r Ref, scheduled int64) {
	q.mu.Lock()
	q.addLocked(w, r, scheduled)
	q.mu.Unlock()
	q.incoming.Add(-1)
}

func (q *Queue) addLocked(w *Work, r Ref, scheduled int64) {
	q.stats.Added++
	q.size += r.Msg.PersistentSize()
	if r.Msg.IsDurable() && q.cfg.Durable {
		q.durableCount++
		q.durableSize += r.Msg.PersistentSize()
	}
	if q.deleted.Load() {
		// deleted while the message was on its way: nobody will come for it
		q.drop(w, r, reasonKilled)
		return
	}
	if scheduled > w.Now {
		q.holdUntil(r, scheduled)
		return
	}
	q.put(w, r)
	q.deliver(w)
}

// put appends a ref at the end of its level and applies last-value and ring rules.
func (q *Queue) put(w *Work, r Ref) {
	q.notice(r.Msg)
	if q.lastValues != nil {
		q.replaceLastValue(w, r.Msg)
	}
	q.push(r)
	if q.cfg.RingSize >= 0 {
		q.trimRing(w, 1)
	}
}

// notice looks at a message that is going to wait here for what changes how the queue delivers.
func (q *Queue) notice(m *message.Message) {
	if !q.grouped && m.Has(message.HasGroupID) && q.groupsOn() {
		q.grouped = true
		q.rescan()
	}
	if !q.foreign && m.Encoding() != message.Core {
		q.foreign = true
		q.rescan()
	}
}

func (q *Queue) push(r Ref) {
	p := r.Msg.Priority()
	q.levels[p].pushBack(r)
	q.occupied |= 1 << p
	q.resident++
}

func (q *Queue) groupsOn() bool {
	return q.cfg.GroupBuckets != 0 && !q.cfg.Exclusive && !q.cfg.Internal
}

// recycle tells that chunks may be reused: nobody has a cursor into them.
func (q *Queue) recycle() bool { return q.cursored == 0 && q.pins == 0 }

// top is the highest level with a live ref, -1 when there is none.
func (q *Queue) top() int {
	for q.occupied != 0 {
		p := 15
		for q.occupied&(1<<p) == 0 {
			p--
		}
		if q.levels[p].live > 0 {
			return p
		}
		q.occupied &^= 1 << p
	}
	return -1
}

// A reason says why a reference leaves its queue for good.
type reason uint8

const (
	reasonAcked reason = iota
	reasonKilled
	reasonExpired
	reasonReplaced
)

// drop takes a ref that is in no list out of the queue for good, whatever the store says. See leave.
func (q *Queue) drop(w *Work, r Ref, why reason) {
	q.settled(r, why)
	q.b.backings[r.from].Ack(w, q, r)
	w.release(r.Msg)
}

// settled does the counting of a ref that leaves the queue for good.
func (q *Queue) settled(r Ref, why reason) {
	switch why {
	case reasonAcked:
		q.stats.Acknowledged++
	case reasonKilled:
		q.stats.Killed++
	case reasonExpired:
		q.stats.Expired++
	case reasonReplaced:
		q.stats.Replaced++
	}
	q.size -= r.Msg.PersistentSize()
	if r.Msg.IsDurable() && q.cfg.Durable {
		q.durableCount--
		q.durableSize -= r.Msg.PersistentSize()
	}
	if q.lastValues != nil {
		if key, ok := q.lastValueKey(r.Msg); ok && q.lastValues[key] == r.Msg.ID() {
			delete(q.lastValues, key)
		}
	}
}

// unsettled takes back what settled has counted.
func (q *Queue) unsettled(r Ref, why reason) {
	switch why {
	case reasonAcked:
		q.stats.Acknowledged--
	case reasonKilled:
		q.stats.Killed--
	case reasonExpired:
		q.stats.Expired--
	}
	q.size += r.Msg.PersistentSize()
	if r.Msg.IsDurable() && q.cfg.Durable {
		q.durableCount++
		q.durableSize += r.Msg.PersistentSize()
	}
	if q.lastValues != nil {
		if key, ok := q.lastValueKey(r.Msg); ok {
			if _, known := q.lastValues[key]; !known {
				q.lastValues[key] = r.Msg.ID()
			}
		}
	}
}

// requeue puts back refs that were given to a consumer, at their old places. They are no longer counted as delivering.
func (q *Queue) requeue(w *Work, refs []Ref) {
	for _, r := range refs {
		r.flags = 0
		if q.lastValues != nil {
			if key, ok := q.lastValueKey(r.Msg); ok {
				if current, known := q.lastValues[key]; known && current != r.Msg.ID() {
					q.drop(w, r, reasonReplaced)
					continue
				}
				q.lastValues[key] = r.Msg.ID()
			}
		}
		p := r.Msg.Priority()
		q.levels[p].insert(r)
		q.occupied |= 1 << p
		q.resident++
	}
	if q.cfg.RingSize >= 0 {
		q.trimRing(w, len(refs))
	}
}

// trimRing makes room for as many refs as have come. A ring that was shortened while it was full stays as full as it was.
func (q *Queue) trimRing(w *Work, came int) {
	for ; came > 0 && int64(q.resident) > q.cfg.RingSize; came-- {
		p := q.top()
		r := q.levels[p].popFront(q.recycle())
		q.resident--
		q.drop(w, r, reasonReplaced)
	}
}

// lastValueKey is the key of a message in a last-value queue: its property of the queue's key, else _AMQ_LVQ_NAME.
func (q *Queue) lastValueKey(m *message.Message) (string, bool) {
	if k := q.cfg.LastValueKey; k != "" {
		if s, ok := propertyText(m, k); ok {
			return s, true
		}
	}
	if m.Has(message.HasLastValue) {
		return propertyText(m, message.PropLastValue)
	}
	return "", false
}

func (q *Queue) replaceLastValue(w *Work, m *message.Message) {
	key, ok := q.lastValueKey(m)
	if !ok {
		return
	}
	old, known := q.lastValues[key]
	q.lastValues[key] = m.ID()
	if !known {
		return
	}
	for p := range q.levels {
		if r, found := q.levels[p].takeID(old, q.recycle()); found {
			q.resident--
			q.drop(w, r, reasonReplaced)
			return
		}
	}
}

// takeID removes the ref of message id, wherever it stands.
func (l *refList) takeID(id int64, recycle bool) (Ref, bool) {
	if l.live == 0 {
		return Ref{}, false
	}
	at := cursor{c: l.head, epoch: l.epoch}
	for {
		if c := at.c; c != nil && at.i == 0 && c != l.tail && c.highest < id {
			at.c = c.next
			continue
		}
		r := l.next(&at)
		if r == nil {
			return Ref{}, false
		}
		if r.Msg.ID() == id {
			return l.take(&at, recycle), true
		}
	}
}

// Counts are the numbers of messages in a queue.
type Counts struct {
	Messages, Delivering, Scheduled, Durable int64
	Size, DeliveringSize, DurableSize        int64
	Consumers                                int
	Groups                                   int
	Stats                                    QueueStats
	Paused                                   bool
	Enabled                                  bool
}

// Counts returns the numbers as they are now.
func (q *Queue) Counts() Counts {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := Counts{
		Messages: int64(q.resident + q.delivering + q.scheduled.len()), Delivering: int64(q.delivering),
		Scheduled: int64(q.scheduled.len()), Durable: q.durableCount, DurableSize: q.durableSize, Size: q.size, DeliveringSize: q.deliveringSize,
		Consumers: q.nCons, Groups: len(q.groups), Stats: q.stats, Paused: q.paused || q.address.paused.Load(), Enabled: q.cfg.Enabled,
	}
	if q.lastValues != nil {
		c.Messages -= int64(q.delivering)
	}
	if q.cfg.NonDestructive {
		c.Messages = int64(q.resident + q.scheduled.len())
	}
	c.Messages += q.b.remaining(q)
	return c
}

// MessageCount is the number of messages: waiting, scheduled and in delivery.
func (q *Queue) MessageCount() int64 { return q.Counts().Messages }

// ResetStats sets counters back to zero.
func (q *Queue) ResetStats(reset func(*QueueStats)) {
	q.mu.Lock()
	reset(&q.stats)
	q.mu.Unlock()
}

func (q *Queue) warnEncoding(m *message.Message) {
	if !q.encodingWarned {
		q.encodingWarned = true
		q.b.log.Warn("queue holds AMQP messages, which its Core consumers do not get until the broker speaks AMQP", "queue", q.cfg.Name, "message", m.ID())
	}
}

func propertyText(m *message.Message, name string) (string, bool) {
	v := m.Property(name)
	if v.Type == 0 {
		return "", false
	}
	return filterValue(v).String(), true
}
