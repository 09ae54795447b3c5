package broker

import "sync"

// Probe takes each of the broker's locks and lets go of it at once. Before each it tells at which one it is going to wait
// for: what the lock guards, and its name where there are several. A watchdog runs it on a goroutine of its own, for it
// does not return while a lock is stuck.
func (b *Broker) Probe(at func(kind, name string)) {
	at("changes of addresses and queues", "")
	pass(&b.admin)
	at("registry", "")
	pass(&b.mu)
	for _, s := range b.Sessions() {
		at("session", s.Name)
		pass(&s.mu)
	}
	for _, q := range b.Queues() {
		at("queue", q.Name())
		pass(&q.mu)
	}
}

func pass(l sync.Locker) {
	l.Lock()
	defer l.Unlock()
}
