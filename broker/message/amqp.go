package message

import (
	"strings"
	"time"

	"github.com/saranga-mq/saranga/wire/buf"
)

// An AMQP message is kept as the payload of its journal record (journal §5.3, §5.5):
//
//	i8 persister   2, 3 or 5: a message; 4: a large one
//	i64 id
//	               4: bool durable
//	i64 message format
//	nSS address
//	               2, 3, 5: block AMQP encoding as received
//	               3, 4, 5: block PROPS extra properties, empty when there are none
//	               4: the sections that stand before the body in the file, see savedSections
//	               5: i64 expiration; 4: i64 expiration, bool re-encoded, either may be missing at the end
//
// The encoding is a row of sections, described lists and maps: header, delivery annotations, message annotations,
// properties, application properties, body, footer (AMQP 1.0 part 3, 3.2). Old records may have delivery annotations in
// front of the header. Body and footer are not looked at: they may be of any message format.
//
// What the broker sets on a message of another protocol as a property is an extra property here, which is not sent over
// AMQP, or an annotation, or both (amqp §5.4).
const amqpIDOffset = 1

// Section descriptors.
const (
	sectionHeader                = 0x70
	sectionDeliveryAnnotations   = 0x71
	sectionMessageAnnotations    = 0x72
	sectionProperties            = 0x73
	sectionApplicationProperties = 0x74
	sectionData                  = 0x75
	sectionSequence              = 0x76
	sectionValue                 = 0x77
)

// Fields of the header.
const (
	headerDurable = iota
	headerPriority
	headerTTL
)

// Fields of the properties.
const (
	propMessageID = iota
	propUserID
	propTo
	propSubject
	propReplyTo
	propCorrelationID
	propContentType
	propContentEncoding
	propAbsoluteExpiry
	propCreationTime
	propGroupID
	propGroupSequence
)

// Message annotations that the broker reads or writes.
const (
	annotationDeliveryTime  = "x-opt-delivery-time"
	annotationDeliveryDelay = "x-opt-delivery-delay"
	annotationRoutingType   = "x-opt-routing-type"
	annotationJMSDest       = "x-opt-jms-dest"
	annotationJMSType       = "x-opt-jms-msg-type"
	annotationIngressTime   = "x-opt-ingress-time"
	annotationOrigPrefix    = "x-opt-ORIG"
	annotationActualExpiry  = "x-opt-ACTUAL-EXPIRY"
)

// propAddress is the extra property that holds the address of a message which was re-addressed.
const propAddress = "_AMQ_AD"

// filterAnnotations is what the name of a message annotation begins with in a filter.
const filterAnnotations = "m."

// amqpView is the decoded part of an AMQP message: views of its record, found in one pass over the sections before the
// body. It does not change, so that any goroutine may look things up in it.
type amqpView struct {
	encoding            []byte // as received; nil for a large message, which is a file
	deliveryAnnotations int    // their size in encoding
	header              amqpValue
	annotations         amqpValue
	properties          amqpValue
	application         amqpValue
	fromApplication     int // offset in encoding of the application properties, or of the body when there are none
	body                int // offset in encoding of body and footer

	persister byte
	format    []byte // i64
	address   []byte // UTF-16LE, nil for none
	extra     buf.Props
	saved     savedSections // of a large message
}

// savedSections is what the record of a large AMQP message has of its file. Positions are offsets in the file, -1 for a
// section that is not there. A section is a complete described value, or null.
//
//	i32 position and i32 size of the header, header
//	i32 position and i32 size of the delivery annotations
//	i32 position of the message annotations, message annotations
//	i32 position of the properties, properties
//	i32 position of the application properties, i32 position of the body, application properties
//
// When the sections were re-encoded those of the record count, and of the file only what stands behind them.
type savedSections struct {
	headerPosition      []byte // position and size
	header              amqpValue
	deliveryPosition    []byte // position and size
	annotationsPosition []byte
	annotations         amqpValue
	propertiesPosition  []byte
	properties          amqpValue
	bodyPosition        []byte // positions of application properties and body
	application         amqpValue
	reencoded           bool
}

func (s *savedSections) read(r *buf.Reader) {
	value := func() amqpValue { return r.Bytes(amqpSize(r.Rest(), amqpDepth)) }
	s.headerPosition = r.Bytes(4 + 4)
	s.header = value()
	s.deliveryPosition = r.Bytes(4 + 4)
	s.annotationsPosition = r.Bytes(4)
	s.annotations = value()
	s.propertiesPosition = r.Bytes(4)
	s.properties = value()
	s.bodyPosition = r.Bytes(4 + 4)
	s.application = value()
}

// newAMQP makes a message of a record, which it copies.
func (p *Pool) newAMQP(payload []byte) (*Message, error) {
	m := p.get(len(payload))
	copy(m.buf, payload)
	if err := m.parseAMQP(p.now); err != nil {
		m.Release()
		return nil, err
	}
	return m, nil
}

func (p *Pool) now() int64 {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now().UnixMilli()
}

