package broker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/saranga-mq/saranga/broker/security"
)

// ErrBlocks is returned instead of waiting for the disk by a session that must not block: the caller makes the same call
// again from where it may, with Session.MayBlock set. Nothing has happened, and a message still belongs to the caller.
var ErrBlocks = errors.New("the operation may block")

// A Connection is a client's connection: temporary queues live as long as it.
type Connection struct {
	ID       string
	Remote   string
	Local    string // address it came in at; set before its first session
	Protocol string
	Created  int64 // ms since the epoch
	Close    func(reason string)

	b         *Broker
	mu        sync.Mutex
	user      string
	clientID  string
	temporary []string
	sessions  []*Session
	over      chan struct{} // closed when End has done everything
}

// Connect registers a connection.
func (b *Broker) Connect(id, remote, protocol string, closer func(reason string)) *Connection {
	c := &Connection{ID: id, Remote: remote, Protocol: protocol, Created: b.now(), Close: closer, b: b, over: make(chan struct{})}
	b.openedConnections.Add(1)
	b.mu.Lock()
	b.connections[id] = c
	b.mu.Unlock()
	b.notify("CONNECTION_CREATED", Prop{"_AMQ_ConnectionName", c.ID}, Prop{"_AMQ_CertSubjectDN", "unavailable"}, Prop{"_AMQ_RemoteAddress", c.Remote})
	return c
}

// Await lets Broker.Stop close the connection and wait for End, which its owner promises to call soon after Close.
func (c *Connection) Await() {
	c.b.mu.Lock()
	c.b.awaited[c] = true
	c.b.mu.Unlock()
}

// Outlive undoes Await: Stop leaves the connection alone.
func (c *Connection) Outlive() {
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	delete(c.b.awaited, c)
}

// Connections returns all connections.
func (b *Broker) Connections() []*Connection {
	b.mu.RLock()
	defer b.mu.RUnlock()
	out := make([]*Connection, 0, len(b.connections))
	for _, c := range b.connections {
		out = append(out, c)
	}
	return out
}

// Sessions returns the sessions of the connection.
func (c *Connection) Sessions() []*Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sessions)
}

// forget removes a session. Called with the connection's lock held.
func (c *Connection) forget(s *Session) {
	if i := slices.Index(c.sessions, s); i >= 0 {
		c.sessions = slices.Delete(c.sessions, i, i+1)
	}
}

// ClientID is the id that the client gave itself, empty for none.
func (c *Connection) ClientID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clientID
}

// SetClientID notes the id that the client gave itself.
func (c *Connection) SetClientID(id string) {
	c.mu.Lock()
	c.clientID = id
	c.mu.Unlock()
}

// User is the last user that a session of the connection was opened for.
func (c *Connection) User() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.user
}

// End unregisters the connection: its sessions are closed and its temporary queues deleted. lost: it failed, so that
// what was delivered counts as an attempt. It is called once, when nobody works for the connection any more.
func (c *Connection) End(w *Work, lost bool) {
	for _, s := range c.Sessions() {
		s.Close(w, lost)
	}
	c.mu.Lock()
	temporary := c.temporary
	c.temporary = nil
	c.mu.Unlock()
	for _, name := range temporary {
		if err := c.b.DeleteQueue(w, name, DeleteQueueOptions{RemoveConsumers: true, AutoDeleteAddress: true}); err != nil {
			if e, ok := err.(*Error); !ok || e.Code != QueueDoesNotExist {
				c.b.log.Warn("cannot delete a temporary queue", "queue", name, "error", err)
			}
		}
	}
	c.b.mu.Lock()
	delete(c.b.connections, c.ID)
	c.b.mu.Unlock()
	c.b.notify("CONNECTION_DESTROYED", Prop{"_AMQ_ConnectionName", c.ID}, Prop{"_AMQ_CertSubjectDN", "unavailable"}, Prop{"_AMQ_RemoteAddress", c.Remote})
	w.Flush()
	c.b.mu.Lock()
	delete(c.b.awaited, c)
	c.b.mu.Unlock()
	close(c.over)
}

