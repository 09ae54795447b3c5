package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParseProperties(t *testing.T) {
	// java.util.Properties
	const text = "# comment \\\n! other\n\na=1\nb : 2\n c\t3\nd\\ e = f\\=g\nlong = x\\\n   y\\\n z\nempty\nk=\\u00e9\\uD83D\\uDE00\\t|\\q\r\nwin=1\rmac=2\na=9\nlast=\\\\"
	got, err := ParseProperties(text)
	if err != nil {
		t.Fatal(err)
	}
	want := []Property{{"a", "1", 4}, {"b", "2", 5}, {"c", "3", 6}, {"d e", "f=g", 7}, {"long", "xyz", 8}, {"empty", "", 11}, {"k", "é😀\t|q", 12}, {"win", "1", 13}, {"mac", "2", 14}, {"a", "9", 15}, {"last", `\`, 16}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for _, bad := range []string{`a=\u12`, `\uzzzz=1`} {
		if _, err := ParseProperties(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestParseTree(t *testing.T) {
	want := []Property{{"a.b", "1", 0}, {`x."y.z".q`, "true", 0}, {"list", "p,q", 0}}
	for _, text := range []string{
		`{"a":{"b":1},"x":{"y.z":{"q":true}},"list":["p","q"]}`,
		"a:\n  b: 1\nx:\n  y.z:\n    q: true\nlist: [p, q]\n",
	} {
		got, err := parseTree(text)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			got[i].Line = 0
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v", got)
		}
	}
	for _, bad := range []string{"{", "a: &x [1]\nb: *x\n", "a: [[1]]\n"} {
		if got, err := parseTree(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

// loadWith loads the default golden instance with broker properties.
func loadWith(t *testing.T, properties string, o Options) (*Instance, []Warning, error) {
	t.Helper()
	dir := unpack(t, "01-default-silent")
	if properties != "" {
		if err := os.WriteFile(filepath.Join(dir, "etc", "broker.properties"), []byte(properties), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if o.Env == nil {
		o.Env = noEnv
	}
	o.WorkDir = dir
	return Load(dir, o)
}

func TestBrokerPropertiesGolden(t *testing.T) {
	input, err := os.ReadFile("testdata/broker-properties/input.broker.properties")
	if err != nil {
		t.Fatal(err)
	}
	in, warns, err := loadWith(t, string(input), Options{Tool: true})
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Configuration struct {
			Properties map[string]struct {
				Alder32 json.Number
				Errors  []struct{ Value string }
			}
		}
	}
	text, err := os.ReadFile("testdata/broker-properties/status.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	for _, s := range in.PropertiesStatus {
		g, ok := golden.Configuration.Properties[s.Source]
		var got, want []string
		for _, e := range s.Errors {
			got = append(got, e.Value)
		}
		for _, e := range g.Errors {
			want = append(want, e.Value)
		}
		if sum, _ := g.Alder32.Int64(); !ok || int64(s.Adler32) != sum || !reflect.DeepEqual(got, want) {
			t.Errorf("status %+v, want %+v", s, g)
		}
	}
	if len(in.PropertiesStatus) != len(golden.Configuration.Properties) {
		t.Errorf("%d sources", len(in.PropertiesStatus))
	}
	c := in.Broker
	names := []string{}
	for _, a := range c.Addresses {
		names = append(names, a.Name)
	}
	s, err := c.AddressSettingsFor("a.x")
	if err != nil {
		t.Fatal(err)
	}
	q := c.Addresses[1].Queues[0]
	for _, x := range []struct {
		what      string
		got, want any
	}{
		{"addresses", names, []string{"ExpiryQueue", "my.addr"}},
		{"queue", []any{q.Name, q.Address, q.RoutingType, q.Durable}, []any{"my.q", "my.addr", Anycast, false}},
		{"routing types", c.Addresses[1].RoutingTypes, []RoutingType{Anycast}},
		{"global max size", c.GlobalMaxSize, Bytes(26214400)},
		{"max delivery attempts", s.MaxDeliveryAttempts, 7},
		{"acceptor", c.Acceptor("extra").URL.Addr(), "127.0.0.1:63398"},
		{"divert", []string{c.Diverts[0].Name, c.Diverts[0].Address, c.Diverts[0].ForwardingAddress, string(c.Diverts[0].RoutingType)}, []string{"d1", "a.b", "a.c", "STRIP"}},
		{"router", c.ConnectionRouters[0].KeyType, RouterKey("CLIENT_ID")},
		{"ha", c.HAPolicy.Kind(), SharedStorePrimary},
		{"failover", c.HAPolicy.SharedStore.Primary.FailoverOnShutdown, true},
		{"roles", c.SecuritySettings[1].Roles[Send], []string{"amq"}},
		// Artemis silently makes these two 0, see docs/COMPAT.md.
		{"max disk usage", c.MaxDiskUsage, 90},
		{"page size", s.PageSizeBytes, Bytes(1 << 20)},
	} {
		if !reflect.DeepEqual(x.got, x.want) {
			t.Errorf("%s = %v, want %v", x.what, x.got, x.want)
		}
	}
	warned := false
	for _, w := range warns {
		warned = warned || strings.Contains(w.Element, "maxDiskUsage") && w.Line == 17
	}
	if !warned {
		t.Errorf("no warning about maxDiskUsage: %v", warns)
	}
	// When it is to be run, what isn't built is refused at the property.
	_, _, err = loadWith(t, string(input), Options{})
	errs, _ := err.(Errors)
	if len(errs) != 1 || errs[0].Element != "connection-routers/connection-router" || errs[0].Line != 14 || filepath.Base(errs[0].File) != "broker.properties" {
		t.Errorf("%v", err)
	}
}

// Every property that Artemis exports is known here.
func TestExportedPropertiesAreKnown(t *testing.T) {
	text, err := os.ReadFile("testdata/broker-properties/exported-config.txt")
	if err != nil {
		t.Fatal(err)
	}
	list, err := ParseProperties(string(text))
	if err != nil {
		t.Fatal(err)
	}
	c := blank()
	d := &decoder{report: &report{}, seen: map[string]position{}, unmask: func(s string) (string, error) { return s, nil }}
	// The kind of policy is exported after its fields; it has to come first.
	list = append([]Property{{Key: "HAPolicyConfiguration", Value: "SHARED_STORE_PRIMARY"}}, list...)
	for i, p := range list {
		if i > 0 && p.Key == "HAPolicyConfiguration" {
			list[i].Value = "SHARED_STORE_PRIMARY"
		}
	}
	a := &propertyApplier{decoder: d, c: c, lookup: noEnv}
	status := a.apply("exported", "exported-config.txt", list)
	for _, e := range status.Errors {
		t.Errorf("%s: %s", e.Value, e.Reason)
	}
	if c.Name != "0.0.0.0" && c.Name != "localhost" || len(c.Acceptors) != 2 || c.Addresses[0].Queues[0].Name != "ExpiryQueue" {
		t.Errorf("values were not set: %s %v", c.Name, c.Addresses)
	}
}

func TestBrokerPropertySources(t *testing.T) {
	in, _, err := loadWith(t, "name=from-etc\n", Options{})
	if err != nil || in.Broker.Name != "from-etc" {
		t.Fatalf("%v", err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("b.properties", "name=from-b\nglobalMaxMessages=5\n")
	write("a.json", `{"name":"from-a","addressSettings":{"x.y":{"maxDeliveryAttempts":3}}}`)
	write("ignored.txt", "name=no")
	in, _, err = loadWith(t, "name=from-etc\n", Options{Properties: dir + "/"})
	if err != nil || in.Broker.Name != "from-b" || in.Broker.GlobalMaxMessages != 5 || in.Broker.AddressSettings[2].Match != "x.y" {
		t.Errorf("folder: %v", err)
	}
	in, _, err = loadWith(t, "", Options{Properties: dir + "/?filter=.*json"})
	if err != nil || in.Broker.Name != "from-a" {
		t.Errorf("filter: %v", err)
	}
	in, _, err = loadWith(t, "", Options{Properties: "/no/such.properties", Define: map[string]string{"brokerconfig.globalMaxSize": "1000000", "brokerconfig.name": "${n:d}"}})
	if err != nil || in.Broker.GlobalMaxSize != 1000000 || in.Broker.Name != "d" || len(in.PropertiesStatus) != 2 || len(in.PropertiesStatus[0].Errors) != 1 {
		t.Errorf("-D: %v %+v", err, in.PropertiesStatus)
	}
	in, _, err = loadWith(t, "name=from-etc\n", Options{Define: map[string]string{"broker.properties": filepath.Join(dir, "a.json")}})
	if err != nil || in.Broker.Name != "from-a" {
		t.Errorf("-Dbroker.properties: %v", err)
	}
}

func TestBrokerPropertyGrammar(t *testing.T) {
	in, _, err := loadWith(t, `clusterPassword=ENC(-69b0f82ea52cd8ee)
security-enabled=false
global-max-messages=7
networkCheckPeriod=2500
acceptorConfigurations.artemis.params.port=1000
acceptorConfigurations.stomp=-
diverts=-
connectorConfigurations.c1.params.host=h
clusterConfigurations.cc.connectorName=c1
clusterConfigurations.cc.messageLoadBalancingType=STRICT
resourceLimitSettings.joe.maxQueues=2
addressSettings.#.redeliveryDelay=1500
addressSettings.#.configDeleteQueues=FORCE
jaasConfigs.extra.modules.m.loginModuleClass=a.B
jaasConfigs.extra.modules.m.controlFlag=required
jaasConfigs.extra.modules.m.params.k=v
brokerPlugins."org.apache.activemq.artemis.core.server.plugin.impl.LoggingActiveMQServerPlugin".init=LOG_ALL_EVENTS=true
securityRoles.#.amq.send=false
wildcardConfiguration.delimiter=/
name
"open
addressConfigurations.q.queueConfigs.q.ringSize=9
storeConfiguration=FILE
`, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := in.Broker
	for _, x := range []struct {
		what      string
		got, want any
	}{
		{"secret", c.ClusterPassword, "bob"},
		{"kebab case", c.SecurityEnabled, false},
		{"messages", c.GlobalMaxMessages, int64(7)},
		{"duration", c.NetworkCheck.Period.Milliseconds(), int64(2500)},
		{"port", c.Acceptor("artemis").URL.Addr(), "0.0.0.0:1000"},
		{"kept parameter", c.Acceptor("artemis").URL.Params["amqpCredits"], "1000"},
		{"removed", c.Acceptor("stomp") == nil, true},
		{"cluster", c.ClusterConnections[0].Balancing(), BalanceStrict},
		{"cluster default", c.ClusterConnections[0].MaxHops, 1},
		{"limit", c.ResourceLimits[0], ResourceLimit{"joe", -1, -1, 2}},
		{"setting", c.AddressSettings[1].RedeliveryDelay.Milliseconds(), int64(1500)},
		{"enum", *c.AddressSettings[1].ConfigDeleteQueues, DeleteForce},
		{"realm", *in.Login.Realm("extra"), Realm{"extra", []LoginModule{{"m", "a.B", Required, map[string]string{"k": "v"}}}}},
		{"plugin", c.BrokerPlugins[0].Properties["LOG_ALL_EVENTS"], "true"},
		{"role taken", c.SecuritySettings[0].Roles[Send], []string(nil)},
		{"wildcards", c.Wildcards.Delimiter, "/"},
		{"name", c.Name, ""},
		{"ring size", *c.Addresses[2].Queues[0].RingSize, int64(9)},
		{"queue routing", c.Addresses[2].Queues[0].RoutingType, Multicast},
		{"errors", len(in.PropertiesStatus[0].Errors), 2}, // diverts (the name is divertConfigurations) and "open
	} {
		if !reflect.DeepEqual(x.got, x.want) {
			t.Errorf("%s = %v, want %v", x.what, x.got, x.want)
		}
	}
	// A secret that can't be decoded stops the start.
	_, _, err = loadWith(t, "clusterPassword=ENC(aa)\n", Options{})
	errs, _ := err.(Errors)
	if len(errs) != 1 || !strings.Contains(errs[0].Problem, "AMQ224097") || errs[0].Line != 1 {
		t.Errorf("%v", err)
	}
}
