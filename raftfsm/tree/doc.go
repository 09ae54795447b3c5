// Package tree is the replicated state of Saranga's Raft group: ZooKeeper's data model as a pure state machine. It reads no clock, no
// random number and no environment, starts no goroutine and does no I/O of its own; two States that applied the same log are
// equal, and so are the bytes of their snapshots.
//
// # Model
//
// A tree of nodes. A node has data (null differs from empty), an access control list, versions and times (Stat), and children
// in the order of their names. A node is persistent, a container (may be deleted by the leader's sweep once it is empty again), or ephemeral: it
// belongs to a session, has no children and goes with the session. The name of a sequential node ends in the number of children that its parent
// ever got, ten digits.
//
// A session has an id, a password, a timeout, and an owner stamp: a random number that the member drew which last accepted the client's connection.
// A write under another stamp is refused (SESSIONMOVED), so a late write of an old connection can never land. The session remembers the highest
// request number of its owner with the outcome, so a command that is proposed twice is applied once.
//
// A zxid is the Raft index of a command, equal on all members. A failed command consumes one too.
//
// # The top of the tree
//
//	/saranga                       Saranga's own metadata (ReservedRoot)
//	/clients                       what clients see as / (ClientRoot); a Caller may be confined deeper
//	/clients/zookeeper             as ZooKeeper has them; config is empty and read-only
//	/clients/zookeeper/config
//	/clients/zookeeper/quota
//
// Every command and every read has a Caller: the subtree it is confined to and the identities that its connection proved. Paths in commands, outcomes
// and reads are the caller's (relative to its subtree); paths in events, watches and EmptyContainers are absolute.
// A caller that is not an administrator can be confined only at or below ClientRoot.
//
// # Commands
//
// A command in the log, all integers big-endian; "bytes" is a uvarint length and that many bytes, "string" the same:
//
//	 0  version    uint8    1
//	 1  kind       uint8    see Kind
//	 2  origin     uint64   boot id of the proposing member
//	10  request    uint64   request number, rising within an owner stamp; 0 = never skipped
//	18  session    int64    0 = none
//	26  owner      uint64   owner stamp of the session
//	34  time       int64    the leader's wall clock, ms since 1970; written in place by StampTime
//	42  caller              uint8 flags (1 = admin), string chroot, uvarint n, n × {string scheme, string id}
//	    body by kind:
//	      create            string path, data, acl, int32 flags
//	      delete            string path, int32 version
//	      setData           string path, data, int32 version
//	      setACL            string path, acl, int32 aversion
//	      check             string path, int32 version
//	      multi             uvarint n, n × {uint8 kind, body} of the five above
//	      sync              string path
//	      deleteContainer   string path
//	      newSession        16 bytes password, int32 timeout ms
//	      attach            16 bytes password, int32 timeout ms (0 = as it is)
//	      closeSession      –
//	      expireSession     uint64 Raft term
//	      setLimits         the fields of Limits in their order, uint64 each
//	data = uint8 0 (null), or uint8 1 and bytes; acl = uvarint n, n × {int32 perms, string scheme, string id}
//
// A command that does not decode fails with MARSHALLING on every member alike. One of a later version or an unknown kind makes Apply return
// Result.Fatal, because going on would make the members differ: the member must stop.
//
// # Snapshots
//
// See Snapshot for the format.
//
// # Threads
//
// A State has no lock. Its owner serialises Apply, Restore, Snapshot and all reads of the State (spec/ha.md 3.9 rule 1 wants one critical section
// anyway). A Snapshot is immutable: it can be read and written out by any goroutine while Apply goes on. Taking one costs nothing; what is changed
// afterwards is copied first, node by node.
//
// Sources: spec/ha.md 3.6, 3.7, 3.9; where those are silent, the behaviour of ZooKeeper 3.9.
package tree
