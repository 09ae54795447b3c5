// Package primary tests the sending end of the replication stream with a real Artemis backup. Saranga's side runs in the test's
// process: store, engine, Core front, cluster channel.
//
//	go test -count=1 ./test/ha/primary
package primary
