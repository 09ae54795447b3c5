package curator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// A Mode is how a node is made. The values are those of ZooKeeper.
type Mode int32

// The modes in use.
const (
	Persistent          Mode = 0
	EphemeralSequential Mode = 3
	Container           Mode = 4
)

// AnyVersion writes whatever version a node has.
const AnyVersion int32 = -1

// What a Session's operations return, wrapped. All other errors of a store wrap quorum.ErrUnavailable.
var (
	ErrNoNode     = errors.New("no such node")
	ErrNodeExists = errors.New("node exists")
	ErrBadVersion = errors.New("node has another version")
	// ErrDisconnected: the answer was lost with the connection, or none could be had in time. Whether the operation was
	// done is unknown; the session may go on.
	ErrDisconnected = fmt.Errorf("%w: connection lost", quorum.ErrUnavailable)
	// ErrSessionLost: the session has ended, or has to be taken as ended. Nothing more can be done with it.
	ErrSessionLost = fmt.Errorf("%w: session lost", quorum.ErrUnavailable)
)

// A Session is a live session with a tree of nodes. All methods may be called from any goroutine; operations that are begun
// one after another are done in that order. Operations end with the context's cause when it ends.
type Session interface {
	// Create makes a node and returns its path, which has ten more digits if it is sequential.
	Create(ctx context.Context, path string, data []byte, mode Mode) (string, error)
	// Delete removes a node of any version.
	Delete(ctx context.Context, path string) error
	// Get returns data and version.
	Get(ctx context.Context, path string) ([]byte, int32, error)
	// Set writes the data of a node that has the version, or AnyVersion.
	Set(ctx context.Context, path string, data []byte, version int32) error
	// Children returns the names below a node.
	Children(ctx context.Context, path string) ([]string, error)
	// Sync returns when later reads show all that was done before it, and nothing that this session asked for before it, and had no
	// answer, can be done any more.
	Sync(ctx context.Context, path string) error

	// Timeout is how long the store keeps a session that it doesn't hear of.
	Timeout() time.Duration
	// Lease is how long the store keeps the session at least after a write was sent that it answered.
	Lease() time.Duration
	// Address is the IP address of this end.
	Address() string
	// Moved gets a value after every reconnection.
	Moved() <-chan struct{}
	// Lost is closed when the session is lost.
	Lost() <-chan struct{}
	// Close ends the session in the store, if that can be reached in short time, and waits for everything it began.
	Close()
}
