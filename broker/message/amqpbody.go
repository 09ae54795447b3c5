package message

import (
	"strings"
	"unicode/utf8"
)

const javaObject = "application/x-java-serialized-object"

// coreType is the type of the Core message that this one converts to (amqp §6.1). For a large message, whose body is a
// file, it is what the sender's JMS client called it.
func (v *amqpView) coreType() Type {
	if v.encoding == nil {
		return v.annotatedType()
	}
	text, _ := v.property(propContentType).text()
	contentType := string(text)
	code, value := bodySection(v.encoding[v.body:])
	switch code {
	case sectionData:
		if contentType == javaObject {
			return Object
		}
		if charset, textual := textContent(contentType); textual && (charset == "" || charset == "UTF-8") {
			if data, ok := value.binary(); ok && utf8.Valid(data) {
				return Text
			}
		}
		return Bytes
	case sectionSequence:
		return Stream
	case sectionValue:
		return valueType(value, contentType)
	}
	switch {
	case contentType == "" || contentType == "application/octet-stream":
		return Bytes
	case contentType == javaObject:
		return Object
	}
	if _, textual := textContent(contentType); textual {
		return Text
	}
	return Default
}

func valueType(value amqpValue, contentType string) Type {
	switch value.code() {
	case amqpNull, amqpString8, amqpString32:
		return Text
	case amqpBinary8, amqpBinary32:
		if contentType == javaObject {
			return Object
		}
	case amqpMap8, amqpMap32:
		return Map
	case amqpList0, amqpList8, amqpList32:
		return Stream
	}
	return Bytes
}

// bodySection reads the first section of a body, code 0 when there is none.
func bodySection(body []byte) (code byte, value amqpValue) {
	whole, _, ok := nextAMQP(body)
	if !ok {
		return 0, nil
	}
	descriptor, value, ok := whole.described()
	if !ok {
		return 0, nil
	}
	return sectionCode(descriptor), value
}

func (v *amqpView) annotatedType() Type {
	n, ok := v.annotated(annotationJMSType)
	if types := [...]Type{Default, Object, Map, Bytes, Stream, Text}; ok && n >= 0 && n < int64(len(types)) {
		return types[n]
	}
	return Bytes
}

// textContent tells whether a content type is a textual one, and its charset in upper case.
func textContent(contentType string) (charset string, textual bool) {
	kind, parameters, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	if sub, ok := strings.CutPrefix(kind, "application/"); ok {
		switch sub {
		case "xml", "json", "javascript", "ecmascript", "xml-dtd":
		default:
			if !strings.HasSuffix(sub, "+xml") && !strings.HasSuffix(sub, "+json") {
				return "", false
			}
		}
	} else if !strings.HasPrefix(kind, "text/") {
		return "", false
	}
	for p := range strings.SplitSeq(parameters, ";") {
		if name, value, ok := strings.Cut(p, "="); ok && strings.EqualFold(strings.TrimSpace(name), "charset") {
			charset = strings.ToUpper(strings.Trim(strings.TrimSpace(value), `"'`))
		}
	}
	return charset, true
}
