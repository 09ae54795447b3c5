package zookeeper

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/saranga-mq/saranga/ha/quorum/curator"
	"github.com/saranga-mq/saranga/raftfsm/tree"
	"github.com/saranga-mq/saranga/raftfsm/zk/jute"
)

func (s *server) options() Options {
	return Options{Servers: []string{"a:1", "b:1"}, Timeout: 9 * time.Second, Percent: 33, ConnectionTimeout: 2 * time.Second, Dial: s.dial}
}

func connect(t *testing.T, o Options) *Session {
	t.Helper()
	s, err := Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// servedBy tells which server has the connection.
func (s *server) servedBy() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.conns {
		names = append(names, a)
	}
	return names
}

// TestRecording does what a real Curator did, against the replies that a real ZooKeeper gave, and sends the same bytes.
func TestRecording(t *testing.T) {
	f, err := os.Open("testdata/curator.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var exchanges []struct{ Packet, Request, Reply string }
	for d := json.NewDecoder(bufio.NewReader(f)); d.More(); {
		var e struct{ Packet, Request, Reply string }
		if err := d.Decode(&e); err != nil {
			t.Fatal(err)
		}
		exchanges = append(exchanges, e)
	}
	if len(exchanges) < 20 {
		t.Fatalf("%d exchanges", len(exchanges))
	}
	ours, theirs := net.Pipe()
	mismatch := make(chan string, len(exchanges))
	go func() {
		defer ours.Close()
		defer close(mismatch)
		for n, e := range exchanges {
			want, _ := hex.DecodeString(e.Request)
			reply, _ := hex.DecodeString(e.Reply)
			got, err := readFrame(ours)
			if err != nil {
				mismatch <- err.Error()
				return
			}
			if n > 0 { // all but the first frame have a number of their own
				copy(reply[4:8], got[:4])
				copy(want[4:8], got[:4])
			}
			if !bytes.Equal(got, want[4:]) {
				mismatch <- e.Packet + ": " + hex.EncodeToString(got) + ", want " + hex.EncodeToString(want[4:])
			}
			if _, err := ours.Write(reply); err != nil {
				return
			}
		}
	}()
	s, err := Connect(t.Context(), Options{Servers: []string{"a:1"}, Timeout: 6 * time.Second, ConnectionTimeout: time.Second,
		Dial: func(context.Context, string) (net.Conn, error) { return theirs, nil }})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range exchanges[1:] {
		frame, _ := hex.DecodeString(e.Request)
		q, rest, err := jute.ParseHeader(frame[4:])
		if err != nil {
			t.Fatal(err)
		}
		body, err := jute.ParseBody(q.Op, rest)
		if err != nil {
			t.Fatal(err)
		}
		reply, _ := hex.DecodeString(e.Reply)
		r := jute.NewReader(reply[4:])
		code := r.ReplyHeader().Err
		var got error
		switch b := body.(type) {
		case jute.Create:
			var path string
			path, got = s.Create(t.Context(), b.Path, b.Data, curator.Mode(b.Flags))
			if want := r.String(); got == nil && path != want {
				t.Errorf("%s: path %s, want %s", e.Packet, path, want)
			}
		case jute.Delete:
			got = s.Delete(t.Context(), b.Path)
		case jute.SetData:
			got = s.Set(t.Context(), b.Path, b.Data, b.Version)
		case jute.Read:
			if q.Op == jute.OpGetChildren2 {
				var names []string
				names, got = s.Children(t.Context(), b.Path)
				if want := r.Strings(); !slices.Equal(names, want) {
					t.Errorf("%s: %q, want %q", e.Packet, names, want)
				}
				break
			}
			var data []byte
			var version int32
			data, version, got = s.Get(t.Context(), b.Path)
			if want := r.Buffer(); got == nil && (!bytes.Equal(data, want) || version != r.Stat().Version) {
				t.Errorf("%s: %x version %d, want %x", e.Packet, data, version, want)
			}
		}
		if want := map[jute.Code]error{jute.OK: nil, jute.NoNode: curator.ErrNoNode}[code]; got != want {
			t.Errorf("%s: %v, want %v", e.Packet, got, want)
		}
	}
	for m := range mismatch {
		t.Error(m)
	}
	s.Close()
}

// TestReconnect: the session goes on with the next server, and what had no answer ends with ErrDisconnected.
func TestReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t)
		s := connect(t, srv.options())
		if _, err := s.Create(t.Context(), "/x", []byte("1"), curator.EphemeralSequential); err != nil {
			t.Fatal(err)
		}
		before := srv.servedBy()
		srv.set(func() { srv.reply = func(op jute.Op) []byte { srv.mute[before[0]] = true; return []byte{} } }) // the next answer is lost
		go func() {
			time.Sleep(10 * time.Millisecond)
			srv.set(func() { srv.reply = nil })
			srv.cut()
		}()
		if err := s.Set(t.Context(), "/x0000000000", []byte("2"), -1); !errors.Is(err, curator.ErrDisconnected) {
			t.Errorf("answer lost: %v", err)
		}
		<-s.Moved()
		if _, _, err := s.Get(t.Context(), "/x0000000000"); err != nil {
			t.Error(err)
		}
		if after := srv.servedBy(); len(after) != 1 || after[0] == before[0] {
			t.Errorf("served by %v, then by %v", before, after)
		}
		h := srv.hellos[len(srv.hellos)-1]
		if h.SessionID == 0 || h.Passwd[3] != 7 || h.LastZxidSeen == 0 || h.TimeOut != 9000 {
			t.Errorf("introduced with %+v", h)
		}
	})
}

