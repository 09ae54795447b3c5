package curator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// A Lock is a lock of a started manager.
type Lock struct {
	id, dir string
	live    *live
	busy    chan struct{} // full while TryLock, Unlock or HeldByCaller is at work
	held    atomic.Pointer[holding]
}

// A holding is one time the lock is held. Whoever replaces it in Lock.held ends it.
type holding struct {
	name     string // below leases
	mark     []byte // data of the node
	lost     chan struct{}
	deadline atomic.Int64 // a quorum.Instant
}

// ID implements quorum.Lock.
func (l *Lock) ID() string { return l.id }

func (l *Lock) turns() string  { return l.dir + "/locks/locks" }
func (l *Lock) leases() string { return l.dir + "/locks/leases" }

// enter waits until no other call is at work.
func (l *Lock) enter(ctx context.Context) error {
	select {
	case l.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("lock %s: %w", l.id, context.Cause(ctx))
	}
}

func (l *Lock) leave() { <-l.busy }

// TryLock implements quorum.Lock.
func (l *Lock) TryLock(ctx context.Context) (bool, error) {
	if err := l.enter(ctx); err != nil {
		return false, err
	}
	defer l.leave()
	if l.held.Load() != nil {
		return false, quorum.ErrHeld
	}
	h, err := l.try(ctx)
	if err != nil {
		return false, fmt.Errorf("try lock %s: %w", l.id, err)
	}
	if h == nil {
		return false, nil
	}
	l.held.Store(h)
	select { // keep may have ended before it could see this holding
	case <-l.live.unavailable:
		l.lose(h)
	case <-l.live.stop:
		l.lose(h)
	default:
		return true, nil
	}
	return false, fmt.Errorf("try lock %s: %w", l.id, ErrSessionLost)
}

// try is one attempt; a nil holding without error means that another has the lock.
func (l *Lock) try(ctx context.Context) (*holding, error) {
	s := l.live
	if err := s.sweep(ctx); err != nil { // an own node of before would be in the way
		return nil, err
	}
	turn, err := s.create(ctx, l.turns(), "lock-", []byte(s.session.Address()))
	if err != nil {
		return nil, err
	}
	defer l.giveBack(ctx, l.turns(), turn)
	if first, err := l.first(ctx, turn); err != nil || !first {
		return nil, err
	}
	h := &holding{mark: []byte(newUUID()), lost: make(chan struct{})}
	h.deadline.Store(int64(s.lease(s.o.Now())))
	if h.name, err = s.create(ctx, l.leases(), "lease-", h.mark); err != nil {
		return nil, err
	}
	var names []string
	err = s.retry(ctx, func() (err error) {
		names, err = s.session.Children(ctx, l.leases())
		return err
	})
	if err == nil && !slices.Contains(names, h.name) {
		err = fmt.Errorf("%w: node %s/%s has vanished", quorum.ErrUnavailable, l.leases(), h.name)
	}
	if err != nil || len(names) > 1 {
		l.giveBack(ctx, l.leases(), h.name)
		return nil, err
	}
	return h, nil
}

// first tells whether the node has the lowest sequence of those that want to try.
func (l *Lock) first(ctx context.Context, turn string) (bool, error) {
	var names []string
	err := l.live.retry(ctx, func() (err error) {
		names, err = l.live.session.Children(ctx, l.turns())
		return err
	})
	if err != nil {
		return false, err
	}
	if !slices.Contains(names, turn) {
		return false, fmt.Errorf("%w: node %s/%s has vanished", quorum.ErrUnavailable, l.turns(), turn)
	}
	return !slices.ContainsFunc(names, func(n string) bool { return sequence(n) < sequence(turn) }), nil
}

// sequence is what the store appended to a name, as text of ten digits.
func sequence(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }

// giveBack removes a node of an attempt, also when the context has ended.
func (l *Lock) giveBack(ctx context.Context, dir, name string) {
	if err := l.live.remove(context.WithoutCancel(ctx), dir, name); err != nil {
		l.live.o.Log.Debug("a node of an attempt is removed later", "error", err)
	}
}

// Unlock implements quorum.Lock.
func (l *Lock) Unlock(ctx context.Context) error {
	if err := l.enter(ctx); err != nil {
		return err
	}
	defer l.leave()
	h := l.held.Swap(nil)
	if h == nil {
		return nil
	}
	err := l.live.retry(ctx, func() error { return l.live.remove(ctx, l.leases(), h.name) })
	if err != nil {
		return fmt.Errorf("unlock %s: %w", l.id, err)
	}
	return nil
}

// HeldByCaller implements quorum.Lock.
func (l *Lock) HeldByCaller(ctx context.Context) (bool, error) {
	if err := l.enter(ctx); err != nil {
		return false, err
	}
	defer l.leave()
	h := l.held.Load()
	if h == nil {
		select {
		case <-l.live.unavailable:
			return false, fmt.Errorf("check lock %s: %w", l.id, ErrSessionLost)
		default:
			return false, nil
		}
	}
	var data []byte
	path := l.leases() + "/" + h.name
	err := l.live.retry(ctx, func() (err error) {
		if err = l.live.session.Sync(ctx, path); err == nil {
			data, _, err = l.live.session.Get(ctx, path)
		}
		return err
	})
	switch {
	case errors.Is(err, ErrNoNode) || err == nil && !bytes.Equal(data, h.mark):
		l.lose(h)
		return false, nil
	case err != nil:
		return false, fmt.Errorf("check lock %s: %w", l.id, err)
	}
	return l.held.Load() == h, nil
}

// Lost implements quorum.Lock.
func (l *Lock) Lost() <-chan struct{} {
	if h := l.held.Load(); h != nil {
		return h.lost
	}
	return l.live.none
}

// Lease implements quorum.Lock.
func (l *Lock) Lease() quorum.Instant {
	if h := l.held.Load(); h != nil {
		return quorum.Instant(h.deadline.Load())
	}
	return 0
}

// clamp shortens a lease that a session time longer than the present one gave.
func (h *holding) clamp(latest quorum.Instant) {
	h.deadline.Store(min(h.deadline.Load(), int64(latest)))
}

// renew writes the node of the lock anew. A node that is gone is a lock that is lost.
func (l *Lock) renew(ctx context.Context, h *holding) {
	sent := l.live.o.Now()
	err := l.live.session.Set(ctx, l.leases()+"/"+h.name, h.mark, AnyVersion)
	switch {
	case err == nil:
		h.deadline.Store(int64(l.live.lease(sent)))
	case errors.Is(err, ErrNoNode):
		if l.lose(h) {
			l.live.o.Log.Warn("the node of the lock is gone", "lock", l.id)
		}
	default:
		l.live.o.Log.Debug("the lease could not be renewed", "lock", l.id, "error", err)
	}
}

// lose ends a holding that was not unlocked, and tells whether it was the present one.
func (l *Lock) lose(h *holding) bool {
	if !l.held.CompareAndSwap(h, nil) {
		return false
	}
	close(h.lost)
	return true
}