// Answer is what a protocol wants to be told when a request is done. The engine keeps it and hands it back.
type Answer struct {
	Kind   uint8       // the protocol's own; 0: nothing is to be said
	Silent bool        // the client is not told of an error
	Inside bool        // it does not leave the node: it is given, too, when the node is not live any more
	Size   int32       // the protocol's own
	ID     int64       // the protocol's own
	Call   func(*Work) // rare answers: called instead of Client.Answer when the turn of the answer has come
}

// A Client is the protocol's side of a session.
type Client interface {
	// Answer tells that a request is done: stored, replicated, or refused with err. Answers of a session come in the order
	// of its requests, from any goroutine, under the session's lock: only append to the output, and w.Touch it.
	Answer(w *Work, a Answer, err error)
}

// SessionOptions describe a session.
type SessionOptions struct {
	Name      string
	Principal security.Principal
	// Login checks the principal again from time to time. Nil: it stays what it is.
	Login           *security.Login
	Client          Client
	AutoCommitSends bool
	AutoCommitAcks  bool
	PreAcknowledge  bool
	XA              bool
	DefaultAddress  string
	// CloseRemotely closes the session, from any goroutine and perhaps only soon, telling the client. Nil: it cannot.
	CloseRemotely func()
}

// A Session is what a client works in. Its methods are called by one goroutine at a time, in the order of the client's
// requests; answers may come from others.
type Session struct {
	b    *Broker
	conn atomic.Pointer[Connection]
	SessionOptions
	Created int64
	// MayBlock tells that the caller is on a goroutine where waiting for the disk is allowed.
	MayBlock     bool
	consumers    map[int64]*Consumer
	producers    []*Producer
	metadata     map[string]string
	metadataSize int // bytes
	started      bool
	closed       atomic.Bool
	tx           *Tx
	xaTimeout    int64 // seconds
	targets      [2]sendTarget
	large        BodyWriter
	credits      map[string]*Address // names of addresses whose room it waits for, or did

	mu         sync.Mutex // guards the queue of outcomes, unanswered, and consumers and metadata against other goroutines
	unanswered []Code     // errors of requests without an answer that the operator was told of
	head, tail *outcome
	pending    atomic.Int32
	waiting    atomic.Int32 // length of unstored.list; changed under mu
	unstored   *unstored    // nil before it is needed

	sent atomic.Int64
}

// NewSession opens a session.
func (c *Connection) NewSession(o SessionOptions) (*Session, error) {
	b := c.b
	if b.stopping.Load() {
		return nil, errorf(SessionCreationRejected, "AMQ229034: Server not started")
	}
	s := &Session{b: b, SessionOptions: o, Created: b.now(), xaTimeout: b.opts.TransactionTimeout / 1000}
	s.conn.Store(c)
	b.mu.Lock()
	if err := b.checkSessions(o.Principal.User); err != nil {
		b.mu.Unlock()
		return nil, err
	}
	b.sessions[o.Name] = s
	b.mu.Unlock()
	c.mu.Lock()
	c.user = o.Principal.User
	c.sessions = append(c.sessions, s)
	c.mu.Unlock()
	b.notify("SESSION_CREATED", Prop{"_AMQ_ConnectionName", c.ID}, Prop{"_AMQ_User", o.Principal.User}, Prop{"_AMQ_SessionName", o.Name}, Prop{"_AMQ_Client_ID", textOrNull(c.ClientID())}, Prop{"_AMQ_Protocol_Name", c.Protocol})
	return s, nil
}

// Sessions returns all sessions.
func (b *Broker) Sessions() []*Session {
	b.mu.RLock()
	defer b.mu.RUnlock()
	out := make([]*Session, 0, len(b.sessions))
	for _, s := range b.sessions {
		out = append(out, s)
	}
	return out
}

// Session returns the session of that name, nil when there is none.
func (b *Broker) Session(name string) *Session {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.sessions[name]
}

// Conn is the session's connection: another one after the client has come back.
func (s *Session) Conn() *Connection { return s.conn.Load() }

// Broker returns the session's broker.
func (s *Session) Broker() *Broker { return s.b }

