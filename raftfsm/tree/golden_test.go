package tree

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/snapshot-v1.bin anew; only while that version is not released")

// frame is one frame of the capture.
type frame struct {
	Conn   int
	Dir    string
	Packet string
	Xid    int32
	Zxid   int64
	Err    Code
	Op     int32
	Fields struct {
		SessionID int64 `json:"sessionId"`
		TimeOut   int32
		Passwd    string
		Path      string
		Data      *struct{ Hex string }
		ACL       []struct {
			Perms      Perm
			Scheme, ID string
		}
		Flags    Mode
		Version  int32
		Watch    bool
		Type     any
		Children []string
		Stat     Stat
	}
}

// request is a request of the capture with what was answered.
type request struct {
	frame
	reply *frame
	order int
}

// unseen are the transactions of the capture that no client asked for by name: sessions made, what the server did by itself. Their zxids are the gaps
// between the replies; each is told by what later replies show (the pzxid of the nodes' parents for the last two).
var unseen = map[int64]struct {
	what string
	conn int
	path string
}{
	1:   {"open", 1, ""},
	15:  {"open", 2, ""},
	105: {"expire", 1, ""},
	111: {"sweep", 0, "/saranga/d81f6a2c-ecb1-11f1-a88d-02fc00000001/locks/locks"},
	112: {"open", 6, ""},
	115: {"open", 7, ""},
	124: {"open", 10, ""},
	129: {"open", 11, ""},
}

