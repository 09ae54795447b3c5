package main

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/ha"
	"github.com/saranga-mq/saranga/ha/quorum"
)

// scripted is a machine that answers each event with what a test says.
type scripted struct {
	step func(ha.Event) []ha.Action
	got  []ha.Event
}

func (m *scripted) Step(_ quorum.Instant, e ha.Event) []ha.Action {
	m.got = append(m.got, e)
	return m.step(e)
}

func (m *scripted) Status() ha.Status { return ha.Status{} }

// doing are hands that do what a test says.
type doing struct {
	do     func(ha.Action) error
	closed bool
}

func (d *doing) carryOut(a ha.Action) error { return d.do(a) }
func (d *doing) close()                     { d.closed = true }

func runScript(t *testing.T, step func(*activation, ha.Event) []ha.Action, do func(*activation, ha.Action) error) ([]ha.Event, error) {
	t.Helper()
	m := &scripted{}
	a := newActivation(m, quorum.Now, hclog.NewNullLogger())
	m.step = func(e ha.Event) []ha.Action { return step(a, e) }
	d := &doing{do: func(x ha.Action) error { return do(a, x) }}
	a.hands = d
	err := a.run(ha.Started{})
	if !d.closed {
		t.Error("the hands were not closed")
	}
	return m.got, err
}

var errTest = errors.New("it does not work")

// What comes from a scope is void when the scope has ended, also if it was queued before.
func TestEndedScope(t *testing.T) {
	var s *scope
	got, err := runScript(t, func(a *activation, e ha.Event) []ha.Action {
		switch e.(type) {
		case ha.Started:
			return []ha.Action{ha.JoinCluster{}}
		case ha.ClusterJoined:
			return []ha.Action{ha.CloseLink{}}
		case ha.StopAsked:
			return []ha.Action{ha.Exit{}}
		}
		return nil
	}, func(a *activation, x ha.Action) error {
		switch x.(type) {
		case ha.JoinCluster:
			s = a.scope()
			s.post(ha.ClusterJoined{})
			s.post(ha.NodeUp{NodeID: "a"}) // queued, and void when its turn comes
		case ha.CloseLink:
			s.close()
			s.post(ha.NodeDown{NodeID: "a"})
			a.post(ha.StopAsked{})
		}
		return nil
	})
	if want := []ha.Event{ha.Started{}, ha.ClusterJoined{}, ha.StopAsked{}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// An order that fails is a fact, and those behind it are not carried out; but an exit is.
func TestOrderFails(t *testing.T) {
	var done []ha.Action
	got, err := runScript(t, func(a *activation, e ha.Event) []ha.Action {
		if _, failed := e.(ha.Failed); failed {
			return []ha.Action{ha.CloseStore{}, ha.StopManager{}, ha.Exit{}}
		}
		return []ha.Action{ha.Load{}, ha.OpenAcceptors{}}
	}, func(a *activation, x ha.Action) error {
		done = append(done, x)
		switch x.(type) {
		case ha.Load, ha.CloseStore:
			return errTest
		}
		return nil
	})
	if want := []ha.Event{ha.Started{}, ha.Failed{Err: errTest}}; !reflect.DeepEqual(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	if want := []ha.Action{ha.Load{}, ha.CloseStore{}, ha.StopManager{}}; !reflect.DeepEqual(done, want) {
		t.Errorf("orders %v, want %v", done, want)
	}
	if !errors.Is(err, errTest) {
		t.Errorf("ended with %v", err)
	}
}

// What was queued before an order failed is heard after the failure: it would be taken for something that came of the order.
func TestFailureComesFirst(t *testing.T) {
	got, _ := runScript(t, func(a *activation, e ha.Event) []ha.Action {
		switch e.(type) {
		case ha.Started:
			a.post(ha.BackupRegistered{})
			return []ha.Action{ha.OpenAcceptors{}}
		case ha.BackupRegistered:
			return []ha.Action{ha.Exit{}}
		}
		return nil
	}, func(*activation, ha.Action) error { return errTest })
	if want := []ha.Event{ha.Started{}, ha.Failed{Err: errTest}, ha.BackupRegistered{}}; !reflect.DeepEqual(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

// A timer fires once, one that is stopped or set again does not.
func TestTimers(t *testing.T) {
	got, err := runScript(t, func(a *activation, e ha.Event) []ha.Action {
		switch e.(type) {
		case ha.Started:
			return []ha.Action{ha.SetTimer{Timer: ha.VoteTimer, After: time.Hour}, ha.SetTimer{Timer: ha.ForcedTimer, After: time.Millisecond}, ha.StopTimer{Timer: ha.ForcedTimer},
				ha.SetTimer{Timer: ha.LocateTimer, After: time.Hour}, ha.SetTimer{Timer: ha.LocateTimer, After: time.Millisecond}}
		case ha.TimerFired:
			return []ha.Action{ha.Exit{}}
		}
		return nil
	}, func(*activation, ha.Action) error { return nil })
	if want := []ha.Event{ha.Started{}, ha.TimerFired{Timer: ha.LocateTimer}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// The goroutines of a scope are waited for when it is closed, and see its end.
func TestScopeEnds(t *testing.T) {
	a := newActivation(&scripted{}, quorum.Now, hclog.NewNullLogger())
	s := a.scope()
	ended := false
	s.do(func(ctx context.Context) ha.Event {
		<-ctx.Done()
		ended = true
		return nil
	})
	s.close()
	if !ended {
		t.Error("a goroutine still runs")
	}
	var none *scope
	none.close()
}
