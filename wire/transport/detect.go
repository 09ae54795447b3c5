package transport

import (
	"bytes"
	"strings"
)

// Protocol names as in the acceptor parameter "protocols".
const (
	Core     = "CORE"
	HornetQ  = "HORNETQ"
	AMQP     = "AMQP"
	OpenWire = "OPENWIRE"
	Stomp    = "STOMP"
	MQTT     = "MQTT"

	http  = "HTTP"
	proxy = "PROXY"
)

// protocols are all names that an acceptor may list.
var protocols = []string{Core, HornetQ, AMQP, OpenWire, Stomp, MQTT}

// detectSize is how many bytes the decision takes.
const detectSize = 8

// detect finds the protocol in the first bytes, of which there are at least detectSize, and how many of them belong
// to the detection and not to the protocol. An empty name says that no protocol has such a start.
func detect(p []byte) (name string, consumed int) {
	switch {
	case isHTTP(p):
		return http, 0
	case bytes.HasPrefix(p, []byte("ARTEMIS")):
		return Core, 7
	case bytes.HasPrefix(p, []byte("HORNETQ")):
		return HornetQ, 7
	case bytes.HasPrefix(p, []byte("AMQP")):
		return AMQP, 0
	case p[4] == 1 && string(p[5:8]) == "Act":
		return OpenWire, 0
	case bytes.HasPrefix(p, []byte("CONNECT")), bytes.HasPrefix(p, []byte("STOMP")):
		return Stomp, 0
	case isMQTT(p):
		return MQTT, 0
	case bytes.HasPrefix(p, []byte("PROXY ")), bytes.HasPrefix(p, []byte("\r\n\r\n\x00\r\nQ")):
		return proxy, 0
	}
	return "", 0
}

// isHTTP looks at two bytes only, as Artemis does: an HTTP method starts with them.
func isHTTP(p []byte) bool {
	return strings.Contains("GE PO PU HE OP PA DE TR", string(p[:2])) && p[0] != ' ' && p[1] != ' '
}

// isMQTT recognises a CONNECT packet: the type, 1 to 4 bytes of remaining length, and the high byte 0 of the length
// of the protocol's name. A low byte of 4 ("MQTT") or 6 ("MQIsdp") must be followed by MQ, as far as the bytes reach;
// any other is left for the codec to refuse.
func isMQTT(p []byte) bool {
	if p[0] != 0x10 {
		return false
	}
	i := 1
	for p[i]&0x80 != 0 {
		if i++; i > 4 {
			return false
		}
	}
	i++
	if p[i] != 0 {
		return false
	}
	if n := p[i+1]; n != 4 && n != 6 {
		return true
	}
	name := p[i+2:]
	return bytes.HasPrefix([]byte("MQ"), name[:min(2, len(name))])
}

// An upgrade is what the head of an HTTP request asks the connection to become.
type upgrade int

const (
	upgradeNone upgrade = iota
	upgradeWebSocket
	upgradeCore
)

// maxHTTPHead bounds the head of an HTTP request.
const maxHTTPHead = 8 << 10

// httpUpgrade reads the Upgrade header of a request's head; complete is false while the head is not.
func httpUpgrade(head []byte) (u upgrade, complete bool) {
	end := bytes.Index(head, []byte("\r\n\r\n"))
	if end < 0 {
		return upgradeNone, false
	}
	for line := range bytes.SplitSeq(head[:end], []byte("\r\n")) {
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || !bytes.EqualFold(name, []byte("Upgrade")) {
			continue
		}
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(value, []byte("websocket")):
			return upgradeWebSocket, true
		case bytes.EqualFold(value, []byte("activemq-remoting")):
			return upgradeCore, true
		}
	}
	return upgradeNone, true
}
