package quorum

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A store is what several managers share, for one id.
type store struct {
	mu      sync.Mutex
	holder  *manager
	value   int64
	history []int64     // values that were set
	tries   []time.Time // of attempts on the lock
	busy    func()      // called when an attempt finds the lock taken; may be nil
	refused error       // of every call; nil: none
	writes  int         // so many writes go through, then comes the crash; negative: all
	reached bool        // the write in which the crash comes is done
}

// A manager is one node's view of the store.
type manager struct{ s *store }

func (m *manager) Start(context.Context) error  { return nil }
func (m *manager) Stop()                        {}
func (m *manager) Unavailable() <-chan struct{} { return nil }
func (m *manager) Lock(id string) (Lock, error) { return fakeLock{m, id}, nil }
func (m *manager) Long(id string) (Long, error) { return fakeLong{m, id}, nil }

var errCrashed = fmt.Errorf("%w: crashed", ErrUnavailable)

// write counts a write and tells whether it is done, and what the caller hears.
func (s *store) write() (bool, error) {
	switch {
	case s.refused != nil:
		return false, s.refused
	case s.writes == 0:
		s.refused = errCrashed
		return s.reached, errCrashed
	case s.writes > 0:
		s.writes--
	}
	return true, nil
}

type fakeLock struct {
	m  *manager
	id string
}

func (l fakeLock) ID() string            { return l.id }
func (l fakeLock) Lost() <-chan struct{} { return nil }
func (l fakeLock) Lease() Instant        { return NoLease }

func (l fakeLock) TryLock(context.Context) (bool, error) {
	s := l.m.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries = append(s.tries, time.Now())
	if s.holder != nil {
		if s.busy != nil {
			s.busy()
		}
		return false, s.refused
	}
	done, err := s.write()
	if done {
		s.holder = l.m
	}
	return err == nil, err
}

func (l fakeLock) Unlock(context.Context) error {
	s := l.m.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holder != l.m {
		return nil
	}
	done, err := s.write()
	if done {
		s.holder = nil
	}
	return err
}

func (l fakeLock) HeldByCaller(context.Context) (bool, error) {
	l.m.s.mu.Lock()
	defer l.m.s.mu.Unlock()
	return l.m.s.holder == l.m, l.m.s.refused
}

type fakeLong struct {
	m  *manager
	id string
}

func (l fakeLong) ID() string { return l.id }

func (l fakeLong) Get(context.Context) (int64, error) {
	l.m.s.mu.Lock()
	defer l.m.s.mu.Unlock()
	return l.m.s.value, l.m.s.refused
}

func (l fakeLong) Set(_ context.Context, v int64) error {
	l.m.s.mu.Lock()
	defer l.m.s.mu.Unlock()
	return l.set(v)
}

func (l fakeLong) set(v int64) error {
	done, err := l.m.s.write()
	if done {
		l.m.s.value = v
		l.m.s.history = append(l.m.s.history, v)
	}
	return err
}

func (l fakeLong) CompareAndSet(_ context.Context, expected, v int64) (bool, error) {
	l.m.s.mu.Lock()
	defer l.m.s.mu.Unlock()
	if l.m.s.refused != nil || l.m.s.value != expected {
		return false, l.m.s.refused
	}
	if err := l.set(v); err != nil {
		return false, err
	}
	return true, nil
}
