package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestParseAcceptor(t *testing.T) {
	params := map[string]string{
		"protocols":            "CORE, MQTT,WURST",
		"tcpNoDelay":           "false",
		"tcpSendBufferSize":    "1048576",
		"tcpReceiveBufferSize": "-1",
		"backlog":              "50",
		"connectionsAllowed":   "7",
		"handshake-timeout":    "3",
		"amqpCredits":          "1000",
		"sslEnabled":           "true",
		"keyStorePath":         "a.jks",
		"keyStorePassword":     "secret",
		"needClientAuth":       "TRUE",
		"enabledProtocols":     "TLSv1.2,TLSv1.3",
	}
	got, unknown, err := ParseAcceptor("artemis", "127.0.0.1, ::1", 61616, params)
	if err != nil {
		t.Fatal(err)
	}
	want := AcceptorOptions{
		Name: "artemis", Hosts: []string{"127.0.0.1", "::1"}, Port: 61616,
		Protocols: []string{Core, MQTT}, ConnectionsAllowed: 7, HandshakeTimeout: 3 * time.Second, Backlog: 50,
		TCP: TCPOptions{NoDelay: false, SendBuffer: 1048576},
		TLS: TLSOptions{
			Enabled:        true,
			KeyStore:       StoreOptions{Path: "a.jks", Password: "secret", KeyPassword: "secret", Type: "JKS"},
			TrustStore:     StoreOptions{Type: "JKS"},
			NeedClientAuth: true,
			Protocols:      []string{"TLSv1.2", "TLSv1.3"},
		},
		Params: params,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if fmt.Sprint(unknown) != "[WURST]" {
		t.Errorf("unknown protocols %v", unknown)
	}

	got, _, err = ParseAcceptor("a", "", 1, nil)
	if err != nil || got.ConnectionsAllowed != -1 || got.HandshakeTimeout != 10*time.Second || !got.TCP.NoDelay || got.Hosts[0] != "localhost" || got.TLS.VerifyHost {
		t.Errorf("defaults: %+v, %v", got, err)
	}
	c, err := ParseConnector("a", "h", 1, map[string]string{"connect-timeout-millis": "5000"})
	if err != nil || !c.TLS.VerifyHost || c.ConnectTimeout != 5*time.Second {
		t.Errorf("connector: %+v, %v", c, err)
	}
}

func TestParseErrors(t *testing.T) {
	for name, want := range map[string]string{
		"connectionsAllowed=many":   "transport: acceptor a: parameter connectionsAllowed=many: not an integer",
		"handshake-timeout=":        "transport: acceptor a: parameter handshake-timeout=: not an integer",
		"proxyProtocolEnabled=true": "transport: acceptor a: parameter proxyProtocolEnabled=true: the PROXY protocol is not supported: clients would appear under the proxy's address",
	} {
		k, v, _ := strings.Cut(name, "=")
		if _, _, err := ParseAcceptor("a", "", 1, map[string]string{k: v}); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParseConnector("c", "", 1, map[string]string{"socksEnabled": "true"}); err == nil {
		t.Error("socksEnabled is accepted")
	}
}

func TestPortInUse(t *testing.T) {
	s := serve(t, Config{}, nil, func(*Conn) Handler { return nil })
	_, port, _ := net.SplitHostPort(s.acceptor.Addr())
	o := s.acceptor.Options()
	o.Name = "second"
	o.Port, _ = strconv.Atoi(port)
	_, err := s.Listen(o)
	want := "transport: acceptor second: 127.0.0.1:" + port + " is in use by another program (or another broker): stop it"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v", err)
	}
	if n := len(s.Acceptors()); n != 1 {
		t.Errorf("%d acceptors, want 1", n)
	}
	o.Name = "artemis"
	o.Port = 0
	if _, err := s.Listen(o); err == nil || err.Error() != "transport: acceptor artemis exists already" {
		t.Errorf("%v", err)
	}
}

func TestConnectionsAllowed(t *testing.T) {
	s := serve(t, Config{}, map[string]string{"connectionsAllowed": "2"}, func(*Conn) Handler { return newFramed(echo) })
	var open []net.Conn
	for range 2 {
		nc := s.dialCore(t)
		write(t, nc, frame([]byte("x")))
		if _, err := readFrame(nc); err != nil {
			t.Fatal(err)
		}
		open = append(open, nc)
	}
	if n := len(s.Connections()); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
	expectEOF(t, s.dial(t)) // closed at once without data
	s.log.waitFor(t, "connection refused: the acceptor has as many as it may have (connectionsAllowed)")
	open[0].Close()
	eventually(t, "one place free", func() bool { return len(s.Connections()) == 1 })
	nc := s.dialCore(t)
	write(t, nc, frame([]byte("x")))
	if _, err := readFrame(nc); err != nil {
		t.Error(err)
	}
}

// TestUnauthenticatedBound: silent connections take all places; one that logs in gets in nevertheless, after the second
// that every connection has.
func TestUnauthenticatedBound(t *testing.T) {
	s := serve(t, Config{MaxUnauthenticated: 3}, nil, func(*Conn) Handler { return newFramed(echo) })
	silent := make([]*net.TCPConn, 3)
	for i := range silent {
		silent[i] = s.dial(t)
	}
	eventually(t, "three waiting", func() bool { return s.Unauthenticated() == 3 })
	start := time.Now()
	nc := s.dialCore(t)
	write(t, nc, frame([]byte("login")))
	if _, err := readFrame(nc); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("it took %s", d)
	}
	expectEOF(t, silent[0])
	s.log.waitFor(t, errDisplaced.Error())
	if n := s.Unauthenticated(); n != 2 {
		t.Errorf("%d unauthenticated, want the two silent ones", n)
	}
	// Authenticated connections take no place.
	for range 10 {
		nc := s.dialCore(t)
		write(t, nc, frame([]byte("login")))
		if _, err := readFrame(nc); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPauseAndStopAcceptor(t *testing.T) {
	h := newFramed(echo)
	s := serve(t, Config{}, nil, func(*Conn) Handler { return h })
	nc := s.dialCore(t)
	write(t, nc, frame([]byte("1")))
	if _, err := readFrame(nc); err != nil {
		t.Fatal(err)
	}
	s.acceptor.Pause()
	s.acceptor.Pause()
	if s.acceptor.Started() {
		t.Error("started while paused")
	}
	if nc, err := net.Dial("tcp", s.acceptor.Addr()); err == nil {
		nc.Close()
		t.Error("a paused acceptor accepts")
	}
	write(t, nc, frame([]byte("2")))
	if _, err := readFrame(nc); err != nil {
		t.Errorf("open connection while the acceptor is paused: %v", err)
	}
	if err := s.acceptor.Resume(); err != nil {
		t.Fatal(err)
	}
	s.dial(t).Close()

	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	s.acceptor.Stop(ctx)
	if err := h.waitClosed(t); err != ErrStopped {
		t.Errorf("closed with %v", err)
	}
	if err := s.acceptor.Resume(); err == nil {
		t.Error("a stopped acceptor resumes")
	}
}

func TestStopWaitsForConnections(t *testing.T) {
	h := newFramed(echo)
	s := serve(t, Config{}, nil, func(*Conn) Handler { return h })
	nc := s.dialCore(t)
	write(t, nc, frame([]byte("1")))
	if _, err := readFrame(nc); err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Connections() {
		send(c, []byte("disconnect"))
		c.CloseAfterFlush(nil)
	}
	go func() {
		readFrame(nc)
		nc.Close()
	}()
	s.acceptor.Stop(context.Background())
	if err := h.waitClosed(t); err != nil {
		t.Errorf("closed with %v", err)
	}
}

func TestHalfOpenPeer(t *testing.T) {
	// The peer stops in the middle of a big frame: it must not hold the budget for ever.
	budget := NewBudget(1 << 20)
	h := newFramed(echo)
	s := serve(t, Config{Budget: budget, StallTimeout: 100 * time.Millisecond}, nil, func(*Conn) Handler { return h })
	nc := s.dialCore(t)
	write(t, nc, frame(make([]byte, 1<<19))[:1<<18])
	eventually(t, "the whole frame on the budget", func() bool { return budget.Used() == 4+1<<19 })
	if err := h.waitClosed(t); !errors.Is(err, ErrStalled) {
		t.Errorf("closed with %v", err)
	}
	if n := budget.Used(); n != 0 {
		t.Errorf("budget holds %d bytes", n)
	}
}

func TestBudgetIsWaitedFor(t *testing.T) {
	budget := NewBudget(1 << 20)
	s := serve(t, Config{Budget: budget}, nil, func(*Conn) Handler { return newFramed(echo) })
	big := frame(make([]byte, 700_000)) // two of them are too much
	first, second := s.dialCore(t), s.dialCore(t)
	write(t, first, big[:RefSize])
	eventually(t, "first on the budget", func() bool { return budget.Used() == int64(len(big)) })
	go second.Write(big)
	eventually(t, "second waiting", func() bool {
		budget.mu.Lock()
		defer budget.mu.Unlock()
		return len(budget.waiting) == 1
	})
	// A frame that needs no budget is not held up, on another connection.
	third := s.dialCore(t)
	write(t, third, frame([]byte("small")))
	if _, err := readFrame(third); err != nil {
		t.Fatal(err)
	}
	go first.Write(big[RefSize:])
	for _, nc := range []net.Conn{first, second} {
		if p, err := readFrame(nc); err != nil || len(p) != 700_000 {
			t.Fatalf("%d bytes, %v", len(p), err)
		}
	}
	eventually(t, "budget given back", func() bool { return budget.Used() == 0 })
}

func TestBudget(t *testing.T) {
	b := NewBudget(10)
	if err := b.Acquire(11, 0, nil); err == nil {
		t.Error("more than the bound is granted")
	}
	if err := b.Acquire(8, 0, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Acquire(3, time.Millisecond, nil); err != ErrBudget {
		t.Errorf("got %v", err)
	}
	done := make(chan struct{})
	close(done)
	if err := b.Acquire(3, 0, done); err != errClosed {
		t.Errorf("got %v", err)
	}
	// In the order of asking: the small one behind the large one waits too, and gets its turn when that one gives up.
	large, small := make(chan error, 1), make(chan error, 1)
	giveUp := make(chan struct{})
	go func() { large <- b.Acquire(5, 0, giveUp) }()
	eventually(t, "large waiting", func() bool { return waitingFor(b) == 1 })
	go func() { small <- b.Acquire(1, 0, nil) }()
	eventually(t, "small waiting", func() bool { return waitingFor(b) == 2 })
	close(giveUp)
	if err := receive(t, large, "large"); err != errClosed {
		t.Errorf("got %v", err)
	}
	if err := receive(t, small, "small"); err != nil {
		t.Errorf("got %v", err)
	}
	b.Release(8)
	b.Release(1)
	if b.Used() != 0 {
		t.Errorf("used %d", b.Used())
	}
}

func waitingFor(b *Budget) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// TestIdleConnection measures what a connection costs that has moved 250 KiB each way and is idle: heap and stack. The
// client's end is in the same process and counts too. With TLS it is only shown that no read buffer is kept.
func TestIdleConnection(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.server(t, "broker.example")
	for _, test := range []struct {
		name        string
		params      map[string]string
		connections int
		bound       int64
	}{
		{"plain", nil, 2000, 10 << 10},
		{"TLS", with(a.keyStores(t, cert, key)["PEM"]), 200, 100 << 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			if underRace {
				test.connections = 20
			}
			s := serve(t, Config{MaxUnauthenticated: test.connections}, test.params, func(*Conn) Handler { return newFramed(echo) })
			payload := frame(make([]byte, 1000))
			buf := make([]byte, 250*len(payload))
			open := func(n int) {
				for range n {
					var nc net.Conn = s.dial(t)
					if test.params != nil {
						nc = tls.Client(nc, &tls.Config{InsecureSkipVerify: true})
					}
					write(t, nc, []byte("ARTEMIS"))
					go func() {
						for range 250 {
							nc.Write(payload)
						}
					}()
					if _, err := io.ReadFull(nc, buf); err != nil {
						t.Fatal(err)
					}
				}
			}
			inUse := func() (heap, stack uint64) {
				for range 4 { // shrinks stacks, empties pools
					runtime.GC()
				}
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return m.HeapAlloc, m.StackInuse
			}
			open(20)
			heap0, stack0 := inUse()
			open(test.connections)
			heap, stack := inUse()
			heapEach := int64(heap-heap0) / int64(test.connections)
			stackEach := int64(stack-stack0) / int64(test.connections)
			t.Logf("per idle connection: heap %d, stack %d bytes", heapEach, stackEach)
			if heapEach+stackEach > test.bound {
				t.Errorf("an idle connection costs %d bytes, more than %d", heapEach+stackEach, test.bound)
			}
		})
	}
}
