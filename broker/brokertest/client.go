package brokertest

import (
	"fmt"
	"sync"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/wire/buf"
)

// A Client is a session on a connection of its own that records answers. For one goroutine.
type Client struct {
	*broker.Session
	Conn *broker.Connection
	Work *broker.Work

	b      *Broker
	nextID int64
	gone   bool

	mu      sync.Mutex
	answers []Answered
	closed  string
}

// Answered is an answer with what it said.
type Answered struct {
	broker.Answer
	Err error
}

// Connect opens a connection with a session that is started. o may leave out Name, Client and Principal.
func (b *Broker) Connect(o broker.SessionOptions) *Client {
	b.T.Helper()
	n := b.next()
	c := &Client{b: b, Work: b.NewWork()}
	c.Conn = b.Broker.Connect(fmt.Sprintf("conn%d", n), fmt.Sprintf("127.0.0.1:%d", 50000+n), "CORE", func(reason string) {
		c.mu.Lock()
		c.closed = reason
		c.mu.Unlock()
	})
	c.open(o)
	b.mu.Lock()
	b.clients = append(b.clients, c)
	b.mu.Unlock()
	return c
}

// Open opens another session on the connection of c.
func (c *Client) Open(o broker.SessionOptions) *Client {
	c.b.T.Helper()
	d := &Client{b: c.b, Conn: c.Conn, Work: c.b.NewWork()}
	d.open(o)
	return d
}

func (c *Client) open(o broker.SessionOptions) {
	c.b.T.Helper()
	if o.Name == "" {
		o.Name = fmt.Sprintf("session%d", c.b.next())
	}
	if o.Principal.User == "" {
		o.Principal = security.Internal("tester")
	}
	o.Client = (*answers)(c)
	s, err := c.Conn.NewSession(o)
	if err != nil {
		c.b.T.Fatalf("open session: %v", err)
	}
	s.MayBlock = true
	c.Session = s
	s.Start(c.Work)
	c.Work.Flush()
}

// AutoCommit are the options of a session without transactions.
var AutoCommit = broker.SessionOptions{AutoCommitSends: true, AutoCommitAcks: true}

// Disconnect ends the connection. lost: as if it had failed.
func (c *Client) Disconnect(lost bool) {
	if !c.gone {
		c.gone = true
		c.Work.Begin()
		c.Conn.End(c.Work, lost)
	}
}

// CloseReason is what the broker gave as the reason when it closed the connection, empty if it did not.
func (c *Client) CloseReason() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

type answers Client

// Answer implements broker.Client.
func (a *answers) Answer(_ *broker.Work, x broker.Answer, err error) {
	a.mu.Lock()
	a.answers = append(a.answers, Answered{x, err})
	a.mu.Unlock()
}

// Answers returns the answers since the last call.
func (c *Client) Answers() []Answered {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.answers
	c.answers = nil
	return out
}

// Do makes one request and waits for its answer.
func (c *Client) Do(request func(w *broker.Work, a broker.Answer)) error {
	c.b.T.Helper()
	c.nextID++
	id := c.nextID
	c.Work.Begin()
	request(c.Work, broker.Answer{Kind: 1, ID: id})
	c.Work.Flush()
	var got error
	c.b.Until("an answer", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for i, a := range c.answers {
			if a.ID == id {
				got = a.Err
				c.answers = append(c.answers[:i:i], c.answers[i+1:]...)
				return true
			}
		}
		return false
	})
	return got
}

// Act runs f with the client's work and flushes.
func (c *Client) Act(f func(w *broker.Work)) {
	c.Work.Begin()
	f(c.Work)
	c.Work.Flush()
}

// Send sends a message and waits for the answer.
func (c *Client) Send(m *message.Builder) error {
	c.b.T.Helper()
	return c.send(c.build(m), nil)
}

// SendLarge sends a message whose body is a file and waits for the answer.
func (c *Client) SendLarge(m *message.Builder, body []byte) error {
	c.b.T.Helper()
	return c.send(c.large(m, body))
}

// PostLarge sends a message whose body is a file and does not wait: the answer, with that id, will be among Answers. With
// id 0 none is wanted.
func (c *Client) PostLarge(m *message.Builder, body []byte, id int64) {
	c.b.T.Helper()
	built, w := c.large(m, body)
	a := broker.Answer{ID: id}
	if id != 0 {
		a.Kind = 1
	}
	c.Act(func(work *broker.Work) { c.post(work, built, w, a) })
}

// SendBegun is SendLarge with what BeginLarge has returned before.
func (c *Client) SendBegun(m *message.Builder, id int64, w broker.BodyWriter, body []byte) error {
	c.b.T.Helper()
	m.Durable = true
	return c.send(c.finishLarge(m, id, w, body))
}

func (c *Client) large(m *message.Builder, body []byte) (*message.Message, broker.BodyWriter) {
	c.b.T.Helper()
	id, w, err := c.BeginLarge(m.Durable)
	if err != nil {
		c.b.T.Fatalf("large body: %v", err)
	}
	return c.finishLarge(m, id, w, body)
}

func (c *Client) finishLarge(m *message.Builder, id int64, w broker.BodyWriter, body []byte) (*message.Message, broker.BodyWriter) {
	c.b.T.Helper()
	_, err := w.Write(body)
	if err != nil {
		c.b.T.Fatalf("large body: %v", err)
	}
	file, err := w.Complete()
	if err != nil {
		c.b.T.Fatalf("large body: %v", err)
	}
	c.EndLarge()
	m.SetLarge(file)
	m.Body = nil
	built := c.build(m)
	built.SetID(id)
	return built, w
}

func (c *Client) build(m *message.Builder) *message.Message {
	c.b.T.Helper()
	built, err := c.b.Pool().Build(m)
	if err != nil {
		c.b.T.Fatalf("build message: %v", err)
	}
	return built
}

