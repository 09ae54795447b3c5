package journal

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal/bindings"
	"github.com/saranga-mq/saranga/journal/large"
	"github.com/saranga-mq/saranga/journal/paging"
	"github.com/saranga-mq/saranga/wire/buf"
)

// Load implements broker.Store: the bindings, then the messages. See spec journal §3.2 and §4.
func (s *Store) Load(pool *message.Pool, r broker.Recovery) error {
	if err := s.makeFolders(); err != nil {
		return err
	}
	b, err := s.loadBindings()
	if err != nil {
		return err
	}
	if err := s.ids.Reserve(s.storeIDs); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	b.deliver(r)
	if err := r.BindingsLoaded(); err != nil {
		return err
	}
	if s.bodies, err = large.Open(s.o.FS, s.o.Large, s.fail); err != nil {
		return err
	}
	m := &loadedMessages{s: s, pool: pool, index: map[int64]int32{}, pages: paging.NewState()}
	defer m.release()
	j, _, err := Open(s.o.MessagesOptions(), Visitor{Record: m.record, Prepared: m.prepare})
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	s.join(&s.messages, j)
	if err := s.checkPages(m.pages, b.queues); err != nil {
		return err
	}
	m.deliver(r)
	if err := m.cleanUp(); err != nil {
		return err
	}
	removed, err := s.bodies.RemoveLeft()
	if len(removed) > 0 {
		s.log.Info("removed large message files that belong to no message", "ids", removed)
	}
	return err
}

// loadedBindings is what the bindings journal holds.
type loadedBindings struct {
	s         *Store
	configs   []broker.StoredConfig
	addresses []broker.AddressRecord
	queues    map[int64]*broker.QueueRecord
	order     []int64
	pauses    []loadedPause
	counters  []int64 // records
	gone      []int64 // records to delete
}

type loadedPause struct {
	kind   broker.PauseKind
	record int64
	bindings.Status
}

func (s *Store) loadBindings() (*loadedBindings, error) {
	b := &loadedBindings{s: s, queues: map[int64]*broker.QueueRecord{}}
	j, _, err := Open(s.o.BindingsOptions(), Visitor{Record: b.record})
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	s.join(&s.bindings, j)
	b.settle()
	if n := len(b.counters); n > 1 {
		b.gone = append(b.gone, b.counters[:n-1]...)
	}
	if len(b.gone) > 0 {
		if err := s.bind(func(r bindingAppender) {
			for _, id := range b.gone {
				r.op(Delete, 0, id, 0, nil)
			}
		}); err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
	}
	return b, nil
}

func (b *loadedBindings) record(r *Record) error {
	switch r.UserType {
	case bindings.TypeQueue:
		q, err := bindings.ReadQueue(r.ID, r.Payload)
		if err != nil {
			return err
		}
		if b.queues[r.ID] == nil {
			b.order = append(b.order, r.ID)
		}
		b.queues[r.ID] = &q
	case bindings.TypeAddress:
		a, err := bindings.ReadAddress(r.ID, r.Payload)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(b.addresses, func(x broker.AddressRecord) bool { return x.ID == a.ID }); i >= 0 {
			b.addresses[i] = a
		} else {
			b.addresses = append(b.addresses, a)
		}
	case bindings.TypeQueueStatus, bindings.TypeAddressStatus:
		p := loadedPause{kind: broker.PausedQueue, record: r.ID}
		if r.UserType == bindings.TypeAddressStatus {
			p.kind = broker.PausedAddress
		}
		var err error
		if p.Status, err = bindings.ReadStatus(r.Payload); err != nil {
			return err
		}
		b.pauses = append(b.pauses, p)
	case bindings.TypeIDCounter:
		v, err := bindings.ReadIDCounter(r.Payload)
		if err != nil {
			return err
		}
		b.s.ids.Load(v)
		b.counters = append(b.counters, r.ID)
	case bindings.TypeGroup, bindings.TypeBridge, bindings.TypeOldSetting:
		// Kept for what comes later, and for Artemis.
	default:
		c, ok, err := bindings.ReadConfig(r.UserType, r.Payload)
		if err != nil {
			return err
		}
		if !ok {
			b.s.log.Warn("AMQ222254: unknown record in the bindings journal is kept and ignored", "type", r.UserType, "id", r.ID)
			return nil
		}
		b.configs = append(b.configs, c)
		key := configKey{c.Kind, c.Key}
		b.s.configs[key] = append(b.s.configs[key], r.ID)
	}
	return nil
}

