// Package quorum decides which node of a pair may be active: the lock manager of Artemis ("pluggable quorum") and the
// activation sequence that is kept beside its lock.
//
// A Manager is a connection to a store that all nodes of the pair see. It has a Lock and a Long per node id. Who holds the
// lock is active. The long is the coordinated activation sequence S, compared with the node's own L, which is kept in the
// file server.activation.sequence:
//
//	S > 0   S is the sequence of the last activation (or of the last loss of the backup)
//	S < 0   somebody has claimed |S| and not committed it yet
//	S = 0   never used
//
// Every step after which other copies of the data count as stale raises S: an activation, and the loss of the backup,
// before anything is acknowledged without it. A node with L = S has all the data.
//
// Implementations, one package each: file (a shared folder), zookeeper (a ZooKeeper ensemble, or whatever speaks its
// protocol) and embedded (the Raft member in this process). The last two keep the same nodes in a tree, those of Curator
// (package curator), so that they and a real Artemis exclude each other on one store.
//
// Source: spec ha §3.1–3.8; Artemis DistributedLockManager, DistributedLock, MutableLong, ActivationSequenceStateMachine,
// FileBasedNodeManager, UUID.
package quorum