// parseAMQP reads the record in m.buf and fills in the header fields.
func (m *Message) parseAMQP(now func() int64) error {
	v := &amqpView{}
	r := buf.NewReader(m.buf)
	v.persister = r.Uint8()
	switch v.persister {
	case persisterAMQP, persisterAMQPv2, persisterAMQPv3, persisterLarge:
	default:
		return malformed("persister %d", v.persister)
	}
	m.encoding, m.amqp, m.isLarge = AMQP, v, v.persister == persisterLarge
	m.hdr, m.props, m.special, m.scheduled, m.routing = 0, 0, 0, 0, Unspecified
	m.id = r.Int64()
	durable := m.isLarge && r.Bool()
	v.format = r.Bytes(8)
	v.address = r.NSSBytes()
	if !m.isLarge {
		v.encoding = r.Block()
	}
	if v.persister != persisterAMQP {
		extra := buf.NewReader(r.Block())
		if extra.Len() > 0 {
			v.extra = extra.Props()
		}
		if extra.Err() != nil || extra.Len() != 0 {
			return malformed("extra properties of an AMQP message")
		}
	}
	if m.isLarge {
		v.saved.read(&r)
	}
	if r.Err() != nil {
		return malformed("AMQP record: %v", r.Err())
	}
	if err := v.findSections(); err != nil {
		return err
	}
	m.readAMQPFields(now)
	switch {
	case v.persister == persisterAMQPv3:
		m.expiration = r.Int64()
	case m.isLarge:
		m.durable = durable
		if r.Len() >= 8 {
			m.expiration = r.Int64()
		}
		v.saved.reencoded = r.Len() > 0 && r.Bool()
	}
	if r.Err() != nil {
		return malformed("AMQP record: %v", r.Err())
	}
	if r.Len() != 0 {
		return malformed("%d bytes after an AMQP message", r.Len())
	}
	return nil
}

// findSections walks the sections up to the body.
func (v *amqpView) findSections() error {
	if v.encoding == nil {
		s := &v.saved
		var ok [4]bool
		v.header, ok[0] = savedSection(s.header, sectionHeader)
		v.annotations, ok[1] = savedSection(s.annotations, sectionMessageAnnotations)
		v.properties, ok[2] = savedSection(s.properties, sectionProperties)
		v.application, ok[3] = savedSection(s.application, sectionApplicationProperties)
		if ok != [4]bool{true, true, true, true} {
			return malformed("sections of a large AMQP message")
		}
		return nil
	}
	for rest := v.encoding; len(rest) > 0 && v.application == nil; {
		code, value, size, err := section(rest)
		if err != nil {
			return err
		}
		switch code {
		case sectionHeader:
			v.header = value
		case sectionDeliveryAnnotations:
			v.deliveryAnnotations += size
		case sectionMessageAnnotations:
			v.annotations = value
		case sectionProperties:
			v.properties = value
		case sectionApplicationProperties:
			v.application = value
			v.body = v.fromApplication + size
			return nil
		default:
			v.body = v.fromApplication
			return nil
		}
		rest = rest[size:]
		v.fromApplication += size
	}
	v.body = v.fromApplication
	return nil
}

// section reads the section that b begins with. Code 0 means that it is none before the body.
func section(b []byte) (code byte, value amqpValue, size int, err error) {
	if b[0] != amqpDescribed {
		return 0, nil, 0, nil
	}
	descriptor, _, ok := nextAMQP(b[1:])
	if !ok {
		return 0, nil, 0, malformed("descriptor of an AMQP section")
	}
	code = sectionCode(descriptor)
	if code < sectionHeader || code > sectionApplicationProperties {
		return 0, nil, 0, nil // the body may be of another format: no business of ours
	}
	whole, _, ok := nextAMQP(b)
	if ok {
		_, value, ok = whole.described()
	}
	if !ok || !fitsSection(code, value) {
		return 0, nil, 0, malformed("AMQP section %#x", code)
	}
	return code, value, len(whole), nil
}

func savedSection(v amqpValue, want byte) (value amqpValue, ok bool) {
	if v.isNull() {
		return nil, true
	}
	descriptor, value, ok := v.described()
	return value, ok && sectionCode(descriptor) == want && fitsSection(want, value)
}

func fitsSection(code byte, value amqpValue) bool {
	if code == sectionHeader || code == sectionProperties {
		return value.isList()
	}
	return value.isMap() || value.isNull()
}

// sectionCode is the descriptor of a section as a number, 0 for another.
func sectionCode(descriptor amqpValue) byte {
	if symbol, ok := descriptor.text(); ok {
		switch string(symbol) {
		case "amqp:header:list":
			return sectionHeader
		case "amqp:delivery-annotations:map":
			return sectionDeliveryAnnotations
		case "amqp:message-annotations:map":
			return sectionMessageAnnotations
		case "amqp:properties:list":
			return sectionProperties
		case "amqp:application-properties:map":
			return sectionApplicationProperties
		case "amqp:data:binary":
			return sectionData
		case "amqp:amqp-sequence:list":
			return sectionSequence
		case "amqp:amqp-value:*":
			return sectionValue
		}
		return 0
	}
	if c := descriptor.code(); c != amqpUlong && c != amqpSmallUlong {
		return 0
	}
	if n, _ := descriptor.int64(); n > 0 && n < 0x100 {
		return byte(n)
	}
	return 0
}

