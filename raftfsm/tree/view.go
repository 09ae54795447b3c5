package tree

import "strings"

// View is the read side of a State or of a Snapshot. Read through a State it is the newest state, under whatever lock guards Apply; read through a
// Snapshot it never changes and needs no lock. A View must not be copied out of a State.
//
// Paths are the caller's, relative to its subtree. Slices that come out (data, lists) belong to the state: read only, valid for ever.
// Reads of a malformed path answer NONODE, as ZooKeeper's; reads by a caller that is not confined as it must be, NOAUTH.
type View struct {
	root     *node
	sessions omap[int64, *session]
	zxid     int64
	limits   Limits

	nodes      uint64 // nodes in all
	bytes      uint64 // as Limits.Bytes counts them
	ephemerals uint64 // ephemeral nodes
}

// Zxid is the index of the last command applied, 0 before the first.
func (v *View) Zxid() int64 { return v.zxid }

// Limits are the limits in force.
func (v *View) Limits() Limits { return v.limits }

// NumNodes is the number of nodes, with those at the top.
func (v *View) NumNodes() int { return int(v.nodes) }

// NumBytes is the size of all names, data and access control lists.
func (v *View) NumBytes() int64 { return int64(v.bytes) }

// NumEphemerals is the number of ephemeral nodes.
func (v *View) NumEphemerals() int { return int(v.ephemerals) }

// Get is getData: a node's data (nil is null) and its Stat. NONODE, NOAUTH (PermRead).
func (v *View) Get(c *Caller, path string) ([]byte, Stat, Code) {
	n, code := v.reach(c, path, PermRead)
	if code != OK {
		return nil, Stat{}, code
	}
	return n.data, n.stat(), OK
}

// Exists is a node's Stat. NONODE, NOAUTH (PermRead, as in ZooKeeper from 3.9.2 on).
func (v *View) Exists(c *Caller, path string) (Stat, Code) {
	n, code := v.reach(c, path, PermRead)
	if code != OK {
		return Stat{}, code
	}
	return n.stat(), OK
}

// Children is getChildren2: the names of a node's children, sorted, and its Stat. NONODE, NOAUTH (PermRead). The names are a copy.
func (v *View) Children(c *Caller, path string) ([]string, Stat, Code) {
	n, code := v.reach(c, path, PermRead)
	if code != OK {
		return nil, Stat{}, code
	}
	names := make([]string, 0, n.children.len())
	n.children.ascend(func(name string, _ *node) bool {
		names = append(names, name)
		return true
	})
	return names, n.stat(), OK
}

// ACL is getACL. NONODE, NOAUTH (PermRead or PermAdmin). Who has not PermAdmin sees digests without their hashes.
func (v *View) ACL(c *Caller, path string) ([]ACL, Stat, Code) {
	n, code := v.reach(c, path, PermRead|PermAdmin)
	if code != OK {
		return nil, Stat{}, code
	}
	if !c.May(n.acl, PermAdmin) {
		return masked(n.acl), n.stat(), OK
	}
	return n.acl, n.stat(), OK
}

// AllChildrenNumber is getAllChildrenNumber: the number of a node's descendants. NONODE, NOAUTH (PermRead). It walks them.
func (v *View) AllChildrenNumber(c *Caller, path string) (int32, Code) {
	n, code := v.reach(c, path, PermRead)
	if code != OK {
		return 0, code
	}
	return int32(n.descendants()), OK
}

// Ephemerals is getEphemerals: the paths of a session's ephemeral nodes that begin with prefix ("" and "/" are all), sorted. It has no errors; an
// unknown session has none.
func (v *View) Ephemerals(c *Caller, session int64, prefix string) []string {
	var out []string
	s, ok := v.sessions.get(session)
	if !ok || !c.confined() {
		return nil
	}
	if strings.TrimSpace(prefix) == "" {
		prefix = "/"
	}
	s.ephemerals.ascend(func(abs string, _ struct{}) bool {
		if path, ok := c.Rel(abs); ok && strings.HasPrefix(path, prefix) {
			out = append(out, path)
		}
		return true
	})
	return out
}

// EmptyContainers lists up to limit absolute paths of containers that once had children and have none now, in the order of a walk: what the leader's
// sweep deletes with DeleteContainer (Caller without Chroot). It walks the tree: use a Snapshot.
func (v *View) EmptyContainers(limit int) []string {
	var out []string
	v.root.walk("", func(path string, n *node) bool {
		if len(out) < limit && n.emptied() {
			out = append(out, path)
		}
		return len(out) < limit
	})
	return out
}

// Session is what the state knows of a session.
type Session struct {
	ID         int64
	Password   [16]byte
	Timeout    int32  // ms
	Owner      uint64 // owner stamp
	Request    uint64 // highest request number of the owner, 0 = none yet
	Ephemerals int    // number of its nodes
}

// Session looks a session up.
func (v *View) Session(id int64) (Session, bool) {
	s, ok := v.sessions.get(id)
	if !ok {
		return Session{}, false
	}
	return s.info(), true
}

// NumSessions is the number of sessions.
func (v *View) NumSessions() int { return v.sessions.len() }

// Sessions calls f for each session in the order of their ids until it answers false. f must not change the state.
func (v *View) Sessions(f func(Session) bool) {
	v.sessions.ascend(func(_ int64, s *session) bool { return f(s.info()) })
}

// reach finds the node at a caller's path and checks that it has one of the permissions perm.
func (v *View) reach(c *Caller, path string, perm Perm) (*node, Code) {
	if !c.confined() {
		return nil, NoAuth
	}
	abs, ok := c.Abs(path)
	if !ok {
		return nil, NoNode
	}
	n := v.lookup(abs)
	switch {
	case n == nil:
		return nil, NoNode
	case !c.May(n.acl, perm):
		return nil, NoAuth
	}
	return n, OK
}

// lookup finds the node at an absolute path, nil if there is none. It takes malformed paths for ones that do not exist.
func (v *View) lookup(abs string) *node {
	if abs == "/" {
		return v.root
	}
	if abs == "" || abs[0] != '/' {
		return nil
	}
	n := v.root
	for rest, more := abs[1:], true; more; {
		var name string
		name, rest, more = strings.Cut(rest, "/")
		next, ok := n.children.get(name)
		if !ok {
			return nil
		}
		n = next
	}
	return n
}