func (c *Client) send(built *message.Message, body broker.BodyWriter) error {
	c.b.T.Helper()
	return c.Do(func(w *broker.Work, a broker.Answer) { c.post(w, built, body, a) })
}

func (c *Client) post(w *broker.Work, built *message.Message, body broker.BodyWriter, a broker.Answer) {
	c.b.T.Helper()
	if err := c.Session.Send(w, built, broker.SendOptions{Answer: a, Routing: message.Unspecified, Body: body}); err != nil {
		c.b.T.Fatalf("send: %v", err)
	}
}

// Text makes a durable text message with a routing type, unless that is Unspecified.
func Text(address, text string, routing message.RoutingType) *message.Builder {
	m := message.New(address, message.Text)
	m.Durable = true
	m.Body = message.AppendText(nil, text)
	if routing != message.Unspecified {
		m.Set(message.PropRoutingType, int8(routing))
	}
	return m
}

// Consume attaches a consumer with credit for that many messages. o may leave out ID, Encodings and Sink.
func (c *Client) Consume(o broker.ConsumerOptions, credit int64) (*Sink, error) {
	c.nextID++
	if o.ID == 0 {
		o.ID = c.nextID
	}
	if o.Encodings == 0 {
		o.Encodings = broker.CoreOnly
	}
	s := &Sink{client: c, cost: 1, plain: true}
	o.Sink = s
	c.Work.Begin()
	x, err := c.CreateConsumer(c.Work, o)
	if err == nil {
		s.Consumer = x
		if credit > 0 {
			x.Grant(c.Work, credit)
		}
	}
	c.Work.Flush()
	return s, err
}

// A Sink records what a consumer is given. Each delivery costs one credit.
type Sink struct {
	*broker.Consumer
	client *Client

	mu    sync.Mutex
	got   []Delivery
	cost  int
	plain bool
	busy  bool
	dirty bool
	gone  bool
}

// A Delivery is a message as a consumer got it.
type Delivery struct {
	ID         int64
	Count      int32
	Address    string
	Text       string
	Priority   uint8
	Durable    bool
	Expiration int64
	Type       message.Type
	Body       []byte
	Large      int64 // size of a large body
	Props      map[string]any
}

// Prop returns a property as text, "absent" without one.
func (d *Delivery) Prop(name string) string {
	v, ok := d.Props[name]
	if !ok {
		return "absent"
	}
	return fmt.Sprint(v)
}

// SetPlain tells whether the store's goroutine may deliver to the sink.
func (s *Sink) SetPlain(plain bool) {
	s.mu.Lock()
	s.plain = plain
	s.mu.Unlock()
}

// SetBusy lets the sink refuse messages; when it ends, the consumer is told.
func (s *Sink) SetBusy(busy bool) {
	s.mu.Lock()
	s.busy = busy
	s.mu.Unlock()
	if !busy {
		s.client.Act(func(w *broker.Work) { s.Ready(w) })
	}
}

// MarkDirty implements broker.Output.
func (s *Sink) MarkDirty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.dirty
	s.dirty = true
	return first
}

// Flush implements broker.Output.
func (s *Sink) Flush() {
	s.mu.Lock()
	s.dirty = false
	s.mu.Unlock()
}

// Plain implements broker.Sink.
func (s *Sink) Plain() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plain
}

// QueueGone implements broker.Sink.
func (s *Sink) QueueGone(*broker.Consumer) {
	s.mu.Lock()
	s.gone = true
	s.mu.Unlock()
}

// Gone tells that the queue was destroyed.
func (s *Sink) Gone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// Deliver implements broker.Sink.
func (s *Sink) Deliver(_ *broker.Consumer, m *message.Message, count int32) (int, broker.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		return 0, broker.Busy
	}
	d := Delivery{ID: m.ID(), Count: count, Address: m.Address(), Priority: m.Priority(), Durable: m.IsDurable(), Expiration: m.Expiration(),
		Type: m.Type(), Props: map[string]any{}}
	if b := m.Large(); b != nil {
		d.Large = b.Size()
	} else {
		d.Text, _ = m.TextBody()
		d.Body = append([]byte(nil), m.Body()...)
	}
	props := m.Properties()
	for key, v, ok := props.Next(); ok; key, v, ok = props.Next() {
		d.Props[buf.StringFromSS(key)] = Value(v)
	}
	s.got = append(s.got, d)
	return s.cost, broker.Delivered
}

// Value is the Go value of a property.
func Value(v buf.Value) any {
	switch v.Type {
	case buf.TypeBool:
		return v.Bool()
	case buf.TypeString:
		t, _ := v.Text()
		return t
	case buf.TypeBytes:
		return append([]byte(nil), v.Bytes()...)
	case buf.TypeFloat, buf.TypeDouble:
		f, _ := v.Float64()
		return f
	case buf.TypeChar:
		u, _ := v.Char()
		return u
	}
	if n, ok := v.Int64(); ok {
		return n
	}
	return nil
}

// Got returns everything delivered so far.
func (s *Sink) Got() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Delivery(nil), s.got...)
}

// Take returns what was delivered since the last call.
func (s *Sink) Take() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.got
	s.got = nil
	return out
}

// Texts returns the texts of everything delivered so far.
func (s *Sink) Texts() []string {
	var out []string
	for _, d := range s.Got() {
		out = append(out, d.Text)
	}
	return out
}

// Wait waits until n messages have been delivered, and returns them all.
func (s *Sink) Wait(n int) []Delivery {
	s.client.b.T.Helper()
	s.client.b.Until(fmt.Sprintf("%d deliveries", n), func() bool { return len(s.Got()) >= n })
	return s.Got()
}
