package broker

import (
	"bytes"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
)

// A sendTarget is where the session has sent last: its address as bytes, what it leads to, and that it may.
type sendTarget struct {
	raw     []byte // UTF-16LE of the address as the client writes it
	name    string
	route   *route
	allowed bool
	// creates has a bit for each routing type (shifted by one, so that Unspecified counts) that would create something.
	creates uint8
}

// SendOptions change how a message is sent.
type SendOptions struct {
	Address  string              // used instead of the message's own address, if not empty
	Routing  message.RoutingType // forced by a prefix; Unspecified takes the message's own
	Answer   Answer
	Producer *Producer // who counts it; may be nil
	// Body is the complete body of a large message, which is not synced yet; nil if it is.
	Body BodyWriter
}

// Send takes over m, and o.Body, and sends it. Whatever becomes of it is told through o.Answer; a message refused within a
// transaction makes it rollback-only. The only error is ErrBlocks: then m and o.Body are still the caller's.
func (s *Session) Send(w *Work, m *message.Message, o SendOptions) error {
	if o.Body == nil {
		return s.send(w, m, &o)
	}
	err := s.send(w, m, &o)
	if err == nil && o.Body != nil { // nobody will sync it
		o.Body.Abort()
	}
	return err
}

func (s *Session) send(w *Work, m *message.Message, o *SendOptions) error {
	t, err := s.target(m, o.Address)
	want := m.RoutingType()
	if o.Routing != message.Unspecified {
		want = o.Routing
	}
	if fresh := s.Fresh(); err == nil && (!t.allowed || !fresh) {
		if !fresh && !s.MayBlock {
			return ErrBlocks
		}
		perm := security.Send
		if t.name == s.b.opts.ManagementAddress {
			perm = security.Manage
		}
		err = s.check(perm, t.name, "")
		t.allowed = err == nil
	}
	if err == nil && t.name == s.b.opts.ManagementAddress && s.b.opts.Manage != nil {
		return s.manage(w, m, *o)
	}
	if err == nil && t.creates&(1<<(want+1)) != 0 {
		if !s.MayBlock {
			return ErrBlocks
		}
		if err = s.autoCreate(t.name, want); err == nil {
			t, err = s.target(m, o.Address)
		}
	}
	if err != nil {
		s.refuse(w, m, o.Answer, err)
		return nil
	}
	rt := t.route
	a := rt.address
	if m.RecordSize()+512 > s.b.store.MaxRecord() && m.IsDurable() && m.Large() == nil {
		if !s.MayBlock {
			return ErrBlocks
		}
		if m, err = s.b.enlarge(m); err != nil {
			s.refuse(w, m, o.Answer, err)
			return nil
		}
	}
	if o.Body != nil && a != nil {
		if err := s.syncBody(m, rt, o); err == ErrBlocks {
			return err
		} else if err != nil {
			s.refuse(w, m, o.Answer, err)
			return nil
		}
	}
	s.sent.Add(1)
	if o.Producer != nil {
		o.Producer.Count(m)
	}
	if a == nil {
		// nobody knows the address and the message does not say what to create: it is accepted and gone
		s.drop(w, m, o.Answer)
		return nil
	}
	st := a.Settings()
	var named *routeTo
	if m.Has(message.HasInternal) {
		if named, err = namedQueues(m); err != nil {
			s.refuse(w, m, o.Answer, err)
			return nil
		}
	}
	if m, err = s.adjust(w, m, t, st); err != nil {
		s.refuse(w, m, o.Answer, err)
		return nil
	}
	m.UseAddress(t.name)
	if full, err := s.b.refuses(a, st); err != nil {
		s.refuse(w, m, o.Answer, err)
		return nil
	} else if full {
		s.drop(w, m, o.Answer)
		return nil
	}
	out := newOutcome(s, o.Answer)
	out.send.msg = m
	out.body, o.Body = o.Body, nil
	a.account.take(m)
	if named != nil {
		err = s.b.fillNamed(t.name, rt, &out.send, named, want)
	} else {
		err = s.b.fill(t.name, rt, &out.send, want)
	}
	for err == nil && named == nil && !out.send.routed() && s.b.creates(s.b.route(t.name))&(1<<(want+1)) != 0 {
		// the queue that was to be created, or was there, has been deleted for not being used: this is so rare that it may block
		if err = s.autoCreate(t.name, want); err == nil {
			out.send.giveBack()
			err = s.b.fill(t.name, s.b.route(t.name), &out.send, want)
		}
	}
	if err != nil {
		out.send.abandon()
		out.abortBody()
		out.free()
		s.refuse(w, nil, o.Answer, err)
		return nil
	}
	if out.send.routed() {
		a.routed.Add(1)
	} else {
		a.unrouted.Add(1)
		if st.SendToDLAOnNoRoute && rt.empty() && st.DeadLetterAddress != "" && st.DeadLetterAddress != a.name {
			s.unroutable(w, out, a, st)
			return nil
		}
	}
	if tx := s.sendTx(); tx != nil {
		tx.send(w, out)
		return nil
	}
	s.commitSend(w, a, out)
	return nil
}

