package ha

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/cockroachdb/datadriven"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// The scripts in testdata/scripts: facts in, orders out.
//
//	new replication primary|backup manager|voting [option=value …]     a machine
//	new shared-store primary|backup|alone [option=value …]
//	step                                                               one fact a line; +2s before it lets time pass
//
// What is expected is what spec ha and the checklist rows named in the scripts say, in that order.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		var m Machine
		now := quorum.Instant(time.Hour)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				m = newMachine(t, d)
				return ""
			case "step":
				var out strings.Builder
				for line := range strings.Lines(d.Input) {
					words := strings.Fields(line)
					if len(words) == 0 {
						continue
					}
					if s, ok := strings.CutPrefix(words[0], "+"); ok {
						after, err := time.ParseDuration(s)
						if err != nil {
							d.Fatalf(t, "%v", err)
						}
						now = now.Add(after)
						words = words[1:]
					}
					e, err := parseEvent(words)
					if err != nil {
						d.Fatalf(t, "%q: %v", line, err)
					}
					fmt.Fprintln(&out, strings.TrimSpace(line))
					for _, a := range m.Step(now, e) {
						fmt.Fprintln(&out, "  "+describe(a))
					}
				}
				s := m.Status()
				fmt.Fprintf(&out, "= %s", s.Phase)
				if s.Sequence >= 0 {
					fmt.Fprintf(&out, ", sequence %d", s.Sequence)
				}
				for word, on := range map[string]bool{", replica in sync": s.ReplicaSync} {
					if on {
						out.WriteString(word)
					}
				}
				out.WriteByte('\n')
				return out.String()
			}
			d.Fatalf(t, "no command %q", d.Cmd)
			return ""
		})
	})
}

// newMachine makes a machine with the defaults of spec ha §1.1.
func newMachine(t *testing.T, d *datadriven.TestData) Machine {
	r := ReplicationPolicy{RetryReplicationWait: 2 * time.Second, InitialSyncTimeout: 30 * time.Second, MaxSavedReplicas: 2, AllowFailback: true,
		Voting: Voting{Size: -1, Retries: 12, RetryWait: 5 * time.Second, Wait: 30 * time.Second}}
	s := SharedStorePolicy{AllowFailback: true, RestartBackup: true}
	kind := ""
	for i, a := range d.CmdArgs {
		value := ""
		if len(a.Vals) > 0 {
			value = a.Vals[0]
		}
		n, _ := strconv.Atoi(value)
		switch a.Key {
		case "replication", "shared-store":
			if i == 0 {
				kind = a.Key
			}
		case "primary", "voting":
		case "backup":
			r.Backup, s.Backup = true, true
		case "alone":
			s.Alone = true
		case "manager":
			r.Manager = &LockManager{}
		case "coordination-id":
			r.CoordinationID = value
		case "group-name":
			r.GroupName = value
		case "allow-failback":
			r.AllowFailback, s.AllowFailback = value == "true", value == "true"
		case "restart-backup":
			s.RestartBackup = value == "true"
		case "failover-on-shutdown":
			s.FailoverOnShutdown = value == "true"
		case "check-for-active-server":
			r.Voting.CheckForActive = value == "true"
		case "vote-on-replication-failure":
			r.Voting.OnLoss = value == "true"
		case "vote-retries":
			r.Voting.Retries = n
		case "max-saved":
			r.MaxSavedReplicas = n
		default:
			d.Fatalf(t, "no option %q", a.Key)
		}
	}
	if kind == "replication" {
		return r.Machine()
	}
	return s.Machine()
}

// events are all types of Event by their names in scripts.
var events = func() map[string]reflect.Type {
	m := map[string]reflect.Type{}
	for _, e := range []Event{Started{}, StopAsked{}, SwitchAsked{}, Failed{}, TimerFired{}, NetworkUnhealthy{}, NetworkHealthy{}, DataMoved{}, Loaded{},
		ServingStopped{}, DataChecked{}, ManagerStarted{}, ManagerUnavailable{}, ManagerLost{}, LockAcquired{}, NotCandidate{}, LocalFailed{}, Incremented{}, IncrementFailed{},
		HeldChecked{}, LockLost{}, LeaseMissed{}, NextActivation{}, ClusterJoined{}, NodeUp{}, NodeDown{}, ConnectFailed{}, RegistrationRefused{}, SyncStarted{},
		SyncFinished{}, StopCalled{}, FailOver{}, LinkLost{}, BackupRegistered{}, FilesSent{}, ReplicaInSync{}, ReplicaLost{}, SyncTimedOut{}, FailOverAnswered{},
		BackupShown{}, BackupHidden{}, ActiveFound{}, VoteDone{}, NetworkChecked{}, PrimaryLockProbed{}, PrimaryLocked{}, BackupLocked{}, TakenOver{},
		FailbackChecked{}, ActiveSeen{}} {
		m[kebab(reflect.TypeOf(e).Name())] = reflect.TypeOf(e)
	}
	return m
}()

// parseEvent reads a name and its fields: booleans by name, others as name=value.
func parseEvent(words []string) (Event, error) {
	typ, ok := events[words[0]]
	if !ok {
		return nil, fmt.Errorf("there is no such fact")
	}
	v := reflect.New(typ).Elem()
next:
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		for i := range v.NumField() {
			if kebab(typ.Field(i).Name) != key {
				continue
			}
			switch f := v.Field(i); f.Kind() {
			case reflect.Bool:
				f.SetBool(true)
			case reflect.String:
				f.SetString(value)
			case reflect.Int, reflect.Int32, reflect.Int64:
				n, err := strconv.Atoi(value)
				if err != nil {
					return nil, err
				}
				f.SetInt(int64(n))
			case reflect.Interface:
				f.Set(reflect.ValueOf(errors.New(value)))
			default:
				return nil, fmt.Errorf("field %s has no form", key)
			}
			continue next
		}
		return nil, fmt.Errorf("there is no field %s", key)
	}
	return v.Interface().(Event), nil
}

// describe is an action in a script: its name, and its fields but for those with the zero value.
func describe(a Action) string {
	if l, ok := a.(Log); ok {
		return strings.TrimRight("log "+string(l.Level)+" "+strings.TrimLeft(l.Code+" "+l.Text, " "), " ")
	}
	v := reflect.ValueOf(a)
	out := kebab(v.Type().Name())
	for i := range v.NumField() {
		f := v.Field(i)
		name := kebab(v.Type().Field(i).Name)
		switch {
		case f.IsZero():
		case f.Kind() == reflect.Bool:
			out += " " + name
		default:
			out += fmt.Sprintf(" %s=%v", name, f.Interface())
		}
	}
	return out
}

func kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		lowerBefore := i > 0 && !unicode.IsUpper(rune(name[i-1]))
		if unicode.IsUpper(r) && lowerBefore {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
