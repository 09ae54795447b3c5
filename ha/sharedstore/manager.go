package sharedstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/ha"
	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/journal/lock"
)

// Options of a NodeManager.
type Options struct {
	Dir string // holds the lock files: the journal's folder, or node-manager-lock-directory; exists
	// LockTimeout bounds each wait for a lock (journal-lock-acquisition-timeout); negative waits for ever, 0 does not wait.
	LockTimeout time.Duration
	// MonitorPeriod is between two checks of the lock while active (journal-lock-monitor-timeout); 0 means 2 s.
	MonitorPeriod time.Duration
	// MonitorRetries is how many checks may fail in a row (journal-lock-monitor-max-retries).
	MonitorRetries int
	Log            hclog.Logger
}

const (
	monitorPeriod = 2 * time.Second
	statePeriod   = 2 * time.Second // between looks at the state
)

// ErrTimeout: a lock was not to be had within LockTimeout.
var ErrTimeout = errors.New("timed out waiting for the lock")

// NodeManager holds the locks of one node. The waiting methods (StartPrimary, StartBackup, AwaitPrimary, AwaitActive) are
// called one after another; Check and Verify may be called from other goroutines meanwhile.
type NodeManager struct {
	o       Options
	node    *lock.Node
	pause   func(context.Context, time.Duration) error // replaced in tests
	mu      sync.Mutex                                 // of the primary lock, between check and release
	recheck ha.Recheck
}

// Open opens the lock files and makes those that are missing. It takes no lock. A process opens a folder once, for closing
// drops all locks.
func Open(o Options) (*NodeManager, error) {
	if o.MonitorPeriod <= 0 {
		o.MonitorPeriod = monitorPeriod
	}
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	node, err := lock.Open(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the node's locks: %w", err)
	}
	return &NodeManager{o: o, node: node, pause: pause}, nil
}

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

// NodeID is the node's id, which both halves share.
func (n *NodeManager) NodeID() string { return n.node.ID().String() }

// PrimaryLockHeld tells whether another process is active. It takes no lock.
func (n *NodeManager) PrimaryLockHeld() (bool, error) { return n.node.Primary().HeldElsewhere() }

// StartPrimary asks for the place of the active node by state F and waits for the primary lock.
func (n *NodeManager) StartPrimary(ctx context.Context) error {
	if err := n.node.SetState(lock.FailingBack); err != nil {
		return fmt.Errorf("ask for the primary lock: %w", err)
	}
	if err := n.wait(ctx, n.node.Primary(), "primary"); err != nil {
		return err
	}
	return n.node.Reload()
}

// Activate records that the node is active, after StartPrimary and loading.
func (n *NodeManager) Activate() error { return n.node.Activated() }

// StartBackup waits for the backup lock.
func (n *NodeManager) StartBackup(ctx context.Context) error {
	if err := n.wait(ctx, n.node.Backup(), "backup"); err != nil {
		return err
	}
	return n.node.Reload()
}

// AwaitPrimary returns when the primary has died and its lock is ours. A primary that stopped in good order, or that is about to
// start, keeps it waiting.
func (n *NodeManager) AwaitPrimary(ctx context.Context) error {
	for {
		s, err := n.node.State()
		if err != nil {
			return fmt.Errorf("wait for the primary to fail: %w", err)
		}
		if s != lock.FirstTime && s != lock.NotStarted {
			took, err := n.tryTakeOver(ctx)
			if err != nil || took {
				return err
			}
		}
		if err := n.pause(ctx, statePeriod); err != nil {
			return fmt.Errorf("wait for the primary to fail: %w", err)
		}
	}
}

// tryTakeOver waits for the primary lock and keeps it if its last holder died.
func (n *NodeManager) tryTakeOver(ctx context.Context) (bool, error) {
	p := n.node.Primary()
	if err := n.wait(ctx, p, "primary"); err != nil {
		return false, err
	}
	s, err := n.node.State() // again, now that nobody else is active
	if err == nil && s == lock.Live {
		// What tells a former holder that is not quite dead.
		if err = n.node.Touch(time.Now()); err == nil {
			return true, n.node.Reload()
		}
	}
	if e := p.Unlock(); err == nil {
		err = e
	}
	if err != nil {
		return false, fmt.Errorf("take over: %w", err)
	}
	return false, nil
}

// wait takes a lock, within LockTimeout.
func (n *NodeManager) wait(ctx context.Context, l *lock.File, name string) error {
	if n.o.LockTimeout >= 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, n.o.LockTimeout, ErrTimeout)
		defer cancel()
	}
	if err := l.Lock(ctx); err != nil {
		return fmt.Errorf("wait for the %s lock: %w", name, err)
	}
	return nil
}

// AwaitingFailback tells whether a primary wants its place back.
func (n *NodeManager) AwaitingFailback() (bool, error) {
	s, err := n.node.State()
	return s == lock.FailingBack, err
}

// ReleaseBackup lets go of the backup lock.
func (n *NodeManager) ReleaseBackup() error {
	if !n.node.Backup().Held() {
		return nil
	}
	return n.node.Backup().Unlock()
}

// Release lets go of the primary lock, after the store's files were closed. Paused says that the stop is in good order and that no
// backup is to take over.
func (n *NodeManager) Release(paused bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.node.Primary().Held() {
		return nil // the state is that of whoever holds it
	}
	return n.node.Stop(paused)
}

// AwaitActive returns when the state says that a node is active: after Release, the one that wanted its place back.
func (n *NodeManager) AwaitActive(ctx context.Context) error {
	for {
		s, err := n.node.State()
		if err != nil {
			return fmt.Errorf("wait for the primary to activate: %w", err)
		}
		if s == lock.Live {
			return nil
		}
		if err := n.pause(ctx, statePeriod); err != nil {
			return fmt.Errorf("wait for the primary to activate: %w", err)
		}
	}
}

// Check tells whether this node may still be active. It asks the file system, which may take long.
func (n *NodeManager) Check() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.node.Check()
}

// Verify is for whatever answers or writes; an error is final. It costs two atomic operations, and a Check (some ten µs on a local disk)
// if the last call was more than a second ago.
func (n *NodeManager) Verify(now quorum.Instant) error { return n.recheck.Verify(now, n.Check) }

// Monitor checks the lock, as long as the context lasts, and returns why it is lost; nil when the context ended.
func (n *NodeManager) Monitor(ctx context.Context) error {
	failures := 0
	for {
		if n.pause(ctx, n.o.MonitorPeriod) != nil {
			return nil
		}
		err := n.Check()
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			failures = 0
		case failures >= n.o.MonitorRetries:
			return fmt.Errorf("the lock of %s cannot be relied on any more: %w", n.o.Dir, err)
		default:
			failures++
			n.o.Log.Warn("a check of the lock failed and is tried again", "folder", n.o.Dir, "failures", failures, "error", err)
		}
	}
}

// Close closes the files, which lets go of all locks.
func (n *NodeManager) Close() error { return n.node.Close() }
