package message

import (
	"encoding/binary"
	"strings"

	"github.com/saranga-mq/saranga/wire/buf"
)

// managed tells which message annotations a Builder knows as properties: they are built from those and not copied.
func managed(annotation string) bool {
	switch annotation {
	case annotationRoutingType, annotationDeliveryTime, annotationDeliveryDelay, annotationIngressTime, annotationActualExpiry:
		return true
	}
	return strings.HasPrefix(annotation, annotationOrigPrefix)
}

// annotationOf is the message annotation that a property of the broker is sent as, empty for none; only tells that it is
// not an extra property besides.
func annotationOf(property string) (annotation string, only bool) {
	switch property {
	case PropRoutingType:
		return annotationRoutingType, true
	case PropScheduled:
		return annotationDeliveryTime, true
	case PropIngressTime:
		return annotationIngressTime, true
	case PropActualExpiry:
		return annotationActualExpiry, false
	}
	if rest, ok := strings.CutPrefix(property, prefixOrig); ok {
		return annotationOrigPrefix + "-" + strings.ReplaceAll(rest, "_", "-"), false
	}
	return "", false
}

// liftAnnotations adds the properties that an AMQP message has as annotations only.
func (b *Builder) liftAnnotations(m *Message) {
	if n, ok := m.amqp.annotated(annotationRoutingType); ok {
		b.Set(PropRoutingType, int8(n))
	}
	if m.scheduled > 0 {
		b.Set(PropScheduled, m.scheduled)
	}
	if n, ok := m.amqp.annotated(annotationIngressTime); ok {
		b.Set(PropIngressTime, n)
	}
}

// buildAMQP encodes a changed copy: header, message annotations and properties anew, without delivery annotations, the
// rest as it is (amqp §5.1, §5.4).
func (p *Pool) buildAMQP(b *Builder) (*Message, error) {
	if b.isLarge != b.amqp.isLarge {
		return nil, malformed("a large AMQP message cannot be built from one that is not")
	}
	v := b.amqp.amqp
	extra, annotations := b.splitProperties()
	header := b.amqpHeader()
	marks := v.copyAnnotations(annotations)
	properties := b.amqpProperties()

	dst := []byte{persisterAMQPv3}
	if b.isLarge {
		dst[0] = persisterLarge
	}
	dst = binary.BigEndian.AppendUint64(dst, 0)
	if b.isLarge {
		dst = buf.AppendBool01(dst, b.Durable)
	}
	dst = append(dst, v.format...)
	if b.Address == nil {
		dst = append(dst, 0)
	} else {
		dst = buf.AppendSS(append(dst, 1), *b.Address)
	}
	if !b.isLarge {
		rest := v.encoding[v.fromApplication:]
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(header)+len(marks)+len(properties)+len(rest)))
		dst = append(append(append(append(dst, header...), marks...), properties...), rest...)
	}
	dst = buf.AppendBlock(dst, extra)
	if b.isLarge {
		s := &v.saved
		dst = append(append(dst, s.headerPosition...), orNull(header)...)
		dst = append(append(dst, s.deliveryPosition...), s.annotationsPosition...)
		dst = append(append(dst, orNull(marks)...), s.propertiesPosition...)
		dst = append(append(dst, orNull(properties)...), s.bodyPosition...)
		dst = append(dst, s.application...)
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(b.Expiration))
	if b.isLarge {
		dst = append(dst, 1)
	}
	m, err := p.newAMQP(dst)
	if err != nil {
		return nil, err
	}
	m.large = b.large
	return m, nil
}

func orNull(section []byte) []byte {
	if section == nil {
		return []byte{amqpNull}
	}
	return section
}

// splitProperties encodes the properties: as extra properties, empty when there are none, and as entries of message
// annotations.
func (b *Builder) splitProperties() (extra []byte, annotations [][2]amqpValue) {
	readdressed := b.Address != nil && *b.Address != b.amqp.Address()
	n := 0
	var entries []byte
	b.each(func(key []byte, value buf.Value) {
		name := buf.StringFromSS(key)
		annotation, only := annotationOf(name)
		if annotation != "" {
			symbol := appendAMQPText(nil, amqpSymbol8, annotation)
			annotations = append(annotations, [2]amqpValue{symbol, appendAMQPValue(nil, value)})
		}
		if !only && (name != propAddress || !readdressed) {
			entries = buf.AppendProp(entries, key, value)
			n++
		}
	})
	if readdressed {
		entries = buf.AppendPropString(entries, propAddress, *b.Address)
		n++
	}
	if n == 0 {
		return nil, annotations
	}
	return append(buf.AppendPropsHeader(nil, n), entries...), annotations
}

