package main

import (
	"slices"
	"testing"

	"github.com/saranga-mq/saranga/broker/config"
)

func TestGCPercent(t *testing.T) {
	const mib = 1 << 20
	for live, want := range map[int64]int{
		0: 400, 4 * mib: 400, 64 * mib: 400, // small
		128 * mib: 220, 256 * mib: 120, 512 * mib: 70, 1024 * mib: 45, // 256 MiB and a fifth
		1 << 40: 20,
	} {
		if got := gcPercent(live); got != want {
			t.Errorf("%d MiB: %d, want %d", live/mib, got, want)
		}
	}
	for live := int64(mib); live < 1<<42; live += live/7 + 1 {
		if waste, bound := live*int64(gcPercent(live))/100, 256*mib+live/5; waste > bound {
			t.Fatalf("%d MiB: %d MiB may be uncollected, want at most %d", live/mib, waste/mib, bound/mib)
		}
	}
}

func TestTuner(t *testing.T) {
	const mib = 1 << 20
	var set []int64
	t1 := &tuner{container: 1000 * mib, others: func() int64 { return 300 * mib },
		setPercent: func(p int) int { set = append(set, int64(p)); return 0 },
		setLimit:   func(n int64) int64 { set = append(set, n/mib); return 0 }}
	t1.adjust(10 * mib)
	t1.adjust(12 * mib) // nothing new
	t1.adjust(256 * mib)
	t1.adjust(258 * mib) // too little to matter
	t1.adjust(700 * mib) // the limit stays above what is live
	if want := []int64{400, 600, 120, 56, 939}; !slices.Equal(set, want) {
		t.Errorf("set %v, want %v", set, want)
	}
	set, t1.container = nil, 0
	t1.adjust(10 * mib)
	if want := []int64{400}; !slices.Equal(set, want) {
		t.Errorf("without a container: set %v, want %v", set, want)
	}
}

func TestOperatorsGOGCWins(t *testing.T) {
	n := startNode(t, "")
	t.Setenv("GOGC", "50")
	if newTuner(n.node, n.log) != nil {
		t.Error("GOGC is set and the tuner is at work")
	}
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "1GiB")
	if tuner := newTuner(n.node, n.log); tuner == nil || tuner.container != 0 {
		t.Error("GOMEMLIMIT is set and the tuner has a limit")
	} else {
		tuner.tune()
	}
}

func TestFewFiles(t *testing.T) {
	acceptors := func(allowed ...string) *config.Config {
		c := &config.Config{}
		for _, a := range allowed {
			c.Acceptors = append(c.Acceptors, config.Transport{URL: config.TransportURL{Params: map[string]string{"connectionsAllowed": a}}})
		}
		return c
	}
	for _, x := range []struct {
		limit uint64
		c     *config.Config
		warns bool
	}{
		{1 << 20, acceptors("", "-1", "100"), false},
		{512, acceptors(), false},
		{511, acceptors(), true},
		{1024, acceptors(""), true},
		{1536, acceptors(""), false},
		{1024, acceptors("100"), false},
		{611, acceptors("100"), true},
	} {
		if got := fewFiles(x.limit, x.c); (got != "") != x.warns {
			t.Errorf("limit %d: %q", x.limit, got)
		}
	}
}

func TestCollectsAtRest(t *testing.T) {
	const mib = 1 << 20
	collected := 0
	t1 := &tuner{collect: func() { collected++ }}
	t1.rest(10*mib, 20*mib, 0, 100*mib) // busy: it has just allocated all that
	if collected != 0 {
		t.Fatal("collected while busy")
	}
	t1.rest(10*mib, 20*mib, 0, 100*mib) // nothing since
	if collected != 1 {
		t.Fatal("garbage of 20 MiB was kept at rest")
	}
	t1.rest(10*mib, 0, 0, 100*mib) // nothing to collect
	t1.rest(200*mib, 100*mib, 0, 100*mib)
	if collected != 1 {
		t.Fatal("collected without need, or a large heap")
	}
	t1.rest(10*mib, 0, 20*mib, 100*mib)
	if collected != 2 {
		t.Fatal("20 MiB of unused memory were kept at rest")
	}
}
