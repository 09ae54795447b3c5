//go:build unix

package transport

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// nonblocking returns the two ends of a stream that never blocks.
func nonblocking(t *testing.T) (here, there int) {
	t.Helper()
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range ends {
		if err := syscall.SetNonblock(fd, true); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Close(fd) })
	}
	return ends[0], ends[1]
}

// looksIn counts the looks in so many waits in vain.
func looksIn(t *testing.T, e *eager, fd, waits int) (looks int) {
	t.Helper()
	for range waits {
		if !e.due() {
			continue
		}
		looks++
		begin := time.Now()
		if n, err := e.read(uintptr(fd), make([]byte, 8)); n != 0 || err != errAgain {
			t.Fatalf("read %d bytes, %v from a silent peer", n, err)
		}
		if took := time.Since(begin); took < eagerTime {
			t.Fatalf("looked only for %s", took)
		}
	}
	return looks
}

func TestEagerRests(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))))
	here, there := nonblocking(t)
	e := eager{rest: eagerAfter}
	e.brought(100)
	if n := looksIn(t, &e, here, eagerAfter); n != 0 {
		t.Errorf("%d looks during the login", n)
	}
	// A peer that is never back in time: 1, 3, 7 … waits between the looks, 1023 at most.
	if n := looksIn(t, &e, here, 2036); n != 10 {
		t.Errorf("%d looks in 2036 waits", n)
	}
	if n := looksIn(t, &e, here, 10*1024); n != 10 {
		t.Errorf("%d looks in 10 times 1024 waits", n)
	}

	// One that is back gets its look each time.
	if _, err := syscall.Write(there, []byte("back")); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 8)
	if n, err := e.read(uintptr(here), p); n != 4 || err != nil || e.vain != 0 {
		t.Errorf("read %d bytes, %v, %d in vain", n, err, e.vain)
	}
	e.rest = 0
	if !e.due() {
		t.Error("no look after one that paid")
	}

	// A stream gets none.
	e.brought(eagerBytes + 1)
	if e.due() {
		t.Error("looks for a stream")
	}
}

// While one reader looks, another parks at once and has not looked in vain.
func TestEagerOneAtATime(t *testing.T) {
	here, there := nonblocking(t)
	if _, err := syscall.Write(there, []byte("here")); err != nil {
		t.Fatal(err)
	}
	for !looking.CompareAndSwap(false, true) { // a connection of another test may be looking
		time.Sleep(eagerTime)
	}
	var e eager
	n, err := e.read(uintptr(here), make([]byte, 8))
	looking.Store(false)
	if n != 0 || err != errAgain || e.vain != 0 || e.rest != 0 {
		t.Errorf("read %d bytes, %v; %+v", n, err, e)
	}
}

// The reader of an accepted connection looks once its peer has come back often enough.
func TestEagerReader(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))))
	h := newFramed(echo)
	s := serve(t, Config{}, nil, func(*Conn) Handler { return h })
	nc := s.dialCore(t)
	for range 20 * eagerAfter {
		write(t, nc, frame([]byte("message")))
		if _, err := readFrame(nc); err != nil {
			t.Fatal(err)
		}
	}
	nc.Close()
	h.waitClosed(t)
	e := h.c.sock.(*plainSocket).eager
	if !e.small || e.vain == 0 && e.rest > 0 {
		t.Errorf("after %d round trips: %+v", 20*eagerAfter, e)
	}
}
