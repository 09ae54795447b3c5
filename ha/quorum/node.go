package quorum

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Errors of the activation sequence. What else goes wrong wraps ErrUnavailable or the error of the local sequence.
var (
	// ErrNotHolder: the sequence may be raised only while the lock is held.
	ErrNotHolder = errors.New("the lock is not held")
	// ErrSequenceMoved: the coordinated sequence is not what this node thinks it is; nothing was claimed, or the claim is
	// not committed.
	ErrSequenceMoved = errors.New("the coordinated activation sequence is another")
	// ErrNoSequence: the node has no local sequence. A primary that never ran writes 0 first.
	ErrNoSequence = errors.New("there is no local activation sequence")
)

// NoSequence is the local sequence of a node that has none.
const NoSequence int64 = -1

// A LocalSequence keeps a node's own activation sequence. Not safe for concurrent use.
type LocalSequence interface {
	// Load returns the sequence, NoSequence if there is none.
	Load() (int64, error)
	// Store returns when the sequence would survive a crash.
	Store(int64) error
}

// Times of the activation.
const (
	lockTimeout    = 2 * time.Second        // for a node in sync
	sequencePeriod = 200 * time.Millisecond // between looks at the coordinated sequence
)

// A Node is one node of a pair, as far as its activation goes. Its methods do one thing after another and are not safe for
// concurrent use. The manager has to be started.
type Node struct {
	ID      string // of lock and long
	Manager Manager
	Local   LocalSequence
	Log     hclog.Logger
}

// TryActivate takes the lock if the data of this node may be served. It returns nil and Stale when it may not, else the
// lock, held, and how the data stood before it was repaired. It waits as long as another node holds the lock and the data
// is not stale: end it with the context. After it the node is not active yet: Increment comes first.
//
// Errors wrap ErrUnavailable, ErrNoSequence, or are those of the local sequence; the lock is not held then.
func (n *Node) TryActivate(ctx context.Context) (Lock, Standing, error) {
	local, lock, long, err := n.open()
	if err != nil {
		return nil, Stale, err
	}
	for {
		// A look without the lock is enough to see that the data is stale: who holds the lock raises the sequence.
		standing, err := n.compare(ctx, long, local)
		if err != nil || standing == Stale {
			return nil, Stale, err
		}
		timeout := time.Duration(0)
		if standing == InSync {
			timeout = lockTimeout
		}
		held, err := TryLockFor(ctx, lock, timeout)
		if err != nil {
			return nil, Stale, fmt.Errorf("activate node %s: %w", n.ID, err)
		}
		if !held {
			n.Log.Debug("another node holds the lock", "node", n.ID, "sequence", local)
			if timeout == 0 {
				if err := pause(ctx, sequencePeriod); err != nil {
					return nil, Stale, fmt.Errorf("activate node %s: %w", n.ID, err)
				}
			}
			continue
		}
		standing, err = n.settle(ctx, long, local)
		if err != nil || standing == Stale {
			if e := lock.Unlock(context.WithoutCancel(ctx)); e != nil {
				n.Log.Warn("the lock could not be given back", "node", n.ID, "error", e)
			}
			return nil, Stale, err
		}
		return lock, standing, nil
	}
}

// settle looks again under the lock, and completes what another activation left.
func (n *Node) settle(ctx context.Context, long Long, local int64) (Standing, error) {
	standing, err := n.compare(ctx, long, local)
	if err != nil {
		return Stale, err
	}
	switch standing {
	case SelfRepair:
		n.Log.Info("committing the activation sequence that this node had claimed", "node", n.ID, "sequence", local)
	case MaybeInSync:
		n.Log.Warn("taking over an activation sequence that was claimed and not committed", "node", n.ID, "sequence", local+1)
		local++
		if err := n.Local.Store(local); err != nil {
			return Stale, fmt.Errorf("activate node %s: %w", n.ID, err)
		}
	default:
		return standing, nil
	}
	if err := long.Set(ctx, local); err != nil {
		return Stale, fmt.Errorf("activate node %s: %w", n.ID, err)
	}
	return standing, nil
}

