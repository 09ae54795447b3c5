package jute

import "strconv"

// Op is the type of a request.
type Op int32

// Operations of clients. What is not listed is answered with [Unimplemented].
const (
	OpCreate               Op = 1
	OpDelete               Op = 2
	OpExists               Op = 3
	OpGetData              Op = 4
	OpSetData              Op = 5
	OpGetACL               Op = 6
	OpSetACL               Op = 7
	OpGetChildren          Op = 8
	OpSync                 Op = 9
	OpPing                 Op = 11
	OpGetChildren2         Op = 12
	OpCheck                Op = 13 // only within a multi
	OpMulti                Op = 14
	OpCreate2              Op = 15
	OpReconfig             Op = 16
	OpCheckWatches         Op = 17
	OpRemoveWatches        Op = 18
	OpCreateContainer      Op = 19
	OpCreateTTL            Op = 21
	OpAuth                 Op = 100
	OpSetWatches           Op = 101
	OpGetEphemerals        Op = 103
	OpGetAllChildrenNumber Op = 104
	OpSetWatches2          Op = 105
	OpAddWatch             Op = 106
	OpWhoAmI               Op = 107
	OpCloseSession         Op = -11

	opError Op = -1 // of a result in a multi, and of its end
)

// Identifiers that are not counted.
const (
	XidEvent int32 = -1
	XidPing  int32 = -2
	XidAuth  int32 = -4
)

// Code is the err field of a reply.
type Code int32

// Codes of replies.
const (
	OK                      Code = 0
	RuntimeInconsistency    Code = -2
	MarshallingError        Code = -5
	Unimplemented           Code = -6
	OperationTimeout        Code = -7
	BadArguments            Code = -8
	NoNode                  Code = -101
	NoAuth                  Code = -102
	BadVersion              Code = -103
	NoChildrenForEphemerals Code = -108
	NodeExists              Code = -110
	NotEmpty                Code = -111
	SessionExpired          Code = -112
	InvalidACL              Code = -114
	AuthFailed              Code = -115
	SessionMoved            Code = -118
	NoWatcher               Code = -121
	ReconfigDisabled        Code = -123
	QuotaExceeded           Code = -125
)

var codeNames = map[Code]string{
	OK: "OK", RuntimeInconsistency: "RUNTIMEINCONSISTENCY", MarshallingError: "MARSHALLINGERROR", Unimplemented: "UNIMPLEMENTED",
	OperationTimeout: "OPERATIONTIMEOUT", BadArguments: "BADARGUMENTS", NoNode: "NONODE", NoAuth: "NOAUTH", BadVersion: "BADVERSION",
	NoChildrenForEphemerals: "NOCHILDRENFOREPHEMERALS", NodeExists: "NODEEXISTS", NotEmpty: "NOTEMPTY", SessionExpired: "SESSIONEXPIRED",
	InvalidACL: "INVALIDACL", AuthFailed: "AUTHFAILED", SessionMoved: "SESSIONMOVED", NoWatcher: "NOWATCHER",
	ReconfigDisabled: "RECONFIGDISABLED", QuotaExceeded: "QUOTAEXCEEDED",
}

// String is the name that ZooKeeper gives the code.
func (c Code) String() string {
	if n, ok := codeNames[c]; ok {
		return n
	}
	return strconv.Itoa(int(c))
}

// EventType is what happened to a watched node.
type EventType int32

// Events.
const (
	EventCreated         EventType = 1
	EventDeleted         EventType = 2
	EventDataChanged     EventType = 3
	EventChildrenChanged EventType = 4
)

// StateConnected is the state in every event that a server sends.
const StateConnected int32 = 3

// Kinds of watchers in checkWatches and removeWatches.
const (
	WatcherChildren            int32 = 1
	WatcherData                int32 = 2
	WatcherAny                 int32 = 3
	WatcherPersistent          int32 = 4
	WatcherPersistentRecursive int32 = 5
)

// Modes of addWatch.
const (
	ModePersistent          int32 = 0
	ModePersistentRecursive int32 = 1
)

// Flags of a create.
const (
	FlagPersistent              int32 = 0
	FlagEphemeral               int32 = 1
	FlagPersistentSequential    int32 = 2
	FlagEphemeralSequential     int32 = 3
	FlagContainer               int32 = 4
	FlagPersistentTTL           int32 = 5
	FlagPersistentSequentialTTL int32 = 6
)
