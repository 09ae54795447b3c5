package zk

import (
	"sync"
	"sync/atomic"
	"time"
)

// stats are what the four-letter words tell about the traffic since the start.
type stats struct {
	received, sent atomic.Int64 // frames

	mu            sync.Mutex
	count         int64 // requests answered
	sum, min, max time.Duration
}

// latency counts a request from its arrival to its reply.
func (s *stats) latency(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count == 0 || d < s.min {
		s.min = d
	}
	s.max = max(s.max, d)
	s.sum += d
	s.count++
}

// latencies are in ms.
func (s *stats) latencies() (least int64, average float64, most int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count > 0 {
		average = float64(s.sum.Microseconds()) / float64(s.count) / 1000
	}
	return s.min.Milliseconds(), average, s.max.Milliseconds()
}
