package zookeeper

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/raftfsm/tree"
	"github.com/saranga-mq/saranga/raftfsm/zk/jute"
)

// A server is an ensemble as a client sees it: servers "a:1" and "b:1" on one tree. It runs on pipes, so that a test's time is its own.
type server struct {
	mu      sync.Mutex
	state   *tree.State
	index   uint64
	granted time.Duration           // session time
	down    map[string]bool         // refuses connections
	mute    map[string]bool         // takes everything and answers nothing
	forget  bool                    // knows no session any more
	reply   func(op jute.Op) []byte // replaces the answer if it is not nil
	conns   map[net.Conn]string
	hellos  []jute.ConnectRequest
	seen    []jute.Op
	all     sync.WaitGroup
}

func newServer(t *testing.T) *server {
	s := &server{state: tree.New(), granted: 9 * time.Second, down: map[string]bool{}, mute: map[string]bool{}, conns: map[net.Conn]string{}}
	t.Cleanup(func() {
		s.cut()
		s.all.Wait()
	})
	return s
}

// cut closes all connections.
func (s *server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
}

// set changes the server under its lock.
func (s *server) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

var errRefused = errors.New("connection refused")

// dial is Options.Dial.
func (s *server) dial(ctx context.Context, address string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down[address] {
		return nil, errRefused
	}
	ours, theirs := net.Pipe()
	s.conns[ours] = address
	s.all.Go(func() {
		s.serve(ours, address)
		ours.Close()
		s.set(func() { delete(s.conns, ours) })
	})
	return theirs, nil
}

func (s *server) serve(c net.Conn, address string) {
	payload, err := readFrame(c)
	if err != nil {
		return
	}
	hello, err := jute.ParseConnectRequest(payload)
	if err != nil {
		panic(err)
	}
	answer, silent := s.hello(hello, address)
	for silent {
		if _, err = readFrame(c); err != nil {
			return
		}
	}
	if _, err := c.Write(jute.AppendFrame(nil, answer.Append)); err != nil {
		return
	}
	for {
		if payload, err = readFrame(c); err != nil {
			return
		}
		frame, last := s.request(payload, answer.SessionID, address)
		if frame != nil {
			if _, err := c.Write(frame); err != nil || last {
				return
			}
		}
	}
}

func (s *server) hello(h jute.ConnectRequest, address string) (answer jute.ConnectResponse, silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hellos = append(s.hellos, h)
	if s.mute[address] {
		return answer, true
	}
	answer.Passwd = make([]byte, 16)
	answer.HasReadOnly = true
	if s.forget {
		return answer, false
	}
	answer.SessionID, answer.TimeOut = h.SessionID, int32(s.granted/time.Millisecond)
	answer.Passwd[3] = 7
	if h.SessionID == 0 {
		answer.SessionID = int64(s.index + 100)
		s.apply(answer.SessionID, &tree.NewSession{Timeout: answer.TimeOut})
	}
	return answer, false
}

func (s *server) apply(session int64, op tree.Op) tree.Outcome {
	s.index++
	c := &tree.Command{Session: session, Owner: uint64(session), Time: 1, Caller: tree.Caller{Chroot: tree.ClientRoot}, Op: op}
	switch op.(type) {
	case *tree.CloseSession, *tree.NewSession:
		c.Caller = tree.Caller{Admin: true}
	}
	r := s.state.ApplyCommand(s.index, 1, c)
	if r.Fatal != nil {
		panic(r.Fatal)
	}
	return r.Outcome
}

// request answers one request; nil: it does not.
func (s *server) request(payload []byte, session int64, address string) (frame []byte, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, rest, err := jute.ParseHeader(payload)
	if err != nil {
		panic(err)
	}
	body, err := jute.ParseBody(q.Op, rest)
	if err != nil {
		panic(err)
	}
	s.seen = append(s.seen, q.Op)
	if s.mute[address] {
		return nil, false
	}
	if s.reply != nil {
		if frame := s.reply(q.Op); frame != nil {
			return frame, false
		}
	}
	code, answer := s.do(session, q.Op, body)
	return jute.AppendFrame(nil, func(b []byte) []byte {
		return append(jute.ReplyHeader{Xid: q.Xid, Zxid: int64(s.index), Err: jute.Code(code)}.Append(b), answer...)
	}), q.Op == jute.OpCloseSession
}

func (s *server) do(session int64, op jute.Op, body jute.Body) (code tree.Code, answer []byte) {
	caller := &tree.Caller{Chroot: tree.ClientRoot}
	switch b := body.(type) {
	case jute.Create:
		o := s.apply(session, &tree.Create{Path: b.Path, Data: b.Data, ACL: tree.OpenACL(), Mode: tree.Mode(b.Flags)})
		return o.Code, jute.AppendStat(jute.AppendString(nil, o.Path), jute.Stat{})
	case jute.Delete:
		return s.apply(session, &tree.Delete{Path: b.Path, Version: b.Version}).Code, nil
	case jute.SetData:
		return s.apply(session, &tree.SetData{Path: b.Path, Data: b.Data, Version: b.Version}).Code, jute.AppendStat(nil, jute.Stat{})
	case jute.Path:
		return s.apply(session, &tree.Sync{Path: b.Path}).Code, jute.AppendString(nil, b.Path)
	case jute.Read:
		if op == jute.OpGetData {
			data, stat, code := s.state.Get(caller, b.Path)
			return code, jute.AppendStat(jute.AppendBuffer(nil, data), jute.Stat{Version: stat.Version})
		}
		names, _, code := s.state.Children(caller, b.Path)
		return code, jute.AppendStat(jute.AppendStrings(nil, names), jute.Stat{})
	}
	if op == jute.OpCloseSession {
		return s.apply(session, &tree.CloseSession{}).Code, nil
	}
	return tree.OK, nil // ping
}
