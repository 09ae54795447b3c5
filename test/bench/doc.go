// Bench compares Saranga with Artemis on one machine, in one run.
//
//	make bench                                    every row, at most 80 minutes on two cores
//	go run ./test/bench -quick                    every row once and short: does it work at all
//	go run ./test/bench -rows core,closed-durable single rows
//	go run ./test/bench -rows pairs               those of replicating pairs
//
// Each broker serves instances that its own create command made: all acceptors, NIO journal with datasync, journal
// autotune, default memory. Both are driven by the same clients, on fresh queues, after a warm-up of 300 000 messages
// each. The rounds of a row are interleaved (A B B A A B …), so that what else the machine does falls on both alike.
// A ratio is the median over the rounds of Saranga's figure by Artemis' figure of the same round.
//
// A pair is a primary and a backup of the same broker, made by create like the others, that replicate with a lock manager:
// Artemis' pair has a ZooKeeper ensemble of three, Saranga's a Raft group of three, one member in each node and a witness.
// Everything runs on this machine, so both nodes, their lock servers and the clients share its cores and its disk. The CPU of a
// pair is that of both nodes together.
//
// CPU is the run time of all threads of the broker process, from /proc. Memory is resident memory. A row measures what
// its function says (rows.go is the list of them, with their targets); a failure is reported in its row.
//
// The result is printed, and that of a complete run is stored in docs/bench as text and as JSON with all rounds.
package main