// inTx tells whether a send belongs to a transaction.
func (s *Session) inTx() bool {
	if s.XA {
		return s.tx != nil
	}
	return !s.AutoCommitSends
}

// sendTx is the transaction that a send belongs to, nil when it takes effect by itself: an XA session outside a branch.
func (s *Session) sendTx() *Tx {
	switch {
	case s.XA:
		return s.tx
	case s.AutoCommitSends:
		return nil
	}
	return s.transaction()
}

// ackTx is the transaction that an acknowledgement belongs to, nil when it takes effect by itself.
func (s *Session) ackTx() *Tx {
	switch {
	case s.XA:
		return s.tx
	case s.AutoCommitAcks:
		return nil
	}
	return s.transaction()
}

// commitSend stores a message outside a transaction.
func (s *Session) commitSend(w *Work, a *Address, out *outcome) {
	m := out.send.msg
	durable := out.send.durable()
	if out.body != nil {
		if durable {
			s.storeBehind(out)
			return
		}
		out.abortBody() // its queue was not durable, or was deleted
	}
	if m.Has(message.HasDuplicateID) && a.dups.size > 0 {
		s.commitOnce(w, a, out, durable)
		return
	}
	if durable {
		out.send.ops(w, 0)
		s.wait(w, out, 0)
		return
	}
	out.send.number(s.b)
	s.now(w, out)
}

// commitOnce stores a message with a duplicate id outside a transaction.
func (s *Session) commitOnce(w *Work, a *Address, out *outcome, durable bool) {
	dup := bytes.Clone(out.send.msg.DuplicateID())
	switch a.dups.reserve(dup) {
	case idSettled:
		s.b.log.Warn("AMQ222059: Duplicate message detected - message will not be routed", "address", a.name)
		answer := out.answer
		out.send.abandon()
		out.free()
		if answer.Kind == 0 && answer.Call == nil {
			return
		}
		s.DoneStored(w, answer) // the message that used it may still be on its way to the disk
		return
	case idReserved:
		answer := out.answer
		out.send.abandon()
		out.free()
		s.Done(w, answer, errDuplicate(a.name))
		return
	}
	rec := int64(0)
	var err error
	switch {
	case a.dups.persist:
		rec = s.b.store.NextID()
		w.settle()
		tx := s.b.store.NextID()
		w.op(Op{Kind: OpAddDuplicate, Tx: tx, ID: rec, Name: a.name, Bytes: dup})
		out.send.ops(w, tx)
		w.op(Op{Kind: OpCommit, Tx: tx})
		err = s.wait(w, out, Transactional)
	case durable:
		out.send.ops(w, 0)
		err = s.wait(w, out, 0)
	default:
		out.send.number(s.b)
		s.now(w, out)
	}
	if err != nil {
		a.dups.forget(dup)
		return
	}
	a.dups.settle(w, dup, rec)
}

// target finds out where a message goes.
func (s *Session) target(m *message.Message, address string) (*sendTarget, error) {
	epoch := s.b.epoch.Load()
	raw := m.RawAddress()
	if address == "" && raw != nil {
		for i := range s.targets {
			t := &s.targets[i]
			if t.route != nil && t.route.epoch == epoch && bytes.Equal(t.raw, raw) {
				return t, nil
			}
		}
	}
	name := address
	if name == "" {
		name = m.Address()
	}
	if name == "" {
		if s.DefaultAddress == "" {
			return nil, errorf(IllegalState, "AMQ229029: No address configured on the Server's Session")
		}
		name = s.DefaultAddress
	} else if s.DefaultAddress == "" {
		s.DefaultAddress = name
	}
	s.targets[1] = s.targets[0]
	t := &s.targets[0]
	*t = sendTarget{name: name, route: s.b.route(name)}
	if address == "" {
		t.raw = bytes.Clone(raw)
	}
	t.creates = s.b.creates(t.route)
	return t, nil
}

