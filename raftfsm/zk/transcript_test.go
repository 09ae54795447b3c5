package zk

import (
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/raftfsm/zk/jute"
)

// recordFrom is a fresh ZooKeeper whose answers become the expected ones.
var recordFrom = flag.String("zookeeper", "", "record testdata/zookeeper.txt from the ZooKeeper at this address, just started on an empty folder")

// step is one request of the transcript.
type step struct {
	client int
	op     jute.Op
	body   jute.Body
}

var opNames = map[jute.Op]string{
	jute.OpCreate: "create", jute.OpDelete: "delete", jute.OpExists: "exists", jute.OpGetData: "getData", jute.OpSetData: "setData", jute.OpGetACL: "getACL",
	jute.OpSetACL: "setACL", jute.OpGetChildren: "getChildren", jute.OpSync: "sync", jute.OpPing: "ping", jute.OpGetChildren2: "getChildren2",
	jute.OpCheck: "check", jute.OpMulti: "multi", jute.OpCreate2: "create2", jute.OpReconfig: "reconfig", jute.OpCheckWatches: "checkWatches",
	jute.OpRemoveWatches: "removeWatches", jute.OpCreateContainer: "createContainer", jute.OpCreateTTL: "createTTL", jute.OpAuth: "auth",
	jute.OpSetWatches: "setWatches", jute.OpGetEphemerals: "getEphemerals", jute.OpGetAllChildrenNumber: "getAllChildrenNumber",
	jute.OpSetWatches2: "setWatches2", jute.OpAddWatch: "addWatch", jute.OpWhoAmI: "whoAmI", jute.OpCloseSession: "closeSession",
}

