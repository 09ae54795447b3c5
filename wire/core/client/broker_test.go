package client

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/transport"
)

// testTimeout bounds every wait of these tests.
const testTimeout = 10 * time.Second

// fakeBroker takes connections and answers as its script says.
type fakeBroker struct {
	t      testing.TB
	l      net.Listener
	script func(*fakeConn) // serves one connection
	work   sync.WaitGroup

	mu    sync.Mutex
	conns []*fakeConn
}

// fakeConn is the broker's side of a connection.
type fakeConn struct {
	b    *fakeBroker
	n    int // number of the connection, from 0
	nc   net.Conn
	r    *bufio.Reader
	v    core.Version
	mu   sync.Mutex
	seen []seen
}

// seen is a packet the client sent.
type seen struct {
	channel int64
	packet  core.Packet
	raw     []byte
}

func newFakeBroker(t testing.TB, script func(*fakeConn)) *fakeBroker {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &fakeBroker{t: t, l: l, script: script}
	b.work.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			b.mu.Lock()
			c := &fakeConn{b: b, n: len(b.conns), nc: nc, r: bufio.NewReaderSize(nc, 256<<10), v: core.VersionCurrent}
			b.conns = append(b.conns, c)
			b.mu.Unlock()
			b.work.Go(func() {
				defer nc.Close()
				preamble := make([]byte, len(core.Preamble))
				if _, err := io.ReadFull(c.r, preamble); err != nil || string(preamble) != core.Preamble {
					return
				}
				script(c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		b.mu.Lock()
		for _, c := range b.conns {
			c.nc.Close()
		}
		b.mu.Unlock()
		b.work.Wait()
	})
	return b
}

func (b *fakeBroker) config() Config {
	a := b.l.Addr().(*net.TCPAddr)
	return Config{
		Hosts:       []transport.ConnectorOptions{{Host: "127.0.0.1", Port: a.Port, TCP: transport.TCPOptions{NoDelay: true}}},
		CallTimeout: testTimeout,
	}
}

// conn returns connection n, waiting for it.
func (b *fakeBroker) conn(n int) *fakeConn {
	b.t.Helper()
	var c *fakeConn
	eventually(b.t, fmt.Sprintf("connection %d", n), func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		if n < len(b.conns) {
			c = b.conns[n]
		}
		return c != nil
	})
	return c
}

// eventually waits until ok is true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(testTimeout)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, testTimeout)
		}
		<-tick.C
	}
}

// readFrame reads the next frame, nil at the end.
func (c *fakeConn) readFrame() *core.Frame {
	head, err := c.r.Peek(4)
	if err != nil {
		return nil
	}
	raw := make([]byte, 4+binary.BigEndian.Uint32(head))
	if _, err := io.ReadFull(c.r, raw); err != nil {
		return nil
	}
	f, _, _, err := core.Split(raw, 1<<24)
	if err != nil {
		c.b.t.Errorf("the client sent %x: %v", raw, err)
		return nil
	}
	return &f
}

// cut ends the connection; what has been read is not handled.
func (c *fakeConn) cut() {
	c.nc.Close()
	c.r.Reset(c.nc)
}

// next reads the next packet, nil at the end, and notes it.
func (c *fakeConn) next() (int64, core.Packet) {
	f := c.readFrame()
	if f == nil {
		return 0, nil
	}
	p, err := core.Decode(f.Type, f.Payload, c.v)
	if err != nil {
		c.b.t.Errorf("the client sent %x: %v", f.Raw, err)
		return 0, nil
	}
	c.mu.Lock()
	c.seen = append(c.seen, seen{f.Channel, p, f.Raw})
	c.mu.Unlock()
	return f.Channel, p
}

func (c *fakeConn) send(channel int64, packets ...core.Packet) {
	var b []byte
	for _, p := range packets {
		b = core.Append(b, channel, p, c.v)
	}
	c.nc.Write(b)
}

// serve answers packets: as handle does, or in the usual way if it returns false.
func (c *fakeConn) serve(handle func(channel int64, p core.Packet) bool) {
	for {
		ch, p := c.next()
		if p == nil {
			return
		}
		if !handle(ch, p) {
			c.answer(ch, p)
		}
	}
}

