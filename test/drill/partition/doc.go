// Package partition is the drill of partitions: three members of a quorum and two brokers that are a pair, each in its own network
// namespace, clients at work, and faults drawn from a seed: links that are cut in one or both directions, slow and lossy ones,
// processes that stand still or are killed, several at once. Then everything is healed.
//
//	go test -count=1 ./test/drill/partition                                            # a few rounds
//	go test -count=1 -timeout 3h ./test/drill/partition -args -rounds 100              # a drill
//	go test -count=1 ./test/drill/partition -args -rounds 1 -seed 4711 -logs /tmp/x    # one round again, its logs kept
//
// With -primary artemis, -backup artemis and -members zookeeper others take part; what a real Artemis does is recorded and not judged.
//
// What must hold in each round:
//
//   - What the clients saw is what package drill asks for: nothing acknowledged is lost, nothing comes twice, never do two brokers
//     acknowledge.
//   - A broker that is cut off from a majority of the members acknowledges nothing any more when its lease is over.
//   - After the heal the pair serves and is in sync within a bound, and no process has ended by itself.
//   - The members' lock and counter are those of one copy (linearizable), whatever happened.
//
// A round runs in a process of its own, which is this test's binary again: isolated (package netns) where the machine allows namespaces,
// else on loopback addresses with a relay (package relay) for every pair of nodes that can hold back each direction.
package partition