// creates tells for which routing types a send along r would have to create something first.
func (b *Broker) creates(r *route) uint8 {
	bit := func(t message.RoutingType) uint8 { return 1 << (t + 1) }
	if r.address == nil {
		return bit(message.Anycast) | bit(message.Multicast)
	}
	var out uint8
	b.mu.RLock()
	types := r.address.types
	anycast := false
	for _, x := range r.address.bindings {
		if q, ok := x.(*Queue); ok && q.Routing() == message.Anycast {
			anycast = true
		}
	}
	b.mu.RUnlock()
	if !types.Has(message.Multicast) {
		out |= bit(message.Multicast)
	}
	if !types.Has(message.Anycast) || !anycast && !r.isFQQN && r.address.Settings().AutoCreateQueues && !r.address.internal {
		out |= bit(message.Anycast)
	}
	return out
}

// autoCreate creates what a send with a routing type needs (queue-semantics §3.1).
func (s *Session) autoCreate(name string, want message.RoutingType) error {
	b := s.b
	address := bareAddress(name)
	st := b.SettingsFor(address)
	a := b.Address(address)
	if !b.supports(address, want) {
		if !st.AutoCreateAddresses {
			return errNoAddress(address)
		}
		if err := s.check(security.CreateAddress, address, ""); err != nil {
			return err
		}
		b.admin.Lock()
		var err error
		if a = b.Address(address); a == nil {
			a, err = b.createAddress(address, SetOf(want), true, false)
		} else if !a.types.Has(want) {
			err = b.addType(a, want)
		}
		b.admin.Unlock()
		if err != nil {
			return err
		}
	}
	if want != message.Anycast || !st.AutoCreateQueues {
		return nil
	}
	for _, q := range b.queuesOf(a) {
		if q.Routing() == message.Anycast {
			return nil
		}
	}
	if q := b.Queue(address); q != nil {
		return errNoQueue(address)
	}
	if err := s.check(security.CreateDurableQueue, address, address); err != nil {
		return err
	}
	cfg := b.DefaultQueue(address, address)
	cfg.Routing = message.Anycast
	cfg.AutoCreated = true
	cfg.AutoDelete = st.AutoDeleteQueues
	cfg.User = s.Principal.User
	_, err := b.CreateQueue(cfg, CreateOptions{AutoCreateAddress: true, IgnoreExisting: true})
	return err
}

// adjust applies what the broker changes in a message on its way in; the message is encoded anew only when something
// does change.
func (s *Session) adjust(w *Work, m *message.Message, t *sendTarget, st *config.AddressSettings) (*message.Message, error) {
	b := s.b
	expiration := expirationFor(m.Expiration(), w.Now, st)
	if b.opts.RejectEmptyValidatedUser && s.Principal.User == "" {
		return m, errorf(IllegalState, "AMQ229225: Validated User is not set")
	}
	user := b.opts.PopulateValidatedUser && s.Principal.User != ""
	readdressed := m.RawAddress() == nil && m.Encoding() == message.Core || t.raw == nil
	if expiration == m.Expiration() && !user && !st.EnableIngressTimestamp && !m.Has(message.HasInternal) && !readdressed {
		return m, nil
	}
	edit := m.Edit()
	edit.Expiration = expiration
	if readdressed {
		edit.Address = &t.name
	}
	if user {
		edit.Set(message.PropValidatedUser, s.Principal.User)
	}
	if st.EnableIngressTimestamp {
		edit.Set(message.PropIngressTime, w.Now)
	}
	if m.Has(message.HasInternal) {
		edit.Remove(routesItself)
	}
	if body := m.Large(); body != nil {
		body.Retain()
		edit.SetLarge(body)
	}
	changed, err := b.pool.Build(edit)
	if err != nil {
		return m, err
	}
	changed.SetID(m.ID())
	m.Release()
	return changed, nil
}

