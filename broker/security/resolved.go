package security

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"
)

// resolved remembers which setting, or none, applies to an address. Readers see a map that never changes; new entries
// gather in a second map that takes its place once it has been missed as often as it is large, so that filling costs
// amortised constant time. When limit is reached all is forgotten.
type resolved struct {
	limit int

	seen    atomic.Pointer[map[string]*Setting]
	mu      sync.Mutex
	pending map[string]*Setting // all of seen and more; nil when seen is all
	misses  int
}

func (r *resolved) get(address string) (*Setting, bool) {
	if m := r.seen.Load(); m != nil {
		if s, ok := (*m)[address]; ok {
			return s, true
		}
	}
	if r.limit <= 0 {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.pending[address]
	if ok {
		r.missed()
	}
	return s, ok
}

func (r *resolved) put(address string, s *Setting) {
	if r.limit <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending == nil {
		r.pending = make(map[string]*Setting)
		if m := r.seen.Load(); m != nil {
			maps.Copy(r.pending, *m)
		}
	}
	if len(r.pending) >= r.limit {
		clear(r.pending)
		r.seen.Store(nil)
		r.misses = 0
	}
	r.pending[strings.Clone(address)] = s
	r.missed()
}

func (r *resolved) missed() {
	if r.misses++; r.misses >= len(r.pending) {
		published := r.pending
		r.seen.Store(&published)
		r.pending, r.misses = nil, 0
	}
}
