//go:build !race

package transport

import (
	"io"
	"testing"
)

// underRace lets tests do less where the detector makes everything slower.
const underRace = false

// TestRelayAllocatesNothing: no allocation per message, in or out. (Under the race detector pools lose things on
// purpose.)
func TestRelayAllocatesNothing(t *testing.T) {
	producer, consumer := newRelay(t)
	var batch []byte
	for range 100 {
		batch = append(batch, frame(make([]byte, 1024))...)
	}
	buf := make([]byte, len(batch))
	allocs := testing.AllocsPerRun(200, func() {
		write(t, producer, batch)
		if _, err := io.ReadFull(consumer, buf); err != nil {
			t.Fatal(err)
		}
	})
	if perMessage := allocs / 100; perMessage >= 0.01 {
		t.Errorf("%g allocations per message", perMessage)
	}
}
