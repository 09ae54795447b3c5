package jute

import "fmt"

// Request is one frame of a client after the first.
type Request struct {
	Xid int32
	Op  Op
	// Body is the record of the operation, by value: [Create], [Delete], [Read], [SetData], [Path], [SetACL], [Watches], [Auth],
	// [SetWatches], [AddWatch], [Multi]; nil for operations without a body and for those that are not known.
	Body Body
}

// Body is the record of an operation.
type Body interface{ appendTo(Op, []byte) []byte }

// ACL is one entry of an access control list.
type ACL struct {
	Perms  int32
	Scheme string
	ID     string
}

// Create is the body of create, create2, createContainer and createTTL.
type Create struct {
	Path  string
	Data  []byte // nil is null and stays so
	ACL   []ACL  // nil is null
	Flags int32
	TTL   int64 // ms, only of createTTL
}

// Delete is the body of delete, and of check in a multi.
type Delete struct {
	Path    string
	Version int32 // -1: any
}

// Read is the body of exists, getData, getChildren and getChildren2.
type Read struct {
	Path  string
	Watch bool
}

// SetData is the body of setData.
type SetData struct {
	Path    string
	Data    []byte
	Version int32 // -1: any
}

// Path is the body of sync, getACL, getEphemerals (a prefix) and getAllChildrenNumber.
type Path struct{ Path string }

// SetACL is the body of setACL.
type SetACL struct {
	Path     string
	ACL      []ACL
	Aversion int32 // -1: any
}

// Watches is the body of checkWatches and removeWatches.
type Watches struct {
	Path string
	Kind int32 // WatcherChildren…
}

// Auth is the body of auth.
type Auth struct {
	Type   int32
	Scheme string
	Auth   []byte
}

// SetWatches is the body of setWatches and setWatches2.
type SetWatches struct {
	RelativeZxid int64
	Data         []string
	Exist        []string
	Child        []string
	Persistent   []string // these two only in setWatches2
	Recursive    []string
}

// AddWatch is the body of addWatch.
type AddWatch struct {
	Path string
	Mode int32 // ModePersistent, ModePersistentRecursive
}

// Multi is the body of a multi.
type Multi struct{ Ops []Part }

// Part is an operation in a multi: a create of any kind, a delete, a setData or a check.
type Part struct {
	Op   Op
	Body Body
}

// ParseHeader takes xid and operation from a payload; the rest of it is for [ParseBody]. A payload without them is an error
// after which the connection is of no use.
func ParseHeader(payload []byte) (Request, []byte, error) {
	r := NewReader(payload)
	q := Request{Xid: r.Int(), Op: Op(r.Int())}
	if r.Err() != nil {
		return Request{}, nil, fmt.Errorf("request header of %d bytes: %w", len(payload), ErrShort)
	}
	return q, r.rest, nil
}

// ParseBody takes the body of an operation: nil without error for one that has none or is not known. An error is
// the server's [MarshallingError].
func ParseBody(op Op, rest []byte) (Body, error) {
	r := NewReader(rest)
	if op == OpMulti {
		m := parseMulti(r)
		if err := r.End(); err != nil {
			return nil, fmt.Errorf("multi: %w", err)
		}
		return m, nil
	}
	if op == OpCheck { // alone it is no operation of clients
		return nil, nil
	}
	b := parseBody(op, r)
	if b == nil {
		return nil, nil
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("operation %d: %w", op, err)
	}
	return b, nil
}

func parseBody(op Op, r *Reader) Body {
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer:
		return Create{Path: r.String(), Data: r.Buffer(), ACL: r.acl(), Flags: r.Int()}
	case OpCreateTTL:
		return Create{Path: r.String(), Data: r.Buffer(), ACL: r.acl(), Flags: r.Int(), TTL: r.Long()}
	case OpDelete, OpCheck:
		return Delete{Path: r.String(), Version: r.Int()}
	case OpExists, OpGetData, OpGetChildren, OpGetChildren2:
		return Read{Path: r.String(), Watch: r.Bool()}
	case OpSetData:
		return SetData{Path: r.String(), Data: r.Buffer(), Version: r.Int()}
	case OpSync, OpGetACL, OpGetEphemerals, OpGetAllChildrenNumber:
		return Path{Path: r.String()}
	case OpSetACL:
		return SetACL{Path: r.String(), ACL: r.acl(), Aversion: r.Int()}
	case OpCheckWatches, OpRemoveWatches:
		return Watches{Path: r.String(), Kind: r.Int()}
	case OpAuth:
		return Auth{Type: r.Int(), Scheme: r.String(), Auth: r.Buffer()}
	case OpSetWatches:
		return SetWatches{RelativeZxid: r.Long(), Data: r.Strings(), Exist: r.Strings(), Child: r.Strings()}
	case OpSetWatches2:
		return SetWatches{RelativeZxid: r.Long(), Data: r.Strings(), Exist: r.Strings(), Child: r.Strings(),
			Persistent: r.Strings(), Recursive: r.Strings()}
	case OpAddWatch:
		return AddWatch{Path: r.String(), Mode: r.Int()}
	default:
		return nil
	}
}

