//go:build linux

package partition

import (
	"reflect"
	"testing"
	"time"
)

// TestPlan: plans follow from their seeds, end in time, and together have everything that there is.
func TestPlan(t *testing.T) {
	const trouble = 20 * time.Second
	seen := map[Kind]int{}
	oneWay, both, embedded, several := 0, 0, 0, 0
	for seed := range uint64(300) {
		p := NewPlan(seed, trouble)
		if again := NewPlan(seed, trouble); !reflect.DeepEqual(p, again) {
			t.Fatalf("seed %d gives two plans", seed)
		}
		if p.Embedded {
			embedded++
		}
		if len(p.Faults) == 0 {
			t.Errorf("seed %d: nothing happens", seed)
		}
		nodes := map[string]bool{}
		for _, n := range append(p.nodes(), clientNames...) {
			nodes[n] = true
		}
		for i, f := range p.Faults {
			seen[f.Kind]++
			if f.At+f.For > trouble || f.At < 0 || f.For < 0 || i > 0 && f.At < p.Faults[i-1].At {
				t.Errorf("seed %d: %s is out of time or order", seed, f)
			}
			if f.Kind == Slow && !p.Relayed {
				t.Errorf("seed %d: %s without a relay", seed, f)
			}
			links := map[Link]bool{}
			for _, l := range f.Links {
				links[l] = true
				if !nodes[l.From] || !nodes[l.To] || l.From == l.To {
					t.Errorf("seed %d: %s", seed, f)
				}
			}
			for _, n := range f.Nodes {
				if !nodes[n] {
					t.Errorf("seed %d: %s", seed, f)
				}
			}
			if len(f.Nodes) > 1 {
				several++
			}
			if f.Kind == Cut {
				if l := f.Links[0]; links[Link{l.To, l.From}] {
					both++
				} else {
					oneWay++
				}
			}
		}
	}
	for _, k := range []Kind{Cut, Slow, HalfOpen, Reset, Pause, Crash} {
		if seen[k] == 0 {
			t.Errorf("no %s in any plan", k)
		}
	}
	if oneWay == 0 || both == 0 || embedded == 0 || embedded == 300 || several == 0 {
		t.Errorf("%d one-way cuts, %d in both directions, %d plans with members in brokers, %d faults of several processes", oneWay, both, embedded, several)
	}
}
