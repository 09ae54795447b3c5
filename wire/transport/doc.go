// Package transport moves bytes between sockets and protocols: acceptors and connectors, TLS, the detection of the
// protocol in the first bytes, and the reading and writing of a connection. It knows no frame of any protocol.
//
// # A connection
//
//	socket ── read goroutine ──> Handler.Handle(all buffered bytes) ──> engine
//	                                   │ EndOfBatch: Flush of every output that got something
//	socket <── whoever flushes ── Output <── any goroutine appends, never waits
//
// One goroutine per connection reads. It fills one buffer of 256 KiB with one system call, hands all of it to the
// protocol's Handler, and calls EndOfBatch when everything complete in it has been handled. The buffer is lent: it goes
// back to a pool as soon as the socket has nothing more, so that an idle connection costs one small goroutine stack and
// about 2 KiB of structures.
//
// Three kinds of bytes may stay behind after Handle, each bounded:
//
//	the rest of a small frame    less than 16 KiB, moved to an allocation of its own size while the socket is dry
//	the rest of a big frame      16 KiB to Conn.SetMaxFrame, announced by ReadBody, read straight into memory of the
//	                             handler's, after its size was taken from the Budget that all connections share
//	what a paused handler left   at most one read buffer
//
// # Output
//
// Output collects what goes to the peer. Appending copies small messages and refers to big ones, never blocks, and is
// allowed from any goroutine; Flush writes in place what the socket takes at once. The rest, and everything on sockets
// whose write may park (TLS), is written by a goroutine that is started on demand and ends when nothing is left.
// An Output over its bound says so (Full) and reports once when it is below its low mark again (Handler.Drained).
//
// # Protocol detection
//
// The first 8 bytes decide, once:
//
//	GE PO PU HE OP PA DE TR    HTTP: an upgrade to activemq-remoting is answered 403
//	ARTEMIS                    CORE, 7 bytes are consumed
//	HORNETQ                    HORNETQ, 7 bytes are consumed
//	AMQP                       AMQP
//	.... 01 Act                OPENWIRE (byte 4, then the first 3 of "ActiveMQ")
//	CONNECT or STOMP           STOMP
//	10, varint, 00, b          MQTT; if b is 4 or 6 it must be followed by MQ
//	anything else              HORNETQ if it is enabled on the acceptor, else CORE
//
// This follows Artemis' ProtocolHandler. A protocol that is recognised but not served by the acceptor is refused with
// one log line and a close.
//
// # Before authentication
//
// Until Conn.Authenticated is called a connection may send frames of less than 16 KiB and 64 KiB in all, must finish
// within Config.LoginTimeout, and takes one of Config.MaxUnauthenticated places.
package transport
