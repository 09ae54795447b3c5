package management

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
)

// address is the resource of an address.
type address struct {
	g *Registry
	a *broker.Address
}

func (x address) info() broker.AddressInfo { return x.g.b.Info(x.a) }

func (x address) queues() []*broker.Queue {
	var out []*broker.Queue
	for _, name := range x.info().Queues {
		if q := x.g.b.Queue(name); q != nil {
			out = append(out, q)
		}
	}
	return out
}

func (x address) messages() int64 {
	n := int64(0)
	for _, q := range x.queues() {
		n += q.MessageCount()
	}
	return n
}

func (x address) limitPercent() int64 {
	s := x.a.Settings()
	if max := int64(s.MaxSizeBytes); max > 0 {
		return x.a.Account().Bytes() * 100 / max
	}
	if max := s.MaxSizeMessages; max > 0 {
		return x.a.Account().Messages() * 100 / max
	}
	return 0
}

func routingNames(t broker.RoutingTypes) []string {
	out := []string{}
	for _, r := range t.List() {
		out = append(out, r.String())
	}
	return out
}

func orNone(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

var addressClass = class("AddressControl", "An address.", func(d *definition[address]) {
	info := func(name string, t Type, desc string, get func(broker.AddressInfo) any) {
		d.attr(name, t, desc, func(x address) any { return get(x.info()) })
	}
	d.attr("Address", String, "Name of the address.", func(x address) any { return x.a.Name() })
	info("Id", Long, "Number of the address in the broker's files.", func(i broker.AddressInfo) any { return i.ID })
	info("RoutingTypes", Strings, "Routing types of the address.", func(i broker.AddressInfo) any { return routingNames(i.RoutingTypes) })
	info("RoutingTypesAsJSON", String, "Routing types of the address, as JSON.", func(i broker.AddressInfo) any { return JSON(routingNames(i.RoutingTypes)) })
	info("AutoCreated", Bool, "Whether the address was created by use.", func(i broker.AddressInfo) any { return i.AutoCreated })
	info("Internal", Bool, "Whether the address is the broker's own.", func(i broker.AddressInfo) any { return i.Internal })
	info("Temporary", Bool, "Whether the address goes with its temporary queue.", func(i broker.AddressInfo) any { return i.Temporary })
	info("Paused", Bool, "Whether delivery from all queues is paused.", func(i broker.AddressInfo) any { return i.Paused })
	info("QueueNames", Strings, "Queues bound to the address.", func(i broker.AddressInfo) any { return orNone(i.Queues) })
	info("AllQueueNames", Strings, "Queues bound to the address, here and on other nodes.", func(i broker.AddressInfo) any { return orNone(i.Queues) })
	d.attr("RemoteQueueNames", Strings, "Queues of other nodes that get messages of this address.", func(address) any { return []string{} })
	info("QueueCount", Long, "Number of queues.", func(i broker.AddressInfo) any { return int64(len(i.Queues)) })
	info("BindingNames", Strings, "Queues and diverts bound to the address.", func(i broker.AddressInfo) any { return append(orNone(i.Queues), i.Diverts...) })
	d.attr("Roles", Objects, "Permissions by role.", func(x address) any { return roleRows(x.g.roles(x.a.Name())) })
	d.attr("RolesAsJSON", String, "Permissions by role, as JSON.", func(x address) any { return JSON(roleObjects(x.g.roles(x.a.Name()))) })
	d.attr("AddressSize", Long, "Estimated memory of the address's messages in bytes.", func(x address) any { return x.a.Account().Bytes() })
	d.attr("AddressLimitPercent", Int, "How much of its limit the address uses.", func(x address) any { return x.limitPercent() })
	d.attr("MessageCount", Long, "Messages in the queues of the address.", func(x address) any { return x.messages() })
	d.attr("NumberOfMessages", Long, "The same as MessageCount.", func(x address) any { return x.messages() })
	d.attr("RoutedMessageCount", Long, "Messages that went to a queue or divert.", func(x address) any { n, _ := x.a.Routed(); return n })
	d.attr("UnRoutedMessageCount", Long, "Messages that went nowhere.", func(x address) any { _, n := x.a.Routed(); return n })
	d.attr("CurrentDuplicateIdCacheSize", Long, "Number of remembered duplicate ids.", func(x address) any { return int64(x.a.DuplicateCount()) })
	d.attr("Paging", Bool, "Whether messages are written to page files.", func(address) any { return false })
	d.attr("NumberOfPages", Long, "Number of page files.", func(address) any { return int64(0) })
	d.attr("NumberOfBytesPerPage", Long, "Size of a page file in bytes.", func(x address) any { return int64(x.a.Settings().PageSizeBytes) })
	d.attr("MaxPageReadBytes", Int, "How many bytes of paged messages are read ahead.", func(x address) any { return int64(x.a.Settings().MaxReadPageBytes) })
	d.attr("MaxPageReadMessages", Int, "How many paged messages are read ahead.", func(x address) any { return x.a.Settings().MaxReadPageMessages })
	d.attr("PrefetchPageBytes", Int, "How many bytes of paged messages wait in memory.", func(x address) any { return int64(x.a.Settings().PrefetchPageBytes) })
	d.attr("PrefetchPageMessages", Int, "How many paged messages wait in memory.", func(x address) any { return x.a.Settings().PrefetchPageMessages })
	d.attr("RetroactiveResource", Bool, "Whether the address keeps messages for another.", func(x address) any { return x.g.b.RetroactiveResource(x.a.Name()) })
	d.attr("BlockedViaManagement", Bool, "Whether producers were stopped by block.", func(x address) any { return x.a.Blocked() })

	d.op("pause()", Void, Action, "Stops delivery from all queues until a restart.", func(x address, _ *Call) (any, error) { return nil, x.g.b.PauseAddress(x.a, false) })
	d.op("pause(persist bool)", Void, Action, "Stops delivery from all queues, if asked for over restarts too.", func(x address, c *Call) (any, error) {
		return nil, x.g.b.PauseAddress(x.a, c.bool(0))
	})
	d.op("resume()", Void, Action, "Starts delivery again.", func(x address, _ *Call) (any, error) {
		return nil, x.g.work(func(w *broker.Work) error { return x.g.b.ResumeAddress(w, x.a) })
	})
	d.op("block()", Bool, Action, "Gives producers no more credits.", func(x address, _ *Call) (any, error) { return x.g.b.Block(x.a, true), nil })
	d.op("unblock()", Void, Action, "Ends block.", func(x address, _ *Call) (any, error) { x.g.b.Block(x.a, false); return nil, nil })
	d.op("purge()", Long, Action, "Deletes all messages of all queues.", func(x address, _ *Call) (any, error) {
		n := int64(0)
		for _, q := range x.queues() {
			k, err := q.RemoveMessages("")
			n += int64(k)
			if err != nil {
				return n, err
			}
		}
		return n, nil
	})
	d.op("clearDuplicateIdCache()", Bool, Action, "Forgets all duplicate ids.", func(x address, _ *Call) (any, error) {
		err := x.g.b.ClearDuplicates(x.a)
		return err == nil, err
	})
	d.op("schedulePageCleanup()", Void, Action, "Looks for page files that are not needed any more.", func(address, *Call) (any, error) { return nil, nil })
	d.op("replay(target string, filter string)", Void, Action, "Sends retained messages again.", notBuilt[address]("replay needs journal retention"))
	d.op("replay(startScanDate string, endScanDate string, target string, filter string)", Void, Action, "Sends retained messages of a time again.", notBuilt[address]("replay needs journal retention"))
	defineSendMessage(d, func(x address, c *Call, id bool) (any, error) { return x.g.sendMessage(c, x.a.Name(), nil, id) })
})

// notBuilt refuses an operation that this broker does not have.
func notBuilt[T any](why string) func(T, *Call) (any, error) {
	return func(T, *Call) (any, error) { return nil, fmt.Errorf("%s, which this broker does not support yet", why) }
}

// defineSendMessage are the operations that send a message to an address or queue.
func defineSendMessage[T any](d *definition[T], send func(T, *Call, bool) (any, error)) {
	const desc = "Sends a message: type 3 is text, in all others the body is base64. Returns its id."
	d.op("sendMessage(headers map, type int, body string, durable bool, user string, password string)", String, Action, desc,
		func(x T, c *Call) (any, error) { return send(x, c, false) })
	d.op("sendMessage(headers map, type int, body string, durable bool, user string, password string, createMessageId bool)", String, Action, desc,
		func(x T, c *Call) (any, error) { return send(x, c, c.bool(6)) })
}

// sendMessage sends a message to an address or, when q is not nil, to one of its queues only.
func (g *Registry) sendMessage(c *Call, to string, q *broker.Queue, createID bool) (any, error) {
	who, err := g.sender(c)
	if err != nil {
		return nil, err
	}
	m := message.New(to, message.Type(c.int(1)))
	if headers, ok := c.args[0].(map[string]any); ok {
		for _, k := range sortedKeys(headers) {
			m.Set(k, headerValue(headers[k]))
		}
	}
	m.Durable, m.Timestamp = c.bool(3), g.b.Wheel().Now()
	if createID {
		m.UserID = make([]byte, 16)
		rand.Read(m.UserID)
	}
	if !c.null(2) {
		if m.Type == message.Text {
			m.Body = message.AppendText(nil, c.text(2))
		} else if m.Body, err = base64.StdEncoding.DecodeString(c.text(2)); err != nil {
			return nil, fmt.Errorf("the body of a message that is not text must be base64: %w", err)
		}
	}
	p := g.b.NewPublisher(who)
	var id int64
	if q != nil {
		id, err = p.SendTo(q, m)
	} else {
		id, err = p.Send(m)
	}
	if err != nil {
		return nil, err
	}
	return fmt.Sprint(id), nil
}

func headerValue(v any) any {
	if v == nil {
		return nil
	}
	return fmt.Sprint(v)
}

// sender is who a message is sent for: the user that was given, or whoever may come without a name.
func (g *Registry) sender(c *Call) (security.Principal, error) {
	if g.env.Auth == nil || g.env.Access == nil || !g.env.Access.Enabled() {
		return security.Internal(c.text(4)), nil
	}
	return g.env.Auth.Authenticate(context.Background(), security.Credentials{User: c.text(4), Password: c.text(5), Remote: c.Remote})
}
