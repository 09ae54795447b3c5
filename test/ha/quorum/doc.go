// Package quorum tests the lock managers against real peers: a ZooKeeper 3.9.3 ensemble, and real Artemis brokers that use the same
// ensemble or the same folder. It always needs both (Java and, the first time, Maven).
package quorum
