package server_test

import (
	"bufio"
	"net/http"
	"testing"

	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/transport"
)

// Opening a connection, and what ends it at once: core-protocol §1, §4.2, §4.4, §11 rows 1 to 10, 39 and 42.

func ping() []byte { return core.Append(nil, core.ChannelPing, &core.Ping{TTL: 60000}, 0) }

func TestPreamble(t *testing.T) {
	for name, writes := range map[string][]string{
		"whole":            {core.Preamble, string(ping())},
		"in two pieces":    {"ARTEMI", "S" + string(ping())},
		"without any":      {string(ping())},
		"of the old times": {"HORNETQ", string(ping())},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, nil)
			p := &peer{raw: dialPlain(t, w.addr), w: w}
			for _, s := range writes {
				p.write([]byte(s))
			}
			is(t, p.next(), &core.Ping{TTL: 60000})
		})
	}
}

func TestHandshakeTimeout(t *testing.T) {
	w := newWorld(t, map[string]string{"handshake-timeout": "1"}, nil)
	p := &peer{raw: dialPlain(t, w.addr), w: w}
	p.write([]byte(core.Preamble))
	p.closed()
}

// TestUpgrade: clients that come through HTTP are refused, as there is no container that would take them.
func TestUpgrade(t *testing.T) {
	w := newWorld(t, nil, nil)
	p := &peer{raw: dialPlain(t, w.addr), w: w}
	p.write([]byte("GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: activemq-remoting\r\nConnection: upgrade\r\n\r\n"))
	resp, err := http.ReadResponse(bufio.NewReader(p.c), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("status %d, want 403", resp.StatusCode)
	}
}

func createSession(v core.Version, user, password string) *core.CreateSession {
	return &core.CreateSession{Form: core.TypeCreateSession, Name: "s", ChannelID: 10, Version: v, User: buf.Of(user), Password: buf.Of(password),
		MinLargeMessageSize: 102400, AutoCommitSends: true, AutoCommitAcks: true, ConfirmationWindowSize: -1}
}

func TestVersions(t *testing.T) {
	w := newWorld(t, nil, nil)
	for v := core.Version(119); v <= 138; v++ {
		p := &peer{raw: dial(t, w.addr), w: w, v: v}
		p.put(core.ChannelSession, createSession(v, "admin", "admin"))
		if v >= 121 && v <= 136 {
			is(t, p.next(), &core.CreateSessionResponse{ServerVersion: 136})
			continue
		}
		is(t, p.next(), exception(108, "AMQ229033: Server and client versions incompatible"))
		p.write(ping()) // the connection stays
		is(t, p.next(), &core.Ping{TTL: 60000})
	}
}

func TestLogin(t *testing.T) {
	w := newWorld(t, nil, nil)
	p := w.connect(136)
	refused := "AMQ229031: Unable to validate user from " + p.c.LocalAddr().String() + ". Username: admin; SSL certificate subject DN: unavailable"
	p.put(core.ChannelSession, createSession(136, "admin", "wrong"))
	is(t, p.next(), exception(105, refused))
	p.put(core.ChannelSession, createSession(136, "admin", "admin"))
	is(t, p.next(), &core.CreateSessionResponse{ServerVersion: 136})
}

// TestTopologyForms: without a cluster connection versions from 125 to 130 get the second form, not the third.
func TestTopologyForms(t *testing.T) {
	w := newWorld(t, nil, nil)
	for v := core.Version(121); v <= 136; v++ {
		want := core.TypeClusterTopologyV2
		switch {
		case v == 121:
			want = core.TypeClusterTopology
		case v >= 131:
			want = core.TypeClusterTopologyV4
		}
		p := &peer{raw: dial(t, w.addr), w: w, v: v}
		p.put(core.ChannelPing, &core.SubscribeTopology{ClientVersion: v})
		got, ok := p.next().(*core.ClusterTopology)
		if !ok || got.Form != want || !got.Last || got.Exit || got.NodeID != nodeID || got.Primary != nil || got.Backup != nil {
			t.Errorf("version %d: got %+v, want form %v", v, got, want)
		}
		if v >= 131 && got.ServerVersion != 136 {
			t.Errorf("version %d: server version %d", v, got.ServerVersion)
		}
	}
}

