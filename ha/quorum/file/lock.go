package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// A Lock is a file of the folder, locked or not.
type Lock struct {
	id string

	mu   sync.Mutex // held over the file system, which may take long; not by Lease
	f    *os.File   // nil: the manager was stopped
	held atomic.Bool
}

// ID implements quorum.Lock.
func (l *Lock) ID() string { return l.id }

// TryLock implements quorum.Lock; it does not wait.
func (l *Lock) TryLock(context.Context) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return false, quorum.ErrNotStarted
	}
	if l.held.Load() {
		return false, quorum.ErrHeld
	}
	err := l.set(unix.F_WRLCK)
	if taken(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock %s: %w: %w", l.f.Name(), quorum.ErrUnavailable, err)
	}
	l.held.Store(true)
	return true, nil
}

// Unlock implements quorum.Lock.
func (l *Lock) Unlock(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil || !l.held.Load() {
		return nil
	}
	l.held.Store(false)
	if err := l.set(unix.F_UNLCK); err != nil {
		return fmt.Errorf("unlock %s: %w: %w", l.f.Name(), quorum.ErrUnavailable, err)
	}
	return nil
}

// HeldByCaller implements quorum.Lock. The lock counts if its name still leads to the file that is locked (somebody may have
// removed it, and the next would lock another) and if it can be taken again, which the owner always can.
func (l *Lock) HeldByCaller(context.Context) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return false, quorum.ErrNotStarted
	}
	if !l.held.Load() {
		return false, nil
	}
	ours, err := l.f.Stat()
	if err != nil {
		return false, fmt.Errorf("check lock %s: %w: %w", l.f.Name(), quorum.ErrUnavailable, err)
	}
	named, err := os.Stat(l.f.Name())
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("check lock %s: %w: %w", l.f.Name(), quorum.ErrUnavailable, err)
	}
	if !os.SameFile(ours, named) {
		return false, nil
	}
	err = l.set(unix.F_WRLCK)
	if taken(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("check lock %s: %w: %w", l.f.Name(), quorum.ErrUnavailable, err)
	}
	return true, nil
}

// Lost implements quorum.Lock: no notice is given.
func (l *Lock) Lost() <-chan struct{} { return nil }

// Lease implements quorum.Lock.
func (l *Lock) Lease() quorum.Instant {
	if !l.held.Load() {
		return 0
	}
	return quorum.NoLease
}

func (l *Lock) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held.Load() {
		_ = l.set(unix.F_UNLCK) // closing drops it, too
	}
	_ = l.f.Close()
	l.f = nil
	l.held.Store(false)
}

// set changes the lock on the whole file: from 0 to the end, wherever that will be.
func (l *Lock) set(kind int16) error {
	for {
		err := unix.FcntlFlock(l.f.Fd(), setLock, &unix.Flock_t{Type: kind, Whence: io.SeekStart})
		if err != unix.EINTR {
			return err
		}
	}
}

// taken tells whether err means that another has the lock.
func taken(err error) bool { return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) }
