package broker

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/filter"
	"github.com/saranga-mq/saranga/broker/message"
)

// An Address is a name that messages are sent to, with the bindings that take them. Its fields are guarded by the
// broker's registry lock unless they are atomic.
type Address struct {
	name        string
	id          int64
	types       RoutingTypes
	autoCreated bool
	internal    bool
	temporary   bool
	stored      bool // in the bindings journal
	created     int64
	unboundAt   int64 // ms: when the last binding went, 0 for never
	reapMarked  bool
	pauseRec    int64

	bindings []Binding // in order of creation
	paused   atomic.Bool
	blocked  atomic.Bool // an operator gives producers no credits
	settings atomic.Pointer[config.AddressSettings]
	account  Account
	dups     *duplicates
	next     atomic.Uint32 // round robin over anycast queues
	credit   creditQueue

	routed, unrouted atomic.Int64
}

// Name is the address's name.
func (a *Address) Name() string { return a.name }

// Settings are the address settings in force. They must not be changed.
func (a *Address) Settings() *config.AddressSettings { return a.settings.Load() }

// Account is what the address's messages take.
func (a *Address) Account() *Account { return &a.account }

// Routed returns how many messages were routed to at least one queue, and to none.
func (a *Address) Routed() (routed, unrouted int64) { return a.routed.Load(), a.unrouted.Load() }

// A Binding is what an address leads to: a local queue or a divert; later a remote queue or a quorum queue.
type Binding interface {
	// Name is unique in the broker.
	Name() string
	// Group names the bindings of which a message goes to one: a multicast queue is a group of its own.
	Group() string
	// Routing is the type a message must have, Unspecified for any.
	Routing() message.RoutingType
	// Exclusive bindings keep a message from all others.
	Exclusive() bool
	// Matches tells whether the binding takes the message.
	Matches(m *message.Message) bool
	// HighAcceptPriority tells whether a consumer of the binding would take the message now.
	HighAcceptPriority(m *message.Message) bool
	// Route adds what the message leads to; false when the binding is on its way out and must be looked up again.
	Route(r *routing, m *message.Message) bool
}

// Group implements Binding.
func (q *Queue) Group() string {
	if q.Routing() == message.Anycast {
		return q.address.name
	}
	return q.cfg.Name
}

// Routing implements Binding.
func (q *Queue) Routing() message.RoutingType { return q.match.Load().routing }

// Exclusive implements Binding.
func (q *Queue) Exclusive() bool { return false }

// Matches implements Binding.
func (q *Queue) Matches(m *message.Message) bool {
	f := q.match.Load().filter
	return f == nil || f.Match(Filterable(m))
}

// HighAcceptPriority implements Binding.
func (q *Queue) HighAcceptPriority(m *message.Message) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.consumers {
		for _, c := range l.list {
			if c.filter == nil || c.filter.Match(Filterable(m)) {
				return true
			}
		}
	}
	return false
}

// Route implements Binding: it takes the token that keeps the queue until the reference arrives.
func (q *Queue) Route(r *routing, _ *message.Message) bool {
	if !q.enter() {
		return false
	}
	if !q.takesNew() {
		q.incoming.Add(-1)
		return true
	}
	r.send.queues = append(r.send.queues, q)
	return true
}

// enter takes a token; false when the queue is being deleted.
func (q *Queue) enter() bool {
	q.incoming.Add(1)
	if q.deleted.Load() {
		q.incoming.Add(-1)
		return false
	}
	return true
}

// accept takes a token if the queue adds messages at all.
func (q *Queue) accept() bool {
	if !q.enter() {
		return false
	}
	if !q.takesNew() {
		q.incoming.Add(-1)
		return false
	}
	return true
}

