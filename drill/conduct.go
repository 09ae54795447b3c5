package drill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Conductor carries out drills on nodes that run elsewhere, while a Workload is at work there. The zero value of a field that may be
// left out is its default.
type Conductor struct {
	Workload Workload // of which URLs are all nodes
	Admin    Admin
	Operator Operator // does what cannot be done from here

	Before, After time.Duration // how long the clients work before something is done and after it, default 5 s
	Timeout       time.Duration // for each thing that is waited for, default 2 min
	Cut           time.Duration // how long a partition lasts, default 20 s

	// Log, if not nil, is told how it goes, a line at a time.
	Log func(line string)
}

// An Operator does what a drill asks for.
type Operator interface {
	// Do returns when the task is done, or with why it is not.
	Do(ctx context.Context, t Task) error
}

// A Task is something that a drill asks for.
type Task struct {
	Kind TaskKind
	URL  string // of the node, if it is about one
	Text string // what to do, for a person
}

// A TaskKind is what kind of thing is to be done.
type TaskKind string

// Kinds of tasks.
const (
	Start   TaskKind = "start"   // start the node that is down
	Restart TaskKind = "restart" // stop a node, upgrade it, and start it again
	CutNet  TaskKind = "cut"     // part the network
	HealNet TaskKind = "heal"    // make it whole again
)

// ErrCannot is in what Run returns when a drill could not be run, so that there is no verdict.
var ErrCannot = errors.New("the drill could not be run")

func cannot(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrCannot, fmt.Errorf(format, args...))
}

// Names of the drills.
const (
	Failover       = "failover"
	Failback       = "failback"
	Partition      = "partition"
	RollingUpgrade = "rolling-upgrade"
)

// A stage is a drill that runs.
type stage struct {
	Conductor
	name     string
	nodes    []Status // at the beginning
	switches bool     // the active node changed as often as was seen

	run   *Run
	watch *Watcher

	mu     sync.Mutex
	events []Event
}

// Run carries out the drill of that name. If ctx ends, the drill ends early and what was done so far is checked.
func (c Conductor) Run(ctx context.Context, name string) (*Report, error) {
	do, ok := map[string]func(*stage, context.Context) error{
		Failover: (*stage).failover, Failback: (*stage).failback, Partition: (*stage).partition, RollingUpgrade: (*stage).rollingUpgrade,
	}[name]
	if !ok {
		return nil, cannot("there is no drill %q", name)
	}
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&c.Before, 5*time.Second)
	def(&c.After, 5*time.Second)
	def(&c.Timeout, 2*time.Minute)
	def(&c.Cut, 20*time.Second)
	if c.Log == nil {
		c.Log = func(string) {}
	}
	s := &stage{Conductor: c, name: name}
	if err := s.look(ctx); err != nil {
		return nil, err
	}
	if err := s.allowed(); err != nil {
		return nil, err
	}
	return s.play(ctx, do)
}

// look finds out which node is active, and adds its backup to the nodes if only one was given.
func (s *stage) look(ctx context.Context) error {
	urls := slices.Clone(s.Workload.URLs)
	s.nodes = s.Admin.AskAll(ctx, urls)
	active := slices.DeleteFunc(slices.Clone(s.nodes), func(n Status) bool { return !n.Serves || !n.Active })
	switch {
	case len(active) == 0:
		return cannot("%w", Why(s.nodes))
	case len(active) > 1 && active[0].NodeID == active[1].NodeID:
		return cannot("%s and %s are both active, with the same node id %s", NodeName(active[0].URL), NodeName(active[1].URL), active[0].NodeID)
	case len(active) > 1:
		return cannot("%s and %s are active, each with messages of its own: name the nodes of one pair, of which one is active", NodeName(active[0].URL), NodeName(active[1].URL))
	}
	if backup := active[0].BackupAddress(); len(urls) == 1 && backup != "" {
		url := "tcp://" + backup
		if _, params, ok := strings.Cut(urls[0], "?"); ok {
			url += "?" + params
		}
		urls = append(urls, url)
		s.nodes = s.Admin.AskAll(ctx, urls)
	}
	s.Workload.URLs = urls
	if len(urls) < 2 {
		return cannot("%s has no backup, as far as it tells: name all nodes", NodeName(urls[0]))
	}
	return nil
}

