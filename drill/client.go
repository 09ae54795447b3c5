package drill

import (
	"context"
	"errors"
	"time"
)

// Errors that say for good what became of a send, a commit, a prepare or an acknowledgement. After any other error nobody knows.
var (
	ErrRefused    = errors.New("refused")                    // it was not done
	ErrRolledBack = errors.New("rolled back")                // its transaction was rolled back
	ErrDuplicate  = errors.New("known already")              // the broker has had a message with that id: an attempt before this one was done
	ErrReturned   = errors.New("will be delivered again")    // of an acknowledgement: the message went back
	ErrNoBranch   = errors.New("no such transaction branch") // of an XA call
	ErrUnable     = errors.New("the protocol cannot do that")
)

// A Mode is how a session works.
type Mode uint8

// Modes.
const (
	Plain      Mode = iota // each send and acknowledgement by itself, each waited for
	Transacted             // in transactions of the session
	XA                     // in distributed transactions
)

// A Dialer is a protocol with the settings to connect. It may be used by several goroutines.
type Dialer interface {
	// Protocol is the name that reports have.
	Protocol() string
	// Supports tells whether sessions may have the mode.
	Supports(Mode) bool
	// Dial connects to the node at a URL. It fails soon when the node does not serve.
	Dial(ctx context.Context, url string) (Client, error)
}

// A Client is a connection to a node. It is used by one goroutine.
type Client interface {
	// Node is who answers, for History.Term; with an empty name if it is not known, as when the client connects again by itself.
	Node() TermInfo
	// Lost tells that the client is of no use any more, and another has to be dialed.
	Lost() bool

	// Create makes a queue, or a durable subscription of a topic, and its address, unless they are there.
	Create(ctx context.Context, q Queue) error
	// Delete removes the queue with what is in it, and its address with the last of them.
	Delete(ctx context.Context, q Queue) error

	// Sender makes a session that sends to an address.
	Sender(ctx context.Context, address string, multicast bool, m Mode) (Sender, error)
	// Receiver makes a session that receives from a queue. XA is not asked for.
	Receiver(ctx context.Context, q Queue, m Mode) (Receiver, error)

	// Close ends the connection. What has no answer stays unknown.
	Close()
}

// A Message is what a Sender sends: durable, with that body. DuplicateID is empty without duplicate detection.
type Message struct {
	Body        []byte
	DuplicateID string
}

// A Sender is a session that sends. The sends of a Plain one are answered when they return, those of others by Commit or Prepare.
type Sender interface {
	Send(ctx context.Context, m Message) error
	Commit(ctx context.Context) error   // Transacted
	Rollback(ctx context.Context) error // Transacted

	Begin(ctx context.Context, branch string) error                 // XA: start
	Prepare(ctx context.Context, branch string) error               // XA: end and prepare
	Complete(ctx context.Context, branch string, commit bool) error // XA: commit or roll back what is prepared; ErrNoBranch if it is not there
	Recover(ctx context.Context) (branches []string, err error)     // XA: all that are prepared and can be ours
}

// A Receiver is a session that receives.
type Receiver interface {
	// Receive returns the next message, nil if there was none for that long. A wait of 0 asks the broker whether there is one at all, as
	// far as the protocol can ask. The body is the caller's until the next call.
	Receive(ctx context.Context, wait time.Duration) ([]byte, error)
	// Acknowledge acknowledges the message that was received last. A Plain one waits for the answer.
	Acknowledge(ctx context.Context) error
	Commit(ctx context.Context) error   // Transacted
	Rollback(ctx context.Context) error // Transacted: what was received comes again
}