// answer answers a packet as a broker does that is content with everything.
func (c *fakeConn) answer(ch int64, p core.Packet) {
	null := func(id int64) { c.send(ch, &core.NullResponse{CorrelationID: id}) }
	switch p := p.(type) {
	case *core.Ping:
		c.send(ch, p)
	case *core.SubscribeTopology:
		c.send(ch, &core.ClusterTopology{NodeID: "node", Last: true, ServerVersion: core.VersionCurrent})
	case *core.CheckForFailover:
		c.send(ch, &core.CheckForFailoverReply{OK: true})
	case *core.CreateSession:
		c.send(ch, &core.CreateSessionResponse{ServerVersion: core.VersionCurrent})
	case *core.ReattachSession:
		c.send(ch, &core.ReattachSessionResponse{LastConfirmedCommandID: -1})
	case *core.CreateConsumer:
		if p.RequiresResponse {
			c.send(ch, &core.QueueQueryResponse{Exists: true, Durable: true})
		}
	case *core.Send:
		if p.RequiresResponse {
			null(p.CorrelationID)
		}
	case *core.SendContinuation:
		if p.RequiresResponse {
			null(p.CorrelationID)
		}
	case *core.Commit:
		null(p.CorrelationID.Or(core.NoCorrelation))
	case *core.Credits:
		c.send(ch, &core.Credits{Form: core.TypeCredits, Credits: p.Credits, Address: p.Address})
	case *core.CreateQueueV2:
		if p.RequiresResponse {
			null(core.NoCorrelation)
		}
	case *core.AddMetadata:
		if p.RequiresConfirmation {
			null(core.NoCorrelation)
		}
	case *core.Stop, *core.Close, *core.ConsumerClose, *core.Rollback, *core.DeleteQueue, *core.CreateAddress:
		null(core.NoCorrelation)
	}
}

// sent returns what the client sent on session channels.
func (c *fakeConn) sent() []seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.seen), func(s seen) bool { return s.channel < core.FirstSessionChannel })
}

// types returns the types of packets, for comparison.
func types(list []seen) string {
	var names []string
	for _, s := range list {
		names = append(names, s.packet.Type().String())
	}
	return strings.Join(names, " ")
}

// captureBroker plays the broker of a capture: it sends each frame of the
// broker once the client has sent all that stands before it, and compares what
// the client sends with the capture. PINGs after the first are not in the
// script, nor are packets of the types in leaveOut.
type captureBroker struct {
	script []capturedFrame
}

type capturedFrame struct {
	toBroker bool
	core.Frame
}

func readCapture(t testing.TB, file string, leaveOut ...core.Type) []capturedFrame {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var script []capturedFrame
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		raw, err := hex.DecodeString(fields[2])
		if err != nil {
			t.Fatal(err)
		}
		f, _, _, err := core.Split(raw, 1<<24)
		if err != nil {
			t.Fatal(err)
		}
		if f.Type != core.TypePing && !slices.Contains(leaveOut, f.Type) {
			script = append(script, capturedFrame{fields[1] == ">", f})
		}
	}
	return script
}

func newCaptureBroker(t *testing.T, script []capturedFrame, leaveOut ...core.Type) (*fakeBroker, *captureBroker) {
	cb := &captureBroker{script: script}
	return newFakeBroker(t, func(c *fakeConn) {
		at := 0
		for {
			var out []byte
			for at < len(cb.script) && !cb.script[at].toBroker {
				out = append(out, cb.script[at].Raw...)
				at++
			}
			c.nc.Write(out)
			f := c.readFrame()
			for f != nil && (f.Type == core.TypePing || slices.Contains(leaveOut, f.Type)) {
				f = c.readFrame()
			}
			if f == nil {
				if at < len(cb.script) {
					t.Errorf("the client ended before %v", cb.script[at].Type)
				}
				return
			}
			if at == len(cb.script) {
				t.Errorf("after the end of the capture came %v", f.Type)
				return
			}
			if want := cb.script[at].Frame; !sameFrame(*f, want) {
				t.Errorf("frame %d\n got %v %x\nwant %v %x", at, f.Type, f.Raw, want.Type, want.Raw)
				return
			}
			at++
		}
	}), cb
}

// sameFrame compares frames but for the session's name, which is random.
func sameFrame(got, want core.Frame) bool {
	if got.Type == core.TypeCreateSessionV2 && want.Type == got.Type {
		a, aerr := core.Decode(got.Type, got.Payload, core.VersionCurrent)
		b, berr := core.Decode(want.Type, want.Payload, core.VersionCurrent)
		if aerr != nil || berr != nil {
			return false
		}
		x, y := a.(*core.CreateSession), b.(*core.CreateSession)
		x.Name = y.Name
		return *x == *y
	}
	return string(got.Raw) == string(want.Raw)
}

// message returns the MSG of the n-th send in the script.
func (cb *captureBroker) message(t *testing.T, n int) []byte {
	t.Helper()
	for _, f := range cb.script {
		if f.Type != core.TypeSend {
			continue
		}
		if n--; n < 0 {
			var p core.Send
			if err := p.Decode(f.Payload, core.VersionCurrent); err != nil {
				t.Fatal(err)
			}
			return p.Message
		}
	}
	t.Fatal("no such send")
	return nil
}

// dial connects to the broker, for the time of the test.
func dial(t testing.TB, cfg Config) *Conn {
	t.Helper()
	conn, err := Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// within returns a context for a wait of the test.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

var autoCommit = SessionOptions{AutoCommitSends: true, AutoCommitAcks: true}
