package timers

import (
	"math/rand"
	"sort"
	"sync"
	"testing"
	"time"
)

func TestAdvanceRunsWhatIsDueInOrderOfTime(t *testing.T) {
	now := int64(1_000_000)
	w := New(func() int64 { return now })
	var ran []int64
	r := rand.New(rand.NewSource(1))
	var want []int64
	for range 500 {
		at := now + r.Int63n(200_000)
		want = append(want, at)
		w.Set(&Timer{}, at, func() { ran = append(ran, at) })
	}
	sort.Slice(want, func(i, j int) bool { return want[i] < want[j] })
	for now < 1_000_000+200_020 {
		now += 7
		w.Advance()
		for _, at := range ran {
			if at > now {
				t.Fatalf("a timer for %d ran at %d", at, now)
			}
		}
	}
	if len(ran) != len(want) {
		t.Fatalf("%d timers ran, want %d", len(ran), len(want))
	}
	for i := range ran {
		if d := ran[i] - want[i]; d > tick || d < -tick {
			t.Fatalf("timer %d ran for %d, want about %d", i, ran[i], want[i])
		}
	}
}

func TestLongSleepSkipsNothing(t *testing.T) {
	now := int64(5_000)
	w := New(func() int64 { return now })
	ran := 0
	for _, d := range []int64{10, 50_000, 5_000_000} {
		w.After(d, func() { ran++ })
	}
	stopped := w.After(20, func() { t.Error("a stopped timer ran") })
	if !stopped.Stop() || stopped.Stop() {
		t.Fatal("Stop must be true once")
	}
	now += 10_000_000
	w.Advance()
	if ran != 3 {
		t.Fatalf("%d timers ran, want 3", ran)
	}
}

func TestTimerMaySetItself(t *testing.T) {
	now := int64(0)
	w := New(func() int64 { return now })
	n := 0
	var timer Timer
	var again func()
	again = func() {
		if n++; n < 5 {
			w.Set(&timer, now+100, again)
		}
	}
	w.Set(&timer, 100, again)
	for now < 2000 {
		now += 10
		w.Advance()
	}
	if n != 5 {
		t.Fatalf("ran %d times, want 5", n)
	}
}

func TestGoroutineWakesForAnEarlierTimer(t *testing.T) {
	w := New(System)
	w.Start()
	defer w.Close()
	w.After(3_600_000, func() {})
	var wg sync.WaitGroup
	wg.Add(1)
	w.After(20, wg.Done)
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("the timer did not run")
	}
}
