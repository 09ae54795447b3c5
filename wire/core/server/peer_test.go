package server_test

import (
	"errors"
	"io"
	"net"
	"reflect"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/server"
)

// nodeID is the node of all tests.
const nodeID = "b3e1f8f0-0000-0000-0000-000000000001"

// A world is a broker with a Core server that lets in admin with the password admin. Its clock stands still.
type world struct {
	*brokertest.Broker
	t      testing.TB
	addr   string
	server *server.Server
	stop   func()
}

// newWorld starts one. params are those of the acceptor; change may change the broker's options.
func newWorld(t testing.TB, params map[string]string, change func(*broker.Options)) *world {
	t.Helper()
	w := &world{Broker: brokertest.New(t, change), t: t}
	w.server = server.New(server.Options{Broker: w.Broker.Broker, NodeID: nodeID, TTLOverride: -1, TTLCheckInterval: 2000,
		Login: func(c security.Credentials) (security.Principal, error) {
			if c.User != "admin" || c.Password != "admin" {
				return security.Principal{}, &security.AuthenticationError{User: c.User, Remote: c.Remote, SubjectDN: c.SubjectDN(), Cause: errors.New("wrong")}
			}
			return security.Internal(c.User), nil
		}})
	w.addr, w.stop = listen(t, params, w.server)
	return w
}

// A peer is a client of one version with one session on channel 10.
type peer struct {
	*raw
	w       *world
	v       core.Version
	name    string
	channel int64
}

func deadline() time.Time { return time.Now().Add(brokertest.Deadline) }

// connect opens a connection of a client of that version.
func (w *world) connect(v core.Version) *peer {
	w.t.Helper()
	p := &peer{raw: dial(w.t, w.addr), w: w, v: v, channel: 10}
	p.put(core.ChannelPing, &core.SubscribeTopology{ClientVersion: v})
	if got, ok := p.next().(*core.ClusterTopology); !ok || !got.Last || got.NodeID != nodeID {
		w.t.Fatalf("topology: %+v", got)
	}
	return p
}

// session opens a session; fields of s that are not given are those of an ordinary one.
func (p *peer) open(s core.CreateSession) *peer {
	p.t.Helper()
	if s.Name == "" {
		s.Name = p.t.Name() + p.c.LocalAddr().String()
	}
	if s.ChannelID == 0 {
		s.ChannelID = 10
	}
	if s.MinLargeMessageSize == 0 {
		s.MinLargeMessageSize = 100 << 10
	}
	s.Version, s.User, s.Password = p.v, buf.Of("admin"), buf.Of("admin")
	p.name, p.channel = s.Name, s.ChannelID
	p.put(core.ChannelSession, &s)
	if got, ok := p.next().(*core.CreateSessionResponse); !ok || got.ServerVersion != 136 {
		p.t.Fatalf("create session: %+v", got)
	}
	return p
}

// client opens a connection of the current version with a session that commits by itself and has no confirmation window.
func (w *world) client() *peer {
	w.t.Helper()
	return w.connect(core.VersionCurrent).open(core.CreateSession{AutoCommitSends: true, AutoCommitAcks: true, ConfirmationWindowSize: -1})
}

func (p *peer) put(channel int64, x core.Packet) { p.write(core.Append(nil, channel, x, p.v)) }

// do sends packets of the session.
func (p *peer) do(list ...core.Packet) {
	for _, x := range list {
		p.put(p.channel, x)
	}
}

// ask sends packets of the session and returns the next packet that comes.
func (p *peer) ask(list ...core.Packet) core.Packet {
	p.t.Helper()
	p.do(list...)
	return p.next()
}

// nextFrame is the next frame. It is valid until the next one.
func (p *peer) nextFrame() core.Frame {
	p.t.Helper()
	p.c.SetReadDeadline(deadline())
	f, err := p.frame()
	if err != nil {
		p.t.Fatalf("waiting for a packet: %v", err)
	}
	return f
}

// next is the next packet.
func (p *peer) next() core.Packet {
	p.t.Helper()
	f := p.nextFrame()
	raw := append([]byte(nil), f.Payload...) // packets hold views
	x, err := core.Decode(f.Type, raw, p.v)
	if err != nil {
		p.t.Fatalf("%v: %v", f.Type, err)
	}
	return x
}

