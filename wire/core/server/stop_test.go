package server_test

import (
	"testing"

	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/core"
)

// TestStopEndsConnections stops a broker under a client: its connection has ended, with what it had delivered back in the
// queue, before the store is closed.
func TestStopEndsConnections(t *testing.T) {
	br := brokertest.New(t, nil)
	br.CreateAnycast("q")
	addr := serve(t, br.Broker)
	p := br.Connect(brokertest.AutoCommit)
	if err := p.Send(brokertest.Text("q", "a", message.Anycast)); err != nil {
		t.Fatal(err)
	}
	p.Disconnect(false)
	r := dial(t, addr)
	r.session(10)
	r.consume(10, "q")
	r.expect(core.TypeReceive)
	if err := br.Broker.Stop(); err != nil {
		t.Fatal(err)
	}
	if n := len(br.Connections()); n != 0 {
		t.Errorf("%d connections are still there", n)
	}
	if f, err := r.next(); err == nil {
		t.Errorf("the client got %v", f.Type)
	}
}
