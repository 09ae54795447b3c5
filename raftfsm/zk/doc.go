// Package zk serves a Raft member's tree to ZooKeeper clients: unmodified ones, above all the Curator lock manager of an Apache Artemis that is one half
// of a pair (spec ha.md sections 3.6, 3.7, 3.9). The codec is package jute, the data model package tree, the group a [Member].
//
// # How a request goes
//
//	socket ─▶ reader ─▶ inbox ─▶ handler ──local──▶ Member.Read ─┐
//	                               │                             ├─▶ output ─▶ writer ─▶ socket
//	                               └─▶ Member.Propose ─▶ Applied ┘
//
// The requests of one connection are handled one after another. Reads, pings and watches are answered from the member's own state. Writes, sync, and the
// beginning, moving and end of a session are proposed to the group; whoever accepted the client queues the reply when its own state machine applies the
// entry, never on the leader's word. The member calls Server.Applied in the critical section that applies; there the watch events are queued, then
// the reply. Reads run in the same critical section, set their watch and queue their reply there. So order falls out: an event precedes the
// reply to the operation that caused it and every reply that could show the change, and replies come in the order of the requests.
//
// The zxid of a reply is the index of the last command applied.
//
// # Sessions
//
// A connect makes a session, or moves one here, by an entry in the log that carries a new owner stamp. A member that applies an entry which takes
// the session from one of its connections closes that. What the group cannot answer (no leader for too long) ends the connection
// without a reply, which to a client is an unknown outcome and not the end of its session. The server reports to the leader how long ago each
// client was heard of; the leader alone expires. When the member is not sure to know what the leader knows, all clients are closed, because
// one that goes on to believe in a lease which another has got meanwhile does harm.
//
// # Who may what
//
// The endpoint listens on loopback unless told otherwise, and then takes a list of networks: Curator brings no credentials. A session sees Config.Root as
// "/", and nothing else of the tree. A client that proves by auth digest to be one of Config.Admins sees all, and may delete ephemeral nodes of
// living sessions of others. Everything that a peer can make the server hold has a limit ([Limits]); a peer beyond it, and one that does not read what it is sent,
// is closed with the reason in the log.
package zk
