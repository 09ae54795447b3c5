package broker

import (
	"sync/atomic"

	"github.com/saranga-mq/saranga/broker/message"
)

// An Account counts the memory of messages: one per address, and one over all that is the parent of those. A message is
// counted once, on the address it was routed to, and given back by its last release.
type Account struct {
	bytes    atomic.Int64
	messages atomic.Int64
	waiting  atomic.Int32 // producers that wait for this account to shrink
	parent   *Account
	shrunk   func() // called when the account shrinks while somebody waits; must not block
}

// Bytes is what is counted now.
func (a *Account) Bytes() int64 { return a.bytes.Load() }

// Messages is how many messages are counted now.
func (a *Account) Messages() int64 { return a.messages.Load() }

// take counts a message.
func (a *Account) take(m *message.Message) {
	n := m.Memory()
	a.bytes.Add(n)
	a.messages.Add(1)
	if p := a.parent; p != nil {
		p.bytes.Add(n)
		p.messages.Add(1)
	}
	m.Charge(a)
}

// Give implements message.Account.
func (a *Account) Give(n int64) {
	a.bytes.Add(-n)
	a.messages.Add(-1)
	wake := a.waiting.Load() > 0
	if p := a.parent; p != nil {
		p.bytes.Add(-n)
		p.messages.Add(-1)
		wake = wake || p.waiting.Load() > 0
	}
	if wake {
		a.shrunk()
	}
}
