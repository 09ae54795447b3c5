package zk

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/saranga-mq/saranga/raftfsm/zk/jute"
)

// goldenLine is one frame of the recording.
type goldenLine struct {
	Conn   int
	Dir    string
	Packet string
	Op     jute.Op
	Xid    int32
	Hex    string
	at     int // line
}

func readGolden(t testing.TB) []goldenLine {
	t.Helper()
	f, err := os.Open("testdata/zk-lockmanager.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []goldenLine
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for n := 1; s.Scan(); n++ {
		l := goldenLine{at: n}
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		if l.Dir != "" {
			lines = append(lines, l)
		}
	}
	return lines
}

func (l goldenLine) payload(t testing.TB) []byte {
	t.Helper()
	b, err := hex.DecodeString(l.Hex)
	if err != nil || len(b) < 4 {
		t.Fatalf("line %d: %v", l.at, err)
	}
	return b[4:]
}

// told is all that a server's frame says, but for times; sessions are numbered by sessionOf.
type toldFrame struct {
	Header   jute.ReplyHeader
	Path     string
	Data     []byte
	Null     bool
	Children []string
	Stat     jute.Stat
	Event    jute.Event
}

func parseTold(t *testing.T, op jute.Op, payload []byte, sessionOf map[int64]int) toldFrame {
	t.Helper()
	r := jute.NewReader(payload)
	f := toldFrame{Header: r.ReplyHeader()}
	switch {
	case f.Header.Xid == jute.XidEvent:
		f.Event = r.Event()
	case f.Header.Err != jute.OK:
	default:
		switch op {
		case jute.OpCreate2, jute.OpCreateContainer:
			f.Path, f.Stat = r.String(), r.Stat()
		case jute.OpExists, jute.OpSetData:
			f.Stat = r.Stat()
		case jute.OpGetData:
			f.Data = r.Buffer()
			f.Null, f.Stat = f.Data == nil, r.Stat()
		case jute.OpGetChildren2:
			f.Children, f.Stat = r.Strings(), r.Stat()
			slices.Sort(f.Children) // ZooKeeper's have no order
		case jute.OpDelete, jute.OpPing, jute.OpCloseSession, jute.OpCheckWatches:
		default:
			t.Fatalf("operation %d is not in the recording", op)
		}
	}
	if err := r.End(); err != nil {
		t.Fatalf("operation %d: %v in %x", op, err, payload)
	}
	f.Stat.Ctime, f.Stat.Mtime = 0, 0
	if f.Stat.EphemeralOwner != 0 {
		n, ok := sessionOf[f.Stat.EphemeralOwner]
		if !ok {
			t.Fatalf("unknown owner %#x", f.Stat.EphemeralOwner)
		}
		f.Stat.EphemeralOwner = int64(n)
	}
	return f
}

// TestGolden plays all requests of the recording in their order and expects what ZooKeeper answered: every field of every reply, zxids too, and the same
// events at the same place. Only times, session ids and passwords are the server's own.
func TestGolden(t *testing.T) {
	type client struct {
		*peer
		ops    []jute.Op // sent, not yet compared
		frames [][]byte  // received, not yet compared
		xids   []int32
	}
	s := serve(t, func(c *Config) { c.TickTime = 500e6 }) // the recorded server's
	clients := map[int]*client{}
	theirs, ours := map[int64]int{}, map[int64]int{} // session id → connection
	var zxid int64
	lines := readGolden(t)
	compared := 0
	for n, l := range lines {
		c := clients[l.Conn]
		switch {
		case l.Dir == "open":
			clients[l.Conn] = &client{peer: dial(t, s)}
		case l.Dir == "close>":
			c.net.Close()
		case l.Dir == "close<":
			c.gone()
		case l.Packet == "ConnectRequest":
			c.write(func(b []byte) []byte { return append(b, l.payload(t)...) })
			b, err := c.read()
			if err != nil {
				t.Fatal(err)
			}
			if c.session, err = jute.ParseConnectResponse(b); err != nil {
				t.Fatal(err)
			}
			ours[c.session.SessionID] = l.Conn
		case l.Packet == "ConnectResponse":
			want, err := jute.ParseConnectResponse(l.payload(t))
			if err != nil {
				t.Fatal(err)
			}
			theirs[want.SessionID] = l.Conn
			got := c.session
			if got.TimeOut != want.TimeOut || got.HasReadOnly != want.HasReadOnly || got.ReadOnly != want.ReadOnly || len(got.Passwd) != len(want.Passwd) ||
				got.SessionID == 0 {
				t.Fatalf("line %d: %+v, want %+v", l.at, got, want)
			}
		case l.Dir == ">":
			if zxid == 104 && l.Op == jute.OpCreate2 { // here the session of the broker that was killed ran out: zxid 105 is in no reply
				s.member.expire(t, clients[1].session.SessionID)
				zxid = 105
			}
			if l.at == 444 { // here ZooKeeper's own sweep deleted locks/locks: zxid 111, and the next create there finds no parent
				s.member.sweep(t)
			}
			c.ops = append(c.ops, l.Op)
			c.xids = append(c.xids, l.Xid)
			c.write(func(b []byte) []byte { return append(b, l.payload(t)...) })
			for { // until its reply is here
				b, err := c.read()
				if err != nil {
					t.Fatalf("line %d: %v", l.at, err)
				}
				c.frames = append(c.frames, b)
				if jute.NewReader(b).ReplyHeader().Xid != jute.XidEvent {
					break
				}
			}
		case l.Dir == "<":
			op := jute.Op(0)
			if l.Xid != jute.XidEvent {
				op, c.ops = c.ops[0], c.ops[1:]
			}
			if len(c.frames) == 0 { // an event that somebody else caused
				b, err := c.read()
				if err != nil {
					t.Fatalf("line %d: %v", l.at, err)
				}
				c.frames = append(c.frames, b)
			}
			want, got := parseTold(t, op, l.payload(t), theirs), parseTold(t, op, c.frames[0], ours)
			c.frames = c.frames[1:]
			zxid = want.Header.Zxid
			if toJSON(t, want) != toJSON(t, got) {
				t.Fatalf("line %d (%s):\n got %s\nwant %s", l.at, l.Packet, toJSON(t, got), toJSON(t, want))
			}
			compared++
		default:
			t.Fatalf("line %d of %d: %q", l.at, n, l.Dir)
		}
	}
	if compared != 306 {
		t.Errorf("compared %d frames", compared)
	}
	for n, c := range clients {
		if len(c.frames) > 0 {
			t.Errorf("connection %d: %d frames too many", n, len(c.frames))
		}
	}
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
