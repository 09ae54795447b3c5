package client

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/transport"
)

// Defaults of Artemis' clients.
const (
	DefaultConnectionTTL       = 60 * time.Second
	DefaultFailureCheckPeriod  = 30 * time.Second
	DefaultCallTimeout         = 30 * time.Second
	DefaultRetryInterval       = 2 * time.Second
	DefaultMinLargeMessageSize = 100 << 10
	DefaultProducerWindow      = 64 << 10
	DefaultConsumerWindow      = 1 << 20
)

// resendLimit bounds the frames a session keeps for a reattachment, in bytes.
// A session that has more waits with sending until some are confirmed.
const resendLimit = 64 << 20

// Config tells where and how to connect. The zero value of a field is its
// default unless it says otherwise.
type Config struct {
	// Hosts are tried in turn; at least one.
	Hosts []transport.ConnectorOptions

	User, Password string // an empty User is sent as null
	ClientID       string // empty: null

	ConnectionTTL      time.Duration // told to the broker; negative: never; default 60 s
	FailureCheckPeriod time.Duration // between pings; negative: none; default 30 s
	CallTimeout        time.Duration // default 30 s; a call without an answer fails the connection

	InitialConnectAttempts  int // over all hosts; 0 is 1, negative: without end
	ReconnectAttempts       int // 0: none, negative: without end
	RetryInterval           time.Duration
	RetryIntervalMultiplier float64       // default 1
	MaxRetryInterval        time.Duration // default RetryInterval

	ConfirmationWindow  int32 // bytes; 0 and below: off (the protocol's -1)
	ProducerWindow      int32 // bytes; 0: 64 KiB; negative: no flow control
	ConsumerWindow      int32 // bytes; 0: the queue's default; negative: no flow control.
	SlowConsumers       bool  // ConsumerOptions.Slow of consumers without a window of their own; the URL's consumerWindowSize=0
	MinLargeMessageSize int32 // bytes from which a body is sent in chunks, and their size; default 100 KiB
	CompressLarge       bool  // deflate bodies of MinLargeMessageSize and more

	BlockOnNonDurableSend bool
	NoBlockOnDurableSend  bool
	BlockOnAcknowledge    bool
	AckBatchSize          int32 // bytes after which a cumulative ack goes out; 0: at once
	PreAcknowledge        bool
	HA                    bool         // reconnect to the node's backup too
	ClusterConnection     bool         // subscribe to the topology as a broker does
	Version               core.Version // the highest to try; 0: core.VersionCurrent

	Dialer *transport.Dialer // nil: a new one

	// OnTopologyPacket and OnDisconnect, if not nil, are given every such packet
	// on the read goroutine, from the first one on. The packet is theirs to keep.
	OnTopologyPacket func(*core.ClusterTopology)
	OnDisconnect     func(*core.Disconnect)
}

func (c Config) withDefaults() (Config, error) {
	if len(c.Hosts) == 0 {
		return c, errors.New("core client: no host to connect to")
	}
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&c.ConnectionTTL, DefaultConnectionTTL)
	def(&c.FailureCheckPeriod, DefaultFailureCheckPeriod)
	def(&c.CallTimeout, DefaultCallTimeout)
	def(&c.RetryInterval, DefaultRetryInterval)
	def(&c.MaxRetryInterval, c.RetryInterval)
	if c.RetryIntervalMultiplier == 0 {
		c.RetryIntervalMultiplier = 1
	}
	if c.InitialConnectAttempts == 0 {
		c.InitialConnectAttempts = 1
	}
	if c.ConfirmationWindow <= 0 {
		c.ConfirmationWindow = -1
	}
	if c.ProducerWindow == 0 {
		c.ProducerWindow = DefaultProducerWindow
	}
	if c.MinLargeMessageSize == 0 {
		c.MinLargeMessageSize = DefaultMinLargeMessageSize
	}
	if c.Version == 0 {
		c.Version = core.VersionCurrent
	}
	if !c.Version.Compatible() {
		return c, fmt.Errorf("core client: version %d is not in %d to %d", c.Version, core.VersionMin, core.VersionCurrent)
	}
	if c.Dialer == nil {
		c.Dialer = new(transport.Dialer)
	}
	return c, nil
}

