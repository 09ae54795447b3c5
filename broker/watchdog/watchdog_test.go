package watchdog

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// Each step is a look at a second, with what the part says then; what the watchdog told by that look follows =>.
func TestLook(t *testing.T) {
	type step struct {
		at, busy int
		told     string
	}
	for name, steps := range map[string][]step{
		"never busy long":            {{60, 0, ""}, {120, 59, ""}, {180, 119, ""}},
		"expires once":               {{60, 0, ""}, {120, 60, ""}, {180, 120, "expired 120"}, {240, 180, ""}},
		"recovers and expires":       {{60, 130, "expired 130"}, {120, 1, "recovered"}, {180, 2, ""}, {240, 120, "expired 120"}},
		"a late look does not count": {{60, 0, ""}, {400, 330, ""}, {460, 0, ""}},
		"but the next does":          {{60, 0, ""}, {400, 330, ""}, {460, 390, "expired 390"}},
		"always late":                {{60, 0, ""}, {400, 330, ""}, {800, 730, "expired 730"}},
		"a little late":              {{60, 60, ""}, {149, 149, "expired 149"}},
	} {
		t.Run(name, func(t *testing.T) {
			busy, told := 0, ""
			w := New(Options{Timeout: 120 * time.Second,
				Parts:     []Part{{Name: "journal", Busy: func(time.Time) (string, time.Duration) { return "x", time.Duration(busy) * time.Second }}},
				Expired:   func(part, what string, d time.Duration) { told = fmt.Sprint("expired ", d.Seconds()) },
				Recovered: func(string) { told = "recovered" }})
			for _, s := range steps {
				busy, told = s.busy, ""
				w.Look(time.Unix(int64(s.at), 0))
				if told != s.told {
					t.Errorf("at %d s: told %q, want %q", s.at, told, s.told)
				}
			}
		})
	}
}

func TestPeriod(t *testing.T) {
	if p := New(Options{Timeout: 120 * time.Second}).Period(); p != time.Minute {
		t.Errorf("half of the timeout: %v", p)
	}
	if p := New(Options{Timeout: 120 * time.Second, Period: time.Second}).Period(); p != time.Second {
		t.Errorf("configured: %v", p)
	}
}

func TestRunFindsStuckLock(t *testing.T) {
	var queue sync.Mutex
	p := NewProber(func(at func(kind, name string)) {
		at("registry", "")
		at("queue", "orders")
		queue.Lock()
		defer queue.Unlock()
	})
	queue.Lock()
	expired, recovered := make(chan string, 1), make(chan string, 1)
	w := New(Options{Timeout: 20 * time.Millisecond, Period: time.Millisecond, Parts: []Part{{"locks", p.Busy}},
		Expired: func(part, what string, d time.Duration) {
			if d < 20*time.Millisecond {
				t.Errorf("expired after %v", d)
			}
			expired <- part + ": " + what
		},
		Recovered: func(part string) { recovered <- part }})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan bool)
	go func() {
		w.Run(ctx)
		close(done)
	}()
	if got := <-expired; got != "locks: queue orders" {
		t.Errorf("expired %q", got)
	}
	if p.Wait(time.Millisecond) {
		t.Error("the prober says that it has ended")
	}
	queue.Unlock()
	if got := <-recovered; got != "locks" {
		t.Errorf("recovered %q", got)
	}
	cancel()
	<-done
	if !p.Wait(10 * time.Second) {
		t.Error("the prober is still at it")
	}
}

func parked(ready, c chan bool) {
	ready <- true
	<-c
}

func TestGoroutines(t *testing.T) {
	ready, c := make(chan bool), make(chan bool)
	for range 50 {
		go parked(ready, c)
		<-ready
	}
	defer close(c)
	text := Goroutines(1 << 20)
	if !strings.Contains(text, "watchdog.TestGoroutines") || !strings.Contains(text, "watchdog.parked") || !strings.HasPrefix(text, "goroutine profile: total 5") {
		t.Errorf("not in the dump:\n%s", text)
	}
	if short := Goroutines(800); len(short) > 900 || !strings.Contains(short, "more places") {
		t.Errorf("%d bytes", len(short))
	}
}
