package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

func usual(c *fakeConn) { c.serve(func(int64, core.Packet) bool { return false }) }

func bytesMessage(address string, size int) []byte {
	m := message.New(address, message.Bytes)
	m.Body = make([]byte, size)
	return m.AppendTo(nil)
}

// TestVersionFallback: a refused version is tried again one lower, on the same
// connection.
func TestVersionFallback(t *testing.T) {
	b := newFakeBroker(t, func(c *fakeConn) {
		c.serve(func(ch int64, p core.Packet) bool {
			switch p := p.(type) {
			case *core.SubscribeTopology:
				c.send(ch, &core.ClusterTopology{Form: core.TypeClusterTopologyV3, NodeID: "node", Last: true})
				return true
			case *core.CreateSession:
				if p.Version > 129 {
					c.send(ch, &core.Exception{Code: core.IncompatibleVersions, Message: buf.Of("AMQ229033: Server and client versions incompatible")})
					return true
				}
				c.v = p.Version
				c.send(ch, &core.CreateSessionResponse{ServerVersion: 129})
				return true
			}
			return false
		})
	})
	ctx := within(t)
	conn := dial(t, b.config())
	s, err := conn.NewSession(ctx, autoCommit)
	must(t, err)
	if conn.Version() != 129 {
		t.Errorf("version %d, want 129", conn.Version())
	}
	p, err := s.NewProducer(ctx, "a")
	must(t, err)
	must(t, p.SendEncoded(ctx, bytesMessage("a", 10), true)) // answered without a correlation id
	var versions []core.Version
	c := b.conn(0)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.seen {
		if p, ok := s.packet.(*core.CreateSession); ok {
			versions = append(versions, p.Version)
			if p.Form != core.TypeCreateSession { // the topology has not told the broker's version
				t.Errorf("version %d asked for as %v", p.Version, p.Form)
			}
		}
	}
	if want := []core.Version{136, 135, 134, 133, 132, 131, 130, 129}; !reflect.DeepEqual(versions, want) {
		t.Errorf("versions %v, want %v", versions, want)
	}
}

func TestLoginRefused(t *testing.T) {
	b := newFakeBroker(t, func(c *fakeConn) {
		c.serve(func(ch int64, p core.Packet) bool {
			if _, ok := p.(*core.CreateSession); !ok {
				return false
			}
			c.send(ch, &core.Exception{Code: core.SecurityException, Message: buf.Of("AMQ229031: Unable to validate user")})
			return true
		})
	})
	_, err := dial(t, b.config()).NewSession(within(t), autoCommit)
	if !errors.Is(err, core.SecurityException) || !strings.Contains(err.Error(), "AMQ229031") {
		t.Errorf("%v", err)
	}
}

