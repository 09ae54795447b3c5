package ha

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// Whatever facts come in whatever order: no panic, and these orders only where they may stand.
func TestAnyFactsInAnyOrder(t *testing.T) {
	var names []string
	for name := range events {
		names = append(names, name)
	}
	slices.Sort(names)
	policies := []Policy{
		ReplicationPolicy{Manager: &LockManager{}},
		ReplicationPolicy{Manager: &LockManager{}, Backup: true, AllowFailback: true},
		ReplicationPolicy{Voting: Voting{CheckForActive: true, OnLoss: true, Retries: 2}},
		ReplicationPolicy{Backup: true, AllowFailback: true, Voting: Voting{Retries: 2}},
		SharedStorePolicy{}, SharedStorePolicy{Alone: true}, SharedStorePolicy{Backup: true, AllowFailback: true, RestartBackup: true},
	}
	for _, p := range policies {
		t.Run(p.Name(), func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { anyFacts(t, p, names) }) })
	}
}

func anyFacts(t *rapid.T, p Policy, names []string) {
	r, _ := p.(ReplicationPolicy)
	locked := r.Manager != nil
	m := p.Machine()
	m.Step(0, Started{"N", rapid.Int64Range(-1, 3).Draw(t, "sequence")})
	open, holding, exited, raised, serving := false, false, false, false, false
	now := quorum.Instant(0)
	for range rapid.IntRange(1, 120).Draw(t, "length") {
		e := drawEvent(t, names, m)
		now = now.Add(time.Millisecond)
		if _, ok := e.(Incremented); ok {
			raised = true
		}
		acts := m.Step(now, e)
		if exited && len(acts) > 0 {
			t.Fatalf("%#v after the exit: %#v", e, acts)
		}
		for _, a := range acts {
			switch a := a.(type) {
			case Exit:
				exited = true
				if serving {
					t.Fatal("exit while serving")
				}
			case Increment:
				raised = false
			case Load:
				if locked && !raised {
					t.Fatal("loads before the sequence is raised")
				}
			case OpenAcceptors:
				if open {
					t.Fatal("opens twice")
				}
				open, serving = true, true
			case StopServing:
				open, holding = false, false
			case CloseStore:
				serving = false
			case HoldAnswers:
				holding = true
			case ReleaseAnswers:
				if holding && locked && !raised {
					t.Fatal("answers leave before the sequence is raised")
				}
				holding = false
			case StopManager, ReleasePrimaryLock:
				if serving {
					t.Fatalf("%#v while the store is open", a)
				}
			}
		}
		if s := m.Status(); s.Active != open {
			t.Fatalf("status %+v, acceptors open %v", s, open)
		}
	}
}

// drawEvent makes a fact, mostly one that the machine waits for.
func drawEvent(t *rapid.T, names []string, m Machine) Event {
	name := rapid.SampledFrom(names).Draw(t, "fact")
	if likely := expected[phase(m.Status().Phase)]; len(likely) > 0 && rapid.IntRange(0, 3).Draw(t, "likely") > 0 {
		name = rapid.SampledFrom(likely).Draw(t, "fact")
	}
	if name == "started" {
		name = "loaded"
	}
	v := reflect.New(events[name]).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(rapid.Bool().Draw(t, "field"))
		case reflect.String:
			values := []string{"N", "M"}
			if f.Type() == reflect.TypeFor[Timer]() {
				values = []string{string(RestartTimer), string(ManagerTimer), string(LocateTimer), string(FailbackTimer), string(ForcedTimer), string(AnswerTimer), string(VoteTimer)}
			}
			f.SetString(rapid.SampledFrom(values).Draw(t, "field"))
		case reflect.Int, reflect.Int32, reflect.Int64:
			f.SetInt(rapid.Int64Range(0, 4).Draw(t, "field"))
		}
	}
	return v.Interface().(Event)
}

var expected = map[phase][]string{
	startingManager: {"manager-started"}, managerAway: {"timer-fired"}, lookingForSelf: {"active-found"}, activating: {"lock-acquired", "not-candidate"}, examining: {"data-checked"},
	raising: {"incremented"}, loading: {"loaded"}, checking: {"held-checked"}, moving: {"data-moved"}, joining: {"cluster-joined"}, locating: {"node-up"},
	registering: {"sync-started"}, syncing: {"sync-finished"}, inSync: {"link-lost", "stop-called", "fail-over"}, voting: {"vote-done"}, judging: {"network-checked"},
	deciding: {"lock-acquired", "not-candidate"}, leaving: {"serving-stopped"}, handingOver: {"fail-over-answered"}, managerAgain: {"manager-started"},
	awaitingOther: {"next-activation"}, pausing: {"timer-fired"}, probing: {"primary-lock-probed"}, lockingFirst: {"primary-locked"}, lockingBackup: {"backup-locked"},
	joiningBackup: {"cluster-joined"}, announcing: {"cluster-joined"}, awaiting: {"taken-over"}, awaitingLive: {"active-seen"}, isolated: {"network-healthy"},
	active: {"backup-registered", "files-sent", "replica-in-sync", "replica-lost", "incremented", "backup-shown"},
}
