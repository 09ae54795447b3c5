package ha

import (
	"reflect"
	"slices"
	"testing"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// A lossy machine gives no orders of a type, or does not hear facts of a type.
type lossy struct {
	Machine
	lost reflect.Type
}

func (m lossy) Step(now quorum.Instant, e Event) []Action {
	if reflect.TypeOf(e) == m.lost {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(m.Machine.Step(now, e)), func(a Action) bool { return reflect.TypeOf(a) == m.lost })
}

// Orders and facts of a pair with a lock manager, each of which the promise or the service depends on. Not among them are those that
// another stands for when they are lost: the end of the link for STOP_CALLED, FAIL_OVER, its answer and NodeDown, the missed lease for
// ManagerLost, StopManager for Cancel; HoldAnswers, which the sender does by itself; and StopTimer, as a timer that was stopped too late
// does not count.
var needed = []any{
	SetTimer{}, UseNodeID{}, MoveDataAway{}, CheckData{}, Load{}, StopServing{}, CloseStore{}, OpenAcceptors{}, StartManager{}, StopManager{}, WriteSequence{}, TryActivate{}, WatchLock{},
	Increment{}, CheckHeld{}, AwaitNext{}, JoinCluster{}, Register{}, Persist{}, ConfirmSync{}, CloseLink{}, StartSync{}, FinishSync{}, AnnounceReplica{}, DropReplica{},
	ReleaseAnswers{}, SendFailOver{}, RefuseRegistration{},
	Started{}, StopAsked{}, SwitchAsked{}, Failed{}, TimerFired{}, NetworkUnhealthy{}, NetworkHealthy{}, DataMoved{}, DataChecked{}, Loaded{}, ServingStopped{}, ManagerStarted{},
	ManagerUnavailable{}, LockAcquired{}, NotCandidate{}, Incremented{}, IncrementFailed{}, HeldChecked{}, LeaseMissed{}, NextActivation{}, ClusterJoined{}, NodeUp{},
	ConnectFailed{}, RegistrationRefused{}, SyncStarted{}, SyncFinished{}, LinkLost{}, BackupRegistered{}, FilesSent{}, ReplicaInSync{}, ReplicaLost{}, SyncTimedOut{},
	BackupShown{},
}

// TestSimulationMissesWhatIsLost: a machine that loses any of them is found out.
func TestSimulationMissesWhatIsLost(t *testing.T) {
	for _, x := range needed {
		lost := reflect.TypeOf(x)
		t.Run(lost.Name(), func(t *testing.T) {
			f := flaws{machine: func(m Machine) Machine { return lossy{m, lost} }}
			for seed := uint64(1); seed <= 1000; seed++ {
				if err := oneFault(int(seed)%len(singleFaults), seed, f, false, nil); err != nil {
					t.Logf("seed %d, %s: %v", seed, singleFaults[int(seed)%len(singleFaults)].name, err)
					return
				}
				if _, err := simulate(seed, f, nil); err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Error("1000 runs have not found it")
		})
	}
}

// The same for two nodes on one folder. (ReleaseBackupLock is for a second backup.)
func TestFolderSimulationMissesWhatIsLost(t *testing.T) {
	for _, x := range []any{
		ProbePrimaryLock{}, LockPrimary{}, LockBackup{}, AwaitPrimary{}, Activate{}, CheckFailback{}, ReleasePrimaryLock{}, AwaitActive{}, Load{}, CloseStore{}, StopServing{},
		JoinCluster{}, SetTimer{}, Exit{}, Cancel{},
		PrimaryLockProbed{}, PrimaryLocked{}, BackupLocked{}, TakenOver{}, FailbackChecked{}, ActiveSeen{}, Loaded{}, ServingStopped{}, ClusterJoined{}, TimerFired{}, NetworkHealthy{}, BackupShown{},
	} {
		lost := reflect.TypeOf(x)
		t.Run(lost.Name(), func(t *testing.T) {
			f := folderFlaws{machine: func(m Machine) Machine { return lossy{m, lost} }}
			for seed := uint64(1); seed <= 1000; seed++ {
				if err := simulateFolder(seed, f); err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Error("1000 runs have not found it")
		})
	}
}
