package broker

import (
	"github.com/saranga-mq/saranga/broker/config"
)

// scanExpired looks for expired messages that wait in queues, a bounded number under each hold of a lock.
func (b *Broker) scanExpired() {
	w := b.NewWork()
	for _, q := range b.Queues() {
		if q.cfg.Internal {
			continue
		}
		w.Begin()
		w.stuck = map[int64]bool{}
		q.pin()
		for p := range q.levels {
			var at cursor
			for more := true; more && !b.stopping.Load() && len(w.stuck) < maxStuck; {
				q.mu.Lock()
				l := &q.levels[p]
				more = false
				for range passScan {
					r := l.next(&at)
					if r == nil {
						break
					}
					more = true
					if e := r.Msg.Expiration(); e != 0 && e <= w.Now && !w.stuck[r.Msg.ID()] {
						ref := l.take(&at, false)
						q.resident--
						q.expire(w, ref)
					}
				}
				q.mu.Unlock()
				w.Flush()
			}
		}
		q.unpin()
	}
}

// reap deletes queues and addresses that were created for use and are not used any more (queue-semantics §3.2). They must
// qualify in two scans; at start one look is enough and use does not matter.
func (b *Broker) reap(atStart bool) {
	w := b.NewWork()
	for _, q := range b.Queues() {
		if b.reapable(w, q, atStart) {
			b.log.Debug("deleting an unused queue", "queue", q.cfg.Name)
			if err := b.DeleteQueue(w, q.cfg.Name, DeleteQueueOptions{CheckConsumers: true, CheckMessages: true}); err != nil {
				b.log.Debug("an unused queue stays", "queue", q.cfg.Name, "error", err)
			}
			w.Flush()
		}
	}
	for _, a := range b.Addresses() {
		b.admin.Lock()
		if b.addressReapable(w, a, atStart) {
			if err := b.deleteAddress(w, a); err != nil {
				b.log.Warn("cannot delete an unused address", "address", a.name, "error", err)
			}
		}
		b.admin.Unlock()
	}
	w.Flush()
}

func (b *Broker) reapable(w *Work, q *Queue, atStart bool) bool {
	s := q.address.Settings()
	q.mu.Lock()
	defer q.mu.Unlock()
	count := int64(q.resident + q.delivering + q.scheduled.len())
	ok := !q.cfg.Internal && q.cfg.AutoDelete && q.nCons == 0 && q.incoming.Load() == 0 &&
		(q.cfg.AutoDeleteMessageCount < 0 || count <= q.cfg.AutoDeleteMessageCount)
	if atStart {
		return ok
	}
	since := q.lastConsumerLeft
	if !q.usedBefore {
		if !s.AutoDeleteQueuesSkipUsage {
			ok = false
		}
		since = q.created
	}
	ok = ok && w.Now-since >= q.cfg.AutoDeleteDelay
	marked := q.reapMarked
	q.reapMarked = ok
	return ok && marked
}

func (b *Broker) addressReapable(w *Work, a *Address, atStart bool) bool {
	s := a.Settings()
	b.mu.RLock()
	_, there := b.addresses[a.name]
	ok := there && a.autoCreated && !a.internal && !a.temporary && len(a.bindings) == 0 && s.AutoDeleteAddresses
	since := a.unboundAt
	b.mu.RUnlock()
	if atStart {
		return ok
	}
	if since == 0 {
		if !s.AutoDeleteAddressesSkipUsage {
			ok = false
		}
		since = a.created
	}
	ok = ok && w.Now-since >= s.AutoDeleteAddressesDelay.Milliseconds()
	marked := a.reapMarked
	a.reapMarked = ok
	return ok && marked
}

// scanSlowConsumers applies the slow-consumer policy once per check period of each queue's address.
func (b *Broker) scanSlowConsumers() {
	now := b.now()
	for _, q := range b.Queues() {
		s := q.address.Settings()
		if s.SlowConsumerThreshold <= 0 {
			continue
		}
		period := s.SlowConsumerCheckPeriod.Milliseconds()
		threshold := float64(s.SlowConsumerThreshold) / float64(s.SlowConsumerUnit.Seconds())
		q.mu.Lock()
		if q.rateAt == 0 {
			q.rateAt, q.rateSeen = now, q.stats.Added
			for _, l := range q.consumers {
				for _, c := range l.list {
					c.rateSeen = c.acknowledged
				}
			}
		}
		elapsed := now - q.rateAt
		if elapsed < period {
			q.mu.Unlock()
			continue
		}
		rate := float64(q.stats.Added-q.rateSeen) * 1000 / float64(elapsed)
		count := int64(q.resident + q.delivering)
		check := q.nCons > 0 && !(rate < threshold*float64(q.nCons) && float64(count) < threshold)
		var slow []*Consumer
		for _, l := range q.consumers {
			for _, c := range l.list {
				if r := float64(c.acknowledged-c.rateSeen) * 1000 / float64(elapsed); check && r < threshold {
					slow = append(slow, c)
				}
				c.rateSeen = c.acknowledged
			}
		}
		q.rateAt, q.rateSeen = now, q.stats.Added
		n := q.nCons
		q.mu.Unlock()
		for _, c := range slow {
			b.log.Warn("AMQ222107: slow consumer", "queue", q.cfg.Name, "connection", c.Session.Conn().ID, "remote", c.Session.Conn().Remote)
			if s.SlowConsumerPolicy == config.SlowKill {
				c.Session.Conn().Close("slow consumer")
				continue
			}
			b.notify("CONSUMER_SLOW", Prop{"_AMQ_ConsumerCount", int32(n)}, Prop{"_AMQ_Address", q.address.name}, Prop{"_AMQ_RemoteAddress", c.Session.Conn().Remote},
				Prop{"_AMQ_ConnectionName", c.Session.Conn().ID}, Prop{"_AMQ_ConsumerName", c.ID}, Prop{"_AMQ_SessionName", c.Session.Name})
		}
	}
}