// Move puts the session under another connection: the client has come back on it.
func (s *Session) Move(c *Connection) {
	old := s.Conn()
	old.mu.Lock()
	old.forget(s)
	temporary := old.temporary
	old.temporary = nil
	user, client := old.user, old.clientID
	old.mu.Unlock()
	c.mu.Lock()
	c.sessions = append(c.sessions, s)
	c.temporary = append(c.temporary, temporary...)
	c.user, c.clientID = user, client
	c.mu.Unlock()
	s.conn.Store(c)
}

// Close ends the session: an open transaction is rolled back, deliveries go back. lost: the client is gone.
func (s *Session) Close(w *Work, lost bool) {
	if !s.closed.CompareAndSwap(false, true) {
		return
	}
	s.AbortLarge()
	s.cancelCredits()
	if tx := s.tx; tx != nil && tx.xid == nil && tx.claimUnprepared() {
		tx.rollback(w, nil, Answer{})
	}
	s.tx = nil // a branch outlives its session: it is ended elsewhere or by its timeout
	for _, c := range s.Consumers() {
		s.removeConsumer(w, c, lost)
	}
	w.settle()
	b := s.b
	b.mu.Lock()
	if b.sessions[s.Name] == s {
		delete(b.sessions, s.Name)
	}
	b.mu.Unlock()
	c := s.Conn()
	c.mu.Lock()
	c.forget(s)
	c.mu.Unlock()
	b.notify("SESSION_CLOSED", Prop{"_AMQ_ConnectionName", c.ID}, Prop{"_AMQ_User", s.Principal.User}, Prop{"_AMQ_SessionName", s.Name}, Prop{"_AMQ_Client_ID", textOrNull(c.ClientID())}, Prop{"_AMQ_Protocol_Name", c.Protocol})
}

// Closed tells whether Close has begun.
func (s *Session) Closed() bool { return s.closed.Load() }

// Consumers returns the session's consumers.
func (s *Session) Consumers() []*Consumer {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*Consumer, 0, len(s.consumers))
	for _, c := range s.consumers {
		out = append(out, c)
	}
	return out
}

// Consumer returns a consumer by the client's id, nil when there is none.
func (s *Session) Consumer(id int64) *Consumer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.consumers[id]
}

// Metadata returns a copy of what the client says about itself.
func (s *Session) Metadata() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]string, len(s.metadata))
	for k, v := range s.metadata {
		out[k] = v
	}
	return out
}

// Bounds of what a client says about itself in one session.
const (
	maxMetadata     = 256       // entries
	maxMetadataSize = 256 << 10 // bytes of all keys and values
)

// SetMetadata notes something about the client. unique: refused when another session of this broker has the same. What
// goes beyond maxMetadata or maxMetadataSize is refused.
func (s *Session) SetMetadata(key, value string, unique bool) error {
	if unique {
		for _, o := range s.b.Sessions() {
			if o == s {
				continue
			}
			if v, ok := o.Metadata()[key]; ok && v == value {
				return errorf(DuplicateMetadata, "AMQ229035: Metadata %s=%s had been set already", key, value)
			}
		}
	}
	if err := s.putMetadata(key, value); err != nil {
		return err
	}
	if key == "jms-client-id" {
		s.Conn().SetClientID(value)
	}
	return nil
}

func (s *Session) putMetadata(key, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, known := s.metadata[key]
	size := s.metadataSize + len(value) - len(old)
	if !known {
		size += len(key)
	}
	if size > maxMetadataSize || !known && len(s.metadata) == maxMetadata {
		return errorf(IllegalState, "metadata of a session are at most %d entries and %d bytes", maxMetadata, maxMetadataSize)
	}
	if s.metadata == nil {
		s.metadata = map[string]string{}
	}
	s.metadata[key], s.metadataSize = value, size
	return nil
}

// Sent is how many messages the session has sent.
func (s *Session) Sent() int64 { return s.sent.Load() }

// Start lets consumers get messages, Stop ends that.
func (s *Session) Start(w *Work) { s.setStarted(w, true) }

// Stop ends delivery to the session's consumers.
func (s *Session) Stop(w *Work) { s.setStarted(w, false) }

