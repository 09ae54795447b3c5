// Package raftfsm is the Raft member of a Saranga node: hashicorp/raft around the state machine of raftfsm/tree, with everything
// that the state machine itself must not know: files, sockets, clocks, who leads, and whose client is still alive.
//
//	Propose ──▶ leader? ──no──▶ RPC to the leader ──▶ raft.Apply (the leader stamps the time)
//	   ▲           └────yes────────────────────────────▲   │ committed
//	   │                                                   ▼
//	   └── waiter ◀── Listener.Applied ◀── tree.State.Apply, on every member: one critical section
//
// # Answers
//
// A command is answered when the member's own state machine has applied it, never on the leader's word. The member registers a waiter
// under (kind, session, owner stamp, request number) and may propose the command again when the leader is lost or silent, if applying it
// twice does no harm: the session remembers its last request number. A command that is not safe to repeat ends with ErrUnknown instead.
//
// # Followers learn of a commit at once
//
// hashicorp/raft tells followers the commit index with the next entry or after 1 to 2 × CommitTimeout. Here the leader's transport sends
// the empty AppendEntries that raft would send later as soon as its own state machine has applied an entry and the follower is known to have it
// (transport.go). So CommitTimeout can be long, and an idle group costs next to nothing.
//
// # Who is alive, who is fresh
//
// Members report to the leader several times a second when each of their clients was last heard of; the leader answers with how far it has
// applied and how long ago a majority last confirmed that it leads. Sessions that nobody heard of for their timeout are expired by the leader
// (leases.go); a member that has not caught up with such an answer for Timing.Freshness must not serve (freshness.go).
//
// # The state folder
//
//	MEMBER        whose folder this is, see marker
//	lock          held (flock) while a member runs on the folder
//	raft.db       term and vote (raft-boltdb)
//	log/          the log (raft-wal)
//	segment       the name of the log's newest file, see note.go
//	snapshots/    snapshots of the tree (hashicorp/raft's file store)
//
// The first write that fails is final: nothing leaves the member any more and it ends with the error (stores.go).
//
// # Founding a group, and a member that lost its folder
//
// All founders are configured with the same list. One with an empty folder asks the others before it does anything: when all have answered that they have never
// seen a leader either, each writes the same first entry and the group exists. If one of them has, the folder here was lost, and with it what the member had
// confirmed: votes and entries that a majority may have counted. What happens then, by case:
//
//	a founder of several       asks, also those that the answers name, until n - n/2 other voters of n have answered whose own folders are
//	                           whole: each majority that it was in had one of them. It takes the highest term of these for its own, so that no
//	                           leader of before can use it, gives no vote until a leader has filled it, and is a member again (founding.go).
//	                           If the others lost theirs too, it waits: the majority is lost
//	a founder of its own       nobody to ask: it founds a new group. So it takes no other member in while its list names only itself, and
//	                           with such a list does not start on a folder that knows of others
//	a member that joined       asks to be taken in, and is refused as long as the group knows it as a voter; it does not run until then. The
//	                           operator takes it out (saranga quorum leave), and it joins
//	a member that was removed  is refused everything; it needs an empty folder and join: true
//	two of three at once       the group stays without a leader for good. A new one, of another name and with empty folders, has to be founded,
//	                           with all brokers and clients stopped that have locks in the old one
//
// A folder that is put back from a copy cannot be told from the real one by its member. The leader that had more from it tells of it, if it still leads, and fills it; but meanwhile it
// may have voted for one that lacks what only it and members that are gone now had confirmed. Never put one back, neither with a machine's: start with an
// empty one.
//
// # The port
//
// One port carries Raft's stream and the members' RPC; a connection starts with a hello that names the group and the kind (hello.go). On any address that is not
// loopback both ends prove by TLS that they belong to the group.
//
// # Locks and goroutines
//
// Member.state.mu is the critical section of spec/ha.md 3.9 rule 1: entries, listeners and reads run under it, and nothing that is called there may
// block or call the member. Below it: transport.mu, beat.mu. All goroutines belong to a Member; Stop waits for them.
//
// Sources: spec/ha.md 3.9; the Raft paper and hashicorp/raft for what is not said there.
package raftfsm
