package tree

import "strconv"

// Code is an error code of the ZooKeeper protocol, as it stands in the err field of a reply. It is an error unless it is OK; functions of this
// package return it as Code so that OK is not mistaken for an error that is not nil.
type Code int32

// The codes that this package answers with, and those that an endpoint needs beside them.
const (
	OK                      Code = 0
	RuntimeInconsistency    Code = -2   // in a multi that failed: an operation after the one that failed
	Marshalling             Code = -5   // does not decode
	Unimplemented           Code = -6   // TTL nodes, unknown operations
	BadArguments            Code = -8   // malformed path or flags in a write
	NoNode                  Code = -101 //
	NoAuth                  Code = -102 // the access control list, or the confinement, or the rule of ephemeral nodes forbids it
	BadVersion              Code = -103 //
	NoChildrenForEphemerals Code = -108 //
	NodeExists              Code = -110 //
	NotEmpty                Code = -111 //
	SessionExpired          Code = -112 // unknown session
	InvalidACL              Code = -114 //
	AuthFailed              Code = -115 // wrong password of a session
	SessionMoved            Code = -118 // the session has another owner stamp
	NoWatcher               Code = -121 //
	QuotaExceeded           Code = -125 // one of Limits
)

var codeNames = map[Code]string{
	OK: "OK", RuntimeInconsistency: "RUNTIMEINCONSISTENCY", Marshalling: "MARSHALLINGERROR", Unimplemented: "UNIMPLEMENTED",
	BadArguments: "BADARGUMENTS", NoNode: "NONODE", NoAuth: "NOAUTH", BadVersion: "BADVERSION",
	NoChildrenForEphemerals: "NOCHILDRENFOREPHEMERALS", NodeExists: "NODEEXISTS", NotEmpty: "NOTEMPTY",
	SessionExpired: "SESSIONEXPIRED", InvalidACL: "INVALIDACL", AuthFailed: "AUTHFAILED", SessionMoved: "SESSIONMOVED",
	NoWatcher: "NOWATCHER", QuotaExceeded: "QUOTAEXCEEDED",
}

// String is ZooKeeper's name of the code.
func (c Code) String() string {
	if name, ok := codeNames[c]; ok {
		return name
	}
	return "code " + strconv.Itoa(int(c))
}

// Error is String with the number.
func (c Code) Error() string {
	if _, ok := codeNames[c]; !ok {
		return c.String()
	}
	return c.String() + " (" + strconv.Itoa(int(c)) + ")"
}

// Err is nil for OK, else c.
func (c Code) Err() error {
	if c == OK {
		return nil
	}
	return c
}