// quiet checks that what was sent so far has brought nothing that has not been read.
func (p *peer) quiet() {
	p.t.Helper()
	if got, ok := p.ask(&core.QueueQuery{Name: "quiet"}).(*core.QueueQueryResponse); !ok || got.Name.V != "quiet" {
		p.t.Errorf("got %+v, want nothing", got)
	}
}

// closed checks that the server closes the connection and says nothing more.
func (p *peer) closed() {
	p.t.Helper()
	p.c.SetReadDeadline(deadline())
	f, err := p.frame()
	var reset *net.OpError
	if err == nil {
		p.t.Errorf("got %v, want the end", f.Type)
	} else if err != io.EOF && !(errors.As(err, &reset) && !reset.Timeout()) {
		p.t.Errorf("got %v, want the end", err)
	}
}

func is(t testing.TB, got, want core.Packet) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %T%+v\nwant %T%+v", got, got, want, want)
	}
}

// Answers.
func null() core.Packet              { return &core.NullResponse{CorrelationID: core.NoCorrelation} }
func nullTo(id int64) core.Packet    { return &core.NullResponse{CorrelationID: id} }
func confirmed(id int32) core.Packet { return &core.PacketsConfirmed{CommandID: id} }
func xa(code int32) core.Packet      { return &core.XAResponse{Error: code != 0, Code: code} }
func marker(p core.Packet) (int64, bool) { // of a forced delivery
	r, ok := p.(*core.Receive)
	if !ok {
		return 0, false
	}
	m, err := message.ParseCore(r.Message)
	if err != nil {
		return 0, false
	}
	return m.Property("_hornetq.forced.delivery.seq").Int64()
}

func exception(code core.Code, text string) core.Packet {
	return &core.Exception{Code: code, Message: buf.Of(text)}
}

func exceptionTo(id int64, code core.Code, text string) core.Packet {
	return &core.Exception{Code: code, Message: buf.Of(text), CorrelationID: buf.Of(id)}
}

// text builds a durable text message; change may change it.
func text(address, s string, change func(*message.Builder)) []byte {
	b := message.New(address, message.Text)
	b.Durable = true
	b.Body = message.AppendText(nil, s)
	if change != nil {
		change(b)
	}
	return b.AppendTo(nil)
}

// send sends texts to a queue and waits for the answers.
func (p *peer) sendTexts(address string, texts ...string) {
	p.t.Helper()
	for i, s := range texts {
		id := int64(-2 - i)
		is(p.t, p.ask(&core.Send{Message: text(address, s, nil), RequiresResponse: true, CorrelationID: id}), nullTo(id))
	}
}

// consume attaches consumer id to a queue with credit, and starts the session.
func (p *peer) attach(id int64, queue string, credit int32) {
	p.t.Helper()
	if got, ok := p.ask(&core.CreateConsumer{ConsumerID: id, QueueName: queue, RequiresResponse: true}).(*core.QueueQueryResponse); !ok || !got.Exists {
		p.t.Fatalf("create consumer: %+v", got)
	}
	if credit != 0 {
		p.do(&core.FlowToken{ConsumerID: id, Credits: credit})
	}
	p.do(&core.Start{})
}

// parsed is the text of a message.
func parsed(t testing.TB, block []byte) string {
	t.Helper()
	m, err := message.ParseCore(block)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := m.TextBody()
	return s
}

// A got is a delivered message.
type got struct {
	id       int64
	text     string
	count    int32
	consumer int64
	size     int // of the frame
}

// message takes the next packet, which must be a message.
func (p *peer) message() got {
	p.t.Helper()
	f := p.nextFrame()
	if f.Type != core.TypeReceive {
		p.t.Fatalf("got %v, want a message", f.Type)
	}
	var r core.Receive
	if err := r.Decode(f.Payload, p.v); err != nil {
		p.t.Fatal(err)
	}
	m, err := message.ParseCore(r.Message)
	if err != nil {
		p.t.Fatal(err)
	}
	g := got{id: m.ID(), count: r.DeliveryCount, consumer: r.ConsumerID, size: len(f.Raw)}
	g.text, _ = m.TextBody()
	return g
}

// messages takes messages, which must have these texts and all this delivery count.
func (p *peer) messages(count int32, texts ...string) (list []got) {
	p.t.Helper()
	for _, s := range texts {
		g := p.message()
		if g.text != s || g.count != count {
			p.t.Errorf("got %q count %d, want %q count %d", g.text, g.count, s, count)
		}
		list = append(list, g)
	}
	return list
}
