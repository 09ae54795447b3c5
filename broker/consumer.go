package broker

import (
	"slices"

	"github.com/saranga-mq/saranga/broker/filter"
	"github.com/saranga-mq/saranga/broker/message"
)

// A Sink takes the deliveries of one consumer to its peer. All sinks of a connection share its Output.
type Sink interface {
	Output
	// Deliver appends the message to the connection's output, under the queue's lock: it must not block, call the broker
	// or keep m without retaining it. cost is what the delivery takes from the consumer's credit.
	//
	// Busy: not taken; the sink calls Consumer.Ready when it can take more. Streaming: taken, but the consumer gets
	// nothing else until Consumer.Ready: a large body is on its way.
	Deliver(c *Consumer, m *message.Message, count int32) (cost int, outcome Outcome)
	// Plain tells that Deliver and Flush are quick enough for the store's goroutine: no conversion, no TLS.
	Plain() bool
	// QueueGone tells the peer that the consumer's queue was destroyed. Called with no lock held.
	QueueGone(c *Consumer)
}

// Outcome of Sink.Deliver.
type Outcome uint8

const (
	Delivered Outcome = iota
	Busy
	Streaming
)

// Unlimited is the credit of a consumer without flow control.
const Unlimited = int64(1) << 62

// A Consumer takes messages from a queue for a session. The queue's lock guards everything but the fields set at
// creation.
type Consumer struct {
	ID       int64 // chosen by the client, unique in the session
	Sequence int64 // unique in the broker
	Session  *Session
	Queue    *Queue
	Priority int32
	Browse   bool
	Created  int64 // ms since the epoch

	sink      Sink
	filter    *filter.Filter
	encodings uint8 // message encodings it can take, 1 << message.Encoding
	preAck    bool

	started bool
	credit  int64
	busy    bool // waits for the sink to call Ready
	stream  bool // because a large body is on its way
	closed  bool

	// given are the references delivered and not yet acknowledged, in order of delivery.
	given refRing

	places *[10]place // its own places in the queue's levels; nil while it gets the head of the queue like everybody

	delivered     int64 // messages, ever
	deliveredSize int64
	acknowledged  int64
	lastDelivered int64
	lastAcked     int64
	rateSeen      int64
}

// Filter is the text of the consumer's own selector, empty for none.
func (c *Consumer) Filter() string {
	if c.filter == nil {
		return ""
	}
	return c.filter.String()
}

// ready tells whether a message could be handed over now.
func (c *Consumer) ready() bool { return c.started && c.credit > 0 && !c.busy && !c.closed }

// matches tells whether the consumer takes this message at all.
func (c *Consumer) matches(m *message.Message) bool {
	if c.encodings&(1<<m.Encoding()) == 0 {
		c.Queue.warnEncoding(m)
		return false
	}
	return c.filter == nil || c.filter.Match(Filterable(m))
}

// Grant adds credit. Unlimited lifts the limit for good; Unlimited credit stays.
func (c *Consumer) Grant(w *Work, n int64) {
	q := c.Queue
	q.mu.Lock()
	switch {
	case n == Unlimited || c.credit == Unlimited:
		c.credit = Unlimited
	default:
		c.credit += n
	}
	q.deliver(w)
	q.mu.Unlock()
}

// ResetCredit sets the credit to zero.
func (c *Consumer) ResetCredit() {
	c.Queue.mu.Lock()
	if c.credit != Unlimited {
		c.credit = 0
	}
	c.Queue.mu.Unlock()
}

// Spend takes credit for a part of a large body.
func (c *Consumer) Spend(w *Work, n int) {
	q := c.Queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if c.credit != Unlimited {
		c.credit -= int64(n)
	}
	if c.credit <= 0 {
		q.callForced(w)
	}
}

// Credit is the credit left.
func (c *Consumer) Credit() int64 {
	c.Queue.mu.Lock()
	defer c.Queue.mu.Unlock()
	return c.credit
}

// Ready tells that the sink can take messages again after Busy or Streaming.
func (c *Consumer) Ready(w *Work) {
	q := c.Queue
	q.mu.Lock()
	if c.busy {
		c.busy, c.stream = false, false
		q.deliver(w)
		q.callForced(w)
	}
	q.mu.Unlock()
}

func (c *Consumer) start(w *Work, on bool) {
	q := c.Queue
	q.mu.Lock()
	c.started = on
	if on {
		q.deliver(w)
	}
	q.mu.Unlock()
}

// Settled calls done once everything that the consumer may have now has been delivered: a forced delivery. done runs
// under the queue's lock and must only append to the output.
func (c *Consumer) Settled(w *Work, done func(*Work)) {
	q := c.Queue
	q.mu.Lock()
	q.deliver(w)
	q.forced = append(q.forced, forced{c, done})
	q.callForced(w)
	q.mu.Unlock()
}

// forced is a forced delivery: done is called once c has got everything it may have.
type forced struct {
	c    *Consumer
	done func(*Work)
}

// callForced calls the forced deliveries that need not wait: neither for the runner, which is still scanning, nor for a sink
// that is busy and would take more after what it is sending now. A large body that waits for credit is not waited for.
// Called with the lock held.
func (q *Queue) callForced(w *Work) {
	if q.behind || len(q.forced) == 0 {
		return
	}
	q.forced = slices.DeleteFunc(q.forced, func(f forced) bool {
		now := !f.c.busy || f.c.stream && f.c.credit <= 0
		if now {
			f.done(w)
		}
		return now
	})
}

// Outstanding is the number of messages delivered and not acknowledged.
func (c *Consumer) Outstanding() int {
	c.Queue.mu.Lock()
	defer c.Queue.mu.Unlock()
	return c.given.n
}

// ConsumerStats are the counters of a consumer.
type ConsumerStats struct {
	Outstanding, Delivered, DeliveredSize, Acknowledged int64
	LastDelivered, LastAcknowledged                     int64
	Credit                                              int64
}

// Stats returns the counters.
func (c *Consumer) Stats() ConsumerStats {
	c.Queue.mu.Lock()
	defer c.Queue.mu.Unlock()
	return ConsumerStats{int64(c.given.n), c.delivered, c.deliveredSize, c.acknowledged, c.lastDelivered, c.lastAcked, c.credit}
}
