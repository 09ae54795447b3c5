package security

import (
	"container/list"
	"net/netip"
	"time"
)

// SlowDown makes each source address wait longer from failed login to failed login. It is a pure state machine: the
// time comes in, nothing sleeps, and its owner keeps it from concurrent use. The zero value is ready with the defaults.
//
// The first Free failures cost nothing; from then on a login waits First, doubled for each further failure, at most
// Longest. A success takes back one failure, and Forget after the last failure all are forgotten. Logins of one source
// wait side by side, but no more than Waiting of them. A source is an IPv4 address or an IPv6 /64.
type SlowDown struct {
	Free    int           // 0: 3, negative: none
	First   time.Duration // 0: 100 ms
	Longest time.Duration // 0: 5 s
	Forget  time.Duration // 0: 10 min
	Waiting int           // 0: 16
	Sources int           // addresses remembered, beyond it the ones without failure for longest are forgotten; 0: 10,000

	sources map[netip.Addr]*list.Element
	recent  *list.List // of *source, the latest failure in front
}

type source struct {
	address  netip.Addr
	failures int
	waiting  int
	last     time.Time // of the latest failure
}

func (s *SlowDown) free() int {
	if s.Free == 0 {
		return 3
	}
	return max(0, s.Free)
}

func orDefault[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

func sourceOf(address netip.Addr) netip.Addr {
	address = address.Unmap().WithZone("")
	if address.Is6() {
		prefix, _ := address.Prefix(64)
		return prefix.Addr()
	}
	return address
}

// Begin gives the time that a login from address has to wait before it is checked. Refused means that too many are
// waiting: the login fails at once, and no End follows. Each other Begin has its End.
func (s *SlowDown) Begin(address netip.Addr, now time.Time) (wait time.Duration, refused bool) {
	e := s.sources[sourceOf(address)]
	if e == nil {
		return 0, false
	}
	src := e.Value.(*source)
	if now.Sub(src.last) >= orDefault(s.Forget, 10*time.Minute) && src.waiting == 0 {
		s.forget(e)
		return 0, false
	}
	over := src.failures - s.free()
	if over >= 0 {
		longest := orDefault(s.Longest, 5*time.Second)
		wait = orDefault(s.First, 100*time.Millisecond)
		for ; over > 0 && wait < longest; over-- {
			wait *= 2
		}
		wait = min(wait, longest)
	}
	if wait > 0 && src.waiting >= orDefault(s.Waiting, 16) {
		return 0, true
	}
	src.waiting++
	return wait, false
}

// End tells how the login that Begin admitted went.
func (s *SlowDown) End(address netip.Addr, success bool, now time.Time) {
	address = sourceOf(address)
	e := s.sources[address]
	if e == nil {
		if !success {
			s.remember(&source{address: address, failures: 1, last: now})
		}
		return
	}
	src := e.Value.(*source)
	src.waiting = max(0, src.waiting-1)
	if success {
		src.failures--
		if src.failures <= 0 && src.waiting == 0 {
			s.forget(e)
		}
		return
	}
	src.failures++
	src.last = now
	s.recent.MoveToFront(e)
}

func (s *SlowDown) remember(src *source) {
	if s.sources == nil {
		s.sources, s.recent = make(map[netip.Addr]*list.Element), list.New()
	}
	for len(s.sources) >= orDefault(s.Sources, 10_000) {
		s.forget(s.recent.Back())
	}
	s.sources[src.address] = s.recent.PushFront(src)
}

func (s *SlowDown) forget(e *list.Element) {
	s.recent.Remove(e)
	delete(s.sources, e.Value.(*source).address)
}
