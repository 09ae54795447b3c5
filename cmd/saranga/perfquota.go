package main

import "sync/atomic"

// A quota is the number of messages of a run, shared by all who send or receive them.
type quota struct {
	unbounded bool
	left      atomic.Int64
}

// newQuota makes a quota; 0 is no bound.
func newQuota(n int64) *quota {
	q := &quota{unbounded: n <= 0}
	q.left.Store(n)
	return q
}

// take takes one message of it, if there is one.
func (q *quota) take() bool { return q.unbounded || q.left.Add(-1) >= 0 }

// done tells that a message was taken and it was the last.
func (q *quota) done() bool { return !q.unbounded && q.left.Load() <= 0 }
