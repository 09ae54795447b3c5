package transport

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// A framed handler speaks frames of a 4-byte length and a payload, and is what the tests drive connections with.
type framed struct {
	onFrame func(h *framed, payload []byte) error
	auth    bool // Authenticated with the first byte
	asks    bool // big frames by ReadBody

	c       *Conn
	body    []byte
	batches int
	drained chan struct{}
	closed  chan error
}

func newFramed(onFrame func(h *framed, payload []byte) error) *framed {
	return &framed{onFrame: onFrame, auth: true, asks: true, drained: make(chan struct{}, 1), closed: make(chan error, 1)}
}

func (h *framed) Handle(c *Conn, data []byte) (int, error) {
	if h.c == nil {
		h.c = c
	}
	if h.auth {
		c.Authenticated()
	}
	n := 0
	for len(data)-n >= 4 && !c.Paused() {
		size := 4 + int(binary.BigEndian.Uint32(data[n:]))
		if len(data)-n < size {
			if size >= RefSize && h.asks {
				return n, c.ReadBody(size)
			}
			break
		}
		if err := h.onFrame(h, data[n+4:n+size]); err != nil {
			return n, err
		}
		n += size
	}
	return n, nil
}

func (h *framed) Body(c *Conn, n int) ([]byte, error) {
	h.body = make([]byte, n)
	return h.body, nil
}

func (h *framed) Filled(c *Conn) error { return h.onFrame(h, h.body[4:]) }

func (h *framed) EndOfBatch(c *Conn) {
	h.batches++
	c.Output().Flush()
}

func (h *framed) Drained(*Conn) {
	select {
	case h.drained <- struct{}{}:
	default:
	}
}

func (h *framed) Closed(c *Conn, err error) { h.closed <- err }

// waitClosed returns the reason of the close.
func (h *framed) waitClosed(t *testing.T) error {
	t.Helper()
	return receive(t, h.closed, "Closed")
}

func receive[T any](t *testing.T, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(10 * time.Second):
		t.Fatalf("no %s within 10 s", what)
		panic("unreachable")
	}
}

// send appends a frame with the payload to the output.
func send(c *Conn, payload []byte) {
	o := c.Output()
	o.Lock()
	p := o.Reserve(4 + len(payload))
	binary.BigEndian.PutUint32(p, uint32(len(payload)))
	copy(p[4:], payload)
	o.Unlock()
}

// echo answers each frame with itself.
func echo(h *framed, payload []byte) error {
	send(h.c, payload)
	return nil
}

// frame is a frame as bytes.
func frame(payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	p := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(r, p)
	return p, err
}

// A testProtocol gives each connection a handler.
type testProtocol struct {
	name   string
	accept func(c *Conn) Handler
}

func (p testProtocol) Name() string           { return p.name }
func (p testProtocol) Accept(c *Conn) Handler { return p.accept(c) }

// A server is a remoting with one acceptor whose CORE connections get the handlers of the channel conns.
type server struct {
	*Remoting
	acceptor *Acceptor
	log      *logBuffer
}

type logBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// waitFor waits until the log contains text.
func (l *logBuffer) waitFor(t *testing.T, text string) {
	t.Helper()
	eventually(t, "log line with "+text, func() bool { return strings.Contains(l.String(), text) })
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", what)
		}
		<-tick.C
	}
}

func serve(t testing.TB, cfg Config, params map[string]string, accept func(c *Conn) Handler) *server {
	t.Helper()
	log := &logBuffer{}
	cfg.Log = hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Debug})
	r := NewRemoting(cfg)
	r.Register(testProtocol{Core, accept})
	o, _, err := ParseAcceptor("artemis", "127.0.0.1", 0, params)
	if err != nil {
		t.Fatal(err)
	}
	a, err := r.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, a, r) })
	return &server{Remoting: r, acceptor: a, log: log}
}

func contextDone() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx, cancel
}

// stop ends the acceptor at once and checks that every account is zero.
func stop(t testing.TB, a *Acceptor, r *Remoting) {
	ctx, cancel := contextDone()
	defer cancel()
	a.Stop(ctx)
	if n := r.cfg.Budget.Used(); n != 0 {
		t.Errorf("budget of frames being read holds %d bytes after stop", n)
	}
	if n := r.cfg.Outputs.Used(); n != 0 {
		t.Errorf("account of outputs holds %d bytes after stop", n)
	}
	if n := r.Unauthenticated(); n != 0 {
		t.Errorf("%d unauthenticated connections after stop", n)
	}
}

