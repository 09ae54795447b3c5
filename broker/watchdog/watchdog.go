// Package watchdog notices parts of a broker that are stuck: critical-analyzer in broker.xml.
//
// A Watchdog looks at its parts once per period. A part tells what it is at and for how long; one that has been at the
// same thing for the timeout is expired, which is told once, until it has moved on. Look is the whole of the rules, with
// the time passed in; Run calls it.
//
// When the looks themselves come late, the process has been stopped or starved: whatever a part was at then seems old.
// Such a look expires nobody, so that a suspended machine does not wake up to a halt. The next one counts again.
//
// Prober is a part that tries to take locks.
package watchdog

import (
	"context"
	"time"
)

// A Part is something that can be stuck.
type Part struct {
	Name string
	// Busy tells what the part is at and since how long; 0: at nothing. It must not block.
	Busy func(now time.Time) (what string, d time.Duration)
}

// Options configure a Watchdog. All are required but Period and Recovered.
type Options struct {
	Timeout time.Duration // critical-analyzer-timeout
	Period  time.Duration // critical-analyzer-check-period; 0: half of the timeout
	Parts   []Part
	// Expired is called once when a part has been at one thing for the timeout.
	Expired func(part, what string, d time.Duration)
	// Recovered is called when an expired part has moved on.
	Recovered func(part string)
}

// A Watchdog looks at parts. Its methods are for one goroutine.
type Watchdog struct {
	o       Options
	expired []bool
	last    time.Time
	late    bool // the last look came late
}

// New returns a watchdog.
func New(o Options) *Watchdog {
	if o.Period <= 0 {
		o.Period = o.Timeout / 2
	}
	return &Watchdog{o: o, expired: make([]bool, len(o.Parts))}
}

// Period is the time between two looks.
func (w *Watchdog) Period() time.Duration { return w.o.Period }

// Look looks at all parts.
func (w *Watchdog) Look(now time.Time) {
	overslept := !w.last.IsZero() && now.Sub(w.last) > w.o.Period+w.o.Period/2
	w.last = now
	w.late = overslept && !w.late
	for i, p := range w.o.Parts {
		what, d := p.Busy(now)
		switch {
		case d < w.o.Timeout && w.expired[i]:
			w.expired[i] = false
			if w.o.Recovered != nil {
				w.o.Recovered(p.Name)
			}
		case d >= w.o.Timeout && !w.expired[i] && !w.late:
			w.expired[i] = true
			w.o.Expired(p.Name, what, d)
		}
	}
}

// Run looks once per period until ctx ends.
func (w *Watchdog) Run(ctx context.Context) {
	tick := time.NewTicker(w.o.Period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.Look(time.Now())
		}
	}
}
