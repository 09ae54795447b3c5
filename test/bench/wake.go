package main

import (
	"errors"
	"os"
	"runtime"
	"time"
)

// wakes is the p50 in µs of a byte there and back through two pipes between two threads that sleep meanwhile: two wake-ups,
// of which a closed loop needs as many for each message.
func wakes() (float64, error) {
	const length = time.Second / 2
	there, back, err := pipes()
	if err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		b := make([]byte, 1)
		for {
			if _, err := there.r.Read(b); err != nil {
				done <- nil // closed
				return
			}
			if _, err := back.w.Write(b); err != nil {
				done <- err
				return
			}
		}
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	took := newTimes()
	b := make([]byte, 1)
	for begin := time.Now(); err == nil && time.Since(begin) < length; {
		sent := time.Now()
		if _, err = there.w.Write(b); err == nil {
			_, err = back.r.Read(b)
		}
		took.add(time.Since(sent))
	}
	err = errors.Join(err, there.w.Close(), <-done, there.r.Close(), back.close())
	return took.at(50), err
}

type pipe struct{ r, w *os.File }

func (p pipe) close() error { return errors.Join(p.r.Close(), p.w.Close()) }

func pipes() (there, back pipe, err error) {
	if there.r, there.w, err = os.Pipe(); err != nil {
		return
	}
	if back.r, back.w, err = os.Pipe(); err != nil {
		err = errors.Join(err, there.close())
	}
	return
}
