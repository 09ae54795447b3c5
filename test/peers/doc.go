// Package peers gives the multi-process suites their brokers: real Artemis, installed from its
// distribution, and Saranga, built from this module. Both are seen alike: an Instance is a directory
// laid out by a broker's own create command, a Broker can create one and serve one (either serves what
// the other created), a Process is a broker that serves an instance and has its acceptor open.
//
// Everything but the functions that take a testing.TB works outside of tests too (the benchmark uses it).
//
// Environment:
//
//	SARANGA_PEERS    cache folder of the distribution, default $XDG_CACHE_HOME/saranga-peers
//	SARANGA_BIN      the saranga binary to test, default: built into the module's bin folder
package peers
