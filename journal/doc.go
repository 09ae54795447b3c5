// Package journal keeps records in files that are only appended to, as Artemis does, and on top of that the messages of
// the broker.
//
// # Files
//
// A journal is a folder of files <prefix>-<n>.<ext>. All integers are big-endian.
//
//	header   i32 format version (2; 1 is read, too) · i32 user version (0) · i64 file id
//	record   i8 kind · i32 file id (low 31 bits) · i8 compact count (not in version 1) · … · i32 check size
//
//	10 EVENT      i64 id · i32 n · i8 userType · n bytes              ignored by a load: journal retention
//	11 ADD        i64 id · i32 n · i8 userType · n bytes
//	12 UPDATE     i64 id · i32 n · i8 userType · n bytes
//	13 ADD_TX     i64 tx · i64 id · i32 n · i8 userType · n bytes
//	14 UPDATE_TX  i64 tx · i64 id · i32 n · i8 userType · n bytes
//	15 DELETE_TX  i64 tx · i64 id · i32 n · n bytes                   no userType
//	16 DELETE     i64 id
//	17 PREPARE    i64 tx · i32 records · i32 n · n bytes (xid)
//	18 COMMIT     i64 tx · i32 records
//	19 ROLLBACK   i64 tx
//
// The check size is the record's whole length. There is no checksum. Files are made full size and filled with zeros;
// between records there may be zeros (block-aligned writing). The order of files is that of their ids, never of
// their names: a file is reused under its name with a new id, which makes stale every record in it, since a record
// carries the id of its file. "records" is the number of the transaction's 13, 14 and 15 in the same file; a commit
// where that is wrong is ignored with its whole transaction. A scan never fails: at what is not a whole record of this
// file it goes on one byte further. A record never spans files. An id is never used again after its delete.
//
// # Life of a file
//
// Appends go to the current file. When a record does not fit, the file opened ahead takes over. A closed file goes
// (is given a new id and kept for reuse, or removed) when nothing in it is needed any more, see account.go. When too
// little of the closed files is live, compaction rewrites the live records into few new files:
//
//  1. a new current file is begun; the closed ones are the input
//  2. <name>.<ext>.cmp files are written with the ids of the oldest inputs, and synced
//  3. journal-rename-control.ctr, which lists inputs and outputs, is written and synced: from here on it has happened
//  4. inputs are freed, outputs renamed
//  5. the control file is removed; only then may inputs be used again
//
// A load that finds a whole control file does step 4 again and removes it; otherwise it removes the .cmp files.
//
// # Appending
//
// An operation is a few records that stand next to each other:
//
//	a, err := j.Begin(journal.Wait)
//	copy(a.Add(id, 45, len(payload)), payload)
//	if p, err := a.Update(id, 32, 8); err == nil {
//		binary.BigEndian.PutUint64(p, queue)
//	}
//	mark, err := a.Commit(waiter, true) // waiter.Stored() is called when all of it is on disk
//
// Records are encoded into a buffer under one lock. One goroutine, the flusher, writes and syncs what has gathered while the next
// buffer fills; when it is done it calls the waiters in order. There is no timer: whoever waits is
// written at once, together with all that came meanwhile. Records nobody waits for ride along, or are written
// within 10 ms. When both buffers are full, Begin waits, except with Reserve, for those the flusher itself calls.
//
// A failed write or sync is final. Nothing after it is acknowledged or accepted, and Hooks.Fatal is called. Only when the next
// file cannot be made for lack of space, and before anything of the operation was written, is the operation refused with
// ErrNoSpace and the journal goes on.
//
// # Messages
//
// [Store] puts the messages journal, the bindings journal, the large messages and the page folders together and implements
// broker.Store.
//
// Source: spec journal §1; Artemis org.apache.activemq.artemis.core.journal.impl.
package journal