// TestWindow: without a connection the session is lost after session-percent of its time, not earlier and not later, and never
// comes back.
func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t)
		s := connect(t, srv.options())
		srv.set(func() { srv.down = map[string]bool{"a:1": true, "b:1": true} })
		began := time.Now()
		srv.cut()
		synctest.Wait()
		if _, _, err := s.Get(t.Context(), "/"); !errors.Is(err, curator.ErrDisconnected) {
			t.Errorf("while disconnected: %v", err)
		}
		if d := time.Since(began); d != 2*time.Second { // ConnectionTimeout
			t.Errorf("after %v", d)
		}
		<-s.Lost()
		if d := time.Since(began); d != 2970*time.Millisecond {
			t.Errorf("lost after %v", d)
		}
		srv.set(func() { srv.down = nil })
		if _, _, err := s.Get(t.Context(), "/"); !errors.Is(err, curator.ErrSessionLost) {
			t.Errorf("after the loss: %v", err)
		}
		if n := len(srv.servedBy()); n != 0 {
			t.Errorf("%d connections", n)
		}
	})
}

// TestShortOutage: a connection that comes back within the window costs nothing.
func TestShortOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t)
		s := connect(t, srv.options())
		srv.set(func() { srv.down = map[string]bool{"a:1": true, "b:1": true} })
		srv.cut()
		time.Sleep(1500 * time.Millisecond)
		srv.set(func() { srv.down = nil })
		if _, err := s.Children(t.Context(), "/"); err != nil { // waits for the connection
			t.Error(err)
		}
		time.Sleep(time.Minute)
		select {
		case <-s.Lost():
			t.Error("the session is lost")
		default:
		}
	})
}

// TestExpired: the session is lost when a server says so, at a connection or in an answer.
func TestExpired(t *testing.T) {
	for _, inAnswer := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			srv := newServer(t)
			s := connect(t, srv.options())
			began := time.Now()
			if inAnswer {
				srv.set(func() { srv.reply = func(jute.Op) []byte { return reply(1, jute.SessionExpired) } })
				if err := s.Sync(t.Context(), "/"); !errors.Is(err, curator.ErrSessionLost) {
					t.Error(err)
				}
			} else {
				srv.set(func() { srv.forget = true })
				srv.cut()
			}
			<-s.Lost()
			if d := time.Since(began); d != 0 {
				t.Errorf("after %v", d)
			}
		})
	}
}

// reply is a reply frame without a body.
func reply(xid int32, code jute.Code) []byte {
	return jute.AppendFrame(nil, jute.ReplyHeader{Xid: xid, Zxid: 1, Err: code}.Append)
}

// TestSilence: a server that does not answer is left after a third of the session time, one that doesn't answer the first frame after a sixth.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t)
		s := connect(t, srv.options())
		first := srv.servedBy()[0]
		time.Sleep(20500 * time.Millisecond)
		srv.set(func() {
			if n := len(srv.seen); n != 20 { // one a second
				t.Errorf("%d pings in 20.5 s", n)
			}
		})
		srv.set(func() { srv.mute[first] = true })
		began := time.Now()
		<-s.Moved()
		if d := time.Since(began); d != 2500*time.Millisecond { // 3 s after the last frame
			t.Errorf("moved after %v", d)
		}
		// Back to the first one, which is still silent, and on to the second.
		began = time.Now()
		srv.cut()
		<-s.Moved()
		if d := time.Since(began); d < 1500*time.Millisecond || d > 2*time.Second {
			t.Errorf("moved after %v", d)
		}
	})
}

