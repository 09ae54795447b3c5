package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/test/peers"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// TestCoreClient runs our Core client against the broker. SARANGA_TEST_BROKER
// names the address (host:port) of one that runs already, with user admin and
// password admin; else the test starts one.
func TestCoreClient(t *testing.T) {
	b := &coreBroker{address: os.Getenv("SARANGA_TEST_BROKER")}
	if b.address == "" {
		var tested peers.Broker
		if *broker == "artemis" {
			tested = peers.RealArtemis(t)
		} else {
			tested = peers.UnderTest(t)
		}
		instance := peers.NewInstance(t, tested, peers.CreateOptions{})
		peers.Run(t, tested, instance)
		b.address = fmt.Sprintf("127.0.0.1:%d", instance.Port)
	}
	for _, c := range []struct {
		name string
		run  func(*testing.T, *coreBroker)
	}{
		{"login", coreLogin},
		{"versions", coreVersions},
		{"send and receive", coreSendReceive},
		{"every property type", coreProperties},
		{"asynchronous sends", coreAsync},
		{"OnMessage", coreOnMessage},
		{"consumer windows", coreWindows},
		{"receive with timeout", coreTimeout},
		{"browser", coreBrowser},
		{"filter and priority", coreFilter},
		{"acknowledgements", coreAcks},
		{"transactions", coreTransactions},
		{"XA", coreXA},
		{"large messages", coreLarge},
		{"compressed messages", coreCompressed},
		{"large messages in OnMessage", coreLargeOnMessage},
		{"administration", coreAdministration},
		{"management", coreManagement},
		{"destroyed queue", coreDestroyedQueue},
		{"metadata", coreMetadata},
		{"address full", coreAddressFull},
		{"reattach", coreReattach},
		{"recreate", coreRecreate},
		{"silence", coreSilence},
		{"no reconnect", coreNoReconnect},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, b) })
	}
}

type coreBroker struct{ address string }

func (b *coreBroker) config(t *testing.T, params string) client.Config {
	t.Helper()
	cfg, err := client.ParseURL("tcp://" + b.address + "?user=admin&password=admin&callTimeout=10000&" + params)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func (b *coreBroker) dial(t *testing.T, params string) *client.Conn {
	t.Helper()
	conn, err := client.Dial(t.Context(), b.config(t, params))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

var autoCommit = client.SessionOptions{AutoCommitSends: true, AutoCommitAcks: true}

// coreBench is a session with a queue of its own, and a producer for it.
type coreBench struct {
	t     *testing.T
	ctx   context.Context
	conn  *client.Conn
	s     *client.Session
	queue string
	p     *client.Producer
}

func (b *coreBroker) bench(t *testing.T, params string, o client.SessionOptions) *coreBench {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	w := &coreBench{t: t, ctx: ctx, conn: b.dial(t, params), queue: fmt.Sprintf("core.%d", rand.Uint64())}
	var err error
	if w.s, err = w.conn.NewSession(ctx, o); err != nil {
		t.Fatal(err)
	}
	w.must(w.s.CreateQueue(ctx, client.QueueOptions{Name: w.queue, Durable: true, RoutingType: core.RoutingAnycast}))
	if w.p, err = w.s.NewProducer(ctx, w.queue); err != nil {
		t.Fatal(err)
	}
	w.must(w.s.Start(ctx))
	return w
}

func (w *coreBench) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *coreBench) text(s string, durable bool) *message.Builder {
	m := message.New(w.queue, message.Text)
	m.Durable = durable
	m.Body = message.AppendText(nil, s)
	return m
}

func (w *coreBench) send(texts ...string) {
	w.t.Helper()
	for _, s := range texts {
		w.must(w.p.Send(w.ctx, w.text(s, true)))
	}
}

func (w *coreBench) consumer(o client.ConsumerOptions) *client.Consumer {
	w.t.Helper()
	c, err := w.s.NewConsumer(w.ctx, w.queue, o)
	w.must(err)
	return c
}

// expect receives a message with that text.
func (w *coreBench) expect(c *client.Consumer, text string) *client.Message {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
	defer cancel()
	m, err := c.Receive(ctx)
	if err != nil {
		w.t.Fatalf("waiting for %q: %v", text, err)
	}
	if got, _ := m.Text(); got != text {
		w.t.Fatalf("received %q (delivery count %d), want %q", got, m.DeliveryCount, text)
	}
	return m
}

func (w *coreBench) expectNone(c *client.Consumer) {
	w.t.Helper()
	if m, err := c.ReceiveTimeout(w.ctx, 0); err != nil || m != nil {
		w.t.Fatalf("received %v, %v, want nothing", m, err)
	}
}

func wantCode(t *testing.T, err error, code core.Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("error %v, want %v", err, code)
	}
}