// readAMQPFields fills in the fields of the message (amqp §5.1).
func (m *Message) readAMQPFields(now func() int64) {
	v := m.amqp
	m.durable, _ = v.header.field(headerDurable).bool()
	m.priority = 4
	if n, ok := v.header.field(headerPriority).int64(); ok {
		m.priority = uint8(min(max(n, 0), 9))
	}
	m.expiration = 0
	if ttl, ok := v.header.field(headerTTL).int64(); ok {
		m.expiration = now() + ttl
	}
	if at, ok := v.property(propAbsoluteExpiry).timestamp(); ok && at > 0 {
		m.expiration = at
	}
	m.timestamp, _ = v.property(propCreationTime).timestamp()
	if !v.property(propGroupID).isNull() {
		m.special |= HasGroupID
	}

	var delay int64
	routing, dest := Unspecified, Unspecified
	for key, value := range v.annotations.entries {
		name, _ := key.text()
		n, ok := value.number()
		if !ok {
			continue
		}
		switch string(name) {
		case annotationDeliveryTime:
			m.scheduled = n
		case annotationDeliveryDelay:
			delay = n
		case annotationRoutingType:
			if n == int64(Multicast) || n == int64(Anycast) {
				routing = RoutingType(n)
			}
		case annotationJMSDest: // queue, topic, temporary queue, temporary topic
			if n >= 0 && n <= 3 {
				dest = Anycast - RoutingType(n&1)
			}
		}
	}
	if m.scheduled == 0 && delay > 0 {
		m.scheduled = now() + delay
	}
	if m.scheduled > 0 {
		m.special |= HasScheduled
	} else {
		m.scheduled = 0
	}

	for p := v.extra; ; {
		key, value, ok := p.Next()
		if !ok {
			break
		}
		m.noteSpecial(key, value)
	}
	if m.routing = routing; routing == Unspecified {
		m.routing = dest
	}
	for key, value := range v.application.entries {
		name, _ := key.text()
		switch string(name) {
		case PropDuplicateID:
			if _, ok := value.text(); ok {
				m.special |= HasDuplicateID
			} else if _, ok := value.binary(); ok {
				m.special |= HasDuplicateID
			}
		case PropLastValue:
			m.special |= HasLastValue
		}
	}
}

// property returns a field of the properties section.
func (v *amqpView) property(i int) amqpValue { return v.properties.field(i) }

// size is the encoding without delivery annotations, which are never sent on, in bytes.
func (v *amqpView) size() int { return len(v.encoding) - v.deliveryAnnotations }

// addressText is the address of the record; old ones may have it elsewhere.
func (v *amqpView) addressText() string {
	if v.address != nil {
		return buf.StringFromSS(v.address)
	}
	if value, ok := v.extra.Find(propAddress); ok {
		if text, ok := value.Text(); ok {
			return text
		}
	}
	to, _ := v.property(propTo).text()
	return string(to)
}

// find looks up a name as filters know it: m.x is message annotation x; names that JMS has for fields of the properties
// section; then application properties, then extra properties. The group is found under its Core names, too.
func (v *amqpView) find(name string) (buf.Value, bool) {
	if annotation, ok := strings.CutPrefix(name, filterAnnotations); ok {
		return v.annotation(annotation)
	}
	var field amqpValue
	switch name {
	case "JMSType":
		field = v.property(propSubject)
	case "JMSXGroupID", PropGroupID:
		field = v.property(propGroupID)
	case "JMSXGroupSeq", PropGroupSequence:
		return v.groupSequence(name)
	case "JMSXUserID":
		field = v.property(propUserID)
		if id, ok := field.binary(); ok {
			return stringValue(string(id)), true
		}
	case "JMSCorrelationID":
		field = v.property(propCorrelationID)
		if _, ok := field.binary(); !ok && !field.isNull() {
			return stringValue(correlationText(field)), true
		}
	default:
		if value, ok := v.application.lookup(name); ok {
			if c, ok := value.core(); ok {
				return c, true
			}
		}
	}
	if !field.isNull() {
		return field.core()
	}
	return v.extra.Find(name)
}

// annotated is the number that a message annotation holds.
func (v *amqpView) annotated(name string) (n int64, ok bool) {
	value, _ := v.annotations.lookup(name)
	return value.number()
}

func (v *amqpView) annotation(name string) (buf.Value, bool) {
	value, ok := v.annotations.lookup(name)
	if !ok {
		return buf.Value{}, false
	}
	return value.core()
}

// groupSequence is an int; JMSXGroupSeq is 0 when there is none.
func (v *amqpView) groupSequence(name string) (buf.Value, bool) {
	n, ok := v.property(propGroupSequence).int64()
	if !ok && name == PropGroupSequence {
		return buf.Value{}, false
	}
	r := buf.NewReader(buf.AppendInt32([]byte{byte(buf.TypeInt)}, int32(n)))
	return r.Value(), true
}