// TestGarbage: whatever a server sends, the client leaves it and goes on with the session at another one.
func TestGarbage(t *testing.T) {
	length := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	for name, frame := range map[string][]byte{
		"empty frame":         length(0),
		"short header":        append(length(3), 1, 2, 3),
		"huge frame":          length(0xffffffff),
		"one byte too long":   length(maxFrame + 1),
		"another xid":         reply(77, jute.OK),
		"ping nobody sent":    reply(jute.XidPing, jute.OK),
		"no body":             reply(1, jute.OK),
		"a count without end": jute.AppendFrame(nil, func(b []byte) []byte { return jute.AppendInt(append(b, reply(1, jute.OK)[4:]...), 1<<30) }),
		"moved":               reply(1, jute.SessionMoved),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := newServer(t)
				s := connect(t, srv.options())
				sent := false
				srv.set(func() {
					srv.reply = func(jute.Op) []byte {
						if sent {
							return nil
						}
						sent = true
						return frame
					}
				})
				if _, err := s.Children(t.Context(), "/"); err == nil {
					t.Error("no error")
				}
				<-s.Moved()
				if _, err := s.Children(t.Context(), "/"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestUnknownCode: an answer that says no leaves session and connection alone.
func TestUnknownCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t)
		s := connect(t, srv.options())
		srv.set(func() { srv.reply = func(jute.Op) []byte { srv.reply = nil; return reply(1, jute.NoAuth) } })
		if err := s.Sync(t.Context(), "/"); err == nil || errors.Is(err, curator.ErrDisconnected) {
			t.Error(err)
		}
		if err := s.Sync(t.Context(), "/"); err != nil {
			t.Error(err)
		}
	})
}

func TestConnectEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t)
		srv.down["a:1"], srv.mute["b:1"] = true, true
		why := errors.New("too late")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, why)
		defer cancel()
		began := time.Now()
		if _, err := Connect(ctx, srv.options()); !errors.Is(err, why) {
			t.Error(err)
		}
		if d := time.Since(began); d != 10*time.Second {
			t.Errorf("after %v", d)
		}
	})
}

// TestClose: the server is told, and nothing goes on.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t)
		o := srv.options()
		o.Root = "/root"
		s := connect(t, o)
		if _, err := s.Create(t.Context(), "", nil, curator.Container); err != nil {
			t.Fatal(err)
		}
		path, err := s.Create(t.Context(), "/x-", nil, curator.EphemeralSequential)
		if err != nil || path != "/x-0000000000" {
			t.Fatalf("%s, %v", path, err)
		}
		s.Close()
		if last := srv.seen[len(srv.seen)-1]; last != jute.OpCloseSession {
			t.Errorf("the last request is %d", last)
		}
		if names, _, _ := srv.state.Children(&tree.Caller{Chroot: tree.ClientRoot}, "/root"); len(names) != 0 {
			t.Errorf("left behind: %q", names)
		}
		if err := s.Sync(t.Context(), "/"); !errors.Is(err, curator.ErrSessionLost) {
			t.Errorf("after the close: %v", err)
		}
	})
}

// TestGrantedTime: what the server grants counts, the shortest that it ever granted.
func TestGrantedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(t)
		srv.granted = 6 * time.Second
		s := connect(t, srv.options())
		if s.Timeout() != 6*time.Second {
			t.Errorf("timeout %v", s.Timeout())
		}
		for granted, want := range map[time.Duration]time.Duration{4 * time.Second: 4 * time.Second} {
			srv.set(func() { srv.granted = granted })
			srv.cut()
			<-s.Moved()
			if s.Timeout() != want {
				t.Errorf("timeout %v", s.Timeout())
			}
		}
		srv.set(func() { srv.granted = 9 * time.Second })
		srv.cut()
		<-s.Moved()
		if s.Timeout() != 4*time.Second {
			t.Errorf("timeout %v", s.Timeout())
		}
	})
}

func TestParseConnect(t *testing.T) {
	for text, want := range map[string][]string{ // servers and root
		"h:1":             {"h:1", ""},
		"h":               {"h:2181", ""},
		"h:1,i:2/a/b":     {"h:1", "i:2", "/a/b"},
		"h:1/":            {"h:1", ""},
		"[::1]:3,::2,[f]": {"[::1]:3", "[::2]:2181", "f:2181", ""},
		"":                nil,
		"h:1,":            nil,
		"h:0":             nil,
		"h:65536":         nil,
		":1":              nil,
		"h:1//a":          nil,
		"a:b:c":           nil,
	} {
		servers, root, err := ParseConnect(text)
		if got := append(servers, root); (err != nil) != (want == nil) || err == nil && !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

// FuzzReply gives any frame to a connection that waits for an answer.
func FuzzReply(f *testing.F) {
	f.Add(reply(1, jute.OK)[4:])
	f.Add(reply(jute.XidEvent, jute.OK)[4:])
	f.Add(reply(1, jute.NoNode)[4:])
	f.Add([]byte{})
	f.Add(jute.AppendStat(jute.AppendStrings(reply(1, jute.OK)[4:], []string{"a"}), jute.Stat{}))
	f.Fuzz(func(t *testing.T, payload []byte) {
		k := &call{xid: 1, answer: make(chan answer, 1)}
		c := &conn{pending: []*call{k}}
		if err := c.handle(payload); err != nil || len(c.pending) == 1 {
			return
		}
		a := <-k.answer
		r := jute.NewReader(a.body)
		r.Strings()
		r.Stat()
		if len(a.body) != 0 && !bytes.HasSuffix(payload, a.body) {
			t.Errorf("the body %x is not from the frame", a.body)
		}
	})
}
