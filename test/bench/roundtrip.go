package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"time"
)

// roundTrips is the p50 in µs of so many bytes over a TCP connection to this machine and an answer of so many back, between
// two threads.
func roundTrips(request, answer int) (p50 float64, err error) {
	const length = time.Second / 2
	defer func() {
		if err != nil {
			err = fmt.Errorf("round trips: %w", err)
		}
	}()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	done := make(chan error, 1)
	go func() { done <- echo(l, request, answer) }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return 0, errors.Join(err, l.Close(), <-done)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	took := newTimes()
	out, in := make([]byte, request), make([]byte, answer)
	for begin := time.Now(); err == nil && time.Since(begin) < length; {
		sent := time.Now()
		if _, err = c.Write(out); err == nil {
			_, err = io.ReadFull(c, in)
		}
		took.add(time.Since(sent))
	}
	return took.at(50), errors.Join(err, c.Close(), <-done)
}

// echo answers on one connection until it is closed.
func echo(l net.Listener, request, answer int) error {
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	in, out := make([]byte, request), make([]byte, answer)
	for {
		if _, err := io.ReadFull(c, in); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if _, err := c.Write(out); err != nil {
			return err
		}
	}
}