// active is the number of the active node, -1 if there is not one.
func active(roles []Role) int {
	one := -1
	for i, r := range roles {
		if r == Active {
			if one >= 0 {
				return -1
			}
			one = i
		}
	}
	return one
}

// allowed tells whether the nodes are fit for the drill.
func (s *stage) allowed() error {
	i := active(Roles(s.nodes))
	if i < 0 {
		return cannot("no node is active")
	}
	n := s.nodes[i]
	switch s.name {
	case Failback:
		if strings.Contains(n.Policy, "Primary") {
			return cannot("%s is active and is configured as %q: there is nothing to fail back", NodeName(n.URL), n.Policy)
		}
	default:
		if !n.CanFailOver() {
			return cannot("%s is active, and no backup of it has everything", NodeName(n.URL))
		}
	}
	return nil
}

// play has the clients work while something is done to the nodes.
func (s *stage) play(ctx context.Context, do func(*stage, context.Context) error) (*Report, error) {
	starting, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	run, err := s.Workload.Start(starting)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannot, err)
	}
	s.run = run
	s.watch = Watch(context.WithoutCancel(ctx), s.Admin, s.Workload.URLs, run.Began())
	telling, stop := context.WithCancel(ctx)
	var teller sync.WaitGroup
	teller.Go(func() { s.tell(telling) })

	err = s.pause(ctx, s.Before)
	if err == nil {
		err = do(s, ctx)
	}
	switch {
	case ctx.Err() != nil:
		err = errors.New("the drill was interrupted before it was done")
	case err == nil:
		if s.pause(ctx, s.After) != nil {
			s.event("the drill was interrupted")
		}
	}
	if err != nil {
		s.event("%v", err)
	}
	stop()
	teller.Wait()
	until := run.now()
	s.Log("receiving what is left")
	ending, done := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
	defer done()
	history, stopErr := run.Stop(ending)
	lines := s.watch.Stop()
	if errors.Is(err, ErrCannot) {
		return nil, err
	}
	if s.switches {
		history.Switches = 0
		for _, l := range lines {
			for _, span := range l.Spans {
				if span.Role == Active {
					history.Switches++
				}
			}
		}
		history.Switches = max(0, history.Switches-1)
	}
	r := NewReport(s.name, history, run.Began(), until, s.nodes, lines, s.events)
	if err = errors.Join(err, stopErr); err != nil {
		r.Problem = err.Error()
	}
	return r, nil
}

// pause lets the clients work.
func (s *stage) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// event notes what happens.
func (s *stage) event(format string, args ...any) {
	e := Event{s.run.now(), fmt.Sprintf(format, args...)}
	s.mu.Lock()
	s.events = append(s.events, e)
	s.mu.Unlock()
	s.Log(fmt.Sprintf("%7.1fs  %s", e.At.Duration().Seconds(), e.Text))
}

// tell tells every few seconds how it goes.
func (s *stage) tell(ctx context.Context) {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p := s.run.Progress()
			var nodes []string
			for i, r := range Roles(s.watch.Status()) {
				nodes = append(nodes, NodeName(s.Workload.URLs[i])+" "+r.String())
			}
			s.Log(fmt.Sprintf("%7.1fs  sent %d, acknowledged %d, received %d; %s", s.run.now().Duration().Seconds(), p.Sent, p.Acknowledged, p.Received, strings.Join(nodes, ", ")))
		}
	}
}

// await waits for the nodes to be as ok wants them.
func (s *stage) await(ctx context.Context, what string, ok func([]Status, []Role) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Timeout, fmt.Errorf("not within %v", s.Timeout))
	defer cancel()
	if err := s.watch.Await(ctx, ok); err != nil {
		return fmt.Errorf("wait for %s: %w", what, err)
	}
	return nil
}

// awaitService waits until the clients are served again: more sends are acknowledged.
func (s *stage) awaitService(ctx context.Context) error {
	from := s.run.Progress().Acknowledged
	return s.await(ctx, "acknowledgements", func([]Status, []Role) bool { return s.run.Progress().Acknowledged > from })
}
