package broker

import (
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
)

// ConsumerOptions describe a consumer.
type ConsumerOptions struct {
	ID       int64
	Queue    string // may be address::queue; the address is ignored
	Filter   string
	Browse   bool
	Priority int32
	// Encodings are the message encodings that the sink can deliver, as bits 1 << message.Encoding.
	Encodings uint8
	Sink      Sink
}

// CreateConsumer attaches a consumer to a queue. It gets nothing before it has credit and the session is started.
func (s *Session) CreateConsumer(w *Work, o ConsumerOptions) (*Consumer, error) {
	q := s.b.Queue(o.Queue)
	if q == nil {
		return nil, errNoQueue(o.Queue)
	}
	perm := security.Consume
	if o.Browse {
		perm = security.Browse
	}
	if err := s.check(perm, q.address.name, q.cfg.Name); err != nil {
		return nil, err
	}
	f, err := s.b.parseFilter(o.Filter)
	if err == nil && f == nil && o.Filter != "" {
		err = errFilter(o.Filter) // blanks
	}
	if err != nil {
		return nil, err
	}
	c := &Consumer{ID: o.ID, Sequence: s.b.consumerSeq.Add(1), Session: s, Queue: q, Priority: o.Priority, Browse: o.Browse, Created: s.b.now(),
		sink: o.Sink, filter: f, encodings: o.Encodings, preAck: s.PreAcknowledge, started: s.started}
	if err := q.addConsumer(w, c); err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.consumers == nil {
		s.consumers = map[int64]*Consumer{}
	}
	s.consumers[o.ID] = c
	s.mu.Unlock()
	props := append(s.consumerProps(c), Prop{"_AMQ_ValidatedUser", s.Principal.User}, Prop{"_AMQ_CertSubjectDN", "unavailable"})
	if f := c.Filter(); f != "" {
		props = append(props, Prop{"_AMQ_FilterString", f})
	}
	s.b.notify("CONSUMER_CREATED", props...)
	return c, nil
}

func (s *Session) consumerProps(c *Consumer) []Prop {
	q := c.Queue
	props := []Prop{{"_AMQ_Address", q.address.name}, {"_AMQ_ClusterName", q.cfg.Name + s.b.opts.NodeID}, {"_AMQ_RoutingName", q.cfg.Name},
		{"_AMQ_Distance", int32(0)}, {"_AMQ_ConsumerCount", int32(q.Counts().Consumers)}, {"_AMQ_User", s.Principal.User},
		{"_AMQ_RemoteAddress", s.Conn().Remote}, {"_AMQ_SessionName", s.Name}, {"_AMQ_ConsumerName", c.ID}}
	return props
}

// CloseConsumer detaches a consumer; what it had goes back. False: there is none of that id.
func (s *Session) CloseConsumer(w *Work, id int64) bool {
	c := s.Consumer(id)
	if c == nil {
		return false
	}
	s.removeConsumer(w, c, false)
	return true
}

func (s *Session) removeConsumer(w *Work, c *Consumer, lost bool) {
	s.mu.Lock()
	if s.consumers[c.ID] == c {
		delete(s.consumers, c.ID)
	}
	s.mu.Unlock()
	q := c.Queue
	q.removeConsumer(w, c, lost)
	s.b.notify("CONSUMER_CLOSED", append(s.consumerProps(c), Prop{"_AMQ_FilterString", textOrNull(c.Filter())})...)
	if q.cfg.Transient && q.Counts().Consumers == 0 && !c.Browse {
		w.settle()
		err := s.b.DeleteQueue(w, q.cfg.Name, DeleteQueueOptions{CheckConsumers: true, AutoDeleteAddress: true})
		if e, ok := err.(*Error); err != nil && (!ok || e.Code != QueueDoesNotExist && e.Code != IllegalState) {
			s.b.log.Warn("cannot delete the queue of a shared subscription", "queue", q.cfg.Name, "error", err)
		}
	}
}

// forgetConsumer drops a consumer whose queue has been destroyed.
func (s *Session) forgetConsumer(c *Consumer) {
	s.mu.Lock()
	if s.consumers[c.ID] == c {
		delete(s.consumers, c.ID)
	}
	s.mu.Unlock()
}

// Acknowledge acknowledges message id of a consumer; cumulative: with all delivered before it. The acknowledgement joins
// the session's transaction, if it has one. a is answered when that is stored. What the store refuses is delivered and not
// acknowledged, as before: the client may acknowledge it again or return it.
func (s *Session) Acknowledge(w *Work, consumer, id int64, cumulative bool, a Answer) {
	c := s.Consumer(consumer)
	if c == nil {
		s.ackFailed(w, errorf(IllegalState, "AMQ229028: Consumer %d doesn't exist on the server", consumer), a)
		return
	}
	if c.Browse || c.preAck {
		s.Done(w, a, nil)
		return
	}
	tx := s.ackTx()
	q := c.Queue
	q.mu.Lock()
	last := c.given.find(id)
	n := 1
	switch {
	case last < 0 && !cumulative:
		n = 0
	case last < 0:
		n = c.given.n
	case cumulative:
		n = last + 1
	}
	if last < 0 && tx == nil && n > 0 {
		var back []Ref
		for range n {
			back = append(back, c.given.popFront())
		}
		q.cancel(w, back, cancelRollback, true)
		n = 0
	}
	stored := false
	var taken []txAck
	before := len(w.leaving)
	for range n {
		var r Ref
		if cumulative || last == 0 {
			r = c.given.popFront()
		} else {
			r = c.given.remove(last)
		}
		q.stats.AckAttempts++
		c.acknowledged++
		c.lastAcked = w.Now
		stored = stored || r.from == fromJournal && r.flags&refHeld == 0
		if tx != nil {
			taken = append(taken, txAck{q, r})
			continue
		}
		q.settle(w, r, c)
	}
	if !stored {
		w.certain(before)
	}
	q.unhold()
	q.deliver(w)
	q.mu.Unlock()
	if len(taken) > 0 {
		tx.ack(w, taken)
	}
	if last < 0 {
		s.ackFailed(w, errorf(IllegalState, "AMQ229027: Could not find reference on consumer ID=%d, messageId = %d queue = %s", consumer, id, q.cfg.Name), a)
		return
	}
	if a.Kind != 0 && stored && tx == nil {
		s.DoneStored(w, a)
		return
	}
	s.Done(w, a, nil)
}

