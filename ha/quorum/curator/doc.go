// Package curator is the lock manager on a tree of nodes as Artemis' CuratorDistributedLockManager lays it out: whoever keeps
// to these nodes excludes, and is excluded by, a real Artemis on the same store. The store itself is a Session; package
// zookeeper has one to a ZooKeeper ensemble, package embedded one to the Raft member in this process.
//
//	/<namespace>                                               container
//	/<namespace>/<id>/activation-sequence                      the long: 8 bytes, big-endian; absent or empty is 0
//	/<namespace>/<id>/locks/locks/_c_<uuid>-lock-<sequence>    ephemeral: whose turn it is to try; data: the client's IP address
//	/<namespace>/<id>/locks/leases/_c_<uuid>-lease-<sequence>  ephemeral: the lock; data: a UUID of the attempt
//
// Folders are containers, made when first needed. <sequence> has ten digits and comes from the store. <uuid> is new for every
// creation: when the answer to a creation is lost, its node is found by that.
//
// # Lock
//
// An attempt makes a node under locks/locks and goes on if it has the lowest sequence there; makes a node under
// locks/leases and holds the lock if it is the only one there; and removes the first node in any case, the second one when it
// does not hold the lock. What cannot be removed now is removed before the next attempt or as soon as the store answers
// again, and in the end goes with the session. Curator waits for its turn with watches; Artemis calls it without a time to wait,
// so nobody ever waits for a watch here.
//
// # Lease
//
// While the lock is held its node is written anew, with the same data, every 1/9 of the session time T. A write that is
// answered proves that a majority of the store still knew the session after the write was sent, at t. From then on the store
// keeps the session for a time that the kind of store knows (Session.Lease), and Lock.Lease is t with that time.
//
// Source: spec ha §3.6; Artemis CuratorDistributedLock, CuratorMutableLong; Curator InterProcessSemaphoreV2.
package curator
