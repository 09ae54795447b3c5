package tree

// nodeKind says how long a node lives. The numbers are part of the snapshot's format.
type nodeKind uint8

const (
	kindPersistent nodeKind = 0
	kindEphemeral  nodeKind = 1
	kindContainer  nodeKind = 2
)

// node is one node of the tree. Data and list are replaced, never changed in place.
//
// Invariants: owner is not 0 exactly if kind is kindEphemeral, and then the session exists, lists the node, and there are no children.
type node struct {
	generation uint64
	kind       nodeKind
	data       []byte // nil is null
	acl        []ACL

	czxid, mzxid, pzxid int64
	ctime, mtime        int64 // ms
	version, aversion   int32
	created             int32 // children ever created: the next sequence number
	owner               int64 // session

	children omap[string, *node]
}

func (n *node) stat() Stat {
	return Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version, Cversion: 2*n.created - int32(n.children.len()), Aversion: n.aversion,
		EphemeralOwner: n.owner, DataLength: int32(len(n.data)), NumChildren: int32(n.children.len()), Pzxid: n.pzxid,
	}
}

// size is what a node under a name counts in Limits.Bytes.
func (n *node) size(name string) uint64 {
	return uint64(len(name)) + uint64(len(n.data)) + aclSize(n.acl)
}

// emptied reports whether it is a container that the sweep may delete.
func (n *node) emptied() bool {
	return n.kind == kindContainer && n.children.len() == 0 && n.created > 0
}

// descendants counts the nodes below.
func (n *node) descendants() int {
	count := n.children.len()
	n.children.ascend(func(_ string, child *node) bool {
		count += child.descendants()
		return true
	})
	return count
}

// walk calls f for the nodes below, whose own absolute path is path ("" for the root), parents first and siblings in order, until f answers false.
func (n *node) walk(path string, f func(path string, n *node) bool) bool {
	more := true
	n.children.ascend(func(name string, child *node) bool {
		p := path + "/" + name
		more = f(p, child) && child.walk(p, f)
		return more
	})
	return more
}

// session is a client's session.
type session struct {
	generation uint64
	id         int64
	password   [16]byte
	timeout    int32  // ms
	owner      uint64 // owner stamp
	former     uint64 // the owner stamp before, which cannot come back; 0 = none
	request    uint64 // highest request number of the owner
	outcome    *Outcome
	ephemerals omap[string, struct{}] // absolute paths
}

func (s *session) info() Session {
	return Session{ID: s.id, Password: s.password, Timeout: s.timeout, Owner: s.owner, Request: s.request, Ephemerals: s.ephemerals.len()}
}
