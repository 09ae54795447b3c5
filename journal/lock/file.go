package lock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrHeld: another process holds the lock.
var ErrHeld = errors.New("lock is held by another process")

// File is a file that can be locked as a whole. It is not safe for concurrent use.
type File struct {
	f    *os.File
	held bool
}

// OpenFile opens a file to be locked, and makes it if it is not there. No other descriptor of the file may be opened and
// closed in this process while the lock is held.
func OpenFile(name string) (*File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	return &File{f: f}, nil
}

// TryLock takes the lock or returns ErrHeld at once.
func (l *File) TryLock() error {
	err := l.fcntl(unix.F_WRLCK)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return ErrHeld
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", l.f.Name(), err)
	}
	l.held = true
	return nil
}

func (l *File) fcntl(kind int16) error {
	for {
		err := unix.FcntlFlock(l.f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: kind, Whence: io.SeekStart})
		if err != unix.EINTR {
			return err
		}
	}
}

// HeldElsewhere tells whether another process holds the lock, without taking it.
func (l *File) HeldElsewhere() (bool, error) {
	for {
		q := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
		err := unix.FcntlFlock(l.f.Fd(), unix.F_GETLK, &q)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("look at lock %s: %w", l.f.Name(), err)
		}
		return q.Type != unix.F_UNLCK, nil
	}
}

// Reassert takes the lock, which this process holds, once more: ErrHeld if another process has got it meanwhile, as it can on a
// network file system. It is an error, too, if the name does not lead to this file any more, for then others lock another one.
func (l *File) Reassert() error {
	if err := l.TryLock(); err != nil {
		return err
	}
	mine, err := l.f.Stat()
	if err != nil {
		return fmt.Errorf("look at lock: %w", err)
	}
	named, err := os.Stat(l.f.Name())
	if err != nil {
		return fmt.Errorf("look at lock: %w", err)
	}
	if !os.SameFile(mine, named) {
		return fmt.Errorf("%w: %s was replaced by another file", ErrHeld, l.f.Name())
	}
	return nil
}

// Times between tries: when somebody else has the lock, and after an error of the file system.
const (
	retryHeld  = 500 * time.Millisecond
	retryError = 2 * time.Second
)

// Lock takes the lock, however long it takes. It ends with the context's error.
func (l *File) Lock(ctx context.Context) error { return l.lock(ctx, retryHeld, retryError) }

func (l *File) lock(ctx context.Context, held, broken time.Duration) error {
	for {
		err := l.TryLock()
		if err == nil {
			return nil
		}
		wait := broken
		if errors.Is(err, ErrHeld) {
			wait = held
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
	}
}

// Unlock lets go.
func (l *File) Unlock() error {
	l.held = false
	if err := l.fcntl(unix.F_UNLCK); err != nil {
		return fmt.Errorf("unlock %s: %w", l.f.Name(), err)
	}
	return nil
}

// Held tells whether the lock was taken and not let go.
func (l *File) Held() bool { return l.held }

// Close closes the file, which drops the lock.
func (l *File) Close() error {
	l.held = false
	return l.f.Close()
}
