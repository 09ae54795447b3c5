package zk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/raftfsm/zk/jute"
)

// logBuffer keeps what is logged.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) waitFor(t *testing.T, text string) {
	t.Helper()
	until(t, "log has "+text, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return bytes.Contains(l.b.Bytes(), []byte(text))
	})
}

// served is a server under test.
type served struct {
	*Server
	member *fakeMember
	log    *logBuffer
}

func serve(t *testing.T, change func(*Config)) served {
	t.Helper()
	x := served{member: newFakeMember(), log: &logBuffer{}}
	cfg := Config{Listen: "127.0.0.1:0", Log: hclog.New(&hclog.LoggerOptions{Output: x.log, Level: hclog.Debug})}
	if change != nil {
		change(&cfg)
	}
	s, err := Listen(cfg, x.member)
	if err != nil {
		t.Fatal(err)
	}
	x.Server = s
	t.Cleanup(func() {
		s.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		if n := s.budget.used.Load(); n != 0 {
			t.Errorf("%d bytes are still accounted for after the end", n)
		}
		if len(s.conns)+len(s.from)+len(s.logins)+len(s.sessions)+s.watches.Len() != 0 {
			t.Errorf("left behind: %d conns, %d addresses, %d logins, %d sessions, %d watches",
				len(s.conns), len(s.from), len(s.logins), len(s.sessions), s.watches.Len())
		}
	})
	return x
}

// peer is a client that shows every frame.
type peer struct {
	t       *testing.T
	net     net.Conn
	session jute.ConnectResponse
	xid     int32
	events  []string // type, path and zxid of what came unasked
}

const patience = 10 * time.Second

func dial(t *testing.T, s served) *peer {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(3 * patience)); err != nil {
		t.Fatal(err)
	}
	return &peer{t: t, net: c}
}

// connect makes a new session.
func connect(t *testing.T, s served) *peer {
	t.Helper()
	p := dial(t, s)
	p.login(jute.ConnectRequest{TimeOut: 6000, Passwd: make([]byte, 16), HasReadOnly: true})
	if p.session.SessionID == 0 {
		t.Fatal("no session")
	}
	return p
}

// reattach connects again with the session of p.
func (p *peer) reattach(s served) *peer {
	p.t.Helper()
	n := dial(p.t, s)
	n.xid = p.xid
	n.login(jute.ConnectRequest{TimeOut: 6000, SessionID: p.session.SessionID, Passwd: p.session.Passwd, HasReadOnly: true})
	return n
}

func (p *peer) login(q jute.ConnectRequest) {
	p.t.Helper()
	p.write(q.Append)
	b, err := p.read()
	if err != nil {
		p.t.Fatalf("connect response: %v", err)
	}
	if p.session, err = jute.ParseConnectResponse(b); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) write(payload func([]byte) []byte) {
	p.t.Helper()
	if _, err := p.net.Write(jute.AppendFrame(nil, payload)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) read() ([]byte, error) {
	var n [4]byte
	if _, err := io.ReadFull(p.net, n[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(n[:]))
	_, err := io.ReadFull(p.net, b)
	return b, err
}

// send writes a request and does not wait.
func (p *peer) send(op jute.Op, body jute.Body) int32 {
	p.t.Helper()
	xid := jute.XidPing
	switch op {
	case jute.OpPing:
	case jute.OpAuth:
		xid = jute.XidAuth
	default:
		p.xid++
		xid = p.xid
	}
	p.write(jute.Request{Xid: xid, Op: op, Body: body}.Append)
	return xid
}

// reply takes the next reply; events before it are kept.
func (p *peer) reply() (jute.ReplyHeader, *jute.Reader) {
	p.t.Helper()
	h, r, err := p.tryReply()
	if err != nil {
		p.t.Fatalf("reply: %v", err)
	}
	return h, r
}

func (p *peer) tryReply() (jute.ReplyHeader, *jute.Reader, error) {
	for {
		b, err := p.read()
		if err != nil {
			return jute.ReplyHeader{}, nil, err
		}
		r := jute.NewReader(b)
		h := r.ReplyHeader()
		if h.Xid != jute.XidEvent {
			return h, r, nil
		}
		p.events = append(p.events, eventText(h, r.Event()))
	}
}

// call is send and reply.
func (p *peer) call(op jute.Op, body jute.Body) (jute.ReplyHeader, *jute.Reader) {
	p.t.Helper()
	xid := p.send(op, body)
	h, r := p.reply()
	if h.Xid != xid {
		p.t.Fatalf("reply to %d, want %d", h.Xid, xid)
	}
	return h, r
}

// code is call for its error code.
func (p *peer) code(op jute.Op, body jute.Body) jute.Code {
	p.t.Helper()
	h, _ := p.call(op, body)
	return h.Err
}

// want is code with the expected one.
func (p *peer) want(want jute.Code, op jute.Op, body jute.Body) {
	p.t.Helper()
	if got := p.code(op, body); got != want {
		p.t.Fatalf("operation %d %+v: %v, want %v", op, body, got, want)
	}
}

// gone waits for the end of the connection.
func (p *peer) gone() {
	p.t.Helper()
	if _, err := io.Copy(io.Discard, p.net); err != nil && !isReset(err) {
		p.t.Fatalf("the connection does not end: %v", err)
	}
}

func isReset(err error) bool {
	var ne net.Error
	return !errors.As(err, &ne) || !ne.Timeout()
}

func eventText(h jute.ReplyHeader, e jute.Event) string {
	names := map[jute.EventType]string{jute.EventCreated: "created", jute.EventDeleted: "deleted", jute.EventDataChanged: "data", jute.EventChildrenChanged: "children"}
	text := names[e.Type] + " " + e.Path
	if h.Zxid == -1 {
		text += " (-1)"
	}
	return text
}

var world = []jute.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}}

func node(path, data string) jute.Create {
	return jute.Create{Path: path, Data: []byte(data), ACL: world}
}
