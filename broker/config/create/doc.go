// Package create lays out a new instance folder as artemis create does: the same
// files with the same element values, in its own words. Plan is a pure function
// of its options; Apply writes what it planned.
//
//	bin/artemis, bin/artemis-service     scripts that start Saranga
//	etc/                                 configuration, see package config
//	etc/saranga.yaml                     only with a quorum, which Artemis does not have
//	data/ lib/ log/ tmp/                 empty
//
// Files that hold secrets, or are the place where an operator writes them, are
// readable by their owner only.
package create
