package ha

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/saranga-mq/saranga/ha/quorum"
)

type fakeLease struct{ end atomic.Int64 }

func (l *fakeLease) Lease() quorum.Instant { return quorum.Instant(l.end.Load()) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestDeadline(t *testing.T) {
	var d Deadline
	if d.Live(1) {
		t.Error("live before anything is followed")
	}
	l := &fakeLease{}
	l.end.Store(100)
	missed := d.Follow(l)
	if !d.Live(99) || closed(missed) {
		t.Error("not live before the lease ends")
	}
	l.end.Store(200)
	if !d.Live(150) {
		t.Error("the lease has moved on")
	}
	if d.Live(200) || !closed(missed) {
		t.Error("live at the lease's end")
	}
	l.end.Store(1000)
	if d.Live(300) {
		t.Error("live again: an answer was withheld, so the activation is over")
	}
	next := d.Follow(l)
	if !d.Live(300) || closed(next) {
		t.Error("not live in the next activation")
	}
	d.End()
	if d.Live(300) || closed(next) {
		t.Error("the end of an activation is no miss")
	}
	unlimited := d.Follow(Unlimited{})
	if !d.Live(quorum.NoLease-1) || closed(unlimited) {
		t.Error("without leases the deadline is never")
	}
	l.end.Store(0) // the lock is lost
	missed = d.Follow(l)
	if d.Live(1) || !closed(missed) {
		t.Error("live without the lock")
	}
}

func TestDeadlineIsMissedOnce(t *testing.T) {
	for range 200 {
		var d Deadline
		l := &fakeLease{}
		l.end.Store(10)
		missed := d.Follow(l)
		var g sync.WaitGroup
		for i := range 4 {
			g.Go(func() {
				for now := range quorum.Instant(20) {
					if d.Live(now+quorum.Instant(i)) && now+quorum.Instant(i) >= 10 {
						t.Error("live after the end")
					}
				}
			})
		}
		g.Wait()
		if !closed(missed) {
			t.Fatal("nobody was told")
		}
	}
}

func BenchmarkDeadline(b *testing.B) {
	var d Deadline
	l := &fakeLease{}
	l.end.Store(int64(quorum.NoLease))
	d.Follow(l)
	for b.Loop() {
		if !d.Live(quorum.Now()) {
			b.Fatal("not live")
		}
	}
}
