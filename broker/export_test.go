package broker

// What scripts do by hand instead of waiting for a period.

func (b *Broker) ScanExpired()       { b.scanExpired() }
func (b *Broker) ScanUnused()        { b.reap(false) }
func (b *Broker) ScanTransactions()  { b.scanTransactions() }
func (b *Broker) ScanSlowConsumers() { b.scanSlowConsumers() }

// Busy tells whether a runner or mover is at work.
func (b *Broker) Busy() bool {
	b.movers.mu.Lock()
	busy := b.movers.running
	b.movers.mu.Unlock()
	for _, q := range b.Queues() {
		q.mu.Lock()
		busy = busy || q.running || q.behind
		q.mu.Unlock()
	}
	return busy
}

// AutoDelete tells what cannot be seen otherwise of an address.
func (a *Address) AutoCreated() bool { return a.autoCreated }

// HoldLock runs f with the queue's lock held.
func (q *Queue) HoldLock(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f()
}

// Strays is how many messages out of order the consumer is remembered to have got.
func (c *Consumer) Strays() (n int) {
	c.Queue.mu.Lock()
	defer c.Queue.mu.Unlock()
	if c.places != nil {
		for i := range c.places {
			n += len(c.places[i].strays)
		}
	}
	return n
}
