package message

import (
	"encoding/binary"
	"fmt"

	"github.com/saranga-mq/saranga/wire/buf"
)

// Builder describes a Core message to be encoded: one made by the broker, or a changed copy of another (Edit).
//
// A Builder that came from an AMQP message builds an AMQP message, with the body and the application properties of the
// first: UserID, Type and Body do not count then. Its properties are the broker's (amqp §5.1, §5.4), under their Core
// names: extra properties, and the annotations for routing type, scheduled and ingress time.
type Builder struct {
	Address    *string // nil: none
	UserID     []byte  // 16 bytes, or nil
	Type       Type
	Durable    bool
	Expiration int64
	Timestamp  int64
	Priority   uint8
	Body       []byte // not for large messages

	isLarge bool
	large   Body
	amqp    *Message // the AMQP message that is copied
	props   []byte   // encoded entries, without the count
	count   int
}

// New returns a Builder of a message with the default priority.
func New(address string, t Type) *Builder {
	return &Builder{Address: &address, Type: t, Priority: 4}
}

// Edit returns a Builder that would build a copy of m: same body, header and properties, without an id. The Builder
// borrows m's bytes: Build it while m is held. The copy of a large message needs a body file of its own: one with the
// bytes of m's, given by SetLarge here or on the copy.
func (m *Message) Edit() *Builder {
	b := &Builder{Durable: m.durable, Expiration: m.expiration, Timestamp: m.timestamp, Priority: m.priority, isLarge: m.isLarge}
	p := m.Properties()
	entries := p.Entries()
	b.count, b.props = p.Len(), entries[:len(entries):len(entries)] // appending copies
	if m.encoding == AMQP {
		address := m.Address()
		b.Address, b.amqp = &address, m
		b.liftAnnotations(m)
		return b
	}
	b.UserID, b.Type, b.Body = m.UserID(), m.kind, m.Body()
	if m.RawAddress() != nil {
		address := m.Address()
		b.Address = &address
	}
	return b
}

// SetLarge makes the message a large one with that body, which the built message owns; Build leaves it with the caller
// when it fails.
func (b *Builder) SetLarge(body Body) { b.isLarge, b.large = true, body }

// Remove takes away all properties for which drop is true, and reports whether there was one.
func (b *Builder) Remove(drop func(name string) bool) bool {
	return b.remove(func(key []byte) bool { return drop(buf.StringFromSS(key)) })
}

func (b *Builder) remove(drop func(key []byte) bool) bool {
	var kept []byte
	n := 0
	b.each(func(key []byte, value buf.Value) {
		if !drop(key) {
			kept = buf.AppendProp(kept, key, value)
			n++
		}
	})
	if n == b.count {
		return false
	}
	b.props, b.count = kept, n
	return true
}

// Set adds a property or replaces it; either way it is the last one. Values: nil, bool, int8, []byte, int16, int32, int,
// int64, float32, float64, string, uint16 (a character). Another type is a mistake of the caller and panics.
func (b *Builder) Set(name string, value any) {
	b.remove(func(key []byte) bool { return buf.EqualSS(key, name) })
	b.props = appendProperty(b.props, name, value)
	b.count++
}

// Get returns a property, null when it is absent.
func (b *Builder) Get(name string) buf.Value {
	var found buf.Value
	b.each(func(key []byte, value buf.Value) {
		if buf.EqualSS(key, name) {
			found = value
		}
	})
	return found
}

func (b *Builder) each(visit func(key []byte, value buf.Value)) {
	r := buf.NewReader(b.props)
	for range b.count {
		key := r.SSBytes()
		visit(key, r.Value())
	}
}

func appendProperty(dst []byte, name string, value any) []byte {
	switch v := value.(type) {
	case nil:
		return buf.AppendPropNull(dst, name)
	case bool:
		return buf.AppendPropBool(dst, name, v)
	case int8:
		return buf.AppendPropByte(dst, name, v)
	case []byte:
		return buf.AppendPropBytes(dst, name, v)
	case int16:
		return buf.AppendPropShort(dst, name, v)
	case int32:
		return buf.AppendPropInt(dst, name, v)
	case int:
		return buf.AppendPropLong(dst, name, int64(v))
	case int64:
		return buf.AppendPropLong(dst, name, v)
	case float32:
		return buf.AppendPropFloat(dst, name, v)
	case float64:
		return buf.AppendPropDouble(dst, name, v)
	case string:
		return buf.AppendPropString(dst, name, v)
	case uint16:
		return buf.AppendPropChar(dst, name, v)
	}
	panic(fmt.Sprintf("message: a property cannot hold a %T", value))
}

// AppendTo appends the MSG block of a Core message.
func (b *Builder) AppendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(bodyOffset+len(b.Body)))
	dst = append(dst, b.Body...)
	return b.AppendHeaders(dst)
}

// AppendHeaders appends the HEADERS block, which is what a large Core message is sent with.
func (b *Builder) AppendHeaders(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, 0)
	if b.Address == nil {
		dst = append(dst, 0)
	} else {
		dst = buf.AppendSS(append(dst, 1), *b.Address)
	}
	if len(b.UserID) == 16 {
		dst = append(append(dst, 1), b.UserID...)
	} else {
		dst = append(dst, 0)
	}
	dst = append(dst, byte(b.Type))
	dst = buf.AppendBool01(dst, b.Durable)
	dst = binary.BigEndian.AppendUint64(dst, uint64(b.Expiration))
	dst = binary.BigEndian.AppendUint64(dst, uint64(b.Timestamp))
	dst = append(dst, b.Priority)
	return append(buf.AppendPropsHeader(dst, b.count), b.props...)
}

// size is at least the length of the MSG block, and equal to it unless the address has characters beyond ASCII.
func (b *Builder) size() int {
	n := 4 + len(b.Body) + 8 + 1 + 1 + 1 + 1 + 8 + 8 + 1 + 5 + len(b.props)
	if b.Address != nil {
		n += 4 + 2*len(*b.Address)
	}
	if b.UserID != nil {
		n += 16
	}
	return n
}

// Build encodes the message into memory of the pool.
func (p *Pool) Build(b *Builder) (*Message, error) {
	switch {
	case b.amqp != nil:
		return p.buildAMQP(b)
	case b.isLarge:
		return p.NewCoreLarge(b.AppendHeaders(nil), b.large)
	}
	m := p.get(b.size())
	m.buf = b.AppendTo(m.buf[:0])
	if err := m.parseCore(); err != nil {
		m.Release()
		return nil, err
	}
	return m, nil
}

// AppendText appends the body of a text message: a nullable UTF-16LE string.
func AppendText(dst []byte, s string) []byte { return buf.AppendSS(append(dst, 1), s) }

// TextBody decodes the body of a text message; false when it holds null or is none.
func (m *Message) TextBody() (string, bool) {
	r := buf.NewReader(m.Body())
	text := r.NSS()
	return text.V, text.Valid && r.Err() == nil
}
