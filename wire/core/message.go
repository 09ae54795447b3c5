package core

import (
	"encoding/binary"
	"fmt"

	"github.com/saranga-mq/saranga/wire/buf"
)

// Offsets that the integers in front of and behind a body count from.
const (
	bodyBase    = HeaderSize     // 2.x: endOfBody - 13 = length of body
	bodyBase1   = HeaderSize + 4 // 1.x: endOfBody - 17 = length of body
	receiveTail = 12             // i64 consumerID, i32 deliveryCount
)

// SplitMessage returns the body and the HEADERS of a MSG in the form of v.
func SplitMessage(msg []byte, v Version) (body, headers []byte, err error) {
	base := bodyBase
	if v.BeforeAddressChange() {
		base = bodyBase1
	}
	r := buf.NewReader(msg)
	end := int(r.Int32())
	body = r.Bytes(end - base)
	if v.BeforeAddressChange() {
		if endOfMessage := int(r.Int32()); r.Err() == nil && endOfMessage != bodyBase+len(msg) {
			r.Fail(fmt.Sprintf("end of message %d in %d bytes", endOfMessage, len(msg)))
		}
	}
	headers = r.Rest()
	if r.Err() == nil && len(headers) == 0 {
		r.Fail("no headers")
	}
	if err := r.Err(); err != nil {
		return nil, nil, fmt.Errorf("core: split message: %w", err)
	}
	return body, headers, nil
}

// AppendMessage appends the MSG of a body and HEADERS in the form of v.
func AppendMessage(dst, body, headers []byte, v Version) []byte {
	if !v.BeforeAddressChange() {
		dst = append(buf.AppendInt32(dst, int32(bodyBase+len(body))), body...)
		return append(dst, headers...)
	}
	dst = append(buf.AppendInt32(dst, int32(bodyBase1+len(body))), body...)
	dst = buf.AppendInt32(dst, int32(bodyBase1+len(body)+4+len(headers)))
	return append(dst, headers...)
}

// Send is a regular message on its way to the server.
type Send struct {
	Message          []byte // MSG in the form of the connection's version; view
	RequiresResponse bool
	CorrelationID    int64 // from version 130
	SenderID         int32 // from version 134; 0: none
}

func (*Send) Type() Type { return TypeSend }

// sendTail returns the size of what follows a sent message.
func sendTail(v Version) int {
	switch {
	case v.BeforeAsyncResponseChange():
		return 1
	case v.BeforeProducerMetrics():
		return 1 + 8
	}
	return 1 + 8 + 4
}

func (p *Send) decode(r *buf.Reader, v Version) {
	p.Message = r.Bytes(r.Len() - sendTail(v))
	if r.Err() == nil {
		checkMessage(r, p.Message, v)
	}
	p.RequiresResponse, p.CorrelationID, p.SenderID = readSendTail(r, v)
}
func (p *Send) encode(dst []byte, v Version) []byte {
	return appendSendTail(append(dst, p.Message...), p.RequiresResponse, p.CorrelationID, p.SenderID, v)
}

// checkMessage fails r when the body of msg does not lie in it.
func checkMessage(r *buf.Reader, msg []byte, v Version) {
	base := bodyBase
	if v.BeforeAddressChange() {
		base = bodyBase1
	}
	if len(msg) < 4 {
		r.Fail("message without end of body")
		return
	}
	if n := int(int32(binary.BigEndian.Uint32(msg))) - base; n < 0 || n >= len(msg)-4 {
		r.Fail(fmt.Sprintf("body of %d bytes in a message of %d", n, len(msg)))
	}
}

func readSendTail(r *buf.Reader, v Version) (requiresResponse bool, correlation int64, sender int32) {
	requiresResponse = r.Bool()
	if !v.BeforeAsyncResponseChange() {
		correlation = r.Int64()
	}
	if !v.BeforeProducerMetrics() {
		sender = r.Int32()
	}
	return requiresResponse, correlation, sender
}

func appendSendTail(dst []byte, requiresResponse bool, correlation int64, sender int32, v Version) []byte {
	dst = buf.AppendBool(dst, requiresResponse)
	if !v.BeforeAsyncResponseChange() {
		dst = buf.AppendInt64(dst, correlation)
	}
	if !v.BeforeProducerMetrics() {
		dst = buf.AppendInt32(dst, sender)
	}
	return dst
}

// Decode reads the payload. It does not allocate. It checks that the body lies
// in the message, not what the body and the headers hold.
func (p *Send) Decode(payload []byte, v Version) error {
	if n := len(payload) - sendTail(currentTail); v >= currentTail && bodyFits(payload, n) { // the common case without a Reader
		tail := payload[n:]
		p.Message, p.RequiresResponse = payload[:n:n], tail[0] != 0
		p.CorrelationID, p.SenderID = int64(binary.BigEndian.Uint64(tail[1:])), int32(binary.BigEndian.Uint32(tail[9:]))
		return nil
	}
	r := buf.NewReader(payload)
	p.decode(&r, v)
	return finish(&r, TypeSend)
}

// currentTail is the first version whose sends end as current ones do.
const currentTail Version = 134

