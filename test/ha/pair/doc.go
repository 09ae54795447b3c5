// Package pair tests pairs of brokers as operators run them: two processes, each Saranga or a real Artemis, with a policy for high
// availability. A ledger holds what was acknowledged; whatever happens to the processes, that must be there.
//
//	go test -count=1 ./test/ha/pair
package pair
