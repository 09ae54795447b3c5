package tree

// Result is what applying one command gave.
type Result struct {
	Outcome
	Zxid    int64  // the index of the entry
	Kind    Kind   // of the command
	Origin  uint64 // of the command
	Request uint64 // of the command
	Session int64  // of the command
	Owner   uint64 // of the command

	// Timeout is the session's timeout in ms, for NewSession and Attach that succeeded.
	Timeout int32

	// Events are the changes in the order in which ZooKeeper fires its watches for them; hand each to Watches.Fire.
	Events []Event

	// Detached is the owner stamp that no longer owns Session after this command (Attach, CloseSession, ExpireSession), 0 if none: the member
	// that has the connection of that stamp closes it.
	Detached uint64

	// Repeated says that the command was applied before and Outcome is that of the first time: nothing was changed and there are no events. (A
	// request number below the highest has no outcome any more: RUNTIMEINCONSISTENCY. Nobody waits for it.)
	Repeated bool

	// Fatal is not nil if this version cannot apply the command. The state is unchanged, Zxid too, and the member has to stop.
	Fatal error
}

// Outcome is the part of a result that answers the client, and that a session remembers.
type Outcome struct {
	// Code is the err of the reply. It is OK for a multi that failed, as in ZooKeeper: see Ops.
	Code Code
	// Path is that of the created node, or the one given to Sync; relative to the caller's subtree.
	Path string
	// Stat is that of the node after Create, SetData and SetACL.
	Stat Stat
	// Ops has one outcome per operation of a multi. If one failed nothing was applied: those before it have OK and nothing else, it has its own
	// code, those after it RUNTIMEINCONSISTENCY.
	Ops []OpOutcome
}

// Failed is the first code of the outcome that is not OK, that of a multi's operations included.
func (o *Outcome) Failed() Code {
	if o.Code != OK {
		return o.Code
	}
	for i := range o.Ops {
		if o.Ops[i].Code != OK {
			return o.Ops[i].Code
		}
	}
	return OK
}

// OpOutcome is the outcome of one operation of a multi.
type OpOutcome struct {
	Kind Kind
	Code Code
	Path string // Create
	Stat Stat   // Create, SetData, SetACL
}

// EventType is the type of a change, as in ZooKeeper's watch events.
type EventType int32

// The types of events.
const (
	NodeCreated         EventType = 1
	NodeDeleted         EventType = 2
	NodeDataChanged     EventType = 3
	NodeChildrenChanged EventType = 4
)

// Event is one change of one node.
type Event struct {
	Type EventType
	Path string // absolute
	// ACL is the node's access control list (of the node as it was, if it is deleted). ZooKeeper from 3.9.2 on tells of a change only who may read
	// the node: see Caller.May.
	ACL []ACL
}

// Stat is ZooKeeper's Stat, in the order of its encoding but for Pzxid. Times are ms since 1970.
type Stat struct {
	Czxid, Mzxid   int64 // zxid of the creation, of the last change of data
	Ctime, Mtime   int64
	Version        int32 // changes of data
	Cversion       int32 // 2 × children ever created − children there are
	Aversion       int32 // changes of the access control list
	EphemeralOwner int64 // the session, 0 for all but ephemeral nodes
	DataLength     int32
	NumChildren    int32
	Pzxid          int64 // zxid of the last creation or deletion of a child
}
