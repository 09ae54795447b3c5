package main

import (
	"context"
	"fmt"
	"sync"
	"time"

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
	if period := c.Journal.LockMonitorTimeout; period > 0 {
		failures := 0
		h.every(ctx, period, func(time.Time) {
			if err := n.locks.Check(); err == nil {
				failures = 0
			} else if failures++; failures > c.Journal.LockMonitorMaxRetries {
				n.fail(fmt.Errorf("the lock of the data folder cannot be relied on any more, so that another broker may become active: %w", err))
			}
		})
	}
	h.work.Go(func() { sampleCounters(ctx, n.registry) })
	if w := newWatchdog(n); w != nil {
		h.work.Go(func() { w.run(ctx) })
	}
	if c.NetworkCheck.List != "" || c.NetworkCheck.URLList != "" {
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

// guardNetwork stops serving while the network is gone (network-check-…).
func guardNetwork(ctx context.Context, n *node, r *reloader) {
	c := n.in.Broker.NetworkCheck
	checker := netcheck.New(ctx, netcheck.Options{Addresses: c.List, URLs: c.URLList, Timeout: c.Timeout, NIC: c.NIC, PingCommand: c.PingCommand, Ping6Command: c.Ping6Command, Log: n.log})
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
