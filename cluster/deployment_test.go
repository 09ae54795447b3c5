package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/security"
)

func parse(t *testing.T, core string) *config.Config {
	t.Helper()
	c, _, err := config.ParseBroker("broker.xml", `<configuration xmlns="urn:activemq"><core xmlns="urn:activemq:core">`+core+`</core></configuration>`, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOptionsOf: what broker.xml says, its defaults, and what is not deployed.
func TestOptionsOf(t *testing.T) {
	const connectors = `<cluster-user>u</cluster-user><cluster-password>x</cluster-password><connectors><connector name="self">tcp://h:1</connector><connector name="n1">tcp://h1:2#tcp://h2:3</connector></connectors>`
	c := parse(t, connectors+`<cluster-connections><cluster-connection name="cc"><connector-ref>self</connector-ref><check-period>1</check-period><connection-ttl>2</connection-ttl><call-timeout>3</call-timeout>
		<retry-interval>4</retry-interval><retry-interval-multiplier>1.5</retry-interval-multiplier><max-retry-interval>6</max-retry-interval><reconnect-attempts>7</reconnect-attempts>
		<message-load-balancing>OFF</message-load-balancing><notification-interval>8</notification-interval><notification-attempts>9</notification-attempts>
		<static-connectors allow-direct-connections-only="true"><connector-ref>n1</connector-ref></static-connectors></cluster-connection>
		<cluster-connection name="plain"><connector-ref>self</connector-ref></cluster-connection></cluster-connections>`)
	o, group, err := OptionsOf(c, &c.ClusterConnections[0])
	if err != nil || group != nil {
		t.Fatal(err)
	}
	var static []string
	for _, s := range o.Static {
		static = append(static, Address(&s.Connector))
	}
	ms := time.Millisecond
	if o.Name != "cc" || Address(&o.Own.Connector) != "h:1" || strings.Join(static, " ") != "h1:2 h2:3" || !o.AllowDirectOnly || o.CheckPeriod != ms || o.ConnectionTTL != 2*ms || o.CallTimeout != 3*ms ||
		o.RetryInterval != 4*ms || o.RetryIntervalMultiplier != 1.5 || o.MaxRetryInterval != 6*ms || o.ReconnectAttempts != 7 || o.NotificationInterval != 8*ms || o.NotificationAttempts != 9 {
		t.Errorf("%+v", o)
	}
	o, _, err = OptionsOf(c, &c.ClusterConnections[1])
	if err != nil || o.CheckPeriod != 30*time.Second || o.ConnectionTTL != time.Minute || o.CallTimeout != 30*time.Second || o.RetryInterval != 500*ms || o.MaxRetryInterval != 2*time.Second ||
		o.RetryIntervalMultiplier != 1 || o.ReconnectAttempts != -1 || o.NotificationInterval != time.Second || o.NotificationAttempts != 2 || o.AllowDirectOnly {
		t.Errorf("%+v, %v", o, err)
	}
	for _, bad := range []string{
		`<connector-ref>nowhere</connector-ref>`,
		`<connector-ref>self</connector-ref><message-load-balancing>OFF</message-load-balancing><static-connectors><connector-ref>nowhere</connector-ref></static-connectors>`,
		`<connector-ref>self</connector-ref><message-load-balancing>OFF</message-load-balancing><discovery-group-ref discovery-group-name="nowhere"/>`,
	} {
		l := &log{}
		d, err := Deploy(parse(t, connectors+`<cluster-connections><cluster-connection name="cc">`+bad+`</cluster-connection></cluster-connections>`), DeployOptions{Log: hclog.New(&hclog.LoggerOptions{Output: l})})
		if d != nil || err != nil || l.count("not deployed") != 1 {
			t.Errorf("%s: %v, %v", bad, d, err)
		}
	}
}

// TestDeployment: two nodes as `create --clustered` lays them out, but for the balancing, find each other.
func TestDeployment(t *testing.T) {
	bg, _ := groups(t)
	at, bt := newEndpoint(t), newEndpoint(t)
	deploy := func(id string, e endpoint) *Deployment {
		c := parse(t, fmt.Sprintf(`<cluster-user>cu</cluster-user><cluster-password>cp</cluster-password><connectors><connector name="artemis">tcp://127.0.0.1:%d</connector></connectors>
			<broadcast-groups><broadcast-group name="bg-group1"><local-bind-address>127.0.0.1</local-bind-address><group-address>%s</group-address><group-port>%d</group-port><broadcast-period>20</broadcast-period><connector-ref>artemis</connector-ref></broadcast-group></broadcast-groups>
			<discovery-groups><discovery-group name="dg-group1"><local-bind-address>127.0.0.1</local-bind-address><group-address>%[2]s</group-address><group-port>%d</group-port></discovery-group></discovery-groups>
			<cluster-connections><cluster-connection name="my-cluster"><connector-ref>artemis</connector-ref><retry-interval>10</retry-interval><message-load-balancing>OFF</message-load-balancing><discovery-group-ref discovery-group-name="dg-group1"/></cluster-connection></cluster-connections>`,
			e.port, bg.GroupAddress, bg.GroupPort, bg.GroupPort))
		d, err := Deploy(c, DeployOptions{NodeID: id, Login: func(c security.Credentials) (security.Principal, error) { return security.Internal(c.User), nil }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(d.Stop)
		return d
	}
	a, b := deploy("a", at), deploy("b", bt)
	serveNode(t, "a", at, a.Node)
	serveNode(t, "b", bt, b.Node)
	if a.Connection("") != a.Connections[0] || a.Connection("my-cluster") != a.Connections[0] || a.Connection("nowhere") != a.Connections[0] {
		t.Error("another connection than the only one")
	}
	passive := a.NewController(a.Connections[0])
	if err := passive.Start(); err != nil {
		t.Fatal(err)
	}
	defer passive.Stop()
	for _, d := range []*Deployment{a, b} {
		if err := d.Activate(map[*Deployment]string{a: "a", b: "b"}[d]); err != nil {
			t.Fatal(err)
		}
	}
	both := []string{show("a", at.port, 0), show("b", bt.port, 0)}
	sees(t, a.Connections[0].Nodes(), both...)
	sees(t, b.Connections[0].Nodes(), both...)
	sees(t, passive.Nodes(), both...)
}