func TestFailoverCheck(t *testing.T) {
	w := newWorld(t, nil, nil)
	for _, id := range []buf.Null[string]{{}, buf.Of(nodeID), buf.Of("another")} {
		p := &peer{raw: dial(t, w.addr), w: w}
		p.put(core.ChannelSession, &core.CheckForFailover{NodeID: id})
		is(t, p.next(), &core.CheckForFailoverReply{OK: true})
	}
}

// frame builds a frame of any type.
func frame(kind int8, channel int64, payload ...byte) []byte {
	b := buf.AppendInt32(nil, int32(9+len(payload)))
	b = buf.AppendInt8(b, kind)
	return append(buf.AppendInt64(b, channel), payload...)
}

func TestUnknownChannel(t *testing.T) {
	w := newWorld(t, nil, nil)
	p := w.client()
	for _, channel := range []int64{2, 3, 4, 9, 11, -1} {
		p.put(channel, &core.Start{})
	}
	is(t, p.ask(&core.Stop{}), null())
}

// TestViolations: what cannot be decoded ends the connection without a word.
func TestViolations(t *testing.T) {
	utf8 := append([]byte{0, 0, 0, 10, 0, 10}, "abcdefg\xf0\x9f\x98\x80"...) // a STR of ten units with a sequence of four bytes
	for name, c := range map[string]struct {
		login bool
		frame []byte
	}{
		"unknown type":                         {true, frame(102, 10)},
		"unknown type, unknown channel":        {true, frame(123, 77)},
		"unknown type on channel 0":            {false, frame(102, 0)},
		"unknown type on channel 1":            {false, frame(102, 1)},
		"short":                                {true, frame(41, 10, 0, 0)},
		"short on the executor":                {true, frame(74, 10, 0, 0)},
		"four byte UTF-8":                      {true, frame(105, 10, append(utf8, 0, 0, 0, 0, 0)...)},
		"length below the header's":            {true, buf.AppendInt32(nil, 8)},
		"negative length":                      {true, buf.AppendInt32(nil, -1)},
		"longer than a frame may be":           {true, append(buf.AppendInt32(nil, 1<<30), make([]byte, 9)...)},
		"large before the login":               {false, append(buf.AppendInt32(nil, transport.RefSize+100), make([]byte, 100)...)},
		"message whose body is not in it":      {true, frame(71, 10, append([]byte{0, 0, 1, 0}, make([]byte, 40)...)...)},
		"message whose properties do not end":  {true, frame(71, 10, append(append(buf.AppendInt32(nil, 13), make([]byte, 10+2+16+1)...), 1, 0, 0, 0, 99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)...)},
		"continuation without its last fields": {true, frame(73, 10, 0, 0, 0, 1, 'x', 1)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, nil)
			p := w.connect(136)
			if c.login {
				p.open(core.CreateSession{AutoCommitSends: true, AutoCommitAcks: true, ConfirmationWindowSize: -1})
			}
			p.write(c.frame)
			p.closed()
			w.Until("the connection to be forgotten", func() bool { return w.server.Connections() == 0 && len(w.Sessions()) == 0 })
		})
	}
}

// TestBeforeLogin: who does not log in may send 64 KiB.
func TestBeforeLogin(t *testing.T) {
	w := newWorld(t, nil, nil)
	p := w.connect(136)
	go func() {
		for range transport.PreAuthBytes/len(ping()) + 1 {
			if _, err := p.c.Write(ping()); err != nil {
				return
			}
		}
	}()
	for {
		p.c.SetReadDeadline(deadline())
		if _, err := p.frame(); err != nil {
			break
		}
	}
	brokertest.Until(t, "the connection to be closed", func() bool { return w.server.Connections() == 0 })
}
