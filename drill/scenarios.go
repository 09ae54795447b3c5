package drill

import (
	"context"
	"fmt"
	"time"
)

// failover has the active node give way to its backup.
func (s *stage) failover(ctx context.Context) error {
	s.switches = true
	return s.forceFailover(ctx)
}

// forceFailover has the active node stop, if a backup has everything, and waits until another serves.
func (s *stage) forceFailover(ctx context.Context) error {
	list := s.Admin.AskAll(ctx, s.Workload.URLs)
	from := active(Roles(list))
	if from < 0 || !list[from].CanFailOver() {
		return cannot("no backup of the active node has everything any more")
	}
	s.event("forceFailover at %s", NodeName(list[from].URL))
	if err := s.Admin.ForceFailover(ctx, list[from].URL); err != nil {
		return fmt.Errorf("%w: %w", ErrCannot, err)
	}
	return s.awaitOther(ctx, from)
}

// awaitOther waits until another node than that one serves the clients.
func (s *stage) awaitOther(ctx context.Context, from int) error {
	var to int
	err := s.await(ctx, "another node to be active", func(_ []Status, roles []Role) bool {
		to = active(roles)
		return to >= 0 && to != from
	})
	if err != nil {
		return err
	}
	s.event("%s is active", NodeName(s.Workload.URLs[to]))
	return s.awaitService(ctx)
}

// grace is how long a node that came back as a backup, and has everything, may take to become active by itself.
const grace = 10 * time.Second

// failback waits for the former primary to be active again. If it is back, or comes back, as a backup that does not ask for that, the
// active node is told to give way.
func (s *stage) failback(ctx context.Context) error {
	s.switches = true
	list := s.Admin.AskAll(ctx, s.Workload.URLs)
	roles := Roles(list)
	from := active(roles)
	if from < 0 {
		return cannot("no node is active any more")
	}
	if list[from].CanFailOver() {
		return s.forceFailover(ctx)
	}
	for i, r := range roles {
		if r == Away {
			task := Task{Start, list[i].URL, "Start the broker that was at " + NodeName(list[i].URL)}
			if err := s.do(ctx, task); err != nil {
				return err
			}
			break
		}
	}
	var since time.Time
	back := false
	err := s.await(ctx, "the former primary to be active", func(list []Status, roles []Role) bool {
		now := active(roles)
		if back = now >= 0 && now != from; back {
			return true
		}
		if now != from || !list[from].CanFailOver() {
			since = time.Time{}
			return false
		}
		if since.IsZero() {
			since = time.Now()
		}
		return time.Since(since) > grace
	})
	if err != nil {
		return err
	}
	if back {
		return s.awaitOther(ctx, from)
	}
	s.event("the former primary came back as a backup, has everything, and did not ask to be active")
	return s.forceFailover(ctx)
}

// do has the operator do something.
func (s *stage) do(ctx context.Context, t Task) error {
	s.event("asked for: %s", t.Text)
	if s.Operator == nil {
		return cannot("nobody is there to do this: %s", t.Text)
	}
	if err := s.Operator.Do(ctx, t); err != nil {
		return fmt.Errorf("%s: %w", t.Text, err)
	}
	s.event("done: %s", t.Text)
	return nil
}

// partition has the network parted for a while, and waits until everything is well without further help.
func (s *stage) partition(ctx context.Context) error {
	if err := s.do(ctx, Task{CutNet, "", "Part the network between the nodes"}); err != nil {
		return err
	}
	pause := s.pause(ctx, s.Cut)
	// What was cut is healed even if the drill is interrupted.
	healing, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
	defer cancel()
	if err := s.do(healing, Task{HealNet, "", "Make the network whole again"}); err != nil {
		return err
	}
	if pause != nil {
		return pause
	}
	if err := s.awaitWhole(ctx); err != nil {
		return err
	}
	s.event("a node is active and a backup has everything")
	return s.awaitService(ctx)
}

// stable is how long everything must be well to be believed.
const stable = 2 * time.Second

// awaitWhole waits until one node is active, its backup has everything, and no node is down.
func (s *stage) awaitWhole(ctx context.Context) error {
	var since time.Time
	return s.await(ctx, "one active node, and a backup that has everything", func(list []Status, roles []Role) bool {
		i := active(roles)
		if i < 0 || !list[i].CanFailOver() {
			since = time.Time{}
			return false
		}
		if since.IsZero() {
			since = time.Now()
		}
		return time.Since(since) > stable
	})
}

// rollingUpgrade has each node stopped, upgraded and started, those that are passive first, and waits after each until a backup has
// everything again.
func (s *stage) rollingUpgrade(ctx context.Context) error {
	var passive, last []string
	for i, r := range Roles(s.Admin.AskAll(ctx, s.Workload.URLs)) {
		if r == Active {
			last = append(last, s.Workload.URLs[i])
		} else {
			passive = append(passive, s.Workload.URLs[i])
		}
	}
	for _, url := range append(passive, last...) {
		name := NodeName(url)
		if err := s.do(ctx, Task{Restart, url, "Stop the broker at " + name + ", upgrade it, and start it again"}); err != nil {
			return err
		}
		if err := s.awaitWhole(ctx); err != nil {
			return err
		}
		s.event("%s is done: a node is active and a backup has everything", name)
	}
	return s.awaitService(ctx)
}