// TestCorrelation: the ids of blocking calls count down for every call, also
// for those that do not carry one; those of sends not waited for count up; a
// send that nobody asks about has 0 (core-protocol 4.6).
func TestCorrelation(t *testing.T) {
	b := newFakeBroker(t, usual)
	ctx := within(t)
	conn := dial(t, b.config())
	s, err := conn.NewSession(ctx, autoCommit)
	must(t, err)
	must(t, s.CreateQueue(ctx, QueueOptions{Name: "q"})) // -2, not carried
	p, err := s.NewProducer(ctx, "q")
	must(t, err)
	msg := bytesMessage("q", 10)
	must(t, p.SendEncoded(ctx, msg, true)) // -3
	must(t, p.SendEncoded(ctx, msg, false))
	done := make(chan error, 1)
	must(t, p.SendEncodedAsync(ctx, msg, func(err error) { done <- err }))
	s.Flush()
	must(t, <-done)
	must(t, s.Commit(ctx)) // -4
	type row struct {
		requires    bool
		correlation int64
	}
	var got []row
	for _, x := range b.conn(0).sent() {
		switch p := x.packet.(type) {
		case *core.Send:
			got = append(got, row{p.RequiresResponse, p.CorrelationID})
		case *core.Commit:
			got = append(got, row{true, p.CorrelationID.V})
		}
	}
	if want := []row{{true, -3}, {false, 0}, {true, 1}, {true, -4}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestCallTimeout: a call without an answer ends the connection, since the
// order of answers is lost.
func TestCallTimeout(t *testing.T) {
	b := newFakeBroker(t, func(c *fakeConn) {
		c.serve(func(_ int64, p core.Packet) bool { return p.Type() == core.TypeDeleteQueue })
	})
	cfg := b.config()
	cfg.CallTimeout = 50 * time.Millisecond
	conn := dial(t, cfg)
	s, err := conn.NewSession(within(t), autoCommit)
	must(t, err)
	if err := s.DeleteQueue(within(t), "q"); !errors.Is(err, core.ConnectionTimedOut) {
		t.Errorf("%v", err)
	}
	<-conn.Done()
}

// TestGivenUpCall: the answer to a call whose context ended is not taken for
// the next one's.
func TestGivenUpCall(t *testing.T) {
	release := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	b := newFakeBroker(t, func(c *fakeConn) {
		c.serve(func(ch int64, p core.Packet) bool {
			if p.Type() != core.TypeDeleteQueue {
				return false
			}
			cancel()
			<-release
			c.send(ch, &core.Exception{Code: core.QueueDoesNotExist})
			return true
		})
	})
	s, err := dial(t, b.config()).NewSession(within(t), autoCommit)
	must(t, err)
	if err := s.DeleteQueue(ctx, "q"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(release)
	must(t, s.CreateQueue(within(t), QueueOptions{Name: "q"}))
}

// TestCredits: what is asked for, when sending waits, and what FAIL_CREDITS does.
func TestCredits(t *testing.T) {
	var fail bool
	var mu sync.Mutex
	b := newFakeBroker(t, func(c *fakeConn) {
		c.serve(func(ch int64, p core.Packet) bool {
			cr, ok := p.(*core.Credits)
			if !ok {
				return false
			}
			mu.Lock()
			defer mu.Unlock()
			if fail {
				c.send(ch, &core.Credits{Form: core.TypeFailCredits, Credits: cr.Credits, Address: cr.Address})
			}
			return fail // else in the usual way
		})
	})
	cfg := b.config()
	cfg.ProducerWindow = 1000
	ctx := within(t)
	s, err := dial(t, cfg).NewSession(ctx, autoCommit)
	must(t, err)
	p, err := s.NewProducer(ctx, "a")
	must(t, err)
	msg := bytesMessage("a", 300)
	for range 10 {
		must(t, p.SendEncoded(ctx, msg, true))
	}
	total, sent := 0, 0
	for _, x := range b.conn(0).sent() {
		switch q := x.packet.(type) {
		case *core.Credits:
			total += int(q.Credits)
		case *core.Send:
			if sent += len(q.Message); sent > total {
				t.Fatalf("%d bytes sent with %d credits asked for", sent, total)
			}
		}
	}
	if first := b.conn(0).sent()[0].packet.(*core.Credits); first.Credits != 500 {
		t.Errorf("the first request is %d, want half the window", first.Credits)
	}
	mu.Lock()
	fail = true
	mu.Unlock()
	for range 10 {
		if err = p.SendEncoded(ctx, msg, true); err != nil {
			break
		}
	}
	if !errors.Is(err, core.AddressFull) || !strings.Contains(err.Error(), fmt.Sprintf(`AMQ219058: Address "a" is full. Message encode size = %dB`, len(msg))) {
		t.Errorf("%v", err)
	}
}

// TestCreditsHeldBack: without credits sending waits for them, or for its context.
func TestCreditsHeldBack(t *testing.T) {
	grant := make(chan struct{})
	b := newFakeBroker(t, func(c *fakeConn) {
		c.serve(func(ch int64, p core.Packet) bool {
			cr, ok := p.(*core.Credits)
			if ok {
				go func() {
					<-grant
					c.send(ch, &core.Credits{Form: core.TypeCredits, Credits: cr.Credits, Address: cr.Address})
				}()
			}
			return ok
		})
	})
	s, err := dial(t, b.config()).NewSession(within(t), autoCommit)
	must(t, err)
	p, err := s.NewProducer(within(t), "a")
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := p.SendEncoded(ctx, bytesMessage("a", 10), true); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	close(grant)
	must(t, p.SendEncoded(within(t), bytesMessage("a", 10), true))
}

// deliver sends n messages of size bytes to consumer 0, with ids from 1.
func deliver(c *fakeConn, ch int64, n, size int) {
	for i := range n {
		m, err := message.ParseCore(bytesMessage("q", size))
		if err != nil {
			c.b.t.Error(err)
			return
		}
		m.SetID(int64(i + 1))
		c.send(ch, &core.Receive{Message: m.Block(), DeliveryCount: 1})
	}
}

// TestConsumerCredits: the FLOWTOKENs of each window (core-protocol 6.3).
func TestConsumerCredits(t *testing.T) {
	frame := core.ReceiveFrameSize(len(bytesMessage("q", 100)))
	for _, c := range []struct {
		name string
		o    ConsumerOptions
		want []int32
	}{
		{"no bound", ConsumerOptions{Window: -1}, []int32{-1}},
		{"given back at half the window", ConsumerOptions{Window: int32(4 * frame)}, []int32{int32(4 * frame), int32(2 * frame), int32(2 * frame)}},
		{"the queue's default", ConsumerOptions{}, []int32{5000}},
		{"slow", ConsumerOptions{Slow: true}, []int32{1, int32(frame - 1), 1, int32(frame - 1), 1, int32(frame - 1), 1, int32(frame - 1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newFakeBroker(t, func(fc *fakeConn) {
				fc.serve(func(ch int64, p core.Packet) bool {
					switch p := p.(type) {
					case *core.CreateConsumer:
						fc.send(ch, &core.QueueQueryResponse{Exists: true, DefaultConsumerWindowSize: buf.Of(int32(5000))})
						return true
					case *core.FlowToken:
						if c.o.Slow && p.Credits == 1 {
							deliver(fc, ch, 1, 100)
						}
					case *core.Start:
						if !c.o.Slow {
							deliver(fc, ch, 4, 100)
						}
					}
					return false
				})
			})
			ctx := within(t)
			s, err := dial(t, b.config()).NewSession(ctx, autoCommit)
			must(t, err)
			consumer, err := s.NewConsumer(ctx, "q", c.o)
			must(t, err)
			must(t, s.Start(ctx))
			for range 4 {
				_, err := consumer.Receive(ctx)
				must(t, err)
			}
			must(t, s.Close(ctx))
			var got []int32
			for _, x := range b.conn(0).sent() {
				if p, ok := x.packet.(*core.FlowToken); ok {
					got = append(got, p.Credits)
				}
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestReceiveNoWait: an empty queue is asked with FORCE_DELIVERY, and a slow
// consumer takes its credit back.
func TestReceiveNoWait(t *testing.T) {
	b := newFakeBroker(t, func(c *fakeConn) {
		c.serve(func(ch int64, p core.Packet) bool {
			if f, ok := p.(*core.ForceDelivery); ok {
				m := message.New("q", message.Default)
				m.Priority, m.Body = 0, make([]byte, 4)
				m.Set("_hornetq.forced.delivery.seq", f.Sequence)
				c.send(ch, &core.Receive{Message: m.AppendTo(nil), ConsumerID: f.ConsumerID})
			}
			return false
		})
	})
	ctx := within(t)
	s, err := dial(t, b.config()).NewSession(ctx, autoCommit)
	must(t, err)
	c, err := s.NewConsumer(ctx, "q", ConsumerOptions{Slow: true})
	must(t, err)
	for range 2 {
		if m, err := c.ReceiveTimeout(ctx, 0); m != nil || err != nil {
			t.Errorf("%v, %v", m, err)
		}
	}
	must(t, s.Close(ctx))
	want := "SESS_CREATECONSUMER SESS_FLOWTOKEN SESS_FORCE_CONSUMER_DELIVERY SESS_FLOWTOKEN SESS_FLOWTOKEN SESS_FORCE_CONSUMER_DELIVERY SESS_FLOWTOKEN SESS_CLOSE"
	sent := b.conn(0).sent()
	if got := types(sent); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if p := sent[5].packet.(*core.ForceDelivery); p.Sequence != 1 {
		t.Errorf("second sequence %d", p.Sequence)
	}
}

// TestLargeChunks: chunks of exactly minLargeMessageSize, the last one shorter
// and possibly empty, and only the last one with size and response.
func TestLargeChunks(t *testing.T) {
	for _, c := range []struct {
		size int
		want []int // -1: a regular message
	}{
		{1020, []int{-1}}, {1021, []int{1021}}, {2048, []int{1024, 1024, 0}}, {3000, []int{1024, 1024, 952}},
	} {
		b := newFakeBroker(t, usual)
		cfg := b.config()
		cfg.MinLargeMessageSize = 1024
		ctx := within(t)
		s, err := dial(t, cfg).NewSession(ctx, autoCommit)
		must(t, err)
		p, err := s.NewProducer(ctx, "a")
		must(t, err)
		m := message.New("a", message.Bytes)
		m.Durable, m.Body = true, bytes.Repeat([]byte{7}, c.size)
		must(t, p.Send(ctx, m))
		var got []int
		for _, x := range b.conn(0).sent() {
			switch p := x.packet.(type) {
			case *core.Send:
				got = append(got, -1)
			case *core.SendContinuation:
				got = append(got, len(p.Body))
				if last := !p.Continues; p.RequiresResponse != last || last && (p.MessageBodySize != int64(c.size) || p.CorrelationID != -2) || p.SenderID != 1 {
					t.Errorf("size %d: chunk %+v", c.size, p)
				}
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("size %d: chunks %v, want %v", c.size, got, c.want)
		}
	}
}

// resumingBroker keeps a session over connections: it counts what it handles,
// and cuts the connection when told.
type resumingBroker struct {
	mu        sync.Mutex
	received  int32 // counted packets handled
	messages  []string
	reattach  bool // whether it still has the session
	cutAfter  int  // sends after which the connection is cut, unanswered
	reattachs []core.ReattachSession
}

func (r *resumingBroker) script(c *fakeConn) {
	c.serve(func(ch int64, p core.Packet) bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		if ch >= core.FirstSessionChannel && p.Type() != core.TypePacketsConfirmed {
			r.received++
		}
		switch p := p.(type) {
		case *core.ReattachSession:
			r.reattachs = append(r.reattachs, *p)
			if !r.reattach {
				r.received = 0
				return false
			}
			c.send(ch, &core.ReattachSessionResponse{LastConfirmedCommandID: r.received - 1, Reattached: true})
			return true
		case *core.Send:
			if r.cutAfter--; r.cutAfter == 0 {
				r.received-- // read but not handled
				c.cut()
				return true
			}
			r.messages = append(r.messages, string(p.Message[4:8]))
		}
		return false
	})
}

func numbered(n int) []byte {
	m := message.New("a", message.Bytes)
	m.Body = fmt.Appendf(nil, "%04d", n)
	return m.AppendTo(nil)
}

// TestReattach: what the broker has not handled is sent again, in order.
func TestReattach(t *testing.T) {
	r := &resumingBroker{reattach: true, cutAfter: 50}
	b := newFakeBroker(t, r.script)
	cfg := b.config()
	cfg.ConfirmationWindow, cfg.ReconnectAttempts, cfg.RetryInterval = 1<<20, -1, time.Millisecond
	ctx := within(t)
	conn := dial(t, cfg)
	s, err := conn.NewSession(ctx, autoCommit)
	must(t, err)
	name := s.Name()
	p, err := s.NewProducer(ctx, "a")
	must(t, err)
	const n = 100
	var done sync.WaitGroup
	done.Add(n)
	for i := range n {
		must(t, p.SendEncodedAsync(ctx, numbered(i), func(err error) {
			if err != nil {
				t.Error(err)
			}
			done.Done()
		}))
	}
	s.Flush()
	must(t, s.CreateQueue(ctx, QueueOptions{Name: "q"})) // waits for the new connection
	done.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, m := range r.messages {
		if m != fmt.Sprintf("%04d", i) {
			t.Fatalf("message %d is %s", i, m)
		}
	}
	if len(r.messages) != n {
		t.Errorf("%d messages, want %d", len(r.messages), n)
	}
	if len(r.reattachs) != 1 || r.reattachs[0].Name != name || r.reattachs[0].LastConfirmedCommandID < 0 {
		t.Errorf("%+v", r.reattachs)
	}
	c := b.conn(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	var control []seen
	for _, x := range c.seen {
		if x.channel == core.ChannelSession || x.channel == core.ChannelPing {
			control = append(control, x)
		}
	}
	if got, want := types(control), "PING CHECK_FOR_FAILOVER SUBSCRIBE_TOPOLOGY_V2 REATTACH_SESSION"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestRecreate: a session that the broker has lost is made anew in the order of core-protocol 4.7.
func TestRecreate(t *testing.T) {
	r := &resumingBroker{cutAfter: 1}
	b := newFakeBroker(t, r.script)
	cfg := b.config()
	cfg.ConfirmationWindow, cfg.ReconnectAttempts, cfg.RetryInterval = 1000, -1, time.Millisecond
	ctx := within(t)
	s, err := dial(t, cfg).NewSession(ctx, SessionOptions{})
	must(t, err)
	name := s.Name()
	must(t, s.AddMetadata(ctx, "k", "v"))
	_, err = s.NewConsumer(ctx, "q", ConsumerOptions{Window: 2000})
	must(t, err)
	must(t, s.Start(ctx))
	p, err := s.NewProducer(ctx, "a")
	must(t, err)
	failed := make(chan error, 1)
	must(t, p.SendEncodedAsync(ctx, numbered(0), func(err error) { failed <- err }))
	s.Flush()
	if err := <-failed; !errors.Is(err, core.Unblocked) {
		t.Errorf("a send without an answer: %v", err)
	}
	if err := s.Commit(ctx); !errors.Is(err, core.TransactionRolledBack) {
		t.Errorf("commit of a transaction that was lost: %v", err)
	}
	must(t, p.SendEncoded(ctx, numbered(1), false))
	must(t, s.Commit(ctx))
	c := b.conn(1)
	want := "SESS_CREATECONSUMER SESS_FLOWTOKEN SESS_START SESS_ADD_METADATA2 SESS_PRODUCER_REQUEST_CREDITS " +
		"SESS_STOP SESS_ROLLBACK SESS_START SESS_SEND SESS_COMMIT"
	if got := types(c.sent()); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, x := range c.sent() {
		switch p := x.packet.(type) {
		case *core.CreateConsumer:
			if p.RequiresResponse || p.ConsumerID != 0 {
				t.Errorf("%+v", p)
			}
		case *core.AddMetadata:
			if p.RequiresConfirmation {
				t.Errorf("%+v", p)
			}
		case *core.Credits:
			if p.Credits != DefaultProducerWindow {
				t.Errorf("%+v", p)
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.seen {
		if p, ok := x.packet.(*core.CreateSession); ok && (p.Form != core.TypeCreateSession || p.Name == name || p.ChannelID != 10) {
			t.Errorf("%+v", p)
		}
	}
}

// TestDisconnectConsumer: the answer to the CONSUMER_CLOSE that nobody waits
// for is not taken for another's.
func TestDisconnectConsumer(t *testing.T) {
	b := newFakeBroker(t, func(c *fakeConn) {
		c.serve(func(ch int64, p core.Packet) bool {
			switch p.Type() {
			case core.TypeStart:
				c.send(ch, &core.DisconnectConsumer{ConsumerID: 0})
			case core.TypeDeleteQueue:
				c.send(ch, &core.Exception{Code: core.IllegalState})
				return true
			}
			return false
		})
	})
	ctx := within(t)
	s, err := dial(t, b.config()).NewSession(ctx, autoCommit)
	must(t, err)
	c, err := s.NewConsumer(ctx, "q", ConsumerOptions{})
	must(t, err)
	must(t, s.Start(ctx))
	if _, err := c.Receive(ctx); !errors.Is(err, core.QueueDoesNotExist) {
		t.Errorf("%v", err)
	}
	must(t, s.CreateQueue(ctx, QueueOptions{Name: "q2"})) // answered like the CONSUMER_CLOSE before it
	if err := s.DeleteQueue(ctx, "refused"); !errors.Is(err, core.IllegalState) {
		t.Errorf("%v", err)
	}
}

// TestBadFrames: whatever a broker sends that is no frame ends the connection
// and nothing else.
func TestBadFrames(t *testing.T) {
	for _, bad := range [][]byte{
		{0, 0, 0, 1, 1},
		{0xff, 0xff, 0xff, 0xff},
		core.Append(nil, 10, &core.Ping{}, 136)[:12],
		append(core.Append(nil, 0, &core.ClusterTopology{NodeID: "n"}, 136)[:20], 0xff),
		{0, 0, 0, 9, 102, 0, 0, 0, 0, 0, 0, 0, 10},
	} {
		b := newFakeBroker(t, func(c *fakeConn) {
			c.serve(func(_ int64, p core.Packet) bool {
				if p.Type() == core.TypeStart {
					c.nc.Write(bad)
					c.nc.Close()
				}
				return false
			})
		})
		ctx := within(t)
		conn := dial(t, b.config())
		s, err := conn.NewSession(ctx, autoCommit)
		must(t, err)
		must(t, s.Start(ctx))
		s.Flush()
		select {
		case <-conn.Done():
		case <-ctx.Done():
			t.Fatalf("%x did not end the connection", bad)
		}
		if conn.Err() == nil {
			t.Errorf("%x: no reason", bad)
		}
	}
}

// TestPing: the client pings, and gives a silent broker up after the TTL.
func TestPing(t *testing.T) {
	var silent sync.Map
	b := newFakeBroker(t, func(c *fakeConn) {
		c.serve(func(_ int64, p core.Packet) bool {
			_, s := silent.Load("now")
			return s && p.Type() == core.TypePing
		})
	})
	cfg := b.config()
	cfg.ConnectionTTL, cfg.FailureCheckPeriod = 100*time.Millisecond, 10*time.Millisecond
	conn := dial(t, cfg)
	c := b.conn(0)
	eventually(t, "pings", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		n := 0
		for _, x := range c.seen {
			if p, ok := x.packet.(*core.Ping); ok && p.TTL == 100 {
				n++
			}
		}
		return n >= 5
	})
	if conn.Err() != nil {
		t.Fatal(conn.Err())
	}
	silent.Store("now", true)
	<-conn.Done()
	if !errors.Is(conn.Err(), core.ConnectionTimedOut) {
		t.Errorf("%v", conn.Err())
	}
}

func TestClosed(t *testing.T) {
	b := newFakeBroker(t, usual)
	ctx := within(t)
	conn := dial(t, b.config())
	s, err := conn.NewSession(ctx, autoCommit)
	must(t, err)
	c, err := s.NewConsumer(ctx, "q", ConsumerOptions{})
	must(t, err)
	p, err := s.NewProducer(ctx, "q")
	must(t, err)
	waiting := make(chan error, 1)
	go func() {
		_, err := c.Receive(ctx)
		waiting <- err
	}()
	must(t, conn.Close())
	for what, err := range map[string]error{"receive": <-waiting, "send": p.SendEncoded(ctx, numbered(1), true), "start": s.Start(ctx)} {
		if !errors.Is(err, core.ObjectClosed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := conn.NewSession(ctx, autoCommit); !errors.Is(err, core.ObjectClosed) {
		t.Errorf("%v", err)
	}
	must(t, s.Close(ctx))
	must(t, conn.Close())
}

func TestParseURL(t *testing.T) {
	for _, c := range []struct {
		url  string
		want string // hosts, or "error"
	}{
		{"tcp://localhost:61616", "localhost:61616"},
		{"tcp://localhost", "localhost:61616"},
		{"tcp://[::1]:61617", "::1:61617"},
		{"tcp://a:1,tcp://b:2?ha=true", "a:1 b:2"},
		{"(tcp://a:1,tcp://b:2)?ha=true", "a:1 b:2"},
		{"tcp://a:1,b:2", "a:1 b:2"},
		{"tcp://a:1?user=u#tcp://b:2,tcp://c:3", "a:1 b:2 c:3"},
		{"amqp://a:1", "error"},
		{"a:1", "error"},
		{"(tcp://a:1", "error"},
		{"tcp://a:99999", "error"},
		{"tcp://a:x", "error"},
		{"tcp://a:1?consumerWindowSize=many", "error"},
	} {
		cfg, err := ParseURL(c.url)
		var hosts []string
		for _, h := range cfg.Hosts {
			hosts = append(hosts, fmt.Sprintf("%s:%d", h.Host, h.Port))
		}
		got := strings.Join(hosts, " ")
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%s: %s (%v), want %s", c.url, got, err, c.want)
		}
	}
	cfg, err := ParseURL("tcp://a:1?user=u;password=p%26q&connectionTTL=5000&callTimeout=1000&confirmationWindowSize=1024&minLargeMessageSize=2048" +
		"&compressLargeMessage=true&blockOnDurableSend=false&reconnectAttempts=-1&retryInterval=10&sslEnabled=false&unknown=1&clientFailureCheckPeriod=-1")
	must(t, err)
	if slow, err := ParseURL("tcp://a?consumerWindowSize=0"); err != nil || !slow.SlowConsumers {
		t.Errorf("consumerWindowSize=0: %+v, %v", slow, err)
	}
	want := Config{Hosts: cfg.Hosts, User: "u", Password: "p&q", ConnectionTTL: 5 * time.Second, CallTimeout: time.Second, ConfirmationWindow: 1024,
		MinLargeMessageSize: 2048, CompressLarge: true, NoBlockOnDurableSend: true, ReconnectAttempts: -1, RetryInterval: 10 * time.Millisecond,
		FailureCheckPeriod: -time.Millisecond}
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("%+v\nwant %+v", cfg, want)
	}
}

// TestDeflater: what is sent compressed is a zlib stream beginning 78 9c.
func TestDeflater(t *testing.T) {
	for _, n := range []int{0, 1, 100, 100000} {
		in := bytes.Repeat([]byte("abc"), n)
		out, err := io.ReadAll(newDeflater(bytes.NewReader(in)))
		must(t, err)
		if !bytes.HasPrefix(out, []byte{0x78, 0x9c}) {
			t.Errorf("%d: begins %x", n, out[:2])
		}
	}
}

// TestAllocations: sending an encoded message and receiving and acknowledging
// one allocate nothing of their own.
func TestAllocations(t *testing.T) {
	b := newFakeBroker(t, func(c *fakeConn) {
		c.serve(func(_ int64, p core.Packet) bool {
			if p.Type() == core.TypeCreateProducer {
				io.Copy(io.Discard, c.nc)
			}
			return false
		})
	})
	cfg := b.config()
	cfg.ProducerWindow, cfg.CallTimeout = -1, 100*time.Millisecond
	ctx := within(t)
	s, err := dial(t, cfg).NewSession(ctx, autoCommit)
	must(t, err)
	c, err := s.NewConsumer(ctx, "q", ConsumerOptions{Window: 1 << 20, OnMessage: func(m *Message) { m.Ack() }})
	must(t, err)
	p, err := s.NewProducer(ctx, "a")
	must(t, err)
	msg := bytesMessage("a", 1024)
	raw := (&core.Receive{Message: msg, ConsumerID: c.id, DeliveryCount: 1}).Append(nil, s.id)
	f, _, _, err := core.Split(raw, 1<<20)
	must(t, err)
	l := s.c.current()
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"send", func() error { return p.SendEncoded(ctx, msg, false) }},
		{"receive", func() error { return s.handle(l, f) }},
	} {
		n := testing.AllocsPerRun(2000, func() {
			if err := c.run(); err != nil {
				t.Fatal(err)
			}
		})
		if n > 0.5 { // growing buffers now and then
			t.Errorf("%s: %v allocations a message", c.name, n)
		}
	}
}

// BenchmarkSend is the client's own cost of a 1 KiB message, written to a
// broker that throws it away.
func BenchmarkSend(b *testing.B) {
	br := newFakeBroker(b, func(c *fakeConn) {
		c.serve(func(_ int64, p core.Packet) bool {
			if p.Type() != core.TypeCreateProducer {
				return false
			}
			c.nc.Read(make([]byte, 1))
			io.Copy(io.Discard, c.nc)
			return true
		})
	})
	cfg := br.config()
	cfg.ProducerWindow = -1
	s, err := dial(b, cfg).NewSession(b.Context(), autoCommit)
	must(b, err)
	p, err := s.NewProducer(b.Context(), "a")
	must(b, err)
	s.Flush()
	msg := bytesMessage("a", 1024)
	b.SetBytes(int64(len(msg)))
	b.ReportAllocs()
	for b.Loop() {
		if err := p.SendEncoded(b.Context(), msg, false); err != nil {
			b.Fatal(err)
		}
	}
	br.conn(0).nc.Close()
}

// BenchmarkReceive is the client's own cost of receiving and acknowledging a
// 1 KiB message, from a broker that sends as fast as it can.
func BenchmarkReceive(b *testing.B) {
	for _, mode := range []string{"OnMessage", "Receive"} {
		b.Run(mode, func(b *testing.B) {
			var frames []byte
			f := core.Receive{Message: bytesMessage("q", 1024), DeliveryCount: 1}
			for range 100 {
				frames = f.Append(frames, 10)
			}
			br := newFakeBroker(b, func(c *fakeConn) {
				c.serve(func(_ int64, p core.Packet) bool {
					if p.Type() != core.TypeStart {
						return false
					}
					go io.Copy(io.Discard, c.nc)
					for {
						if _, err := c.nc.Write(frames); err != nil {
							return true
						}
					}
				})
			})
			s, err := dial(b, br.config()).NewSession(b.Context(), autoCommit)
			must(b, err)
			n, done := 0, make(chan struct{})
			o := ConsumerOptions{Window: -1}
			if mode == "OnMessage" {
				o.OnMessage = func(m *Message) {
					m.Ack()
					if n++; n == b.N {
						close(done)
					}
				}
			}
			c, err := s.NewConsumer(b.Context(), "q", o)
			must(b, err)
			b.SetBytes(1024)
			b.ReportAllocs()
			b.ResetTimer()
			must(b, s.Start(b.Context()))
			s.Flush()
			defer br.conn(0).nc.Close()
			if mode == "OnMessage" {
				<-done
				return
			}
			for range b.N {
				m, err := c.Receive(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				m.Ack()
				m.Release()
			}
		})
	}
}

// FuzzFrames: no frame of a session's channel makes the client panic or keep a
// lock, whatever is in it.
func FuzzFrames(f *testing.F) {
	b := newFakeBroker(f, usual)
	conn := dial(f, b.config())
	l := conn.current()
	var seeds []byte
	for _, file := range []string{"testdata/2.56.0-core-tx.txt", "testdata/2.56.0-core-large.txt", "testdata/2.56.0-core-confirmations.txt"} {
		for _, c := range readCapture(f, file) {
			if !c.toBroker && c.Channel >= core.FirstSessionChannel {
				f.Add(c.Raw)
				seeds = append(seeds, c.Raw...)
			}
		}
	}
	f.Add(seeds)
	f.Add(core.Append(core.Append(nil, 10, &core.DisconnectConsumer{ConsumerID: 0}, 136), 10, &core.XAResponse{Error: true, Code: -4}, 136))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &Session{c: conn, id: 10, credits: map[string]*credits{}, link: l}
		s.cond.L = &s.mu
		s.reset()
		s.conf = core.NewConfirmations(500, 1000)
		for i, o := range []ConsumerOptions{{}, {OnMessage: func(m *Message) { m.Ack(); m.Text() }}} {
			c := &Consumer{s: s, id: int64(i), opts: o, forced: 3, marked: -1, window: 100}
			c.cond.L = &s.mu
			s.consumers = append(s.consumers, c)
		}
		s.mu.Lock()
		waiting := []*call{s.newCall(core.TypeNullResponse, true), s.newCall(core.TypeQueueQueryResponseV3, false)}
		s.pending.push(sent{correlation: 1, done: func(error) {}})
		s.mu.Unlock()
		for len(data) > 0 {
			frame, rest, need, err := core.Split(data, 1<<20)
			if err != nil || need > 0 {
				break
			}
			if s.handle(l, frame) != nil {
				break
			}
			data = rest
		}
		s.mu.Lock()
		for s.consumer(0) != nil && s.consumers[0].fifo.len() > 0 {
			m := s.consumers[0].popLocked()
			if !m.IsLarge() {
				m.Core()
				m.ID()
			}
		}
		s.mu.Unlock()
		s.end(ErrClosed)
		for _, k := range waiting {
			<-k.answer
		}
	})
}

// TestReset: a connection that the broker's machine resets is not connected, as one that is closed.
func TestReset(t *testing.T) {
	b := newFakeBroker(t, usual)
	conn := dial(t, b.config())
	_, err := conn.NewSession(within(t), autoCommit)
	must(t, err)
	nc := b.conn(0).nc.(*net.TCPConn)
	must(t, nc.SetLinger(0)) // closing sends a reset
	nc.Close()
	<-conn.Done()
	if err := conn.Err(); !errors.Is(err, core.NotConnected) {
		t.Errorf("%v", err)
	}
}
