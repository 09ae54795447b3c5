package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/ha"
	"github.com/saranga-mq/saranga/ha/quorum"
)

// An activation carries out what the HA policy of the node orders, from the start of the process to its end: it is the shell
// around an ha.Machine.
//
// One goroutine, that of run, hands the machine one fact after another and carries out its orders. What takes long runs on a
// goroutine of its own in a scope, and its fact comes back through the scope. Ending a scope voids the facts that are queued
// from it: the machine never hears of something it has ended.
type activation struct {
	log     hclog.Logger
	machine ha.Machine
	hands   hands
	now     func() quorum.Instant

	mu    sync.Mutex
	facts []fact
	wake  chan struct{} // something was queued; buffered

	// Of run's goroutine.
	timers map[ha.Timer]*scope
	exited bool
	err    error
	late   error // of orders before the exit

	status atomic.Pointer[ha.Status] // for everybody
}

// hands carry out the orders that are about more than time and the process. They are called on run's goroutine, so they must
// not wait for anything that needs a fact to be handled. An order that waits is done in a scope.
type hands interface {
	// carryOut does an order. An error is a fact: Failed.
	carryOut(a ha.Action) error
	// close ends everything that is left, after the last order.
	close()
}

type fact struct {
	event ha.Event
	from  *scope // nil: always true
}

// A scope is where facts come from that a later order may void. It belongs to run's goroutine, but for post and its context.
type scope struct {
	a     *activation
	ctx   context.Context
	end   context.CancelFunc
	ended bool
	work  sync.WaitGroup
}

func newActivation(machine ha.Machine, now func() quorum.Instant, log hclog.Logger) *activation {
	a := &activation{log: log, machine: machine, now: now, wake: make(chan struct{}, 1), timers: map[ha.Timer]*scope{}}
	status := machine.Status()
	a.status.Store(&status)
	return a
}

// scope begins a scope.
func (a *activation) scope() *scope {
	s := &scope{a: a}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// post queues a fact. It may be called from any goroutine, and never waits.
func (a *activation) post(e ha.Event) { a.queue(fact{event: e}) }

func (a *activation) queue(f fact) {
	a.mu.Lock()
	a.facts = append(a.facts, f)
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// post queues a fact that is void once the scope has ended.
func (s *scope) post(e ha.Event) { s.a.queue(fact{e, s}) }

// do runs f on a goroutine and queues the fact that it returns, if any.
func (s *scope) do(f func(context.Context) ha.Event) {
	s.work.Go(func() {
		if e := f(s.ctx); e != nil {
			s.post(e)
		}
	})
}

// close ends the scope and waits for what runs in it.
func (s *scope) close() {
	if s == nil {
		return
	}
	s.ended = true
	s.end()
	s.work.Wait()
}

// run does one fact after another until the machine orders the exit, whose error it returns.
func (a *activation) run(first ha.Event) error {
	a.post(first)
	for !a.exited {
		f, ok := a.next()
		if !ok {
			<-a.wake
			continue
		}
		if f.from != nil && f.from.ended {
			continue
		}
		a.step(f.event)
	}
	for _, t := range a.timers {
		t.close()
	}
	a.hands.close()
	return a.err
}

func (a *activation) next() (fact, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.facts) == 0 {
		return fact{}, false
	}
	f := a.facts[0]
	a.facts = a.facts[1:]
	return f, true
}

func (a *activation) step(e ha.Event) {
	before := a.machine.Status().Phase
	actions := a.machine.Step(a.now(), e)
	status := a.machine.Status()
	a.status.Store(&status)
	if status.Phase != before {
		a.log.Debug("activation", "event", fmt.Sprintf("%T", e), "from", before, "to", status.Phase)
	}
	for i, action := range slices.Clone(actions) { // Failed makes the next list
		err := a.carryOut(action)
		switch {
		case err == nil:
		case slices.ContainsFunc(actions[i:], isExit): // the machine has ended and hears nothing any more
			a.log.Warn("not everything could be ended in good order", "error", err)
			a.late = errors.Join(a.late, err)
		default: // the orders behind it count on it, and so would every fact that is queued
			a.step(ha.Failed{Err: err})
			return
		}
	}
}

func isExit(a ha.Action) bool {
	_, ok := a.(ha.Exit)
	return ok
}

func (a *activation) carryOut(action ha.Action) error {
	switch action := action.(type) {
	case ha.SetTimer:
		a.timers[action.Timer].close()
		s := a.scope()
		a.timers[action.Timer] = s
		s.do(func(ctx context.Context) ha.Event {
			t := time.NewTimer(action.After)
			defer t.Stop()
			select {
			case <-t.C:
				return ha.TimerFired{Timer: action.Timer}
			case <-ctx.Done():
				return nil
			}
		})
	case ha.StopTimer:
		a.timers[action.Timer].close()
		delete(a.timers, action.Timer)
	case ha.Exit:
		a.exited, a.err = true, errors.Join(action.Err, a.late)
	default:
		return a.hands.carryOut(action)
	}
	return nil
}
