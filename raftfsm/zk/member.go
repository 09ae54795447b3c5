package zk

import (
	"context"
	"time"

	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// A Member is the Raft member whose state is served. Its methods may be called from many goroutines at once.
//
// It calls the [Listener] that the server registers for every entry, in the critical section that applies it: no Read runs meanwhile, and entries
// come one after another in their order.
type Member interface {
	// Propose has the group apply c and returns nil once this member's own state machine has; the Listener has the result by then. The
	// member fills in Origin and the leader the Time; it may propose c again as long as the Request is not 0. An error says
	// that the outcome is unknown.
	Propose(ctx context.Context, c *tree.Command) error

	// Read calls f with the newest state. No entry is applied meanwhile.
	Read(f func(*tree.View))

	// Fresh reports whether this member has lately applied all that the leader had: spec/ha.md 3.9 rule 7. It is called for every request.
	Fresh() bool

	// Touch tells the leader that the client of a session was heard of idle ago. The server repeats it for all its sessions several times a second.
	Touch(session int64, owner uint64, idle time.Duration)

	// Role is "leader", "follower" or "standalone", for the four-letter words.
	Role() string

	// Listen registers l. Calls go on until the function that is returned has been called and has returned.
	Listen(l Listener) (stop func())
}

// A Listener hears of what a member applies. It must not block, nor call the member.
type Listener interface {
	// Applied is called for each entry. r is valid during the call.
	Applied(r *tree.Result)
	// Restored is called when the state has been replaced by a snapshot: there were no results for what is new in it.
	Restored()
}

// reportEvery is the time between two reports of a session, and freshEvery that between two looks at Member.Fresh.
const (
	reportEvery = 250 * time.Millisecond
	freshEvery  = 50 * time.Millisecond
)

// holdConnect is how long a connect waits for a member that is not fresh, and then for the group: a client that is refused sleeps up to a second
// before it tries again, and Curator takes that for the loss of its session (spec/ha.md 3.9 rule 8).
const holdConnect = 1500 * time.Millisecond
