// Package drill proves that a pair of brokers, or a cluster, keeps its promises while nodes fail: it keeps clients at work, writes down
// what they sent and what they were told, and checks that afterwards.
//
//	w := drill.Workload{URLs: []string{"tcp://a:61616", "tcp://b:61616"}, Dialers: []drill.Dialer{drill.Core{User: "admin", Password: "admin"}}}
//	run, err := w.Start(ctx)      // makes addresses and queues of its own; returns when every producer was answered
//	…                             // kill, partition, restart; run.Progress() tells how it goes
//	history, err := run.Stop(ctx) // stops the producers, receives what is left, removes the queues
//	verdict := drill.Check(history)
//	if !verdict.OK() { t.Error(verdict) }
//
// # History
//
// A History holds, for each producer, one Send per message, and, for each consumer, one Receipt per delivery, in the order of things as
// that client saw them. A message is known by its ID: the number of its producer and, from 0, its place among what that producer sent.
// Nothing in it is a map of messages, so ten million of them take 340 MB with their receipts and their check.
//
// # What is checked
//
// See the Rules. What a client was not answered is unknown, and may have happened or not; what it was answered is a promise. A producer
// repeats a send of which it knows nothing, until it is answered: with duplicate detection that must not be seen.
//
// # Other protocols
//
// A protocol takes part by a Dialer. The clients of each Stream take the Dialers of the Workload in turn.
//
// The package starts goroutines in Workload.Start only; Run.Stop waits for them.
package drill
