package cluster

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/transport"
)

// A Target is a node to connect to.
type Target struct {
	Connector core.TransportConfiguration // as it is told to others
	Options   transport.ConnectorOptions  // how it is dialled
}

// TargetsOf returns the targets of a connector of broker.xml: its URI and the further ones in it.
func TargetsOf(t *config.Transport) ([]Target, error) {
	var list []Target
	for _, u := range append([]config.TransportURL{t.URL}, t.URL.Further...) {
		if u.Scheme != "tcp" {
			return nil, fmt.Errorf("cluster: connector %s: scheme %s cannot be reached from another node, want tcp", t.Name, u.Scheme)
		}
		port := u.Port
		if port == 0 {
			port = transport.DefaultPort
		}
		o, err := transport.ParseConnector(t.Name, u.Host, port, u.Params)
		if err != nil {
			return nil, fmt.Errorf("cluster: %w", err)
		}
		list = append(list, Target{connectorOf(t.Name, u), o})
	}
	return list, nil
}

// connectorOf is a URI as Artemis tells it: host and port are parameters, all values are text, and the parameters are in
// the order of a Java map, those that the transport does not know behind.
func connectorOf(name string, u config.TransportURL) core.TransportConfiguration {
	t := core.TransportConfiguration{Name: name, Factory: core.NettyConnectorFactory}
	add := func(key, value string) {
		t.Params = append(t.Params, core.Param{Key: key, Value: value, Extra: !slices.Contains(transportParams, key)})
	}
	if u.Host != "" {
		add("host", u.Host)
	}
	if u.Port != 0 {
		add("port", strconv.Itoa(u.Port))
	}
	for key, value := range u.Params {
		if key != "host" && key != "port" {
			add(key, value)
		}
	}
	slices.SortFunc(t.Params, func(a, b core.Param) int { return strings.Compare(a.Key, b.Key) }) // Go's maps have no order
	t.Params = javaOrder(t.Params)
	return t
}

// transportParams are the parameters of a connector that the transport knows; others are extra ones, meant for the client.
// Source: cluster §2.1.
var transportParams = strings.Fields(`sslEnabled sslAutoReload httpEnabled httpClientIdleTime httpUpgradeEnabled
	httpUpgradeEndpoint useServlet useEpoll useKQueue useGlobalWorkerPool nioRemotingThreads remotingThreads batchDelay
	tcpNoDelay tcpSendBufferSize tcpReceiveBufferSize writeBufferLowWaterMark writeBufferHighWaterMark connect-timeout-millis
	host port localAddress localPort keyStoreProvider keyStoreType keyStorePath keyStorePassword keyStoreAlias
	trustStoreProvider trustStoreType trustStorePath trustStorePassword crlPath enabledCipherSuites enabledProtocols verifyHost
	trustAll sniHost useDefaultSslContext sslProvider trustManagerFactoryPlugin forceSSLParameters activemqServerName
	socksEnabled socksHost socksPort socksVersion socksUsername socksPassword socksRemoteDNS passwordCodec`)

// errPlain: cluster-user and cluster-password are not sent in the clear because somebody on the network says so.
var errPlain = errors.New("it speaks no TLS, as this node's own connector does; name it in static-connectors to connect all the same")

// target returns how to reach a node that others told of. Only its address and whether it speaks TLS are theirs to say, and not that
// it speaks none if this node's own connector does: certificates and other settings of the connection are those of a configured
// connector to that address, else of this node's own.
func (o *Options) target(t *core.TransportConfiguration) (Target, error) {
	for _, s := range o.Static {
		if SameParams(&s.Connector, t) {
			return s, nil
		}
	}
	host, ok := t.Text("host")
	port, isNumber := t.Int("port")
	if !isNumber {
		port = transport.DefaultPort
	}
	if t.Factory != core.NettyConnectorFactory || !ok || port < 1 || port > 65535 {
		return Target{}, fmt.Errorf("cluster: connector %s is not one that can be dialled", Address(t))
	}
	params := map[string]string{}
	for k, v := range o.Own.Options.Params {
		params[k] = v
	}
	delete(params, "sslEnabled")
	if secure, ok := t.Text("sslEnabled"); ok {
		params["sslEnabled"] = secure
	}
	options, err := transport.ParseConnector(t.Name, host, int(port), params)
	if err != nil {
		return Target{}, fmt.Errorf("cluster: %w", err)
	}
	if o.Own.Options.TLS.Enabled && !options.TLS.Enabled {
		return Target{}, fmt.Errorf("cluster: connector %s: %w", Address(t), errPlain)
	}
	return Target{*t, options}, nil
}

// SameParams tells whether two connectors lead to the same place: factory and parameters, whatever the name. Nil is the
// same as nothing.
func SameParams(a, b *core.TransportConfiguration) bool {
	if a == nil || b == nil || a.Factory != b.Factory {
		return false
	}
	own := func(t *core.TransportConfiguration) map[string]string {
		m := map[string]string{}
		for _, p := range t.Params {
			if !p.Extra {
				m[p.Key] = fmt.Sprint(p.Value)
			}
		}
		return m
	}
	x, y := own(a), own(b)
	if len(x) != len(y) {
		return false
	}
	for k, v := range x {
		if w, ok := y[k]; !ok || w != v {
			return false
		}
	}
	return true
}

// Address is host:port of a connector, for log lines and management.
func Address(t *core.TransportConfiguration) string {
	host, _ := t.Text("host")
	port, _ := t.Text("port")
	if host == "" {
		return t.Factory
	}
	return net.JoinHostPort(host, port)
}

// ConnectorText is a connector as votes carry it: a node that is asked to stay active compares it with its own, so it is
// Artemis' text to the letter.
//
// Source: ha §2.9; Artemis TransportConfiguration.toString.
func ConnectorText(t *core.TransportConfiguration) string {
	dashes := func(s string) string { return strings.ReplaceAll(s, ".", "-") }
	var own, extra []core.Param
	for _, p := range t.Params {
		if p.Extra {
			extra = append(extra, p)
		} else {
			own = append(own, p)
		}
	}
	var b strings.Builder
	b.WriteString("TransportConfiguration(name=" + t.Name + ", factory=" + dashes(t.Factory) + ")")
	if len(own) > 0 {
		b.WriteByte('?')
	}
	for i, p := range append(javaOrder(own), javaOrder(extra)...) {
		if i > 0 {
			b.WriteByte('&')
		}
		value := fmt.Sprint(p.Value)
		if !p.Extra && strings.Contains(strings.ToLower(p.Key), "password") {
			value = "****"
		}
		b.WriteString(dashes(p.Key) + "=" + dashes(value))
	}
	return b.String()
}

// javaOrder puts parameters in the order in which a Java HashMap gives them when they were put in as they stand: by the
// bucket of their key, own parameters before extra ones.
func javaOrder(params []core.Param) []core.Param {
	buckets := uint32(16)
	for len(params)*4 > int(buckets)*3 {
		buckets *= 2
	}
	bucket := func(p core.Param) uint32 {
		h := uint32(0)
		for _, u := range utf16.Encode([]rune(p.Key)) {
			h = 31*h + uint32(u)
		}
		return (h ^ h>>16) & (buckets - 1)
	}
	out := slices.Clone(params)
	slices.SortStableFunc(out, func(a, b core.Param) int {
		if a.Extra != b.Extra {
			if b.Extra {
				return -1
			}
			return 1
		}
		return int(bucket(a)) - int(bucket(b))
	})
	return out
}
