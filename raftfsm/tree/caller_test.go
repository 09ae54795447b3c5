package tree

import (
	"testing"

	"pgregory.net/rapid"
)

// TestIPs has who an entry with scheme ip lets in.
func TestIPs(t *testing.T) {
	for _, c := range []struct {
		entry, address string
		want           bool
	}{
		{"10.1.2.3", "10.1.2.3", true},
		{"10.1.2.3", "10.1.2.4", false},
		{"10.1.2.3/24", "10.1.2.200", true},
		{"10.1.2.3/24", "10.1.3.3", false},
		{"10.1.2.3/0", "192.0.2.1", true},
		{"10.1.2.3", "::ffff:10.1.2.3", true}, // a socket of both families names a v4 peer so
		{"::1", "::1", true},
		{"fe80::/10", "fe80::1%eth0", true},
		{"fe80::/10", "10.1.2.3", false},
		{"10.1.2.3", "not an address", false},
		{"", "10.1.2.3", false},
	} {
		caller := Caller{Chroot: ClientRoot, IDs: []ID{{"ip", c.address}}}
		if got := caller.May([]ACL{{PermRead, ID{"ip", c.entry}}}, PermRead); got != c.want {
			t.Errorf("%s by %s: %v", c.address, c.entry, got)
		}
	}
	for s, want := range map[string]bool{"10.1.2.3": true, "10.1.2.3/33": false, "10.1.2": false, "fe80::1%eth0": false, "::1/64": true, "/8": false} {
		if got := (ID{"ip", s}).valid(); got != want {
			t.Errorf("%s is valid: %v", s, got)
		}
	}
}

// TestDigest has the identity of u:p as ZooKeeper shows it (testdata/zookeeper/04-acl.txt).
func TestDigest(t *testing.T) {
	if id, ok := DigestID([]byte("u:p")); !ok || id != (ID{"digest", "u:Jq7wMyA/w2Vd5WIDAKdu4OIIFEQ="}) {
		t.Errorf("%v, %v", id, ok)
	}
	if _, ok := DigestID([]byte("nocolon")); ok {
		t.Error("credentials without a colon")
	}
}

func TestValidPath(t *testing.T) {
	for path, want := range map[string]bool{
		"/": true, "/a": true, "/a/b": true, "/.a": true, "/a.": true, "/a..b": true, "/...": true, "/a b": true, "/é世": true, "/\u00a0": true, "/\uf900": true,
		"": false, "a": false, "/a/": false, "//": false, "/a//b": false, "/.": false, "/..": false, "/a/./b": false, "/a/..": false,
		"/\x00": false, "/\x1f": false, "/\x7f": false, "/\u009f": false, "/\ue000": false, "/\uf8ff": false, "/\ufff0": false, "/\uffff": false,
		"/\xff": false, "/😀": false,
	} {
		if got := ValidPath(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}

// TestAbsRel: what a caller can name is inside its subtree, and there and back is the same path.
func TestAbsRel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Caller{Chroot: rapid.SampledFrom([]string{"", ClientRoot, ClientRoot + "/x"}).Draw(t, "chroot")}
		path := rapid.OneOf(drawPath, rapid.StringMatching(`[/.a]{0,8}`)).Draw(t, "path")
		abs, ok := c.Abs(path)
		if ok != ValidPath(path) {
			t.Fatalf("Abs(%q) = %q, %v", path, abs, ok)
		}
		if !ok {
			return
		}
		if back, ok := c.Rel(abs); !ok || back != path || !ValidPath(abs) {
			t.Fatalf("%q became %q, back %q, %v", path, abs, back, ok)
		}
		if _, ok := c.Rel("/saranga/x"); ok != (c.Chroot == "") {
			t.Fatal("the reserved tree has a relative path")
		}
		if _, ok := c.Rel(c.Chroot + "y"); ok && c.Chroot != "" {
			t.Fatal("a sibling has a relative path")
		}
	})
}
