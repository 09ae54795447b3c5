package transport

import (
	"io"
	"strings"
	"testing"
	"time"
)

// detections is core-protocol.md section 1.2: the first bytes, the protocol, and how many bytes detection takes.
var detections = []struct {
	first    string
	protocol string
	consumed int
}{
	{"ARTEMIS\x00", Core, 7},
	{"ARTEMISx", Core, 7},
	{"HORNETQ\x00", HornetQ, 7},
	{"AMQP\x00\x01\x00\x00", AMQP, 0},
	{"AMQP\x03\x01\x00\x00", AMQP, 0},
	{"AMQP\x09\x09\x09\x09", AMQP, 0},
	{"\x00\x00\x01\x3a\x01Act", OpenWire, 0},
	{"\x00\x00\x01\x3a\x02Act", "", 0},
	{"\x00\x00\x01\x3a\x01act", "", 0},
	{"CONNECT\n", Stomp, 0},
	{"CONNECT\r", Stomp, 0},
	{"CONNECTE", Stomp, 0},
	{"STOMP\nac", Stomp, 0},
	{"\nCONNECT", "", 0},
	{"SUBSCRIB", "", 0},
	{"SEND\ndes", "", 0},
	{"\x10\x0e\x00\x04MQTT", MQTT, 0},
	{"\x10\x10\x00\x06MQIs", MQTT, 0},
	{"\x10\x80\x01\x00\x04MQT", MQTT, 0},
	{"\x10\x80\x80\x01\x00\x04MQ", MQTT, 0},
	{"\x10\x80\x80\x80\x01\x00\x04M", MQTT, 0},
	{"\x10\x80\x80\x80\x01\x00\x04X", "", 0},
	{"\x10\x0e\x00\x04HTTP", "", 0},
	{"\x10\x0e\x00\x06MQTT", MQTT, 0},
	{"\x10\x0e\x00\x06mqtt", "", 0},
	{"\x10\x0e\x00\x05hello", MQTT, 0}, // left for the codec to refuse
	{"\x10\x0e\x00\x00hello", MQTT, 0},
	{"\x10\x0e\x01\x04MQTT", "", 0},
	{"\x10\x80\x80\x80\x80\x01\x00\x04", "", 0}, // five bytes of length
	{"\x20\x0e\x00\x04MQTT", "", 0},
	{"GET / HT", http, 0},
	{"POST / H", http, 0},
	{"PUT / HT", http, 0},
	{"HEAD / H", http, 0},
	{"OPTIONS ", http, 0},
	{"PATCH / ", http, 0},
	{"DELETE /", http, 0},
	{"TRACE / ", http, 0},
	{"GEheimni", http, 0},
	{"ET / HTT", "", 0},
	{"E PO PU ", "", 0},
	{"CONNECT ", Stomp, 0},
	{"PROXY TC", proxy, 0},
	{"\r\n\r\n\x00\r\nQ", proxy, 0},
	{"\x16\x03\x01\x02\x00\x01\x00\x01", "", 0}, // TLS on a plain acceptor
	{"\x00\x00\x00\x0a\x0a\x00\x00\x00", "", 0}, // a core frame (PING) without preamble
	{"\xff\xff\xff\xff\xff\xff\xff\xff", "", 0},
}

func TestDetect(t *testing.T) {
	for _, d := range detections {
		if name, n := detect([]byte(d.first)); name != d.protocol || n != d.consumed {
			t.Errorf("%q: %q and %d bytes, want %q and %d", d.first, name, n, d.protocol, d.consumed)
		}
	}
}

func FuzzDetect(f *testing.F) {
	for _, d := range detections {
		f.Add([]byte(d.first))
	}
	f.Add([]byte("GET /\r\nUpgrade: websocket\r\n\r\n"))
	f.Fuzz(func(t *testing.T, p []byte) {
		httpUpgrade(p)
		if len(p) < detectSize {
			return
		}
		name, n := detect(p)
		if n != 0 && n != 7 || n == 7 && name != Core && name != HornetQ {
			t.Errorf("%q: %q and %d bytes", p, name, n)
		}
	})
}

// recorder is a handler that tells its protocol and what it got.
type recorder struct {
	name string
	got  chan string
}

func (r *recorder) Handle(c *Conn, data []byte) (int, error) {
	r.got <- r.name + " " + string(data)
	c.CloseAfterFlush(nil)
	return len(data), nil
}
func (r *recorder) EndOfBatch(*Conn)    {}
func (r *recorder) Drained(*Conn)       {}
func (r *recorder) Closed(*Conn, error) {}

