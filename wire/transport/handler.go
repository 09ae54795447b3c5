package transport

// A Protocol makes handlers for the connections on which it was detected.
type Protocol interface {
	// Name is the name used in the acceptor parameter "protocols": CORE, HORNETQ, AMQP, OPENWIRE, STOMP or MQTT.
	Name() string

	// Accept returns the handler of a new connection; nil refuses the connection. It is called on the connection's
	// read goroutine before any byte is handed over and must not block.
	Accept(c *Conn) Handler
}

// A Handler is one connection's protocol. Handle, EndOfBatch, Filled and Closed are called by the connection's read
// goroutine only, one after the other; Drained by any goroutine.
type Handler interface {
	// Handle gets all bytes that are buffered, usually several frames, and handles every complete frame in place.
	// It returns how many bytes it consumed. What it leaves is handed over again, with more bytes behind it.
	//
	// What may be left:
	//   - the beginning of a frame, less than 16 KiB;
	//   - the beginning of a frame of which ReadBody said how much is to come;
	//   - anything, if the connection was paused meanwhile (Conn.Pause): Handle is then called again with the same
	//     bytes after Resume, without waiting for more to arrive.
	//
	// data belongs to the connection and changes after Handle returns. An error closes the connection with this
	// reason; a handler that wants to tell the peer first appends to the output, calls CloseAfterFlush and returns
	// len(data) and no error.
	Handle(c *Conn, data []byte) (consumed int, err error)

	// EndOfBatch is called after Handle and Filled have had everything that one read brought, before the read
	// goroutine waits for anything: more bytes, Resume, the Budget. All outputs the batch appended to are flushed
	// here, once each.
	EndOfBatch(c *Conn)

	// Drained is called once after Output.Full returned true and the output has fallen below its low mark since. It
	// is called by whoever was writing, with no lock of this package held, must not block, and may append and Flush
	// (the goroutine that calls it writes what it appends; the inner Flush returns at once).
	Drained(c *Conn)

	// Closed is the last call. err is the reason given to Close, CloseAfterFlush or returned by Handle, else what
	// the socket said: io.EOF when the peer closed. By-reference segments are all released by then or are about to
	// be by a Flush that is returning. The memory of an unfinished body (BodyHandler) is the handler's again.
	Closed(c *Conn, err error)
}

// A BodyHandler is a Handler that takes big frames in memory of its own (Conn.ReadBody).
type BodyHandler interface {
	Handler

	// Body returns the memory for the n bytes that ReadBody asked for; len(dst) == n. It is called when the n bytes
	// have been taken from the Budget. The memory must stay untouched until Filled or Closed.
	Body(c *Conn, n int) (dst []byte, err error)

	// Filled tells that all of Body's memory has been read. Budget's bytes are returned after it: from here on the
	// bytes are on the account of whoever keeps them.
	Filled(c *Conn) error
}
