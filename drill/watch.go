package drill

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/wire/core/client"
)

// watchInterval is how often a node that is away is dialed; one that serves is asked how it is every askEvery times.
const (
	watchInterval = 100 * time.Millisecond
	askEvery      = 3
)

// A Watcher keeps an eye on nodes. Its methods may be called by several goroutines.
type Watcher struct {
	admin Admin
	urls  []string
	began time.Time

	cancel context.CancelFunc
	work   sync.WaitGroup

	mu     sync.Mutex
	status []Status
	lines  []NodeLine
	change chan struct{} // closed at the next change
}

// Watch begins to watch nodes; began is when the time of the lines begins. Stop has to be called.
func Watch(ctx context.Context, a Admin, urls []string, began time.Time) *Watcher {
	w := &Watcher{admin: a, urls: urls, began: began, status: make([]Status, len(urls)), lines: make([]NodeLine, len(urls)), change: make(chan struct{})}
	ctx, w.cancel = context.WithCancel(ctx)
	for i, url := range urls {
		w.status[i].URL, w.lines[i].Name = url, NodeName(url)
		w.lines[i].become(Away, 0)
		w.work.Go(func() { w.watch(ctx, i) })
	}
	return w
}

// watch keeps an eye on one node until ctx ends.
func (w *Watcher) watch(ctx context.Context, i int) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	var conn *client.Conn
	var m *client.Management
	for n := 0; ; n++ {
		if conn == nil {
			n = 0
			var err error
			if conn, m, err = w.admin.connect(ctx, w.urls[i]); err != nil {
				conn = nil
				w.set(i, Status{URL: w.urls[i], Err: err, Reason: err.Error()})
			}
		}
		var gone <-chan struct{}
		if conn != nil && n%askEvery == 0 {
			s := ask(ctx, m)
			s.URL = w.urls[i]
			if !s.Serves {
				conn.Close()
				conn = nil
			}
			w.set(i, s)
		}
		if conn != nil {
			gone = conn.Done()
		}
		select {
		case <-ctx.Done():
			if conn != nil {
				conn.Close()
			}
			return
		case <-gone:
			conn.Close()
			conn = nil
			w.set(i, Status{URL: w.urls[i]})
		case <-tick.C:
		}
	}
}

// set takes what is known of a node now.
func (w *Watcher) set(i int, s Status) {
	now := Time(time.Since(w.began) / Tick)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status[i] = s
	for n, r := range Roles(w.status) {
		w.lines[n].become(r, now)
	}
	close(w.change)
	w.change = make(chan struct{})
}

// Status is what is known of the nodes now.
func (w *Watcher) Status() []Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.status)
}

// Await waits until the nodes are as ok wants them.
func (w *Watcher) Await(ctx context.Context, ok func([]Status, []Role) bool) error {
	for {
		w.mu.Lock()
		list, change := slices.Clone(w.status), w.change
		w.mu.Unlock()
		if ok(list, Roles(list)) {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Stop ends the watch and returns what the nodes were.
func (w *Watcher) Stop() []NodeLine {
	w.cancel()
	w.work.Wait()
	now := Time(time.Since(w.began) / Tick)
	for i := range w.lines {
		l := &w.lines[i]
		l.Spans[len(l.Spans)-1].To = now
	}
	return w.lines
}
