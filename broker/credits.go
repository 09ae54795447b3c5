package broker

import (
	"strings"
	"sync"

	"github.com/saranga-mq/saranga/broker/config"
)

// creditQueue holds producers that wait until an address has room. Its lock is a leaf.
type creditQueue struct {
	mu   sync.Mutex
	wait []*CreditRequest
}

// A CreditRequest is a producer's request for credits that may have to wait.
type CreditRequest struct {
	grant   func()
	address *Address
}

// Cancel withdraws the request; grant may be running at this moment.
func (r *CreditRequest) Cancel() {
	if r == nil || r.address == nil {
		return
	}
	q := &r.address.credit
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, x := range q.wait {
		if x == r {
			q.wait = append(q.wait[:i:i], q.wait[i+1:]...)
			r.address.unwait()
			return
		}
	}
}

func (q *creditQueue) cancelAll() {
	q.mu.Lock()
	wait := q.wait
	q.wait = nil
	q.mu.Unlock()
	for _, r := range wait {
		r.address.unwait()
		r.grant()
	}
}

func (a *Address) unwait() {
	a.account.waiting.Add(-1)
	a.account.parent.waiting.Add(-1)
}

// full tells whether an address is at a limit: its own, the broker's, or the disk's.
func (b *Broker) full(a *Address, s *config.AddressSettings) bool {
	if n := int64(s.MaxSizeBytes); n >= 0 && a.account.Bytes() >= n {
		return true
	}
	if n := s.MaxSizeMessages; n >= 0 && a.account.Messages() >= n {
		return true
	}
	return b.totalFull() || b.diskFull.Load() && s.DiskFullPolicy != config.DiskFullDrop
}

// totalFull tells whether all addresses together are at the limit.
func (b *Broker) totalFull() bool {
	if n := b.opts.GlobalMaxBytes; n >= 0 && b.total.Bytes() >= n {
		return true
	}
	n := b.opts.GlobalMaxMessages
	return n >= 0 && b.total.Messages() >= n
}

// SetDiskFull tells that the disk is above its limit, or below again.
func (b *Broker) SetDiskFull(full bool) {
	if b.diskFull.Swap(full) == full {
		return
	}
	b.warned.Range(func(k, _ any) bool { // the next time is worth telling again
		if strings.HasPrefix(k.(string), "disk\x00") {
			b.warned.Delete(k)
		}
		return true
	})
	b.pokeGranter()
}

// refuses applies the address-full policy to a message about to be sent: an error for FAIL, drop for DROP. BLOCK, and
// PAGE until paging is built, take what was sent in spite of it: they withhold credits.
func (b *Broker) refuses(a *Address, s *config.AddressSettings) (drop bool, err error) {
	if b.diskFull.Load() {
		switch s.DiskFullPolicy {
		case config.DiskFullFail:
			return false, errAddressFull(a.name)
		case config.DiskFullDrop:
			b.warnOnce("disk", a.name, "the disk is full and disk-full-policy is DROP: messages sent to the address are dropped", "address", a.name)
			return true, nil
		}
	}
	if s.AddressFullPolicy == config.FullBlock || !b.full(a, s) {
		return false, nil
	}
	switch s.AddressFullPolicy {
	case config.FullFail:
		return false, errAddressFull(a.name)
	case config.FullDrop:
		if b.diskFull.Load() {
			return false, nil
		}
		b.warnOnce("drop", a.name, "AMQ222039: messages sent to the address are being dropped; its size is at the maximum", "address", a.name)
		return true, nil
	case config.FullPage:
		b.warnOnce("page", a.name, "the address is full and its policy is PAGE, which this version does not do yet: producers are blocked until there is room", "address", a.name)
	}
	return false, nil
}

// RequestCredits asks for room to send to an address. grant is called when there is, at once or later, from any goroutine
// with no lock held. failed: the address or the disk is full and the policy for that is FAIL; grant is called all the same
// when there is room.
func (s *Session) RequestCredits(name string, grant func()) (r *CreditRequest, failed bool) {
	b := s.b
	a := b.Address(bareAddress(name))
	if a == nil || a.name == b.opts.ManagementAddress {
		grant()
		return nil, false
	}
	st := a.Settings()
	if st.AddressFullPolicy == config.FullDrop && !b.diskFull.Load() && !a.Blocked() || !b.full(a, st) && !a.Blocked() {
		grant()
		return nil, false
	}
	r = &CreditRequest{grant: grant, address: a}
	a.account.waiting.Add(1)
	b.total.waiting.Add(1)
	a.credit.mu.Lock()
	a.credit.wait = append(a.credit.wait, r)
	a.credit.mu.Unlock()
	fails := st.AddressFullPolicy == config.FullFail
	if b.diskFull.Load() {
		fails = fails || st.DiskFullPolicy == config.DiskFullFail
		b.warnOnce("disk", a.name, "AMQ222212: the disk is full: message production is blocked on the address and its clients wait", "address", a.name)
	} else {
		b.warnOnce("block", a.name, "AMQ222183: blocking message production on address; size is at the maximum", "address", a.name, "bytes", a.account.Bytes(), "total", b.total.Bytes())
	}
	b.pokeGranter() // it may have emptied meanwhile
	return r, fails
}

// pokeGranter wakes the granter; it never blocks.
func (b *Broker) pokeGranter() {
	select {
	case b.shrunk <- struct{}{}:
	default:
	}
}

// granter hands out credits when memory has been freed.
func (b *Broker) granter() {
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-b.shrunk:
		}
		for _, a := range b.Addresses() {
			for {
				a.credit.mu.Lock()
				if len(a.credit.wait) == 0 || b.full(a, a.Settings()) || a.Blocked() {
					a.credit.mu.Unlock()
					break
				}
				r := a.credit.wait[0]
				a.credit.wait = a.credit.wait[1:]
				a.credit.mu.Unlock()
				a.unwait()
				r.grant()
			}
		}
	}
}
