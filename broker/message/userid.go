package message

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// UserIDText is the value of AMQUserID: the user id as "ID:…" (the JMS message id), empty when there is none. For a Core
// message without one it is the property NATIVE_MESSAGE_ID, for an AMQP message its message-id.
func (m *Message) UserIDText() string {
	if m.encoding == AMQP {
		if id := m.amqp.property(propMessageID); !id.isNull() {
			return prefixedID(id)
		}
	} else if id := m.UserID(); id != nil {
		var uuid [16]byte
		copy(uuid[:], id)
		uuid[6] = uuid[6]&0x0f | 0x10 // Artemis reads every user id as a time-based UUID
		uuid[8] = uuid[8]&0x3f | 0x80
		return "ID:" + uuidText(uuid[:])
	}
	text, _ := m.Property(PropNativeID).Text()
	return text
}

// prefixedID is a message-id as AMQUserID has it: its text with "ID:" in front unless it begins so.
func prefixedID(id amqpValue) string {
	text, ok := id.text()
	if !ok {
		return "ID:" + idText(id)
	}
	if s := string(text); strings.HasPrefix(s, "ID:") {
		return s
	}
	return "ID:" + string(text)
}

// idText is a message-id or correlation-id that is not a string as text.
func idText(id amqpValue) string {
	if b, ok := id.binary(); ok {
		return strings.ToUpper(hex.EncodeToString(b))
	}
	if id.code() == amqpUUID {
		return uuidText(id[1:])
	}
	n, _ := id.int64()
	return strconv.FormatUint(uint64(n), 10)
}

// correlationText is a correlation-id that is not binary, in the form JMS gives it (amqp §6.4): the type of the id is
// kept in a prefix, and a string that already looks so is escaped.
func correlationText(id amqpValue) string {
	if text, ok := id.text(); ok {
		s := string(text)
		if rest, ok := strings.CutPrefix(s, "ID:"); ok && hasIDType(rest) {
			return "ID:AMQP_STRING:" + s
		}
		return s
	}
	if id.code() == amqpUUID {
		return "ID:AMQP_UUID:" + idText(id)
	}
	return "ID:AMQP_ULONG:" + idText(id)
}

func hasIDType(s string) bool {
	for _, prefix := range [...]string{"AMQP_BINARY:", "AMQP_UUID:", "AMQP_ULONG:", "AMQP_STRING:", "AMQP_NO_PREFIX:"} {
		if strings.HasPrefix(s, prefix) {
			return true
		}
	}
	return false
}

func uuidText(b []byte) string {
	var dst [36]byte
	hex.Encode(dst[0:8], b[0:4])
	dst[8] = '-'
	hex.Encode(dst[9:13], b[4:6])
	dst[13] = '-'
	hex.Encode(dst[14:18], b[6:8])
	dst[18] = '-'
	hex.Encode(dst[19:23], b[8:10])
	dst[23] = '-'
	hex.Encode(dst[24:36], b[10:16])
	return string(dst[:])
}
