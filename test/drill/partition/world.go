//go:build linux

package partition

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/drill"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// A world is a round under way.
type world struct {
	plan   Plan
	setup  Setup
	dir    string // of instances and logs
	fabric *fabric
	raft   map[string]place // of members, as zk
	zk     map[string]place
	core   map[string]place
	nodes  map[string]*process

	mu    sync.Mutex
	notes []string // what happened, with times
	began time.Time
	cuts  []span
}

// A span is a time in which a direction was cut.
type span struct {
	link     Link
	from, to time.Time
}

// layOut makes room for all services, and the nodes' configurations.
func (w *world) layOut(ctx context.Context) (err error) {
	w.raft, w.zk, w.core = map[string]place{}, map[string]place{}, map[string]place{}
	for _, m := range memberNames {
		if w.raft[m], err = w.fabric.service(w.plan.host(m), raftPort); err != nil {
			return err
		}
		if w.zk[m], err = w.fabric.service(w.plan.host(m), zkPort); err != nil {
			return err
		}
	}
	for _, b := range brokerNames {
		if w.core[b], err = w.fabric.service(b, corePort); err != nil {
			return err
		}
	}
	for i, b := range brokerNames {
		if err := w.broker(ctx, b, brokerNames[1-i]); err != nil {
			return err
		}
	}
	return w.members()
}

// Bounds of a round.
const (
	startPatience = 4 * time.Minute  // for JVMs on a busy machine; until the pair serves and is in sync at first
	healPatience  = 90 * time.Second // after the end of the trouble
	drainPatience = 2 * time.Minute
)

// play plays a round.
func play(ctx context.Context, p Plan, setup Setup, dir string, isolated bool) (r *Result, err error) {
	if setup.ZooKeeper != "" && !isolated {
		return nil, errors.New("ZooKeeper's servers need namespaces, which this machine does not allow")
	}
	p = setup.fit(p)
	w := &world{plan: p, setup: setup, dir: dir, nodes: map[string]*process{}, began: time.Now()}
	if w.fabric, err = newFabric(isolated, p); err != nil {
		return nil, err
	}
	defer w.fabric.close()
	defer w.end()
	if err := w.layOut(ctx); err != nil {
		return nil, err
	}
	for _, n := range p.nodes() {
		if err := w.nodes[n].start(); err != nil {
			return nil, err
		}
	}
	r = &Result{Plan: p, Setup: setup.String(), Network: w.fabric.describe()}
	if _, err := w.inSync(ctx, startPatience); err != nil {
		return nil, fmt.Errorf("before anything was wrong: %w", err)
	}
	clients, err := os.Create(filepath.Join(dir, "clients.log"))
	if err != nil {
		return nil, err
	}
	defer clients.Close()
	starting, cancel := context.WithTimeout(ctx, startPatience)
	run, err := w.workload(clients).Start(starting)
	cancel()
	if err != nil {
		return nil, err
	}
	locks := w.startLocks(ctx)

	troubleBegan := time.Now()
	w.note("trouble begins")
	err = w.trouble(ctx)
	healed := time.Now()
	w.note("everything is healed")
	if err != nil {
		r.fail("%v", err)
	}
	for _, b := range brokerNames {
		if err := w.nodes[b].revive(setup.real(b)); err != nil {
			r.fail("%v", err)
		}
	}
	before := run.Progress().Acknowledged
	promise := r.fail
	if setup.anyReal() { // its promises are its own
		promise = r.remark
	}
	if active, err := w.inSync(ctx, healPatience); err != nil {
		promise("not in order %v after the heal: %v", healPatience, err)
	} else {
		r.Healed = time.Since(healed)
		w.note("%s serves and has a replica in sync", active)
	}
	if err := until(ctx, healPatience, func() error {
		if now := run.Progress().Acknowledged; now < before+50 {
			return fmt.Errorf("%d messages were acknowledged since the heal", now-before)
		}
		return nil
	}); err != nil {
		r.fail("no service after the heal: %v", err)
	}
	r.Locks = locks.check(r)
	stopping, cancel := context.WithTimeout(ctx, drainPatience)
	history, err := run.Stop(stopping)
	cancel()
	if err != nil {
		r.fail("stop the clients: %v", err)
	}
	verdict := drill.Check(history)
	r.Verdict = verdict.String()
	if !verdict.OK() {
		promise("%s", r.Verdict)
		if err := writeHistory(filepath.Join(dir, "history.txt"), history, run.Began()); err != nil {
			r.fail("%v", err)
		}
	}
	r.Silence = silence(history, troubleBegan.Sub(run.Began()), healed.Add(r.Healed).Sub(run.Began()))
	for _, late := range w.pastLease(history, run.Began()) {
		promise("%s", late)
	}
	for _, name := range p.nodes() {
		for _, e := range w.nodes[name].endings() {
			if setup.real(name) {
				r.remark("%s", e)
			} else {
				r.fail("%s", e)
			}
		}
	}
	w.mu.Lock()
	r.Notes = w.notes
	w.mu.Unlock()
	return r, nil
}