func coreLogin(t *testing.T, b *coreBroker) {
	cfg := b.config(t, "")
	cfg.Password = "wrong"
	conn, err := client.Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = conn.NewSession(t.Context(), autoCommit)
	wantCode(t, err, core.SecurityException)
	if !strings.Contains(err.Error(), "AMQ229031: Unable to validate user from 127.0.0.1:") {
		t.Errorf("text %q", err)
	}
	_, err = client.Dial(t.Context(), client.Config{Hosts: b.config(t, "").Hosts, InitialConnectAttempts: 1, User: "x"})
	if err != nil {
		t.Errorf("a connection needs no login: %v", err)
	}
	closed := b.config(t, "")
	closed.Hosts[0].Port = 1
	_, err = client.Dial(t.Context(), closed)
	wantCode(t, err, core.NotConnected)
	two := b.config(t, "")
	two.Hosts = append(closed.Hosts, two.Hosts...)
	conn2, err := client.Dial(t.Context(), two)
	if err != nil {
		t.Fatalf("second host: %v", err)
	}
	conn2.Close()
}

func coreVersions(t *testing.T, b *coreBroker) {
	for v := core.Version(129); v <= core.VersionCurrent; v++ {
		cfg := b.config(t, "")
		cfg.Version = v
		conn, err := client.Dial(t.Context(), cfg)
		if err != nil {
			t.Fatalf("version %d: %v", v, err)
		}
		s, err := conn.NewSession(t.Context(), autoCommit)
		if err != nil || conn.Version() != v {
			t.Fatalf("version %d: agreed on %d, %v", v, conn.Version(), err)
		}
		w := &coreBench{t: t, ctx: t.Context(), conn: conn, s: s, queue: fmt.Sprintf("core.v%d.%d", v, rand.Uint64())}
		w.must(s.CreateQueue(w.ctx, client.QueueOptions{Name: w.queue, Durable: true, RoutingType: core.RoutingAnycast}))
		w.p, err = s.NewProducer(w.ctx, w.queue)
		w.must(err)
		w.must(s.Start(w.ctx))
		w.send("é€😀")
		c := w.consumer(client.ConsumerOptions{})
		w.must(w.expect(c, "é€😀").Ack())
		q, err := s.QueueQuery(w.ctx, w.queue)
		if err != nil || !q.Exists || q.ConsumerCount != 1 {
			t.Errorf("version %d: query %+v, %v", v, q, err)
		}
		a, err := s.AddressQuery(w.ctx, w.queue)
		if err != nil || !a.Exists || len(a.QueueNames) != 1 {
			t.Errorf("version %d: query %+v, %v", v, a, err)
		}
		w.must(conn.Close())
	}
}

func coreSendReceive(t *testing.T, b *coreBroker) {
	w := b.bench(t, "", autoCommit)
	w.send("one", "two")
	w.must(w.p.Send(w.ctx, w.text("three", false)))
	c := w.consumer(client.ConsumerOptions{})
	first := w.expect(c, "one")
	if first.DeliveryCount != 1 || first.ID() == 0 {
		t.Errorf("delivery count %d, id %d", first.DeliveryCount, first.ID())
	}
	v, err := first.Core()
	w.must(err)
	if v.Address() != w.queue || !v.IsDurable() || v.Priority() != 4 {
		t.Errorf("address %q, durable %v, priority %d", v.Address(), v.IsDurable(), v.Priority())
	}
	w.must(first.Ack())
	w.must(w.expect(c, "two").Ack())
	w.must(w.expect(c, "three").Ack())
	w.must(c.Close(w.ctx))
	q, err := w.s.QueueQuery(w.ctx, w.queue)
	if err != nil || q.MessageCount != 0 || q.ConsumerCount != 0 {
		t.Errorf("%+v, %v", q, err)
	}
	if _, err := c.Receive(w.ctx); !errors.Is(err, core.ObjectClosed) {
		t.Errorf("receive on a closed consumer: %v", err)
	}
}

