package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/logging"
	"github.com/saranga-mq/saranga/broker/watchdog"
)

const (
	// exitHalted is the exit code of a broker that ends itself because a part of it is stuck, as in Artemis.
	exitHalted = 70
	// dumpLimit bounds a dump of goroutines, in bytes.
	dumpLimit = 256 << 10
	// shutdownTimeout is how long an orderly stop may take when a part is stuck, unless the part may be so for less.
	shutdownTimeout = 30 * time.Second
)

// An analyzer is the critical analyzer of a node: a watchdog over the journals and the engine's locks, and what is done
// about one that is stuck.
type analyzer struct {
	n      *node
	log    hclog.Logger
	policy config.CriticalAnalyzerPolicy
	dog    *watchdog.Watchdog
	locks  *watchdog.Prober
	limit  time.Duration // of an orderly stop
}

// newWatchdog returns nil when the configuration turns it off.
func newWatchdog(n *node) *analyzer {
	c := n.in.Broker
	if !c.CriticalAnalyzer {
		return nil
	}
	if c.CriticalAnalyzerTimeout <= 0 {
		n.log.Warn("critical-analyzer-timeout is 0: the critical analyzer is off")
		return nil
	}
	a := &analyzer{n: n, log: n.logs.Logger(logging.Critical), policy: c.CriticalAnalyzerPolicy, locks: watchdog.NewProber(n.broker.Probe), limit: min(shutdownTimeout, c.CriticalAnalyzerTimeout)}
	a.dog = watchdog.New(watchdog.Options{Timeout: c.CriticalAnalyzerTimeout, Period: c.CriticalAnalyzerCheckPeriod,
		Parts: []watchdog.Part{
			{Name: "journal", Busy: func(time.Time) (string, time.Duration) { return n.store.Stuck() }},
			{Name: "lock", Busy: a.locks.Busy},
		},
		Expired:   a.expired,
		Recovered: func(part string) { a.log.Warn("the " + part + " that did not respond does so again") }})
	return a
}

// run watches until ctx ends.
func (a *analyzer) run(ctx context.Context) {
	a.dog.Run(ctx)
	a.locks.Wait(time.Second)
}

func (a *analyzer) expired(part, what string, d time.Duration) {
	component := fmt.Sprintf("%s (%s, since %s)", part, what, d.Round(time.Millisecond))
	a.log.Warn("AMQ224107: the critical analyzer has found a part of the broker that is stuck; this is what all goroutines are at:\n" + watchdog.Goroutines(dumpLimit))
	switch a.policy {
	case config.CriticalHalt:
		a.log.Error("AMQ224079: The process will be killed, as component " + component + " is not responsive")
		a.n.halt(exitHalted)
	case config.CriticalShutdown:
		a.log.Error("AMQ224080: The server process will now be stopped, as component " + component + " is not responsive")
		go a.shutdown(component) // it waits for this watchdog
	default:
		a.log.Error("AMQ224081: The component " + component + " is not responsive")
	}
}

// shutdown stops the node in good order, as far as the stuck part lets it, and tells whoever runs it.
func (a *analyzer) shutdown(component string) {
	done := make(chan error, 1)
	go func() { done <- a.n.stop() }()
	timer := time.NewTimer(a.limit)
	defer timer.Stop()
	err := fmt.Errorf("the broker was stopped because component %s was not responsive", component)
	select {
	case stopped := <-done:
		if stopped != nil {
			err = fmt.Errorf("%w: %w", err, stopped)
		}
	case <-timer.C:
		err = fmt.Errorf("%w, and could not be stopped in good order", err)
	}
	a.n.o.fail(err)
}
