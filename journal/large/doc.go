// Package large keeps the bodies of large messages, one file each.
//
//	<id>.msg   body of a durable message: the raw bytes, no header (Core: the body; AMQP: the whole encoding)
//	<id>.tmp   body of a non-durable message, or the file of a deleted durable one that waits for its next body
//	<id>.sync  a body that is being copied from a primary; becomes .msg
//
// A durable body and its name are synced before its record (type 30, or 45 with persister 4) is written. The file goes
// after the record's delete is synced, when nobody reads it any more; a few stay for new bodies for up to 30 s. At start every .tmp is removed; a .msg that
// belongs to no message in the journal and in no page is what a crash has left of one that was never
// acknowledged, or was deleted, and is removed when all records and pages were read. A .sync is left alone.
//
// Source: spec journal §7; Artemis LargeServerMessageImpl, LargeBody, JournalStorageManager.
package large
