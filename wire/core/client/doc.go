// Package client is a client of the Core protocol: what the command line, the
// benchmark, management calls, bridges and cluster connections speak with.
//
//	conn, err := client.Dial(ctx, cfg)                 // TCP or TLS, topology
//	s, err := conn.NewSession(ctx, client.SessionOptions{AutoCommitSends: true, AutoCommitAcks: true})
//	p, err := s.NewProducer(ctx, "orders")
//	err = p.Send(ctx, message.New("orders", message.Text)) // durable: waits for the broker
//	c, err := s.NewConsumer(ctx, "orders", client.ConsumerOptions{})
//	err = s.Start(ctx)
//	m, err := c.Receive(ctx)
//	err = m.Ack()
//
// # Threads
//
// All types may be used by several goroutines. A connection has a goroutine
// that reads (package transport) and one that pings and flushes; a third runs
// while a lost connection is being made again. OnMessage and the functions
// given to SendAsync are called on the read goroutine: they must return soon
// and may call only what does not wait: Ack, AckIndividual, SendAsync without
// a producer window, Flush. Close called there would wait for itself.
//
// # Output
//
// What is sent is appended to the connection's output. It is written when 128
// KiB have gathered, when somebody waits for an answer, at Flush, at the end
// of the batch that the read goroutine handles, and else by the second
// goroutine as soon as it runs. While the output is full (1 MiB) sending waits.
//
// # When the connection is lost
//
// With Config.ReconnectAttempts other than 0 everything that sends waits for
// the new connection. A session with a confirmation window is reattached, if
// the broker still has it: what either side missed is sent again, nothing is
// lost or doubled. Otherwise it is made anew with its consumers: calls and
// sends that had no answer fail with core.Unblocked, a commit with
// core.TransactionOutcomeUnknown, the next commit of a transaction that had
// work with core.TransactionRolledBack, and messages that were received and
// not acknowledged come again.
//
// Sources: core-protocol sections 4, 6 and 9; Artemis ClientSessionImpl,
// ClientConsumerImpl, ClientProducerImpl, ClientSessionFactoryImpl.
package client
