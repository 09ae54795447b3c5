package replica

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/journal"
)

// A response that is asked for after a drain leaves by itself: the drain that waited for the batch before must not have used up its
// wake-up.
func TestResponseAfterDrain(t *testing.T) {
	sent := make(chan string, 1)
	var writing sync.WaitGroup
	a := &answers{
		written: func(w journal.Waiter) (int, error) {
			writing.Go(func() {
				for range 20 {
					runtime.Gosched() // the drain wakes while the batch is on its way
				}
				w.Stored()
			})
			return 1, nil
		},
		send:   func(frames []byte) error { sent <- string(frames); return nil },
		failed: func(err error) { t.Error(err) },
	}
	a.init()
	defer writing.Wait()
	defer a.stop()
	expect := func(want string) {
		t.Helper()
		select {
		case got := <-sent:
			if got != want {
				t.Fatalf("sent %q, want %q", got, want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%q is not sent", want)
		}
	}
	for range 200 {
		if err := a.push([]byte("start")); err != nil {
			t.Fatal(err)
		}
		if err := a.drain(); err != nil {
			t.Fatal(err)
		}
		expect("start")
		if err := a.push([]byte("finish")); err != nil {
			t.Fatal(err)
		}
		a.flush()
		expect("finish")
	}
}
