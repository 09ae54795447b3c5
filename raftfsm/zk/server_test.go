package zk

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/raftfsm/tree"
	"github.com/saranga-mq/saranga/raftfsm/zk/jute"
)

func TestConfig(t *testing.T) {
	for _, x := range []struct {
		name string
		cfg  Config
		err  string // "" is fine
	}{
		{"loopback", Config{Listen: "127.0.0.1:2181"}, ""},
		{"loopback 6", Config{Listen: "[::1]:2181"}, ""},
		{"localhost", Config{Listen: "localhost:0"}, ""},
		{"not told where", Config{}, "listen: address"},
		{"every address", Config{Listen: ":2181"}, "not loopback"},
		{"an address", Config{Listen: "10.0.0.1:2181"}, "not loopback"},
		{"an address and networks", Config{Listen: "10.0.0.1:2181", Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, ""},
		{"root below", Config{Listen: "127.0.0.1:0", Root: "/clients/brokers"}, ""},
		{"root beside", Config{Listen: "127.0.0.1:0", Root: "/clientsbeside"}, "root"},
		{"root of metadata", Config{Listen: "127.0.0.1:0", Root: "/saranga"}, "root"},
		{"root everything", Config{Listen: "127.0.0.1:0", Root: "/"}, "root"},
		{"root dots", Config{Listen: "127.0.0.1:0", Root: "/clients/../saranga"}, "root"},
		{"admin", Config{Listen: "127.0.0.1:0", Admins: []string{"super:xQJmxLMiHGwaqBvst5y6rkB6HQs="}}, ""},
		{"admin in clear", Config{Listen: "127.0.0.1:0", Admins: []string{"super:secret"}}, `admins[0]: user "super"`},
		{"frames too small", Config{Listen: "127.0.0.1:0", Limits: Limits{Frame: 10}}, "limits.frame: "},
		{"tick", Config{Listen: "127.0.0.1:0", TickTime: 1}, "tickTime: "},
	} {
		t.Run(x.name, func(t *testing.T) {
			err := x.cfg.withDefaults().validate()
			if x.err == "" && err != nil || x.err != "" && (err == nil || !strings.Contains(err.Error(), x.err)) {
				t.Errorf("%v, want %q", err, x.err)
			}
		})
	}
}

func TestAllowedAddresses(t *testing.T) {
	c := Config{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8")}}
	for addr, want := range map[string]bool{"127.0.0.1": true, "::1": true, "10.1.2.3": true, "10.2.0.1": false, "fd12::1": true, "2001:db8::1": false} {
		if got := c.allows(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
}

// Spec ha.md 3.7: the timeout is clamped to 2 and 20 ticks.
func TestGrantedTimeout(t *testing.T) {
	s := serve(t, func(c *Config) { c.TickTime = 500 * time.Millisecond })
	for asked, want := range map[int32]int32{18000: 10000, 6000: 6000, 1: 1000, -5: 1000} {
		p := dial(t, s)
		p.login(jute.ConnectRequest{TimeOut: asked, Passwd: make([]byte, 16)})
		if p.session.TimeOut != want || p.session.HasReadOnly {
			t.Errorf("asked %d, got %+v, want %d", asked, p.session, want)
		}
	}
}

func TestReattach(t *testing.T) {
	s := serve(t, nil)
	p := connect(t, s)
	p.want(jute.OK, jute.OpCreate, jute.Create{Path: "/e", ACL: world, Flags: jute.FlagEphemeral})
	p.want(jute.OK, jute.OpGetData, jute.Read{Path: "/e", Watch: true})

	n := p.reattach(s)
	if n.session.SessionID != p.session.SessionID || !bytes.Equal(n.session.Passwd, p.session.Passwd) {
		t.Fatalf("%+v, had %+v", n.session, p.session)
	}
	p.gone() // the session has one connection
	// The watch was the connection's: the client brings it along.
	h, _ := n.call(jute.OpSetData, jute.SetData{Path: "/e", Version: -1})
	if h.Err != jute.OK || len(n.events) != 0 {
		t.Fatal(h, n.events)
	}
	n.want(jute.OK, jute.OpSetWatches, jute.SetWatches{RelativeZxid: h.Zxid - 1, Data: []string{"/e", "/gone", "/zookeeper/config"}, Exist: []string{"/e", "/later"}, Child: []string{"/"}})
	// "/" has got no child since.
	if want := []string{"data /e (-1)", "deleted /gone (-1)", "created /e (-1)"}; !slices.Equal(n.events, want) {
		t.Errorf("%q, want %q", n.events, want)
	}
	n.events = nil
	n.want(jute.OK, jute.OpCreate, node("/later", ""))
	if want := []string{"created /later", "children /"}; !slices.Equal(n.events, want) {
		t.Errorf("%q, want %q", n.events, want)
	}
}

func TestReattachRefused(t *testing.T) {
	s := serve(t, nil)
	p := connect(t, s)
	for name, q := range map[string]jute.ConnectRequest{
		"wrong password": {SessionID: p.session.SessionID, Passwd: make([]byte, 16), HasReadOnly: true},
		"short password": {SessionID: p.session.SessionID, Passwd: p.session.Passwd[:8], HasReadOnly: true},
		"unknown id":     {SessionID: p.session.SessionID ^ 1, Passwd: p.session.Passwd, HasReadOnly: true},
	} {
		t.Run(name, func(t *testing.T) {
			n := dial(t, s)
			n.login(q)
			if n.session.SessionID != 0 || n.session.TimeOut != 0 || !bytes.Equal(n.session.Passwd, make([]byte, 16)) || !n.session.HasReadOnly {
				t.Errorf("%+v", n.session)
			}
			n.gone()
		})
	}
	p.want(jute.OK, jute.OpPing, nil) // it has kept its session
}

// A client that has seen more than this member is held, then closed without an answer.
func TestLastZxidSeen(t *testing.T) {
	s := serve(t, nil)
	p := dial(t, s)
	start := time.Now()
	p.write(jute.ConnectRequest{LastZxidSeen: 99, TimeOut: 6000, Passwd: make([]byte, 16)}.Append)
	if b, err := io.ReadAll(p.net); len(b) > 0 || err != nil && !isReset(err) {
		t.Errorf("%x %v", b, err)
	}
	if d := time.Since(start); d < holdConnect {
		t.Errorf("closed after %v", d)
	}
	s.log.waitFor(t, "it has seen transaction 0x63, this member only 0x0")

	// It catches up while the connect is held.
	p = dial(t, s)
	p.write(jute.ConnectRequest{LastZxidSeen: 3, TimeOut: 6000, Passwd: make([]byte, 16)}.Append)
	for range 3 {
		s.member.leader(t, tree.Command{Op: &tree.Sync{Path: "/"}})
	}
	if b, err := p.read(); err != nil || len(b) == 0 {
		t.Fatal(err)
	}
}

// Rule 7 and 8: a member that is not fresh closes its clients and holds new ones.
func TestNotFresh(t *testing.T) {
	s := serve(t, nil)
	p := connect(t, s)
	s.member.stale.Store(true)
	p.gone()
	s.log.waitFor(t, errStale.Error())
	n := dial(t, s)
	n.write(jute.ConnectRequest{TimeOut: 6000, SessionID: p.session.SessionID, Passwd: p.session.Passwd}.Append)
	s.member.stale.Store(false)
	if b, err := n.read(); err != nil || len(b) == 0 {
		t.Fatal(err)
	}
}

// The outcome of a write that the group does not answer is unknown: the connection ends, without a reply.
func TestNoLeader(t *testing.T) {
	s := serve(t, func(c *Config) { c.Limits.RequestTimeout = 50 * time.Millisecond })
	p := connect(t, s)
	s.member.mute.Store(true)
	p.send(jute.OpCreate, node("/a", ""))
	if b, err := io.ReadAll(p.net); len(b) > 0 || err != nil && !isReset(err) {
		t.Errorf("%x %v", b, err)
	}
	s.log.waitFor(t, "the outcome is not known")
}

// Requests behind a write that waits are answered after it, in order, and the client counts as heard of meanwhile.
func TestOrderBehindSlowWrite(t *testing.T) {
	s := serve(t, nil)
	p := connect(t, s)
	s.member.mu.Lock() // the write stands before the critical section
	var xids []int32
	for n := range 5 {
		xids = append(xids, p.send(jute.OpCreate, node(fmt.Sprint("/", n), "")), p.send(jute.OpPing, nil), p.send(jute.OpExists, jute.Read{Path: fmt.Sprint("/", n)}))
	}
	s.member.mu.Unlock()
	var zxid int64
	for _, xid := range xids {
		h, _ := p.reply()
		if h.Xid != xid || h.Err != jute.OK || h.Zxid < zxid {
			t.Fatalf("%+v, want %d", h, xid)
		}
		zxid = h.Zxid
	}
}

// A proposal that is committed twice is applied and answered once.
func TestCommittedTwice(t *testing.T) {
	s := serve(t, nil)
	s.member.twice.Store(true)
	p := connect(t, s)
	p.want(jute.OK, jute.OpCreate, node("/d", ""))
	for range 3 {
		p.want(jute.OK, jute.OpCreate, jute.Create{Path: "/d/n-", ACL: world, Flags: jute.FlagPersistentSequential})
	}
	_, r := p.call(jute.OpGetChildren, jute.Read{Path: "/d"})
	if want := []string{"n-0000000000", "n-0000000001", "n-0000000002"}; !slices.Equal(r.Strings(), want) {
		t.Errorf("want %q", want)
	}
	p.want(jute.OK, jute.OpCloseSession, nil)
	p.gone()
}

func TestEventBeforeReply(t *testing.T) {
	s := serve(t, nil)
	p, q := connect(t, s), connect(t, s)
	p.want(jute.OK, jute.OpCreate, node("/d", ""))
	for _, x := range []*peer{p, q} {
		x.want(jute.OK, jute.OpGetChildren2, jute.Read{Path: "/d", Watch: true})
		x.want(jute.OK, jute.OpGetData, jute.Read{Path: "/d", Watch: true})
		x.want(jute.NoNode, jute.OpExists, jute.Read{Path: "/d/c", Watch: true})
		x.want(jute.NoNode, jute.OpGetData, jute.Read{Path: "/d/x", Watch: true}) // sets none
	}
	p.want(jute.OK, jute.OpCreate, node("/d/c", ""))
	if want := []string{"created /d/c", "children /d"}; !slices.Equal(p.events, want) {
		t.Errorf("%q, want %q", p.events, want)
	}
	p.want(jute.OK, jute.OpCreate, node("/d/x", "")) // once is once
	p.want(jute.OK, jute.OpDelete, jute.Delete{Path: "/d/x", Version: -1})
	p.want(jute.OK, jute.OpDelete, jute.Delete{Path: "/d/c", Version: -1})
	p.want(jute.OK, jute.OpGetChildren, jute.Read{Path: "/d", Watch: true})
	p.want(jute.OK, jute.OpDelete, jute.Delete{Path: "/d", Version: -1})
	if want := []string{"created /d/c", "children /d", "deleted /d"}; !slices.Equal(p.events, want) { // once, though it has two watches there
		t.Errorf("%q, want %q", p.events, want)
	}
	q.want(jute.OK, jute.OpPing, nil) // whatever a later reply could show has been told before it
	if want := []string{"created /d/c", "children /d", "deleted /d"}; !slices.Equal(q.events, want) {
		t.Errorf("%q, want %q", q.events, want)
	}
}

func TestWatchRequests(t *testing.T) {
	s := serve(t, nil)
	p := connect(t, s)
	at := func(kind int32) jute.Watches { return jute.Watches{Path: "/", Kind: kind} }
	p.want(jute.NoWatcher, jute.OpCheckWatches, at(jute.WatcherAny))
	p.want(jute.OK, jute.OpGetChildren, jute.Read{Path: "/", Watch: true})
	p.want(jute.OK, jute.OpCheckWatches, at(jute.WatcherAny))
	p.want(jute.OK, jute.OpCheckWatches, at(jute.WatcherChildren))
	p.want(jute.NoWatcher, jute.OpCheckWatches, at(jute.WatcherData))
	p.want(jute.MarshallingError, jute.OpCheckWatches, at(9))
	p.want(jute.OK, jute.OpRemoveWatches, at(jute.WatcherChildren))
	p.want(jute.NoWatcher, jute.OpRemoveWatches, at(jute.WatcherChildren))
	p.want(jute.OK, jute.OpAddWatch, jute.AddWatch{Path: "/", Mode: jute.ModePersistentRecursive})
	p.want(jute.OK, jute.OpAddWatch, jute.AddWatch{Path: "/p", Mode: jute.ModePersistent})
	p.want(jute.OK, jute.OpCheckWatches, at(jute.WatcherPersistentRecursive))
	p.want(jute.OK, jute.OpCreate, node("/p", ""))
	p.want(jute.OK, jute.OpCreate, node("/p/q", ""))
	p.want(jute.OK, jute.OpDelete, jute.Delete{Path: "/p/q", Version: -1})
	want := []string{"created /p", "created /p/q", "children /p", "deleted /p/q", "children /p"}
	if !slices.Equal(p.events, want) {
		t.Errorf("%q, want %q", p.events, want)
	}
	n := p.reattach(s)
	n.want(jute.OK, jute.OpSetWatches2, jute.SetWatches{Persistent: []string{"/p"}, Recursive: []string{"/"}})
	n.want(jute.OK, jute.OpSetData, jute.SetData{Path: "/p", Version: -1})
	if want := []string{"data /p"}; !slices.Equal(n.events, want) {
		t.Errorf("%q, want %q", n.events, want)
	}
}

// What has no part in the protocol is answered and harms nobody: the connection stays (spec ha.md 3.7).
func TestOddRequests(t *testing.T) {
	s := serve(t, nil)
	p := connect(t, s)
	for _, x := range []struct {
		name string
		want jute.Code
		op   jute.Op
		body jute.Body
	}{
		{"unknown operation", jute.Unimplemented, 4711, jute.Path{Path: "/"}},
		{"deleteContainer, the leader's", jute.Unimplemented, 20, jute.Path{Path: "/"}},
		{"sasl", jute.Unimplemented, 102, jute.Path{Path: "x"}},
		{"reconfig", jute.ReconfigDisabled, jute.OpReconfig, nil},
		{"body too short", jute.MarshallingError, jute.OpDelete, jute.Path{Path: "/"}},
		{"body too long", jute.MarshallingError, jute.OpSync, jute.Delete{Path: "/"}},
		{"multi in a multi", jute.MarshallingError, jute.OpMulti, jute.Multi{Ops: []jute.Part{{Op: jute.OpMulti, Body: jute.Multi{}}}}},
		{"create of the root", jute.NodeExists, jute.OpCreate, node("/", "")},
		{"create of a malformed path", jute.BadArguments, jute.OpCreate, node("/zookeeper/", "")},
		{"create beside the root", jute.BadArguments, jute.OpCreate, node("x", "")},
		{"create above the root", jute.NoNode, jute.OpCreate, node("/../saranga/x", "")},
		{"delete of the root", jute.BadArguments, jute.OpDelete, jute.Delete{Path: "/", Version: -1}},
		{"read of a malformed path", jute.NoNode, jute.OpGetData, jute.Read{Path: "/../saranga"}},
		{"read beside the root", jute.NoNode, jute.OpGetData, jute.Read{Path: "x", Watch: true}},
		{"watch on a malformed path", jute.NoNode, jute.OpExists, jute.Read{Path: "//", Watch: true}},
		{"TTL", jute.Unimplemented, jute.OpCreateTTL, jute.Create{Path: "/ttl", ACL: world, Flags: jute.FlagPersistentTTL, TTL: 1000}},
		{"flags", jute.BadArguments, jute.OpCreate, jute.Create{Path: "/f", ACL: world, Flags: 99}},
		{"no list", jute.InvalidACL, jute.OpCreate, jute.Create{Path: "/f"}},
		{"mode of a watch", jute.MarshallingError, jute.OpAddWatch, jute.AddWatch{Path: "/", Mode: 7}},
		{"path beyond the bounds", jute.BadArguments, jute.OpCreate, node("/"+strings.Repeat("x", 100_000), "")},
	} {
		t.Run(x.name, func(t *testing.T) {
			p.t = t
			p.want(x.want, x.op, x.body)
			p.want(jute.OK, jute.OpExists, jute.Read{Path: "/"})
		})
	}
	if n := s.counts().watches; n != 0 {
		t.Errorf("%d watches", n)
	}
}

// A null data buffer is not an empty one.
func TestNullData(t *testing.T) {
	s := serve(t, nil)
	p := connect(t, s)
	p.want(jute.OK, jute.OpCreate, jute.Create{Path: "/null", ACL: world})
	p.want(jute.OK, jute.OpCreate, jute.Create{Path: "/empty", Data: []byte{}, ACL: world})
	for path, null := range map[string]bool{"/null": true, "/empty": false} {
		_, r := p.call(jute.OpGetData, jute.Read{Path: path})
		if got := r.Buffer(); (got == nil) != null || len(got) != 0 || r.Stat().DataLength != 0 {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestSessionReads(t *testing.T) {
	s := serve(t, nil)
	p, q := connect(t, s), connect(t, s)
	for _, path := range []string{"/a", "/a/b", "/a/b/c"} {
		p.want(jute.OK, jute.OpCreate, node(path, ""))
	}
	p.want(jute.OK, jute.OpCreate, jute.Create{Path: "/a/mine", ACL: world, Flags: jute.FlagEphemeral})
	q.want(jute.OK, jute.OpCreate, jute.Create{Path: "/a/other", ACL: world, Flags: jute.FlagEphemeral})
	if _, r := p.call(jute.OpGetAllChildrenNumber, jute.Path{Path: "/a"}); r.Int() != 4 {
		t.Error("wrong number of descendants")
	}
	if _, r := p.call(jute.OpGetEphemerals, jute.Path{Path: "/"}); !slices.Equal(r.Strings(), []string{"/a/mine"}) {
		t.Error("wrong ephemerals")
	}
	_, r := p.call(jute.OpWhoAmI, nil)
	if want := []jute.ID{{Scheme: "ip", ID: "127.0.0.1"}}; !slices.Equal(r.IDs(), want) {
		t.Error("wrong identity")
	}
	q.want(jute.NoAuth, jute.OpDelete, jute.Delete{Path: "/a/mine", Version: -1}) // a live one is its session's
	p.want(jute.OK, jute.OpCloseSession, nil)
	p.gone()
	q.want(jute.NoNode, jute.OpExists, jute.Read{Path: "/a/mine"})
}

func TestAuthentication(t *testing.T) {
	admin, _ := tree.DigestID([]byte("root:secret"))
	former, _ := tree.DigestID([]byte("root:former")) // two passwords, while one is changed
	s := serve(t, func(c *Config) { c.Admins = []string{former.ID, admin.ID} })
	p, a := connect(t, s), connect(t, s)
	digest := func(text string) jute.Auth { return jute.Auth{Scheme: "digest", Auth: []byte(text)} }

	// An ordinary identity, for lists of its own.
	p.want(jute.OK, jute.OpAuth, digest("joe:pw"))
	p.want(jute.OK, jute.OpCreate, node("/joe", "x"))
	a.want(jute.OK, jute.OpExists, jute.Read{Path: "/joe", Watch: true})
	p.want(jute.OK, jute.OpSetACL, jute.SetACL{Path: "/joe", ACL: []jute.ACL{{Perms: 31, Scheme: "auth"}}})
	p.want(jute.OK, jute.OpCreate, jute.Create{Path: "/lease", ACL: world, Flags: jute.FlagEphemeral})
	_, r := p.call(jute.OpWhoAmI, nil)
	if want := []jute.ID{{Scheme: "ip", ID: "127.0.0.1"}, {Scheme: "digest", ID: "joe"}}; !slices.Equal(r.IDs(), want) {
		t.Error("wrong identity")
	}
	p.want(jute.NoNode, jute.OpExists, jute.Read{Path: tree.ReservedRoot})

	a.want(jute.NoAuth, jute.OpGetData, jute.Read{Path: "/joe"})
	p.want(jute.OK, jute.OpSetData, jute.SetData{Path: "/joe", Version: -1})
	a.want(jute.OK, jute.OpPing, nil)
	if len(a.events) != 0 {
		t.Errorf("%q told to one who may not read", a.events)
	}

	// The administrator sees the tree from its root on.
	a.want(jute.OK, jute.OpAuth, digest("root:secret"))
	a.want(jute.NoNode, jute.OpExists, jute.Read{Path: "/joe"})
	a.want(jute.OK, jute.OpGetData, jute.Read{Path: tree.ClientRoot + "/joe", Watch: true})
	p.want(jute.OK, jute.OpSetData, jute.SetData{Path: "/joe", Version: -1})
	_, r = a.call(jute.OpGetChildren, jute.Read{Path: "/"})
	if names := r.Strings(); !slices.Equal(names, []string{"clients", "saranga"}) {
		t.Errorf("%q", names)
	}
	if want := []string{"data /clients/joe"}; !slices.Equal(a.events, want) {
		t.Errorf("%q, want %q", a.events, want)
	}
	a.want(jute.OK, jute.OpDelete, jute.Delete{Path: tree.ClientRoot + "/lease", Version: -1})

	for name, auth := range map[string]jute.Auth{
		"wrong password of an administrator": digest("root:guess"),
		"no colon":                           digest("root"),
		"more than a name and a password":    digest("joe:" + strings.Repeat("x", maxCredentials)),
		"unknown scheme":                     {Scheme: "kerberos"},
	} {
		t.Run(name, func(t *testing.T) {
			p := connect(t, s)
			p.t = t
			p.want(jute.AuthFailed, jute.OpAuth, auth)
			p.gone()
		})
	}
}

// Confinement below the root of clients.
func TestRoot(t *testing.T) {
	s := serve(t, func(c *Config) { c.Root = tree.ClientRoot + "/brokers" })
	s.member.leader(t, tree.Command{Op: &tree.Create{Path: s.cfg.Root, ACL: tree.OpenACL()}})
	p := connect(t, s)
	p.want(jute.OK, jute.OpGetChildren, jute.Read{Path: "/", Watch: true})
	p.want(jute.OK, jute.OpCreate, node("/x", ""))
	if want := []string{"children /"}; !slices.Equal(p.events, want) {
		t.Errorf("%q, want %q", p.events, want)
	}
	p.want(jute.NoNode, jute.OpExists, jute.Read{Path: "/zookeeper"})
	s.member.Read(func(v *tree.View) {
		if _, code := v.Exists(&tree.Caller{Admin: true}, "/clients/brokers/x"); code != tree.OK {
			t.Error(code)
		}
	})
}

func TestFourLetterWords(t *testing.T) {
	s := serve(t, func(c *Config) { c.Words = []string{"*"} })
	p := connect(t, s)
	p.want(jute.OK, jute.OpCreate, jute.Create{Path: "/e", ACL: world, Flags: jute.FlagEphemeral})
	ask := func(s served, word string) string {
		c := dial(t, s)
		if _, err := io.WriteString(c.net, word+"\n"); err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(c.net)
		if err != nil && !isReset(err) {
			t.Fatal(err)
		}
		return string(b)
	}
	for word, parts := range map[string][]string{
		"ruok": {"imok"},
		"isro": {"rw"},
		"srvr": {"Zookeeper version: 3.9", "Latency min/avg/max: ", "Zxid: 0x2\n", "Mode: standalone\n", "Node count: 7\n"},
		"stat": {"Clients:\n /127.0.0.1:", "Outstanding: 0\n"},
		"mntr": {"zk_server_state\tstandalone\n", "zk_znode_count\t7\n", "zk_ephemerals_count\t1\n", "zk_global_sessions\t1\n"},
		"conf": {"tickTime=2000\n", "minSessionTimeout=4000\n", "maxSessionTimeout=40000\n"},
		"dump": {fmt.Sprintf("%#x\t6000ms\n", p.session.SessionID), "\t/clients/e\n"},
		"kill": {"kill is not executed because it is not in the whitelist.\n"},
	} {
		got := ask(s, word)
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q is not in %q", word, part, got)
			}
		}
	}
	if got := ask(serve(t, nil), "dump"); got != "dump is not executed because it is not in the whitelist.\n" {
		t.Error(got)
	}
	s.member.stale.Store(true)
	if got := ask(s, "srvr"); got != "This ZooKeeper instance is not currently serving requests\n" {
		t.Error(got)
	}
	if got := ask(s, "ruok"); got != "imok" {
		t.Error(got)
	}
}

// Every session is reported to the leader again and again, with the time since its last frame.
func TestLiveness(t *testing.T) {
	s := serve(t, nil)
	p := connect(t, s)
	touched := func() time.Duration {
		s.member.mu.Lock()
		defer s.member.mu.Unlock()
		idle, ok := s.member.touched[p.session.SessionID]
		if !ok {
			return -1
		}
		return idle
	}
	until(t, "the session is reported", func() bool { return touched() >= 0 })
	until(t, "it grows silent", func() bool { return touched() > 300*time.Millisecond })
	silent := touched()
	until(t, "it is heard of again", func() bool {
		p.want(jute.OK, jute.OpPing, nil)
		return touched() < silent
	})
}

func TestLimits(t *testing.T) {
	t.Run("clients", func(t *testing.T) {
		s := serve(t, func(c *Config) { c.Limits.Clients = 2 })
		p := connect(t, s)
		connect(t, s)
		dial(t, s).gone()
		s.log.waitFor(t, "there are 2 clients already")
		p.want(jute.OK, jute.OpCloseSession, nil)
		p.gone()
		until(t, "its place is free", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.conns) == 1 })
		connect(t, s)
	})
	t.Run("clients of an address", func(t *testing.T) {
		s := serve(t, func(c *Config) { c.Limits.ClientsPerAddress = 1 })
		connect(t, s)
		dial(t, s).gone()
		s.log.waitFor(t, "there are 1 clients of its address already")
	})
	t.Run("frame before login", func(t *testing.T) {
		s := serve(t, nil)
		p := dial(t, s)
		p.write(func(b []byte) []byte { return append(b, make([]byte, loginFrame+1)...) })
		p.gone()
		s.log.waitFor(t, "frame of 1025 bytes, at most 1024 are taken")
	})
	t.Run("frame", func(t *testing.T) {
		s := serve(t, func(c *Config) { c.Limits.Frame = 2000 })
		p := connect(t, s)
		p.want(jute.OK, jute.OpCreate, node("/a", strings.Repeat("x", 1900)))
		p.send(jute.OpCreate, node("/b", strings.Repeat("x", 2000)))
		p.gone()
		s.log.waitFor(t, "at most 2000 are taken")
	})
	t.Run("negative frame", func(t *testing.T) {
		s := serve(t, nil)
		p := connect(t, s)
		if _, err := p.net.Write([]byte{0xff, 0xff, 0xff, 0xff}); err != nil {
			t.Fatal(err)
		}
		p.gone()
		s.log.waitFor(t, "frame of -1 bytes")
	})
	t.Run("login timeout", func(t *testing.T) {
		s := serve(t, func(c *Config) { c.Limits.LoginTimeout = 50 * time.Millisecond })
		dial(t, s).gone()
		s.log.waitFor(t, "no connect request")
		p := dial(t, s) // one that has begun
		if _, err := p.net.Write([]byte{0, 0, 0, 44, 0}); err != nil {
			t.Fatal(err)
		}
		p.gone()
	})
	t.Run("watches", func(t *testing.T) {
		s := serve(t, func(c *Config) { c.Limits.Watches = 2 })
		p := connect(t, s)
		for _, path := range []string{"/a", "/b", "/a"} {
			p.want(jute.NoNode, jute.OpExists, jute.Read{Path: path, Watch: true})
		}
		p.want(jute.QuotaExceeded, jute.OpExists, jute.Read{Path: "/c", Watch: true})
		p.want(jute.QuotaExceeded, jute.OpAddWatch, jute.AddWatch{Path: "/c"})
		p.want(jute.NoNode, jute.OpExists, jute.Read{Path: "/c"})
	})
	t.Run("output", func(t *testing.T) {
		s := serve(t, func(c *Config) { c.Limits.Output = 100_000 })
		p := connect(t, s)
		p.want(jute.OK, jute.OpCreate, node("/big", strings.Repeat("x", 90_000)))
		read := jute.AppendFrame(nil, jute.Request{Xid: 1, Op: jute.OpGetData, Body: jute.Read{Path: "/big"}}.Append)
		for { // and reads nothing
			if _, err := p.net.Write(read); err != nil {
				break
			}
		}
		s.log.waitFor(t, errOutputFull.Error())
	})
	t.Run("memory", func(t *testing.T) {
		s := serve(t, func(c *Config) { c.Limits.Memory = 50_000 })
		p := connect(t, s)
		p.send(jute.OpCreate, node("/big", strings.Repeat("x", 60_000)))
		p.gone()
		s.log.waitFor(t, errMemory.Error())
	})
	t.Run("outstanding", func(t *testing.T) {
		s := serve(t, func(c *Config) { c.Limits.Outstanding = 3 })
		p := connect(t, s)
		s.member.mute.Store(true)
		for range 50 {
			p.send(jute.OpCreate, node("/a", ""))
		}
		<-s.member.lost
		until(t, "the reader waits", func() bool { return s.counts().outstanding == 4 })
	})
}

// A frame counts in the memory of all connections while it comes, not only when it is there.
func TestUnfinishedFrame(t *testing.T) {
	s := serve(t, func(c *Config) { c.Limits.Memory = 4 * readStep })
	p := connect(t, s)
	p.want(jute.OK, jute.OpCreate, node("/x", strings.Repeat("x", readStep)))
	if _, err := p.net.Write(append([]byte{0, 8, 0, 0}, make([]byte, 5*readStep)...)); err != nil && !isReset(err) {
		t.Fatal(err)
	}
	p.gone()
	s.log.waitFor(t, errMemory.Error())
}

// What is not the protocol at all ends the connection, and no other.
func TestGarbagePeers(t *testing.T) {
	s := serve(t, nil)
	p := connect(t, s)
	for name, bytes := range map[string][]byte{
		"http":           []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"tls":            {0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc},
		"empty connect":  {0, 0, 0, 0},
		"short connect":  {0, 0, 0, 4, 1, 2, 3, 4},
		"artemis client": []byte("ARTEMIS\x00\x00\x00\x10"),
		"password":       append([]byte{0, 0, 0, 28}, append(make([]byte, 24), 0x7f, 0xff, 0xff, 0xff)...),
	} {
		t.Run(name, func(t *testing.T) {
			g := dial(t, s)
			if _, err := g.net.Write(bytes); err != nil {
				t.Fatal(err)
			}
			g.gone()
		})
	}
	g := connect(t, s) // after login: a header too short for an xid and an operation
	if _, err := g.net.Write([]byte{0, 0, 0, 3, 1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	g.gone()
	s.log.waitFor(t, "request header of 3 bytes")
	p.want(jute.OK, jute.OpPing, nil)
}

// Restoring a snapshot on a running member skips results and events: the clients connect again.
func TestRestored(t *testing.T) {
	s := serve(t, nil)
	p := connect(t, s)
	s.member.mu.Lock()
	s.Restored()
	s.member.mu.Unlock()
	p.gone()
	if n := p.reattach(s); n.session.SessionID != p.session.SessionID {
		t.Error("the session is lost")
	}
}

// An attach on another member takes the session away from the connection here.
func TestMovedAway(t *testing.T) {
	s := serve(t, nil)
	p := connect(t, s)
	s.mu.Lock()
	c := s.sessions[p.session.SessionID]
	s.mu.Unlock()
	var passwd [16]byte
	copy(passwd[:], p.session.Passwd)
	b, err := (&tree.Command{Session: p.session.SessionID, Owner: 4711, Op: &tree.Attach{Password: passwd}}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := s.member.apply(b); r.Code != tree.OK {
		t.Fatal(r.Code)
	}
	p.gone()
	s.log.waitFor(t, "its session moved to another connection")
	// A request that was at work meanwhile leaves no watches behind (serve looks at the end): the session is not here any more.
	if err := c.serveRequest(jute.Request{Xid: 1, Op: jute.OpExists, Body: jute.Read{Path: "/late", Watch: true}}.Append(nil)); err != nil {
		t.Error(err)
	}
}

// FuzzConnection sends anything to the server, as it is and after a login.
func FuzzConnection(f *testing.F) {
	for _, l := range readGolden(f) {
		if l.Dir == ">" && l.Hex != "" && l.at < 200 {
			b := l.payload(f)
			f.Add(true, binary.BigEndian.AppendUint32(nil, uint32(len(b))), b)
		}
	}
	f.Add(false, []byte("srvr"), []byte{})
	f.Add(false, []byte("GET "), []byte("/ HTTP/1.1\r\n"))
	f.Add(false, []byte{0, 0, 0, 44}, make([]byte, 44))
	f.Fuzz(func(t *testing.T, login bool, head, rest []byte) {
		s := serve(t, nil)
		p := dial(t, s)
		if login {
			p = connect(t, s)
		}
		p.net.Write(append(head, rest...))
		p.net.(interface{ CloseWrite() error }).CloseWrite()
		io.Copy(io.Discard, p.net)
		connect(t, s).want(jute.OK, jute.OpPing, nil)
	})
}
