package management

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"unicode/utf16"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/buf"
)

// propertyValue is a property as JSON shows it: texts and byte arrays cut at limit, unless that is negative.
func propertyValue(v buf.Value, limit int) any {
	switch v.Type {
	case buf.TypeBool:
		return v.Bool()
	case buf.TypeString:
		s, _ := v.Text()
		return cut(s, limit)
	case buf.TypeBytes:
		return byteArray(v.Bytes(), limit)
	case buf.TypeFloat:
		f, _ := v.Float64()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return notFinite(f)
		}
		return float32(f)
	case buf.TypeDouble:
		f, _ := v.Float64()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return notFinite(f)
		}
		return f
	case buf.TypeChar:
		u, _ := v.Char()
		return string(utf16.Decode([]uint16{u}))
	}
	if n, ok := v.Int64(); ok {
		return n
	}
	return nil
}

// notFinite is a floating-point value that JSON cannot express, for which null stands.
type notFinite float64

// MarshalJSON implements json.Marshaler.
func (notFinite) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// String is how Java writes the value.
func (f notFinite) String() string {
	switch {
	case math.IsInf(float64(f), 1):
		return "Infinity"
	case math.IsInf(float64(f), -1):
		return "-Infinity"
	}
	return "NaN"
}

// cut shortens a text to so many characters and says how many are missing.
func cut(s string, limit int) string {
	units := utf16.Encode([]rune(s))
	if limit < 0 || len(units) <= limit {
		return s
	}
	return fmt.Sprintf("%s, + %d more", string(utf16.Decode(units[:limit])), len(units)-limit)
}

// byteArray is bytes as Java shows them: signed.
func byteArray(b []byte, limit int) []int {
	if limit >= 0 && len(b) > limit {
		b = b[:limit]
	}
	out := make([]int, len(b))
	for i, c := range b {
		out[i] = int(int8(c))
	}
	return out
}

// flat is a message as one flat object: its properties and what its header has.
func flat(m *message.Message, limit int) map[string]any {
	out := map[string]any{}
	props := m.Properties()
	for key, v, ok := props.Next(); ok; key, v, ok = props.Next() {
		out[buf.StringFromSS(key)] = propertyValue(v, limit)
	}
	out["messageID"] = m.ID()
	if id := m.UserIDText(); id != "" {
		out["userID"] = id
	}
	out["address"] = m.Address()
	out["type"] = int(m.Type())
	out["durable"] = m.IsDurable()
	out["expiration"] = m.Expiration()
	out["timestamp"] = m.Timestamp()
	out["priority"] = int(m.Priority())
	return out
}

// composite is a message as browse shows it: properties by type, and the beginning of the body.
func composite(m *message.Message, deliveries int32, limit int) compositeData {
	byType := map[string]map[string]any{}
	var texts []string
	props := m.Properties()
	for key, v, ok := props.Next(); ok; key, v, ok = props.Next() {
		name, value := buf.StringFromSS(key), propertyValue(v, limit)
		if kind := propertyKind(v.Type); kind != "" {
			if byType[kind] == nil {
				byType[kind] = map[string]any{}
			}
			byType[kind][name] = value
		}
		texts = append(texts, name+"="+javaText(value))
	}
	sort.Strings(texts)
	out := compositeData{
		"address": m.Address(), "messageID": fmt.Sprint(m.ID()), "userID": m.UserIDText(), "type": int(m.Type()), "durable": m.IsDurable(),
		"expiration": m.Expiration(), "priority": int(m.Priority()), "redelivered": deliveries > 0, "timestamp": m.Timestamp(),
		"largeMessage": m.IsLarge(), "persistentSize": m.PersistentSize(), "protocol": "CORE",
		"PropertiesText": cut("{"+strings.Join(texts, ", ")+"}", limit),
	}
	if m.Encoding() == message.AMQP {
		out["protocol"] = "AMQP"
	}
	for _, kind := range []string{"StringProperties", "BooleanProperties", "ByteProperties", "ShortProperties", "IntProperties", "LongProperties", "FloatProperties", "DoubleProperties"} {
		if p := byType[kind]; p != nil {
			out[kind] = p
		} else {
			out[kind] = nil
		}
	}
	switch {
	case m.IsLarge() && m.Type() == message.Text:
		out["text"] = "[large message]"
	case m.IsLarge():
		out["BodyPreview"] = []int{}
	case m.Type() == message.Text && m.HasProperty(message.PropCompressed):
		out["text"] = "[compressed]"
	case m.Type() == message.Text:
		out["text"] = nil
		if text, ok := m.TextBody(); ok {
			out["text"] = cut(text, limit)
		}
	default:
		out["BodyPreview"] = byteArray(m.Body(), limit)
	}
	return out
}

func javaText(v any) string {
	if v == nil {
		return "null"
	}
	return fmt.Sprint(v)
}

func propertyKind(t buf.Type) string {
	switch t {
	case buf.TypeString, buf.TypeChar:
		return "StringProperties"
	case buf.TypeBool:
		return "BooleanProperties"
	case buf.TypeByte:
		return "ByteProperties"
	case buf.TypeShort:
		return "ShortProperties"
	case buf.TypeInt:
		return "IntProperties"
	case buf.TypeLong:
		return "LongProperties"
	case buf.TypeFloat:
		return "FloatProperties"
	case buf.TypeDouble:
		return "DoubleProperties"
	}
	return ""
}
