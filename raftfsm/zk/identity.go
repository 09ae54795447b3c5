package zk

import (
	"crypto/sha1"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/saranga-mq/saranga/raftfsm/tree"
	"github.com/saranga-mq/saranga/raftfsm/zk/jute"
)

// maxIdentities bounds what auth requests add to one connection.
const maxIdentities = 16

// maxCredentials bounds the bytes of one auth request; every command of the connection carries its identities.
const maxCredentials = 1024

func checkDigest(id string) error {
	user, hash, ok := strings.Cut(id, ":")
	if !ok || user == "" {
		return errors.New("want user:base64(SHA-1(user:password))")
	}
	if sum, err := base64.StdEncoding.DecodeString(hash); err != nil || len(sum) != sha1.Size {
		return errors.New("what follows the user is no base64 of a SHA-1")
	}
	return nil
}

func userOf(id string) string {
	user, _, _ := strings.Cut(id, ":")
	return user
}

// authenticate is the caller after an auth request. A password that is wrong for the name of an admin is refused; any other digest
// identity is taken, as ZooKeeper does. An admin sees the whole tree from then on.
func authenticate(c tree.Caller, a jute.Auth, admins []string) (tree.Caller, jute.Code) {
	switch a.Scheme {
	case "ip": // the address is known already
		return c, jute.OK
	case "digest":
	default:
		return c, jute.AuthFailed
	}
	id, ok := tree.DigestID(a.Auth)
	if !ok || len(a.Auth) > maxCredentials {
		return c, jute.AuthFailed
	}
	named, proved := false, false // an admin may have several passwords, while one is changed
	for _, admin := range admins {
		named = named || userOf(admin) == userOf(id.ID)
		proved = proved || subtle.ConstantTimeCompare([]byte(admin), []byte(id.ID)) == 1
	}
	if named && !proved {
		return c, jute.AuthFailed
	}
	if proved {
		c.Admin, c.Chroot = true, ""
	}
	switch {
	case slices.Contains(c.IDs, id):
	case len(c.IDs) > maxIdentities:
		return c, jute.AuthFailed
	default: // not in place: commands that wait hold the list as it was
		c.IDs = append(slices.Clone(c.IDs), id)
	}
	return c, jute.OK
}

// told are a caller's identities as whoAmI shows them: of a digest only the user.
func told(c tree.Caller) []jute.ID {
	ids := make([]jute.ID, 0, len(c.IDs))
	for _, id := range c.IDs {
		if id.Scheme == "digest" {
			id.ID = userOf(id.ID)
		}
		ids = append(ids, jute.ID(id))
	}
	return ids
}
