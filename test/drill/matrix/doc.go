// Package matrix drills pairs of {Artemis, Saranga} × {Artemis, Saranga} with each way to decide who is active, while clients of all
// kinds are at work (package drill).
//
//	go test -count=1 ./test/drill/matrix                         a few legs: every way to decide, both directions, all kinds of clients
//	go test -count=1 -v ./test/drill/matrix -args -soak          all legs
//	go test -count=1 -v -run Matrix/ArtemisSarangaVoting ./test/drill/matrix -artifacts -args -soak     one leg, and what it leaves is kept
//
// In a leg the backup is killed and started again in the middle of its synchronisation; the primary is killed; it comes back, and becomes
// active again; it is stopped in good order, and hands over. What clients were promised must have been kept: no message that was
// acknowledged is lost, none that has an id for duplicate detection comes twice, and everything else that drill.Rules say.
//
// Legs of two Artemis show what the drill itself is worth.
package matrix
