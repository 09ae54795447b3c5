package security

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Each line of a "run" is a login: when, from where, and how it ends.
func TestSlowDown(t *testing.T) {
	var s SlowDown
	datadriven.RunTest(t, "testdata/slowdown/script.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for _, line := range strings.Split(d.Input, "\n") {
			fields := strings.Fields(line)
			after, err := time.ParseDuration(fields[0])
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			address := netip.MustParseAddr(fields[1])
			wait, refused := s.Begin(address, epoch.Add(after))
			if refused {
				fmt.Fprintf(&out, "%s is refused\n", address)
				continue
			}
			fmt.Fprintf(&out, "%s waits %v\n", address, wait)
			s.End(address, fields[2] == "ok", epoch.Add(after))
		}
		return out.String()
	})
}

func TestSlowDownBounds(t *testing.T) {
	s := SlowDown{Free: -1, Waiting: 2, Sources: 3}
	attacker := netip.MustParseAddr("10.0.0.1")
	s.Begin(attacker, epoch)
	s.End(attacker, false, epoch)
	for i := range 4 {
		wait, refused := s.Begin(attacker, epoch)
		if refused != (i >= 2) || !refused && wait == 0 {
			t.Errorf("login %d beside others: %v, refused %v", i, wait, refused)
		}
	}
	for i := range 10 {
		address := netip.AddrFrom4([4]byte{10, 1, 0, byte(i)})
		s.Begin(address, epoch)
		s.End(address, false, epoch)
		if len(s.sources) > 3 || s.recent.Len() != len(s.sources) {
			t.Fatalf("%d sources, %d in order, want at most 3", len(s.sources), s.recent.Len())
		}
	}
	s.End(attacker, true, epoch) // forgotten meanwhile
	s.End(attacker, true, epoch)
	if wait, refused := s.Begin(attacker, epoch); wait != 0 || refused {
		t.Errorf("a forgotten source waits %v, refused %v", wait, refused)
	}
}
