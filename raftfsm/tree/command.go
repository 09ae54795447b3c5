package tree

// Kind is the kind of a command, and of an operation inside a multi. The numbers are part of the format.
type Kind uint8

// The kinds of commands.
const (
	KindCreate          Kind = 1
	KindDelete          Kind = 2
	KindSetData         Kind = 3
	KindSetACL          Kind = 4
	KindCheck           Kind = 5
	KindMulti           Kind = 6
	KindSync            Kind = 7
	KindDeleteContainer Kind = 8
	KindNewSession      Kind = 9
	KindAttach          Kind = 10
	KindCloseSession    Kind = 11
	KindExpireSession   Kind = 12
	KindSetLimits       Kind = 13
)

// Command is one entry of the log. A member fills it in and encodes it with Append; the leader writes the time with StampTime.
type Command struct {
	// Origin is the boot id of the member that proposes; with Request it tells that member which of its waiting clients the result is for.
	// The state machine gives them back in Result and does not look at Origin.
	Origin uint64
	// Request rises from request to request of one owner stamp. A repeated one is answered with the outcome of the first and not applied again. 0
	// stands for a command that is never skipped.
	Request uint64
	// Session is the session that the command is made in, or, for the commands on sessions, the one that it is about. 0, allowed to an
	// administrator only, is none: such a command cannot make ephemeral nodes, and repeating it applies it again.
	Session int64
	// Owner is the session's owner stamp as the proposing member knows it; drawn at random, never 0, for NewSession and Attach.
	Owner uint64
	// Time is the leader's wall clock in ms since 1970.
	Time   int64
	Caller Caller
	Op     Op
}

// Op is what a command does: one of the pointer types below.
type Op interface{ Kind() Kind }

// Mode is the flags field of a create.
type Mode int32

// The modes of ZooKeeper's create. TTL nodes are refused with UNIMPLEMENTED, as by a ZooKeeper in its default configuration.
const (
	Persistent           Mode = 0
	Ephemeral            Mode = 1
	PersistentSequential Mode = 2
	EphemeralSequential  Mode = 3
	Container            Mode = 4
	PersistentTTL        Mode = 5
	SequentialTTL        Mode = 6
)

func (m Mode) ephemeral() bool  { return m == Ephemeral || m == EphemeralSequential }
func (m Mode) sequential() bool { return m == PersistentSequential || m == EphemeralSequential }

// Create makes a node; create, create2 and createContainer are one command (the mode says what it is, as in ZooKeeper). A sequential
// one gets its number appended to Path. ACL must not be empty; scheme "auth" stands for the caller's own identities.
type Create struct {
	Path string
	Data []byte // nil is null
	ACL  []ACL
	Mode Mode
}

// Delete removes a node without children. Version −1 matches any. A live ephemeral node is deleted only by its session or by an
// administrator: others get NOAUTH.
type Delete struct {
	Path    string
	Version int32
}

// SetData replaces a node's data.
type SetData struct {
	Path    string
	Data    []byte // nil is null
	Version int32
}

// SetACL replaces a node's access control list; Version is the aversion.
type SetACL struct {
	Path    string
	ACL     []ACL
	Version int32
}

// Check fails unless the node exists in that version.
type Check struct {
	Path    string
	Version int32
}

// Multi does all of its operations, with one zxid, or none. They can be Create, Delete, SetData, SetACL and Check.
type Multi struct{ Ops []Op }

// Sync changes nothing: who sees its result has seen all that was written before it. The path is given back as it is, even if it does not exist.
type Sync struct{ Path string }

// DeleteContainer removes a container that once had children and has none now; NOTEMPTY or BADVERSION otherwise, the latter also for what is
// no container. Administrators only: it is the leader's sweep (see View.EmptyContainers).
type DeleteContainer struct{ Path string }

// NewSession makes the session Command.Session (> 0, drawn by the member) with the owner stamp Command.Owner. The same command again is answered
// with OK; an id that is taken, with NODEEXISTS.
type NewSession struct {
	Password [16]byte
	Timeout  int32 // ms, as granted
}

// Attach gives a session a new owner stamp: its client connected again, to this or another member. Unknown session: SESSIONEXPIRED; wrong
// password: AUTHFAILED (a ZooKeeper endpoint answers both with timeOut 0); a stamp that lost the session before: SESSIONMOVED.
type Attach struct {
	Password [16]byte
	Timeout  int32 // ms, as granted now; 0 leaves it
}

// CloseSession ends a session and deletes its ephemeral nodes, in the order of their paths.
type CloseSession struct{}

// ExpireSession is CloseSession by the leader, administrators only. It has no effect unless Command.Owner is the session's owner stamp (else
// SESSIONMOVED), Term is the term of the log entry, and Command.Request is the session's highest request number (else BADVERSION): the expiry of a leader
// that was deposed meanwhile kills nobody, nor does one that was decided before a write of the session that stands before it in the log.
type ExpireSession struct{ Term uint64 }

// SetLimits replaces the limits; administrators only. BADARGUMENTS if one is 0 or beyond what the decoders allow.
type SetLimits struct{ Limits Limits }

// Kind of each operation.
func (*Create) Kind() Kind          { return KindCreate }
func (*Delete) Kind() Kind          { return KindDelete }
func (*SetData) Kind() Kind         { return KindSetData }
func (*SetACL) Kind() Kind          { return KindSetACL }
func (*Check) Kind() Kind           { return KindCheck }
func (*Multi) Kind() Kind           { return KindMulti }
func (*Sync) Kind() Kind            { return KindSync }
func (*DeleteContainer) Kind() Kind { return KindDeleteContainer }
func (*NewSession) Kind() Kind      { return KindNewSession }
func (*Attach) Kind() Kind          { return KindAttach }
func (*CloseSession) Kind() Kind    { return KindCloseSession }
func (*ExpireSession) Kind() Kind   { return KindExpireSession }
func (*SetLimits) Kind() Kind       { return KindSetLimits }