// bodyFits reports whether the first n bytes of b are a 2.x MSG whose body
// lies in it, with headers behind.
func bodyFits(b []byte, n int) bool {
	if n < 4 {
		return false
	}
	body := int(int32(binary.BigEndian.Uint32(b))) - bodyBase
	return body >= 0 && body < n-4
}

// Append appends the whole frame. It does not allocate.
func (p *Send) Append(dst []byte, channel int64, v Version) []byte {
	return p.encode(appendHeader(dst, TypeSend, channel, len(p.Message)+sendTail(v)), v)
}

// SendFrameSize returns the size in bytes of the SESS_SEND frame of a MSG of size bytes.
func SendFrameSize(size int, v Version) int { return HeaderSize + size + sendTail(v) }

// AppendSendHeader begins a SESS_SEND frame whose MSG of size bytes the caller
// appends, and then AppendSendTail.
func AppendSendHeader(dst []byte, channel int64, size int, v Version) []byte {
	return appendHeader(dst, TypeSend, channel, size+sendTail(v))
}

// AppendSendTail ends a frame begun with AppendSendHeader.
func AppendSendTail(dst []byte, requiresResponse bool, correlation int64, sender int32, v Version) []byte {
	return appendSendTail(dst, requiresResponse, correlation, sender, v)
}

// SendLarge begins a large message, whose body follows in SendContinuation.
type SendLarge struct {
	Headers []byte // HEADERS; view
}

func (*SendLarge) Type() Type { return TypeSendLarge }
func (p *SendLarge) decode(r *buf.Reader, _ Version) {
	p.Headers = r.Bytes(r.Len())
}
func (p *SendLarge) encode(dst []byte, _ Version) []byte { return append(dst, p.Headers...) }

// SendContinuation is a chunk of a large message's body.
type SendContinuation struct {
	Body             []byte // block; view
	Continues        bool   // false in the last chunk
	MessageBodySize  int64  // in the last chunk only: bytes before compression, -1: not known
	RequiresResponse bool   // in every chunk, as are the next two
	CorrelationID    int64  // from version 130
	SenderID         int32  // from version 134
}

func (*SendContinuation) Type() Type { return TypeSendContinuation }
func (p *SendContinuation) decode(r *buf.Reader, v Version) {
	p.Body = r.Block()
	p.Continues = r.Bool()
	if !p.Continues {
		p.MessageBodySize = r.Int64()
	}
	p.RequiresResponse, p.CorrelationID, p.SenderID = readSendTail(r, v)
}
func (p *SendContinuation) encode(dst []byte, v Version) []byte {
	dst = buf.AppendBlock(dst, p.Body)
	dst = buf.AppendBool(dst, p.Continues)
	if !p.Continues {
		dst = buf.AppendInt64(dst, p.MessageBodySize)
	}
	return appendSendTail(dst, p.RequiresResponse, p.CorrelationID, p.SenderID, v)
}

// FrameSize returns the size in bytes of the whole frame.
func (p *SendContinuation) FrameSize(v Version) int {
	n := HeaderSize + 4 + len(p.Body) + 1 + sendTail(v)
	if !p.Continues {
		n += 8
	}
	return n
}

// Decode reads the payload. It does not allocate.
func (p *SendContinuation) Decode(payload []byte, v Version) error {
	r := buf.NewReader(payload)
	p.decode(&r, v)
	return finish(&r, TypeSendContinuation)
}

// Append appends the whole frame. It does not allocate.
func (p *SendContinuation) Append(dst []byte, channel int64, v Version) []byte {
	dst, at := begin(dst, TypeSendContinuation, channel)
	return end(p.encode(dst, v), at)
}

// Receive is a regular message on its way to a consumer.
type Receive struct {
	Message       []byte // MSG in the form of the connection's version; view
	ConsumerID    int64
	DeliveryCount int32 // 1 at the first delivery
}

func (*Receive) Type() Type { return TypeReceive }
func (p *Receive) decode(r *buf.Reader, v Version) {
	p.Message = r.Bytes(r.Len() - receiveTail)
	if r.Err() == nil {
		checkMessage(r, p.Message, v)
	}
	p.ConsumerID = r.Int64()
	p.DeliveryCount = r.Int32()
}
func (p *Receive) encode(dst []byte, _ Version) []byte {
	return AppendReceiveTail(append(dst, p.Message...), p.ConsumerID, p.DeliveryCount)
}

// Decode reads the payload. It does not allocate. Like Send.Decode it checks
// the place of the body only.
func (p *Receive) Decode(payload []byte, v Version) error {
	if n := len(payload) - receiveTail; !v.BeforeAddressChange() && bodyFits(payload, n) {
		tail := payload[n:]
		p.Message = payload[:n:n]
		p.ConsumerID, p.DeliveryCount = int64(binary.BigEndian.Uint64(tail)), int32(binary.BigEndian.Uint32(tail[8:]))
		return nil
	}
	r := buf.NewReader(payload)
	p.decode(&r, v)
	return finish(&r, TypeReceive)
}

// Append appends the whole frame. It does not allocate.
func (p *Receive) Append(dst []byte, channel int64) []byte {
	return p.encode(AppendReceiveHeader(dst, channel, len(p.Message)), 0)
}

