package drill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// Core is the Dialer of the Core protocol. The zero value of a field is its default.
type Core struct {
	User, Password string // empty: those of the URL, if it has any

	// CallTimeout is how long a call waits for its answer before the connection is given up, and half of how long a silent broker is
	// believed to live; default 5 s.
	CallTimeout time.Duration

	// Reconnect leaves it to the client library to connect again, to the node or, as the topology tells, its backup. Who answers is not
	// known then. Else a connection ends with its node, and the workload dials another.
	Reconnect bool

	// Others are URLs of nodes that Reconnect may turn to, beside those of the topology.
	Others []string
}

// reconnectInterval and reconnectAttempts are those of a client that connects again by itself: a minute in all.
const (
	reconnectInterval = 100 * time.Millisecond
	reconnectAttempts = 600
)

// Protocol implements Dialer.
func (Core) Protocol() string { return "CORE" }

// Supports implements Dialer.
func (Core) Supports(Mode) bool { return true }

// Dial implements Dialer.
func (d Core) Dial(ctx context.Context, url string) (Client, error) {
	cfg, err := client.ParseURL(url)
	if err != nil {
		return nil, err
	}
	if d.User != "" {
		cfg.User, cfg.Password = d.User, d.Password
	}
	cfg.CallTimeout = d.CallTimeout
	if cfg.CallTimeout <= 0 {
		cfg.CallTimeout = 5 * time.Second
	}
	cfg.ConnectionTTL, cfg.FailureCheckPeriod = 2*cfg.CallTimeout, cfg.CallTimeout/2
	cfg.InitialConnectAttempts, cfg.ReconnectAttempts, cfg.HA = 1, 0, d.Reconnect
	if d.Reconnect {
		for _, other := range d.Others {
			o, err := client.ParseURL(other)
			if err != nil {
				return nil, err
			}
			cfg.Hosts = append(cfg.Hosts, o.Hosts...)
		}
		cfg.ReconnectAttempts, cfg.RetryInterval, cfg.MaxRetryInterval = reconnectAttempts, reconnectInterval, reconnectInterval
	}
	cfg.BlockOnAcknowledge, cfg.NoBlockOnDurableSend, cfg.PreAcknowledge, cfg.AckBatchSize = true, false, false, 0
	conn, err := client.Dial(ctx, cfg)
	if err != nil {
		return nil, err
	}
	c := &coreClient{conn: conn, reconnects: d.Reconnect}
	if c.admin, err = conn.NewSession(ctx, client.SessionOptions{AutoCommitSends: true, AutoCommitAcks: true}); err != nil {
		conn.Close()
		return nil, err
	}
	if !d.Reconnect {
		c.node = TermInfo{Node: NodeName(url), Sequence: activationSequence(ctx, conn)}
	}
	return c, nil
}

// activationSequence asks management, 0 if it does not tell.
func activationSequence(ctx context.Context, conn *client.Conn) (n int64) {
	m, err := conn.NewManagement(ctx, "")
	if err != nil {
		return 0 // the user may not, or the node goes down, as the next call will tell
	}
	defer m.Close(ctx)
	answer, err := m.Attribute(ctx, client.BrokerResource, "ActivationSequence")
	if err != nil || answer.Into(&n) != nil {
		return 0
	}
	return n
}

type coreClient struct {
	conn       *client.Conn
	admin      *client.Session
	node       TermInfo
	reconnects bool
	failed     bool // a call had no answer
}

// Node implements Client.
func (c *coreClient) Node() TermInfo { return c.node }

// Lost implements Client.
func (c *coreClient) Lost() bool {
	select {
	case <-c.conn.Done():
		return true
	default:
		return c.failed
	}
}

// err says what an error means for what was being done. After one that says nothing the connection is given up, unless it looks after
// itself.
func (c *coreClient) err(err error) error {
	var told *core.Error
	var xa *client.XAError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &told):
		switch told.Code {
		case core.DuplicateIDRejected:
			return fmt.Errorf("%w: %w", ErrDuplicate, err)
		case core.TransactionRolledBack:
			return fmt.Errorf("%w: %w", ErrRolledBack, err)
		case core.AddressFull, core.SecurityException, core.AddressDoesNotExist, core.QueueDoesNotExist, core.UnexpectedRoutingType:
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
		if errors.Is(err, client.ErrRedelivered) {
			return fmt.Errorf("%w: %w", ErrReturned, err)
		}
	case errors.As(err, &xa):
		switch {
		case xa.Code == core.XAErrorNoTransaction:
			return fmt.Errorf("%w: %w", ErrNoBranch, err)
		case xa.Code == core.XAHeuristicRollback, xaRollbackFirst <= xa.Code && xa.Code <= xaRollbackLast:
			return fmt.Errorf("%w: %w", ErrRolledBack, err)
		}
	}
	c.failed = c.failed || !c.reconnects
	return err
}

// The codes that say that a branch was rolled back (javax.transaction.xa.XAException XA_RBBASE to XA_RBEND).
const xaRollbackFirst, xaRollbackLast = 100, 107

// Create implements Client.
func (c *coreClient) Create(ctx context.Context, q Queue) error {
	routing := core.RoutingAnycast
	if q.Multicast {
		routing = core.RoutingMulticast
	}
	return c.err(c.admin.CreateSharedQueue(ctx, client.QueueOptions{Address: q.Address, Name: q.Name, Durable: true, RoutingType: routing,
		QueueAttributes: core.QueueAttributes{AutoDelete: buf.Of(false)}}))
}

