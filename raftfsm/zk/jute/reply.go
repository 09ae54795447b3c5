package jute

// Stat is what a server tells about a node.
type Stat struct {
	Czxid, Mzxid                int64
	Ctime, Mtime                int64 // ms since 1970
	Version, Cversion, Aversion int32
	EphemeralOwner              int64
	DataLength, NumChildren     int32
	Pzxid                       int64
}

// ReplyHeader opens every frame of a server after the first.
type ReplyHeader struct {
	Xid  int32
	Zxid int64
	Err  Code
}

// Append appends the header.
func (h ReplyHeader) Append(b []byte) []byte {
	return AppendInt(AppendLong(AppendInt(b, h.Xid), h.Zxid), int32(h.Err))
}

// ReplyHeader takes a reply's header.
func (r *Reader) ReplyHeader() ReplyHeader {
	return ReplyHeader{Xid: r.Int(), Zxid: r.Long(), Err: Code(r.Int())}
}

// AppendStat appends the 68 bytes of a Stat.
func AppendStat(b []byte, s Stat) []byte {
	b = AppendLong(b, s.Czxid)
	b = AppendLong(b, s.Mzxid)
	b = AppendLong(b, s.Ctime)
	b = AppendLong(b, s.Mtime)
	b = AppendInt(b, s.Version)
	b = AppendInt(b, s.Cversion)
	b = AppendInt(b, s.Aversion)
	b = AppendLong(b, s.EphemeralOwner)
	b = AppendInt(b, s.DataLength)
	b = AppendInt(b, s.NumChildren)
	return AppendLong(b, s.Pzxid)
}

// Stat takes a Stat.
func (r *Reader) Stat() Stat {
	return Stat{Czxid: r.Long(), Mzxid: r.Long(), Ctime: r.Long(), Mtime: r.Long(), Version: r.Int(), Cversion: r.Int(), Aversion: r.Int(),
		EphemeralOwner: r.Long(), DataLength: r.Int(), NumChildren: r.Int(), Pzxid: r.Long()}
}

// AppendACLs appends the body of getACL's reply but for its Stat.
func AppendACLs(b []byte, acl []ACL) []byte {
	if acl == nil {
		acl = []ACL{}
	}
	return appendACL(b, acl)
}

// ACLs takes a vector of ACL entries.
func (r *Reader) ACLs() []ACL { return r.acl() }

// ID is an identity of a connection, as whoAmI tells it.
type ID struct{ Scheme, ID string }

// AppendIDs appends the body of whoAmI's reply.
func AppendIDs(b []byte, ids []ID) []byte {
	b = AppendInt(b, int32(len(ids)))
	for _, id := range ids {
		b = AppendString(AppendString(b, id.Scheme), id.ID)
	}
	return b
}

// IDs takes the body of whoAmI's reply.
func (r *Reader) IDs() []ID {
	n := r.count(8)
	if n < 0 {
		return nil
	}
	ids := make([]ID, 0, n)
	for range n {
		ids = append(ids, ID{Scheme: r.String(), ID: r.String()})
	}
	return ids
}

// Event is a watch that fired.
type Event struct {
	Type EventType
	Path string
}

// AppendEvent appends the payload of an event, header included. zxid is that of the transaction that fired it, -1 for what setWatches finds.
func AppendEvent(b []byte, zxid int64, e Event) []byte {
	b = ReplyHeader{Xid: XidEvent, Zxid: zxid}.Append(b)
	return AppendString(AppendInt(AppendInt(b, int32(e.Type)), StateConnected), e.Path)
}

// Event takes the body of an event.
func (r *Reader) Event() Event {
	e := Event{Type: EventType(r.Int())}
	r.Int()
	e.Path = r.String()
	return e
}

// Result is what became of one operation of a multi. Which fields count depends on Op.
type Result struct {
	Op   Op
	Err  Code   // not OK: nothing else counts
	Path string // of creates
	Stat Stat   // of setData and of creates but OpCreate
}

// AppendResults appends the body of a multi's reply: the results, or, if one failed, an error in place of each of them. The result of any
// create but OpCreate has the type OpCreate2, as ZooKeeper's.
func AppendResults(b []byte, results []Result) []byte {
	failed := false
	for _, x := range results {
		failed = failed || x.Err != OK
	}
	for _, x := range results {
		if failed {
			b = AppendInt(appendMultiHeader(b, opError, false, x.Err), int32(x.Err))
			continue
		}
		op := x.Op
		if op == OpCreateContainer || op == OpCreateTTL {
			op = OpCreate2
		}
		b = appendMultiHeader(b, op, false, OK)
		switch op {
		case OpCreate:
			b = AppendString(b, x.Path)
		case OpCreate2:
			b = AppendStat(AppendString(b, x.Path), x.Stat)
		case OpSetData:
			b = AppendStat(b, x.Stat)
		}
	}
	return appendMultiHeader(b, opError, true, -1)
}

// Results takes the body of a multi's reply. A failed one yields results with Op -1.
func (r *Reader) Results() []Result {
	var rs []Result
	for r.Err() == nil {
		x := Result{Op: Op(r.Int())}
		done := r.Bool()
		x.Err = Code(r.Int())
		if done {
			return rs
		}
		switch x.Op {
		case opError:
			x.Err = Code(r.Int())
		case OpCreate:
			x.Path = r.String()
		case OpCreate2:
			x.Path = r.String()
			x.Stat = r.Stat()
		case OpSetData:
			x.Stat = r.Stat()
		case OpDelete, OpCheck:
		default:
			r.fail()
		}
		rs = append(rs, x)
	}
	return rs
}