// takesNew tells whether the queue adds new messages: it is enabled, and not one that purges while nobody listens.
func (q *Queue) takesNew() bool {
	if q.gates.Load() == 0 {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.cfg.Enabled && !(q.cfg.PurgeOnNoConsumers && q.nCons == 0)
}

// A route is what an address name leads to at one moment: bindings of the address and of wildcard addresses that match.
// It is immutable; sessions keep it until the broker's topology changes.
type route struct {
	epoch   uint64
	address *Address // nil: there is none
	fqqn    *Queue   // address::queue: only this one
	isFQQN  bool
	diverts []Binding   // not exclusive
	only    []Binding   // exclusive diverts
	groups  [][]Binding // of each a message goes to one binding
	simple  *Queue      // the whole route is this queue, without filter or divert
}

// empty tells that nothing is bound.
func (r *route) empty() bool {
	return len(r.groups) == 0 && len(r.diverts) == 0 && len(r.only) == 0
}

// splitFQQN takes address::queue apart.
func splitFQQN(name string) (address, queue string, ok bool) {
	return strings.Cut(name, "::")
}

// bareAddress is the address part of a name.
func bareAddress(name string) string {
	address, _, _ := strings.Cut(name, "::")
	return address
}

// route returns what a name leads to.
func (b *Broker) route(name string) *route {
	epoch := b.epoch.Load()
	if v, ok := b.routes.Load(name); ok {
		if r := v.(*route); r.epoch == epoch {
			return r
		}
	}
	b.mu.RLock()
	r := b.buildRoute(name)
	b.mu.RUnlock()
	if r.address != nil && !r.isFQQN { // names that a client could make up any number of are not remembered
		b.routes.Store(name, r)
	}
	return r
}

// buildRoute computes a route. Called with the registry lock held.
func (b *Broker) buildRoute(name string) *route {
	r := &route{epoch: b.epoch.Load()}
	address, queue, isFQQN := splitFQQN(name)
	r.address = b.addresses[address]
	r.isFQQN = isFQQN
	bindings := []Binding{}
	if r.address != nil {
		bindings = append(bindings, r.address.bindings...)
	}
	if b.wildcards.RoutingEnabled {
		for _, a := range b.wildAddresses {
			if a != r.address && b.matchesWild(a.name, address) && !b.isWild(address) {
				bindings = append(bindings, a.bindings...)
			}
		}
	}
	if isFQQN {
		for _, x := range bindings {
			if q, ok := x.(*Queue); ok && q.cfg.Name == queue {
				r.fqqn = q
				r.groups = [][]Binding{{q}}
			}
		}
		return r
	}
	at := map[string]int{}
	for _, x := range bindings {
		if _, isDivert := x.(*Divert); isDivert {
			if x.Exclusive() {
				r.only = append(r.only, x)
			} else {
				r.diverts = append(r.diverts, x)
			}
			continue
		}
		g := x.Group()
		i, ok := at[g]
		if !ok {
			i = len(r.groups)
			at[g] = i
			r.groups = append(r.groups, nil)
		}
		r.groups[i] = append(r.groups[i], x)
	}
	if len(r.groups) == 1 && len(r.groups[0]) == 1 && len(r.diverts) == 0 && len(r.only) == 0 && r.address != nil {
		if q, ok := r.groups[0][0].(*Queue); ok && q.match.Load().filter == nil {
			r.simple = q
		}
	}
	return r
}

// routing is the state of routing one message.
type routing struct {
	b     *Broker
	send  *send
	depth int // diverts passed
	err   error
}

// send is a message on its way to its queues. It holds a token of each queue.
type send struct {
	msg    *message.Message
	queues []*Queue
	one    [1]*Queue // backs queues in the usual case
	more   []*send   // what diverts made of it
}

func (s *send) add(q *Queue) { s.queues = append(s.queues, q) }

// routed tells whether the message leads anywhere.
func (s *send) routed() bool {
	if len(s.queues) > 0 {
		return true
	}
	for _, m := range s.more {
		if m.routed() {
			return true
		}
	}
	return false
}

// fill routes s.msg to what name leads to, starting with r, and again when a queue is deleted meanwhile.
func (b *Broker) fill(name string, r *route, s *send, want message.RoutingType) error {
	if s.queues == nil {
		s.queues = s.one[:0]
	}
	if q := r.simple; q != nil {
		if want != message.Unspecified && want != q.Routing() {
			return nil
		}
		if q.enter() {
			if q.takesNew() {
				s.add(q)
			} else {
				q.incoming.Add(-1)
			}
			return nil
		}
		r = b.route(name) // it is being deleted
	}
	for {
		x := &routing{b: b, send: s}
		if b.along(x, r, want) {
			return x.err
		}
		s.giveBack()
		r = b.route(name)
	}
}

// durable tells whether the store has to know the message.
func (s *send) durable() bool {
	for _, q := range s.queues {
		if q.cfg.Durable && s.msg.IsDurable() {
			return true
		}
	}
	for _, m := range s.more {
		if m.durable() {
			return true
		}
	}
	return false
}

// ops adds the operations that store the message, in transaction tx or 0 for none.
func (s *send) ops(w *Work, tx int64) {
	n := int32(0)
	if s.msg.IsDurable() {
		for _, q := range s.queues {
			if !q.cfg.Durable {
				continue
			}
			if n == 0 {
				w.op(Op{Kind: OpAddMessage, Tx: tx, Msg: s.msg})
			}
			w.op(Op{Kind: OpAddRef, Tx: tx, Msg: s.msg, Queue: q.ID})
			n++
		}
	}
	s.msg.Durable.Store(n)
	if n == 0 && s.msg.ID() == 0 {
		s.msg.SetID(w.b.store.NextID())
	}
	for _, m := range s.more {
		m.ops(w, tx)
	}
}

// number gives ids to messages that the store will not see.
func (s *send) number(b *Broker) {
	if s.msg.ID() == 0 {
		s.msg.SetID(b.store.NextID())
	}
	for _, m := range s.more {
		m.number(b)
	}
}

// arrive puts the message into its queues and gives up the sender's hold on it.
func (s *send) arrive(w *Work) {
	m := s.msg
	if m.Large() != nil {
		m.Queued.Store(int32(len(s.queues)))
		if len(s.queues) == 0 {
			w.bodies = append(w.bodies, m.ID())
		}
	}
	for i, q := range s.queues {
		if i < len(s.queues)-1 {
			m.Retain()
		}
		from := fromMemory
		if q.cfg.Durable && m.IsDurable() {
			from = fromJournal
		}
		q.add(w, Ref{Msg: m, from: from}, m.Scheduled())
		s.queues[i] = nil
	}
	if len(s.queues) == 0 {
		w.release(m)
	}
	s.queues, s.msg = s.queues[:0], nil
	for _, m := range s.more {
		m.arrive(w)
	}
	s.more = nil
}

// giveBack gives back the tokens and drops what diverts made, which the store knows nothing of.
func (s *send) giveBack() { s.giveUp(discardBody) }

// giveUp gives back the tokens and lets go of what diverts made; body is called for what of that is large.
func (s *send) giveUp(body func(*message.Message)) {
	for i, q := range s.queues {
		q.incoming.Add(-1)
		s.queues[i] = nil
	}
	s.queues = s.queues[:0]
	for _, m := range s.more {
		m.drop(body)
	}
	s.more = nil
}

// drop lets go of everything; body is called for each large message.
func (s *send) drop(body func(*message.Message)) {
	s.giveUp(body)
	if s.msg != nil {
		if s.msg.Large() != nil {
			body(s.msg)
		}
		s.msg.Release()
		s.msg = nil
	}
}

func discardBody(m *message.Message) { m.Large().Discard() }

// abandon gives up a send that will not happen and that no crash can bring back.
func (s *send) abandon() { s.drop(discardBody) }

// withdraw is abandon for what the store has and has just been told to forget: until that is on disk a crash brings it back,
// with its bodies.
func (s *send) withdraw(w *Work) {
	s.drop(func(m *message.Message) { w.bodies = append(w.bodies, m.ID()) })
}

// along applies a route to a message.
func (b *Broker) along(x *routing, r *route, want message.RoutingType) bool {
	m := x.send.msg
	if q := r.simple; q != nil {
		if want != message.Unspecified && want != q.Routing() {
			return true
		}
		return q.Route(x, m)
	}
	diverted := false
	for _, d := range r.only {
		if d.Matches(m) {
			diverted = true
			if !d.Route(x, m) {
				return false
			}
		}
	}
	if diverted {
		return true
	}
	for _, d := range r.diverts {
		if d.Matches(m) && !d.Route(x, m) {
			return false
		}
	}
	for _, g := range r.groups {
		if bind := b.choose(r, g, m, want); bind != nil && !bind.Route(x, m) {
			return false
		}
	}
	return true
}

// choose picks the binding of a group that gets the message: in turn, one with a consumer that takes it before others.
func (b *Broker) choose(r *route, g []Binding, m *message.Message, want message.RoutingType) Binding {
	fits := func(x Binding) bool {
		return (want == message.Unspecified || x.Routing() == want) && x.Matches(m)
	}
	if len(g) == 1 {
		if fits(g[0]) {
			return g[0]
		}
		return nil
	}
	start := uint32(0)
	if r.address != nil {
		start = r.address.next.Add(1) - 1
	}
	var fallback Binding
	for k := range g {
		x := g[(int(start)+k)%len(g)]
		if !fits(x) {
			continue
		}
		if x.HighAcceptPriority(m) {
			return x
		}
		if fallback == nil {
			fallback = x
		}
	}
	return fallback
}

// isWild tells whether a name contains wildcard words.
func (b *Broker) isWild(name string) bool {
	for _, word := range strings.Split(name, b.wildcards.Delimiter) {
		if word == b.wildcards.AnyWords || word == b.wildcards.SingleWord {
			return true
		}
	}
	return false
}

// matchesWild tells whether a wildcard address takes messages sent to name.
func (b *Broker) matchesWild(pattern, name string) bool {
	return matchWords(strings.Split(pattern, b.wildcards.Delimiter), strings.Split(name, b.wildcards.Delimiter), b.wildcards.AnyWords, b.wildcards.SingleWord)
}

// matchWords matches words against a pattern in time linear in both: only the last # that was tried can still need
// more words.
func matchWords(pattern, words []string, anyWords, singleWord string) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < len(words) {
		switch {
		case p < len(pattern) && pattern[p] == anyWords:
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == singleWord || pattern[p] == words[n]):
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == anyWords {
		p++
	}
	return p == len(pattern)
}

// parseFilter is filter.Parse with the error that clients get.
func (b *Broker) parseFilter(text string) (*filter.Filter, error) {
	f, err := filter.Parse(text)
	if err != nil {
		return nil, errFilter(strings.TrimSpace(text))
	}
	return f, nil
}

func removeBinding(list []Binding, x Binding) []Binding {
	return slices.DeleteFunc(slices.Clone(list), func(y Binding) bool { return y == x })
}
