package journal

import (
	"sync/atomic"
	"time"
)

// A stopwatch tells how long something has been under way. Its zero value is at rest.
type stopwatch struct{ began atomic.Int64 } // ns since clock, 0: at rest

// clock is what stopwatches count from; it never jumps.
var clock = time.Now()

func (s *stopwatch) start() { s.began.Store(int64(time.Since(clock)) | 1) }
func (s *stopwatch) stop()  { s.began.Store(0) }

func (s *stopwatch) running() time.Duration {
	began := s.began.Load()
	if began == 0 {
		return 0
	}
	return max(time.Since(clock)-time.Duration(began), 0)
}

// Stuck is how long the batch under way has been written, synced and told of, or how long an append has been waiting for
// the next file to be made; 0 when neither is the case. It takes no lock and may be called at any time.
func (j *Journal) Stuck() time.Duration { return max(j.flushing.running(), j.rolling.running()) }

// Stuck is how long the store has been busy with one batch or file, and the folder of it. A watchdog asks; it takes no
// lock. 0: it is at rest, or not loaded yet.
func (s *Store) Stuck() (dir string, d time.Duration) {
	for _, j := range []*Journal{s.messages, s.bindings} {
		if j == nil {
			continue
		}
		if n := j.Stuck(); n > d {
			dir, d = j.o.Dir, n
		}
	}
	return dir, d
}
