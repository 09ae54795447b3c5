// Package file is the lock manager on a shared folder, as Artemis' FileBasedLockManager.
//
//	<folder>/<id>      empty; the lock: an exclusive POSIX record lock on the whole file
//	<folder>/ML:<id>   the long: 8 bytes, big-endian; absent or shorter is 0; not locked
//
// The folder has to exist. Java's FileChannel.tryLock takes a record lock with fcntl(F_SETLK). A record lock belongs to the
// process: it conflicts with nobody in the process and is gone as soon as any descriptor of the file is closed there. Where the
// system has them (Linux), open file description locks are taken instead: they conflict with record locks in both
// directions, also on network file systems, and have neither of the two faults.
//
// There is no lease: a file server that went away is noticed by HeldByCaller only, and nothing tells that the lock is lost.
//
// Source: spec ha §3.8; Artemis FileBasedLockManager, FileDistributedLock.
package file
