// Package feature tests drills against pairs of a real Artemis: what passes for Saranga has to pass for what it takes the place of.
// Drills of a pair of Saranga's are tested in cmd/saranga.
//
//	go test -count=1 ./test/drill/feature
package feature
