package cluster

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/wire/core"
)

func TestTargetsOf(t *testing.T) {
	u, err := config.ParseTransportURL("tcp://h1:61616?sslEnabled=true;trustStorePath=a.jks;trustStorePassword=secret;ha=true#tcp://h2:61617")
	if err != nil {
		t.Fatal(err)
	}
	targets, err := TargetsOf(&config.Transport{Name: "c", URL: u})
	if err != nil || len(targets) != 2 {
		t.Fatalf("%+v, %v", targets, err)
	}
	first, second := targets[0], targets[1]
	if first.Options.Host != "h1" || first.Options.Port != 61616 || !first.Options.TLS.Enabled || second.Options.Host != "h2" || second.Options.Port != 61617 || !second.Options.TLS.Enabled {
		t.Errorf("%+v", targets)
	}
	for _, p := range first.Connector.Params {
		if _, text := p.Value.(string); !text || p.Extra != (p.Key == "ha") {
			t.Errorf("parameter %+v", p)
		}
	}
	if last := first.Connector.Params[len(first.Connector.Params)-1]; last.Key != "ha" {
		t.Errorf("the extra parameter comes before %s", last.Key)
	}
	if text := ConnectorText(&first.Connector); strings.Contains(text, "secret") || !strings.Contains(text, "trustStorePassword=****") {
		t.Errorf("%s shows a password, or none", text)
	}
	// cluster §2.1: captured from tcp://127.0.0.1:63246.
	u, _ = config.ParseTransportURL("tcp://127.0.0.1:63246")
	targets, _ = TargetsOf(&config.Transport{Name: "self", URL: u})
	want := core.TransportConfiguration{Name: "self", Factory: core.NettyConnectorFactory, Params: []core.Param{{Key: "port", Value: "63246"}, {Key: "host", Value: "127.0.0.1"}}}
	if !reflect.DeepEqual(targets[0].Connector, want) {
		t.Errorf("%+v, want %+v", targets[0].Connector, want)
	}
	u, _ = config.ParseTransportURL("vm://0")
	if _, err := TargetsOf(&config.Transport{Name: "vm", URL: u}); err == nil {
		t.Error("vm was taken")
	}
}

func TestSameParams(t *testing.T) {
	param := func(params ...core.Param) *core.TransportConfiguration {
		return &core.TransportConfiguration{Factory: "f", Params: params}
	}
	host, port := core.Param{Key: "host", Value: "h"}, core.Param{Key: "port", Value: "1"}
	for i, c := range []struct {
		a, b *core.TransportConfiguration
		want bool
	}{
		{param(host, port), param(port, host), true},
		{param(host, port), param(host, core.Param{Key: "port", Value: int32(1)}), true},
		{param(host, port), param(host, port, core.Param{Key: "ha", Value: "true", Extra: true}), true},
		{param(host, port), &core.TransportConfiguration{Name: "other", Factory: "f", Params: []core.Param{host, port}}, true},
		{param(host, port), param(host), false},
		{param(host, port), param(host, core.Param{Key: "port", Value: "2"}), false},
		{param(host), param(port), false},
		{param(host), &core.TransportConfiguration{Factory: "g", Params: []core.Param{host}}, false},
		{param(host), nil, false},
		{nil, nil, false},
	} {
		if got := SameParams(c.a, c.b); got != c.want {
			t.Errorf("%d: %v", i, got)
		}
	}
}

// TestTargetOfOthers: other nodes say where they are, not which files and passwords this one uses.
func TestTargetOfOthers(t *testing.T) {
	static := Target{Connector: *tc(7)}
	static.Options.Name = "configured"
	o := Options{Static: []Target{static}}
	o.Own.Options.Params = map[string]string{"trustStorePath": "own.jks", "tcpNoDelay": "false"}
	got, err := o.target(tc(7))
	if err != nil || got.Options.Name != "configured" {
		t.Errorf("%+v, %v", got, err)
	}
	other := tc(8)
	other.Params = append(other.Params, core.Param{Key: "sslEnabled", Value: "true"}, core.Param{Key: "trustStorePath", Value: "/etc/shadow"}, core.Param{Key: "localAddress", Value: "10.0.0.1"})
	got, err = o.target(other)
	if err != nil || got.Options.Host != "127.0.0.1" || got.Options.Port != 8 || !got.Options.TLS.Enabled || got.Options.TLS.TrustStore.Path != "own.jks" || got.Options.TCP.NoDelay || got.Options.LocalAddress != "" {
		t.Errorf("%+v, %v", got.Options, err)
	}
	secure := o
	secure.Own.Options.TLS.Enabled = true
	if _, err := secure.target(tc(9)); !errors.Is(err, errPlain) {
		t.Errorf("a node without TLS, told to one with TLS: %v", err)
	}
	if _, err := secure.target(tc(7)); err != nil {
		t.Errorf("a configured one: %v", err)
	}
	if _, err := secure.target(other); err != nil {
		t.Errorf("one with TLS: %v", err)
	}
	for _, bad := range []*core.TransportConfiguration{
		{Factory: "org.apache.activemq.artemis.core.remoting.impl.invm.InVMConnectorFactory", Params: tc(1).Params},
		{Factory: core.NettyConnectorFactory},
		tc(0), tc(65536), tc(-1),
	} {
		if _, err := o.target(bad); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// TestForVersion: peers from before version 126 know HornetQ's names.
func TestForVersion(t *testing.T) {
	in := tc(1)
	in.Params = append(in.Params, core.Param{Key: "sslEnabled", Value: "true"})
	if got := forVersion(in, 126); got != in {
		t.Errorf("%+v", got)
	}
	got := forVersion(in, 125)
	if got.Factory != "org.hornetq.core.remoting.impl.netty.NettyConnectorFactory" || got.Params[2].Key != "ssl-enabled" || got.Params[1].Key != "host" {
		t.Errorf("%+v", got)
	}
	if in.Params[2].Key != "sslEnabled" {
		t.Error("the connector itself was changed")
	}
}

func TestBackoff(t *testing.T) {
	b := Backoff{Interval: 100 * time.Millisecond, Multiplier: 2, Max: 500 * time.Millisecond}
	for i, want := range []time.Duration{100, 200, 400, 500, 500} {
		if got := b.Next(); got != want*time.Millisecond {
			t.Errorf("wait %d is %v, want %v ms", i, got, int(want))
		}
	}
	b.Reset()
	if got := b.Next(); got != 100*time.Millisecond {
		t.Errorf("after a success %v", got)
	}
	b = Backoff{}
	for range 3 {
		if got := b.Next(); got != 500*time.Millisecond {
			t.Errorf("by default %v", got)
		}
	}
}
