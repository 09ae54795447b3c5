// Bench compares Saranga with Artemis on one machine, in one run.
//
//	make bench                                    every row, at most 40 minutes on two cores
//	go run ./test/bench -quick                    every row once and short: does it work at all
//	go run ./test/bench -rows core,closed-durable single rows
//
// Each broker serves instances that its own create command made: all acceptors, NIO journal with datasync, journal
// autotune, default memory. Both are driven by the same clients, on fresh queues, after a warm-up of 300 000 messages
// each. The rounds of a row are interleaved (A B B A A B …), so that what else the machine does falls on both alike.
// A ratio is the median over the rounds of Saranga's figure by Artemis' figure of the same round.
//
// CPU is the run time of all threads of the broker process, from /proc. Memory is resident memory. A row measures what
// its function says (rows.go is the list of them, with their targets); a failure is reported in its row.
//
// The result is printed, and that of a complete run is stored in docs/bench as text and as JSON with all rounds.
package main
