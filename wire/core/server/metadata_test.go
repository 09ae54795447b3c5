package server_test

import (
	"strconv"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/wire/core"
)

// TestTooMuchMetadata: what goes beyond the bound is answered with an error, and the session goes on.
func TestTooMuchMetadata(t *testing.T) {
	br := brokertest.New(t, nil)
	r := dial(t, serve(t, br.Broker))
	r.session(10)
	for i := range 256 {
		r.send(10, &core.AddMetadata{Form: core.TypeAddMetadata, Key: strconv.Itoa(i), Data: "v"})
		r.expect(core.TypeNullResponse)
	}
	r.send(10, &core.AddMetadata{Form: core.TypeAddMetadata, Key: "more", Data: "v"})
	f, err := r.next()
	if err != nil || f.Type != core.TypeException {
		t.Fatalf("answered with %v, %v", f.Type, err)
	}
	p, err := core.Decode(f.Type, f.Payload, core.VersionCurrent)
	if err != nil || p.(*core.Exception).Code != core.Code(broker.IllegalState) {
		t.Errorf("answered with %+v, %v", p, err)
	}
	r.send(10, &core.AddMetadata{Form: core.TypeAddMetadata, Key: "1", Data: "changed"})
	r.expect(core.TypeNullResponse)
}
