package server_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/core"
)

// open opens a session on channel 10 that a reattachment can find under its name.
func (r *raw) open(p core.CreateSession) {
	r.t.Helper()
	p.ChannelID, p.Version, p.MinLargeMessageSize = 10, core.VersionCurrent, 10<<10
	r.send(core.ChannelSession, &p)
	r.expect(core.TypeCreateSessionResponse)
}

// large sends a large message in two chunks; the last asks for a response or not.
func (r *raw) large(address string, size int, response bool) {
	b := message.New(address, message.Bytes)
	b.Durable = true
	b.Set(message.PropRoutingType, int8(message.Anycast))
	r.send(10, &core.SendLarge{Headers: b.AppendHeaders(nil)})
	r.send(10, &core.SendContinuation{Body: make([]byte, size/2), Continues: true})
	r.send(10, &core.SendContinuation{Body: make([]byte, size-size/2), MessageBodySize: int64(size), RequiresResponse: response})
}

// TestLostLargeMessageFailsTheCommit: what could not be taken in a transaction must not be committed, even if it is the
// first thing in it and its client wants no response.
func TestLostLargeMessageFailsTheCommit(t *testing.T) {
	br := brokertest.New(t, nil)
	br.CreateAnycast("q")
	r := dial(t, serve(t, br.Broker))
	r.open(core.CreateSession{Name: "tx", ConfirmationWindowSize: -1})
	br.Store.FailBinding(func(what string) error {
		if what == "CreateBody" {
			return broker.ErrNoSpace
		}
		return nil
	})
	r.large("q", 1000, false)
	r.send(10, &core.Commit{})
	if f, err := r.next(); err != nil || f.Type != core.TypeException {
		t.Fatalf("the commit was answered with %v, %v", f.Type, err)
	}
	br.Store.FailBinding(nil)
	r.large("q", 1000, false)
	r.send(10, &core.Commit{})
	r.expect(core.TypeNullResponse)
	br.Until("the message to arrive", func() bool { return br.Queue("q").MessageCount() == 1 })
}

// next returns the next frame, within the deadline.
func (r *raw) next() (core.Frame, error) {
	r.c.SetReadDeadline(time.Now().Add(10 * time.Second))
	return r.frame()
}

// TestUnfinishedLargeMessage: the chunks of a message whose headers are refused do not go into the one before.
func TestUnfinishedLargeMessage(t *testing.T) {
	br := brokertest.New(t, nil)
	br.CreateAnycast("q")
	r := dial(t, serve(t, br.Broker))
	r.session(10)
	b := message.New("q", message.Bytes)
	r.send(10, &core.SendLarge{Headers: b.AppendHeaders(nil)})
	r.send(10, &core.SendContinuation{Body: make([]byte, 100), Continues: true})
	r.send(10, &core.SendLarge{Headers: []byte{1, 2, 3}})
	r.send(10, &core.SendContinuation{Body: make([]byte, 100), RequiresResponse: true, CorrelationID: 7})
	if f, err := r.next(); err != nil || f.Type != core.TypeException {
		t.Fatalf("answered with %v, %v", f.Type, err)
	}
	if n := br.Queue("q").MessageCount(); n != 0 {
		t.Errorf("%d messages", n)
	}
}

// TestFramesAfterClose: what comes on the channel of a closed session has no effect.
func TestFramesAfterClose(t *testing.T) {
	br := brokertest.New(t, nil)
	br.CreateAnycast("q")
	r := dial(t, serve(t, br.Broker))
	r.session(10)
	r.send(10, &core.Close{})
	r.expect(core.TypeNullResponse)
	r.send(10, &core.CreateConsumer{ConsumerID: 1, QueueName: "q", RequiresResponse: true})
	r.send(10, &core.Send{Message: testMessage("q", 10, true)})
	r.session(11) // what came before it has been handled
	if n := br.Queue("q").Counts(); n.Consumers != 0 || n.Messages != 0 {
		t.Errorf("%d consumers, %d messages", n.Consumers, n.Messages)
	}
	r.send(core.ChannelSession, &core.CreateSession{Name: "again", ChannelID: 11, Version: core.VersionCurrent, ConfirmationWindowSize: -1})
	if f, err := r.next(); err != nil || f.Type != core.TypeException {
		t.Errorf("a second session on a channel was answered with %v, %v", f.Type, err)
	}
}

// TestLargeBodyGoesOnAfterReattachment breaks the connection in the middle of a body.
func TestLargeBodyGoesOnAfterReattachment(t *testing.T) {
	const size = 500 << 10
	br := brokertest.New(t, nil)
	br.CreateAnycast("q")
	addr := serve(t, br.Broker)
	r := dial(t, addr)
	r.open(core.CreateSession{Name: "again", AutoCommitSends: true, AutoCommitAcks: true, ConfirmationWindowSize: 1 << 20})
	r.large("q", size, true)
	r.large("q", size, true)
	r.expect(core.TypeNullResponse)
	r.expect(core.TypeNullResponse)
	r.send(10, &core.CreateConsumer{QueueName: "q", RequiresResponse: true})
	r.send(10, &core.FlowToken{Credits: 100 << 10})
	r.send(10, &core.Start{})
	got := 0
	n := r.comeBack(addr, "again", 1, func(f core.Frame) bool {
		if f.Type == core.TypeReceiveContinuation {
			got += len(f.Payload) - 4 - 1 - 8
		}
		return got >= 90<<10
	})
	n.send(10, &core.FlowToken{Credits: -1})
	messages := 0
	for messages < 2 {
		f, err := n.next()
		if err != nil {
			t.Fatalf("after %d bytes: %v", got, err)
		}
		switch f.Type {
		case core.TypeReceiveLarge:
			if got != size {
				t.Fatalf("the second message begins after %d bytes of the first", got)
			}
			got = 0
		case core.TypeReceiveContinuation:
			var p core.ReceiveContinuation
			d, err := core.Decode(f.Type, f.Payload, core.VersionCurrent)
			if err != nil {
				t.Fatal(err)
			}
			p = *d.(*core.ReceiveContinuation)
			got += len(p.Body)
			if !p.Continues {
				if messages++; got != size {
					t.Fatalf("message %d has %d bytes", messages, got)
				}
			}
		}
	}
	n.close()
}