// parseMulti takes {op, done 0, err} body … {-1, done 1, -1}.
func parseMulti(r *Reader) Multi {
	var m Multi
	for r.Err() == nil {
		op, done, _ := Op(r.Int()), r.Bool(), r.Int()
		if done {
			return m
		}
		switch op {
		case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpSetData, OpCheck:
			m.Ops = append(m.Ops, Part{Op: op, Body: parseBody(op, r)})
		default:
			r.fail()
		}
	}
	return m
}

// Append appends the payload of the request.
func (q Request) Append(b []byte) []byte {
	b = AppendInt(b, q.Xid)
	b = AppendInt(b, int32(q.Op))
	if q.Body != nil {
		b = q.Body.appendTo(q.Op, b)
	}
	return b
}

func (c Create) appendTo(op Op, b []byte) []byte {
	b = AppendString(b, c.Path)
	b = AppendBuffer(b, c.Data)
	b = appendACL(b, c.ACL)
	b = AppendInt(b, c.Flags)
	if op == OpCreateTTL {
		b = AppendLong(b, c.TTL)
	}
	return b
}

func (d Delete) appendTo(_ Op, b []byte) []byte { return AppendInt(AppendString(b, d.Path), d.Version) }

func (r Read) appendTo(_ Op, b []byte) []byte { return AppendBool(AppendString(b, r.Path), r.Watch) }

func (s SetData) appendTo(_ Op, b []byte) []byte {
	return AppendInt(AppendBuffer(AppendString(b, s.Path), s.Data), s.Version)
}

func (p Path) appendTo(_ Op, b []byte) []byte { return AppendString(b, p.Path) }

func (s SetACL) appendTo(_ Op, b []byte) []byte {
	return AppendInt(appendACL(AppendString(b, s.Path), s.ACL), s.Aversion)
}

func (w Watches) appendTo(_ Op, b []byte) []byte { return AppendInt(AppendString(b, w.Path), w.Kind) }

func (a Auth) appendTo(_ Op, b []byte) []byte {
	return AppendBuffer(AppendString(AppendInt(b, a.Type), a.Scheme), a.Auth)
}

func (s SetWatches) appendTo(op Op, b []byte) []byte {
	b = AppendLong(b, s.RelativeZxid)
	for _, v := range [][]string{s.Data, s.Exist, s.Child} {
		b = AppendStrings(b, v)
	}
	if op == OpSetWatches2 {
		b = AppendStrings(AppendStrings(b, s.Persistent), s.Recursive)
	}
	return b
}

func (a AddWatch) appendTo(_ Op, b []byte) []byte { return AppendInt(AppendString(b, a.Path), a.Mode) }

func (m Multi) appendTo(_ Op, b []byte) []byte {
	for _, p := range m.Ops {
		b = appendMultiHeader(b, p.Op, false, -1)
		b = p.Body.appendTo(p.Op, b)
	}
	return appendMultiHeader(b, opError, true, -1)
}

func appendMultiHeader(b []byte, op Op, done bool, err Code) []byte {
	return AppendInt(AppendBool(AppendInt(b, int32(op)), done), int32(err))
}

func (r *Reader) acl() []ACL {
	n := r.count(12)
	if n < 0 {
		return nil
	}
	a := make([]ACL, 0, n)
	for range n {
		a = append(a, ACL{Perms: r.Int(), Scheme: r.String(), ID: r.String()})
	}
	return a
}

func appendACL(b []byte, acl []ACL) []byte {
	if acl == nil {
		return AppendInt(b, -1)
	}
	b = AppendInt(b, int32(len(acl)))
	for _, a := range acl {
		b = AppendString(AppendString(AppendInt(b, a.Perms), a.Scheme), a.ID)
	}
	return b
}