// expirationFor applies the expiry settings of an address (queue-semantics §9.1).
func expirationFor(exp, now int64, s *config.AddressSettings) int64 {
	delay, low, high := s.ExpiryDelay.Milliseconds(), s.MinExpiryDelay.Milliseconds(), s.MaxExpiryDelay.Milliseconds()
	switch {
	case s.NoExpiry:
		return 0
	case delay >= 0:
		if exp == 0 {
			return now + delay
		}
	case exp == 0:
		if high >= 0 {
			return now + high
		}
		if low >= 0 {
			return now + low
		}
	case high >= 0 && exp > now+high:
		return now + high
	case low >= 0 && exp < now+low:
		return now + low
	}
	return exp
}

// refuse tells that a message was not taken; within a transaction that makes it rollback-only.
func (s *Session) refuse(w *Work, m *message.Message, a Answer, err error) {
	if m != nil {
		discard(m)
	}
	if tx := s.sendTx(); tx != nil {
		if e := AsError(err); e.Code != IllegalState {
			tx.lock()
			tx.fail(e)
			tx.unlock()
		}
	}
	s.Done(w, a, err)
}

// Refuse tells that a message which did not become whole was not taken, as if Send had refused it.
func (s *Session) Refuse(w *Work, a Answer, err error) { s.refuse(w, nil, a, err) }

// drop accepts a message that goes nowhere.
func (s *Session) drop(w *Work, m *message.Message, a Answer) {
	discard(m)
	s.Done(w, a, nil)
}

func discard(m *message.Message) {
	if body := m.Large(); body != nil {
		body.Discard()
	}
	m.Release()
}

// unroutable sends a message that nothing is bound for to the dead-letter address.
func (s *Session) unroutable(w *Work, out *outcome, a *Address, st *config.AddressSettings) {
	m, answer := out.send.msg, out.answer
	if m.ID() == 0 {
		m.SetID(s.b.store.NextID())
	}
	out.send.msg = nil
	out.send.abandon()
	out.free()
	edit := m.Edit()
	to := st.DeadLetterAddress
	edit.Address = &to
	edit.Expiration = 0
	edit.Remove(func(name string) bool { return name == message.PropRoutingType })
	edit.Set(message.PropOrigAddress, a.name)
	edit.Set(message.PropOrigQueue, nil)
	edit.Set(message.PropOrigMessageID, m.ID())
	if rt := m.RoutingType(); rt != message.Unspecified {
		edit.Set(message.PropOrigRoutingType, int8(rt))
	}
	if body := m.Large(); body != nil {
		body.Retain()
		edit.SetLarge(body)
	}
	dead, err := s.b.pool.Build(edit)
	if err == nil && m.Large() != nil {
		dead.SetID(m.ID())
	}
	m.Release()
	if err != nil {
		s.refuse(w, nil, answer, err)
		return
	}
	rt := s.b.route(to)
	if rt.address == nil {
		s.drop(w, dead, answer)
		return
	}
	o := newOutcome(s, answer)
	o.send.msg = dead
	rt.address.account.take(dead)
	if err := s.b.fill(to, rt, &o.send, message.Unspecified); err != nil {
		o.send.abandon()
		o.free()
		s.refuse(w, nil, answer, err)
		return
	}
	if tx := s.sendTx(); tx != nil {
		tx.send(w, o)
		return
	}
	s.commitSend(w, rt.address, o)
}

// manage hands a message to management; the answer leaves when that is done.
func (s *Session) manage(w *Work, m *message.Message, o SendOptions) error {
	if !s.MayBlock {
		return ErrBlocks
	}
	s.b.opts.Manage(s, m)
	m.Release()
	s.Done(w, o.Answer, nil)
	return nil
}

// enlarge turns a message that is too large for a record into a large one with a new id.
func (b *Broker) enlarge(m *message.Message) (*message.Message, error) {
	id := b.store.NextID()
	body, err := b.store.CreateBody(id, m.IsDurable())
	if err != nil {
		return m, err
	}
	if _, err = body.Write(m.Body()); err != nil {
		body.Abort()
		return m, err
	}
	file, err := FinishBody(body)
	if err != nil {
		return m, err
	}
	edit := m.Edit()
	edit.Set(message.PropLargeSize, int64(len(m.Body())))
	edit.Body = nil
	edit.SetLarge(file)
	large, err := b.pool.Build(edit)
	if err != nil {
		file.Discard()
		file.Release()
		return m, err
	}
	large.SetID(id)
	m.Release()
	return large, nil
}
