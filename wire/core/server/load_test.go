package server_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/server"
	"github.com/saranga-mq/saranga/wire/transport"
)

// serve runs a Core server for a broker and returns its address.
func serve(t testing.TB, b *broker.Broker) string {
	t.Helper()
	addr, _ := listen(t, nil, server.New(server.Options{Broker: b, NodeID: nodeID, TTLOverride: -1, TTLCheckInterval: 1000,
		Login: func(c security.Credentials) (security.Principal, error) { return security.Internal(c.User), nil }}))
	return addr
}

// listen lets a server accept connections until stop or the end of the test. params are those of the acceptor.
func listen(t testing.TB, params map[string]string, s *server.Server) (addr string, stop func()) {
	t.Helper()
	r := transport.NewRemoting(transport.Config{})
	for _, p := range s.Protocols() {
		r.Register(p)
	}
	o, _, err := transport.ParseAcceptor("core", "127.0.0.1", 0, params)
	if err != nil {
		t.Fatal(err)
	}
	a, err := r.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		a.Pause()
		s.Disconnect()
		a.Stop(t.Context())
	})
	t.Cleanup(stop)
	return a.Addr(), stop
}

// raw is a client that knows frames and nothing else.
type raw struct {
	t    testing.TB
	c    net.Conn
	in   []byte
	from int
	to   int
}

// dialPlain connects and writes nothing.
func dialPlain(t testing.TB, addr string) *raw {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &raw{t: t, c: c, in: make([]byte, 1<<20)}
}

func dial(t testing.TB, addr string) *raw {
	t.Helper()
	r := dialPlain(t, addr)
	r.write([]byte(core.Preamble))
	return r
}

// close ends the session and the connection.
func (r *raw) close() {
	r.send(10, &core.Close{})
	r.expect(core.TypeNullResponse)
	r.c.Close()
}

func (r *raw) write(p []byte) {
	if _, err := r.c.Write(p); err != nil {
		r.t.Error(err)
	}
}

func (r *raw) send(channel int64, p core.Packet) {
	r.write(core.Append(nil, channel, p, core.VersionCurrent))
}

// frame returns the next frame, which is valid until the next call.
func (r *raw) frame() (core.Frame, error) {
	for {
		f, rest, need, err := core.Split(r.in[r.from:r.to], len(r.in))
		if err != nil {
			return f, err
		}
		if need == 0 && r.to > r.from {
			r.from = r.to - len(rest)
			return f, nil
		}
		if r.from > 0 {
			r.to = copy(r.in, r.in[r.from:r.to])
			r.from = 0
		}
		n, err := r.c.Read(r.in[r.to:])
		r.to += n
		if err != nil {
			return f, err
		}
	}
}

func (r *raw) expect(types ...core.Type) core.Frame {
	r.t.Helper()
	r.c.SetReadDeadline(time.Now().Add(10 * time.Second))
	for {
		f, err := r.frame()
		if err != nil {
			r.t.Fatalf("waiting for %v: %v", types, err)
		}
		for _, want := range types {
			if f.Type == want {
				r.c.SetReadDeadline(time.Time{})
				return f
			}
		}
		if f.Type == core.TypeException {
			p, _ := core.Decode(f.Type, f.Payload, core.VersionCurrent)
			r.t.Fatalf("waiting for %v: %+v", types, p)
		}
	}
}

func (r *raw) session(channel int64) {
	r.t.Helper()
	r.send(core.ChannelSession, &core.CreateSession{Name: fmt.Sprintf("%p-%d", r, channel), ChannelID: channel, Version: core.VersionCurrent, MinLargeMessageSize: 100 << 10, AutoCommitSends: true, AutoCommitAcks: true, ConfirmationWindowSize: -1})
	r.expect(core.TypeCreateSessionResponse)
}

func (r *raw) consume(channel int64, queue string) {
	r.t.Helper()
	r.send(channel, &core.CreateConsumer{QueueName: queue, RequiresResponse: true})
	r.expect(core.TypeQueueQueryResponseV3)
	r.send(channel, &core.FlowToken{Credits: -1})
	r.send(channel, &core.Start{})
}

func testMessage(address string, size int, durable bool) []byte {
	b := message.New(address, message.Bytes)
	b.Body = make([]byte, size)
	b.Durable = durable
	b.Set(message.PropRoutingType, int8(message.Anycast))
	b.Set("count", int32(1))
	return b.AppendTo(nil)
}

// load moves n messages through a queue from one connection to another, keeping at most window of them under way.
func load(t testing.TB, addr, queue string, n, window, size int, durable bool) {
	producer, consumer := dial(t, addr), dial(t, addr)
	defer producer.close()
	defer consumer.close()
	producer.session(10)
	consumer.session(10)
	consumer.consume(10, queue)
	send := core.Send{Message: testMessage(queue, size, durable)}
	one := send.Append(nil, 10, core.VersionCurrent)
	const batch = 50
	many := make([]byte, 0, batch*len(one))
	for range batch {
		many = append(many, one...)
	}
	var received atomic.Int64
	more := make(chan struct{}, 1)
	done := make(chan error, 1)
	go func() {
		var ack []byte
		for got := 0; got < n; {
			f, err := consumer.frame()
			if err != nil {
				done <- err
				return
			}
			if f.Type != core.TypeReceive {
				continue
			}
			got++
			end := binary.BigEndian.Uint32(f.Payload) - 13 + 4
			id := int64(binary.BigEndian.Uint64(f.Payload[end:]))
			a := core.Acknowledge{MessageID: id}
			ack = a.Append(ack, 10)
			if len(ack) > 16<<10 || consumer.to-consumer.from < 32 || got == n {
				if _, err := consumer.c.Write(ack); err != nil {
					done <- err
					return
				}
				ack = ack[:0]
				received.Store(int64(got))
				select {
				case more <- struct{}{}:
				default:
				}
			}
		}
		done <- nil
	}()
	for sent := 0; sent < n; {
		for sent-int(received.Load()) >= window {
			<-more
		}
		k := min(batch, n-sent, max(1, window-(sent-int(received.Load()))))
		if _, err := producer.c.Write(many[:k*len(one)]); err != nil {
			t.Fatal(err)
		}
		sent += k
	}
	if err := <-done; err != nil && err != io.EOF {
		t.Fatal(err)
	}
}

// BenchmarkCore moves 1 KiB messages from one connection to another, 1000 at most under way, with the journal left out.
func BenchmarkCore(b *testing.B) {
	br := brokertest.New(b, nil)
	br.CreateAnycast("bench")
	addr := serve(b, br.Broker)
	load(b, addr, "bench", 10_000, 1000, 1024, false)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.ResetTimer()
	load(b, addr, "bench", b.N, 1000, 1024, false)
	b.StopTimer()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(b.N), "mallocs/msg")
}

func TestMessagesGoThrough(t *testing.T) {
	br := brokertest.New(t, nil)
	br.CreateAnycast("q")
	addr := serve(t, br.Broker)
	for _, durable := range []bool{false, true} {
		load(t, addr, "q", 2000, 100, 300, durable)
	}
	load(t, addr, "q", 50, 10, 200<<10, false)
	br.Until("the queue to be empty", func() bool { return br.Queue("q").MessageCount() == 0 })
}
