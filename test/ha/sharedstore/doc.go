// Package sharedstore runs Saranga's node manager (ha/sharedstore) and a real Artemis on one folder, as the two halves of a
// shared store: who waits, who takes over, which state is written, and when.
//
// The node manager is a process of its own (this test binary once more), for record locks hold between processes only, and for it
// is to be killed.
package sharedstore
