package broker_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
)

func divert(t *testing.T, b *brokertest.Broker, name string) broker.DivertConfig {
	t.Helper()
	for _, d := range b.Diverts() {
		if d.Name() == name {
			return d.Config()
		}
	}
	t.Fatalf("no divert %s", name)
	return broker.DivertConfig{}
}

func TestDeployDivert(t *testing.T) {
	b := brokertest.New(t, nil)
	for _, name := range []string{"from", "elsewhere", "to", "to2"} {
		b.CreateAnycast(name)
	}
	cfg := broker.DivertConfig{Name: "d", Address: "from", ForwardAddress: "to", RoutingType: broker.DivertStrip}
	deploy := func(do func(broker.DivertConfig) (bool, error), want bool) {
		t.Helper()
		if changed, err := do(cfg); err != nil || changed != want {
			t.Fatalf("changed %v, %v; want %v", changed, err, want)
		}
	}
	deploy(b.DeployDivert, true)
	deploy(b.DeployDivert, false) // as it is
	cfg.ForwardAddress = "to2"
	deploy(b.DeployDivert, true)
	if got := divert(t, b, "d"); got.ForwardAddress != "to2" || got.RoutingName != "d" {
		t.Errorf("changed in place: %+v", got)
	}
	if got := b.Info(b.Address("from")).Diverts; !slices.Equal(got, []string{"d"}) {
		t.Errorf("bound to from: %v", got)
	}
	cfg.Address = "elsewhere"
	deploy(b.DeployDivert, true)
	if from, to := b.Info(b.Address("from")).Diverts, b.Info(b.Address("elsewhere")).Diverts; len(from) != 0 || !slices.Equal(to, []string{"d"}) {
		t.Errorf("after its address changed: from %v, elsewhere %v", from, to)
	}
	cfg.Filter = "x ="
	if _, err := b.DeployDivert(cfg); err == nil {
		t.Error("a filter that is wrong was taken")
	}

	// what management has stored wins over the configuration
	cfg.Filter, cfg.ForwardAddress = "", "to"
	deploy(b.RestoreDivert, true)
	cfg.ForwardAddress = "to2"
	deploy(b.DeployDivert, false)
	if got := divert(t, b, "d"); got.ForwardAddress != "to" {
		t.Errorf("the configuration has replaced the stored divert: %+v", got)
	}
}

func TestStoredConfigs(t *testing.T) {
	b := brokertest.New(t, nil)
	setting := func(match, json string) broker.StoredConfig {
		return broker.StoredConfig{Kind: broker.AddressSettingConfig, Key: match, JSON: json}
	}
	for _, c := range []broker.StoredConfig{setting("a", "{}"), setting("b", "{}"), setting("a", `{"maxDeliveryAttempts":3}`), {Kind: broker.RoleConfig, Key: "a"}} {
		if err := b.Broker.Store().StoreConfig(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.CreateDivert(broker.DivertConfig{Name: "d", Address: "x", ForwardAddress: "y"}, true); err != nil {
		t.Fatal(err)
	}
	if err := b.Broker.Store().DeleteConfig(broker.AddressSettingConfig, "b"); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		var got []string
		for _, c := range b.StoredConfigs() {
			got = append(got, c.Key+" "+c.JSON)
		}
		if want := []string{`a {"maxDeliveryAttempts":3}`, "a ", "d "}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	check()
	b.Restart()
	check()
	if err := b.DeleteDivert("d"); err == nil {
		t.Error("the divert was there before anybody restored it")
	}
}

func TestProbeFindsStuckLock(t *testing.T) {
	b := brokertest.New(t, nil)
	q := b.CreateAnycast("stuck")
	b.Connect(brokertest.AutoCommit)
	run := func(at func(kind, name string)) chan bool {
		done := make(chan bool)
		go func() {
			b.Broker.Probe(at)
			close(done)
		}()
		return done
	}
	var passed []string
	<-run(func(kind, name string) { passed = append(passed, strings.TrimSpace(kind+" "+name)) })
	if want := []string{"changes of addresses and queues", "registry", "session session2", "queue DLQ", "queue ExpiryQueue", "queue stuck"}; !slices.Equal(passed, want) {
		t.Errorf("passed %q, want %q", passed, want)
	}
	at := make(chan string, 1000)
	var done chan bool
	q.HoldLock(func() {
		done = run(func(kind, name string) { at <- kind + " " + name })
		for <-at != "queue stuck" {
		}
		select {
		case <-done:
			t.Error("the probe passed a lock that is held")
		case <-time.After(20 * time.Millisecond):
		}
	})
	<-done
}
