package server_test

import (
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/server"
)

// TestLargeHeaderWaitsForTheResendCache: the header of a large message that does not fit into what is kept for a reattachment
// waits for a confirmation, as any delivery does, instead of making the session one that cannot be taken up again.
func TestLargeHeaderWaitsForTheResendCache(t *testing.T) {
	br := brokertest.New(t, nil)
	br.CreateAnycast("q")
	addr, _ := listen(t, nil, server.New(server.Options{Broker: br.Broker, NodeID: nodeID, TTLOverride: -1, TTLCheckInterval: 1000, ResendCache: 8 << 10,
		Login: func(c security.Credentials) (security.Principal, error) { return security.Internal(c.User), nil }}))
	p := br.Connect(brokertest.AutoCommit)
	if err := p.Send(brokertest.Text("q", strings.Repeat("x", 2500), message.Anycast)); err != nil {
		t.Fatal(err)
	}
	m := brokertest.Text("q", "", message.Anycast)
	m.Set("long", strings.Repeat("x", 2000))
	if err := p.SendLarge(m, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	r := dial(t, addr)
	r.open(core.CreateSession{Name: "again", AutoCommitSends: true, AutoCommitAcks: true, ConfirmationWindowSize: 1 << 20})
	r.consume(10, "q")
	received := int32(0)
	for { // the answer to the consumer's creation was the first
		f, err := r.next()
		if err != nil {
			t.Fatal(err)
		}
		if f.Channel == 10 && core.Counted(f.Type, f.Payload) {
			received++
		}
		if f.Type == core.TypeReceive {
			break
		}
	}
	r.c.Close()
	n := dial(t, addr)
	n.send(core.ChannelSession, &core.ReattachSession{Name: "again", LastConfirmedCommandID: received})
	f := n.expect(core.TypeReattachSessionResponse)
	if p, err := core.Decode(f.Type, f.Payload, core.VersionCurrent); err != nil || !p.(*core.ReattachSessionResponse).Reattached {
		t.Fatalf("not reattached: %+v, %v", p, err)
	}
	n.expect(core.TypeReceiveLarge)
	n.close()
}