// amqpHeader encodes the header section, nil for none.
func (b *Builder) amqpHeader() []byte {
	src := b.amqp
	header := src.amqp.header
	fields := listFields(header)
	if b.Durable != src.durable {
		durable := byte(amqpFalse)
		if b.Durable {
			durable = amqpTrue
		}
		fields = setField(fields, headerDurable, amqpValue{durable})
	}
	if b.Priority != src.priority {
		fields = setField(fields, headerPriority, amqpValue{amqpUbyte, b.Priority})
	}
	if b.Expiration != src.expiration && !header.field(headerTTL).isNull() {
		fields = setField(fields, headerTTL, nil)
	}
	return appendList(sectionHeader, header, fields)
}

// amqpProperties encodes the properties section, nil for none. It is not created for the sake of an address.
func (b *Builder) amqpProperties() []byte {
	src := b.amqp
	properties := src.amqp.properties
	fields := listFields(properties)
	if b.Expiration != src.expiration && (b.Expiration > 0 || properties != nil) {
		fields = setField(fields, propAbsoluteExpiry, timestampValue(b.Expiration))
	}
	if b.Timestamp != src.timestamp {
		fields = setField(fields, propCreationTime, timestampValue(b.Timestamp))
	}
	if (len(fields) > 0 || properties != nil) && b.Address != nil {
		fields = setField(fields, propTo, appendAMQPText(nil, amqpString8, *b.Address))
	}
	return appendList(sectionProperties, properties, fields)
}

// timestampValue is a time in ms since the epoch, absent for 0.
func timestampValue(ms int64) amqpValue {
	if ms <= 0 {
		return nil
	}
	return binary.BigEndian.AppendUint64([]byte{amqpTimestamp}, uint64(ms))
}

// copyAnnotations encodes the message annotations section with some of the managed ones, nil for none.
func (v *amqpView) copyAnnotations(add [][2]amqpValue) []byte {
	n := 0
	var items []byte
	for key, value := range v.annotations.entries {
		if name, ok := key.text(); !ok || !managed(string(name)) {
			items = append(append(items, key...), value...)
			n += 2
		}
	}
	for _, entry := range add {
		items = append(append(items, entry[0]...), entry[1]...)
		n += 2
	}
	if n == 0 && v.annotations == nil {
		return nil
	}
	return appendCompound([]byte{amqpDescribed, amqpSmallUlong, sectionMessageAnnotations}, amqpMap8, n, items)
}

// listFields returns the items of a list.
func listFields(list amqpValue) []amqpValue {
	var fields []amqpValue
	items, n := list.items()
	for ; n > 0; n-- {
		item, rest, ok := nextAMQP(items)
		if !ok {
			break
		}
		fields, items = append(fields, item), rest
	}
	return fields
}

// setField sets item i of a list, which grows with nulls as needed; nil is null.
func setField(fields []amqpValue, i int, v amqpValue) []amqpValue {
	for len(fields) <= i {
		fields = append(fields, nil)
	}
	fields[i] = v
	return fields
}

// appendList encodes a section that is a list, without nulls at its end: nil when it was absent and has no field.
func appendList(section byte, old amqpValue, fields []amqpValue) []byte {
	for len(fields) > 0 && fields[len(fields)-1].isNull() {
		fields = fields[:len(fields)-1]
	}
	if old == nil && len(fields) == 0 {
		return nil
	}
	dst := []byte{amqpDescribed, amqpSmallUlong, section}
	if len(fields) == 0 {
		return append(dst, amqpList0)
	}
	var items []byte
	for _, f := range fields {
		items = append(items, orNull(f)...)
	}
	return appendCompound(dst, amqpList8, len(fields), items)
}