func (w *world) end() {
	var ending sync.WaitGroup
	for _, p := range w.nodes {
		ending.Go(func() { p.end(5 * time.Second) })
	}
	ending.Wait()
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.notes = append(w.notes, fmt.Sprintf("%s %7.3f s %s", now.Format("15:04:05.000"), now.Sub(w.began).Seconds(), fmt.Sprintf(format, args...)))
}

// until tries something until it works.
func until(ctx context.Context, limit time.Duration, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// inSync waits until a broker serves that says it has a replica in sync, and returns its name.
func (w *world) inSync(ctx context.Context, limit time.Duration) (active string, err error) {
	err = until(ctx, limit, func() error {
		var errs []error
		for _, b := range brokerNames {
			synced, err := w.replicaSync(ctx, b)
			if synced {
				active = b
				return nil
			}
			if err == nil {
				err = errors.New("it serves and has no replica in sync")
			}
			errs = append(errs, fmt.Errorf("%s: %w", b, err))
		}
		return errors.Join(errs...)
	})
	return active, err
}

// replicaSync asks a broker.
func (w *world) replicaSync(ctx context.Context, broker string) (synced bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	cfg, err := client.ParseURL(w.url(admin, broker))
	if err != nil {
		return false, err
	}
	cfg.User, cfg.Password, cfg.CallTimeout = user, password, 2*time.Second
	conn, err := client.Dial(ctx, cfg)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	m, err := conn.NewManagement(ctx, "")
	if err != nil {
		return false, err
	}
	answer, err := m.Attribute(ctx, client.BrokerResource, "ReplicaSync")
	if err != nil {
		return false, err
	}
	return synced, answer.Into(&synced)
}

// url is a broker's as a client uses it.
func (w *world) url(from, broker string) string {
	return fmt.Sprintf("tcp://%s?localAddress=%s&connect-timeout-millis=2000", w.core[broker].reach, w.fabric.addr[from])
}

// trouble carries out the plan.
func (w *world) trouble(ctx context.Context) error {
	type step struct {
		at time.Duration
		do func() error
	}
	var steps []step
	for _, f := range w.plan.Faults {
		var undo func() error
		steps = append(steps, step{f.At, func() (err error) {
			w.note("%s %s", f.Kind, f)
			undo, err = w.begin(f)
			return err
		}}, step{f.At + f.For, func() error {
			if undo == nil {
				return nil
			}
			w.note("%s at %v ends", f.Kind, f.At)
			return undo()
		}})
	}
	slices.SortStableFunc(steps, func(a, b step) int { return int(a.at - b.at) })
	began := time.Now()
	var errs []error
	for _, s := range append(steps, step{w.plan.Trouble, func() error { return nil }}) {
		timer := time.NewTimer(time.Until(began.Add(s.at)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		errs = append(errs, s.do())
	}
	return errors.Join(errs...)
}

// begin begins a fault; undo, if not nil, ends it.
func (w *world) begin(f Fault) (undo func() error, err error) {
	switch f.Kind {
	case Pause:
		for _, n := range f.Nodes {
			w.nodes[n].pause()
		}
		return func() error {
			for _, n := range f.Nodes {
				w.nodes[n].resume()
			}
			return nil
		}, nil
	case Crash:
		for _, n := range f.Nodes {
			w.nodes[n].kill()
		}
		return func() error {
			var errs []error
			for _, n := range f.Nodes {
				errs = append(errs, w.nodes[n].restart())
			}
			return errors.Join(errs...)
		}, nil
	case Slow:
		var undos []func()
		for _, l := range f.Links {
			undos = append(undos, w.fabric.slow(l, f.Rule))
		}
		return func() error {
			for _, u := range undos {
				u()
			}
			return nil
		}, nil
	case Cut:
		var errs []error
		for _, l := range f.Links {
			errs = append(errs, w.fabric.cut(l, f.Cut))
		}
		from := time.Now()
		return func() error {
			to := time.Now()
			var errs []error
			for _, l := range f.Links {
				w.cuts = append(w.cuts, span{l, from, to})
				errs = append(errs, w.fabric.heal(l))
			}
			return errors.Join(errs...)
		}, errors.Join(errs...)
	default:
		for _, l := range f.Links {
			w.fabric.tear(l, f.Kind)
		}
		return nil, nil
	}
}
