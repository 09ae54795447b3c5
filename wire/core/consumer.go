package core

import "github.com/saranga-mq/saranga/wire/buf"

// CreateConsumer asks for a consumer under an id the client chose. It is
// answered with a queue query response.
type CreateConsumer struct {
	ConsumerID       int64
	QueueName        string           // SS
	Filter           buf.Null[string] // SS
	BrowseOnly       bool
	RequiresResponse bool
	Priority         int32 // opt, from version 130; default 0
}

func (*CreateConsumer) Type() Type { return TypeCreateConsumer }
func (p *CreateConsumer) decode(r *buf.Reader, _ Version) {
	p.ConsumerID = r.Int64()
	p.QueueName = r.SS()
	p.Filter = r.NSS()
	p.BrowseOnly = r.Bool()
	p.RequiresResponse = r.Bool()
	if r.Len() > 0 {
		p.Priority = r.Int32()
	}
}
func (p *CreateConsumer) encode(dst []byte, v Version) []byte {
	dst = buf.AppendInt64(dst, p.ConsumerID)
	dst = buf.AppendSS(dst, p.QueueName)
	dst = buf.AppendNSS(dst, p.Filter)
	dst = buf.AppendBool(dst, p.BrowseOnly)
	dst = buf.AppendBool(dst, p.RequiresResponse)
	if v.ConsumerPriority() {
		dst = buf.AppendInt32(dst, p.Priority)
	}
	return dst
}

// ConsumerClose closes a consumer.
type ConsumerClose struct {
	ConsumerID int64
}

func (*ConsumerClose) Type() Type                        { return TypeConsumerClose }
func (p *ConsumerClose) decode(r *buf.Reader, _ Version) { p.ConsumerID = r.Int64() }
func (p *ConsumerClose) encode(dst []byte, _ Version) []byte {
	return buf.AppendInt64(dst, p.ConsumerID)
}

// DisconnectConsumer tells that the consumer's queue is gone.
type DisconnectConsumer struct {
	ConsumerID int64
}

func (*DisconnectConsumer) Type() Type                        { return TypeDisconnectConsumer }
func (p *DisconnectConsumer) decode(r *buf.Reader, _ Version) { p.ConsumerID = r.Int64() }
func (p *DisconnectConsumer) encode(dst []byte, _ Version) []byte {
	return buf.AppendInt64(dst, p.ConsumerID)
}

// DisconnectConsumerKill tells that a slow consumer was killed.
type DisconnectConsumerKill struct {
	NodeID buf.Null[string] // SS
}

func (*DisconnectConsumerKill) Type() Type                        { return TypeDisconnectConsumerKill }
func (p *DisconnectConsumerKill) decode(r *buf.Reader, _ Version) { p.NodeID = r.NSS() }
func (p *DisconnectConsumerKill) encode(dst []byte, _ Version) []byte {
	return buf.AppendNSS(dst, p.NodeID)
}

// Acknowledge acknowledges a message and, unless Individual, all that the
// consumer got before it.
type Acknowledge struct {
	Individual       bool // SESS_INDIVIDUAL_ACKNOWLEDGE
	ConsumerID       int64
	MessageID        int64
	RequiresResponse bool
}

func (p *Acknowledge) Type() Type {
	if p.Individual {
		return TypeIndividualAcknowledge
	}
	return TypeAcknowledge
}
func (p *Acknowledge) decode(r *buf.Reader, _ Version) {
	p.ConsumerID = r.Int64()
	p.MessageID = r.Int64()
	p.RequiresResponse = r.Bool()
}
func (p *Acknowledge) encode(dst []byte, _ Version) []byte {
	dst = buf.AppendInt64(dst, p.ConsumerID)
	dst = buf.AppendInt64(dst, p.MessageID)
	return buf.AppendBool(dst, p.RequiresResponse)
}

// Decode reads the payload; Individual is the caller's to set. It does not allocate.
func (p *Acknowledge) Decode(payload []byte) error {
	r := buf.NewReader(payload)
	p.decode(&r, 0)
	return finish(&r, TypeAcknowledge)
}

