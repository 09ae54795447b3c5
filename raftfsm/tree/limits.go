package tree

// Limits bound the state. They are part of it, so that all members refuse the same commands: a fresh State has DefaultLimits, and only the
// SetLimits command changes them. What exists already and is beyond a lowered limit stays. Beside Bytes a session costs what it remembers of its last
// command, about 100 bytes and a path for each operation of a multi: Sessions × Multi bound that.
type Limits struct {
	Data       uint64 // bytes of one node's data; QUOTAEXCEEDED beyond
	Nodes      uint64 // nodes in all, with the six at the top; QUOTAEXCEEDED
	Bytes      uint64 // names, data and access control lists of all nodes; QUOTAEXCEEDED
	Children   uint64 // children of one node; QUOTAEXCEEDED
	Path       uint64 // bytes of an absolute path; BADARGUMENTS
	Depth      uint64 // names in an absolute path; BADARGUMENTS
	ACL        uint64 // entries of one access control list; INVALIDACL
	Multi      uint64 // operations of one multi; BADARGUMENTS for the whole
	Sessions   uint64 // sessions in all; QUOTAEXCEEDED
	Ephemerals uint64 // nodes of one session; QUOTAEXCEEDED
}

// DefaultLimits has ZooKeeper's 1 MiB of data (jute.maxbuffer) and bounds of our own for what ZooKeeper leaves unbounded.
func DefaultLimits() Limits {
	return Limits{
		Data: 1 << 20, Nodes: 1_000_000, Bytes: 512 << 20, Children: 200_000, Path: 4096, Depth: 64, ACL: 64, Multi: 500,
		Sessions: 5_000, Ephemerals: 20_000,
	}
}

// What no Limits can exceed, because decoders are bounded by it.
const (
	MaxCommand = 64 << 20 // bytes of an encoded command
	maxData    = 32 << 20 // bytes of one node's data
	maxString  = 64 << 10 // bytes of a path, a scheme or an identity
	maxDepth   = 1024     // names in a path
	maxACL     = 1024     // entries of a list, and identities of a caller
	maxMulti   = 100_000  // operations of a multi
)

// ceilings are the largest Limits that SetLimits accepts.
var ceilings = Limits{
	Data: maxData, Nodes: 1 << 40, Bytes: 1 << 50, Children: 1 << 40, Path: maxString, Depth: maxDepth, ACL: maxACL, Multi: maxMulti,
	Sessions: 1 << 40, Ephemerals: 1 << 40,
}

// fields lists the limits in the order of their encoding.
func (l *Limits) fields() []*uint64 {
	return []*uint64{&l.Data, &l.Nodes, &l.Bytes, &l.Children, &l.Path, &l.Depth, &l.ACL, &l.Multi, &l.Sessions, &l.Ephemerals}
}

// sound reports whether every limit is at least 1 and at most its ceiling.
func (l Limits) sound() bool {
	top := ceilings
	max := top.fields()
	for i, f := range l.fields() {
		if *f == 0 || *f > *max[i] {
			return false
		}
	}
	return true
}
