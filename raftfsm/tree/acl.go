package tree

import (
	"crypto/sha1"
	"encoding/base64"
	"net/netip"
	"strings"
)

// Perm is a set of ZooKeeper's permissions.
type Perm int32

// The permissions. Deleting a node takes PermDelete of its parent.
const (
	PermRead   Perm = 1
	PermWrite  Perm = 2
	PermCreate Perm = 4
	PermDelete Perm = 8
	PermAdmin  Perm = 16
	PermAll    Perm = 31
)

// ID is an identity, or what an access control entry stands for. Schemes: "world" (id "anyone"), "ip" (an address; in an entry also
// a network, address/bits), "digest" (user:hash, see DigestID), and in a command's list "auth" (all of the caller's identities but its address).
type ID struct{ Scheme, ID string }

// ACL is one access control entry.
type ACL struct {
	Perms Perm
	ID    ID
}

var (
	anyone  = ID{"world", "anyone"}
	openACL = []ACL{{PermAll, anyone}}
	readACL = []ACL{{PermRead, anyone}}
)

// OpenACL is world:anyone with all permissions, what Curator gives to all its nodes.
func OpenACL() []ACL { return []ACL{{PermAll, anyone}} }

// DigestID is the identity that the credentials user:password of an auth request with scheme digest prove: user:base64(SHA-1(user:password)).
// False without a colon.
func DigestID(credentials []byte) (ID, bool) {
	user, _, ok := strings.Cut(string(credentials), ":")
	if !ok {
		return ID{}, false
	}
	sum := sha1.Sum(credentials)
	return ID{"digest", user + ":" + base64.StdEncoding.EncodeToString(sum[:])}, true
}

// matches reports whether an identity of a connection is what an access control entry stands for.
func (id ID) matches(entry ID) bool {
	if id.Scheme != entry.Scheme {
		return false
	}
	if id.Scheme != "ip" {
		return id.ID == entry.ID
	}
	addr, err := netip.ParseAddr(id.ID)
	if err != nil {
		return false
	}
	network, ok := parseNetwork(entry.ID)
	return ok && network.Contains(addr.Unmap().WithZone(""))
}

// parseNetwork reads an address or a network.
func parseNetwork(s string) (netip.Prefix, bool) {
	if strings.Contains(s, "/") {
		p, err := netip.ParsePrefix(s)
		return p, err == nil
	}
	addr, err := netip.ParseAddr(s)
	if err != nil || addr.Zone() != "" {
		return netip.Prefix{}, false
	}
	addr = addr.Unmap()
	return netip.PrefixFrom(addr, addr.BitLen()), true
}

// valid reports whether an entry with this identity can be in a list.
func (id ID) valid() bool {
	switch id.Scheme {
	case "world":
		return id == anyone
	case "ip":
		_, ok := parseNetwork(id.ID)
		return ok
	case "digest":
		user, hash, ok := strings.Cut(id.ID, ":")
		return ok && user != "" && hash != "" && !strings.Contains(hash, ":") && validText(id.ID)
	}
	return false
}

// resolve is the list that a node gets from the one in a command: entries with scheme auth replaced by the caller's identities, each entry once. False
// if it is empty, too long, or has an entry that is not valid.
func (c *Caller) resolve(list []ACL, limit uint64) ([]ACL, bool) {
	if len(list) == 1 && list[0] == openACL[0] {
		return openACL, true // almost every node: one list for all of them
	}
	var out []ACL
	add := func(a ACL) {
		for _, have := range out {
			if have == a {
				return
			}
		}
		out = append(out, a)
	}
	for _, a := range list {
		if a.ID.Scheme != "auth" {
			if !a.ID.valid() {
				return nil, false
			}
			add(a)
		} else {
			found := false
			for _, id := range c.IDs {
				if id.Scheme != "ip" && id.valid() {
					add(ACL{a.Perms, id})
					found = true
				}
			}
			if !found {
				return nil, false
			}
		}
		if uint64(len(out)) > limit {
			return nil, false
		}
	}
	return out, len(out) > 0
}

// masked is the list as someone sees it who may read but not administer the node: without the hashes.
func masked(list []ACL) []ACL {
	out := make([]ACL, len(list))
	for i, a := range list {
		if a.ID.Scheme == "digest" {
			user, _, _ := strings.Cut(a.ID.ID, ":")
			a.ID.ID = user + ":x"
		}
		out[i] = a
	}
	return out
}

// size is what a list counts in Limits.Bytes.
func aclSize(list []ACL) uint64 {
	n := 0
	for _, a := range list {
		n += 4 + len(a.ID.Scheme) + len(a.ID.ID)
	}
	return uint64(n)
}
