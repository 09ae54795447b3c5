package message

import (
	"encoding/binary"

	"github.com/saranga-mq/saranga/wire/buf"
)

// Record types of the messages journal that hold a message.
const (
	RecordLargeMessage = 30 // HEADERS of a large Core message
	RecordMessage      = 45 // persister byte and what that persister wrote
)

// Persisters: the first byte of a record 45, and of a message in a page that is not a large Core one.
const (
	persisterCore   = 1 // i64 id, nSS address, block MSG; the outer id and address win over those in MSG
	persisterAMQP   = 2 // see amqp.go
	persisterAMQPv2 = 3 // adds extra properties
	persisterLarge  = 4 // large AMQP message
	persisterAMQPv3 = 5 // adds expiration
)

// RecordType is the user type of the journal record that holds the message.
func (m *Message) RecordType() byte {
	if m.isLarge && m.encoding == Core {
		return RecordLargeMessage
	}
	return RecordMessage
}

// RecordSize is the size of the record's payload in bytes.
func (m *Message) RecordSize() int {
	switch {
	case m.encoding != Core:
		return len(m.buf)
	case m.isLarge:
		return len(m.buf) - int(m.hdr)
	}
	return 1 + 8 + 1 + len(m.addressBlock()) + 4 + len(m.buf)
}

// AppendRecord appends the payload of the message's journal record (journal §5.2–5.5).
func (m *Message) AppendRecord(dst []byte) []byte {
	switch {
	case m.encoding != Core:
		return append(dst, m.buf...)
	case m.isLarge:
		return append(dst, m.buf[m.hdr:]...)
	}
	dst = append(dst, persisterCore)
	dst = binary.BigEndian.AppendUint64(dst, uint64(m.id))
	if a := m.addressBlock(); a == nil {
		dst = append(dst, 0)
	} else {
		dst = append(append(dst, 1), a...)
	}
	return buf.AppendBlock(dst, m.buf)
}

// addressBlock is the address of a Core message with its length in front, nil when there is none.
func (m *Message) addressBlock() []byte {
	p := m.hdr + 8
	if m.buf[p] == 0 {
		return nil
	}
	n := int32(binary.BigEndian.Uint32(m.buf[p+1:]))
	return m.buf[p+1 : p+5+n]
}

// FromRecord reads a message from the payload of a journal record, which it copies. A large message has its Body set by
// the caller.
func (p *Pool) FromRecord(recordType byte, payload []byte) (*Message, error) {
	switch {
	case recordType == RecordLargeMessage:
		return p.NewCoreLarge(payload, nil)
	case recordType != RecordMessage || len(payload) == 0:
		return nil, malformed("record type %d of %d bytes", recordType, len(payload))
	case payload[0] != persisterCore:
		return p.newAMQP(payload)
	}
	r := buf.NewReader(payload[1:])
	id := r.Int64()
	address := r.NSSBytes()
	block := r.Block()
	if r.Err() != nil {
		return nil, malformed("record: %v", r.Err())
	}
	if r.Len() != 0 {
		return nil, malformed("%d bytes after the message", r.Len())
	}
	m, err := p.NewCore(block)
	if err != nil {
		return nil, err
	}
	if inner := m.RawAddress(); string(address) != string(inner) || (address == nil) != (inner == nil) {
		c := m.Edit()
		c.Address = nil
		if address != nil {
			text := buf.StringFromSS(address)
			c.Address = &text
		}
		changed, err := p.Build(c)
		m.Release()
		if err != nil {
			return nil, err
		}
		m = changed
	}
	m.SetID(id)
	return m, nil
}

// SplitRecord cuts the payload of a record 45 off the front of b. In pages a message has no length of its own.
func SplitRecord(b []byte) (payload, rest []byte, err error) {
	r := buf.NewReader(b)
	switch persister := r.Uint8(); persister {
	case persisterCore:
		r.Skip(8)
		r.NSSBytes()
		r.Block()
	case persisterAMQP, persisterAMQPv2, persisterAMQPv3:
		r.Skip(8 + 8)
		r.NSSBytes()
		r.Block()
		if persister >= persisterAMQPv2 {
			r.Block()
		}
		if persister == persisterAMQPv3 {
			r.Skip(8)
		}
	case persisterLarge:
		r.Skip(8 + 1 + 8)
		r.NSSBytes()
		r.Block()
		var saved savedSections
		saved.read(&r)
		r.Skip(8 + 1)
	default:
		return nil, nil, malformed("persister %d", persister)
	}
	if r.Err() != nil {
		return nil, nil, malformed("record: %v", r.Err())
	}
	return b[:r.Offset():r.Offset()], r.Rest(), nil
}