func TestDetectionOnAnAcceptor(t *testing.T) {
	for _, test := range []struct {
		protocols  string   // parameter
		registered []string // besides
		send       string
		want       string // protocol and its bytes; empty: closed
		log        string
	}{
		{"", []string{Core}, "ARTEMIS\x00\x01", "CORE \x00\x01", ""},
		{"", []string{Core, HornetQ}, "HORNETQ\x00\x01", "HORNETQ \x00\x01", ""},
		{"", []string{Core, Stomp}, "STOMP\n\n\x00", "STOMP STOMP\n\n\x00", ""},
		{"CORE,STOMP", []string{Core, Stomp}, "CONNECT\n", "STOMP CONNECT\n", ""},
		// No protocol has such a start: HORNETQ if enabled, else CORE.
		{"", []string{Core, HornetQ}, "\x00\x00\x00\x0a\x0a\x00\x00\x00", "HORNETQ \x00\x00\x00\x0a\x0a\x00\x00\x00", ""},
		{"CORE,STOMP", []string{Core, HornetQ, Stomp}, "\x00\x00\x00\x0a\x0a\x00\x00\x00", "CORE \x00\x00\x00\x0a\x0a\x00\x00\x00", ""},
		{"STOMP", []string{Core, Stomp}, "\nCONNECT", "", "the peer speaks CORE, which is not enabled on this acceptor (parameter protocols)"},
		// Refused.
		{"CORE", []string{Core, AMQP}, "AMQP\x00\x01\x00\x00", "", "the peer speaks AMQP, which is not enabled on this acceptor (parameter protocols)"},
		{"CORE,AMQP", []string{Core}, "AMQP\x00\x01\x00\x00", "", "the peer speaks AMQP, which is not built into this broker yet"},
		{"", []string{Core}, "\x10\x0e\x00\x04MQTT", "", "the peer speaks MQTT, which is not built into this broker yet"},
		{"", []string{Core}, "PROXY TCP4 ", "", "the peer is a proxy that sends a PROXY header"},
	} {
		t.Run(test.protocols+" "+test.send, func(t *testing.T) {
			got := make(chan string, 1)
			s := serve(t, Config{}, map[string]string{"protocols": test.protocols}, func(*Conn) Handler { return &recorder{Core, got} })
			for _, name := range test.registered {
				s.Register(testProtocol{name, func(*Conn) Handler { return &recorder{name, got} }})
			}
			nc := s.dial(t)
			write(t, nc, []byte(test.send))
			expectEOF(t, nc)
			if test.want != "" {
				if g := receive(t, got, "first bytes"); g != test.want {
					t.Errorf("got %q, want %q", g, test.want)
				}
				return
			}
			s.log.waitFor(t, test.log)
			if n := strings.Count(s.log.String(), "[WARN]"); n != 1 {
				t.Errorf("%d warnings, want 1:\n%s", n, s.log)
			}
		})
	}
}

func TestPreambleInPieces(t *testing.T) {
	got := make(chan string, 1)
	s := serve(t, Config{}, nil, func(*Conn) Handler { return &recorder{Core, got} })
	nc := s.dial(t)
	nc.SetNoDelay(true)
	for _, b := range []byte("ARTEMIS!") {
		write(t, nc, []byte{b})
	}
	if g := receive(t, got, "first bytes"); g != "CORE !" {
		t.Errorf("got %q", g)
	}
}

func TestHTTP(t *testing.T) {
	for _, test := range []struct{ send, answer, log string }{
		{"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: activemq-remoting\r\n\r\n", "HTTP/1.1 403 Forbidden\r\n\r\n", "HTTP request answered HTTP/1.1 403 Forbidden"},
		{"GET / HTTP/1.1\r\nupgrade:  ActiveMQ-Remoting \r\n\r\n", "HTTP/1.1 403 Forbidden\r\n\r\n", "403"},
		{"GET /ws HTTP/1.1\r\nUpgrade: websocket\r\n\r\n", "HTTP/1.1 501 Not Implemented\r\ncontent-length: 0\r\n\r\n", "501"},
		{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "", "the peer speaks HTTP without a protocol upgrade"},
		{"GET / HTTP/1.1\r\nA: " + strings.Repeat("a", maxHTTPHead), "", "head of an HTTP request of more than 8192 bytes"},
	} {
		s := serve(t, Config{}, nil, func(*Conn) Handler { return nil })
		nc := s.dial(t)
		write(t, nc, []byte(test.send))
		if got, err := io.ReadAll(nc); string(got) != test.answer || err != nil {
			t.Errorf("%q: got %q, %v", test.send, got, err)
		}
		nc.Close()
		s.log.waitFor(t, test.log)
	}
}

func TestTimeouts(t *testing.T) {
	const soon = 50 * time.Millisecond
	for _, test := range []struct {
		name string
		send string
		log  string
	}{
		{"nothing is sent", "", ErrHandshakeTimeout.Error()},
		{"only the preamble is sent", "ARTEMIS", ErrHandshakeTimeout.Error()},
		{"half an HTTP head is sent", "GET / HTTP/1.1\r\n", ErrHandshakeTimeout.Error()},
		{"nobody logs in", "ARTEMIS\x00", ErrLoginTimeout.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newFramed(func(*framed, []byte) error { return nil })
			h.auth = false
			r := serve(t, Config{LoginTimeout: soon}, nil, func(*Conn) Handler { return h })
			o := r.acceptor.Options()
			o.Name, o.HandshakeTimeout = "soon", soon
			a, err := r.Listen(o)
			if err != nil {
				t.Fatal(err)
			}
			defer stop(t, a, r.Remoting)
			nc := (&server{acceptor: a}).dial(t)
			write(t, nc, []byte(test.send))
			expectEOF(t, nc)
			r.log.waitFor(t, test.log)
		})
	}
}