// Delete implements Client.
func (c *coreClient) Delete(ctx context.Context, q Queue) error {
	if err := c.admin.DeleteQueue(ctx, q.Name); err != nil && !errors.Is(err, core.QueueDoesNotExist) {
		return c.err(err)
	}
	info, err := c.admin.AddressQuery(ctx, q.Address)
	if err != nil {
		return c.err(err)
	}
	if !info.Exists || len(info.QueueNames) > 0 {
		return nil
	}
	m, err := c.conn.NewManagement(ctx, "")
	if err != nil {
		return c.err(err)
	}
	defer m.Close(ctx)
	_, err = m.Invoke(ctx, client.BrokerResource, "deleteAddress", q.Address)
	var refused *client.ManagementError
	if errors.As(err, &refused) && strings.HasPrefix(refused.Message, "AMQ229203") {
		return nil // the broker has just deleted it
	}
	return err
}

// Close implements Client.
func (c *coreClient) Close() {
	if c.failed {
		c.conn.Abort(client.ErrClosed) // or it would wait for the answers to its goodbyes
	}
	c.conn.Close()
}

// Sender implements Client.
func (c *coreClient) Sender(ctx context.Context, address string, multicast bool, m Mode) (Sender, error) {
	o := client.SessionOptions{AutoCommitSends: m == Plain, AutoCommitAcks: m == Plain, XA: m == XA}
	s, err := c.conn.NewSession(ctx, o)
	if err != nil {
		return nil, c.err(err)
	}
	p, err := s.NewProducer(ctx, address)
	if err != nil {
		return nil, c.err(err)
	}
	routing := message.Anycast
	if multicast {
		routing = message.Multicast
	}
	return &coreSender{c: c, s: s, p: p, routing: routing}, nil
}

type coreSender struct {
	c       *coreClient
	s       *client.Session
	p       *client.Producer
	routing message.RoutingType
}

// Send implements Sender.
func (s *coreSender) Send(ctx context.Context, m Message) error {
	b := message.New(s.p.Address(), message.Bytes)
	b.Durable, b.Body = true, m.Body
	b.Set(message.PropRoutingType, int8(s.routing))
	if m.DuplicateID != "" {
		b.Set(message.PropDuplicateID, m.DuplicateID)
	}
	return s.c.err(s.p.Send(ctx, b))
}

// Commit implements Sender.
func (s *coreSender) Commit(ctx context.Context) error { return s.c.err(s.s.Commit(ctx)) }

// Rollback implements Sender.
func (s *coreSender) Rollback(ctx context.Context) error { return s.c.err(s.s.Rollback(ctx, false)) }

// formatID is that of the branches of drills.
const formatID = 0x5352

func xid(branch string) buf.Xid { return buf.Xid{FormatID: formatID, Branch: "drill", Global: branch} }

// Begin implements Sender.
func (s *coreSender) Begin(ctx context.Context, branch string) error {
	return s.c.err(s.s.XAStart(ctx, xid(branch)))
}

// Prepare implements Sender.
func (s *coreSender) Prepare(ctx context.Context, branch string) error {
	if err := s.s.XAEnd(ctx, xid(branch), false); err != nil {
		return s.c.err(err)
	}
	return s.c.err(s.s.XAPrepare(ctx, xid(branch)))
}

// Complete implements Sender.
func (s *coreSender) Complete(ctx context.Context, branch string, commit bool) error {
	if commit {
		return s.c.err(s.s.XACommit(ctx, xid(branch), false))
	}
	return s.c.err(s.s.XARollback(ctx, xid(branch)))
}

// Recover implements Sender.
func (s *coreSender) Recover(ctx context.Context) ([]string, error) {
	xids, err := s.s.XARecover(ctx)
	if err != nil {
		return nil, s.c.err(err)
	}
	var branches []string
	for _, x := range xids {
		if x.FormatID == formatID {
			branches = append(branches, x.Global)
		}
	}
	return branches, nil
}

// Receiver implements Client.
func (c *coreClient) Receiver(ctx context.Context, q Queue, m Mode) (Receiver, error) {
	s, err := c.conn.NewSession(ctx, client.SessionOptions{AutoCommitSends: m == Plain, AutoCommitAcks: m == Plain})
	if err != nil {
		return nil, c.err(err)
	}
	r := &coreReceiver{c: c, s: s}
	if r.consumer, err = s.NewConsumer(ctx, q.Name, client.ConsumerOptions{}); err != nil {
		return nil, c.err(err)
	}
	return r, c.err(s.Start(ctx))
}

type coreReceiver struct {
	c        *coreClient
	s        *client.Session
	consumer *client.Consumer
	last     *client.Message
}

// Receive implements Receiver.
func (r *coreReceiver) Receive(ctx context.Context, wait time.Duration) ([]byte, error) {
	var m *client.Message
	var err error
	if wait > 0 {
		limited, cancel := context.WithTimeout(ctx, wait)
		m, err = r.consumer.Receive(limited)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return nil, nil
		}
	} else {
		m, err = r.consumer.ReceiveTimeout(ctx, 0)
	}
	if err != nil || m == nil {
		return nil, r.c.err(err)
	}
	r.last = m
	body, err := m.Body()
	if err != nil {
		return nil, r.c.err(err)
	}
	all, err := io.ReadAll(body)
	return all, r.c.err(err)
}

// Acknowledge implements Receiver. The library waits without a context, so the end of ctx ends the connection.
func (r *coreReceiver) Acknowledge(ctx context.Context) error {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { r.c.conn.Close(); close(closed) })
	err := r.c.err(r.last.Ack())
	if !stop() {
		<-closed
	}
	return err
}

// Commit implements Receiver.
func (r *coreReceiver) Commit(ctx context.Context) error { return r.c.err(r.s.Commit(ctx)) }

// Rollback implements Receiver.
func (r *coreReceiver) Rollback(ctx context.Context) error { return r.c.err(r.s.Rollback(ctx, false)) }