// Increment raises the activation sequence by one and returns it: every copy of the data that this node does not replicate
// to is stale from then on. The lock has to be held. It is called after TryActivate, and when the backup is lost, before
// anything is acknowledged without it. A backup that was sent the sequence at the end of its synchronisation and never
// answered is lost, too: it may have written it.
//
// Any error means that this node must not be active: ErrNotHolder, ErrSequenceMoved, ErrUnavailable, or one of the
// local sequence. It leaves a state that TryActivate repairs.
func (n *Node) Increment(ctx context.Context) (int64, error) {
	local, lock, long, err := n.open()
	if err != nil {
		return 0, err
	}
	held, err := lock.HeldByCaller(ctx)
	if err != nil {
		return 0, fmt.Errorf("raise the activation sequence of node %s: %w", n.ID, err)
	}
	if !held {
		return 0, fmt.Errorf("raise the activation sequence of node %s: %w", n.ID, ErrNotHolder)
	}
	next := local + 1
	if err := n.move(ctx, long, "claim", local, -next); err != nil {
		return 0, err
	}
	if err := n.Local.Store(next); err != nil {
		return 0, fmt.Errorf("raise the activation sequence of node %s: %w", n.ID, err)
	}
	n.Log.Info("incremented local activation sequence", "node", n.ID, "sequence", next)
	if err := n.move(ctx, long, "commit", -next, next); err != nil {
		return 0, err
	}
	n.Log.Info("incremented coordinated activation sequence", "node", n.ID, "sequence", next)
	return next, nil
}

func (n *Node) move(ctx context.Context, long Long, what string, from, to int64) error {
	done, err := long.CompareAndSet(ctx, from, to)
	if err == nil && !done {
		err = fmt.Errorf("%w than %d", ErrSequenceMoved, from)
	}
	if err != nil {
		return fmt.Errorf("%s activation sequence %d of node %s: %w", what, max(from, to), n.ID, err)
	}
	return nil
}

// AwaitNext waits until another node has activated with a sequence beyond local, looking every 200 ms, at most for the
// timeout, and tells whether one has. The old active node waits so after it gave way.
func (n *Node) AwaitNext(ctx context.Context, local int64, timeout time.Duration) (bool, error) {
	long, err := n.Manager.Long(n.ID)
	if err != nil {
		return false, fmt.Errorf("await the next activation of node %s: %w", n.ID, err)
	}
	for deadline := time.Now().Add(timeout); ; {
		s, err := long.Get(ctx)
		if err != nil {
			return false, fmt.Errorf("await the next activation of node %s: %w", n.ID, err)
		}
		// A claim of local+1 is an activation that is under way; a greater one shows that local+1 is done.
		if s > local || -s-local > 1 {
			return true, nil
		}
		if time.Until(deadline) <= 0 {
			return false, nil
		}
		if err := pause(ctx, sequencePeriod); err != nil {
			return false, fmt.Errorf("await the next activation of node %s: %w", n.ID, err)
		}
	}
}

// open returns the local sequence, the lock and the long.
func (n *Node) open() (int64, Lock, Long, error) {
	local, err := n.Local.Load()
	if err == nil && local < 0 {
		err = ErrNoSequence
	}
	if err != nil {
		return 0, nil, nil, fmt.Errorf("node %s: %w", n.ID, err)
	}
	lock, err := n.Manager.Lock(n.ID)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("node %s: %w", n.ID, err)
	}
	long, err := n.Manager.Long(n.ID)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("node %s: %w", n.ID, err)
	}
	return local, lock, long, nil
}

func (n *Node) compare(ctx context.Context, long Long, local int64) (Standing, error) {
	s, err := long.Get(ctx)
	if err != nil {
		return Stale, fmt.Errorf("activate node %s: %w", n.ID, err)
	}
	standing := Compare(local, s)
	if standing == Stale {
		n.Log.Info("Not a candidate for activation: local activation sequence does not match the coordinated one",
			"node", n.ID, "local", local, "coordinated", s)
	}
	return standing, nil
}
