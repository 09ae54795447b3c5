package server

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/wire/transport"
)

// A Topology tells the nodes of the cluster to whoever subscribes to it.
type Topology interface {
	// Subscribe has all members told to p, the last one marked as such, and then every change until Unsubscribe. It is
	// called on the read goroutine and must not wait. A peer that subscribes again is told all members again. False: the
	// acceptor that p came through has no cluster connection.
	Subscribe(p Peer) bool
	// Unsubscribe is called once when the connection has ended, whether it had subscribed or not.
	Unsubscribe(p Peer)
}

// How many connections may watch the topology without a login, and how long each may before another takes its place.
const (
	maxWatchers = 1000
	displaceAge = 10 * time.Second
)

var errDisplaced = errors.New("too many connections watch the topology without a login: the oldest was closed")

// watch lets a connection that has subscribed stay, if there is room.
func (c *conn) watch() {
	if c.admitted.Load() {
		return
	}
	in, displaced := c.s.watchers.add(c, time.Now())
	if displaced != nil {
		displaced.tc.Close(errDisplaced)
	}
	if in {
		c.tc.SetMaxFrame(transport.RefSize)
		c.tc.Authenticated()
	}
}

// watchers are the connections that subscribed to the topology of a cluster and have not logged in. A passive node's
// first connection never does (ha §2.1), so such a connection may stay; while there are too many, those that come keep
// the bounds of all that have not logged in. The zero value is ready for use.
type watchers struct {
	mu    sync.Mutex
	queue []watcher // in the order of coming
}

type watcher struct {
	c     *conn
	since time.Time
}

// add takes c in if there is room, or if the oldest has had its time, which is displaced then. now only grows.
func (w *watchers) add(c *conn, now time.Time) (in bool, displaced *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.ContainsFunc(w.queue, func(x watcher) bool { return x.c == c }) {
		return true, nil
	}
	if len(w.queue) >= maxWatchers {
		if now.Sub(w.queue[0].since) < displaceAge {
			return false, nil
		}
		displaced = w.queue[0].c
		w.queue = slices.Delete(w.queue, 0, 1)
	}
	w.queue = append(w.queue, watcher{c, now})
	return true, displaced
}

// remove forgets c, which has logged in or ended.
func (w *watchers) remove(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = slices.DeleteFunc(w.queue, func(x watcher) bool { return x.c == c })
}
