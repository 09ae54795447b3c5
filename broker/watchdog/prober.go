package watchdog

import (
	"sync"
	"time"
)

// A Prober is a Part that runs a function over and over, one run at a time, and is busy while a run is at one place. The
// function takes locks, say, and tells before each which one is next.
type Prober struct {
	probe func(at func(kind, name string))

	mu      sync.Mutex
	running bool
	kind    string
	name    string
	since   time.Time // at this place
	done    chan struct{}
}

// NewProber returns a prober of this function.
func NewProber(probe func(at func(kind, name string))) *Prober { return &Prober{probe: probe} }

// Busy is for Part: it begins a run unless one is under way, whose place it tells.
func (p *Prober) Busy(now time.Time) (what string, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running {
		return p.place(), max(now.Sub(p.since), 0)
	}
	p.running, p.kind, p.name, p.since, p.done = true, "", "", now, make(chan struct{})
	go p.run(p.done)
	return "", 0
}

func (p *Prober) place() string {
	if p.name == "" {
		return p.kind
	}
	return p.kind + " " + p.name
}

func (p *Prober) run(done chan struct{}) {
	p.probe(func(kind, name string) {
		p.mu.Lock()
		p.kind, p.name, p.since = kind, name, time.Now()
		p.mu.Unlock()
	})
	p.mu.Lock()
	p.running = false
	p.mu.Unlock()
	close(done)
}

// Wait waits until no run is under way, at most so long. False: one is stuck.
func (p *Prober) Wait(limit time.Duration) bool {
	p.mu.Lock()
	running, done := p.running, p.done
	p.mu.Unlock()
	if !running {
		return true
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