// Started tells whether deliveries are on.
func (s *Session) Started() bool { return s.started }

func (s *Session) setStarted(w *Work, on bool) {
	s.started = on
	for _, c := range s.Consumers() {
		c.start(w, on)
	}
}

// check asks for a permission.
func (s *Session) check(p security.Permission, address, queue string) error {
	if s.b.opts.Access == nil {
		return nil
	}
	who, err := s.who()
	if err != nil {
		return err
	}
	err = s.b.opts.Access.Check(who, p, address, queue)
	if err != nil {
		s.b.notify("SECURITY_PERMISSION_VIOLATION", Prop{"_AMQ_Address", address}, Prop{"_AMQ_CheckType", p.String()}, Prop{"_AMQ_User", s.Principal.User})
	}
	return err
}

// Fresh tells that no permission needs the user's login checked again, which may block.
func (s *Session) Fresh() bool { return s.Login == nil || s.Login.Fresh() }

// Who is the principal with the roles that it has now: none when it has been refused since.
func (s *Session) Who() security.Principal {
	who, err := s.who()
	if err != nil {
		return security.Principal{User: s.Principal.User}
	}
	return who
}

// who is Who with the refusal. After a new check nothing that was allowed before counts.
func (s *Session) who() (security.Principal, error) {
	if s.Login == nil {
		return s.Principal, nil
	}
	who, changed, err := s.Login.Principal(context.Background())
	if changed {
		for i := range s.targets {
			s.targets[i].allowed = false
		}
		var refused *security.AuthenticationError
		if errors.As(err, &refused) {
			s.b.notify("SECURITY_AUTHENTICATION_VIOLATION", Prop{"_AMQ_User", textOrNull(refused.User)}, Prop{"_AMQ_CertSubjectDN", refused.SubjectDN}, Prop{"_AMQ_RemoteAddress", refused.Remote})
		}
	}
	return who, err
}

// Check asks for a permission on behalf of a protocol.
func (s *Session) Check(p security.Permission, address, queue string) error {
	return s.check(p, address, queue)
}

// CreateQueue creates a queue on behalf of the client: permissions, the user's name, and the connection that a temporary
// queue lives with.
func (s *Session) CreateQueue(cfg QueueConfig, o CreateOptions) error {
	if a, n, ok := splitFQQN(cfg.Name); ok {
		cfg.Address, cfg.Name = a, n
	}
	perm := security.CreateDurableQueue
	if !cfg.Durable {
		perm = security.CreateNonDurableQueue
	}
	if err := s.check(perm, cfg.Address, cfg.Name); err != nil {
		return err
	}
	if o.AutoCreateAddress && !s.b.supports(bareAddress(cfg.Address), cfg.Routing) {
		if err := s.check(security.CreateAddress, cfg.Address, cfg.Name); err != nil {
			return err
		}
	}
	cfg.User = s.Principal.User
	cfg.Internal = cfg.Internal || bareAddress(cfg.Address) == s.b.opts.ManagementNotificationAddress
	o.limited = true
	q, err := s.b.CreateQueue(cfg, o)
	if err != nil {
		return err
	}
	if cfg.Temporary {
		c := s.Conn()
		c.mu.Lock()
		c.temporary = append(c.temporary, q.cfg.Name)
		c.mu.Unlock()
	}
	return nil
}

// DeleteQueue deletes a queue on behalf of the client; one with consumers is refused.
func (s *Session) DeleteQueue(w *Work, name string) error {
	q := s.b.Queue(name)
	if q == nil {
		return &Error{Code: QueueDoesNotExist}
	}
	perm := security.DeleteDurableQueue
	if !q.cfg.Durable {
		perm = security.DeleteNonDurableQueue
	}
	if err := s.check(perm, q.address.name, q.cfg.Name); err != nil {
		return err
	}
	mayDelete := q.address.temporary || s.b.opts.Access == nil || s.b.opts.Access.Check(s.Who(), security.DeleteAddress, q.address.name, "") == nil
	return s.b.DeleteQueue(w, q.cfg.Name, DeleteQueueOptions{CheckConsumers: true, AutoDeleteAddress: mayDelete})
}