func coreProperties(t *testing.T, b *coreBroker) {
	w := b.bench(t, "", autoCommit)
	m := message.New(w.queue, message.Bytes)
	m.UserID = bytes.Repeat([]byte{7}, 16)
	m.Expiration = time.Now().Add(time.Hour).UnixMilli()
	m.Timestamp, m.Priority = 12345, 9
	m.Body = []byte{1, 2, 3}
	want := map[string]any{"nul": nil, "bool": true, "i8": int8(-1), "bytes": []byte{9}, "i16": int16(-2), "i32": int32(3),
		"i64": int64(4), "f32": float32(1.5), "f64": 2.5, "s": "é€😀", "c": uint16('ß')}
	for k, v := range want {
		m.Set(k, v)
	}
	w.must(w.p.Send(w.ctx, m))
	got, err := w.consumer(client.ConsumerOptions{}).Receive(w.ctx)
	w.must(err)
	v, err := got.Core()
	w.must(err)
	for k, x := range want {
		if y := v.Property(k).Any(); fmt.Sprintf("%T %v", y, y) != fmt.Sprintf("%T %v", x, x) {
			t.Errorf("%s = %T %v, want %T %v", k, y, y, x, x)
		}
	}
	if !bytes.Equal(v.Body(), m.Body) || !bytes.Equal(v.UserID(), m.UserID) || v.Expiration() != m.Expiration ||
		v.Timestamp() != 12345 || v.Priority() != 9 || v.Type() != message.Bytes {
		t.Errorf("header differs: %+v", v)
	}
}

func coreAsync(t *testing.T, b *coreBroker) {
	for _, params := range []string{"", "confirmationWindowSize=2000", "producerWindowSize=-1"} {
		w := b.bench(t, params, autoCommit)
		const n = 2000
		var wg sync.WaitGroup
		wg.Add(n)
		var failed error
		for i := range n {
			w.must(w.p.SendAsync(w.ctx, w.text(fmt.Sprint(i), i%2 == 0), func(err error) {
				if err != nil {
					failed = err
				}
				wg.Done()
			}))
		}
		w.s.Flush()
		wg.Wait()
		w.must(failed)
		c := w.consumer(client.ConsumerOptions{})
		for i := range n {
			w.must(w.expect(c, fmt.Sprint(i)).Ack())
		}
		w.expectNone(c)
	}
}

func coreOnMessage(t *testing.T, b *coreBroker) {
	w := b.bench(t, "consumerWindowSize=10000", autoCommit)
	const n = 1000
	done := make(chan error, 1)
	i := 0
	w.consumer(client.ConsumerOptions{OnMessage: func(m *client.Message) {
		if got, _ := m.Text(); got != fmt.Sprint(i) {
			done <- fmt.Errorf("message %d is %q", i, got)
		}
		if err := m.Ack(); err != nil {
			done <- err
		}
		if i++; i == n {
			done <- nil
		}
	}})
	for i := range n {
		w.must(w.p.Send(w.ctx, w.text(fmt.Sprint(i), false)))
	}
	select {
	case err := <-done:
		w.must(err)
	case <-w.ctx.Done():
		t.Fatal("messages are missing")
	}
}

func coreWindows(t *testing.T, b *coreBroker) {
	for _, o := range []client.ConsumerOptions{{Slow: true}, {Window: 1}, {Window: 300}, {Window: -1}, {}} {
		w := b.bench(t, "", autoCommit)
		var texts []string
		for i := range 20 {
			texts = append(texts, strings.Repeat("x", i*7))
		}
		w.send(texts...)
		c := w.consumer(o)
		for _, s := range texts {
			w.must(w.expect(c, s).Ack())
		}
		w.expectNone(c)
		w.send("more")
		w.must(w.expect(c, "more").Ack())
	}
}

