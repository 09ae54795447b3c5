package quorum

import (
	"math"
	"time"
)

// An Instant is a reading, in ns, of the clock that counts while the machine sleeps (CLOCK_BOOTTIME on Linux): a process that
// was frozen, or a machine that was suspended, sees on waking how late it is. It means nothing on another machine.
type Instant int64

// NoLease is later than every instant.
const NoLease Instant = math.MaxInt64

// Add returns the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i - j) }
