package server_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// Confirmations and coming back after a cut: core-protocol §4.5, §4.7, §11 rows 27 to 29.

func (w *world) windowed(window int32) *peer {
	w.t.Helper()
	return w.connect(136).open(core.CreateSession{AutoCommitSends: true, AutoCommitAcks: true, ConfirmationWindowSize: window})
}

func TestConfirmationWindow(t *testing.T) {
	w := newWorld(t, nil, nil)
	p := w.windowed(60)
	query := &core.QueueQuery{Name: "four"}
	if n := len(core.Append(nil, 10, query, 136)); n != 25 {
		t.Fatalf("a request of %d bytes", n)
	}
	kind := func() core.Type { return p.next().Type() }
	p.do(query, query, query)
	for _, want := range []core.Type{core.TypeQueueQueryResponseV3, core.TypeQueueQueryResponseV3} {
		if got := kind(); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	is(t, p.next(), confirmed(2)) // just before the third answer
	if got := kind(); got != core.TypeQueueQueryResponseV3 {
		t.Errorf("got %v", got)
	}
	// what is refused gives no reason to confirm, and is counted all the same
	missing := &core.CreateConsumer{QueueName: "a queue that is not there", RequiresResponse: true}
	if got := p.ask(missing).Type(); got != core.TypeException {
		t.Errorf("got %v", got)
	}
	w.Advance(2000) // every look at the time to live confirms what is owed
	is(t, p.next(), confirmed(3))
	w.Advance(2000)
	p.do(&core.Close{}) // and so does the end of the session
	is(t, p.next(), confirmed(4))
	is(t, p.next(), null())
}

func TestConfirmationOfEach(t *testing.T) {
	w := newWorld(t, nil, nil)
	p := w.windowed(0)
	p.do(&core.Start{}, &core.CreateProducer{ID: 1}, &core.AddMetadata{Key: "k", Data: "not counted"})
	is(t, p.next(), confirmed(0))
	is(t, p.next(), confirmed(1))
	p.do(&core.Stop{})
	is(t, p.next(), confirmed(2))
	is(t, p.next(), null())
}

// A resuming client keeps what it has sent until it is confirmed, and comes back on a new connection after a cut.
type resuming struct {
	*peer
	state core.Confirmations
}

func (w *world) resuming(window int32, s core.CreateSession) *resuming {
	w.t.Helper()
	s.ConfirmationWindowSize = window
	return &resuming{w.connect(136).open(s), core.NewConfirmations(window, 10<<20)}
}

// do sends packets, which a cut may lose.
func (r *resuming) do(list ...core.Packet) {
	for _, x := range list {
		f := core.Append(nil, r.channel, x, r.v)
		if core.Counted(x.Type(), f[core.HeaderSize:]) {
			r.state.Sent(f)
		}
		r.write(f)
	}
}

// next is the next packet that is no confirmation.
func (r *resuming) next() core.Packet {
	r.t.Helper()
	for {
		f := r.nextFrame()
		raw := append([]byte(nil), f.Payload...)
		x, err := core.Decode(f.Type, raw, r.v)
		if err != nil {
			r.t.Fatal(err)
		}
		if c, ok := x.(*core.PacketsConfirmed); ok {
			if err := r.state.Confirmed(c.CommandID); err != nil {
				r.t.Fatal(err)
			}
			continue
		}
		if f.Channel == r.channel && core.Counted(f.Type, raw) {
			if id, due := r.state.Received(len(f.Raw)); due {
				r.write(core.Append(nil, r.channel, &core.PacketsConfirmed{CommandID: id}, r.v))
			}
		}
		return x
	}
}

// cut breaks the connection, with what is on its way in both directions.
func (r *resuming) cut() {
	r.c.(*net.TCPConn).SetLinger(0)
	r.c.Close()
}

// resume comes back. It returns what the server answered.
func (r *resuming) resume() *core.ReattachSessionResponse {
	r.t.Helper()
	p := &peer{raw: dial(r.t, r.w.addr), w: r.w, v: r.v, name: r.name, channel: r.channel}
	p.put(core.ChannelPing, &core.Ping{TTL: 60000})
	p.put(core.ChannelSession, &core.CheckForFailover{NodeID: buf.Of(nodeID)})
	p.put(core.ChannelPing, &core.SubscribeTopology{ClientVersion: r.v})
	p.put(core.ChannelSession, &core.ReattachSession{Name: r.name, LastConfirmedCommandID: r.state.LastReceived()})
	r.peer = p
	for {
		x, ok := r.peer.next().(*core.ReattachSessionResponse)
		if !ok {
			continue
		}
		if x.Reattached {
			replay, err := r.state.Replay(x.LastConfirmedCommandID)
			if err != nil {
				r.t.Fatal(err)
			}
			r.write(replay)
		}
		return x
	}
}

func (r *resuming) mustResume() {
	r.t.Helper()
	r.cut()
	if x := r.resume(); !x.Reattached {
		r.t.Fatalf("not reattached: %+v", x)
	}
}

// TestReattachedProducer cuts the link while messages are on their way: each arrives once and in order, whatever the window,
// whether they are durable or large enough for the journal to be slower than the cut, and what is refused in between is not
// repeated, either.
func TestReattachedProducer(t *testing.T) {
	for _, window := range []int32{60, 3000, 1 << 20} {
		for _, durable := range []bool{false, true} {
			t.Run(fmt.Sprint(window, durable), func(t *testing.T) {
				w := newWorld(t, nil, nil)
				w.CreateAnycast("q")
				r := w.resuming(window, core.CreateSession{AutoCommitSends: true, AutoCommitAcks: true})
				rnd := rand.New(rand.NewPCG(1, uint64(window)))
				const n = 600
				for i := range n {
					r.do(&core.Send{Message: text("q", fmt.Sprint(i), func(b *message.Builder) { b.Durable = durable }), RequiresResponse: i%3 == 0, CorrelationID: int64(i) + 1})
					switch rnd.IntN(20) {
					case 0:
						r.mustResume()
					case 1:
						r.do(&core.CreateConsumer{ConsumerID: 9, QueueName: "missing", RequiresResponse: true})
						for r.next().Type() != core.TypeException {
						}
						r.mustResume()
					case 2:
						r.do(&core.CreateQueueV2{CreateQueue: core.CreateQueue{Address: "q", Name: "q", RequiresResponse: true}, MaxConsumers: -1}) // on the executor
						r.mustResume()
					}
				}
				r.do(&core.QueueQuery{Name: "end"})
				for r.next().Type() != core.TypeQueueQueryResponseV3 {
				}
				c := w.client()
				c.attach(0, "q", -1)
				for i := range n {
					if g := c.message(); g.text != fmt.Sprint(i) {
						t.Fatalf("message %d is %q", i, g.text)
					}
				}
				c.quiet()
			})
		}
	}
}

// TestReattachedConsumer cuts the link while messages are delivered and acknowledged: each comes once and in order, none is
// redelivered, and none is left.
func TestReattachedConsumer(t *testing.T) {
	for _, window := range []int32{60, 3000, 1 << 20} {
		for _, credit := range []int32{-1, 400} {
			t.Run(fmt.Sprint(window, credit), func(t *testing.T) {
				w := newWorld(t, nil, nil)
				q := w.CreateAnycast("q")
				const n = 400
				texts := make([]string, n)
				for i := range texts {
					texts[i] = fmt.Sprint(i)
				}
				w.client().sendTexts("q", texts...)
				r := w.resuming(window, core.CreateSession{AutoCommitSends: true, AutoCommitAcks: true})
				r.do(&core.CreateConsumer{QueueName: "q", RequiresResponse: true}, &core.FlowToken{Credits: credit}, &core.Start{})
				rnd := rand.New(rand.NewPCG(2, uint64(window)))
				for i := 0; i < n; {
					switch x := r.next().(type) {
					case *core.Receive:
						m, err := message.ParseCore(x.Message)
						if err != nil {
							t.Fatal(err)
						}
						if s, _ := m.TextBody(); s != texts[i] || x.DeliveryCount != 1 {
							t.Fatalf("message %d is %q, delivery count %d", i, s, x.DeliveryCount)
						}
						i++
						r.do(&core.Acknowledge{MessageID: m.ID(), Individual: i%2 == 0, RequiresResponse: i%7 == 0})
						if credit > 0 {
							r.do(&core.FlowToken{Credits: int32(len(x.Message)) + 25})
						}
						if rnd.IntN(20) == 0 {
							r.mustResume()
						}
					case *core.QueueQueryResponse, *core.NullResponse:
					default:
						t.Fatalf("got %+v", x)
					}
				}
				w.Until("the queue to be empty", func() bool { return q.MessageCount() == 0 })
			})
		}
	}
}

// TestReattachedTransaction: an open transaction is taken along.
func TestReattachedTransaction(t *testing.T) {
	w := newWorld(t, nil, nil)
	q := w.CreateAnycast("q")
	r := w.resuming(2000, core.CreateSession{})
	r.do(&core.Send{Message: text("q", "a", nil)})
	r.mustResume()
	r.do(&core.Send{Message: text("q", "b", nil)}, &core.Commit{CorrelationID: buf.Of(int64(-2))})
	r.mustResume()
	is(t, r.next(), nullTo(-2))
	if n := q.MessageCount(); n != 2 {
		t.Errorf("%d messages", n)
	}
}

// TestReattachedTwice: two clients that claim a session do not both get it, nor does either stop the server.
func TestReattachedTwice(t *testing.T) {
	w := newWorld(t, nil, nil)
	a, b := w.resuming(2000, core.CreateSession{Name: "a"}), w.resuming(0, core.CreateSession{Name: "b", ChannelID: 11})
	claim := func(c, of *resuming) {
		c.put(core.ChannelSession, &core.ReattachSession{Name: of.name, LastConfirmedCommandID: -1})
	}
	claim(a, b)
	claim(b, a)
	w.Until("somebody to give up", func() bool { return w.server.Connections() < 2 })
	is(t, w.client().ask(&core.Stop{}), null())
}

// TestRecreation: a session without a confirmation window is made anew, as the client does it.
func TestRecreation(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.CreateAnycast("q")
	w.client().sendTexts("q", "a", "b")
	temporary := &core.CreateQueueV2{CreateQueue: core.CreateQueue{Address: "temp", Name: "temp", Temporary: true}, RoutingType: core.RoutingAnycast, MaxConsumers: -1}
	r := &resuming{w.client(), core.NewConfirmations(-1, 0)}
	r.attach(0, "q", -1)
	r.messages(1, "a", "b")
	r.do(temporary)
	r.do(&core.Send{Message: text("temp", "old", nil)})
	r.quiet()
	first := r.peer // its socket stays open: the server has not noticed
	is(t, r.resume(), &core.ReattachSessionResponse{LastConfirmedCommandID: -1})
	first.closed()
	r.open(core.CreateSession{Form: core.TypeCreateSession, Name: "anew", AutoCommitSends: true, AutoCommitAcks: true, ConfirmationWindowSize: -1})
	r.do(temporary, &core.CreateConsumer{QueueName: "q"}, &core.FlowToken{Credits: 1 << 19}, &core.ForceDelivery{Sequence: 3},
		&core.Start{}, &core.AddMetadata{Key: "jms-session"})
	r.forced(3)
	r.messages(2, "a", "b")
	r.quiet()
	if q := w.Queue("temp"); q == nil || q.MessageCount() != 0 {
		t.Error("the temporary queue is not a new one")
	}
}

// TestTimeToLive: a silent connection ends one to two looks after its time to live. A session with a window is kept until
// then, one without is not.
func TestTimeToLive(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.CreateAnycast("q")
	p := w.client()
	p.put(core.ChannelPing, &core.Ping{TTL: 2000})
	is(t, p.next(), &core.Ping{TTL: 2000})
	w.Advance(2000)
	if w.server.Connections() != 1 {
		t.Error("ended too early")
	}
	w.Advance(2000)
	p.closed()
	w.Until("the session to end", func() bool { return len(w.Sessions()) == 0 })

	w.client().sendTexts("q", "a")
	kept := w.resuming(2000, core.CreateSession{})
	kept.peer.attach(0, "q", -1)
	kept.cut()
	gone := w.windowed(0)
	gone.c.Close()
	w.Until("the session without a window to end", func() bool { return w.Session(gone.name) == nil })
	other := w.client()
	other.attach(0, "q", -1)
	other.quiet() // the message is held for the one that may come back
	looks := 0
	for ; ; looks++ {
		other.write(ping())
		if g, ok := other.next().(*core.Receive); ok {
			if s := parsed(t, g.Message); s != "a" || g.DeliveryCount != 2 {
				t.Errorf("got %q count %d", s, g.DeliveryCount)
			}
			break
		}
		w.Advance(2000)
	}
	if looks < 30 {
		t.Errorf("given up after %d s", 2*looks)
	}
	w.Until("the session to end", func() bool { return w.Session(kept.name) == nil })
	if x := kept.resume(); x.Reattached || x.LastConfirmedCommandID != -1 {
		t.Errorf("%+v", x)
	}
}

// TestStop: how clients are told that the server stops, by version.
func TestStop(t *testing.T) {
	w := newWorld(t, nil, nil)
	peers := map[core.Version]*peer{}
	for _, v := range []core.Version{121, 124, 125, 128, 130, 131, 136} {
		peers[v] = w.connect(v)
	}
	peers[0] = &peer{raw: dial(t, w.addr), w: w}
	peers[0].write(ping())
	peers[0].next()
	owed := w.windowed(1 << 20)
	owed.quiet()
	w.stop()
	for v, p := range peers {
		var want core.Packet
		switch {
		case v >= 131:
			want = &core.Disconnect{Form: core.TypeDisconnectV3, NodeID: buf.Of(nodeID), Reason: core.ReasonScaleDown}
		case v >= 125:
			want = &core.Disconnect{Form: core.TypeDisconnectV2, NodeID: buf.Of(nodeID)}
		default:
			want = &core.Disconnect{Form: core.TypeDisconnect, NodeID: buf.Of(nodeID)}
		}
		is(t, p.next(), want)
		p.closed()
	}
	is(t, owed.next(), confirmed(0)) // what is owed comes first
	if got := owed.next().Type(); got != core.TypeDisconnectV3 {
		t.Errorf("got %v", got)
	}
	owed.closed()
}

// TestTemporaryQueues live with the connection, not with the session.
func TestTemporaryQueues(t *testing.T) {
	w := newWorld(t, nil, nil)
	p := w.client()
	is(t, p.ask(&core.CreateQueueV2{CreateQueue: core.CreateQueue{Address: "temp", Name: "temp", Temporary: true, RequiresResponse: true}, RoutingType: core.RoutingAnycast, MaxConsumers: -1}), null())
	is(t, p.ask(&core.Close{}), null())
	if w.Queue("temp") == nil {
		t.Error("gone with the session")
	}
	p.c.Close()
	w.Until("the queue to go", func() bool { return w.Queue("temp") == nil && w.Address("temp") == nil })
}

// TestKilled: a session that the broker ends by itself cannot be taken up again.
func TestKilled(t *testing.T) {
	w := newWorld(t, nil, nil)
	r := w.resuming(2000, core.CreateSession{})
	var conn *broker.Connection
	for _, c := range w.Connections() {
		conn = c
	}
	conn.Close("an operator wants it")
	r.closed()
	if x := r.resume(); x.Reattached {
		t.Error("reattached")
	}
}

// TestClosedByOperator: of a session that an operator closes the consumers are told, and other sessions go on.
func TestClosedByOperator(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.CreateAnycast("q")
	p := w.client()
	p.sendTexts("q", "a")
	p.attach(4, "q", -1)
	p.messages(1, "a")
	w.Session(p.name).CloseRemotely()
	is(t, p.next(), &core.DisconnectConsumer{ConsumerID: 4})
	w.Until("the session to end", func() bool { return w.Session(p.name) == nil })
	p.do(&core.Send{Message: text("q", "lost", nil)})
	p.open(core.CreateSession{Name: "other", ChannelID: 11, AutoCommitSends: true, AutoCommitAcks: true, ConfirmationWindowSize: -1})
	p.attach(0, "q", -1)
	p.messages(2, "a")
	p.quiet()
}
