// Package ha decides what a node of a pair does next: the high availability policies of Artemis as pure state machines.
//
// A Machine takes events, which are facts (the lock was acquired, the link is lost, a timer fired), and returns actions,
// which are orders (load, open the acceptors, raise the activation sequence). It starts no goroutine, reads no clock and does
// no I/O; whatever drives it does one event after another and carries out the actions of a step in their order. That order
// is part of the contract:
//
//	a replica is lost     HoldAnswers, Increment … Incremented: DropReplica, ReleaseAnswers
//	… with the voting     HoldAnswers, Vote … VoteDone: DropReplica, ReleaseAnswers, or StopServing
//	an activation         Increment … Load … CheckHeld … Announce and OpenAcceptors come last
//	a backup in sync      Persist before ConfirmSync, so that what the active node counts on is on disk
//	giving way            SendStopCalled, StopServing … SendFailOver … DropReplica, CloseStore, then the lock
//
// The machines:
//
//	replication   primary and backup, with a lock manager (Manager set) or with the voting of older versions. One machine,
//	              for a node changes between the roles of its life: a primary that is stale becomes a backup, a
//	              backup that takes over is active.
//	sharedStore   primary and backup on one folder, and primary-only, which is a primary nobody else waits for.
//
// What keeps two nodes from acknowledging at once with a lock manager: the lock decides who may be active; the activation
// sequence decides whose data may be served, and is raised before anything is acknowledged that a former replica does not
// have; and a Deadline, the end of the lock's lease, is looked at when an answer leaves.
//
// Source: spec ha §1, §2.9–2.12, §3.2–3.5, §4; Artemis' Replication*Activation, SharedNothing*Activation,
// SharedStore*Activation, ReplicationObserver, SharedNothingBackupQuorum.
package ha