func (s *Session) ackFailed(w *Work, err *Error, a Answer) {
	if tx := s.ackTx(); tx != nil {
		tx.lock()
		tx.fail(err)
		tx.unlock()
	}
	s.Done(w, a, err)
}

// unhold ends the pause of a group rebalance once nothing is in delivery.
func (q *Queue) unhold() {
	if q.delivering == 0 {
		q.hold = false
	}
}

// freed follows the end of deliveries that makes no room for others by itself: it goes on where a group rebalance waited
// for that.
func (q *Queue) freed(w *Work) {
	if q.hold {
		q.unhold()
		q.deliver(w)
	}
}

// settle takes a ref that c has acknowledged out of the queue.
func (q *Queue) settle(w *Work, r Ref, c *Consumer) {
	if r.flags&refHeld != 0 {
		w.release(r.Msg) // a non-destructive queue keeps it
		return
	}
	q.delivering--
	q.deliveringSize -= r.Msg.PersistentSize()
	q.leave(w, r, reasonAcked, c)
}

// Expired tells that the client found a message to have expired.
func (s *Session) Expired(w *Work, consumer, id int64) {
	c := s.Consumer(consumer)
	if c == nil {
		return
	}
	q := c.Queue
	q.mu.Lock()
	defer q.mu.Unlock()
	i := c.given.find(id)
	if i < 0 {
		return
	}
	r := c.given.remove(i)
	if r.flags&refHeld != 0 {
		w.release(r.Msg)
		if ref, ok := q.takeResident(id); ok {
			q.expire(w, ref)
		}
		return
	}
	q.delivering--
	q.deliveringSize -= r.Msg.PersistentSize()
	q.expire(w, r)
	q.freed(w)
}

// Release puts one delivered message back at its place, counting the attempt or not (an outcome of later protocols).
func (s *Session) Release(w *Work, consumer, id int64, failed bool) bool {
	c := s.Consumer(consumer)
	if c == nil {
		return false
	}
	q := c.Queue
	q.mu.Lock()
	defer q.mu.Unlock()
	i := c.given.find(id)
	if i < 0 {
		return false
	}
	r := c.given.remove(i)
	if !failed {
		r.Count--
	}
	q.cancel(w, []Ref{r}, cancelRollback, failed)
	q.deliver(w)
	return true
}

// Rollback rolls the session's transaction back. Everything delivered and not acknowledged returns without the delivery
// being counted; considerLast: the first of each consumer counts. What was acknowledged in the transaction returns with
// its count.
func (s *Session) Rollback(w *Work, considerLast bool, a Answer) {
	tx := s.tx
	if tx != nil && tx.xid != nil {
		tx = nil // a branch is rolled back by its own request
	} else {
		s.tx = nil
	}
	s.rollback(w, tx, considerLast)
	if a.Kind != 0 || a.Call != nil {
		s.DoneStored(w, a)
	}
}

// rollback rolls back tx, unless it is nil, and lets everything return that the session was given and did not acknowledge:
// its client has dropped that. The dead letters among it are on their way when it returns.
func (s *Session) rollback(w *Work, tx *Tx, considerLast bool) {
	started := s.started
	s.setStarted(w, false)
	back := s.takeBack(considerLast)
	if tx != nil {
		tx.rollback(w, back, Answer{})
	} else {
		cancelAll(w, back)
	}
	w.settle()
	if started {
		s.setStarted(w, true)
	}
}

// takeBack takes from the session's consumers what they have not acknowledged.
func (s *Session) takeBack(considerLast bool) map[*Queue][]Ref {
	back := map[*Queue][]Ref{}
	for _, c := range s.Consumers() {
		q := c.Queue
		q.mu.Lock()
		for first := true; c.given.n > 0; first = false {
			r := c.given.popFront()
			if !(first && considerLast) {
				r.Count--
			}
			back[q] = append(back[q], r)
		}
		q.mu.Unlock()
	}
	return back
}

func cancelAll(w *Work, back map[*Queue][]Ref) {
	for q, refs := range back {
		q.mu.Lock()
		q.cancel(w, refs, cancelRollback, true)
		q.deliver(w)
		q.mu.Unlock()
	}
}

// takeResident removes the waiting ref of a message.
func (q *Queue) takeResident(id int64) (Ref, bool) {
	for p := range q.levels {
		if r, ok := q.levels[p].takeID(id, q.recycle()); ok {
			q.resident--
			return r, true
		}
	}
	return Ref{}, false
}

// CoreOnly is ConsumerOptions.Encodings of a consumer that takes Core messages only.
const CoreOnly = uint8(1 << message.Core)
