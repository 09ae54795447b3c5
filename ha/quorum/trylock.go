package quorum

import (
	"context"
	"time"
)

// attemptPeriod is the time from the start of one attempt to the start of the next.
const attemptPeriod = 250 * time.Millisecond

// TryLockFor attempts to take the lock every 250 ms until it is held or the timeout has passed, with a last attempt at the
// timeout. A timeout of 0 or less is one attempt. (Artemis spends its last 250 ms in attempts without a pause, which a store
// has to bear for nothing.)
func TryLockFor(ctx context.Context, l Lock, timeout time.Duration) (bool, error) {
	deadline := time.Now().Add(timeout)
	for {
		began := time.Now()
		if held, err := l.TryLock(ctx); held || err != nil {
			return held, err
		}
		left := time.Until(deadline)
		if left <= 0 {
			return false, nil
		}
		if err := pause(ctx, min(left, time.Until(began.Add(attemptPeriod)))); err != nil {
			return false, err
		}
	}
}

// pause waits, or returns why the context ended.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
