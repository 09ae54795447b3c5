package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// sleep blocks the thread, which wakes about 50 µs late at most. (The runtime's timers round up to a millisecond.)
func sleep(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	unix.Nanosleep(&t, nil) // one that a signal cuts short is repeated by the caller
}
