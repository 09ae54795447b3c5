package relay

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// patience is how long something may take on a busy machine, a moment how long is waited for what must not come.
const (
	patience = 10 * time.Second
	moment   = 100 * time.Millisecond
)

// A stage is a service behind a relay.
type stage struct {
	t       *testing.T
	link    *Link
	relay   *Relay
	service net.Listener
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, link: &Link{}, service: listen(t)}
	s.relay = New(listen(t), Options{
		Dial: func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", s.service.Addr().String())
		},
		Link: func(net.Conn) *Link { return s.link },
	})
	t.Cleanup(s.relay.Close)
	return s
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func (s *stage) dial() net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.relay.listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

// connect makes a connection: its ends at the client and at the service.
func (s *stage) connect() (client, server net.Conn) {
	s.t.Helper()
	client = s.dial()
	server, err := s.service.Accept()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { server.Close() })
	return client, server
}

// send may be called on any goroutine.
func (s *stage) send(c net.Conn, n int) {
	s.t.Helper()
	if _, err := c.Write(make([]byte, n)); err != nil {
		s.t.Error(err)
	}
}

// arrives waits for n bytes and returns how long that took.
func (s *stage) arrives(c net.Conn, n int) time.Duration {
	s.t.Helper()
	began := time.Now()
	_ = c.SetReadDeadline(began.Add(patience))
	if _, err := io.ReadFull(c, make([]byte, n)); err != nil {
		s.t.Fatalf("%d bytes: %v", n, err)
	}
	return time.Since(began)
}

// silent checks that nothing comes, not even the end.
func (s *stage) silent(c net.Conn) {
	s.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(moment))
	var timeout net.Error
	if n, err := c.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() {
		s.t.Errorf("%d bytes, %v, want silence", n, err)
	}
}

// ends waits for the end of a stream and returns how many bytes came before it and whether it was a reset.
func (s *stage) ends(c net.Conn) (n int, reset bool) {
	s.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(patience))
	b, err := io.ReadAll(c)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		s.t.Fatalf("no end after %d bytes", len(b))
	}
	return len(b), err != nil
}

func TestGoodNetwork(t *testing.T) {
	s := newStage(t)
	client, server := s.connect()
	const n = 1 << 20
	go s.send(client, n)
	s.arrives(server, n)
	go s.send(server, n)
	s.arrives(client, n)
	if err := client.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if n, reset := s.ends(server); n != 0 || reset {
		t.Errorf("the end: %d bytes, reset %v", n, reset)
	}
	s.send(server, 5) // the other direction stays
	s.arrives(client, 5)
	server.Close()
	if n, reset := s.ends(client); n != 0 || reset {
		t.Errorf("the other end: %d bytes, reset %v", n, reset)
	}
}

// TestHold: one direction is held; what was sent comes later, the end of the stream, too.
func TestHold(t *testing.T) {
	for _, held := range []Direction{Out, Back} {
		s := newStage(t)
		client, server := s.connect()
		from, to := client, server
		if held == Back {
			from, to = server, client
		}
		s.link.Set(held, Rule{Hold: true})
		s.send(from, 10)
		s.silent(to)
		s.send(to, 7)
		s.arrives(from, 7)
		from.Close()
		s.silent(to)

		late := s.dial()
		s.silent(late)
		accepted := make(chan struct{})
		go func() {
			if c, err := s.service.Accept(); err == nil {
				c.Close()
			}
			close(accepted)
		}()
		select {
		case <-accepted:
			t.Error("a connection is made while a direction is held")
		case <-time.After(moment):
		}

		s.link.Set(held, Rule{})
		s.arrives(to, 10)
		<-accepted
		if n, _ := s.ends(late); n != 0 {
			t.Errorf("%d bytes", n)
		}
	}
}

func TestResetIsHeld(t *testing.T) {
	s := newStage(t)
	client, server := s.connect()
	s.link.Set(Out, Rule{Hold: true})
	abort(client.(*net.TCPConn))
	s.silent(server)
	s.link.Set(Out, Rule{})
	if _, reset := s.ends(server); !reset {
		t.Error("the reset does not arrive as one")
	}
}

func TestDelay(t *testing.T) {
	s := newStage(t)
	client, server := s.connect()
	const delay = 80 * time.Millisecond
	s.link.Set(Back, Rule{Delay: delay})
	began := time.Now()
	s.send(server, 1)
	s.arrives(client, 1)
	if took := time.Since(began); took < delay {
		t.Errorf("a byte took %v, want at least %v", took, delay)
	}
}

func TestRate(t *testing.T) {
	s := newStage(t)
	client, server := s.connect()
	const rate, n = 1 << 20, 4 * segmentSize
	s.link.Set(Out, Rule{Rate: rate})
	began := time.Now()
	go s.send(client, n)
	s.arrives(server, n)
	// The last segment is not waited for after it has left.
	if took, least := time.Since(began), (n-segmentSize)*time.Second/rate; took < least {
		t.Errorf("%d bytes took %v, want at least %v", n, took, least)
	}
}

func TestLoss(t *testing.T) {
	s := newStage(t)
	client, server := s.connect()
	s.link.Set(Out, Rule{Loss: 0.999999}) // each segment is lost as often as one can be
	began := time.Now()
	s.send(client, 1)
	s.silent(server)
	s.arrives(server, 1)
	if took, least := time.Since(began), 200*time.Millisecond*(1<<maxLosses-1); took < least {
		t.Errorf("a lost segment took %v, want at least %v", took, least)
	}
}

// TestBreak: the connection ends in the middle of what was sent, another one is not concerned until it has carried as much.
func TestBreak(t *testing.T) {
	s := newStage(t)
	client, server := s.connect()
	other, otherServer := s.connect()
	s.link.Set(Out, Rule{Break: 1000})
	s.send(client, 600)
	s.arrives(server, 600)
	s.send(client, 600)
	if n, reset := s.ends(server); n != 400 || reset {
		t.Errorf("%d bytes before the end, reset %v, want 400, an end in order", n, reset)
	}
	if n, reset := s.ends(client); n != 0 || reset {
		t.Errorf("the client sees %d bytes, reset %v", n, reset)
	}
	s.send(other, 900)
	s.arrives(otherServer, 900)
}

// TestHalfOpen: the end that the direction leads to sees a reset, the other nothing.
func TestHalfOpen(t *testing.T) {
	for _, d := range []Direction{Out, Back} {
		s := newStage(t)
		client, server := s.connect()
		sees, hears := server, client
		if d == Back {
			sees, hears = client, server
		}
		s.link.HalfOpen(d)
		if _, reset := s.ends(sees); !reset {
			t.Error("no reset")
		}
		s.send(hears, 10)
		s.silent(hears)
		s.connect() // a new connection is a good one
	}
}

func TestReset(t *testing.T) {
	s := newStage(t)
	client, server := s.connect()
	s.link.Set(Out, Rule{Hold: true})
	s.link.Reset()
	for _, c := range []net.Conn{client, server} {
		if _, reset := s.ends(c); !reset {
			t.Error("no reset")
		}
	}
	deadline := time.Now().Add(patience)
	for s.link.Connections() > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are left", s.link.Connections())
		}
		<-time.After(time.Millisecond)
	}
}

func TestNobodysConnection(t *testing.T) {
	r := New(listen(t), Options{Link: func(net.Conn) *Link { return nil }})
	defer r.Close()
	c, err := net.Dial("tcp", r.listener.Addr().String())
	if errors.Is(err, syscall.ECONNRESET) { // already
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := &stage{t: t}
	if _, reset := s.ends(c); !reset {
		t.Error("no reset")
	}
}