// jmsTopicMarker is the filter of the queues by which Artemis once marked JMS topics.
const jmsTopicMarker = "__AMQX=-1"

// settle removes what does not belong together.
func (b *loadedBindings) settle() {
	names := map[string]bool{}
	kept := b.order[:0]
	for _, id := range b.order {
		q := b.queues[id]
		if names[q.Name] {
			if q.Filter == jmsTopicMarker {
				b.gone = append(b.gone, id)
				delete(b.queues, id)
				continue
			}
			for k := 1; names[q.Name]; k++ {
				q.Name = fmt.Sprintf("%s-%d", q.Name, k)
			}
			b.s.log.Warn("two stored queues have one name, the second is renamed", "id", id, "name", q.Name)
		}
		names[q.Name] = true
		kept = append(kept, id)
	}
	b.order = kept
	addresses := map[int64]bool{}
	for _, a := range b.addresses {
		addresses[a.ID] = true
	}
	b.pauses = slices.DeleteFunc(b.pauses, func(p loadedPause) bool {
		known := b.queues[p.Of] != nil
		if p.kind == broker.PausedAddress {
			known = addresses[p.Of]
		}
		if !known {
			b.gone = append(b.gone, p.record)
		}
		return !known
	})
}

func (b *loadedBindings) deliver(r broker.Recovery) {
	last := map[configKey]int{}
	for i, c := range b.configs {
		last[configKey{c.Kind, c.Key}] = i
	}
	for i, c := range b.configs {
		if last[configKey{c.Kind, c.Key}] == i {
			r.Config(c)
		}
	}
	for _, a := range b.addresses {
		r.Address(a)
	}
	for _, id := range b.order {
		r.Queue(*b.queues[id])
	}
	for _, p := range b.pauses {
		if p.Paused {
			r.Paused(p.kind, p.Of, p.record)
		}
	}
}

// loadedMessages gathers the records of the messages journal. Only when all are read is it known how often a reference
// was delivered and whether it is still there, so they are handed out at the end, in the order they were added.
type loadedMessages struct {
	s    *Store
	pool *message.Pool

	messages []loadedMessage
	index    map[int64]int32 // message id → messages
	refs     []loadedRef
	held     []loadedTx
	dups     []broker.PreparedDup
	outcomes []loadedOutcome
	pages    *paging.State
	unknown  int // updates of messages or references that are not there
}

type loadedMessage struct {
	m     *message.Message
	first int32 // its references: index in refs + 1; 0 ends the list
	live  int32 // references there are
}

type loadedRef struct {
	message   int32
	next      int32
	queue     int64
	scheduled int64
	count     int32
	gone      bool
	held      bool // acknowledged by a prepared transaction
}

type loadedTx struct {
	broker.PreparedTx
	broken   bool         // to be rolled back
	acks     []*loadedRef // in refs, which no longer grows
	messages []*message.Message
}

type loadedOutcome struct {
	record int64
	xid    broker.Xid
	commit bool
}

func (l *loadedMessages) record(r *Record) error {
	in := buf.NewReader(r.Payload)
	switch r.UserType {
	case typeMessage, typeLargeMessage:
		m, err := l.message(r)
		if err != nil {
			return err
		}
		if i, twice := l.index[r.ID]; twice { // the later one counts
			l.messages[i].m.Release()
			l.messages[i].m = m
			break
		}
		l.index[r.ID] = int32(len(l.messages))
		l.messages = append(l.messages, loadedMessage{m: m})
	case typeOldMessage:
		return errors.New("a message of a 1.x broker: export it with that version")
	case typeRef:
		queue := in.Int64()
		i, ok := l.index[r.ID]
		if !ok || in.Err() != nil {
			l.unknown++
			break
		}
		m := &l.messages[i]
		l.refs = append(l.refs, loadedRef{message: i, queue: queue, next: m.first, scheduled: m.m.Scheduled()})
		m.first = int32(len(l.refs))
		m.live++
	case typeAck:
		if ref := l.ref(r.ID, in.Int64(), false); ref != nil {
			ref.gone = true
			l.messages[ref.message].live--
		}
	case typeDeliveryCount:
		if ref, count := l.ref(r.ID, in.Int64(), true), in.Int32(); ref != nil {
			ref.count = count
		}
	case typeScheduled:
		if ref, at := l.ref(r.ID, in.Int64(), true), in.Int64(); ref != nil {
			ref.scheduled = at
		}
	case typeDuplicate:
		d := broker.PreparedDup{Record: r.ID, Address: in.SS(), ID: slices.Clone(in.Block())}
		l.dups = append(l.dups, d)
	case typeHeuristic:
		x := in.Xid()
		l.outcomes = append(l.outcomes, loadedOutcome{r.ID, xidOf(x), in.Bool()})
	default:
		return l.pages.Record(r.UserType, r.Payload, r.Kind == Update || r.Kind == UpdateTx, false)
	}
	return in.Err()
}

