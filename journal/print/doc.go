// Package print writes what the data files hold as text, in the form of `artemis data print`: every record of both
// journals, file by file as they are, then what is left of them after a load, then the pages. It changes nothing.
//
// Two things differ from Artemis: an object's hash code, printed after a Core message there, means nothing and is the
// message's id here; of an AMQP message only the broker's own fields are printed.
//
// Source: spec journal §8.1, output of Artemis 2.40.0.
package print