// ParseURL reads a client URL as Artemis' clients take it:
//
//	tcp://host:port?key=value&…#host2:port2,…
//	(tcp://host:port,tcp://host2:port2)?key=value&…
//
// ";" separates parameters like "&". The parameters of the protocol are read
// here, those of the transport (sslEnabled, trustStorePath, …) by package
// transport; unknown ones are ignored, as Artemis ignores them.
func ParseURL(text string) (Config, error) {
	var c Config
	hosts, query, err := splitURL(text)
	if err != nil {
		return c, fmt.Errorf("core client: URL %q: %w", text, err)
	}
	p := params{values: query}
	c.User = p.text("user")
	c.Password = p.text("password")
	c.ClientID = p.text("clientID")
	c.ConnectionTTL = p.millis("connectionTTL")
	c.FailureCheckPeriod = p.millis("clientFailureCheckPeriod")
	c.CallTimeout = p.millis("callTimeout")
	c.InitialConnectAttempts = int(p.int("initialConnectAttempts", 0))
	c.ReconnectAttempts = int(p.int("reconnectAttempts", 0))
	c.RetryInterval = p.millis("retryInterval")
	c.RetryIntervalMultiplier = p.float("retryIntervalMultiplier")
	c.MaxRetryInterval = p.millis("maxRetryInterval")
	c.ConfirmationWindow = p.int("confirmationWindowSize", 0)
	c.ProducerWindow = p.int("producerWindowSize", 0)
	c.ConsumerWindow = p.int("consumerWindowSize", 0)
	c.SlowConsumers = p.text("consumerWindowSize") == "0"
	c.MinLargeMessageSize = p.int("minLargeMessageSize", 0)
	c.CompressLarge = p.bool("compressLargeMessage", false) || p.bool("compressLargeMessages", false)
	c.NoBlockOnDurableSend = !p.bool("blockOnDurableSend", true)
	c.BlockOnNonDurableSend = p.bool("blockOnNonDurableSend", false)
	c.BlockOnAcknowledge = p.bool("blockOnAcknowledge", false)
	c.AckBatchSize = p.int("ackBatchSize", 0)
	c.HA = p.bool("ha", false)
	c.PreAcknowledge = p.bool("preAcknowledge", false)
	for _, hostport := range hosts {
		host, port, err := splitHost(hostport)
		if err != nil {
			return c, fmt.Errorf("core client: URL %q: %w", text, err)
		}
		o, err := transport.ParseConnector(hostport, host, port, query)
		if err != nil {
			return c, fmt.Errorf("core client: URL %q: %w", text, err)
		}
		c.Hosts = append(c.Hosts, o)
	}
	if p.err != nil {
		return c, fmt.Errorf("core client: URL %q: %w", text, p.err)
	}
	return c, nil
}

// splitURL takes a URL apart into hosts and parameters.
func splitURL(text string) (hosts []string, query map[string]string, err error) {
	rest, fragment, _ := strings.Cut(text, "#")
	list, params, _ := strings.Cut(rest, "?")
	if strings.HasPrefix(list, "(") {
		if !strings.HasSuffix(list, ")") {
			return nil, nil, errors.New(`no ")"`)
		}
		list = list[1 : len(list)-1]
	}
	if fragment != "" {
		list += "," + fragment
	}
	for i, h := range strings.Split(list, ",") {
		h = strings.TrimSpace(h)
		if scheme, hostport, ok := strings.Cut(h, "://"); ok {
			if scheme != "tcp" {
				return nil, nil, fmt.Errorf("scheme %q, want tcp", scheme)
			}
			h = hostport
		} else if i == 0 {
			return nil, nil, errors.New("no scheme, want tcp://")
		}
		h, own, _ := strings.Cut(h, "?")
		if own != "" {
			params += "&" + own
		}
		hosts = append(hosts, strings.TrimSuffix(h, "/"))
	}
	query = map[string]string{}
	for _, kv := range strings.FieldsFunc(params, func(r rune) bool { return r == '&' || r == ';' }) {
		k, v, _ := strings.Cut(kv, "=")
		if k, err = url.QueryUnescape(k); err != nil {
			return nil, nil, err
		}
		if query[k], err = url.QueryUnescape(v); err != nil {
			return nil, nil, err
		}
	}
	return hosts, query, nil
}

func splitHost(hostport string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(hostport)
	if err != nil {
		if strings.Contains(hostport, ":") && !strings.HasSuffix(hostport, "]") {
			return "", 0, err
		}
		return strings.Trim(hostport, "[]"), transport.DefaultPort, nil
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("port %q", text)
	}
	return host, port, nil
}

// params reads typed parameters; the first bad one sticks.
type params struct {
	values map[string]string
	err    error
}

func (p *params) text(key string) string { return p.values[key] }

func (p *params) fail(key string) {
	if p.err == nil {
		p.err = fmt.Errorf("parameter %s=%q", key, p.values[key])
	}
}

func (p *params) int(key string, def int32) int32 {
	s, ok := p.values[key]
	if !ok {
		return def
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		p.fail(key)
	}
	return int32(n)
}

func (p *params) float(key string) float64 {
	s, ok := p.values[key]
	if !ok {
		return 0
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		p.fail(key)
	}
	return f
}

func (p *params) bool(key string, def bool) bool {
	s, ok := p.values[key]
	if !ok {
		return def
	}
	return strings.EqualFold(s, "true")
}

// millis reads a time in ms; -1 stays negative.
func (p *params) millis(key string) time.Duration {
	s, ok := p.values[key]
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		p.fail(key)
	}
	return time.Duration(n) * time.Millisecond
}
