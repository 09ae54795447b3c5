package server

import (
	"errors"
	"strconv"
	"strings"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// packet handles a session packet. again: it may wait for the disk and has to be handled where that is allowed. An error
// ends the connection.
func (ch *channel) packet(w *broker.Work, f core.Frame) (again bool, err error) {
	v := ch.conn.Load().v()
	switch f.Type {
	case core.TypeSend:
		return ch.handleSend(w, &f, v)
	case core.TypeAcknowledge, core.TypeIndividualAcknowledge:
		var p core.Acknowledge
		if err := p.Decode(f.Payload); err != nil {
			return false, err
		}
		a := ch.done(&f)
		if p.RequiresResponse {
			a = ch.answerFor(answerNull, &f, core.NoCorrelation)
		}
		ch.sess.Acknowledge(w, p.ConsumerID, p.MessageID, f.Type == core.TypeAcknowledge, a)
		return false, nil
	case core.TypeFlowToken:
		var p core.FlowToken
		if err := p.Decode(f.Payload); err != nil {
			return false, err
		}
		ch.flowToken(w, p.ConsumerID, p.Credits)
		ch.sess.Done(w, ch.done(&f), nil)
		return false, nil
	case core.TypePacketsConfirmed:
		var p core.PacketsConfirmed
		if err := p.Decode(f.Payload); err != nil {
			return false, err
		}
		ch.mu.Lock()
		err := ch.confirmations.Confirmed(p.CommandID)
		ch.mu.Unlock()
		if err != nil {
			ch.s.log.Warn("the client confirms what was not sent", "session", ch.sess.Name, "error", err)
		}
		ch.conn.Load().Drained(nil) // consumers may wait for the resend cache
		return false, nil
	case core.TypeSendContinuation:
		return ch.handleContinuation(w, &f, v)
	}
	p, err := core.Decode(f.Type, f.Payload, v)
	if err != nil {
		return false, err
	}
	if (mayBlock(p) || !ch.sess.Fresh()) && !ch.sess.MayBlock {
		return true, nil
	}
	ch.request(w, &f, p)
	return false, nil
}

// mayBlock tells which requests may wait for the disk.
func mayBlock(p core.Packet) bool {
	switch p.(type) {
	case *core.CreateQueue, *core.CreateQueueV2, *core.CreateSharedQueue, *core.CreateSharedQueueV2, *core.DeleteQueue, *core.CreateAddress, *core.Close, *core.ConsumerClose:
		return true
	}
	return false
}

// request handles a packet of a kind that is not on the message path.
func (ch *channel) request(w *broker.Work, f *core.Frame, p core.Packet) {
	s := ch.sess
	null := ch.answerFor(answerNull, f, core.NoCorrelation)
	none := ch.done(f)
	ifRR := func(rr bool) broker.Answer {
		if rr {
			return null
		}
		return none
	}
	switch p := p.(type) {
	case *core.Start:
		s.Start(w)
		s.Done(w, none, nil)
	case *core.Stop:
		s.Stop(w)
		s.Done(w, null, nil)
	case *core.Close:
		ch.close(w, null)
	case *core.Commit:
		a := null
		if p.CorrelationID.Valid {
			a = ch.answerFor(answerNullCorr, f, p.CorrelationID.V)
		}
		s.Commit(w, a)
	case *core.Rollback:
		ch.withoutStreams(w, func() { s.Rollback(w, p.ConsiderLastMessageAsDelivered, null) })
	case *core.AddMetadata:
		err := s.SetMetadata(p.Key, p.Data, p.Form == core.TypeUniqueAddMetadata)
		s.Done(w, ifRR(p.Form == core.TypeAddMetadata || p.RequiresConfirmation), err)
	case *core.CreateProducer:
		ch.createProducer(p)
		s.Done(w, none, nil)
	case *core.RemoveProducer:
		delete(ch.producers, p.ID)
		s.RemoveProducer(producerName(p.ID))
		s.Done(w, none, nil)
	case *core.Credits:
		ch.requestCredits(w, p)
		s.Done(w, none, nil)
	case *core.CreateConsumer:
		ch.createConsumer(w, f, p)
	case *core.ConsumerClose:
		k := s.Consumer(p.ConsumerID)
		s.CloseConsumer(w, p.ConsumerID)
		if k != nil {
			ch.abortStreams(k)
		}
		s.Done(w, null, nil)
	case *core.Expired:
		s.Expired(w, p.ConsumerID, p.MessageID)
		s.Done(w, none, nil)
	case *core.ForceDelivery:
		ch.forceDelivery(w, p)
		s.Done(w, none, nil)
	case *core.SendLarge:
		if err := ch.beginLarge(p.Headers); err != nil {
			s.Refuse(w, none, err)
		} else {
			s.Done(w, none, nil)
		}
	case *core.QueueQuery:
		ch.reply(w, f, func() (core.Packet, error) { return ch.queueQuery(p.Name) })
	case *core.BindingQuery:
		ch.reply(w, f, func() (core.Packet, error) { return ch.bindingQuery(p.Address) })
	case *core.CreateAddress:
		s.Done(w, ifRR(p.RequiresResponse), ch.createAddress(p))
	case *core.CreateQueue:
		s.Done(w, ifRR(p.RequiresResponse), ch.createQueueV1(p))
	case *core.CreateQueueV2:
		s.Done(w, ifRR(p.RequiresResponse), ch.createQueueV2(p))
	case *core.CreateSharedQueue:
		s.Done(w, ifRR(p.RequiresResponse), ch.createShared(w, &core.CreateSharedQueueV2{Address: p.Address, Name: p.Name, Filter: p.Filter, Durable: p.Durable, RoutingType: core.RoutingUnset}))
	case *core.CreateSharedQueueV2:
		s.Done(w, ifRR(p.RequiresResponse), ch.createShared(w, p))
	case *core.DeleteQueue:
		s.Done(w, null, ch.deleteQueue(w, p.Name))
	default:
		if !ch.xa(w, f, p) {
			ch.s.log.Debug("a packet that is not for a session was ignored", "type", f.Type.String(), "session", s.Name)
			s.Done(w, none, nil)
		}
	}
}

// reply answers with a packet that is made when its turn has come.
func (ch *channel) reply(w *broker.Work, f *core.Frame, make func() (core.Packet, error)) {
	null := ch.answerFor(answerNull, f, core.NoCorrelation)
	p, err := make()
	if err != nil {
		ch.sess.Done(w, null, err)
		return
	}
	a := null
	a.Call = func(w *broker.Work) {
		ch.confirm(w, a.Size)
		ch.send(w, p)
	}
	ch.sess.Done(w, a, nil)
}

// close ends the session (core-protocol §4.9).
func (ch *channel) close(w *broker.Work, null broker.Answer) {
	ch.abortLarge()
	s := ch.sess
	c := ch.conn.Load()
	s.Close(w, false)
	ch.endStreams()
	ch.s.unregister(ch)
	c.mu.Lock()
	c.channels.remove(ch.id)
	c.mu.Unlock()
	null.Call = func(w *broker.Work) {
		if null.Size > 0 {
			ch.confirmed(w, func(c *core.Confirmations) (int32, bool) {
				c.Received(int(null.Size))
				c.Flush()
				return c.LastReceived(), true
			})
		}
		ch.send(w, &core.NullResponse{CorrelationID: core.NoCorrelation})
	}
	s.Done(w, null, nil)
}

// strip takes the prefixes that the acceptor has for routing types off an address.
func (c *conn) strip(address string) (string, message.RoutingType) {
	for _, p := range c.anycast {
		if rest, ok := strings.CutPrefix(address, p); ok {
			return rest, message.Anycast
		}
	}
	for _, p := range c.multicast {
		if rest, ok := strings.CutPrefix(address, p); ok {
			return rest, message.Multicast
		}
	}
	return address, message.Unspecified
}

func (ch *channel) hasPrefixes() bool {
	c := ch.conn.Load()
	return len(c.anycast)+len(c.multicast) > 0
}

// handleSend is SESS_SEND.
func (ch *channel) handleSend(w *broker.Work, f *core.Frame, v core.Version) (again bool, err error) {
	var p core.Send
	if err := p.Decode(f.Payload, v); err != nil {
		return false, err
	}
	pool := ch.s.b.Pool()
	var m *message.Message
	if v.BeforeAddressChange() {
		m, err = pool.NewCore1x(p.Message)
	} else {
		m, err = pool.NewCore(p.Message)
	}
	if err != nil {
		return false, err
	}
	if m.ID() != 0 {
		m.SetID(0) // ids are the broker's to give
	}
	o := broker.SendOptions{Routing: message.Unspecified, Producer: ch.producers[p.SenderID]}
	switch {
	case p.RequiresResponse && v.BeforeAsyncResponseChange():
		o.Answer = ch.answerFor(answerNull, f, core.NoCorrelation)
	case p.RequiresResponse:
		o.Answer = ch.answerFor(answerNullCorr, f, p.CorrelationID)
	default:
		o.Answer = ch.done(f)
	}
	if ch.hasPrefixes() {
		ch.prefixed(m, &o)
	}
	if err := ch.sess.Send(w, m, o); err != nil {
		m.Release()
		return errors.Is(err, broker.ErrBlocks), nil
	}
	return false, nil
}

// prefixed applies the acceptor's prefixes to a message's address.
func (ch *channel) prefixed(m *message.Message, o *broker.SendOptions) {
	if name, t := ch.conn.Load().strip(m.Address()); t != message.Unspecified {
		o.Address, o.Routing = name, t
	}
}

// createProducer is CREATE_PRODUCER. Ids that nobody created are fine: after a failover clients use their old ones.
func (ch *channel) createProducer(p *core.CreateProducer) {
	if ch.producers[p.ID] != nil {
		ch.s.log.Warn("AMQ222310: a client uses the id of a producer again", "session", ch.sess.Name, "producer", p.ID)
		return
	}
	if ch.producers == nil {
		ch.producers = map[int32]*broker.Producer{}
	}
	address, _ := ch.conn.Load().strip(p.Address.V)
	ch.producers[p.ID] = ch.sess.AddProducer(producerName(p.ID), address)
}

func producerName(id int32) string { return strconv.Itoa(int(id)) }

// beginLarge is SESS_SEND_LARGE.
func (ch *channel) beginLarge(headers []byte) error {
	ch.abortLarge()
	h, err := message.ParseCoreHeaders(headers)
	if err != nil {
		return err
	}
	ch.largeID, ch.large, err = ch.sess.BeginLarge(h.IsDurable())
	ch.headers = append(ch.headers[:0], headers...)
	return err
}

func (ch *channel) abortLarge() {
	ch.sess.AbortLarge()
	ch.large = nil
	if ch.whole != nil {
		ch.whole.Large().Discard()
		ch.whole.Release()
		ch.whole = nil
	}
}

// handleContinuation is SESS_SEND_CONTINUATION: a chunk of the body that is coming.
func (ch *channel) handleContinuation(w *broker.Work, f *core.Frame, v core.Version) (again bool, err error) {
	var p core.SendContinuation
	if err := p.Decode(f.Payload, v); err != nil {
		return false, err
	}
	a := ch.done(f)
	if p.RequiresResponse {
		a = ch.answerFor(answerNullCorr, f, p.CorrelationID)
		if v.BeforeAsyncResponseChange() {
			a.Kind, a.ID = answerNull, core.NoCorrelation
		}
	}
	if ch.large == nil {
		ch.sess.Refuse(w, a, &broker.Error{Code: broker.IllegalState, Text: "AMQ229030: large-message not initialized on server"})
		return false, nil
	}
	if ch.whole == nil {
		if _, err := ch.large.Write(p.Body); err != nil {
			ch.abortLarge()
			ch.sess.Refuse(w, a, err)
			return false, nil
		}
		if p.Continues {
			ch.sess.Done(w, a, nil)
			return false, nil
		}
		if ch.whole, err = ch.largeMessage(p.MessageBodySize); err != nil {
			ch.abortLarge()
			ch.sess.Refuse(w, a, err)
			return false, nil
		}
	}
	o := broker.SendOptions{Routing: message.Unspecified, Answer: a, Producer: ch.producers[p.SenderID], Body: ch.large}
	if ch.hasPrefixes() {
		ch.prefixed(ch.whole, &o)
	}
	if err := ch.sess.Send(w, ch.whole, o); err != nil {
		return true, nil // here comes the same packet again
	}
	ch.sess.EndLarge()
	ch.large, ch.whole = nil, nil
	return false, nil
}

// largeMessage completes the body and makes its message. size is what the client says of it before compression.
func (ch *channel) largeMessage(size int64) (*message.Message, error) {
	h, err := message.ParseCoreHeaders(ch.headers)
	if err != nil {
		return nil, err
	}
	body, err := ch.large.Complete()
	if err != nil {
		return nil, err
	}
	if size < 0 {
		size = body.Size()
	}
	edit := h.Edit()
	edit.Set(message.PropLargeSize, size)
	edit.SetLarge(body)
	m, err := ch.s.b.Pool().Build(edit)
	if err != nil {
		body.Discard()
		body.Release()
		return nil, err
	}
	m.SetID(ch.largeID)
	return m, nil
}

// flowToken is SESS_FLOWTOKEN: -1 lifts the limit, 0 takes all credit away.
func (ch *channel) flowToken(w *broker.Work, consumer int64, credits int32) {
	k := ch.sess.Consumer(consumer)
	if k == nil {
		return
	}
	switch {
	case credits < 0:
		k.Grant(w, broker.Unlimited)
	case credits == 0:
		k.ResetCredit()
		return
	default:
		k.Grant(w, int64(credits))
	}
	ch.pokeStreams(k)
}

// requestCredits is SESS_PRODUCER_REQUEST_CREDITS.
func (ch *channel) requestCredits(w *broker.Work, p *core.Credits) {
	if p.Form != core.TypeRequestCredits {
		return
	}
	name, _ := ch.conn.Load().strip(p.Address)
	reply := func(w *broker.Work, form core.Type, credits int32) {
		ch.send(w, &core.Credits{Form: form, Credits: credits, Address: p.Address})
	}
	granted, failed := ch.sess.RequestCredits(name, p.Credits, func(credits int32) {
		if ch.sess.Closed() {
			return
		}
		w := ch.s.b.NewWork()
		reply(w, core.TypeCredits, credits)
		w.Flush()
	})
	switch {
	case granted:
		reply(w, core.TypeCredits, p.Credits)
	case failed:
		reply(w, core.TypeFailCredits, p.Credits)
	}
}

// createConsumer is SESS_CREATECONSUMER.
func (ch *channel) createConsumer(w *broker.Work, f *core.Frame, p *core.CreateConsumer) {
	name, _ := ch.conn.Load().strip(p.QueueName)
	_, err := ch.sess.CreateConsumer(w, broker.ConsumerOptions{ID: p.ConsumerID, Queue: name, Filter: p.Filter.V, Browse: p.BrowseOnly, Priority: p.Priority,
		Encodings: broker.CoreOnly, Sink: &sink{ch: ch}})
	if !p.RequiresResponse {
		ch.sess.Done(w, ch.done(f), err)
		return
	}
	ch.reply(w, f, func() (core.Packet, error) {
		if err != nil {
			return nil, err
		}
		r, err := ch.queueQuery(name)
		if q := ch.s.b.Queue(name); r != nil && q != nil {
			r.Address = buf.Of(q.Address().Name())
		}
		return r, err
	})
}

// forceDelivery is SESS_FORCE_CONSUMER_DELIVERY (core-protocol §6.4).
func (ch *channel) forceDelivery(w *broker.Work, p *core.ForceDelivery) {
	k := ch.sess.Consumer(p.ConsumerID)
	if k == nil {
		return
	}
	b := message.New(k.Queue.Name(), message.Default)
	b.Priority = 0
	b.Body = []byte{0, 0, 0, 0}
	b.Set("_hornetq.forced.delivery.seq", p.Sequence)
	block := b.AppendTo(nil)
	m, err := message.ParseCore(block)
	if err != nil {
		ch.s.log.Error("cannot make a forced delivery message", "error", err)
		return
	}
	m.SetID(ch.s.b.Store().NextID())
	k.Settled(w, func(w *broker.Work) { ch.sendMessage(w, m, p.ConsumerID, 0) })
}

// sendMessage appends a SESS_RECEIVE_MSG outside the flow control.
func (ch *channel) sendMessage(w *broker.Work, m *message.Message, consumer int64, count int32) {
	block := m.Block()
	if ch.conn.Load().v().BeforeAddressChange() {
		frame, err := core.AppendReceive1x(nil, ch.id, block, consumer, count)
		if err != nil {
			ch.s.log.Error("cannot encode a message for an old client", "message", m.ID(), "error", err)
			return
		}
		ch.sendFrame(w, frame)
		return
	}
	frame := core.AppendReceiveHeader(nil, ch.id, len(block))
	ch.sendFrame(w, core.AppendReceiveTail(append(frame, block...), consumer, count))
}

// check is a permission of the session.
func (ch *channel) check(p security.Permission, address, queue string) error {
	return ch.sess.Check(p, address, queue)
}