func xidOf(x buf.Xid) broker.Xid {
	return broker.Xid{Format: x.FormatID, Branch: x.Branch, Global: x.Global}
}

// message makes a message of its record.
func (l *loadedMessages) message(r *Record) (*message.Message, error) {
	m, err := l.pool.FromRecord(r.UserType, r.Payload)
	if err != nil {
		return nil, err
	}
	if m.ID() != r.ID {
		m.SetID(r.ID)
	}
	if m.IsLarge() && m.Large() == nil {
		body, err := l.body(r.ID, m)
		if err != nil {
			m.Release()
			return nil, err
		}
		m.SetLarge(body)
	}
	return m, nil
}

// body is the body of a large message. Old brokers moved a message without its body: then it is the original's.
func (l *loadedMessages) body(id int64, m *message.Message) (message.Body, error) {
	there, err := l.s.bodies.Exists(id)
	if err != nil {
		return nil, err
	}
	if orig, ok := m.Property(message.PropOrigMessageID).Int64(); ok && !there {
		if there, err := l.s.bodies.Exists(orig); err != nil {
			return nil, err
		} else if there {
			from, err := l.s.bodies.Get(orig)
			if err != nil {
				return nil, err
			}
			defer from.Release()
			return l.s.CopyBody(id, true, from)
		}
	}
	if !there {
		l.s.log.Warn("the body of a large message is missing, it is delivered empty", "id", id)
	}
	b, err := l.s.bodies.Get(id)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// ref finds a reference that is there. Where there is none any more, gone says whether that is no wonder.
func (l *loadedMessages) ref(id, queue int64, gone bool) *loadedRef {
	if i, ok := l.index[id]; ok {
		for n := l.messages[i].first; n != 0; {
			ref := &l.refs[n-1]
			if ref.queue == queue && !ref.gone {
				return ref
			}
			n = ref.next
		}
		if gone { // counts and times of a reference that compaction wrote behind its end
			return nil
		}
	}
	l.unknown++
	return nil
}

// prepare gathers a prepared transaction. One that cannot be applied is rolled back.
func (l *loadedMessages) prepare(t *Transaction) error {
	in := buf.NewReader(t.Xid)
	tx := loadedTx{PreparedTx: broker.PreparedTx{Tx: t.ID, Xid: xidOf(in.Xid())}}
	if in.Err() != nil {
		return fmt.Errorf("xid: %w", in.Err())
	}
	sent := map[int64]*message.Message{}
	for i := range t.Records {
		r := &t.Records[i]
		in := buf.NewReader(r.Payload)
		switch {
		case r.Kind == DeleteTx:
		case r.UserType == typeMessage || r.UserType == typeLargeMessage:
			m, err := l.message(r)
			if err != nil {
				return err
			}
			sent[r.ID] = m
			tx.messages = append(tx.messages, m)
		case r.UserType == typeRef:
			if m := sent[r.ID]; m != nil {
				tx.Sent = append(tx.Sent, broker.PreparedRef{Msg: m, Queue: in.Int64(), Scheduled: m.Scheduled()})
				break
			}
			l.s.log.Warn("prepared transaction adds a reference of an unknown message", "tx", t.ID, "message", r.ID)
			tx.broken = true
		case r.UserType == typeAck:
			ref := l.ref(r.ID, in.Int64(), false)
			if ref == nil || ref.held {
				l.s.log.Warn("prepared transaction acknowledges what is not there", "tx", t.ID, "message", r.ID)
				tx.broken = true
				break
			}
			ref.held = true
			tx.acks = append(tx.acks, ref)
		case r.UserType == typeDuplicate:
			tx.Dups = append(tx.Dups, broker.PreparedDup{Record: r.ID, Address: in.SS(), ID: slices.Clone(in.Block())})
		case r.UserType == typeScheduled:
			// Ignored, as Artemis does.
		default:
			if err := l.pages.Record(r.UserType, r.Payload, r.Kind == UpdateTx, true); err != nil {
				return err
			}
		}
		if in.Err() != nil {
			return in.Err()
		}
	}
	if l.held = append(l.held, tx); tx.broken {
		for _, ref := range tx.acks {
			ref.held = false
		}
	}
	return nil
}

// deliver hands everything to the broker.
func (l *loadedMessages) deliver(r broker.Recovery) {
	if l.unknown > 0 {
		l.s.log.Warn("records refer to messages or references that are not there", "records", l.unknown)
	}
	lost := 0
	for i := range l.refs {
		ref := &l.refs[i]
		if ref.gone {
			continue
		}
		m := &l.messages[ref.message]
		if !r.Ref(m.m, ref.queue, ref.count, ref.scheduled) {
			ref.gone = true
			m.live--
			lost++
		}
	}
	if lost > 0 {
		l.s.log.Warn("references to queues that do not exist are dropped", "references", lost)
	}
	for i := range l.held {
		tx := &l.held[i]
		if tx.broken {
			continue
		}
		for _, ref := range tx.acks {
			if !ref.gone {
				tx.Acks = append(tx.Acks, broker.PreparedRef{Msg: l.messages[ref.message].m, Queue: ref.queue, Scheduled: ref.scheduled})
			}
		}
		r.Prepared(tx.PreparedTx)
	}
	for _, d := range l.dups {
		r.Duplicate(d.Address, d.ID, d.Record)
	}
	for _, o := range l.outcomes {
		r.Heuristic(o.record, o.xid, o.commit)
	}
}

// cleanUp writes what the load has found to be finished: deletes of messages nobody refers to, rollbacks of transactions
// that cannot be applied.
func (l *loadedMessages) cleanUp() error {
	s := l.s
	for i := range l.messages {
		if m := &l.messages[i]; m.live == 0 {
			if err := s.one(func(a *Appender) { _ = a.Delete(m.m.ID()) }); err != nil {
				return err
			}
			if m.m.Large() != nil {
				s.DeleteBody(m.m.ID())
			}
		}
	}
	for i := range l.held {
		if tx := &l.held[i]; tx.broken {
			if err := s.one(func(a *Appender) { a.RollbackTx(tx.Tx) }); err != nil {
				return err
			}
			for _, m := range tx.messages {
				if m.Large() != nil {
					s.DeleteBody(m.ID())
				}
			}
		}
	}
	return s.messages.Flush()
}

func (s *Store) one(f func(a *Appender)) error {
	a, err := s.messages.Begin(Wait)
	if err != nil {
		return err
	}
	f(a)
	_, err = a.Commit(nil, false)
	return err
}

// release lets go of the messages: the broker holds what it keeps.
func (l *loadedMessages) release() {
	for i := range l.messages {
		l.messages[i].m.Release()
	}
	for i := range l.held {
		for _, m := range l.held[i].messages {
			m.Release()
		}
	}
}

// checkPages refuses the start while messages wait in pages, which this broker does not serve yet. Pages without a live message
// are left as they are.
func (s *Store) checkPages(state *paging.State, queues map[int64]*broker.QueueRecord) error {
	folders, skipped, err := paging.Folders(s.o.FS, s.o.Paging)
	if err != nil {
		return err
	}
	for _, p := range skipped {
		s.log.Warn("page folder without an address is skipped", "folder", p)
	}
	for _, f := range folders {
		at, live, err := state.FindLive(f, func(q int64) bool { return queues[q] != nil }, func(m *paging.Message) error {
			if m.RecordType == message.RecordLargeMessage || len(m.Record) > 0 && m.Record[0] == persisterLarge {
				id, err := largeID(m)
				if err == nil {
					s.bodies.Found(id)
				}
				return err
			}
			return nil
		})
		if err != nil {
			return err
		}
		if live {
			return &LivePagesError{Address: f.Address, Folder: f.Path, Page: at.Page, Index: at.Index}
		}
	}
	return nil
}

// persisterLarge is the first byte of the record of a large message that is not Core's.
const persisterLarge = 4

func largeID(m *paging.Message) (int64, error) {
	r := buf.NewReader(m.Record)
	if m.RecordType != message.RecordLargeMessage {
		r.Skip(1)
	}
	return r.Int64(), r.Err()
}

// LivePagesError: an address has messages in its pages, and paging is not served yet.
type LivePagesError struct {
	Address, Folder string
	Page            int64
	Index           int
}

func (e *LivePagesError) Error() string {
	return fmt.Sprintf("address %s has messages in page files, which this version does not serve yet: %s, page %d, message %d; "+
		"start Artemis on this instance and drain the address first", e.Address, path.Clean(e.Folder), e.Page, e.Index)
}