// ReceiveFrameSize returns the size in bytes of the SESS_RECEIVE_MSG frame of a MSG
// of size bytes: what the delivery takes of the consumer's credits.
func ReceiveFrameSize(size int) int { return HeaderSize + size + receiveTail }

// AppendReceiveHeader begins a SESS_RECEIVE_MSG frame whose MSG of size bytes
// the caller appends, or sends from where it lies, and then AppendReceiveTail.
func AppendReceiveHeader(dst []byte, channel int64, size int) []byte {
	return appendHeader(dst, TypeReceive, channel, size+receiveTail)
}

// AppendReceiveTail ends a frame begun with AppendReceiveHeader.
func AppendReceiveTail(dst []byte, consumer int64, deliveryCount int32) []byte {
	return buf.AppendInt32(buf.AppendInt64(dst, consumer), deliveryCount)
}

// AppendReceive1x appends the whole frame of SESS_RECEIVE_MSG in the 1.x
// form, given a MSG in the 2.x form that SplitMessage takes.
func AppendReceive1x(dst []byte, channel int64, msg []byte, consumer int64, deliveryCount int32) ([]byte, error) {
	body, headers, err := SplitMessage(msg, VersionCurrent)
	if err != nil {
		return dst, err
	}
	dst, at := begin(dst, TypeReceive, channel)
	dst = AppendMessage(dst, body, headers, VersionMin)
	return end(AppendReceiveTail(dst, consumer, deliveryCount), at), nil
}

// ReceiveLarge begins the delivery of a large message, whose body follows in
// ReceiveContinuation.
type ReceiveLarge struct {
	ConsumerID    int64
	DeliveryCount int32
	Size          int64  // bytes of body that follow, compressed ones if it is compressed
	Headers       []byte // HEADERS; view
}

func (*ReceiveLarge) Type() Type { return TypeReceiveLarge }
func (p *ReceiveLarge) decode(r *buf.Reader, _ Version) {
	p.ConsumerID = r.Int64()
	p.DeliveryCount = r.Int32()
	p.Size = r.Int64()
	p.Headers = r.Bytes(r.Len())
}
func (p *ReceiveLarge) encode(dst []byte, _ Version) []byte {
	dst = buf.AppendInt64(dst, p.ConsumerID)
	dst = buf.AppendInt32(dst, p.DeliveryCount)
	dst = buf.AppendInt64(dst, p.Size)
	return append(dst, p.Headers...)
}

// Decode reads the payload. It does not allocate.
func (p *ReceiveLarge) Decode(payload []byte) error {
	r := buf.NewReader(payload)
	p.decode(&r, 0)
	return finish(&r, TypeReceiveLarge)
}

// Append appends the whole frame. It does not allocate.
func (p *ReceiveLarge) Append(dst []byte, channel int64) []byte {
	return p.encode(appendHeader(dst, TypeReceiveLarge, channel, 8+4+8+len(p.Headers)), 0)
}

// ReceiveContinuation is a chunk of a large message's body.
type ReceiveContinuation struct {
	Body       []byte // block; view
	Continues  bool   // false in the last chunk
	ConsumerID int64
}

func (*ReceiveContinuation) Type() Type { return TypeReceiveContinuation }
func (p *ReceiveContinuation) decode(r *buf.Reader, _ Version) {
	p.Body = r.Block()
	p.Continues = r.Bool()
	p.ConsumerID = r.Int64()
}
func (p *ReceiveContinuation) encode(dst []byte, _ Version) []byte {
	return AppendReceiveContinuationTail(buf.AppendBlock(dst, p.Body), p.Continues, p.ConsumerID)
}

// Decode reads the payload. It does not allocate.
func (p *ReceiveContinuation) Decode(payload []byte) error {
	r := buf.NewReader(payload)
	p.decode(&r, 0)
	return finish(&r, TypeReceiveContinuation)
}

// Append appends the whole frame. It does not allocate.
func (p *ReceiveContinuation) Append(dst []byte, channel int64) []byte {
	return p.encode(appendHeader(dst, TypeReceiveContinuation, channel, 4+len(p.Body)+1+8), 0)
}

// ReceiveContinuationFrameSize returns the size in bytes of the frame of a chunk of size bytes.
func ReceiveContinuationFrameSize(size int) int { return HeaderSize + 4 + size + 1 + 8 }

// AppendReceiveContinuationHeader begins a SESS_RECEIVE_CONTINUATION frame
// whose chunk of size bytes the caller appends, or reads from a file straight
// into dst, and then AppendReceiveContinuationTail.
func AppendReceiveContinuationHeader(dst []byte, channel int64, size int) []byte {
	dst = appendHeader(dst, TypeReceiveContinuation, channel, 4+size+1+8)
	return buf.AppendInt32(dst, int32(size))
}

// AppendReceiveContinuationTail ends a frame begun with AppendReceiveContinuationHeader.
func AppendReceiveContinuationTail(dst []byte, continues bool, consumer int64) []byte {
	return buf.AppendInt64(buf.AppendBool(dst, continues), consumer)
}
