package broker

import (
	"github.com/saranga-mq/saranga/broker/message"
)

// deliver hands out what can be handed out now, within the bounds of one pass. Called with the queue's lock held.
//
// The store's goroutine takes the fast path only: no filter, no conversion, a plain socket. Anything else is left to the
// runner.
func (q *Queue) deliver(w *Work) {
	if q.resident == 0 && !q.cfg.NonDestructive && len(q.browsers) == 0 || q.nCons == 0 && len(q.browsers) == 0 {
		return
	}
	if q.behind {
		return // the runner goes on from where the last pass ended
	}
	if w.stored && (q.scanning || !q.allPlain()) {
		q.wake(w)
		return
	}
	q.pass(w)
}

// pass delivers up to its bounds; what is left goes to the runner.
func (q *Queue) pass(w *Work) {
	var b budget
	q.behind = false
	if len(q.browsers) > 0 {
		q.passBrowsers(w, &b)
	}
	switch {
	case !q.dispatchOpen(w):
	case q.scanning:
		q.passScanning(w, &b)
	default:
		q.passPlain(w, &b)
	}
	if b.spent() {
		q.behind = true
		q.wake(w)
	}
}

type budget struct{ refs, bytes, scanned int }

func (b *budget) spent() bool {
	return b.refs >= passRefs || b.bytes >= passBytes || b.scanned >= passScan
}

// passPlain hands the head of the queue to the next ready consumer, again and again.
func (q *Queue) passPlain(w *Work, b *budget) {
	recycle := q.recycle()
	for q.resident > 0 && !b.spent() {
		c, level := q.pick()
		if c == nil {
			return
		}
		p := q.top()
		l := &q.levels[p]
		r := l.front(recycle)
		if e := r.Msg.Expiration(); e != 0 && e <= w.Now {
			ref := l.popFront(recycle)
			q.resident--
			b.scanned++
			q.expire(w, ref)
			continue
		}
		taken := false
		if q.cfg.Exclusive && q.exclusive == nil {
			taken = q.handExclusive(w, b, c, r)
		} else {
			taken = q.hand(w, b, c, r)
		}
		if taken {
			l.popFront(recycle)
			q.resident--
			level.next++
		}
	}
}

// pick returns the next consumer that is ready, of the highest priority that has one.
func (q *Queue) pick() (*Consumer, *consumerLevel) {
	for _, l := range q.consumers {
		n := len(l.list)
		for k := range n {
			i := l.next + k
			for i >= n {
				i -= n
			}
			c := l.list[i]
			if c.ready() && (q.exclusive == nil || q.exclusive == c) {
				l.next = i
				return c, l
			}
		}
	}
	return nil, nil
}

// hand gives a ref to a consumer. False: the consumer could not take it and is now busy.
func (q *Queue) hand(w *Work, b *budget, c *Consumer, r *Ref) bool {
	count := r.Count + 1
	if c.Browse {
		count = r.Count
	}
	cost, outcome := c.sink.Deliver(c, r.Msg, count)
	if outcome == Busy {
		c.busy = true
		return false
	}
	if outcome == Streaming {
		c.busy, c.stream = true, true
	}
	w.touch(c.sink)
	if c.credit != Unlimited {
		c.credit -= int64(cost)
	}
	b.refs++
	b.bytes += cost
	c.delivered++
	c.deliveredSize += int64(r.Msg.Size())
	c.lastDelivered = w.Now
	if c.Browse {
		return true
	}
	given := *r
	given.Count = count
	if q.cfg.NonDestructive {
		given.flags |= refHeld
		given.Msg.Retain()
	}
	if c.preAck {
		q.stats.AckAttempts++
		c.acknowledged++
		if q.cfg.NonDestructive {
			w.release(given.Msg)
		} else {
			q.drop(w, given, reasonAcked)
		}
		return true
	}
	if q.b.persistCountFirst && given.Msg.IsDurable() {
		q.b.backings[given.from].Count(w, q, given)
	}
	if given.flags&refHeld == 0 {
		q.delivering++
		q.deliveringSize += given.Msg.PersistentSize()
	}
	c.given.push(given)
	return true
}

// passScanning lets every consumer look for its own next message, in turns, higher priorities first.
func (q *Queue) passScanning(w *Work, b *budget) {
	for !b.spent() {
		progress := false
		for _, l := range q.consumers {
			n := len(l.list)
			for k := range n {
				i := (l.next + k) % n
				c := l.list[i]
				if !c.ready() || q.exclusive != nil && q.exclusive != c {
					continue
				}
				if q.handNext(w, b, c) {
					l.next = (i + 1) % n
					progress = true
					break
				}
				if b.spent() {
					return
				}
			}
			if progress {
				break
			}
		}
		if !progress {
			return
		}
	}
}