func (s *server) dial(t testing.TB) *net.TCPConn {
	t.Helper()
	nc, err := net.Dial("tcp", s.acceptor.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(30 * time.Second))
	return nc.(*net.TCPConn)
}

func (s *server) dialCore(t testing.TB) *net.TCPConn {
	t.Helper()
	nc := s.dial(t)
	write(t, nc, []byte("ARTEMIS"))
	return nc
}

func write(t testing.TB, w io.Writer, p []byte) {
	t.Helper()
	if _, err := w.Write(p); err != nil {
		t.Fatal(err)
	}
}

func expectEOF(t *testing.T, r io.Reader) {
	t.Helper()
	n, err := io.Copy(io.Discard, r)
	if n > 0 || err != nil {
		t.Fatalf("got %d bytes and %v, want the end of the stream at once", n, err)
	}
}

func TestFramesSplitAnywhere(t *testing.T) {
	s := serve(t, Config{}, nil, func(*Conn) Handler { return newFramed(echo) })
	nc := s.dialCore(t)
	var stream []byte
	var want [][]byte
	for _, size := range []int{0, 1, 7, 1000, RefSize - 5, RefSize - 4, RefSize, 100_000, 3, readSize, 2*readSize + 1, 9} {
		p := make([]byte, size)
		for i := range p {
			p[i] = byte(i*7 + size)
		}
		want = append(want, p)
		stream = append(stream, frame(p)...)
	}
	for _, piece := range []int{1 << 30, 1, 13, 4096, 70_000} {
		t.Run(fmt.Sprint(piece), func(t *testing.T) {
			bytes := stream
			if piece == 1 {
				bytes = stream[:3000]
			}
			go func() {
				for len(bytes) > 0 {
					n := min(piece, len(bytes))
					if _, err := nc.Write(bytes[:n]); err != nil {
						return
					}
					bytes = bytes[n:]
				}
				if piece == 1 {
					nc.Write(stream[3000:])
				}
			}()
			for i, w := range want {
				got, err := readFrame(nc)
				if err != nil || string(got) != string(w) {
					t.Fatalf("frame %d of %d bytes: got %d bytes, %v", i, len(w), len(got), err)
				}
			}
		})
	}
}

func TestFlushOncePerBatch(t *testing.T) {
	h := newFramed(echo)
	s := serve(t, Config{}, nil, func(*Conn) Handler { return h })
	nc := s.dial(t)
	// 1000 frames of 11 bytes in one segment with the preamble: few reads, whatever the kernel does.
	stream := []byte("ARTEMIS")
	for range 1000 {
		stream = append(stream, frame([]byte("message"))...)
	}
	write(t, nc, stream)
	for range 1000 {
		if _, err := readFrame(nc); err != nil {
			t.Fatal(err)
		}
	}
	nc.Close()
	h.waitClosed(t)
	if h.batches > 20 {
		t.Errorf("%d batches for 1000 frames sent at once", h.batches)
	}
}

func TestBounds(t *testing.T) {
	big := frame(make([]byte, 1<<20))
	for _, test := range []struct {
		name   string
		setup  func(h *framed, c *Conn)
		send   []byte
		reason error
	}{
		{"frame of 16 KiB before authentication", func(h *framed, c *Conn) { h.auth = false }, big[:RefSize], ErrBigFrame},
		{"and without asking", func(h *framed, c *Conn) { h.auth, h.asks = false, false }, big[:RefSize], ErrBigFrame},
		{"64 KiB of small frames before authentication", func(h *framed, c *Conn) { h.auth = false }, make([]byte, PreAuthBytes+4), ErrTooMuchPreAuth},
		{"frame over the bound", func(h *framed, c *Conn) { c.SetMaxFrame(1 << 20) }, big[:RefSize], ErrBigFrame},
		{"frame not asked for", func(h *framed, c *Conn) { h.asks = false }, big[:RefSize], ErrBigFrame},
		{"end inside a frame", func(h *framed, c *Conn) {}, big[:RefSize], io.ErrUnexpectedEOF},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newFramed(func(*framed, []byte) error { return nil })
			s := serve(t, Config{}, nil, func(c *Conn) Handler { test.setup(h, c); return h })
			nc := s.dialCore(t)
			write(t, nc, test.send)
			nc.CloseWrite()
			if err := h.waitClosed(t); !errors.Is(err, test.reason) {
				t.Errorf("closed with %v, want %v", err, test.reason)
			}
			s.log.waitFor(t, "[WARN]  connection closed: acceptor=artemis remote=127.0.0.1:")
		})
	}
}

