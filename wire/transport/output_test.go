package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A reference counts its releases.
type reference struct {
	p        []byte
	released atomic.Int32
	all      *atomic.Int64 // references not released yet
}

func (r *reference) Release() {
	if r.released.Add(1) > 1 {
		panic("released twice")
	}
	for i := range r.p {
		r.p[i] = 0xee // a late write to the socket would show
	}
	r.all.Add(-1)
}

// connected is a client's socket and the connection at the other end, which handles nothing.
func connected(t testing.TB, s *server, h *framed) (net.Conn, *Conn) {
	t.Helper()
	opened := make(chan *Conn, 1)
	h.onFrame = func(h *framed, _ []byte) error { opened <- h.c; return nil }
	nc := s.dialCore(t)
	write(t, nc, frame(nil))
	return nc, <-opened
}

func newConnected(t testing.TB, cfg Config) (net.Conn, *Conn, *framed) {
	h := newFramed(nil)
	s := serve(t, cfg, nil, func(*Conn) Handler { return h })
	nc, c := connected(t, s, h)
	return nc, c, h
}

// TestOutputStress lets several goroutines append and flush while the peer reads in fits. Every message must arrive
// whole, in its appender's order, and every reference be released once.
func TestOutputStress(t *testing.T) {
	appenders, messages := 4, 800
	if underRace {
		messages = 200
	}
	for _, cut := range []bool{false, true} {
		t.Run(fmt.Sprintf("cut=%v", cut), func(t *testing.T) {
			nc, c, h := newConnected(t, Config{})
			nc.(*net.TCPConn).SetReadBuffer(128 << 10) // the writer has to park often
			var live atomic.Int64
			var wg sync.WaitGroup
			for a := range appenders {
				wg.Add(1)
				go func() {
					defer wg.Done()
					rnd := rand.New(rand.NewPCG(uint64(a), 1))
					o := c.Output()
					for i := range messages {
						o.Lock()
						for o.Full() && !cut {
							o.Unlock()
							select {
							case <-h.drained:
								h.Drained(nil) // for the other appenders
							case <-time.After(20 * time.Second):
								t.Error("Drained was not called")
								return
							}
							o.Lock()
						}
						size := rnd.IntN(300)
						if rnd.IntN(10) == 0 {
							size = RefSize + rnd.IntN(100_000)
						}
						body := make([]byte, size)
						for j := range body {
							body[j] = byte(a + i + j)
						}
						p := o.Reserve(12 + 50)
						binary.BigEndian.PutUint32(p, uint32(8+size))
						binary.BigEndian.PutUint32(p[4:], uint32(a))
						binary.BigEndian.PutUint32(p[8:], uint32(i))
						o.Trim(50)
						if size >= RefSize {
							live.Add(1)
							o.AppendRef(body, &reference{p: body, all: &live})
						} else {
							o.Append(body)
						}
						o.Unlock()
						if rnd.IntN(3) > 0 {
							o.Flush()
						}
					}
					o.Flush()
				}()
			}
			next := make([]uint32, appenders)
			n := appenders * messages
			if cut {
				n /= 3
			}
			for range n {
				p, err := readFrame(nc)
				if err != nil {
					t.Fatal(err)
				}
				a, i := binary.BigEndian.Uint32(p), binary.BigEndian.Uint32(p[4:])
				if i != next[a] {
					t.Fatalf("message %d of appender %d, want %d", i, a, next[a])
				}
				next[a]++
				for j, b := range p[8:] {
					if b != byte(int(a)+int(i)+j) {
						t.Fatalf("message %d of appender %d differs at byte %d", i, a, j)
					}
				}
			}
			if cut {
				nc.Close()
			}
			wg.Wait()
			if cut {
				h.waitClosed(t)
			}
			eventually(t, "all references released", func() bool { return live.Load() == 0 })
			if a := c.outputs.Used(); !cut {
				eventually(t, "output empty", func() bool {
					c.Output().Lock()
					defer c.Output().Unlock()
					return c.Output().Size() == 0
				})
			} else if a != 0 {
				t.Errorf("account of outputs holds %d bytes", a)
			}
		})
	}
}

// fill appends messages of n bytes until the output is full and tells how many it took.
func fill(c *Conn, n int) (messages int) {
	o := c.Output()
	o.Lock()
	defer o.Unlock()
	for !o.Full() {
		if n >= RefSize {
			o.AppendRef(make([]byte, n), releaseNothing{})
		} else {
			o.Reserve(n)
		}
		messages++
	}
	return messages
}

type releaseNothing struct{}

func (releaseNothing) Release() {}

func TestOutputBound(t *testing.T) {
	for _, test := range []struct{ size, messages int }{
		{100, (OutputBound + 99) / 100},
		{1 << 10, 1024},
		{RefSize, 64},
		{100_000, 16},     // 16 messages, though they are more than 1 MiB
		{1 << 20, 16},     //
		{64 << 10, 16},    // both bounds at once
		{32 << 10, 32},    // 1 MiB, though they are more than 16
		{RefSize - 1, 65}, // copied ones have the bound of bytes alone
	} {
		_, c, h := newConnected(t, Config{})
		if n := fill(c, test.size); n != test.messages {
			t.Errorf("full with %d messages of %d bytes, want %d", n, test.size, test.messages)
		}
		c.Close(nil)
		h.waitClosed(t)
		if o := c.Output(); !func() bool { o.Lock(); defer o.Unlock(); return o.Full() }() {
			t.Error("the output of a closed connection is not full")
		}
	}
}

