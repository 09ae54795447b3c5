// Package sharedstore is the node manager of two brokers that share one folder of data: who may open it, told by locks and by one
// byte. It does what Artemis' FileLockNodeManager does, so that either broker can be either half.
//
//	server.lock    state byte · "00" · node id; its format, its states and the locks are those of package journal/lock
//	serverlock.1   held by the active node
//	serverlock.2   held by the one backup that waits; others wait for it
//
//	primary   state F, lock 1, load, state L.  Clean stop: state P, unlock.  Crash, failover: unlock, state stays L.
//	backup    lock 2; then again and again: state 0 or N: wait 2 s. Else lock 1; P or F: unlock, wait 2 s;
//	          L: the primary is dead: touch server.lock, load; the state stays L, lock 2 goes.
//	failback  a backup that is active sees state F: it stops, unlocks 1, waits until the state is L, and is a backup again.
//
// L does not mean that somebody runs: only lock 1 does. F is written by every primary before it has the lock, which is how it
// asks for it; a backup that gets lock 1 in that moment gives it back.
//
// The touch is for the other side: while the state is L, a modification time of server.lock later than the own last write tells
// the active node that somebody took over (Check, every two seconds, and Verify, before writing after a pause).
//
// Source: spec ha §4; Artemis FileLockNodeManager, FileBasedNodeManager.
package sharedstore
