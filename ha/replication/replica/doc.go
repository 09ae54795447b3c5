// Package replica is the passive node's end of the replication stream: it takes what the active node sends on channel 2 and keeps
// it in folders that a broker can be started on.
//
// # The stream
//
// Every packet has one response, in order; nothing else ties them together. Responses are RESPONSE, but RESPONSE_V2 for
// START_FINISH_SYNC. An error ends the connection: EXCEPTION would leave the peer one response short for ever.
//
//	START_FINISH_SYNC(journal, file ids)      files are reserved, an own file with a larger id begins; answered at once, then
//	                                          the owner is told the node id
//	START_FINISH_SYNC(large messages, ids)    bodies that will come
//	SYNC_FILE                                 pieces of journal files, bodies and pages
//	APPEND, DELETE, PREPARE, COMMIT …         during the synchronisation into the own files, later into the whole journal
//	LARGE_MESSAGE_BEGIN, WRITE, END           into <id>.msg, or <id>.sync as long as that body's copy is on its way
//	PAGE_WRITE, PAGE_EVENT                    into the pages of the address, in a folder with a name of our own
//	START_FINISH_SYNC(finished, sequence)     both journals are loaded, .sync files are put behind their bodies; the owner is told,
//	                                          and answered
//	SCHEDULED_FAILOVER                        answered, then the owner is told
//
// # What a response says
//
// That the packet's effect is in the files: written, not synced. A killed replica loses nothing that was answered. A replica that
// loses its power may lose what the disk did not have yet; the active node has synced all of it before it answered its client, so that
// takes the loss of this node's power and of the other's disk at once. It is what Artemis promises, too, and costs a batch no more than
// one write; Options.Sync buys the difference for one sync per batch. Close syncs everything, so a node that takes over starts
// from what is on disk.
//
// Batches: packets are applied on the caller's goroutine into the journals' buffers. A goroutine of the endpoint waits until the
// journals have written what is there, and sends the responses of all packets that came before; meanwhile the next gather.
//
// # Pages
//
// Pages are kept byte for byte, for Artemis and for a drained address. This broker does not serve pages yet: Activate refuses as long as
// a page holds a message somebody waits for, and the log says so when the first one comes.
//
// # Hostile peers
//
// Names of files are made of numbers and of our own ids. Ids, sizes and lists are bounded; what is against the order of the stream,
// or does not fit on the disk, ends the connection.
//
// Source: spec ha §2.3–2.8 and 2.11; Artemis ReplicationEndpoint.
package replica
