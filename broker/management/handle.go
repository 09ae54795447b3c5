package management

import (
	"errors"
	"fmt"
	"strings"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/wire/buf"
)

// Properties of management messages.
const (
	PropResource  = "_AMQ_ResourceName"
	PropAttribute = "_AMQ_Attribute"
	PropOperation = "_AMQ_OperationName"
	PropSucceeded = "_AMQ_OperationSucceeded"

	propReplyTo       = "JMSReplyTo"
	propCorrelationID = "JMSCorrelationID"
)

// Handle carries out a management message and sends the reply: broker.Options.Manage. It may wait for the disk. The
// message stays the caller's.
func (g *Registry) Handle(s *broker.Session, m *message.Message) {
	reply, err := g.handle(s, m)
	if err != nil {
		g.env.Log.Warn("AMQ224016: a management message gets no reply", "error", err, "session", s.Name, "remote", s.Conn().Remote)
		return
	}
	to, ok := m.Property(propReplyTo).Text()
	if !ok || to == "" || !g.b.Live() {
		return
	}
	reply.Set(propReplyTo, to)
	to = destination(to)
	reply.Address = &to
	if id, ok := correlation(m); ok {
		reply.Set(propCorrelationID, id)
	}
	if _, err := g.b.NewPublisher(security.Internal("")).Send(reply); err != nil {
		g.env.Log.Warn("AMQ224016: the reply to a management message could not be sent", "error", err, "address", to)
	}
}

// destination is the address of a JMSReplyTo, which a JMS client writes with the kind of the destination before it.
func destination(replyTo string) string {
	for _, kind := range []string{"queue://", "topic://", "temp-queue://", "temp-topic://"} {
		if address, ok := strings.CutPrefix(replyTo, kind); ok {
			return address
		}
	}
	return replyTo
}

// correlation is what relates a reply to its request: the request's correlation id, its native message id, or its user id.
func correlation(m *message.Message) (any, bool) {
	for _, name := range []string{propCorrelationID, message.PropNativeID} {
		v := m.Property(name)
		if text, ok := v.Text(); ok {
			return text, true
		}
		if v.Type == buf.TypeBytes {
			return append([]byte(nil), v.Bytes()...), true
		}
	}
	if id := m.UserIDText(); id != "" {
		return id, true
	}
	return nil, false
}

// handle builds the reply; an error means that there is none.
func (g *Registry) handle(s *broker.Session, m *message.Message) (*message.Builder, error) {
	reply := message.New("", message.Text)
	reply.Priority = 0
	caller := Caller{Who: s.Who(), Remote: s.Conn().Remote}
	if caller.Remote == "" {
		caller.Remote = "unknown"
	}
	resource, _ := m.Property(PropResource).Text()
	operation, isOperation := m.Property(PropOperation).Text()
	attribute, isAttribute := m.Property(PropAttribute).Text()
	var result any
	var err error
	switch {
	case isOperation:
		args, bad := parameters(m)
		if bad != nil {
			return nil, bad
		}
		result, err = g.invoke(caller, resource, operation, args)
	case isAttribute:
		if result, err = g.read(caller, resource, attribute); err != nil {
			g.env.Log.Debug("cannot read an attribute for a management message", "resource", resource, "attribute", attribute, "error", err)
			err = fmt.Errorf("Problem while retrieving attribute %s", attribute) //lint:ignore ST1005 the text of Artemis
		}
	default:
		reply.Body = []byte{0}
		return reply, nil
	}
	if err != nil {
		result = err.Error()
	}
	if page, ok := result.([]compositeData); ok {
		result = compositesJSON(page)
	}
	reply.Set(PropSucceeded, err == nil)
	if result == nil {
		reply.Body = []byte{0}
	} else {
		reply.Body = message.AppendText(nil, "["+JSON(result)+"]")
	}
	return reply, nil
}

var errNoParameters = errors.New("the body is not a JSON array of parameters")

// parameters reads the parameters of an operation from the body. Null is no parameters: what Artemis' clients write for an
// operation without any.
func parameters(m *message.Message) ([]any, error) {
	if m.Large() != nil || len(m.Body()) == 0 {
		return nil, errNoParameters
	}
	r := buf.NewReader(m.Body())
	text := r.NSS()
	if r.Err() != nil {
		return nil, fmt.Errorf("%w: %w", errNoParameters, r.Err())
	}
	if !text.Valid {
		return nil, nil
	}
	args, err := parseParameters(text.V)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoParameters, err)
	}
	return args, nil
}

// invoke calls an operation for a management message.
func (g *Registry) invoke(c Caller, resource, operation string, args []any) (any, error) {
	r, err := g.Resource(resource)
	if err != nil {
		return nil, err
	}
	if err := g.allowed(c, resource, operation); err != nil {
		return nil, err
	}
	return r.Invoke(c, operation, args)
}

// read reads an attribute for a management message.
func (g *Registry) read(c Caller, resource, attribute string) (any, error) {
	r, err := g.Resource(resource)
	if err != nil {
		return nil, err
	}
	a := r.Class.Attribute(attribute)
	if a == nil {
		return nil, fmt.Errorf("no attribute %s", attribute)
	}
	if err := g.allowed(c, resource, a.Getter()); err != nil {
		return nil, err
	}
	return r.Get(c, attribute)
}

// allowed checks view or edit permission for a method, where management messages need it.
func (g *Registry) allowed(c Caller, resource, method string) error {
	if g.env.RBAC == nil || g.env.Access == nil {
		return nil
	}
	return g.env.RBAC.Check(g.env.Access, c.Who, resource, method)
}
