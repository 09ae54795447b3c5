// Package lock is the node's identity and its locks on disk, as Artemis' file-based node manager has them.
//
//	server.lock   19 bytes: state · "00" · 16 bytes of the node's UUID
//	serverlock.1  the primary lock, an empty file
//	serverlock.2  the backup lock, an empty file
//	cli.lock      in <instance>/lock: held by the broker, and by tools that need the broker stopped
//
// All locks are POSIX record locks (fcntl) on the whole file, which is what Java takes. They belong to the process: closing
// any descriptor of the file drops them, so each file is opened once, here. A record lock is invisible to flock.
//
// The byte range of server.lock is locked only while its state is read or written. A broker that starts writes 'F', takes
// the primary lock, loads, and writes 'L'; a clean stop writes 'P' and lets go; a crash leaves 'L'.
//
// Source: spec journal §2; Artemis FileBasedNodeManager, FileLockNodeManager.
package lock
