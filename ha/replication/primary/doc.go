// Package primary is the active node's end of the replication stream: it brings a replica up to date and sends it
// everything that the store appends, so that no client is answered before two nodes have what it is told about.
//
// # The stream
//
// The replica has opened the connection; on its channel 2 this end sends and the replica answers every packet with one
// response, in order. Nothing else ties a response to a packet, so a count that is off by one is the end of the replica.
//
//	START_FINISH_SYNC(messages, file ids)      \
//	START_FINISH_SYNC(bindings, file ids)       | appends are stopped, both journals have begun new files
//	START_FINISH_SYNC(large messages, ids)     /
//	SYNC_FILE …                                  the files, in pieces; records of appends that go on stand between them
//	START_FINISH_SYNC(finished, sequence)        both append locks are held: from here on waiters need the replica; it is
//	                                             sent when what went before is answered, so never to one that is silent
//	APPEND, DELETE, PREPARE, COMMIT … LARGE_*    live, in the order in which they were appended
//	SCHEDULED_FAILOVER(stop called)              a clean stop begins; the last records follow
//	SCHEDULED_FAILOVER(fail over)                and ends
//
// Records are those of the local journals, with the same payload. A large body is begun, written and ended before the
// record that refers to it, and deleted after the delete of that record is stored. Bodies deleted while files are copied are
// deleted at the replica behind the finish packet.
//
// # Appends
//
// A record is copied once, under the append lock, as a whole packet into the queue. What has gathered goes to the
// connection when the journal's flusher takes the same records to the disk, in one write: network and disk work at the same
// time, and a batch on one is a batch on the other. There is one batch with the connection at a time.
//
// # A slow or silent replica
//
// The queue has a bound, at which appends wait. A replica that takes nothing, or answers nothing, for call-timeout is dropped.
//
// # Losing the replica
//
// Waiters it has not confirmed stay held; Options.OnLost tells the HA policy, which raises the activation sequence, or does
// whatever it must, and calls Primary.Release, or Primary.Abandon before the node stops. As long as the files are copied nobody
// waits for the replica, and losing it holds nobody.
//
// # Locks
//
// queue.mu is a leaf below the journals' append locks and the lock of the folder of large messages. Nothing is called with
// it held.
//
// Source: spec ha §2.3, 2.6, 2.8 and 2.10; Artemis ReplicationManager and JournalStorageManager.startReplication.
package primary
