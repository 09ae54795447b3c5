// Package interop runs clients and tools of real Artemis against Saranga and compares what they see with what
// they see on real Artemis.
//
// The JMS program (folder jms) prints a transcript of facts, one line each, without anything that differs between two
// runs. testdata/jms-artemis-2.40.0.txt is its transcript on Artemis 2.40.0 and states the right values.
//
//	go test ./test/interop                          against Saranga
//	go test ./test/interop -args -broker=artemis    against real Artemis: is the recording still true?
//	go test ./test/interop -args -record            records anew from real Artemis, twice, and compares the two
//	go test ./test/interop -args -cases=xa.         only cases whose name starts so
package interop
