package file

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// A Long is a file of the folder with 8 bytes.
type Long struct {
	id string

	mu sync.Mutex
	f  *os.File // nil: the manager was stopped
}

// ID implements quorum.Long.
func (l *Long) ID() string { return l.id }

// Get implements quorum.Long.
func (l *Long) Get(context.Context) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.get()
}

// Set implements quorum.Long. The number and the file's name are durable when it returns.
func (l *Long) Set(_ context.Context, value int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.set(value)
}

// CompareAndSet implements quorum.Long. Another process may come between the two: hold the lock.
func (l *Long) CompareAndSet(_ context.Context, expected, value int64) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if got, err := l.get(); err != nil || got != expected {
		return false, err
	}
	if err := l.set(value); err != nil {
		return false, err
	}
	return true, nil
}

func (l *Long) get() (int64, error) {
	if l.f == nil {
		return 0, quorum.ErrNotStarted
	}
	var b [8]byte
	n, err := l.f.ReadAt(b[:], 0)
	switch {
	case n == len(b):
		return int64(binary.BigEndian.Uint64(b[:])), nil
	case errors.Is(err, io.EOF):
		return 0, nil
	}
	return 0, fmt.Errorf("read %s: %w: %w", l.f.Name(), quorum.ErrUnavailable, err)
}

func (l *Long) set(value int64) error {
	if l.f == nil {
		return quorum.ErrNotStarted
	}
	_, err := l.f.WriteAt(binary.BigEndian.AppendUint64(nil, uint64(value)), 0)
	if err == nil {
		err = l.f.Sync()
	}
	if err == nil {
		err = syncDir(filepath.Dir(l.f.Name()))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w: %w", l.f.Name(), quorum.ErrUnavailable, err)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func (l *Long) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.f.Close()
	l.f = nil
}
