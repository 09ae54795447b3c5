package tree

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// ValidPath reports whether path is one that ZooKeeper accepts: it begins with "/", does not end with one unless it is "/", has no empty name, no
// name "." or "..", and no character that ZooKeeper forbids: controls, the private use area, surrogates (so nothing beyond the basic plane,
// since it looks at UTF-16), U+FFF0 to U+FFFF; nor what is not UTF-8.
func ValidPath(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	if path == "/" {
		return true
	}
	for rest, more := path[1:], true; more; {
		var name string
		name, rest, more = strings.Cut(rest, "/")
		if !validName(name) {
			return false
		}
	}
	return true
}

// validName reports whether name can be one of the names in a path.
func validName(name string) bool {
	if name == "" || name == "." || name == ".." {
		return false
	}
	for _, r := range name { // what is not UTF-8 comes as U+FFFD
		if r == '/' || r <= 0x1f || 0x7f <= r && r <= 0x9f || 0xd800 <= r && r <= 0xf8ff || 0xfff0 <= r {
			return false
		}
	}
	return len(name) <= maxString
}

// parentOf splits a path after its last "/" as ZooKeeper does before it looks at anything else: the parent of "/a" is "". False if there is no "/"
// or there is a NUL.
func parentOf(path string) (parent, name string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 || strings.IndexByte(path, 0) >= 0 {
		return "", "", false
	}
	return path[:i], path[i+1:], true
}

// configPath is what a client sees as /zookeeper/config.
const configPath = ClientRoot + "/zookeeper/config"

// seeds are the nodes that exist from the start, parents first. Nothing deletes them.
var seeds = [...]string{"/", ReservedRoot, ClientRoot, ClientRoot + "/zookeeper", configPath, ClientRoot + "/zookeeper/quota"}

// special reports whether abs is one of the seeds.
func special(abs string) bool { return slices.Contains(seeds[:], abs) }

// validText reports whether s can be a scheme or an identity.
func validText(s string) bool { return len(s) <= maxString && utf8.ValidString(s) }
