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
// That the packet's effect is in the files: written, not synced. Killed processes, here, there or both, lose nothing that was answered.
// This node is synced behind that: the journals when nothing has come for some milliseconds, at the end of each file, and once a
// second under load; bodies and pages soon after their end. So what was answered is lost when both nodes lose their power at once
// and, of the last second, only this one's disk is left or comes back first. Artemis promises less: it answers what may still be in
// its process, and syncs behind that, too. Close syncs what is left, so a node that takes over starts from what is on disk.
//
// Batches: packets are applied on the caller's goroutine into the journals' buffers. EndOfBatch asks the journals that got something
// to tell when that is in the files; the last of them sends the responses of the batch, on its goroutine, and begins the next
// batch; meanwhile that one gathers. So a packet that comes alone takes one read, one write to the file and one to the socket,
// and wakes one goroutine.
//
// # What is there after a crash
//
// Folders that were emptied for a synchronisation are marked until it has ended: see Whole. What was in them is in oldreplica.<n>.
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
