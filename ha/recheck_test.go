package ha

import (
	"errors"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/ha/quorum"
)

func TestRecheck(t *testing.T) {
	var r Recheck
	checks := 0
	var fails error
	verify := func(at time.Duration) error {
		return r.Verify(quorum.Instant(at), func() error { checks++; return fails })
	}
	for _, c := range []struct {
		at   time.Duration
		want int
	}{
		{10 * time.Second, 1}, // the first
		{10*time.Second + time.Millisecond, 1},
		{11 * time.Second, 1},
		{12 * time.Second, 1}, // exactly a second
		{13*time.Second + 1, 2},
		{13*time.Second + 500*time.Millisecond, 2},
		{time.Hour, 3}, // frozen
	} {
		if err := verify(c.at); err != nil || checks != c.want {
			t.Errorf("%v: %d checks, %v, want %d", c.at, checks, err, c.want)
		}
	}
	fails = errors.New("lost")
	if err := verify(2 * time.Hour); !errors.Is(err, fails) {
		t.Errorf("got %v", err)
	}
	lost := fails
	fails = nil
	if err := verify(2*time.Hour + 1); !errors.Is(err, lost) || checks != 4 {
		t.Errorf("a failure is final: %v, %d checks", err, checks)
	}
}
