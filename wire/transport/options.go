package transport

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Defaults of Artemis' TransportConstants.
const (
	DefaultHost             = "localhost"
	DefaultPort             = 61616
	DefaultHandshakeTimeout = 10 * time.Second
)

// AcceptorOptions are the parameters of one acceptor URL that concern the transport.
type AcceptorOptions struct {
	Name  string
	Hosts []string // one or more, all with the same port
	Port  int      // 0 lets the system choose

	// Protocols are the enabled ones; empty means all.
	Protocols []string

	// ConnectionsAllowed bounds the connections; negative is no bound. Excess ones are closed at once.
	ConnectionsAllowed int

	// HandshakeTimeout is the time for TLS and the first 8 bytes; 0 is no bound.
	HandshakeTimeout time.Duration

	// Backlog is the length of the system's queue of connections not yet accepted; 0 is the system's choice.
	Backlog int

	TCP TCPOptions
	TLS TLSOptions

	// Params are all parameters of the URL, for the protocols.
	Params map[string]string
}

// TCPOptions are set on every socket.
type TCPOptions struct {
	NoDelay bool
	// SendBuffer and ReceiveBuffer in bytes; 0 leaves the system's own tuning on.
	SendBuffer, ReceiveBuffer int
}

// ConnectorOptions are the parameters of one connector URL that concern the transport.
type ConnectorOptions struct {
	Name string
	Host string
	Port int

	// ConnectTimeout bounds the TCP and TLS handshakes; 0 leaves it to the context.
	ConnectTimeout time.Duration

	// LocalAddress and LocalPort choose the local end; empty and 0 leave it to the system.
	LocalAddress string
	LocalPort    int

	TCP TCPOptions
	TLS TLSOptions

	Params map[string]string
}

// ParseAcceptor reads the parameters of an acceptor URL. host may list several, separated by commas. Parameters that
// are unknown here stay in Params for the protocols. Unknown names in "protocols" are left out and returned, for the
// caller to warn about (AMQ222203). An error names the acceptor and the parameter.
func ParseAcceptor(name, host string, port int, params map[string]string) (o AcceptorOptions, unknownProtocols []string, err error) {
	p := paramReader{of: "acceptor " + name, params: params}
	o = AcceptorOptions{
		Name:               name,
		Port:               port,
		ConnectionsAllowed: p.int("connectionsAllowed", -1),
		HandshakeTimeout:   p.duration("handshake-timeout", time.Second, DefaultHandshakeTimeout),
		Backlog:            max(0, p.int("backlog", 0)),
		TCP:                p.tcp(),
		TLS:                p.tls(false),
		Params:             params,
	}
	if p.bool("proxyProtocolEnabled", false) {
		p.fail("proxyProtocolEnabled", "the PROXY protocol is not supported: clients would appear under the proxy's address")
	}
	for h := range strings.SplitSeq(p.string("bindAddress", host), ",") {
		if h = strings.TrimSpace(h); h != "" {
			o.Hosts = append(o.Hosts, h)
		}
	}
	if len(o.Hosts) == 0 {
		o.Hosts = []string{DefaultHost}
	}
	for proto := range strings.SplitSeq(p.string("protocols", p.string("protocol", "")), ",") {
		switch proto = strings.TrimSpace(proto); {
		case proto == "":
		case known(proto):
			o.Protocols = append(o.Protocols, proto)
		default:
			unknownProtocols = append(unknownProtocols, proto)
		}
	}
	return o, unknownProtocols, p.err
}

// ParseConnector reads the parameters of a connector URL. An error names the connector and the parameter.
func ParseConnector(name, host string, port int, params map[string]string) (ConnectorOptions, error) {
	p := paramReader{of: "connector " + name, params: params}
	o := ConnectorOptions{
		Name:           name,
		Host:           host,
		Port:           port,
		ConnectTimeout: p.duration("connect-timeout-millis", time.Millisecond, 0),
		LocalAddress:   p.string("localAddress", ""),
		LocalPort:      p.int("localPort", 0),
		TCP:            p.tcp(),
		TLS:            p.tls(true),
		Params:         params,
	}
	if o.Host == "" {
		o.Host = DefaultHost
	}
	for _, unsupported := range []string{"socksEnabled", "httpUpgradeEnabled", "httpEnabled"} {
		if p.bool(unsupported, false) {
			p.fail(unsupported, "not supported: connect directly")
		}
	}
	return o, p.err
}

func known(proto string) bool {
	for _, name := range protocols {
		if proto == name {
			return true
		}
	}
	return false
}

// A paramReader converts parameters as Artemis' ConfigurationHelper does and keeps the first error.
type paramReader struct {
	of     string
	params map[string]string
	err    error
}

func (p *paramReader) fail(name, why string) {
	if p.err == nil {
		p.err = fmt.Errorf("transport: %s: parameter %s=%s: %s", p.of, name, p.params[name], why)
	}
}

func (p *paramReader) string(name, otherwise string) string {
	if v, ok := p.params[name]; ok {
		return v
	}
	return otherwise
}

func (p *paramReader) bool(name string, otherwise bool) bool {
	v, ok := p.params[name]
	if !ok {
		return otherwise
	}
	return strings.EqualFold(strings.TrimSpace(v), "true")
}

func (p *paramReader) int(name string, otherwise int) int {
	v, ok := p.params[name]
	if !ok {
		return otherwise
	}
	n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 32)
	if err != nil {
		p.fail(name, "not an integer")
		return otherwise
	}
	return int(n)
}

// duration reads a number of units; a negative one means none.
func (p *paramReader) duration(name string, unit, otherwise time.Duration) time.Duration {
	if _, ok := p.params[name]; !ok {
		return otherwise
	}
	return time.Duration(max(0, p.int(name, 0))) * unit
}

// list reads a comma-separated list.
func (p *paramReader) list(name string) []string {
	var l []string
	for v := range strings.SplitSeq(p.string(name, ""), ",") {
		if v = strings.TrimSpace(v); v != "" {
			l = append(l, v)
		}
	}
	return l
}

func (p *paramReader) tcp() TCPOptions {
	return TCPOptions{
		NoDelay:       p.bool("tcpNoDelay", true),
		SendBuffer:    max(0, p.int("tcpSendBufferSize", 0)),
		ReceiveBuffer: max(0, p.int("tcpReceiveBufferSize", 0)),
	}
}

func (p *paramReader) tls(connector bool) TLSOptions {
	password := p.string("keyStorePassword", "")
	return TLSOptions{
		Enabled: p.bool("sslEnabled", false),
		KeyStore: StoreOptions{
			Path:        p.string("keyStorePath", ""),
			Password:    password,
			KeyPassword: p.string("keyPassword", password),
			Type:        p.string("keyStoreType", "JKS"),
			Alias:       p.string("keyStoreAlias", ""),
		},
		TrustStore: StoreOptions{
			Path:     p.string("trustStorePath", ""),
			Password: p.string("trustStorePassword", ""),
			Type:     p.string("trustStoreType", "JKS"),
		},
		NeedClientAuth: p.bool("needClientAuth", false),
		WantClientAuth: p.bool("wantClientAuth", false),
		CipherSuites:   p.list("enabledCipherSuites"),
		Protocols:      p.list("enabledProtocols"),
		VerifyHost:     p.bool("verifyHost", connector),
		TrustAll:       p.bool("trustAll", false),
		CRLPath:        p.string("crlPath", ""),
		SNIHost:        p.string("sniHost", ""),
		DefaultContext: p.bool("useDefaultSslContext", false),
		AutoReload:     p.bool("sslAutoReload", false),
	}
}
