package quorum

import (
	"context"
	"errors"
)

// Errors that a caller acts on.
var (
	// ErrUnavailable is wrapped by every error that means: the store cannot be asked, or did not answer in time. Whether
	// what was asked has happened is unknown.
	ErrUnavailable = errors.New("lock manager is unavailable")
	// ErrNotStarted: the manager is not started, or was stopped.
	ErrNotStarted = errors.New("lock manager is not started")
	// ErrHeld: TryLock on a lock that this caller holds. Unlock first.
	ErrHeld = errors.New("lock is already held by the caller")
	// ErrBadID: the id cannot be a name in this store.
	ErrBadID = errors.New("invalid lock id")
)

// A Manager gives locks and longs of one store. All methods may be called from any goroutine.
type Manager interface {
	// Start connects, and returns when connected or with an error when the context ends or the store refuses. Starting a
	// started manager does nothing. A manager that was stopped may be started again.
	Start(ctx context.Context) error
	// Stop lets go of all locks at once if the store can be reached, and waits for everything that Start began. Its locks
	// and longs cannot be used any more. Stopping a stopped manager does nothing.
	Stop()
	// Lock returns the lock of that id, always the same one between Start and Stop. It does not ask the store.
	Lock(id string) (Lock, error)
	// Long returns the long of that id, always the same one between Start and Stop. It does not ask the store.
	Long(id string) (Long, error)
	// Unavailable is closed when the store is lost for good: the manager has to be stopped and started anew. It is nil
	// where that cannot happen, and belongs to the present start.
	Unavailable() <-chan struct{}
}

// A Lock is held by at most one manager at a time. All methods may be called from any goroutine; calls that ask the store
// run one after another.
type Lock interface {
	ID() string
	// TryLock makes one attempt and tells whether the lock is held now. An error (ErrUnavailable, ErrHeld) means no; what
	// the attempt may have left in the store is removed as soon as the store can be reached.
	TryLock(ctx context.Context) (bool, error)
	// Unlock lets go, if the lock is held. Also when it returns an error the caller does not hold it any more, and the store
	// is told as soon as it can be reached.
	Unlock(ctx context.Context) error
	// HeldByCaller asks the store whether this caller holds the lock.
	HeldByCaller(ctx context.Context) (bool, error)
	// Lost is closed when the present holding ends without Unlock: the store is lost, or says that somebody else may have the
	// lock. Take it after TryLock; while the lock is not held it is a closed one, so a loss before that is not missed. It is
	// nil where no notice is given.
	Lost() <-chan struct{}
	// Lease is the instant until which the holder may believe that it holds the lock without hearing from the store, and 0
	// while it doesn't hold it. It moves on while the store answers. NoLease: this store has no leases, a holder
	// cannot know without HeldByCaller. Cheap and never blocks, for every answer that leaves.
	Lease() Instant
}

// A Long is a number in the store, 0 until it is set. All methods may be called from any goroutine. Errors wrap
// ErrUnavailable.
type Long interface {
	ID() string
	Get(ctx context.Context) (int64, error)
	Set(ctx context.Context, value int64) error
	// CompareAndSet sets the value if it was the expected one and tells whether it is set. It is atomic where the store
	// can do that (curator); elsewhere it is safe only while the lock of that id is held.
	CompareAndSet(ctx context.Context, expected, value int64) (bool, error)
}
