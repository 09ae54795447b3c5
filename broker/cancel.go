package broker

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// addConsumer attaches a consumer. Browsers are not counted and never refused.
func (q *Queue) addConsumer(w *Work, c *Consumer) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.deleted.Load() {
		return errNoQueue(q.cfg.Name)
	}
	if c.Browse {
		c.places = new([10]place)
		q.browsers = append(q.browsers, c)
		q.rescan()
		return nil
	}
	if q.cfg.MaxConsumers >= 0 && q.nCons >= int(q.cfg.MaxConsumers) {
		return errorf(MaxConsumerLimitExceeded, "AMQ229200: Maximum Consumer Limit Reached on Queue:(address=%s,queue=%s)", q.address.name, q.cfg.Name)
	}
	i := sort.Search(len(q.consumers), func(i int) bool { return q.consumers[i].priority <= c.Priority })
	if i == len(q.consumers) || q.consumers[i].priority != c.Priority {
		q.consumers = slices.Insert(q.consumers, i, &consumerLevel{priority: c.Priority})
	}
	q.consumers[i].list = append(q.consumers[i].list, c)
	q.nCons++
	q.usedBefore = true
	q.reapMarked = false
	if q.nCons == 1 && q.cfg.DelayBeforeDispatch >= 0 {
		q.openAt = w.Now + q.cfg.DelayBeforeDispatch
	}
	if q.cfg.GroupRebalance {
		q.forgetGroups(nil)
		q.hold = q.cfg.GroupRebalancePauseDisp && q.delivering > 0
	}
	q.rescan()
	return nil // it may satisfy consumers-before-dispatch, which the next delivery sees: credit is yet to come
}

// removeConsumer detaches a consumer and puts back what it had. lost: its connection failed, so that the deliveries
// count.
func (q *Queue) removeConsumer(w *Work, c *Consumer, lost bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	q.forced = slices.DeleteFunc(q.forced, func(f forced) bool { return f.c == c })
	if c.Browse {
		q.browsers = slices.DeleteFunc(q.browsers, func(x *Consumer) bool { return x == c })
		q.rescan()
		return
	}
	for i, l := range q.consumers {
		if l.priority != c.Priority {
			continue
		}
		l.list = slices.DeleteFunc(l.list, func(x *Consumer) bool { return x == c })
		l.next = 0
		if len(l.list) == 0 {
			q.consumers = slices.Delete(q.consumers, i, i+1)
		}
		break
	}
	q.nCons--
	q.lastConsumerLeft = w.Now
	if q.exclusive == c {
		q.exclusive = nil
	}
	q.forgetGroups(c)
	var back []Ref
	for c.given.n > 0 {
		r := c.given.popFront()
		if !lost {
			r.Count-- // closing in good order does not use up an attempt
		}
		back = append(back, r)
	}
	q.cancel(w, back, cancelClosed, lost)
	if q.nCons == 0 {
		if q.cfg.ConsumersBeforeDispatch > 0 && q.delivering == 0 {
			q.open = false
		}
		if q.cfg.PurgeOnNoConsumers {
			q.purge(w)
		}
	}
	q.rescan()
	q.deliver(w)
}

// How references come back.
type cancelKind uint8

const (
	cancelClosed   cancelKind = iota // consumer or session closed, or connection lost: no redelivery delay
	cancelRollback                   // rolled back
)

// cancel puts references back that were given or acknowledged in a transaction that is rolled back. Those at the limit
// of attempts go to the dead-letter address; record: the delivery count is stored where it has changed.
func (q *Queue) cancel(w *Work, refs []Ref, kind cancelKind, record bool) {
	if len(refs) == 0 {
		return
	}
	s := q.address.Settings()
	back := refs[:0]
	for _, r := range refs {
		if r.flags&refHeld != 0 {
			w.release(r.Msg) // the queue still has its own
			continue
		}
		q.delivering--
		q.deliveringSize -= r.Msg.PersistentSize()
		if q.deleted.Load() {
			q.drop(w, r, reasonKilled) // the queue went while a transaction had the message
			continue
		}
		if !q.cfg.Internal && s.MaxDeliveryAttempts > 0 && int(r.Count) >= s.MaxDeliveryAttempts {
			q.deadLetter(w, r)
			continue
		}
		if record {
			q.saveCount(w, &r)
		}
		if kind == cancelRollback && s.RedeliveryDelay > 0 && !q.cfg.Internal {
			at := w.Now + redeliveryDelay(s.RedeliveryDelay.Milliseconds(), s.RedeliveryMultiplier, s.RedeliveryCollisionAvoidance, s.MaxRedeliveryDelay.Milliseconds(), r.Count)
			if max := q.b.maxRedeliveryRecords; max < 0 || int(r.Count) <= max {
				q.b.backings[r.from].Schedule(w, q, r, at)
			}
			r.flags |= refScheduled
			q.holdUntil(r, at)
			continue
		}
		back = append(back, r)
	}
	sort.SliceStable(back, func(i, j int) bool { return back[i].Msg.ID() < back[j].Msg.ID() })
	q.requeue(w, back)
	q.unhold()
}

// saveCount stores a delivery count that differs from the stored one, up to max-redelivery-records.
func (q *Queue) saveCount(w *Work, r *Ref) {
	if int32(r.saved) == r.Count || r.Count <= 0 {
		return
	}
	if max := q.b.maxRedeliveryRecords; max >= 0 && int(r.Count) > max {
		return
	}
	q.b.backings[r.from].Count(w, q, *r)
	r.saved = int16(min(r.Count, math.MaxInt16))
}

// redeliveryDelay is how long the n-th redelivery waits, in ms (queue-semantics §10.1).
func redeliveryDelay(delay int64, multiplier, collision float64, limit int64, count int32) int64 {
	d := float64(delay) * math.Pow(multiplier, float64(max(count-1, 0)))
	if collision > 0 {
		d += d * collision * (2*rand.Float64() - 1)
	}
	if limit <= 0 {
		limit = 10 * delay
	}
	return int64(min(d, float64(limit)))
}

// purge deletes everything that waits in the queue.
func (q *Queue) purge(w *Work) int {
	n := 0
	for p := q.top(); p >= 0; p = q.top() {
		r := q.levels[p].popFront(q.recycle())
		q.resident--
		q.drop(w, r, reasonKilled)
		n++
	}
	for _, r := range q.takeScheduled(func(*scheduledRef) bool { return true }) {
		q.drop(w, r.Ref, reasonKilled)
		n++
	}
	return n
}
