// Package cluster tests the cluster control plane with real Artemis on the other side: a node of its cluster, a backup that
// looks for its primary, and a Core client that follows the topology. Saranga's side runs in the test's process.
//
//	go test -count=1 ./test/ha/cluster
package cluster