func coreTimeout(t *testing.T, b *coreBroker) {
	for _, slow := range []bool{false, true} {
		w := b.bench(t, "", autoCommit)
		c := w.consumer(client.ConsumerOptions{Slow: slow})
		w.expectNone(c)
		start := time.Now()
		if m, err := c.ReceiveTimeout(w.ctx, 200*time.Millisecond); m != nil || err != nil || time.Since(start) < 200*time.Millisecond {
			t.Errorf("%v, %v after %v", m, err, time.Since(start))
		}
		w.send("a")
		m, err := c.ReceiveTimeout(w.ctx, 0)
		if w.must(err); m == nil {
			t.Fatal("a message that is there was not received")
		}
		ctx, cancel := context.WithCancel(w.ctx)
		time.AfterFunc(50*time.Millisecond, cancel)
		if _, err := c.Receive(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
}

func coreBrowser(t *testing.T, b *coreBroker) {
	w := b.bench(t, "", autoCommit)
	w.send("a", "b")
	c := w.consumer(client.ConsumerOptions{Browse: true})
	for _, s := range []string{"a", "b"} {
		m := w.expect(c, s)
		if m.DeliveryCount != 0 {
			t.Errorf("delivery count %d", m.DeliveryCount)
		}
		w.must(m.Ack())
	}
	w.expectNone(c)
	w.must(c.Close(w.ctx))
	q, err := w.s.QueueQuery(w.ctx, w.queue)
	if err != nil || q.MessageCount != 2 {
		t.Errorf("%+v, %v", q, err)
	}
}

func coreFilter(t *testing.T, b *coreBroker) {
	w := b.bench(t, "", autoCommit)
	for i, color := range []string{"red", "blue", "red"} {
		m := w.text(fmt.Sprint(color, i), true)
		m.Set("color", color)
		w.must(w.p.Send(w.ctx, m))
	}
	c := w.consumer(client.ConsumerOptions{Filter: "color = 'red'", Priority: 5})
	w.must(w.expect(c, "red0").Ack())
	w.must(w.expect(c, "red2").Ack())
	w.expectNone(c)
	_, err := w.s.NewConsumer(w.ctx, w.queue, client.ConsumerOptions{Filter: "color ="})
	wantCode(t, err, core.InvalidFilterExpression)
	_, err = w.s.NewConsumer(w.ctx, "core.none", client.ConsumerOptions{})
	wantCode(t, err, core.QueueDoesNotExist)
}

func coreAcks(t *testing.T, b *coreBroker) {
	for _, params := range []string{"", "ackBatchSize=100000", "blockOnAcknowledge=true"} {
		w := b.bench(t, params, autoCommit)
		w.send("a", "b", "c", "d")
		c := w.consumer(client.ConsumerOptions{})
		w.expect(c, "a")
		w.must(w.expect(c, "b").Ack()) // both
		w.expect(c, "c")
		w.must(w.expect(c, "d").AckIndividual())
		w.must(c.Close(w.ctx))
		c = w.consumer(client.ConsumerOptions{})
		m := w.expect(c, "c")
		w.must(m.Ack())
		w.expectNone(c)
		w.must(c.Close(w.ctx))
	}
	w := b.bench(t, "preAcknowledge=true", autoCommit)
	w.send("a")
	c := w.consumer(client.ConsumerOptions{})
	w.must(w.expect(c, "a").Ack())
	w.must(c.Close(w.ctx))
	w.expectNone(w.consumer(client.ConsumerOptions{}))
}

func coreTransactions(t *testing.T, b *coreBroker) {
	w := b.bench(t, "ackBatchSize=100000", client.SessionOptions{})
	w.send("a", "b")
	c := w.consumer(client.ConsumerOptions{})
	w.expectNone(c)
	w.must(w.s.Commit(w.ctx))
	w.expect(c, "a")
	w.must(w.expect(c, "b").Ack())
	w.send("c")
	w.must(w.s.Rollback(w.ctx, false))
	if m := w.expect(c, "a"); m.DeliveryCount != 2 {
		t.Errorf("delivery count %d after a rollback, want 2", m.DeliveryCount)
	}
	w.must(w.expect(c, "b").Ack())
	w.must(w.s.Commit(w.ctx))
	w.expectNone(c)

	dup := w.text("dup", true)
	dup.Set(message.PropDuplicateID, w.queue)
	w.must(w.p.Send(w.ctx, dup))
	w.must(w.s.Commit(w.ctx))
	w.must(w.p.Send(w.ctx, dup))
	wantCode(t, w.s.Commit(w.ctx), core.DuplicateIDRejected)
	w.must(w.expect(c, "dup").Ack())
	w.must(w.s.Commit(w.ctx))
	w.expectNone(c)
}

func coreXA(t *testing.T, b *coreBroker) {
	w := b.bench(t, "", client.SessionOptions{XA: true})
	xid := func(n int) buf.Xid { return buf.Xid{FormatID: 1, Branch: fmt.Sprint("b", n), Global: w.queue} }
	w.must(w.s.XAStart(w.ctx, xid(1)))
	w.send("a")
	w.must(w.s.XAEnd(w.ctx, xid(1), false))
	w.must(w.s.XAPrepare(w.ctx, xid(1)))
	xids, err := w.s.XARecover(w.ctx)
	w.must(err)
	found := false
	for _, x := range xids {
		found = found || x == xid(1)
	}
	if !found {
		t.Errorf("%v does not hold the prepared branch", xids)
	}
	w.must(w.s.XACommit(w.ctx, xid(1), false))
	w.must(w.s.XAStart(w.ctx, xid(2)))
	c := w.consumer(client.ConsumerOptions{})
	w.must(w.expect(c, "a").Ack())
	w.must(w.s.XAEnd(w.ctx, xid(2), false))
	w.must(w.s.XACommit(w.ctx, xid(2), true))
	var xe *client.XAError
	if err := w.s.XACommit(w.ctx, xid(3), false); !errors.As(err, &xe) || xe.Code != core.XAErrorNoTransaction {
		t.Errorf("commit of an unknown branch: %v", err)
	}
	if ok, err := w.s.XASetTimeout(w.ctx, 100); !ok || err != nil {
		t.Errorf("set timeout: %v, %v", ok, err)
	}
	if _, err := w.s.XATimeout(w.ctx); err != nil {
		t.Error(err)
	}
}

func pattern(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func coreLarge(t *testing.T, b *coreBroker) {
	for _, o := range []client.ConsumerOptions{{}, {Window: -1}, {Window: 5000}, {Slow: true}} {
		w := b.bench(t, "minLargeMessageSize=10240", autoCommit)
		for i, size := range []int{10236, 10237, 20480, 1 << 20} {
			m := message.New(w.queue, message.Bytes)
			m.Durable = i%2 == 0
			m.Set("n", int32(i))
			m.Body = pattern(size)
			w.must(w.p.Send(w.ctx, m))
		}
		streamed := message.New(w.queue, message.Bytes)
		streamed.Durable = true
		w.must(w.p.SendLarge(w.ctx, streamed, bytes.NewReader(pattern(300000))))
		w.send("small")
		c := w.consumer(o)
		for _, size := range []int{10236, 10237, 20480, 1 << 20, 300000} {
			m, err := c.Receive(w.ctx)
			w.must(err)
			if size == 20480 { // left unread
				w.must(m.Ack())
				continue
			}
			r, err := m.Body()
			w.must(err)
			got, err := io.ReadAll(r)
			w.must(err)
			if !bytes.Equal(got, pattern(size)) {
				t.Fatalf("%+v: body of %d bytes came as %d", o, size, len(got))
			}
			if m.IsLarge() != (size > 10236) {
				t.Errorf("%d bytes large: %v", size, m.IsLarge())
			}
			w.must(m.Ack())
		}
		w.must(w.expect(c, "small").Ack())
		w.expectNone(c)
	}
}

func coreCompressed(t *testing.T, b *coreBroker) {
	w := b.bench(t, "minLargeMessageSize=1024&compressLargeMessage=true", autoCommit)
	small, big := bytes.Repeat([]byte("abc"), 5000), pattern(50000)
	for _, body := range [][]byte{small, big} {
		m := message.New(w.queue, message.Bytes)
		m.Durable = true
		m.Body = body
		w.must(w.p.Send(w.ctx, m))
	}
	c := w.consumer(client.ConsumerOptions{})
	for i, body := range [][]byte{small, big} {
		m, err := c.Receive(w.ctx)
		w.must(err)
		if m.IsLarge() != (i == 1) {
			t.Errorf("message %d large: %v", i, m.IsLarge())
		}
		r, err := m.Body()
		w.must(err)
		got, err := io.ReadAll(r)
		w.must(err)
		if !bytes.Equal(got, body) {
			t.Errorf("message %d: %d bytes, want %d", i, len(got), len(body))
		}
		w.must(m.Ack())
	}
}

func coreLargeOnMessage(t *testing.T, b *coreBroker) {
	w := b.bench(t, "consumerWindowSize=50000", autoCommit)
	var got bytes.Buffer
	done := make(chan error, 1)
	w.consumer(client.ConsumerOptions{
		OnChunk: func(_ *client.Message, p []byte) { got.Write(p) },
		OnMessage: func(m *client.Message) {
			if !m.IsLarge() {
				done <- errors.New("the message is not large")
			}
			done <- m.Ack()
		},
	})
	m := message.New(w.queue, message.Bytes)
	m.Durable = true
	m.Body = pattern(1 << 20)
	w.must(w.p.Send(w.ctx, m))
	select {
	case err := <-done:
		w.must(err)
	case <-w.ctx.Done():
		t.Fatal("nothing came")
	}
	if !bytes.Equal(got.Bytes(), m.Body) {
		t.Errorf("%d bytes, want %d", got.Len(), len(m.Body))
	}
}

func coreAdministration(t *testing.T, b *coreBroker) {
	w := b.bench(t, "", autoCommit)
	wantCode(t, w.s.CreateQueue(w.ctx, client.QueueOptions{Name: w.queue, Durable: true, RoutingType: core.RoutingAnycast}), core.QueueExists)
	w.must(w.s.CreateAddress(w.ctx, w.queue+".a", false, core.RoutingMulticast, core.RoutingAnycast))
	w.must(w.s.CreateQueue(w.ctx, client.QueueOptions{Address: w.queue + ".a", Name: w.queue + ".q", Filter: "x = 1", MaxConsumers: 1,
		QueueAttributes: core.QueueAttributes{Exclusive: buf.Of(true), RingSize: buf.Of(int64(7))}}))
	q, err := w.s.QueueQuery(w.ctx, w.queue+".q")
	if err != nil || !q.Exists || q.Filter.V != "x = 1" || q.MaxConsumers != 1 || q.Exclusive.V != true || q.RingSize.V != 7 || q.Durable || q.RoutingType != core.RoutingMulticast {
		t.Errorf("%+v, %v", q, err)
	}
	w.must(w.s.CreateSharedQueue(w.ctx, client.QueueOptions{Address: w.queue + ".a", Name: w.queue + ".s", Durable: true, RoutingType: core.RoutingMulticast}))
	a, err := w.s.AddressQuery(w.ctx, w.queue+".a")
	if err != nil || len(a.QueueNames) != 2 || !a.SupportsAnycast || !a.SupportsMulticast {
		t.Errorf("%+v, %v", a, err)
	}
	_, err = w.s.NewConsumer(w.ctx, w.queue+".q", client.ConsumerOptions{})
	w.must(err)
	_, err = w.s.NewConsumer(w.ctx, w.queue+".q", client.ConsumerOptions{})
	wantCode(t, err, core.MaxConsumerLimitExceeded)
	wantCode(t, w.s.DeleteQueue(w.ctx, w.queue+".q"), core.IllegalState)
	wantCode(t, w.s.DeleteQueue(w.ctx, w.queue+".none"), core.QueueDoesNotExist)
	w.must(w.s.DeleteQueue(w.ctx, w.queue+".s"))
	if q, err := w.s.QueueQuery(w.ctx, w.queue+".s"); err != nil || q.Exists {
		t.Errorf("%+v, %v", q, err)
	}
}

func coreManagement(t *testing.T, b *coreBroker) {
	w := b.bench(t, "", autoCommit)
	w.send("a", "b")
	m, err := w.conn.NewManagement(w.ctx, "")
	w.must(err)
	r, err := m.Attribute(w.ctx, client.QueueResource(w.queue), "MessageCount")
	var count int
	if w.must(err); r.Into(&count) != nil || count != 2 {
		t.Errorf("MessageCount %s", r)
	}
	r, err = m.Invoke(w.ctx, client.QueueResource(w.queue), "removeAllMessages")
	if w.must(err); r.Into(&count) != nil || count != 2 {
		t.Errorf("removeAllMessages %s", r)
	}
	_, err = m.Invoke(w.ctx, client.QueueResource("core.none"), "removeAllMessages")
	var me *client.ManagementError
	if !errors.As(err, &me) || me.Message != "AMQ229067: Cannot find resource with name queue.core.none" {
		t.Errorf("%v", err)
	}
	r, err = m.Invoke(w.ctx, client.BrokerResource, "getQueueNames", "ANYCAST")
	var names []string
	if w.must(err); r.Into(&names) != nil || !strings.Contains(strings.Join(names, " "), w.queue) {
		t.Errorf("getQueueNames %s", r)
	}
	r, err = m.Invoke(w.ctx, client.QueueResource(w.queue), "pause")
	if w.must(err); r != nil {
		t.Errorf("pause returns %s", r)
	}
	w.must(m.Close(w.ctx))
}

func coreDestroyedQueue(t *testing.T, b *coreBroker) {
	w := b.bench(t, "", autoCommit)
	c := w.consumer(client.ConsumerOptions{})
	m, err := w.conn.NewManagement(w.ctx, "")
	w.must(err)
	failed := make(chan error, 1)
	go func() {
		_, err := c.Receive(w.ctx)
		failed <- err
	}()
	_, err = m.Invoke(w.ctx, client.BrokerResource, "destroyQueue", w.queue, true)
	w.must(err)
	wantCode(t, <-failed, core.QueueDoesNotExist)
	if q, err := w.s.QueueQuery(w.ctx, w.queue); err != nil || q.Exists { // the answers are still in order
		t.Errorf("%+v, %v", q, err)
	}
}

func coreMetadata(t *testing.T, b *coreBroker) {
	w := b.bench(t, "clientID=some", autoCommit)
	w.must(w.s.AddMetadata(w.ctx, "k", "v"))
	w.must(w.s.AddUniqueMetadata(w.ctx, "unique", w.queue))
	other, err := w.conn.NewSession(w.ctx, autoCommit)
	w.must(err)
	wantCode(t, other.AddUniqueMetadata(w.ctx, "unique", w.queue), core.DuplicateMetadata)
}

func coreAddressFull(t *testing.T, b *coreBroker) {
	for _, policy := range []string{"FAIL", "BLOCK"} {
		w := b.bench(t, "producerWindowSize=1000", autoCommit)
		m, err := w.conn.NewManagement(w.ctx, "")
		w.must(err)
		settings := fmt.Sprintf(`{"maxSizeBytes":5000,"pageSizeBytes":1000,"addressFullMessagePolicy":%q,"autoCreateQueues":true}`, policy)
		_, err = m.Invoke(w.ctx, client.BrokerResource, "addAddressSettings", w.queue, settings)
		w.must(err)
		for i := range 100 {
			ctx, cancel := context.WithTimeout(w.ctx, 300*time.Millisecond)
			err = w.p.Send(ctx, w.text(strings.Repeat("x", 200), true))
			cancel()
			if err != nil {
				break
			}
			if i == 99 {
				t.Fatalf("%s: no send was held up", policy)
			}
		}
		if policy == "FAIL" {
			wantCode(t, err, core.AddressFull)
			continue
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("BLOCK: %v", err)
		}
		c := w.consumer(client.ConsumerOptions{})
		for range 3 {
			w.must(w.expect(c, strings.Repeat("x", 200)).Ack())
		}
		w.must(w.p.Send(w.ctx, w.text("after", true)))
	}
}

// cutter is a TCP relay whose connections can be cut or silenced.
type cutter struct {
	net.Listener
	target string
	mu     sync.Mutex
	conns  []net.Conn
	silent bool
}

func newCutter(t *testing.T, target string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l, target: target}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", target)
			if err != nil {
				from.Close()
				continue
			}
			c.mu.Lock()
			c.conns = append(c.conns, from, to)
			c.mu.Unlock()
			work.Go(func() { c.pump(to, from) })
			work.Go(func() { c.pump(from, to) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		c.cut()
		work.Wait()
	})
	return c
}

func (c *cutter) pump(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		c.mu.Lock()
		silent := c.silent
		c.mu.Unlock()
		if silent {
			continue
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}

func (c *cutter) silence(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = on
}

// coreReattach cuts the connection again and again: with a confirmation window
// nothing is lost and nothing doubled.
//
// Artemis handles a packet twice that it has read but not yet handled when the
// client comes back, and counts it twice from then on: it is given time to
// handle what is under way.
func coreReattach(t *testing.T, b *coreBroker) {
	relay := newCutter(t, b.address)
	via := &coreBroker{address: relay.Addr().String()}
	w := via.bench(t, "confirmationWindowSize=20000&reconnectAttempts=-1&retryInterval=20", autoCommit)
	c := w.consumer(client.ConsumerOptions{Window: 5000})
	const n, ahead = 3000, 100
	var acked sync.WaitGroup
	for i := range n + ahead {
		if i < n {
			acked.Add(1)
			w.must(w.p.SendAsync(w.ctx, w.text(fmt.Sprint(i), i%3 == 0), func(err error) {
				if err != nil {
					t.Error(err)
				}
				acked.Done()
			}))
		}
		if i%200 == 150 {
			if *broker == "artemis" {
				_, err := w.s.QueueQuery(w.ctx, w.queue)
				w.must(err)
			}
			relay.cut()
		}
		if i >= ahead {
			m := w.expect(c, fmt.Sprint(i-ahead))
			if m.DeliveryCount != 1 {
				t.Errorf("message %d: delivery count %d", i-ahead, m.DeliveryCount)
			}
			w.must(m.Ack())
		}
	}
	acked.Wait()
	w.expectNone(c)
	w.must(c.Close(w.ctx))
	q, err := w.s.QueueQuery(w.ctx, w.queue)
	if err != nil || q.MessageCount != 0 {
		t.Errorf("%d messages left, %v", q.MessageCount, err)
	}
}

// coreRecreate cuts the connection of sessions without a confirmation window.
func coreRecreate(t *testing.T, b *coreBroker) {
	relay := newCutter(t, b.address)
	via := &coreBroker{address: relay.Addr().String()}
	w := via.bench(t, "reconnectAttempts=-1&retryInterval=20", client.SessionOptions{})
	w.send("a")
	w.must(w.s.Commit(w.ctx))
	c := w.consumer(client.ConsumerOptions{})
	m := w.expect(c, "a")
	w.must(m.Ack())
	w.must(w.s.AddMetadata(w.ctx, "k", "v"))
	relay.cut()
	w.expect(c, "a")
	if err := m.Ack(); !errors.Is(err, client.ErrRedelivered) {
		t.Errorf("ack of a message of the lost session: %v", err)
	}
	wantCode(t, w.s.Commit(w.ctx), core.TransactionRolledBack)
	again := w.expect(c, "a")
	w.must(again.Ack())
	w.send("b")
	w.must(w.s.Commit(w.ctx))
	w.must(w.expect(c, "b").Ack())
	w.must(w.s.Commit(w.ctx))
	w.expectNone(c)
}

func coreSilence(t *testing.T, b *coreBroker) {
	relay := newCutter(t, b.address)
	via := &coreBroker{address: relay.Addr().String()}
	w := via.bench(t, "connectionTTL=600&clientFailureCheckPeriod=200", autoCommit)
	relay.silence(true)
	select {
	case <-w.conn.Done():
		wantCode(t, w.conn.Err(), core.ConnectionTimedOut)
	case <-time.After(5 * time.Second):
		t.Error("the broker's silence was not noticed")
	}
	if err := w.p.Send(w.ctx, w.text("x", true)); !errors.Is(err, core.ConnectionTimedOut) {
		t.Errorf("send: %v", err)
	}
}

func coreNoReconnect(t *testing.T, b *coreBroker) {
	relay := newCutter(t, b.address)
	via := &coreBroker{address: relay.Addr().String()}
	w := via.bench(t, "", autoCommit)
	c := w.consumer(client.ConsumerOptions{})
	failed := make(chan error, 1)
	go func() {
		_, err := c.Receive(w.ctx)
		failed <- err
	}()
	relay.cut()
	wantCode(t, <-failed, core.NotConnected)
	<-w.conn.Done()
	_, err := w.conn.NewSession(w.ctx, autoCommit)
	wantCode(t, err, core.NotConnected)
}
