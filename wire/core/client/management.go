package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/core"
)

// ManagementAddress is the address of management messages unless the broker is
// configured otherwise.
const ManagementAddress = "activemq.management"

// Names of resources.
const (
	BrokerResource   = "broker"
	addressResource  = "address."
	queueResource    = "queue."
	acceptorResource = "acceptor."
)

// QueueResource returns the resource name of a queue.
func QueueResource(name string) string { return queueResource + name }

// AddressResource returns the resource name of an address.
func AddressResource(name string) string { return addressResource + name }

// AcceptorResource returns the resource name of an acceptor.
func AcceptorResource(name string) string { return acceptorResource + name }

// Management calls operations and reads attributes of a broker's resources.
// Calls from several goroutines are made one after the other.
type Management struct {
	s     *Session
	p     *Producer
	c     *Consumer
	reply string

	mu  sync.Mutex
	seq int
}

// ManagementError is what an operation answers that failed.
type ManagementError struct {
	Resource, Name string // the operation or attribute
	Message        string
}

// Error returns the broker's text.
func (e *ManagementError) Error() string { return e.Message }

// Result is what an operation or attribute returns, in JSON; nil if it returns nothing.
type Result json.RawMessage

// Into decodes the result into v.
func (r Result) Into(v any) error { return json.Unmarshal(r, v) }

// Text returns a string as it is and anything else as JSON.
func (r Result) Text() string {
	var s string
	if json.Unmarshal(r, &s) == nil {
		return s
	}
	return string(r)
}

// NewManagement opens a session with a temporary queue for the answers.
// address is the management address, empty for the default one.
func (c *Conn) NewManagement(ctx context.Context, address string) (*Management, error) {
	if address == "" {
		address = ManagementAddress
	}
	s, err := c.NewSession(ctx, SessionOptions{AutoCommitSends: true, AutoCommitAcks: true})
	if err != nil {
		return nil, err
	}
	m := &Management{s: s, reply: address + "." + newUUID()} // below the management address, as Artemis' tools have it, so that its settings and permissions count
	err = func() (err error) {
		if err = s.CreateQueue(ctx, QueueOptions{Name: m.reply, Temporary: true, RoutingType: core.RoutingUnset}); err != nil {
			return err
		}
		if m.p, err = s.NewProducer(ctx, address); err != nil {
			return err
		}
		if m.c, err = s.NewConsumer(ctx, m.reply, ConsumerOptions{}); err != nil {
			return err
		}
		return s.Start(ctx)
	}()
	if err != nil {
		s.Close(ctx)
		return nil, fmt.Errorf("core client: management: %w", err)
	}
	return m, nil
}

// Close closes the session and with it the temporary queue.
func (m *Management) Close(ctx context.Context) error {
	if err := m.c.Close(ctx); err != nil {
		return err
	}
	if err := m.s.DeleteQueue(ctx, m.reply); err != nil {
		return err
	}
	return m.s.Close(ctx)
}

// Invoke calls an operation. Arguments are strings, numbers, bools, nil, and
// slices and maps of them; the broker picks the operation by their number and types.
func (m *Management) Invoke(ctx context.Context, resource, operation string, args ...any) (Result, error) {
	if args == nil {
		args = []any{}
	}
	params, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("core client: invoke %s of %s: %w", operation, resource, err)
	}
	b := message.New(m.p.address, message.Default)
	b.Set("_AMQ_OperationName", operation)
	b.Body = message.AppendText(nil, string(params))
	return m.request(ctx, b, resource, operation)
}

// Attribute reads an attribute.
func (m *Management) Attribute(ctx context.Context, resource, attribute string) (Result, error) {
	b := message.New(m.p.address, message.Default)
	b.Set("_AMQ_Attribute", attribute)
	return m.request(ctx, b, resource, attribute)
}

func (m *Management) request(ctx context.Context, b *message.Builder, resource, name string) (Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, m.s.c.cfg.CallTimeout)
	defer cancel()
	m.seq++
	correlation := strconv.Itoa(m.seq)
	b.Set("_AMQ_ResourceName", resource)
	b.Set("JMSReplyTo", m.reply)
	b.Set("JMSCorrelationID", correlation)
	if err := m.p.Send(ctx, b); err != nil {
		return nil, err
	}
	for {
		reply, err := m.c.Receive(ctx)
		if err != nil {
			return nil, fmt.Errorf("core client: answer of %s of %s: %w", name, resource, err)
		}
		if err := reply.Ack(); err != nil {
			return nil, err
		}
		v, err := reply.Core()
		if err != nil {
			return nil, err
		}
		if id, ok := v.Property("JMSCorrelationID").Text(); ok && id != correlation {
			continue // the answer to a request that was given up
		}
		return result(reply, v, resource, name)
	}
}

// result reads an answer: a JSON array of one element.
func result(reply *Message, v *message.Message, resource, name string) (Result, error) {
	succeeded := v.Property("_AMQ_OperationSucceeded").Bool()
	text, ok := reply.Text()
	var list []json.RawMessage
	if ok && text != "" {
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return nil, fmt.Errorf("core client: answer of %s of %s: %w", name, resource, err)
		}
	}
	var r Result
	if len(list) > 0 && string(list[0]) != "null" {
		r = Result(list[0])
	}
	if !succeeded {
		return nil, &ManagementError{Resource: resource, Name: name, Message: r.Text()}
	}
	return r, nil
}
