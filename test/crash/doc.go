// Package crash shows that what a broker has answered is true after it was killed, at any moment.
//
// Clients write down what they do before they do it, and again what they were told (History). When the broker is gone
// and another has been started on the same instance, everything it holds is read (Observation) and compared with what
// may be there (Round.Check), which is a pure function:
//
//	a send that was answered       is there once, unless it was acknowledged
//	an acknowledgement, answered   is never delivered again
//	a transaction                  counts as a whole or not at all
//	a prepared branch, answered    is listed, what it sent is not visible, what it acknowledged is not delivered
//	work without an answer         may count or not; what somebody got of it counts
//
// The broker that is started next may be real Artemis: swaps are rounds like others.
//
// The same ledger judges one broker in memory whose file system crashes at each of its write points, or fails.
package crash
