package ha

import (
	"slices"
	"time"

	"github.com/saranga-mq/saranga/ha/quorum"
)

// A Machine is the policy of one node, from the start of its process to its end. It is not safe for concurrent use.
//
// Facts that do not fit the machine's state are ignored, so the driver need not know the state. But it has to forget what
// an order has begun when a later order ends it: after CloseLink, DropReplica, Cancel or StopManager it hands on no fact that
// comes from the link, replica, order or manager that they ended.
type Machine interface {
	// Step takes a fact and returns what is to be done now, in this order. The slice is valid until the next Step. now never
	// runs backwards: it is the clock that counts while the machine sleeps.
	Step(now quorum.Instant, e Event) []Action
	// Status tells what management shows.
	Status() Status
}

// Status is the state of a node.
type Status struct {
	Active      bool   // serves clients
	Backup      bool   // acts as a backup: the role of now, not the configured one
	ReplicaSync bool   // active: a replica is in sync; backup: this one is
	Sequence    int64  // activation sequence, -1 without one
	Phase       string // for the log and for people
}

// Timer names one of a machine's timers. Each runs at most once at a time.
type Timer string

// The timers.
const (
	RestartTimer  Timer = "restart"          // a pause before the policy begins anew
	ManagerTimer  Timer = "manager"          // before the lock manager is started again
	LocateTimer   Timer = "locate"           // before an active node is looked for again
	FailbackTimer Timer = "failback"         // for the announcement of the node that is to take over, or to look at the state
	ForcedTimer   Timer = "forced-failover"  // after STOP_CALLED
	AnswerTimer   Timer = "fail-over-answer" // after FAIL_OVER was sent
	VoteTimer     Timer = "vote"             // before the next round
)

// Times that are no settings.
const (
	restartPause    = 500 * time.Millisecond
	managerPause    = 500 * time.Millisecond
	announceWait    = 60 * time.Second // spec §2.12 step 3
	forcedFailover  = 60 * time.Second // spec §2.9
	failOverAnswer  = 5 * time.Second  // spec §2.12 step 4
	stayActiveWait  = 5 * time.Second  // spec §2.9, active side
	nextActivation  = 4 * time.Second  // spec §3.4 step 9
	failbackPeriod  = time.Second      // spec §4.3 step 4
	startCheckWait  = 5 * time.Second  // spec §2.10
	defaultInterval = 500 * time.Millisecond
)

// orders collects the actions of a step, and knows which timers run.
type orders struct {
	list    []Action
	running []Timer
}

func (o *orders) do(a ...Action) { o.list = append(o.list, a...) }

func (o *orders) setTimer(t Timer, after time.Duration) {
	if !slices.Contains(o.running, t) {
		o.running = append(o.running, t)
	}
	o.do(SetTimer{t, after})
}

func (o *orders) stopTimers(list ...Timer) {
	for _, t := range list {
		if o.fired(t) {
			o.do(StopTimer{t})
		}
	}
}

// fired takes note that a timer has run out, and tells whether it was running: one that was stopped too late does not count.
func (o *orders) fired(t Timer) bool {
	i := slices.Index(o.running, t)
	if i < 0 {
		return false
	}
	o.running = slices.Delete(o.running, i, i+1)
	return true
}

func (o *orders) log(level Level, code, text string) { o.do(Log{level, code, text}) }

// take returns the collected actions and begins a new collection.
func (o *orders) take() []Action {
	l := o.list
	o.list = o.list[:0]
	return l
}
