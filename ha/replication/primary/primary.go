package primary

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/transport"
)

// A Link is the connection to a replica.
type Link interface {
	// SendFrames appends whole frames to what the connection sends, and writes as much as the peer takes at once. It
	// does not wait for the peer and keeps no copy: done is released once, when the frames may be overwritten, be they
	// written or dropped because the connection has ended. It is called by one goroutine at a time.
	SendFrames(frames []byte, done transport.Releaser)
	// Close ends the connection. The reason is for the log.
	Close(reason error)
	RemoteAddr() string
}

// Options say what a node replicates and to whom it tells. Store and NodeID are required.
type Options struct {
	Store  *journal.Store
	NodeID string

	// ActivationSequence is told to the replica at the end of the synchronisation. Nil: -1, the legacy policy's.
	ActivationSequence func() int64
	// AllowFailBack is the policy's allow-failback: a replica that wants to become active again is told that it may.
	AllowFailBack bool

	// InitialSyncTimeout is initial-replication-sync-timeout, how long the answer to the finish packet may take; 0: 30 s.
	InitialSyncTimeout time.Duration
	// CallTimeout is the cluster connection's call-timeout, how long a replica may take or answer nothing; 0: 30 s.
	CallTimeout time.Duration
	// FailOverTimeout is how long a clean stop waits for its last response; 0: 5 s.
	FailOverTimeout time.Duration
	// QueueBytes is how much waits to be sent before appends wait; 0: 4 MiB.
	QueueBytes int

	// OnSynchronised tells that a replica has everything. It is called on a goroutine of the sender and may block.
	OnSynchronised func(*Sender)
	// OnLost tells that a replica is gone, except by FailOver and Close. It is called on a goroutine of the sender and may
	// block, but not on one of these two; another replica is taken only after it.
	OnLost func(Lost)

	Log hclog.Logger // nil: silent
}

// Lost is how a replica was lost.
type Lost struct {
	Reason error
	// Synchronised: it had everything, and could have become active.
	Synchronised bool
	// Held: waiters are held until Primary.Release or Primary.Abandon. It may be set without Synchronised: then the
	// finish packet was sent and not answered, and the replica may think that it has everything.
	Held bool
}

// Errors of Register, and reasons of a loss.
var (
	// ErrAlreadyReplicating: there is a replica, or its loss is not decided yet.
	ErrAlreadyReplicating = errors.New("already replicating")
	// ErrNoVersion: the peer has not told its version, on which encodings depend.
	ErrNoVersion = errors.New("the replica has not told its version")
	// ErrSlow: call-timeout has passed.
	ErrSlow = errors.New("the replica does not respond in time")
	// ErrSyncTimeout: initial-replication-sync-timeout has passed.
	ErrSyncTimeout = errors.New("the replica did not acknowledge the end of the synchronisation in time")
	// ErrGone: the connection has ended.
	ErrGone = errors.New("the connection to the replica has ended")
	// ErrStopping: this node stops, no replica is taken.
	ErrStopping = errors.New("the node is stopping")
)

// Problem is what a BackupRegistrationFailed says about an error of Register.
func Problem(err error) int32 {
	if errors.Is(err, ErrAlreadyReplicating) {
		return core.BackupProblemAlreadyReplicating
	}
	return core.BackupProblemException
}

// Primary is the sending end of a node. It has one sender at most. All methods may be called from any goroutine.
type Primary struct {
	o Options

	mu       sync.Mutex
	sender   *Sender // attached, being attached, or lost with waiters held
	stopping bool
}

// New returns the sending end of a node, which nobody is attached to.
func New(o Options) *Primary {
	if o.InitialSyncTimeout <= 0 {
		o.InitialSyncTimeout = 30 * time.Second
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = 30 * time.Second
	}
	if o.FailOverTimeout <= 0 {
		o.FailOverTimeout = 5 * time.Second
	}
	if o.QueueBytes <= 0 {
		o.QueueBytes = 4 << 20
	}
	if o.ActivationSequence == nil {
		o.ActivationSequence = func() int64 { return -1 }
	}
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	return &Primary{o: o}
}

// Register begins to replicate over link to a peer of that version, as its BACKUP_REGISTRATION asks. Frames of channel 2 of
// that connection go to the sender from here on. An error refuses the registration, see Problem.
func (p *Primary) Register(link Link, v core.Version, wantsFailBack bool) (*Sender, error) {
	if v == 0 {
		return nil, fmt.Errorf("register %s: %w", link.RemoteAddr(), ErrNoVersion)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping {
		return nil, fmt.Errorf("register %s: %w", link.RemoteAddr(), ErrStopping)
	}
	if p.sender != nil {
		return nil, fmt.Errorf("register %s: %w", link.RemoteAddr(), ErrAlreadyReplicating)
	}
	p.sender = newSender(p, link, v, wantsFailBack && p.o.AllowFailBack)
	p.sender.start()
	return p.sender, nil
}

// Sender is the one that is attached, or was and is lost with waiters held; nil if there is none.
func (p *Primary) Sender() *Sender {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sender
}

// Release goes on without the replica that was lost: those who waited for it are answered. It does nothing while one is attached.
func (p *Primary) Release() {
	s := p.Sender()
	if s != nil && s.ctx.Err() == nil {
		return
	}
	p.o.Store.Release()
	p.free(s)
}

func (p *Primary) free(s *Sender) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sender == s {
		p.sender = nil
	}
}

// Abandon gives up those who wait for a replica that was lost, because the node stops.
func (p *Primary) Abandon() { p.o.Store.Abandon() }

// StopCalled tells the replica, if there is one that has everything, that the node is about to stop; one that has not is dropped.
// The store goes on being replicated. No other replica is taken from here on.
func (p *Primary) StopCalled() {
	p.mu.Lock()
	p.stopping = true
	s := p.sender
	p.mu.Unlock()
	if s != nil {
		s.stopCalled()
	}
}

// FailOver ends the replication after the store was closed: the replica, if it has everything, is told to become active. It waits for its
// response, at most FailOverTimeout, and for the sender's goroutines, and tells whether it came.
func (p *Primary) FailOver() bool {
	p.StopCalled()
	s := p.Sender()
	return s != nil && s.failOver()
}

// Close ends the replication without a word to the replica. It waits for the sender's goroutines.
func (p *Primary) Close() {
	p.mu.Lock()
	p.stopping = true
	s := p.sender
	p.mu.Unlock()
	if s != nil {
		s.fail(errClosed)
		s.work.Wait()
	}
}

// lost is told by the sender when it has ended.
func (p *Primary) lost(s *Sender, l Lost) {
	if p.o.OnLost != nil {
		p.o.OnLost(l)
	}
	if !l.Held {
		p.free(s)
	}
}
