package server_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/core"
)

// Large messages: core-protocol §5.6, §6.3, §11 rows 25 and 26.

// noise is a body of which no two pieces are alike.
func noise(n int) []byte {
	b := make([]byte, n)
	x := uint32(2463534242)
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x)
	}
	return b
}

// sendLarge sends a large message in chunks and waits for the answer.
func (p *peer) sendLarge(address string, body []byte, chunk int, size int64, change func(*message.Builder)) {
	p.t.Helper()
	b := message.New(address, message.Bytes)
	b.Durable = true
	if change != nil {
		change(b)
	}
	p.do(&core.SendLarge{Headers: b.AppendHeaders(nil)})
	for len(body) >= chunk {
		p.do(&core.SendContinuation{Body: body[:chunk], Continues: true})
		body = body[chunk:]
	}
	is(p.t, p.ask(&core.SendContinuation{Body: body, MessageBodySize: size, RequiresResponse: true, CorrelationID: -4}), nullTo(-4))
}

// begins takes the header frame of a large message.
func (p *peer) begins() (*core.ReceiveLarge, *message.Message) {
	p.t.Helper()
	r, ok := p.next().(*core.ReceiveLarge)
	if !ok {
		p.t.Fatal("not the beginning of a large message")
	}
	m, err := message.ParseCoreHeaders(r.Headers)
	if err != nil {
		p.t.Fatal(err)
	}
	return r, m
}

// chunk takes a chunk.
func (p *peer) chunk() *core.ReceiveContinuation {
	p.t.Helper()
	r, ok := p.next().(*core.ReceiveContinuation)
	if !ok {
		p.t.Fatalf("not a chunk: %+v", r)
	}
	return r
}

// rest takes chunks up to the last one.
func (p *peer) rest() (body []byte, sizes []int) {
	p.t.Helper()
	for {
		r := p.chunk()
		body = append(body, r.Body...)
		sizes = append(sizes, len(r.Body))
		if !r.Continues {
			return body, sizes
		}
	}
}

// TestChunks: the chunks that are delivered have the size that the consumer's session asked for, not the producer's.
func TestChunks(t *testing.T) {
	for _, c := range []struct {
		size, sent int
		want       []int
	}{
		{3000, 500, []int{1024, 1024, 952}},
		{2048, 1024, []int{1024, 1024}}, // the last chunk sent is empty
		{1, 1024, []int{1}},
	} {
		w := newWorld(t, nil, nil)
		w.CreateAnycast("q")
		p := w.connect(136).open(core.CreateSession{MinLargeMessageSize: 1024, AutoCommitSends: true, AutoCommitAcks: true, ConfirmationWindowSize: -1})
		body := noise(c.size)
		p.sendLarge("q", body, c.sent, int64(c.size), nil)
		p.attach(0, "q", -1)
		r, m := p.begins()
		if r.Size != int64(c.size) || r.DeliveryCount != 1 {
			t.Errorf("%+v", r)
		}
		if n, ok := m.Property(message.PropLargeSize).Int64(); !ok || n != int64(c.size) {
			t.Errorf("%s = %d %t", message.PropLargeSize, n, ok)
		}
		got, sizes := p.rest()
		if !bytes.Equal(got, body) {
			t.Errorf("%d bytes that are not the body of %d", len(got), len(body))
		}
		if len(sizes) != len(c.want) {
			t.Fatalf("chunks of %v, want %v", sizes, c.want)
		}
		for i := range sizes {
			if sizes[i] != c.want[i] {
				t.Errorf("chunks of %v, want %v", sizes, c.want)
			}
		}
		is(t, p.ask(&core.Acknowledge{MessageID: m.ID(), RequiresResponse: true}), null())
		if n := w.Queue("q").MessageCount(); n != 0 {
			t.Errorf("%d messages", n)
		}
	}
}

// TestCompressed: the size that the client tells is the one before compression; a small enough body comes as a regular
// message.
func TestCompressed(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.CreateAnycast("q")
	p := w.client()
	p.sendLarge("q", noise(2500), 1000, 6000, func(b *message.Builder) { b.Set("_AMQ_LARGE_COMPRESSED", true) })
	is(t, p.ask(&core.Send{Message: text("q", "small", func(b *message.Builder) {
		b.Set("_AMQ_LARGE_COMPRESSED", true)
		b.Set(message.PropLargeSize, int64(5000))
	}), RequiresResponse: true, CorrelationID: 3}), nullTo(3))
	p.attach(0, "q", -1)
	r, m := p.begins()
	if n, _ := m.Property(message.PropLargeSize).Int64(); r.Size != 2500 || n != 6000 {
		t.Errorf("size %d, %s %d", r.Size, message.PropLargeSize, n)
	}
	if got, _ := p.rest(); !bytes.Equal(got, noise(2500)) {
		t.Error("the body is another")
	}
	p.messages(1, "small")
}

