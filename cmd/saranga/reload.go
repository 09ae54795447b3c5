package main

import (
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/config"
)

// A reloader takes over changes of broker.xml and what belongs to it while the broker runs (spec/config.md §8), and keeps
// them from meeting a stop or start of the acceptors.
type reloader struct {
	n   *node
	log hclog.Logger

	mu        sync.Mutex
	in        *config.Instance // as it was read last
	stamps    map[string]fileStamp
	suspended bool // the network is gone
	missing   bool // an acceptor could not be started
}

// fileStamp tells whether a file or folder has changed.
type fileStamp struct {
	there bool
	at    time.Time
	size  int64
}

func stampOf(path string) fileStamp {
	info, err := os.Stat(path)
	if err != nil {
		return fileStamp{}
	}
	return fileStamp{true, info.ModTime(), info.Size()}
}

func stampsOf(paths []string) map[string]fileStamp {
	m := map[string]fileStamp{}
	for _, path := range paths {
		m[path] = stampOf(path)
	}
	return m
}

func newReloader(n *node) *reloader {
	return &reloader{n: n, log: n.log, in: n.in, stamps: stampsOf(n.in.Watched)}
}

// listen starts the acceptors.
func (r *reloader) listen(list []config.Transport) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range list {
		if err := r.n.listen(t); err != nil {
			return err
		}
	}
	return nil
}

// poll reloads when a file has changed since the last time. What is wrong is logged; the configuration that was in force
// stays then, until the file changes again.
func (r *reloader) poll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := false
	for path, was := range r.stamps {
		changed = changed || stampOf(path) != was
	}
	if changed {
		if err := r.read(); err != nil {
			r.log.Error("AMQ224069: Change detected in broker configuration file, but reload failed", "error", err)
		}
	}
}

// Reload reads the files whether they have changed or not.
func (r *reloader) Reload() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read()
}

func (r *reloader) read() error {
	r.stamps = stampsOf(r.in.Watched) // before the files are read: a change meanwhile is a change
	in, warnings, err := r.in.Reread()
	for _, w := range warnings {
		if w.Kind != config.NoEffect { // told at the start
			r.log.Warn(w.String())
		}
	}
	if err != nil {
		return err
	}
	for _, path := range in.Watched {
		if _, known := r.stamps[path]; !known {
			r.stamps[path] = stampOf(path)
		}
	}
	return r.apply(in)
}

// apply takes over what can be taken over. Of what cannot be done the rest is done all the same.
func (r *reloader) apply(in *config.Instance) error {
	n, changes := r.n, config.Reload(r.in.Broker, in.Broker)
	r.log.Info("AMQ221056: Reloading configuration: security settings")
	r.log.Info("AMQ221056: Reloading configuration: address settings")
	if err := n.applySettings(in.Broker); err != nil {
		return err
	}
	r.in = in
	r.log.Info("AMQ221056: Reloading configuration: diverts")
	r.log.Info("AMQ221056: Reloading configuration: addresses")
	failed := n.deploy(in.Broker)
	if err := n.realms.reload(in, r.log); err != nil {
		failed = errors.Join(failed, err)
	} else if n.auth != nil {
		n.auth.Clear()
	}
	if !changes.Acceptors.Empty() || r.missing {
		r.log.Info("AMQ221056: Reloading configuration: acceptors")
		err := n.relisten(in.Broker.Acceptors)
		r.missing = err != nil
		failed = errors.Join(failed, err)
		if r.suspended {
			n.suspend()
		}
	}
	if len(changes.Restart) > 0 {
		r.log.Warn("these elements of broker.xml have changed and take effect at the next start: " + strings.Join(changes.Restart, ", "))
	}
	r.log.Info("the configuration was reloaded")
	return failed
}

// serving tells whether the acceptors are not stopped for the network.
func (r *reloader) serving() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.suspended
}

func (r *reloader) suspend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.suspended = true
	r.n.suspend()
}

// resume starts the acceptors again. When one cannot be started, the others serve all the same, and the next call tries
// again.
func (r *reloader) resume() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.n.resume(); err != nil {
		return err
	}
	r.suspended = false
	return nil
}