// script is what the transcript asks: every operation, its errors, its watches.
func script() []step {
	mk := func(path, data string, flags int32) jute.Create {
		return jute.Create{Path: path, Data: []byte(data), ACL: world, Flags: flags}
	}
	del := func(path string, version int32) jute.Delete { return jute.Delete{Path: path, Version: version} }
	get := func(path string) jute.Read { return jute.Read{Path: path} }
	watch := func(path string) jute.Read { return jute.Read{Path: path, Watch: true} }
	set := func(path, data string, version int32) jute.SetData {
		return jute.SetData{Path: path, Data: []byte(data), Version: version}
	}
	watches := func(path string, kind int32) jute.Watches { return jute.Watches{Path: path, Kind: kind} }
	multi := func(parts ...jute.Part) jute.Multi { return jute.Multi{Ops: parts} }
	part := func(op jute.Op, body jute.Body) jute.Part { return jute.Part{Op: op, Body: body} }
	digest := func(text string) jute.Auth { return jute.Auth{Scheme: "digest", Auth: []byte(text)} }
	own := []jute.ACL{{Perms: 31, Scheme: "auth"}}
	return []step{
		{1, jute.OpPing, nil},
		{1, jute.OpWhoAmI, nil},
		{1, jute.OpGetChildren, get("/")},
		{1, jute.OpGetData, get("/zookeeper/config")},
		{1, jute.OpGetChildren, get("/zookeeper")},
		// creates
		{1, jute.OpCreate, mk("/a", "one", 0)},
		{1, jute.OpCreate, mk("/a", "two", 0)},
		{1, jute.OpCreate2, mk("/a/b", "", 0)},
		{1, jute.OpCreate2, mk("/x/y", "", 0)},
		{1, jute.OpCreate2, mk("/a/s-", "", 2)},
		{1, jute.OpCreate2, mk("/a/", "", 2)},
		{1, jute.OpCreate2, mk("/a/e-", "lease", 3)},
		{1, jute.OpCreate2, mk("/a/e", "", 1)},
		{1, jute.OpCreate2, mk("/a/e/f", "", 0)},
		{1, jute.OpCreateContainer, mk("/a/box", "", 4)},
		{1, jute.OpCreateContainer, mk("/a/box", "", 4)},
		{1, jute.OpCreateContainer, mk("/a/nobox", "", 0)},
		{1, jute.OpCreate2, mk("/a/box2", "", 4)},
		{1, jute.OpCreate2, jute.Create{Path: "/a/null", ACL: world}},
		{1, jute.OpGetData, get("/a/null")},
		{1, jute.OpCreateTTL, jute.Create{Path: "/a/ttl", ACL: world, Flags: 5, TTL: 1000}},
		{1, jute.OpCreateTTL, jute.Create{Path: "/a/ttl", ACL: world, Flags: 0, TTL: 1000}},
		{1, jute.OpCreate2, jute.Create{Path: "/a/ttl", ACL: world, Flags: 5}},
		{1, jute.OpCreate, mk("/", "", 0)},
		{1, jute.OpCreate, mk("", "", 0)},
		{1, jute.OpCreate, mk("a", "", 0)},
		{1, jute.OpCreate, mk("/a/", "", 0)},
		{1, jute.OpCreate, mk("//a", "", 0)},
		{1, jute.OpCreate, mk("/a/../b", "", 0)},
		{1, jute.OpCreate, mk("/a/.", "", 0)},
		{1, jute.OpCreate, mk("/a/\x01", "", 0)},
		{1, jute.OpCreate, mk("/a/\ufff1", "", 0)},
		{1, jute.OpCreate, mk("/a/é", "", 0)},
		{1, jute.OpCreate, mk("/flags", "", 7)},
		{1, jute.OpCreate, mk("/flags", "", -1)},
		{1, jute.OpCreate, jute.Create{Path: "/acl"}},
		{1, jute.OpCreate, jute.Create{Path: "/acl", ACL: []jute.ACL{}}},
		{1, jute.OpCreate, jute.Create{Path: "/acl", ACL: []jute.ACL{{Perms: 31, Scheme: "nonsense", ID: "x"}}}},
		{1, jute.OpCreate, jute.Create{Path: "/acl", ACL: own}},
		{1, jute.OpCreate, jute.Create{Path: "/acl", ACL: []jute.ACL{{Perms: 31, Scheme: "ip", ID: "127.0.0.1"}}}},
		{1, jute.OpGetACL, jute.Path{Path: "/acl"}},
		// reads
		{1, jute.OpExists, get("/a")},
		{1, jute.OpExists, get("/gone")},
		{1, jute.OpExists, get("a")},
		{1, jute.OpGetData, get("/gone")},
		{1, jute.OpGetData, get("/a/")},
		{1, jute.OpGetChildren, get("/a")},
		{1, jute.OpGetChildren2, get("/a/b")},
		{1, jute.OpGetChildren2, get("/gone")},
		{1, jute.OpGetEphemerals, jute.Path{Path: "/"}},
		{1, jute.OpGetEphemerals, jute.Path{Path: "/a/e-"}},
		{2, jute.OpGetEphemerals, jute.Path{Path: "/"}},
		{1, jute.OpGetAllChildrenNumber, jute.Path{Path: "/a"}},
		{1, jute.OpGetAllChildrenNumber, jute.Path{Path: "/gone"}},
		// changes
		{1, jute.OpSetData, set("/a", "three", 0)},
		{1, jute.OpSetData, set("/a", "four", 0)},
		{1, jute.OpSetData, set("/a", "five", -1)},
		{1, jute.OpSetData, set("/a", "six", -2)},
		{1, jute.OpSetData, set("/gone", "", -1)},
		{1, jute.OpSetData, set("/a/", "", -1)},
		{1, jute.OpSetData, jute.SetData{Path: "/a", Version: -1}},
		{1, jute.OpDelete, del("/a", -1)},
		{1, jute.OpDelete, del("/a/b", 7)},
		{1, jute.OpDelete, del("/a/b", 0)},
		{1, jute.OpDelete, del("/a/b", -1)},
		{1, jute.OpDelete, del("/", -1)},
		{1, jute.OpDelete, del("x", -1)},
		{1, jute.OpDelete, del("/gone/", -1)},
		{1, jute.OpDelete, del("/a/", -1)},
		{1, jute.OpExists, get("/a")},
		// watches: the client's own changes, then another's
		{1, jute.OpCreate, mk("/w", "", 0)},
		{1, jute.OpGetData, watch("/w")},
		{1, jute.OpGetChildren, watch("/w")},
		{1, jute.OpExists, watch("/w/c")},
		{1, jute.OpGetData, watch("/w/none")},
		{1, jute.OpCreate, mk("/w/c", "", 0)},
		{1, jute.OpCreate, mk("/w/none", "", 0)},
		{1, jute.OpSetData, set("/w", "x", -1)},
		{1, jute.OpSetData, set("/w", "y", -1)},
		{1, jute.OpExists, watch("/w/c")},
		{1, jute.OpGetChildren2, watch("/w/c")},
		{1, jute.OpGetChildren2, watch("/w")},
		{2, jute.OpDelete, del("/w/c", -1)},
		{1, jute.OpPing, nil},
		{1, jute.OpExists, watch("/w/none")},
		{1, jute.OpCheckWatches, watches("/w/none", 2)},
		{1, jute.OpCheckWatches, watches("/w/none", 1)},
		{1, jute.OpCheckWatches, watches("/w/none", 3)},
		{1, jute.OpCheckWatches, watches("/w/none", 4)},
		{1, jute.OpCheckWatches, watches("/w/none", 5)},
		{1, jute.OpCheckWatches, watches("/w/none", 8)},
		{1, jute.OpRemoveWatches, watches("/w/none", 1)},
		{1, jute.OpRemoveWatches, watches("/w/none", 2)},
		{1, jute.OpRemoveWatches, watches("/w/none", 2)},
		{1, jute.OpRemoveWatches, watches("/w/none", 9)},
		{1, jute.OpAddWatch, jute.AddWatch{Path: "/w", Mode: 0}},
		{1, jute.OpAddWatch, jute.AddWatch{Path: "/", Mode: 1}},
		{1, jute.OpAddWatch, jute.AddWatch{Path: "/w", Mode: 2}},
		{1, jute.OpCreate, mk("/w/d", "", 0)},
		{1, jute.OpSetData, set("/w/d", "", -1)},
		{1, jute.OpDelete, del("/w/d", -1)},
		{1, jute.OpRemoveWatches, watches("/w", 4)},
		{1, jute.OpRemoveWatches, watches("/", 5)},
		{1, jute.OpSetData, set("/w", "z", -1)},
		{1, jute.OpSetWatches, jute.SetWatches{RelativeZxid: 1, Data: []string{"/w", "/none"}, Exist: []string{"/w", "/none"}, Child: []string{"/w", "/none"}}},
		{1, jute.OpSetWatches, jute.SetWatches{RelativeZxid: 1 << 40, Data: []string{"/w"}, Exist: []string{"/later"}, Child: []string{"/w"}}},
		{1, jute.OpCreate, mk("/w/later", "", 0)},
		{1, jute.OpSetData, set("/w", "", -1)},
		{1, jute.OpCreate, mk("/later", "", 0)},
		{1, jute.OpSetWatches2, jute.SetWatches{RelativeZxid: 1 << 40, Persistent: []string{"/w"}, Recursive: []string{"/later"}}},
		{1, jute.OpCreate, mk("/w/p", "", 0)},
		{1, jute.OpCreate, mk("/later/r", "", 0)},
		{1, jute.OpRemoveWatches, watches("/w", 3)},
		{1, jute.OpRemoveWatches, watches("/later", 3)},
		{1, jute.OpRemoveWatches, watches("/none", 3)},
		// multi
		{1, jute.OpMulti, multi()},
		{1, jute.OpMulti, multi(part(jute.OpCreate, mk("/m", "", 0)), part(jute.OpCreate2, mk("/m/s-", "", 2)), part(jute.OpCheck, del("/m", 0)),
			part(jute.OpSetData, set("/m", "x", 0)), part(jute.OpDelete, del("/m/s-0000000000", -1)), part(jute.OpCreateContainer, mk("/m/box", "", 4)))},
		{1, jute.OpExists, get("/m")},
		{1, jute.OpMulti, multi(part(jute.OpSetData, set("/m", "y", -1)), part(jute.OpCheck, del("/m", 0)), part(jute.OpDelete, del("/m", -1)))},
		{1, jute.OpMulti, multi(part(jute.OpDelete, del("/gone", -1)), part(jute.OpCreate, mk("/n", "", 0)))},
		{1, jute.OpExists, get("/m")},
		{1, jute.OpExists, watch("/m2")},
		{1, jute.OpGetChildren, watch("/m")},
		{1, jute.OpMulti, multi(part(jute.OpCreate, mk("/m2", "", 0)), part(jute.OpCreate, mk("/m/c", "", 0)))},
		// who may what
		{1, jute.OpAuth, digest("joe:pw")},
		{1, jute.OpWhoAmI, nil},
		{1, jute.OpCreate, jute.Create{Path: "/joe", Data: []byte("x"), ACL: own}},
		{1, jute.OpGetACL, jute.Path{Path: "/joe"}},
		{2, jute.OpGetACL, jute.Path{Path: "/joe"}},
		{2, jute.OpGetData, get("/joe")},
		{2, jute.OpExists, get("/joe")},
		{2, jute.OpGetChildren, get("/joe")},
		{2, jute.OpSetData, set("/joe", "y", -1)},
		{2, jute.OpCreate, mk("/joe/c", "", 0)},
		{2, jute.OpGetAllChildrenNumber, jute.Path{Path: "/joe"}},
		{1, jute.OpCreate, mk("/joe/c", "", 0)},
		{2, jute.OpDelete, del("/joe/c", -1)},
		{1, jute.OpSetACL, jute.SetACL{Path: "/joe", ACL: append([]jute.ACL{{Perms: 1, Scheme: "world", ID: "anyone"}}, own...), Aversion: 0}},
		{1, jute.OpSetACL, jute.SetACL{Path: "/joe", ACL: world, Aversion: 0}},
		{1, jute.OpSetACL, jute.SetACL{Path: "/gone", ACL: world, Aversion: -1}},
		{1, jute.OpSetACL, jute.SetACL{Path: "/joe", Aversion: -1}},
		{2, jute.OpGetACL, jute.Path{Path: "/joe"}},
		{2, jute.OpSetACL, jute.SetACL{Path: "/joe", ACL: world, Aversion: -1}},
		{2, jute.OpGetData, get("/joe")},
		{2, jute.OpAuth, digest("joe:pw")},
		{2, jute.OpSetData, set("/joe", "z", -1)},
		// the end of a session
		{2, jute.OpGetChildren, watch("/a")},
		{1, jute.OpCloseSession, nil},
		{2, jute.OpPing, nil},
		{2, jute.OpExists, get("/a")},
		// what does not decode, and sync: ZooKeeper's zxid moves otherwise than here, so these come last
		{2, jute.OpSync, jute.Path{Path: "/gone"}},
		{2, jute.OpSync, jute.Path{Path: "gone"}},
		{2, jute.OpMulti, multi(part(jute.OpMulti, multi()))},
		{2, jute.OpDelete, jute.Path{Path: "/"}},
		{2, jute.OpExists, jute.Path{Path: "/"}},
		{2, jute.OpGetChildren, jute.Path{Path: "/"}},
		{2, jute.OpSetWatches, jute.Path{Path: "/"}},
		{2, jute.OpCreate, jute.Path{Path: "/"}},
		{2, jute.OpCheckWatches, jute.Path{Path: "/"}},
		{2, jute.OpPing, nil},
		{2, jute.OpCloseSession, nil},
	}
}

