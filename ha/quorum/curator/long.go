package curator

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// A Long is a long of a started manager.
type Long struct {
	id, path string
	live     *live
}

// ID implements quorum.Long.
func (l *Long) ID() string { return l.id }

// Get implements quorum.Long.
func (l *Long) Get(ctx context.Context) (int64, error) {
	value, _, err := l.get(ctx)
	return value, err
}

// absent is the version of a node that is not there.
const absent int32 = -2

func (l *Long) get(ctx context.Context) (value int64, version int32, err error) {
	var data []byte
	err = l.live.retry(ctx, func() (err error) {
		data, version, err = l.live.session.Get(ctx, l.path)
		return err
	})
	switch {
	case errors.Is(err, ErrNoNode):
		return 0, absent, nil
	case err != nil:
		return 0, 0, fmt.Errorf("read %s: %w", l.path, err)
	case len(data) == 0:
		return 0, version, nil
	case len(data) < 8:
		return 0, 0, fmt.Errorf("read %s: %w: %d bytes, want 8", l.path, quorum.ErrUnavailable, len(data))
	}
	return int64(binary.BigEndian.Uint64(data)), version, nil
}

// Set implements quorum.Long.
func (l *Long) Set(ctx context.Context, value int64) error {
	data := binary.BigEndian.AppendUint64(nil, uint64(value))
	err := l.live.retry(ctx, func() error {
		err := l.live.session.Set(ctx, l.path, data, AnyVersion)
		if !errors.Is(err, ErrNoNode) {
			return err
		}
		if err = l.create(ctx, data); errors.Is(err, ErrNodeExists) {
			err = l.live.session.Set(ctx, l.path, data, AnyVersion)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", l.path, err)
	}
	return nil
}

// CompareAndSet implements quorum.Long. It is atomic by the node's version. After a lost answer the value itself tells whether
// it was written; that holds while nobody else writes the same value, so hold the lock.
func (l *Long) CompareAndSet(ctx context.Context, expected, value int64) (bool, error) {
	data := binary.BigEndian.AppendUint64(nil, uint64(value))
	sent, done := false, false
	err := l.live.retry(ctx, func() error {
		got, version, err := l.get(ctx)
		if err != nil {
			return err
		}
		if done = sent && got == value; done {
			return nil
		}
		if got != expected {
			return nil
		}
		sent = true
		if version == absent {
			err = l.create(ctx, data)
		} else {
			err = l.live.session.Set(ctx, l.path, data, version)
		}
		if errors.Is(err, ErrNodeExists) || errors.Is(err, ErrBadVersion) || errors.Is(err, ErrNoNode) {
			return nil // somebody was faster
		}
		done = err == nil
		return err
	})
	if err != nil {
		return false, fmt.Errorf("write %s: %w", l.path, err)
	}
	return done, nil
}

func (l *Long) create(ctx context.Context, data []byte) error {
	return l.live.inFolder(ctx, path.Dir(l.path), func() error {
		_, err := l.live.session.Create(ctx, l.path, data, Persistent)
		return err
	})
}