func TestDrained(t *testing.T) {
	for _, size := range []int{1 << 10, 1 << 20} {
		nc, c, h := newConnected(t, Config{})
		total := 0
		for range 5 {
			n := fill(c, size)
			total += n * size
			c.Output().Flush()
			if _, err := io.CopyN(io.Discard, nc, int64(n*size/2)); err != nil {
				t.Fatal(err)
			}
			go io.CopyN(io.Discard, nc, int64(n*size-n*size/2))
			receive(t, h.drained, "Drained")
		}
	}
}

// A sink appends for ever in Drained: the goroutine that flushed must be free nevertheless.
type sink struct {
	*framed
	rounds atomic.Int64
}

func (s *sink) Drained(c *Conn) {
	s.rounds.Add(1)
	fill(c, 1000)
	c.Output().Flush()
}

func TestFlusherIsNotHeld(t *testing.T) {
	h := &sink{framed: newFramed(nil)}
	s := serve(t, Config{}, nil, func(*Conn) Handler { return h })
	nc, c := connected(t, s, h.framed)
	go io.Copy(io.Discard, nc)
	fill(c, 1000)
	done := make(chan struct{})
	go func() {
		c.Output().Flush()
		close(done)
	}()
	receive(t, done, "return of Flush")
	eventually(t, "10 rounds by the writer", func() bool { return h.rounds.Load() > 10 })
	c.Close(nil)
	h.waitClosed(t)
}

func TestSlowReaderIsClosedWhenStalled(t *testing.T) {
	_, c, h := newConnected(t, Config{StallTimeout: 50 * time.Millisecond})
	for range 20 { // beyond what socket buffers hold
		fill(c, 1<<20)
		c.Output().Flush()
	}
	if err := h.waitClosed(t); !errors.Is(err, ErrStalled) {
		t.Errorf("closed with %v", err)
	}
}

func TestSlowReaderIsNotClosedWhileItReads(t *testing.T) {
	nc, c, h := newConnected(t, Config{StallTimeout: 400 * time.Millisecond})
	n := fill(c, 1<<20) << 20
	c.Output().Flush()
	pace := time.NewTicker(100 * time.Millisecond)
	defer pace.Stop()
	for n > 0 { // some 1.6 s in all, four times the timeout
		m, err := io.CopyN(io.Discard, nc, int64(min(n, 1<<20)))
		if err != nil {
			t.Fatal(err)
		}
		n -= int(m)
		<-pace.C
	}
	select {
	case err := <-h.closed:
		t.Errorf("closed with %v", err)
	default:
	}
}

// TestAllOutputsTogether: stalled connections fill the common account; then each further one may hold 64 KiB only, and
// gets on with that. When they end, the account is empty.
func TestAllOutputsTogether(t *testing.T) {
	account := NewOutputAccount(3 << 20)
	var stalled []*Conn
	opened := make(chan *framed, 1)
	s := serve(t, Config{Outputs: account}, nil, func(*Conn) Handler {
		return newFramed(func(h *framed, _ []byte) error { opened <- h; return nil })
	})
	open := func() (net.Conn, *Conn, *framed) {
		nc := s.dialCore(t)
		write(t, nc, frame(nil))
		h := receive(t, opened, "frame")
		return nc, h.c, h
	}
	for !account.over() {
		_, c, _ := open()
		for range 30 { // beyond the socket's own buffers
			fill(c, 1000)
			c.Output().Flush()
		}
		stalled = append(stalled, c)
		if len(stalled) > 50 {
			t.Fatalf("50 stalled connections, account %d", account.Used())
		}
	}
	if most := int64(4<<20 + 1000); account.Used() > most {
		t.Errorf("account %d, bound 3 MiB and the last one's 1 MiB", account.Used())
	}
	nc, c, h := open()
	for range 100 {
		n := fill(c, 1000)
		if n != 66 {
			t.Fatalf("full with %d messages of 1000 bytes, want 66: 64 KiB", n)
		}
		c.Output().Flush()
		if _, err := io.CopyN(io.Discard, nc, 66_000); err != nil {
			t.Fatal(err)
		}
		receive(t, h.drained, "Drained")
	}
	for _, c := range stalled {
		c.Close(nil)
	}
	eventually(t, "account empty", func() bool { return account.Used() == 0 })
	if n := fill(c, 1000); n != (OutputBound+999)/1000 {
		t.Errorf("full with %d messages of 1000 bytes after that", n)
	}
}

func TestAppendAfterEnd(t *testing.T) {
	var live atomic.Int64
	ref := func() *reference { live.Add(1); return &reference{all: &live} }
	nc, c, h := newConnected(t, Config{})
	o := c.Output()
	o.Lock()
	o.Append([]byte("last words"))
	o.Unlock()
	c.CloseAfterFlush(nil)
	late := func() {
		o.Lock()
		copy(o.Reserve(1<<17), strings.Repeat("late", 1<<15))
		o.Trim(5)
		o.AppendRef(make([]byte, RefSize), ref())
		o.Unlock()
		o.Flush()
	}
	late()
	if got, err := io.ReadAll(nc); string(got) != "last words" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	nc.Close()
	h.waitClosed(t)
	late()
	if n := live.Load(); n != 0 {
		t.Errorf("%d references are not released", n)
	}
}
