// Package embedded is the lock manager on the Raft member in this process: Artemis' class names and properties, the nodes of
// package curator, no ZooKeeper. A real Artemis that connects to the ZooKeeper endpoint of any member of the group, with the same
// namespace, sees the same locks.
//
// Of the properties, namespace, session-ms, session-percent, connection-ms, retries and retries-ms count as they do for
// ZooKeeper; connect-string has no effect, because there is nothing to connect to: whoever reads a configuration must take the ZooKeeper client
// where there is one, as two nodes that ask different stores are both active.
//
// # Session
//
// A session is one of the group's, like that of a client of the endpoint; 1.6 s if session-ms is not set, and at least 1 s. It is alive
// while this process tells the leader of it, several times a second. It is lost when
//
//	the group says that it has expired
//	the member was out of touch with the group (raftfsm.Member.Fresh) for session-percent of the session time
//	the member has ended or was stopped
//
// Writes are proposed one after another, each with a number above the last, so that what was given up can never be applied after what came later. Reads are those of the member's
// own state, while that is fresh.
//
// Source: spec ha §3.6, 3.9.
package embedded
