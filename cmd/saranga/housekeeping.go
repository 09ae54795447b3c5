package main

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/management"
	"github.com/saranga-mq/saranga/broker/netcheck"
)

// housekeeping is what a running node does beside serving: it looks for changes of its configuration, at the disk, at its
// network, and for parts of itself that are stuck. Each has a goroutine, for they wait for files and hosts.
type housekeeping struct {
	reload *reloader
	disk   *diskMonitor

	cancel context.CancelFunc
	work   sync.WaitGroup
}

// startHousekeeping begins it, before the acceptors let clients in.
func startHousekeeping(n *node) *housekeeping {
	ctx, cancel := context.WithCancel(context.Background())
	c := n.in.Broker
	h := &housekeeping{cancel: cancel, reload: newReloader(n)}
	checkOpenFiles(n.log, c)
	if period := c.ConfigurationFileRefreshPeriod; period > 0 {
		h.every(ctx, period, func(time.Time) { h.reload.poll() })
	}
	h.disk = newDiskMonitor(n.in, n.log, n.broker.SetDiskFull)
	h.disk.scan()
	if c.DiskScanPeriod > 0 {
		h.every(ctx, c.DiskScanPeriod, func(time.Time) { h.disk.scan() })
	}
	if tuner := newTuner(n, n.log); tuner != nil {
		h.every(ctx, tunePeriod, func(time.Time) { tuner.tune() })
	}
	h.work.Go(func() { sampleCounters(ctx, n.registry) })
	if w := newWatchdog(n); w != nil {
		h.work.Go(func() { w.run(ctx) })
	}
	if !n.o.guarded && checksNetwork(c) {
		h.work.Go(func() { guardNetwork(ctx, n, h.reload) })
	}
	return h
}

// every runs f once per period, one run at a time.
func (h *housekeeping) every(ctx context.Context, period time.Duration, f func(now time.Time)) {
	h.work.Go(func() {
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				f(now)
			}
		}
	})
}

// sampleCounters samples the message counters again and again, at a period that management may change.
func sampleCounters(ctx context.Context, g *management.Registry) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(time.Duration(max(g.SampleCounters(), 1)) * time.Millisecond)
	}
}

// stop ends it and waits.
func (h *housekeeping) stop() {
	h.cancel()
	h.work.Wait()
}

func checksNetwork(c *config.Config) bool {
	return c.NetworkCheck.List != "" || c.NetworkCheck.URLList != ""
}

func newChecker(ctx context.Context, c *config.Config, log hclog.Logger) *netcheck.Checker {
	o := c.NetworkCheck
	return netcheck.New(ctx, netcheck.Options{Addresses: o.List, URLs: o.URLList, Timeout: o.Timeout, NIC: o.NIC, PingCommand: o.PingCommand, Ping6Command: o.Ping6Command, Log: log})
}

// guardNetwork stops serving while the network is gone (network-check-…).
func guardNetwork(ctx context.Context, n *node, r *reloader) {
	c := n.in.Broker.NetworkCheck
	checker := newChecker(ctx, n.in.Broker, n.log)
	if checker.Empty() {
		n.log.Warn("nothing is left to be checked by network-check-list and network-check-URL-list: the network is not checked")
		return
	}
	var guard netcheck.Guard
	tick := time.NewTicker(c.Period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch guard.Step(checker.Healthy(ctx), r.serving()) {
		case netcheck.Stop:
			n.log.Warn("AMQ201001: the network is unhealthy: acceptors and connections are stopped until it is back")
			r.suspend()
			guard.Stopped()
		case netcheck.Start:
			n.log.Info("AMQ201000: the network is healthy: acceptors are started")
			if err := r.resume(); err != nil {
				n.log.Warn("AMQ202004: an acceptor cannot be started, which will be tried again", "error", err)
			} else {
				guard.Started()
			}
		}
	}
}