// Append appends the whole frame. It does not allocate.
func (p *Acknowledge) Append(dst []byte, channel int64) []byte {
	return p.encode(appendHeader(dst, p.Type(), channel, 17), 0)
}

// Expired tells that the consumer found the message expired.
type Expired struct {
	ConsumerID int64
	MessageID  int64
}

func (*Expired) Type() Type { return TypeExpired }
func (p *Expired) decode(r *buf.Reader, _ Version) {
	p.ConsumerID = r.Int64()
	p.MessageID = r.Int64()
}
func (p *Expired) encode(dst []byte, _ Version) []byte {
	return buf.AppendInt64(buf.AppendInt64(dst, p.ConsumerID), p.MessageID)
}

// FlowToken gives a consumer credits in bytes: -1 without limit and for good,
// 0 sets to zero, n adds.
type FlowToken struct {
	ConsumerID int64
	Credits    int32
}

func (*FlowToken) Type() Type { return TypeFlowToken }
func (p *FlowToken) decode(r *buf.Reader, _ Version) {
	p.ConsumerID = r.Int64()
	p.Credits = r.Int32()
}
func (p *FlowToken) encode(dst []byte, _ Version) []byte {
	return buf.AppendInt32(buf.AppendInt64(dst, p.ConsumerID), p.Credits)
}

// Decode reads the payload. It does not allocate.
func (p *FlowToken) Decode(payload []byte) error {
	r := buf.NewReader(payload)
	p.decode(&r, 0)
	return finish(&r, TypeFlowToken)
}

// Append appends the whole frame. It does not allocate.
func (p *FlowToken) Append(dst []byte, channel int64) []byte {
	return p.encode(appendHeader(dst, TypeFlowToken, channel, 12), 0)
}

// ForcedDeliveryKey is the property that tells the answer to ForceDelivery
// from a message: a long, the sequence.
const ForcedDeliveryKey = "_hornetq.forced.delivery.seq"

// ForceDelivery asks for a message with ForcedDeliveryKey once all that the
// consumer can get has been sent.
type ForceDelivery struct {
	ConsumerID int64
	Sequence   int64
}

func (*ForceDelivery) Type() Type { return TypeForceDelivery }
func (p *ForceDelivery) decode(r *buf.Reader, _ Version) {
	p.ConsumerID = r.Int64()
	p.Sequence = r.Int64()
}
func (p *ForceDelivery) encode(dst []byte, _ Version) []byte {
	return buf.AppendInt64(buf.AppendInt64(dst, p.ConsumerID), p.Sequence)
}

// Commit commits the session's transaction. The correlation id is there from
// version 132 on, in a blocking call only.
type Commit struct {
	CorrelationID buf.Null[int64] // opt
}

func (*Commit) Type() Type                        { return TypeCommit }
func (p *Commit) decode(r *buf.Reader, _ Version) { p.CorrelationID = optCorrelation(r) }
func (p *Commit) encode(dst []byte, _ Version) []byte {
	return appendOptCorrelation(dst, p.CorrelationID)
}

// Decode reads the payload. It does not allocate.
func (p *Commit) Decode(payload []byte) error {
	r := buf.NewReader(payload)
	p.decode(&r, 0)
	return finish(&r, TypeCommit)
}

// Append appends the whole frame. It does not allocate.
func (p *Commit) Append(dst []byte, channel int64) []byte {
	dst, at := begin(dst, TypeCommit, channel)
	return end(p.encode(dst, 0), at)
}

// Rollback rolls the session's transaction back.
type Rollback struct {
	ConsiderLastMessageAsDelivered bool
}

func (*Rollback) Type() Type { return TypeRollback }
func (p *Rollback) decode(r *buf.Reader, _ Version) {
	p.ConsiderLastMessageAsDelivered = r.Bool()
}
func (p *Rollback) encode(dst []byte, _ Version) []byte {
	return buf.AppendBool(dst, p.ConsiderLastMessageAsDelivered)
}
