package quorum

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Now reads the clock.
func Now() Instant {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(fmt.Sprintf("read CLOCK_BOOTTIME: %v", err)) // Linux has had it since 2.6.39
	}
	return Instant(t.Nano())
}