// comeBack reads until a frame, breaks the connection and takes the session up on a new one. received is the id of the last
// counted frame read before.
func (r *raw) comeBack(addr, name string, received int32, until func(core.Frame) bool) *raw {
	r.t.Helper()
	for {
		f, err := r.next()
		if err != nil {
			r.t.Fatal(err)
		}
		if f.Channel == 10 && core.Counted(f.Type, f.Payload) {
			received++
		}
		if until(f) {
			break
		}
	}
	r.c.Close()
	n := dial(r.t, addr)
	n.send(core.ChannelSession, &core.ReattachSession{Name: name, LastConfirmedCommandID: received})
	f := n.expect(core.TypeReattachSessionResponse)
	p, err := core.Decode(f.Type, f.Payload, core.VersionCurrent)
	if err != nil || !p.(*core.ReattachSessionResponse).Reattached {
		r.t.Fatalf("not reattached: %+v, %v", p, err)
	}
	return n
}

// TestStalledConsumerGoesOnAfterReattachment fills the connection of a consumer that does not read, and breaks it.
func TestStalledConsumerGoesOnAfterReattachment(t *testing.T) {
	br := brokertest.New(t, nil)
	br.CreateAnycast("q")
	addr := serve(t, br.Broker)
	p := dial(t, addr)
	p.session(10)
	const n, size = 900, 20 << 10
	for range n {
		p.send(10, &core.Send{Message: testMessage("q", size, false)})
	}
	br.Until("the messages to arrive", func() bool { return br.Queue("q").MessageCount() == n })
	r := dial(t, addr)
	r.c.(*net.TCPConn).SetReadBuffer(32 << 10)
	r.open(core.CreateSession{Name: "again", AutoCommitSends: true, AutoCommitAcks: true, ConfirmationWindowSize: 1 << 20})
	r.consume(10, "q")
	delivered := func() int64 { return br.Queue("q").Counts().Delivering }
	last := int64(-1)
	br.Until("the output to be full", func() bool {
		was := last
		last = delivered()
		return last > 0 && last == was && br.Queue("q").MessageCount() > last
	})
	again := r.comeBack(addr, "again", 0, func(core.Frame) bool { return true })
	got := 1
	for got < n {
		f, err := again.next()
		if err != nil {
			t.Fatalf("after %d messages of %d: %v", got, n, err)
		}
		if f.Type == core.TypeReceive {
			got++
			again.send(10, &core.PacketsConfirmed{CommandID: int32(got)})
		}
	}
	again.close()
	p.close()
}

// TestClosedConsumerStreamsNothing closes a consumer that has no credit for the body on its way while another large message
// waits: nobody may go on holding them.
func TestClosedConsumerStreamsNothing(t *testing.T) {
	for _, how := range []string{"close", "delete"} {
		t.Run(how, func(t *testing.T) {
			br := brokertest.New(t, nil)
			br.CreateAnycast("q")
			r := dial(t, serve(t, br.Broker))
			r.session(10)
			for range 3 {
				r.large("q", 200<<10, true)
				r.expect(core.TypeNullResponse)
			}
			r.send(10, &core.CreateConsumer{QueueName: "q", RequiresResponse: true})
			r.expect(core.TypeQueueQueryResponseV3)
			r.send(10, &core.FlowToken{Credits: 1000})
			r.send(10, &core.Start{})
			r.expect(core.TypeReceiveLarge)
			if how == "close" {
				r.send(10, &core.ConsumerClose{})
				r.expect(core.TypeNullResponse)
			}
			if err := br.DeleteQueue(br.NewWork(), "q", broker.DeleteQueueOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := br.Sync(); err != nil {
				t.Fatal(err)
			}
			br.Until("the messages to be let go", func() bool { return br.Pool().Live() == 0 })
		})
	}
}

// TestUnreadAnswersAreBounded sends requests and never reads: at some point they are not read any more.
func TestUnreadAnswersAreBounded(t *testing.T) {
	br := brokertest.New(t, nil)
	r := dial(t, serve(t, br.Broker))
	r.session(10)
	var pings []byte
	for len(pings) < 1<<20 {
		pings = append(pings, core.Append(nil, core.ChannelPing, &core.Ping{TTL: 60000}, core.VersionCurrent)...)
	}
	for sent := 0; ; sent += len(pings) {
		r.c.SetWriteDeadline(time.Now().Add(time.Second))
		if _, err := r.c.Write(pings); err != nil {
			var timeout net.Error
			if !errors.As(err, &timeout) || !timeout.Timeout() {
				t.Fatal(err)
			}
			break
		}
		if sent > 200<<20 {
			t.Fatal("200 MiB of requests were taken without their answers being read")
		}
	}
}
