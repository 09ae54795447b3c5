// Package zookeeper is the lock manager on a ZooKeeper ensemble, or on anything else that speaks its protocol: Artemis'
// CuratorDistributedLockManager, whose class names and properties it has. The nodes it keeps are described in package
// curator, the bytes of the protocol in raftfsm/zk/jute; here is the client that keeps a session.
//
// # Session
//
// A session has one connection at a time, to one server of the connect string; they are tried in turn from a random one. With the granted
// session time T:
//
//	T/9   without a frame of ours: a ping is sent
//	T/3   without a frame of the server: the connection is given up
//	T/6   for one server to accept a connection and the session
//	session-percent of T without a connection, or the server's word that the session has expired: the session is lost
//
// A session that is lost stays lost: no other is begun in its place, so nothing that was asked in one session can happen in
// another. All operations then end with ErrSessionLost.
//
// Requests are answered in order; when the connection is lost, those without an answer end with ErrDisconnected, and whether
// they were done is unknown.
//
// # Why not a client library
//
// go-zookeeper/zk v1.0.4 has the requests, but after an expiry it begins a new session by itself and sends what was
// queued for the old one; a request has no deadline and no context; a server that accepts and is silent stops it for 20/3 T; its
// read loop panics on a frame shorter than a reply header. For a lock each of these is one too many.
//
// # Bounds
//
// A frame of a server has at most 1 MiB, 1,024 requests may wait for an answer. A server that sends something else is left like one
// that is gone.
//
// Source: spec ha §3.6, 3.7.
package zookeeper
