package broker

import (
	"github.com/saranga-mq/saranga/broker/filter"
	"github.com/saranga-mq/saranga/broker/message"
)

// maxDiverts is how many diverts a message may pass, against diverts that lead in a circle.
const maxDiverts = 32

// A Divert is a binding that sends a copy of each message to another address.
type Divert struct {
	b      *Broker
	cfg    DivertConfig
	filter *filter.Filter
	stored bool
}

// Config returns the divert's configuration.
func (d *Divert) Config() DivertConfig { return d.cfg }

// Name implements Binding.
func (d *Divert) Name() string { return d.cfg.Name }

// Group implements Binding.
func (d *Divert) Group() string { return d.cfg.RoutingName }

// Routing implements Binding.
func (d *Divert) Routing() message.RoutingType { return message.Unspecified }

// Exclusive implements Binding.
func (d *Divert) Exclusive() bool { return d.cfg.Exclusive }

// Matches implements Binding.
func (d *Divert) Matches(m *message.Message) bool {
	return d.filter == nil || d.filter.Match(Filterable(m))
}

// HighAcceptPriority implements Binding.
func (d *Divert) HighAcceptPriority(*message.Message) bool { return true }

// Route implements Binding: the copy goes along the forwarding address's own route.
func (d *Divert) Route(x *routing, m *message.Message) bool {
	if x.depth >= maxDiverts {
		x.err = errorf(IllegalState, "divert %s: more than %d diverts in a row; do they lead in a circle?", d.cfg.Name, maxDiverts)
		return true
	}
	if m.ID() == 0 {
		m.SetID(d.b.store.NextID()) // the copy names it
	}
	edit := m.Edit()
	forward := d.cfg.ForwardAddress
	edit.Address = &forward
	want := m.RoutingType()
	switch d.cfg.RoutingType {
	case DivertAnycast, DivertMulticast:
		want = message.RoutingType(d.cfg.RoutingType)
		edit.Set(message.PropRoutingType, int8(want))
	case DivertStrip:
		want = message.Unspecified
		edit.Remove(func(name string) bool { return name == message.PropRoutingType })
	}
	edit.Set(message.PropOrigAddress, m.Address())
	edit.Set(message.PropOrigQueue, d.cfg.Name)
	edit.Set(message.PropOrigMessageID, m.ID())
	if rt := m.RoutingType(); rt != message.Unspecified {
		edit.Set(message.PropOrigRoutingType, int8(rt))
	}
	for k, v := range d.cfg.TransformerProps {
		edit.Set(k, v)
	}
	c, err := d.b.buildCopy(edit, m)
	if err != nil {
		x.err = err
		return true
	}
	rt := d.b.route(forward)
	s := &send{msg: c}
	s.queues = s.one[:0]
	if rt.address != nil {
		rt.address.account.take(c)
	}
	for {
		y := routing{b: d.b, send: s, depth: x.depth + 1}
		if d.b.along(&y, rt, want) {
			x.err = y.err
			break
		}
		s.giveBack()
		rt = d.b.route(forward)
	}
	x.send.more = append(x.send.more, s)
	return true
}