func TestHandlerError(t *testing.T) {
	refused := errors.New("bad packet type")
	h := newFramed(func(h *framed, p []byte) error { return refused })
	s := serve(t, Config{}, nil, func(*Conn) Handler { return h })
	nc := s.dialCore(t)
	write(t, nc, frame(nil))
	if err := h.waitClosed(t); err != refused {
		t.Errorf("closed with %v", err)
	}
	expectEOF(t, nc)
	s.log.waitFor(t, `protocol=CORE reason="bad packet type"`)
}

func TestCloseAfterFlush(t *testing.T) {
	bye := errors.New("goodbye")
	h := newFramed(func(h *framed, p []byte) error {
		send(h.c, make([]byte, 4<<20)) // more than the socket takes at once
		h.c.CloseAfterFlush(bye)
		return nil
	})
	s := serve(t, Config{}, nil, func(*Conn) Handler { return h })
	nc := s.dialCore(t)
	write(t, nc, append(frame(nil), make([]byte, 100_000)...)) // unread input must not cut the answer off
	p, err := readFrame(nc)
	if err != nil || len(p) != 4<<20 {
		t.Fatalf("got %d bytes, %v", len(p), err)
	}
	expectEOF(t, nc)
	nc.Close()
	if err := h.waitClosed(t); err != bye {
		t.Errorf("closed with %v", err)
	}
}

func TestPause(t *testing.T) {
	// Each frame pauses the connection, and a second goroutine resumes it: no frame is lost, none handled while paused.
	const frames = 500
	resume := make(chan *Conn, 1)
	handled := make(chan byte, frames)
	h := newFramed(func(h *framed, p []byte) error {
		handled <- p[0]
		h.c.Pause()
		resume <- h.c
		return nil
	})
	s := serve(t, Config{}, nil, func(*Conn) Handler { return h })
	go func() {
		for range frames {
			(<-resume).Resume()
		}
	}()
	nc := s.dialCore(t)
	var stream []byte
	for i := range frames {
		stream = append(stream, frame([]byte{byte(i)})...)
	}
	write(t, nc, stream)
	for i := range frames {
		if got := receive(t, handled, "frame"); got != byte(i) {
			t.Fatalf("frame %d has %d", i, got)
		}
	}
}

func TestPauseHoldsThePeerUp(t *testing.T) {
	var got int
	first := make(chan *Conn, 1)
	last := make(chan struct{})
	h := newFramed(func(h *framed, p []byte) error {
		if got += len(p); got == len(p) {
			h.c.Pause()
			first <- h.c
		}
		if got == 64<<20 {
			close(last)
		}
		return nil
	})
	s := serve(t, Config{}, nil, func(*Conn) Handler { return h })
	nc := s.dialCore(t)
	sent := make(chan error, 1)
	go func() {
		for range 64 << 10 {
			if _, err := nc.Write(frame(make([]byte, 1<<10))); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	c := receive(t, first, "frame")
	// The peer sends until its window is closed; then nothing more is read.
	var read int64
	eventually(t, "peer held up", func() bool {
		now := c.BytesRead()
		still := now == read && now > 0
		read = now
		return still
	})
	if read > 2*readSize {
		t.Errorf("%d bytes were read while paused", read)
	}
	c.Resume()
	receive(t, last, "last frame")
	if err := receive(t, sent, "end of sending"); err != nil {
		t.Fatal(err)
	}
}

func TestCloseWhilePaused(t *testing.T) {
	h := newFramed(func(h *framed, p []byte) error { h.c.Pause(); go h.c.Close(nil); return nil })
	s := serve(t, Config{}, nil, func(*Conn) Handler { return h })
	nc := s.dialCore(t)
	write(t, nc, frame(nil))
	if err := h.waitClosed(t); err != nil {
		t.Errorf("closed with %v", err)
	}
	expectEOF(t, nc)
}
