package message

import (
	"encoding/binary"
	"strings"

	"github.com/saranga-mq/saranga/wire/buf"
)

// bodyOffset is what endOfBody is above the body's length: the size of a Core packet header.
const bodyOffset = 13

// Property names that mean something to the broker.
const (
	PropRoutingType     = "_AMQ_ROUTING_TYPE"
	PropGroupID         = "_AMQ_GROUP_ID"
	PropGroupSequence   = "_AMQ_GROUP_SEQUENCE"
	PropDuplicateID     = "_AMQ_DUPL_ID"
	PropBridgeDuplicate = "_AMQ_BRIDGE_DUP"
	PropScheduled       = "_AMQ_SCHED_DELIVERY"
	PropLastValue       = "_AMQ_LVQ_NAME"
	PropValidatedUser   = "_AMQ_VALIDATED_USER"
	PropIngressTime     = "_AMQ_INGRESS_TIMESTAMP"
	PropLargeSize       = "_AMQ_LARGE_SIZE"
	PropCompressed      = "_AMQ_LARGE_COMPRESSED"
	PropOrigAddress     = "_AMQ_ORIG_ADDRESS"
	PropOrigQueue       = "_AMQ_ORIG_QUEUE"
	PropOrigMessageID   = "_AMQ_ORIG_MESSAGE_ID"
	PropOrigRoutingType = "_AMQ_ORIG_ROUTING_TYPE"
	PropActualExpiry    = "_AMQ_ACTUAL_EXPIRY"
	PropNativeID        = "NATIVE_MESSAGE_ID"
	PropRouteTo         = "_AMQ_ROUTE_TO"     // bytes: the ids of the queues that a message is for, i64 each
	PropAckRouteTo      = "_AMQ_ACK_ROUTE_TO" // bytes: those of them that have acknowledged it
	prefixOrig          = "_AMQ_ORIG_"
)

// parseCore checks the whole block in m.buf and fills in the header fields.
func (m *Message) parseCore() error {
	b := m.buf
	if len(b) < 4 {
		return malformed("block of %d bytes", len(b))
	}
	end := int64(int32(binary.BigEndian.Uint32(b))) - bodyOffset + 4
	if end < 4 || end > int64(len(b)) {
		return malformed("end of body %d in a block of %d bytes", end, len(b))
	}
	m.encoding, m.routing, m.special, m.scheduled = Core, Unspecified, 0, 0
	m.hdr = int32(end)
	h := b[end:]
	if len(h) < 9 {
		return malformed("header of %d bytes", len(h))
	}
	m.id = int64(binary.BigEndian.Uint64(h))
	at := 9
	if h[8] != 0 {
		if at = blockEnd(h, at); at < 0 || at&1 == 0 { // 9 + 4 + an even length
			return malformed("address")
		}
	}
	if at < len(h) && h[at] != 0 {
		at += 16 // user id
	}
	at++
	const fixed = 1 + 1 + 8 + 8 + 1
	if len(h)-at <= fixed {
		return malformed("header of %d bytes", len(h))
	}
	m.kind = Type(h[at])
	m.durable = h[at+1] != 0
	m.expiration = int64(binary.BigEndian.Uint64(h[at+2:]))
	m.timestamp = int64(binary.BigEndian.Uint64(h[at+10:]))
	m.priority = min(h[at+18], 9)
	m.props = int32(end) + int32(at+fixed)
	return m.scanProperties(h[at+fixed:])
}

// blockEnd returns where the block ends whose i32 length is at b[at], -1 when it is not in b.
func blockEnd(b []byte, at int) int {
	if len(b)-at < 4 {
		return -1
	}
	n := int(int32(binary.BigEndian.Uint32(b[at:])))
	if at += 4; n < 0 || n > len(b)-at {
		return -1
	}
	return at + n
}

// valueSizes holds the size of a property value by its type: -1 for a block, -2 for no type.
var valueSizes = [...]int8{buf.TypeNull: 0, 1: -2, buf.TypeBool: 1, buf.TypeByte: 1, buf.TypeBytes: -1, buf.TypeShort: 2,
	buf.TypeInt: 4, buf.TypeLong: 8, buf.TypeFloat: 4, buf.TypeDouble: 8, buf.TypeString: -1, buf.TypeChar: 2}

// scanProperties walks the encoded property map, which is the rest of the block, once, checks it, and notes the special
// ones. It does so by hand because each message that comes in pays for it (BenchmarkNewCore).
func (m *Message) scanProperties(b []byte) error {
	at, n := 1, 0
	if b[0] != 0 {
		if len(b) < 5 {
			return malformed("properties of %d bytes", len(b))
		}
		at, n = 5, int(int32(binary.BigEndian.Uint32(b[1:])))
		if n < 0 {
			return malformed("%d properties", n)
		}
	}
	for ; n > 0; n-- {
		kind := blockEnd(b, at)
		if kind < 0 || kind == len(b) || (kind-at)&1 != 0 {
			return malformed("property name")
		}
		key := b[at+4 : kind]
		t := b[kind]
		if int(t) >= len(valueSizes) || valueSizes[t] == -2 {
			return malformed("property type %d", t)
		}
		if size := int(valueSizes[t]); size >= 0 {
			at = kind + 1 + size
		} else {
			at = blockEnd(b, kind+1)
		}
		if at < 0 || at > len(b) || buf.Type(t) == buf.TypeString && (at-kind)&1 == 0 {
			return malformed("property value of type %d", t)
		}
		if len(key) > 10 && binary.LittleEndian.Uint64(key) == amqPrefix && key[8] == '_' && key[9] == 0 {
			r := buf.NewReader(b[kind:at])
			m.noteSpecial(key, r.Value())
		}
	}
	if at != len(b) {
		return malformed("%d bytes after the properties", len(b)-at)
	}
	return nil
}

