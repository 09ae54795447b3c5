// Package cluster is the control plane between the nodes of a cluster: who is there and how to reach them, who may speak,
// how a passive node finds the active one, and what nodes vote on. Messages do not move between nodes here.
//
// # Who tells whom
//
// A node keeps a [Topology] for each of its cluster connections: members by node id, each with the connectors of its
// primary and its backup. A [Connection] is the active side. It puts this node in, connects to one configured or discovered
// node (the main connection) and to every other primary that becomes known, announces this node on each, and learns what
// they tell; when such a connection ends, its node is taken out. A [Controller] is the passive side: one connection that
// listens only. A [Node] is what this node's acceptors offer to others: the topology to whoever subscribes, and the cluster
// channel to whoever shows the cluster's credentials.
//
//	 connector                                                  acceptor
//	'ARTEMIS', PING, SUBSCRIBE_TOPOLOGY_V2 (channel 0)  ──▶
//	                                                    ◀──  CLUSTER_TOPOLOGY_V4 of each member, last on the final one
//	CLUSTER_CONNECT user, password        (channel 3)   ──▶
//	                                                    ◀──  CLUSTER_CONNECT_REPLY authorized
//	NODE_ANNOUNCE                         (channel 3)   ──▶
//	                                                    ◀──  CLUSTER_TOPOLOGY_V4 whenever a member changes,
//	                                                         CLUSTER_TOPOLOGY_V2 exit when one is gone
//
// On channel 3 QUORUM_VOTE, BACKUP_REGISTRATION and BACKUP_REQUEST follow; their answers come in order, one per request.
// Before the credentials were shown everything else on it is dropped.
//
// # Discovery
//
// A broadcast group sends one datagram each period, a discovery group hears them:
//
//	STR  node id
//	STR  id of the broadcast group instance: another one from the same node id means a restart, or two nodes with one id
//	i32  number of connectors
//	     connectors: STR name, STR factory class, i32 n, n × (STR key, i8 type {0 bool, 1 i32, 2 i64, 3 STR}, value)
//
// There is no frame, version or checksum; what follows the last connector is ignored. Of one node the last connector counts.
//
// # Pure and shell
//
// Topology, Discoveries, Ballot and Backoff are pure: events and milliseconds in, changes out. Nodes, Control,
// Locator, Connection, Controller, Announcer, Broadcaster, Discovery and Node have the goroutines and sockets; each is
// stopped by its Close or Stop, which waits for its goroutines.
//
// Sources: cluster sections 1 to 5, ha sections 2.1 to 2.5 and 2.9; Artemis Topology, ClusterController, ClusterControl,
// ClusterConnectionImpl, BackupManager, DiscoveryGroup, BroadcastGroupImpl, QuorumManager.
package cluster
