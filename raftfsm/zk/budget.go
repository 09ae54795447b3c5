package zk

import "sync/atomic"

// A budget bounds the bytes that all connections hold together.
type budget struct {
	limit int64
	used  atomic.Int64
}

// take reserves n bytes, unless that would exceed the limit.
func (b *budget) take(n int) bool {
	if b.used.Add(int64(n)) > b.limit {
		b.used.Add(-int64(n))
		return false
	}
	return true
}

// give returns n bytes that were taken.
func (b *budget) give(n int) { b.used.Add(-int64(n)) }
