package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/netcheck"
	"github.com/saranga-mq/saranga/ha"
	"github.com/saranga-mq/saranga/ha/quorum"
)

// TestNetworkIsLookedUpOnce: what is checked is looked up while there is a network, not when it may be gone: a list in which no name is
// found would be one of nothing, and the votes of an isolated node would count.
func TestNetworkIsLookedUpOnce(t *testing.T) {
	var gone atomic.Bool
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if gone.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer site.Close()
	m := &scripted{}
	p := &pairNode{activation: newActivation(m, quorum.Now, hclog.NewNullLogger())}
	p.waiting = p.scope()
	checker := netcheck.New(context.Background(), netcheck.Options{URLs: site.URL})
	p.network = func() *netcheck.Checker { return checker }
	p.hands = &doing{do: func(a ha.Action) error {
		p.checkNetwork()
		return nil
	}}
	var got []ha.NetworkChecked
	m.step = func(e ha.Event) []ha.Action {
		if c, ok := e.(ha.NetworkChecked); ok {
			got = append(got, c)
			gone.Store(true)
		}
		if len(got) == 2 {
			return []ha.Action{ha.Exit{}}
		}
		return []ha.Action{ha.CheckNetwork{}}
	}
	if err := p.run(ha.Started{}); err != nil {
		t.Fatal(err)
	}
	if want := (ha.NetworkChecked{Configured: true, Healthy: true}); got[0] != want {
		t.Errorf("got %+v, want %+v", got[0], want)
	}
	if want := (ha.NetworkChecked{Configured: true}); got[1] != want {
		t.Errorf("got %+v, want %+v", got[1], want)
	}
}