// transcribe plays the script at a server and writes down all it says.
func transcribe(t *testing.T, address string) string {
	t.Helper()
	clients := map[int]*peer{}
	owners := map[int64]string{0: "0"}
	login := func(q jute.ConnectRequest) *peer {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.SetDeadline(time.Now().Add(60 * time.Second)); err != nil {
			t.Fatal(err)
		}
		p := &peer{t: t, net: c}
		p.login(q)
		return p
	}
	for _, n := range []int{1, 2} {
		clients[n] = login(jute.ConnectRequest{TimeOut: 8000, Passwd: make([]byte, 16)})
		owners[clients[n].session.SessionID] = fmt.Sprintf("client%d", n)
	}
	var b strings.Builder
	for _, s := range script() {
		name := opNames[s.op]
		if name == "" {
			name = fmt.Sprintf("operation%d", s.op)
		}
		fmt.Fprintf(&b, "%d> %s %s\n", s.client, name, strings.ReplaceAll(fmt.Sprintf("%+q", fmt.Sprintf("%+v", s.body)), `"`, ""))
		p := clients[s.client]
		p.events = nil
		xid := p.send(s.op, s.body)
		h, r, err := p.tryReply()
		for _, e := range p.events {
			fmt.Fprintf(&b, "%d<   event %s\n", s.client, e)
		}
		if err != nil {
			fmt.Fprintf(&b, "%d<   the connection ends\n", s.client)
			again := login(jute.ConnectRequest{TimeOut: 8000, SessionID: p.session.SessionID, Passwd: p.session.Passwd})
			again.xid = xid
			clients[s.client] = again
			continue
		}
		if h.Xid != xid {
			t.Fatalf("reply to %d, want %d", h.Xid, xid)
		}
		fmt.Fprintf(&b, "%d<   %v", s.client, h.Err)
		if h.Err == jute.OK {
			b.WriteString(describe(t, s.op, r, owners))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// describe is the body of a reply in words.
func describe(t *testing.T, op jute.Op, r *jute.Reader, owners map[int64]string) string {
	var b strings.Builder
	stat := func() {
		s := r.Stat()
		fmt.Fprintf(&b, " czxid=%d mzxid=%d pzxid=%d version=%d cversion=%d aversion=%d owner=%s length=%d children=%d",
			s.Czxid, s.Mzxid, s.Pzxid, s.Version, s.Cversion, s.Aversion, owners[s.EphemeralOwner], s.DataLength, s.NumChildren)
	}
	buffer := func() {
		if d := r.Buffer(); d == nil {
			b.WriteString(" null")
		} else {
			fmt.Fprintf(&b, " %q", d)
		}
	}
	switch op {
	case jute.OpCreate, jute.OpSync:
		fmt.Fprintf(&b, " %q", r.String())
	case jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		fmt.Fprintf(&b, " %q", r.String())
		stat()
	case jute.OpExists, jute.OpSetData, jute.OpSetACL, jute.OpCheck:
		stat()
	case jute.OpGetData:
		buffer()
		stat()
	case jute.OpGetChildren, jute.OpGetChildren2, jute.OpGetEphemerals:
		names := r.Strings()
		fmt.Fprintf(&b, " %q", slices.Sorted(slices.Values(names)))
		if op == jute.OpGetChildren2 {
			stat()
		}
	case jute.OpGetACL:
		fmt.Fprintf(&b, " %v", r.ACLs())
		stat()
	case jute.OpGetAllChildrenNumber, jute.OpAddWatch:
		fmt.Fprintf(&b, " %d", r.Int())
	case jute.OpWhoAmI:
		ids := r.IDs() // in no order
		slices.SortFunc(ids, func(a, b jute.ID) int { return strings.Compare(a.Scheme, b.Scheme) })
		fmt.Fprintf(&b, " %v", ids)
	case jute.OpMulti:
		for _, x := range r.Results() {
			fmt.Fprintf(&b, " {%d %v %q v%d c%d}", x.Op, x.Err, x.Path, x.Stat.Version, x.Stat.NumChildren)
		}
	}
	if err := r.End(); err != nil {
		fmt.Fprintf(&b, " (%v, %d bytes)", err, r.Len())
	}
	return b.String()
}

// TestTranscript compares with what a real ZooKeeper says to the same requests.
func TestTranscript(t *testing.T) {
	const file = "testdata/zookeeper.txt"
	if *recordFrom != "" {
		if err := os.WriteFile(file, []byte(transcribe(t, *recordFrom)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	recorded, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, func(c *Config) { c.TickTime = 500 * time.Millisecond })
	want, got := strings.Split(string(recorded), "\n"), strings.Split(transcribe(t, s.Addr()), "\n")
	for n := range min(len(want), len(got)) {
		if want[n] != got[n] {
			t.Errorf("line %d\n%s\n got %s\nwant %s", n+1, want[max(0, n-1)], got[n], want[n])
		}
	}
	if len(want) != len(got) {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
}