// A place is where a consumer of its own pace stands in one level.
type place struct {
	at cursor

	// What a browser, or a consumer of a non-destructive queue, has been given, which stays in the queue: all up to an id, and
	// of the strays these, with whether they were met since it started over.
	last   int64
	strays map[int64]bool
	again  bool // it has started over and not caught up: what it has been given is passed by
}

// startOver sends the consumer back to the beginning. keeps: what it was given stays in the queue.
func (p *place) startOver(epoch uint32, keeps bool) {
	p.at = cursor{epoch: epoch}
	if !keeps {
		return
	}
	p.again = true
	for id := range p.strays {
		p.strays[id] = false
	}
}

// forgetful tells that most of the strays that it remembers must have left the queue: starting over forgets them.
func (p *place) forgetful(l *refList) bool { return !p.again && len(p.strays) > 2*l.live+64 }

// caughtUp ends starting over. Strays that were not met have left the queue.
func (p *place) caughtUp() {
	if !p.again {
		return
	}
	p.again = false
	for id, met := range p.strays {
		if !met {
			delete(p.strays, id)
		}
	}
}

// knows tells whether the consumer has been given a ref.
func (p *place) knows(r *Ref) bool {
	id := r.Msg.ID()
	if r.flags&refStray == 0 {
		return id <= p.last
	}
	_, given := p.strays[id]
	if given {
		p.strays[id] = true
	}
	return given
}

// gave notes that the consumer was given a ref.
func (p *place) gave(id int64, stray bool) {
	if !stray {
		p.last = max(p.last, id)
		return
	}
	if p.strays == nil {
		p.strays = map[int64]bool{}
	}
	p.strays[id] = true
}

// look returns the next ref of level p for c, nil at the end or when the budget is spent. back undoes the step.
func (q *Queue) look(b *budget, c *Consumer, p int) (r *Ref, back cursor) {
	l := &q.levels[p]
	pl := &c.places[p]
	if pl.at.c != nil && (pl.at.epoch != l.epoch || pl.forgetful(l)) {
		pl.startOver(l.epoch, c.Browse || q.cfg.NonDestructive)
	}
	for {
		back = pl.at
		r = l.next(&pl.at)
		if r == nil {
			pl.caughtUp()
			return nil, back
		}
		if b.scanned++; b.scanned >= passScan {
			pl.at = back
			return nil, back
		}
		if !pl.again || !pl.knows(r) {
			return r, back
		}
	}
}

// handNext finds the next message for c from its own place on and hands it over.
func (q *Queue) handNext(w *Work, b *budget, c *Consumer) bool {
	for p := 9; p >= 0; p-- {
		l := &q.levels[p]
		if l.live == 0 {
			continue
		}
		pl := &c.places[p]
		for {
			r, back := q.look(b, c, p)
			if r == nil {
				if b.spent() {
					return false
				}
				break
			}
			if e := r.Msg.Expiration(); e != 0 && e <= w.Now && !c.Browse {
				ref := l.take(&pl.at, q.recycle())
				q.resident--
				q.expire(w, ref)
				continue
			}
			if !c.matches(r.Msg) {
				continue
			}
			first := false
			if q.grouped && !c.Browse && r.Msg.Has(message.HasGroupID) {
				owner := q.groups[q.groupKey(r.Msg)]
				if owner != nil && owner != c {
					continue // its owner gets it, be it busy or not
				}
				first = owner == nil
			}
			id, stray := r.Msg.ID(), r.flags&refStray != 0
			if !q.handGrouped(w, b, c, r, first) {
				pl.at = back
				return false
			}
			if q.cfg.NonDestructive || c.Browse {
				pl.gave(id, stray)
			} else {
				l.take(&pl.at, q.recycle())
				q.resident--
			}
			return true
		}
	}
	return false
}

// handGrouped hands over a message and keeps track of its group. first: c becomes the owner.
func (q *Queue) handGrouped(w *Work, b *budget, c *Consumer, r *Ref, first bool) bool {
	if q.cfg.Exclusive && q.exclusive == nil && !c.Browse {
		return q.handExclusive(w, b, c, r)
	}
	if !q.grouped || c.Browse || !r.Msg.Has(message.HasGroupID) {
		return q.hand(w, b, c, r)
	}
	key := q.groupKey(r.Msg)
	taken := false
	if first {
		taken = q.handFirst(w, b, c, r)
	} else {
		taken = q.hand(w, b, c, r)
	}
	if taken {
		q.own(key, c, r.Msg)
	}
	return taken
}

// handExclusive hands over the first message of an exclusive queue: c gets all from now on.
func (q *Queue) handExclusive(w *Work, b *budget, c *Consumer, r *Ref) bool {
	taken := q.handFirst(w, b, c, r)
	if taken {
		q.exclusive = c
	}
	return taken
}

// handFirst hands over the first message for a new owner, which carries the queue's group-first-key if there is one.
func (q *Queue) handFirst(w *Work, b *budget, c *Consumer, r *Ref) bool {
	if q.cfg.GroupFirstKey == "" {
		return q.hand(w, b, c, r)
	}
	marked := q.markFirst(r.Msg)
	if marked == nil {
		return q.hand(w, b, c, r)
	}
	defer marked.Release()
	return q.handMarked(w, b, c, r, marked)
}

