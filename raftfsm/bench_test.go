package raftfsm

import (
	"syscall"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// BenchmarkLock takes and gives back a lock as Curator does (spec/ha.md 3.6): one operation is both. All three members run in this process,
// over loopback TCP, with their folders on the disk of TMPDIR.
func BenchmarkLock(b *testing.B) {
	for _, where := range []string{"leader", "follower"} {
		b.Run(where, func(b *testing.B) {
			l := newLab(b, 3)
			l.startAll()
			id := l.leader()
			if where == "follower" {
				id = l.followers()[0]
			}
			c := l.connect(l.member(id), 1, time.Hour)
			c.must(create("/locks", "", tree.Container))
			c.must(create("/leases", "", tree.Container))
			b.ResetTimer()
			for b.Loop() {
				mutex := c.must(create("/locks/m-", "127.0.0.1", tree.EphemeralSequential))
				l.children(id, "/locks")
				lease := c.must(create("/leases/l-", "7d444840-9dc0-11d1-b245-5ffdce74fad2", tree.EphemeralSequential))
				l.children(id, "/leases")
				c.must(&tree.Delete{Path: mutex.Path, Version: -1})
				c.must(&tree.Delete{Path: lease.Path, Version: -1})
			}
		})
	}
}

// BenchmarkWrite is one small write.
func BenchmarkWrite(b *testing.B) {
	for _, where := range []string{"leader", "follower"} {
		b.Run(where, func(b *testing.B) {
			l := newLab(b, 3)
			l.startAll()
			id := l.leader()
			if where == "follower" {
				id = l.followers()[0]
			}
			c := l.connect(l.member(id), 1, time.Hour)
			c.must(create("/x", "", tree.Persistent))
			b.ResetTimer()
			for b.Loop() {
				c.must(&tree.SetData{Path: "/x", Data: []byte("v"), Version: -1})
			}
		})
	}
}

// BenchmarkIdle reports what a member that does nothing costs, in percent of a core: the mean of three, each with a third of the sessions, whose
// clients are reported four times a second. One iteration is a second.
func BenchmarkIdle(b *testing.B) {
	for _, sessions := range []int{0, 3000} {
		name := "alone"
		if sessions > 0 {
			name = "1000 sessions each"
		}
		b.Run(name, func(b *testing.B) {
			l := newLab(b, 3)
			l.startAll()
			for i := range sessions {
				l.connect(l.member(l.peers[i%3].ID), int64(i+1), time.Hour)
			}
			wait(time.Second)
			b.ResetTimer()
			before := cpuTime(b)
			began := time.Now()
			for b.Loop() {
				for range 4 {
					for i := range sessions {
						l.member(l.peers[i%3].ID).Touch(int64(i+1), uint64(i+1)<<8|1, time.Second)
					}
					wait(250 * time.Millisecond)
				}
			}
			used := cpuTime(b) - before
			b.ReportMetric(100*used.Seconds()/time.Since(began).Seconds()/3, "%core/member")
		})
	}
}

func cpuTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
