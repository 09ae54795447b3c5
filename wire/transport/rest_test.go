package transport

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// TestRest: a connection that is made to rest again and again while frames come in pieces of all sizes loses nothing, and one
// that rests notices what comes and the end.
func TestRest(t *testing.T) {
	handlers := make(chan *framed, 1)
	s := serve(t, Config{}, nil, func(*Conn) Handler {
		h := newFramed(echo)
		h.asks = true
		handlers <- h
		return h
	})
	nc := s.dialCore(t)
	write(t, nc, frame([]byte("hello")))
	if p, err := readFrame(nc); err != nil || string(p) != "hello" {
		t.Fatalf("got %q, %v", p, err)
	}
	h := receive(t, handlers, "handler")
	c := h.c // set, for the frame was answered
	done := make(chan struct{})
	resting := make(chan struct{})
	go func() {
		defer close(resting)
		for {
			select {
			case <-done:
				return
			default:
				c.Rest()
			}
		}
	}()
	var stream []byte
	var want [][]byte
	for i := range 300 {
		p := bytes.Repeat([]byte{byte(i)}, i*i)
		want = append(want, p)
		stream = append(stream, frame(p)...)
	}
	go func() {
		for n := 1; len(stream) > 0; n = n*2%9973 + 1 {
			k := min(n, len(stream))
			if _, err := nc.Write(stream[:k]); err != nil {
				return // the reader tells
			}
			stream = stream[k:]
		}
	}()
	for i, w := range want {
		if p, err := readFrame(nc); err != nil || !bytes.Equal(p, w) {
			t.Fatalf("frame %d: %d bytes, %v", i, len(p), err)
		}
	}
	close(done)
	<-resting
	eventually(t, "the reader to wait", func() bool { return c.reader.Load() == readerWaits })
	c.Rest()
	eventually(t, "a new reader to wait", func() bool { return c.reader.Load() == readerWaits })
	write(t, nc, frame([]byte("again")))
	if p, err := readFrame(nc); err != nil || string(p) != "again" {
		t.Fatalf("got %q, %v", p, err)
	}
	nc.Close()
	if err := h.waitClosed(t); !errors.Is(err, io.EOF) {
		t.Errorf("closed for %v", err)
	}
}