// markFirst returns a copy of the message that carries the queue's group-first-key.
func (q *Queue) markFirst(m *message.Message) *message.Message {
	edit := m.Edit()
	edit.Set(q.cfg.GroupFirstKey, true)
	if body := m.Large(); body != nil {
		body.Retain()
		edit.SetLarge(body)
	}
	marked, err := q.b.pool.Build(edit)
	if err != nil {
		if body := m.Large(); body != nil {
			body.Release()
		}
		return nil
	}
	marked.SetID(m.ID())
	return marked
}

// own notes who gets a group from now on; a sequence below zero ends the group.
func (q *Queue) own(key string, c *Consumer, m *message.Message) {
	if n, ok := m.Property(message.PropGroupSequence).Int64(); ok && n < 0 {
		delete(q.groups, key)
		q.restart()
		return
	}
	if q.groups == nil {
		q.groups = make(map[string]*Consumer)
	}
	q.groups[key] = c
}

// handMarked hands over another form of the message while the ref stays that of the original.
func (q *Queue) handMarked(w *Work, b *budget, c *Consumer, r *Ref, shown *message.Message) bool {
	original := c.sink
	c.sink = shownSink{original, shown}
	defer func() { c.sink = original }()
	return q.hand(w, b, c, r)
}

// shownSink delivers another form of the message.
type shownSink struct {
	Sink
	shown *message.Message
}

func (s shownSink) Deliver(c *Consumer, _ *message.Message, count int32) (int, Outcome) {
	return s.Sink.Deliver(c, s.shown, count)
}

// passBrowsers shows browsers what they have not seen yet.
func (q *Queue) passBrowsers(w *Work, b *budget) {
	for _, c := range q.browsers {
		for c.ready() && !b.spent() {
			if !q.handNext(w, b, c) {
				break
			}
		}
	}
}

// allPlain tells that the store's goroutine may deliver to every consumer.
func (q *Queue) allPlain() bool {
	for _, l := range q.consumers {
		for _, c := range l.list {
			if !c.sink.Plain() {
				return false
			}
		}
	}
	return len(q.browsers) == 0
}

// dispatchOpen tells whether the queue delivers at all: not paused, and enough consumers have come.
func (q *Queue) dispatchOpen(w *Work) bool {
	if q.paused || q.hold || q.address.paused.Load() || q.nCons == 0 {
		return false
	}
	if q.open || q.cfg.ConsumersBeforeDispatch <= 0 {
		return true
	}
	if int32(q.nCons) >= q.cfg.ConsumersBeforeDispatch || q.cfg.DelayBeforeDispatch >= 0 && w.Now >= q.openAt {
		q.open = true
	}
	return q.open
}

// rescan decides again whether consumers need places of their own, after something that matters has changed.
func (q *Queue) rescan() {
	scanning := q.grouped || q.foreign || q.cfg.NonDestructive
	for _, l := range q.consumers {
		for _, c := range l.list {
			scanning = scanning || c.filter != nil
		}
	}
	q.scanning = scanning
	q.cursored = len(q.browsers)
	for _, l := range q.consumers {
		for _, c := range l.list {
			switch {
			case scanning && c.places == nil:
				c.places = new([10]place)
			case !scanning:
				c.places = nil
			}
			if scanning {
				q.cursored++
			}
		}
	}
}

// restart lets consumers with places of their own look at everything again, because what they passed may be theirs now.
func (q *Queue) restart() {
	for p := range q.levels {
		q.levels[p].epoch++
	}
}

// wake lets the runner have a look once the lock is free.
func (q *Queue) wake(w *Work) {
	if !q.running {
		q.running = true
		w.wakes = append(w.wakes, q)
	}
}

// run starts the runner, a goroutine that ends when there is nothing left to do.
func (q *Queue) run() {
	q.b.goroutine(func() {
		w := q.b.NewWork()
		for {
			w.Begin()
			q.mu.Lock()
			q.pass(w)
			more := q.behind
			if !more {
				q.callForced(w)
				q.running = false
			}
			q.mu.Unlock()
			w.Flush()
			if more && w.refused {
				q.rest(w)
				w.Flush()
				return
			}
			if !more {
				return
			}
		}
	})
}

// rest ends the runner, which would take away the same messages again and again: they could not be moved. It goes on with
// the next message, acknowledgement or credit, or after owedPeriod.
func (q *Queue) rest(w *Work) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.behind, q.running = false, false
	q.callForced(w)
	if q.resting {
		return
	}
	q.resting = true
	q.b.wheel.After(owedPeriod, func() {
		q.b.executor(func() {
			w := q.b.NewWork()
			q.mu.Lock()
			q.resting = false
			q.deliver(w)
			q.mu.Unlock()
			w.Flush()
		})
	})
}
