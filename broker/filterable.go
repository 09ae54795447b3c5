package broker

import (
	"github.com/saranga-mq/saranga/broker/filter"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/buf"
)

// filterable shows a message to the selector language.
type filterable message.Message

// Filterable returns the message as the selector language sees it (queue-semantics §8.3).
func Filterable(m *message.Message) filter.Source { return (*filterable)(m) }

// Property implements filter.Source.
func (f *filterable) Property(name string) filter.Value {
	m := (*message.Message)(f)
	if len(name) > 3 && name[:3] == "AMQ" {
		switch name {
		case "AMQUserID":
			if id := m.UserIDText(); id != "" {
				return filter.String(id)
			}
			return filter.Null
		case "AMQPriority":
			return filter.Int(int32(m.Priority()))
		case "AMQTimestamp":
			return filter.Long(m.Timestamp())
		case "AMQExpiration":
			return filter.Long(m.Expiration())
		case "AMQDurable":
			if m.IsDurable() {
				return filter.String("DURABLE")
			}
			return filter.String("NON_DURABLE")
		case "AMQSize":
			return filter.Long(m.PersistentSize())
		case "AMQAddress":
			return filter.String(m.Address())
		case "AMQGroupID":
			name = message.PropGroupID
		}
	}
	v := m.Property(name)
	if name == "_AMQ_Hops" && v.Type == buf.TypeBytes && len(v.Raw()) == 4 {
		r := buf.NewReader(v.Raw())
		return filter.Int(r.Int32())
	}
	return filterValue(v)
}

// StringBody implements filter.BodySource.
func (f *filterable) StringBody(limit int) (string, bool) {
	return (*message.Message)(f).StringBody(limit)
}

func filterValue(v buf.Value) filter.Value {
	switch v.Type {
	case buf.TypeBool:
		return filter.Bool(v.Bool())
	case buf.TypeByte:
		n, _ := v.Int64()
		return filter.Byte(int8(n))
	case buf.TypeShort:
		n, _ := v.Int64()
		return filter.Short(int16(n))
	case buf.TypeInt:
		n, _ := v.Int64()
		return filter.Int(int32(n))
	case buf.TypeLong:
		n, _ := v.Int64()
		return filter.Long(n)
	case buf.TypeFloat:
		n, _ := v.Float64()
		return filter.Float(float32(n))
	case buf.TypeDouble:
		n, _ := v.Float64()
		return filter.Double(n)
	case buf.TypeChar:
		u, _ := v.Char()
		return filter.Char(u)
	case buf.TypeString:
		s, _ := v.Text()
		return filter.String(s)
	case buf.TypeBytes:
		return filter.Bytes(v.Bytes())
	}
	return filter.Null
}