func readCapture(t *testing.T) (requests []*request, events map[int64][]string, sessions map[int]*frame) {
	t.Helper()
	f, err := os.Open("testdata/zk-lockmanager.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	events, sessions = map[int64][]string{}, map[int]*frame{}
	type key struct {
		conn int
		xid  int32
	}
	open := map[key]*request{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var fr frame
		if err := json.Unmarshal(lines.Bytes(), &fr); err != nil {
			t.Fatal(err)
		}
		switch {
		case fr.Packet == "ConnectRequest":
		case fr.Packet == "ConnectResponse":
			sessions[fr.Conn] = &fr
		case fr.Packet == "WatcherEvent":
			events[fr.Zxid] = append(events[fr.Zxid], fmt.Sprintf("%d %v %s", fr.Conn, fr.Fields.Type, fr.Fields.Path))
		case fr.Dir == ">":
			r := &request{frame: fr, order: len(requests)}
			requests = append(requests, r)
			open[key{fr.Conn, fr.Xid}] = r
		default:
			open[key{fr.Conn, fr.Xid}].reply = &fr
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return requests, events, sessions
}

func (f *frame) data(t *testing.T) []byte {
	if f.Fields.Data == nil {
		return nil
	}
	b, err := hex.DecodeString(f.Fields.Data.Hex)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCapture replays the traffic of an Artemis 2.40.0 pair with a ZooKeeper 3.9.3: every write on its zxid, every read on the zxid of its reply. All
// replies and all watch events must be those of the capture.
func TestCapture(t *testing.T) {
	requests, events, sessions := readCapture(t)
	writes := map[int64]*request{}
	reads := map[int64][]*request{}
	last := int64(0)
	for _, r := range requests {
		if r.reply == nil {
			t.Fatalf("%+v has no reply", r.frame)
		}
		switch r.Packet {
		case "create2", "createContainer", "delete", "setData", "closeSession":
			writes[r.reply.Zxid] = r
		default:
			reads[r.reply.Zxid] = append(reads[r.reply.Zxid], r)
		}
		last = max(last, r.reply.Zxid)
	}
	s := New()
	w := NewWatches(100)
	caller := Caller{Chroot: ClientRoot, IDs: []ID{{"ip", "127.0.0.1"}}}
	connOf := map[int64]int{}
	for n, f := range sessions {
		connOf[f.Fields.SessionID] = n
	}
	answered, fired := 0, 0
	for zxid := int64(1); zxid <= last; zxid++ {
		c := Command{Request: uint64(zxid), Caller: caller}
		r := writes[zxid]
		owner := func(conn int) {
			c.Session, c.Owner = sessions[conn].Fields.SessionID, uint64(conn)
		}
		switch u := unseen[zxid]; {
		case r != nil:
			owner(r.Conn)
			c.Time = max(r.reply.Fields.Stat.Ctime, r.reply.Fields.Stat.Mtime)
			switch r.Packet {
			case "create2", "createContainer":
				op := &Create{Path: r.Fields.Path, Data: r.data(t), Mode: r.Fields.Flags}
				for _, a := range r.Fields.ACL {
					op.ACL = append(op.ACL, ACL{a.Perms, ID{a.Scheme, a.ID}})
				}
				c.Op = op
			case "delete":
				c.Op = &Delete{r.Fields.Path, r.Fields.Version}
			case "setData":
				c.Op = &SetData{r.Fields.Path, r.data(t), r.Fields.Version}
			case "closeSession":
				c.Op = &CloseSession{}
			}
		case u.what == "open":
			owner(u.conn)
			f := sessions[u.conn].Fields
			op := &NewSession{Timeout: f.TimeOut}
			if _, err := hex.Decode(op.Password[:], []byte(f.Passwd)); err != nil {
				t.Fatal(err)
			}
			c.Op = op
		case u.what == "expire":
			owner(u.conn)
			one, _ := s.Session(c.Session)
			c.Request, c.Caller, c.Op = one.Request, Caller{Admin: true}, &ExpireSession{Term: 3}
		case u.what == "sweep":
			if got := s.EmptyContainers(10); !slices.Equal(got, []string{ClientRoot + u.path}) {
				t.Errorf("zxid %d: EmptyContainers = %v", zxid, got)
			}
			c.Caller, c.Op = Caller{Admin: true}, &DeleteContainer{ClientRoot + u.path}
		default:
			t.Fatalf("zxid %d belongs to nothing", zxid)
		}
		b, err := c.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		result := s.Apply(uint64(zxid), 3, b)
		check(t, s)
		if r == nil && result.Code != OK {
			t.Errorf("zxid %d: %v: %v", zxid, unseen[zxid], result.Code)
		}
		if r != nil {
			answered++
			f := r.reply
			if result.Code != f.Err || result.Path != f.Fields.Path || result.Stat != f.Fields.Stat {
				t.Errorf("zxid %d: %s of %s: %v %s %+v, want %v %s %+v", zxid, r.Packet, r.Fields.Path, result.Code, result.Path, result.Stat, f.Err, f.Fields.Path, f.Fields.Stat)
			}
		}
		var got []string
		for _, e := range result.Events {
			w.Fire(e, func(session int64, e Event) {
				path, _ := caller.Rel(e.Path)
				name := map[EventType]string{1: "NodeCreated", 2: "NodeDeleted", 3: "NodeDataChanged", 4: "NodeChildrenChanged"}[e.Type]
				got = append(got, fmt.Sprintf("%d %s %s", connOf[session], name, path))
				fired++
			})
		}
		if c.Op.Kind() == KindCloseSession || c.Op.Kind() == KindExpireSession {
			w.RemoveSession(c.Session)
		}
		if zxid == 16 {
			w.RemoveSession(sessions[1].Fields.SessionID) // the capture's line "close": the broker was killed, its watches were on this connection
		}
		if !slices.Equal(got, events[zxid]) {
			t.Errorf("zxid %d: events %v, want %v", zxid, got, events[zxid])
		}
		for _, r := range reads[zxid] {
			answered++
			session := sessions[r.Conn].Fields.SessionID
			abs, _ := caller.Abs(r.Fields.Path)
			f := r.reply
			var code Code
			var stat Stat
			switch r.Packet {
			case "exists":
				stat, code = s.Exists(&caller, r.Fields.Path)
			case "getData":
				var data []byte
				if data, stat, code = s.Get(&caller, r.Fields.Path); !bytes.Equal(data, f.data(t)) || code == OK && (data == nil) != (f.data(t) == nil) {
					t.Errorf("zxid %d: %s has %q, want %q", zxid, r.Fields.Path, data, f.data(t))
				}
				if r.Fields.Watch && code == OK {
					w.Add(session, abs, WatchData)
				}
			case "getChildren2":
				var names []string
				names, stat, code = s.Children(&caller, r.Fields.Path)
				want := slices.Clone(f.Fields.Children)
				slices.Sort(want)
				if !slices.Equal(names, want) {
					t.Errorf("zxid %d: %s has %q, want %q", zxid, r.Fields.Path, names, want)
				}
				if r.Fields.Watch && code == OK {
					w.Add(session, abs, WatchChildren)
				}
			case "checkWatches":
				code = w.Has(session, abs, WatchType(r.Fields.Type.(float64)))
			default:
				t.Fatalf("unknown packet %s", r.Packet)
			}
			if code != f.Err || stat != f.Fields.Stat {
				t.Errorf("zxid %d: %s of %s: %v %+v, want %v %+v", zxid, r.Packet, r.Fields.Path, code, stat, f.Err, f.Fields.Stat)
			}
		}
	}
	if answered != len(requests) || answered < 230 || fired < 20 {
		t.Errorf("%d of %d requests answered, %d events", answered, len(requests), fired)
	}
	if s.NumSessions() != 0 || s.NumEphemerals() != 0 {
		t.Errorf("%d sessions and %d ephemeral nodes are left", s.NumSessions(), s.NumEphemerals())
	}
}

// goldenState has one of everything that a snapshot can hold.
func goldenState(t *testing.T) *State {
	t.Helper()
	s := New()
	index := uint64(9)
	apply := func(c Command) {
		index++
		c.Time = 1796038403306 + int64(index)
		b, err := c.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if r := s.Apply(index, 2, b); r.Fatal != nil {
			t.Fatal(r.Fatal)
		}
	}
	member := Caller{Admin: true}
	client := Caller{Chroot: ClientRoot, IDs: []ID{{"ip", "192.0.2.7"}, {"digest", "u:Jq7wMyA/w2Vd5WIDAKdu4OIIFEQ="}}}
	limits := Limits{1 << 20, 12345, 512 << 20, 200_000, 4096, 64, 64, 1000, 20_000, 20_001}
	apply(Command{Caller: member, Op: &SetLimits{limits}})
	apply(Command{Caller: member, Op: &Create{Path: "/saranga/members", Data: []byte("a b c"), ACL: OpenACL()}})
	apply(Command{Session: 0x11, Owner: 1, Op: &NewSession{[16]byte{1, 2, 3}, 18000}})
	apply(Command{Session: 0x22, Owner: 2, Op: &NewSession{[16]byte{4}, 6000}})
	apply(Command{Session: 0x33, Owner: 3, Op: &NewSession{[16]byte{5}, 4000}})
	for i, op := range []Op{
		&Create{"/ns", []byte{}, OpenACL(), Container},
		&Create{"/ns/locks", []byte{}, OpenACL(), Container},
		&Create{"/ns/activation-sequence", []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, OpenACL(), Persistent},
		&SetData{"/ns/activation-sequence", []byte{0, 0, 0, 0, 0, 0, 0, 2}, -1},
		&Create{"/ns/null", nil, []ACL{{PermAll, ID{"auth", ""}}, {PermRead, ID{"ip", "192.0.2.0/24"}}}, Persistent},
		&Create{"/ns/locks/lock-", []byte("192.0.2.7"), OpenACL(), EphemeralSequential},
		&Create{"/ns/locks/lock-", []byte("192.0.2.7"), OpenACL(), EphemeralSequential},
		&Delete{"/ns/locks/lock-0000000000", -1},
		&SetACL{"/ns/locks", []ACL{{PermAll, ID{"world", "anyone"}}, {PermRead, ID{"digest", "v:w"}}}, 0},
		&Create{"/ns/\u00e9\u4e16", []byte("text"), OpenACL(), PersistentSequential},
	} {
		apply(Command{Request: uint64(i + 1), Session: 0x11, Owner: 1, Caller: client, Op: op})
	}
	apply(Command{Request: 7, Session: 0x22, Owner: 2, Caller: client, Op: &Multi{[]Op{
		&Create{"/big", bytes.Repeat([]byte("0123456789abcdef"), 10000), OpenACL(), Persistent}, &Check{"/ns", 0}, &SetData{"/big", bytes.Repeat([]byte("x"), 70000), 0}}}})
	apply(Command{Session: 0x22, Owner: 22, Op: &Attach{[16]byte{4}, 7000}})
	apply(Command{Request: 8, Session: 0x22, Owner: 22, Caller: client, Op: &Multi{[]Op{&Create{"/e", nil, OpenACL(), Ephemeral}, &SetData{"/e", []byte("1"), 0}, &Check{"/e", 1}}}})
	apply(Command{Request: 1, Session: 0x33, Owner: 3, Caller: client, Op: &Multi{[]Op{&Check{"/e", 1}, &Delete{"/none", -1}}}})
	return s
}

// TestGoldenSnapshot loads the snapshot that version 1 of the format wrote. It must stay as it is: later versions have to load it.
func TestGoldenSnapshot(t *testing.T) {
	const file = "testdata/snapshot-v1.bin"
	want := goldenState(t)
	if *update {
		if err := os.WriteFile(file, dump(t, want.Snapshot()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Read(bytes.NewReader(golden))
	if err != nil {
		t.Fatal(err)
	}
	check(t, s)
	sameStates(t, want, s)
	if got := dump(t, s.Snapshot()); !bytes.Equal(got, golden) {
		t.Error("written again it differs")
	}
	// What is in it, told once more without goldenState.
	c := &Caller{Chroot: ClientRoot, IDs: []ID{{"ip", "192.0.2.9"}}}
	data, stat, code := s.Get(c, "/ns/activation-sequence")
	if code != OK || !bytes.Equal(data, []byte{0, 0, 0, 0, 0, 0, 0, 2}) || stat.Czxid != 17 || stat.Mzxid != 18 || stat.Ctime != 1796038403323 || stat.Version != 1 {
		t.Errorf("activation-sequence: %v %v %+v", code, data, stat)
	}
	if data, _, code := s.Get(c, "/ns/null"); code != OK || data != nil {
		t.Errorf("null: %v %v", code, data)
	}
	if names, stat, code := s.Children(c, "/ns/locks"); code != OK || !slices.Equal(names, []string{"lock-0000000001"}) || stat.Cversion != 3 || stat.Aversion != 1 {
		t.Errorf("locks: %v %v %+v", code, names, stat)
	}
	session, ok := s.Session(0x22)
	if want := (Session{0x22, [16]byte{4}, 7000, 22, 8, 1}); !ok || session != want {
		t.Errorf("session: %+v, want %+v", session, want)
	}
	if s.Zxid() != 28 || s.NumSessions() != 3 || s.NumNodes() != 15 || s.NumEphemerals() != 2 || s.Limits().Nodes != 12345 {
		t.Errorf("zxid %d, %d sessions, %d nodes, %d ephemeral, limits %+v", s.Zxid(), s.NumSessions(), s.NumNodes(), s.NumEphemerals(), s.Limits())
	}
}

// sameStates compares all of two states but how they came about.
func sameStates(t interface {
	Helper()
	Fatalf(string, ...any)
}, a, b *State) {
	t.Helper()
	if a.zxid != b.zxid || a.limits != b.limits || a.nodes != b.nodes || a.bytes != b.bytes || a.ephemerals != b.ephemerals {
		t.Fatalf("counts differ")
	}
	flat := func(s *State) (out []any) {
		one := func(path string, n *node) bool {
			c := *n
			c.generation, c.children = 0, omap[string, *node]{}
			out = append(out, path, c)
			return true
		}
		one("/", s.root)
		s.root.walk("", one)
		s.sessions.ascend(func(_ int64, o *session) bool {
			c := *o
			c.generation, c.ephemerals = 0, omap[string, struct{}]{}
			out = append(out, c)
			o.ephemerals.ascend(func(path string, _ struct{}) bool {
				out = append(out, path)
				return true
			})
			return true
		})
		return out
	}
	x, y := flat(a), flat(b)
	for i := range min(len(x), len(y)) {
		if !reflect.DeepEqual(x[i], y[i]) {
			t.Fatalf("states differ: %+v, %+v", x[i], y[i])
		}
	}
	if len(x) != len(y) {
		t.Fatalf("states differ: %d parts, %d parts", len(x), len(y))
	}
}