// amqPrefix is "_AMQ" in UTF-16LE.
const amqPrefix = uint64('_') | uint64('A')<<16 | uint64('M')<<32 | uint64('Q')<<48

// units is a name as it stands in a block, to compare with.
func units(name string) string { return string(buf.AppendSSUnits(nil, name)) }

var (
	unitsRoutingType     = units(PropRoutingType)
	unitsScheduled       = units(PropScheduled)
	unitsGroupID         = units(PropGroupID)
	unitsDuplicateID     = units(PropDuplicateID)
	unitsLastValue       = units(PropLastValue)
	unitsBridgeDuplicate = units(PropBridgeDuplicate)
	unitsValidatedUser   = units(PropValidatedUser)
	unitsRouteTo         = units(PropRouteTo)
	unitsAckRouteTo      = units(PropAckRouteTo)
	unitsOrig            = units(prefixOrig)
)

func (m *Message) noteSpecial(key []byte, value buf.Value) {
	switch {
	case string(key) == unitsRoutingType:
		if n, ok := value.Int64(); ok && value.Type == buf.TypeByte && (n == int64(Multicast) || n == int64(Anycast)) {
			m.routing = RoutingType(n)
		}
	case string(key) == unitsScheduled:
		if at, ok := value.Int64(); ok && at > 0 {
			m.scheduled = at
			m.special |= HasScheduled
		}
	case string(key) == unitsGroupID:
		m.special |= HasGroupID
	case string(key) == unitsDuplicateID:
		if value.Type == buf.TypeBytes || value.Type == buf.TypeString {
			m.special |= HasDuplicateID
		}
	case string(key) == unitsLastValue:
		m.special |= HasLastValue
	case string(key) == unitsBridgeDuplicate:
		m.special |= HasBridgeDupID
	case string(key) == unitsValidatedUser:
		m.special |= HasValidatedUsr
	case string(key) == unitsRouteTo, extends(key, unitsRouteTo), string(key) == unitsAckRouteTo, extends(key, unitsAckRouteTo):
		m.special |= HasInternal
	case extends(key, unitsOrig):
		m.special |= HasOrigMessage
	}
}

// extends tells whether a name begins with prefix and is longer.
func extends(key []byte, prefix string) bool {
	return len(key) > len(prefix) && string(key[:len(prefix)]) == prefix
}

// IsInternalProperty tells whether a property is what a cluster adds to the names of PropRouteTo and PropAckRouteTo: routing
// removes it when a client set it.
func IsInternalProperty(name string) bool {
	return strings.HasPrefix(name, PropRouteTo) && len(name) > len(PropRouteTo) ||
		strings.HasPrefix(name, PropAckRouteTo) && len(name) > len(PropAckRouteTo)
}

// Block returns the MSG block of a Core message. It must not be changed.
func (m *Message) Block() []byte { return m.buf }

// Headers returns the HEADERS part of a Core message.
func (m *Message) Headers() []byte { return m.buf[m.hdr:] }

// Body returns the body of a Core message that is not large.
func (m *Message) Body() []byte {
	if m.encoding != Core {
		return nil
	}
	return m.buf[4:m.hdr]
}

// RawAddress returns the address of a Core message as UTF-16LE, nil when it has none.
func (m *Message) RawAddress() []byte {
	if m.encoding != Core {
		return nil
	}
	p := m.hdr + 8
	if m.buf[p] == 0 {
		return nil
	}
	n := int32(binary.BigEndian.Uint32(m.buf[p+1:]))
	return m.buf[p+5 : p+5+n]
}

// UserID returns the 16 bytes of the user id (the JMS message id), nil when there is none.
func (m *Message) UserID() []byte {
	if m.encoding != Core {
		return nil
	}
	p := m.hdr + 8
	if m.buf[p] != 0 {
		p += 4 + int32(binary.BigEndian.Uint32(m.buf[p+1:]))
	}
	if p++; m.buf[p] == 0 {
		return nil
	}
	return m.buf[p+1 : p+17]
}

// Properties returns an iterator over the property map of a Core message; for an AMQP message over the broker's extra
// properties.
func (m *Message) Properties() buf.Props {
	if m.encoding != Core {
		return m.amqp.extra
	}
	r := buf.NewReader(m.buf[m.props:])
	return r.Props()
}

// Property returns the value of a property, null when it is absent. In an AMQP message m.x is message annotation x, and
// else a name is looked up as JMS has it for fields of the properties section (JMSType, JMSXGroupID, …), among the
// application properties and among the broker's extra properties; values come as the Core type that takes them, unsigned
// numbers as long, and those that no Core type takes are absent.
func (m *Message) Property(name string) buf.Value {
	v, _ := m.find(name)
	return v
}

// HasProperty tells whether a property is present, be it null.
func (m *Message) HasProperty(name string) bool {
	_, ok := m.find(name)
	return ok
}

func (m *Message) find(name string) (buf.Value, bool) {
	if m.encoding != Core {
		return m.amqp.find(name)
	}
	return m.Properties().Find(name)
}

// GroupID returns the message's group as raw key bytes, nil when it has none.
func (m *Message) GroupID() []byte {
	if !m.Has(HasGroupID) {
		return nil
	}
	return m.Property(PropGroupID).Raw()
}

// DuplicateID returns the bytes that identify the message for duplicate detection: a bytes value as it is, a string's
// UTF-16LE. Nil when there is none.
func (m *Message) DuplicateID() []byte {
	if !m.Has(HasDuplicateID) {
		return nil
	}
	return m.Property(PropDuplicateID).Raw()
}
