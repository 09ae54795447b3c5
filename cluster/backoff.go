package cluster

import "time"

// Backoff is the wait between attempts to connect: Interval × Multiplier^n, at most Max. The zero value of a field is the
// default of a cluster connection: 500 ms, 1, 2 s.
type Backoff struct {
	Interval   time.Duration
	Multiplier float64
	Max        time.Duration

	next time.Duration
}

// Next returns how long to wait before the next attempt.
func (b *Backoff) Next() time.Duration {
	if b.Interval <= 0 {
		b.Interval = 500 * time.Millisecond
	}
	if b.Multiplier <= 0 {
		b.Multiplier = 1
	}
	if b.Max <= 0 {
		b.Max = 2 * time.Second
	}
	if b.next == 0 {
		b.next = b.Interval
	}
	wait := min(b.next, b.Max)
	b.next = min(time.Duration(float64(b.next)*b.Multiplier), b.Max)
	return wait
}

// Reset begins again: an attempt has succeeded.
func (b *Backoff) Reset() { b.next = 0 }
