package quorum

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Now reads the clock. CLOCK_MONOTONIC goes on in sleep here.
func Now() Instant {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(fmt.Sprintf("read CLOCK_MONOTONIC: %v", err))
	}
	return Instant(t.Nano())
}
