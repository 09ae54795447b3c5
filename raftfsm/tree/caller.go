package tree

import "strings"

// The fixed nodes at the top of the tree.
const (
	// ReservedRoot holds Saranga's own metadata. No confined caller can name it.
	ReservedRoot = "/saranga"
	// ClientRoot is the subtree of ZooKeeper clients, and of Saranga brokers that share locks with them.
	ClientRoot = "/clients"
)

// Caller is who makes a request: the subtree that it sees and what its connection proved. The member that holds the connection says so; members
// trust each other.
type Caller struct {
	// Chroot is the absolute path of the node that the caller sees as "/". "" is the whole tree, for administrators only; all others must have
	// ClientRoot or a path below it, else everything is refused with NOAUTH. The node should exist: the caller cannot create it.
	Chroot string
	// IDs are the identities of the connection: {ip, its address}, and what it authenticated as.
	IDs []ID
	// Admin passes every access control list, may delete live ephemeral nodes of others and make the commands of the leader.
	Admin bool
}

// Abs is the absolute path of path, which is relative to the caller's subtree; false if path is malformed.
func (c *Caller) Abs(path string) (string, bool) {
	if !ValidPath(path) {
		return "", false
	}
	return c.join(path), true
}

// join is Abs of a path that begins with "/" or is empty.
func (c *Caller) join(path string) string {
	switch {
	case path != "/" && path != "":
		return c.Chroot + path
	case c.Chroot == "":
		return "/"
	default:
		return c.Chroot
	}
}

// Rel is the path of an absolute path as the caller sees it; false if it is outside the caller's subtree.
func (c *Caller) Rel(abs string) (string, bool) {
	rest, ok := strings.CutPrefix(abs, c.Chroot)
	switch {
	case !ok:
		return "", false
	case rest == "":
		return "/", true
	case rest[0] != '/':
		return "", false
	}
	return rest, true
}

// May reports whether the caller has one of the permissions perm by acl. An empty list allows everything, as in ZooKeeper.
func (c *Caller) May(acl []ACL, perm Perm) bool {
	if c.Admin || len(acl) == 0 {
		return true
	}
	for _, entry := range acl {
		if entry.Perms&perm == 0 {
			continue
		}
		if entry.ID == anyone {
			return true
		}
		for _, id := range c.IDs {
			if id.matches(entry.ID) {
				return true
			}
		}
	}
	return false
}

// confined reports whether the caller is one that may have its chroot.
func (c *Caller) confined() bool {
	if c.Chroot == "" {
		return c.Admin
	}
	if c.Chroot == "/" || !ValidPath(c.Chroot) {
		return false
	}
	return c.Admin || c.Chroot == ClientRoot || strings.HasPrefix(c.Chroot, ClientRoot+"/")
}