// TestLargeCredit: the header frame and every chunk are charged, and the body waits where credit ends. Meanwhile nothing
// else comes but forced deliveries, and the body outlives the acknowledgement of its message.
func TestLargeCredit(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.CreateAnycast("q")
	p := w.connect(136).open(core.CreateSession{MinLargeMessageSize: 1024, AutoCommitSends: true, AutoCommitAcks: true, ConfirmationWindowSize: -1})
	body := noise(3000)
	p.sendLarge("q", body, 1024, 3000, nil)
	p.sendTexts("q", "after")
	p.attach(0, "q", 1)
	_, m := p.begins()
	p.quiet()
	p.do(&core.ForceDelivery{Sequence: 4})
	p.forced(4)
	is(t, p.ask(&core.Acknowledge{MessageID: m.ID(), RequiresResponse: true}), null())
	if n := w.Queue("q").MessageCount(); n != 1 {
		t.Errorf("%d messages, want the one behind", n)
	}
	p.do(&core.FlowToken{Credits: 1000}) // what the header frame has overdrawn, and something
	first := p.chunk()
	p.quiet()
	p.do(&core.FlowToken{Credits: 5000})
	second, third := p.chunk(), p.chunk()
	if got := append(append(first.Body, second.Body...), third.Body...); !bytes.Equal(got, body) || third.Continues {
		t.Errorf("%d bytes that are not the body", len(got))
	}
	p.messages(1, "after")
}

// TestLargeAbandoned: a rollback, or the end of the consumer, in the middle of a body abandons the rest. The next delivery
// begins with the header frame again.
func TestLargeAbandoned(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.CreateAnycast("q")
	p := w.connect(136).open(core.CreateSession{MinLargeMessageSize: 1024, ConfirmationWindowSize: -1})
	body := noise(5000)
	sender := w.client()
	sender.sendLarge("q", body, 1024, 5000, nil)
	p.attach(0, "q", 500)
	p.begins()
	p.chunk()
	is(t, p.ask(&core.Stop{}), null())
	is(t, p.ask(&core.Rollback{}), null())
	p.do(&core.FlowToken{Credits: 1000}, &core.Start{})
	if r, _ := p.begins(); r.DeliveryCount != 1 {
		t.Errorf("delivery count %d, want 1", r.DeliveryCount)
	}
	p.chunk()
	is(t, p.ask(&core.ConsumerClose{}), null())
	p.attach(1, "q", 500)
	p.begins()
	p.chunk()
	p.c.Close() // and so does the end of the connection
	w.Until("the message to be back", func() bool { return w.Queue("q").Counts().Delivering == 0 })
	again := w.client()
	again.attach(0, "q", -1)
	if r, _ := again.begins(); r.DeliveryCount != 2 {
		t.Errorf("delivery count %d, want 2", r.DeliveryCount)
	}
	if got, _ := again.rest(); !bytes.Equal(got, body) {
		t.Errorf("%d bytes that are not the body", len(got))
	}
}

// TestLargeUnfinished: a message whose last chunk has not come is nobody's, and a new one replaces it.
func TestLargeUnfinished(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.CreateAnycast("q")
	p := w.client()
	b := message.New("q", message.Bytes)
	for range 2 {
		p.do(&core.SendLarge{Headers: b.AppendHeaders(nil)}, &core.SendContinuation{Body: noise(100), Continues: true})
	}
	p.sendLarge("q", noise(200), 100, 200, nil)
	p.do(&core.SendLarge{Headers: b.AppendHeaders(nil)}, &core.SendContinuation{Body: noise(100), Continues: true})
	is(t, p.ask(&core.Close{}), null())
	if n := w.Queue("q").MessageCount(); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
	w.Until("the unfinished bodies to be dropped", func() bool { return w.Store.HeldBodies() == 1 })
}

// TestLargeSyncedBehind: while a body is synced the next one is taken, and nothing else; the messages arrive in the order in
// which they were sent.
func TestLargeSyncedBehind(t *testing.T) {
	syncing := make(chan int64, 10)
	synced := map[int64]chan error{}
	w := newWorld(t, nil, nil)
	w.CreateAnycast("q")
	var mu sync.Mutex
	of := func(id int64) chan error {
		mu.Lock()
		defer mu.Unlock()
		if synced[id] == nil {
			synced[id] = make(chan error, 1)
		}
		return synced[id]
	}
	w.Store.SyncBody = func(id int64) error {
		syncing <- id
		return <-of(id)
	}
	p := w.client()
	large := func(body []byte, correlation int64) {
		b := message.New("q", message.Bytes)
		b.Durable = true
		p.do(&core.SendLarge{Headers: b.AppendHeaders(nil)},
			&core.SendContinuation{Body: body[:len(body)/2], Continues: true},
			&core.SendContinuation{Body: body[len(body)/2:], MessageBodySize: -1, RequiresResponse: true, CorrelationID: correlation})
	}
	large(noise(100), 11)
	large(noise(200), 12)
	first, second := <-syncing, <-syncing
	if first > second {
		first, second = second, first
	}
	p.do(&core.Send{Message: text("q", "small", nil), RequiresResponse: true, CorrelationID: 13})
	of(second) <- nil
	if n := w.Queue("q").MessageCount(); n != 0 {
		t.Fatalf("%d messages before the first body is on disk", n)
	}
	of(first) <- nil
	for _, correlation := range []int64{11, 12, 13} {
		is(t, p.next(), nullTo(correlation))
	}
	p.attach(0, "q", -1)
	for _, size := range []int64{100, 200} {
		r, _ := p.begins()
		if got, _ := p.rest(); r.Size != size || !bytes.Equal(got, noise(int(size))) {
			t.Errorf("a body of %d bytes, want the one of %d", r.Size, size)
		}
	}
	p.messages(1, "small")
}
