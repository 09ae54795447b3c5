package broker

import (
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/saranga-mq/saranga/broker/config"
)

// creditQueue holds producers that wait until an address has room. Its lock is a leaf.
type creditQueue struct {
	mu   sync.Mutex
	wait []*creditRequest
}

// A creditRequest is what a session waits for under one name of an address, all its requests together.
type creditRequest struct {
	session *Session
	name    string
	credits int32
	grant   func(credits int32)
}

// ask adds a request.
func (a *Address) ask(s *Session, name string, credits int32, grant func(int32)) {
	q := &a.credit
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.wait {
		if r.session == s && r.name == name {
			r.credits = int32(min(int64(r.credits)+int64(credits), math.MaxInt32))
			return
		}
	}
	q.wait = append(q.wait, &creditRequest{s, name, credits, grant})
	a.waiting(1)
}

// served takes the request whose turn it is, nil when there is none.
func (a *Address) served() *creditRequest {
	q := &a.credit
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.wait) == 0 {
		return nil
	}
	r := q.wait[0]
	q.wait[0] = nil
	q.wait = q.wait[1:]
	a.waiting(-1)
	return r
}

// cancel forgets what a session waits for.
func (a *Address) cancel(s *Session) {
	q := &a.credit
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.wait)
	q.wait = slices.DeleteFunc(q.wait, func(r *creditRequest) bool { return r.session == s })
	a.waiting(int32(len(q.wait) - n))
}

func (a *Address) waiting(n int32) {
	a.account.waiting.Add(n)
	a.account.parent.waiting.Add(n)
}

// grantAll lets everybody go on: the address is gone.
func (a *Address) grantAll() {
	for r := a.served(); r != nil; r = a.served() {
		r.grant(r.credits)
	}
}

// cancelCredits forgets what the session waits for, at its end.
func (s *Session) cancelCredits() {
	for _, a := range s.credits {
		a.cancel(s)
	}
	s.credits = nil
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
//
// Twice the broker's global limit is the end for clients that do not keep to their credits, whatever the policy: it is
// better to refuse than to be killed for want of memory.
func (b *Broker) refuses(a *Address, s *config.AddressSettings) (drop bool, err error) {
	if n := b.opts.GlobalMaxBytes; n > 0 && b.total.Bytes() >= 2*n {
		b.warnOnce("flood", a.name, "twice the global-max-size is in memory: messages sent to the address are refused", "address", a.name, "total", b.total.Bytes())
		return false, errAddressFull(a.name)
	}
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

// RequestCredits asks for room to send to an address. granted: there is. If not, grant is called when there is, from any
// goroutine with no lock held; what was asked for several times comes in one. failed: the address or the disk is full and
// the policy for that is FAIL; grant is called all the same when there is room.
func (s *Session) RequestCredits(name string, credits int32, grant func(credits int32)) (granted, failed bool) {
	b := s.b
	a := b.Address(bareAddress(name))
	if a == nil || a.name == b.opts.ManagementAddress {
		return true, false
	}
	st := a.Settings()
	if st.AddressFullPolicy == config.FullDrop && !b.diskFull.Load() && !a.Blocked() || !b.full(a, st) && !a.Blocked() {
		return true, false
	}
	if s.credits == nil {
		s.credits = map[string]*Address{}
	}
	s.credits[name] = a
	a.ask(s, name, credits, grant)
	if b.Address(a.name) != a {
		a.grantAll() // it was deleted meanwhile: nobody would look at it again
	}
	fails := st.AddressFullPolicy == config.FullFail
	if b.diskFull.Load() {
		fails = fails || st.DiskFullPolicy == config.DiskFullFail
		b.warnOnce("disk", a.name, "AMQ222212: the disk is full: message production is blocked on the address and its clients wait", "address", a.name)
	} else {
		b.warnOnce("block", a.name, "AMQ222183: blocking message production on address; size is at the maximum", "address", a.name, "bytes", a.account.Bytes(), "total", b.total.Bytes())
	}
	b.pokeGranter() // it may have emptied meanwhile
	return false, fails
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
				if b.full(a, a.Settings()) || a.Blocked() {
					break
				}
				r := a.served()
				if r == nil {
					break
				}
				r.grant(r.credits)
			}
		}
	}
}
