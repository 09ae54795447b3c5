package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/saranga-mq/saranga/broker/message"
)

// newMessage returns a message as a JMS client of Artemis sends it.
func newMessage(d destination, t message.Type, body []byte) *message.Builder {
	b := message.New(d.name, t)
	b.UserID = newMessageID()
	b.Timestamp = time.Now().UnixMilli()
	b.Durable = true
	b.Body = body
	_, routing := d.routing()
	b.Set(message.PropRoutingType, int8(routing))
	return b
}

func newTextMessage(d destination, text string) *message.Builder {
	return newMessage(d, message.Text, message.AppendText(nil, text))
}

// objectBody is a text of that size serialised as Java does it, with its length before it as in an object message.
func objectBody(size int) []byte {
	text := strings.Repeat("o", size)
	b := []byte{0xAC, 0xED, 0, 5}
	if size <= 0xFFFF {
		b = binary.BigEndian.AppendUint16(append(b, 0x74), uint16(size))
	} else {
		b = binary.BigEndian.AppendUint64(append(b, 0x7C), uint64(size))
	}
	b = append(b, text...)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// objectSize is what --verbose shows of an object message: the characters of a text, else the bytes of whatever is
// serialised.
func objectSize(body []byte) int {
	if len(body) < 4 {
		return 0
	}
	object := body[4:]
	if text, ok := bytes.CutPrefix(object, []byte{0xAC, 0xED, 0, 5, 0x74}); ok && len(text) > 2 {
		return len([]rune(string(text[2:])))
	}
	return len(object)
}

// userProperty is an entry of --properties.
type userProperty struct {
	Type, Key, Value string
}

// parseProperties reads the text of --properties: [{"type":"int","key":"a","value":"1"}, …].
func parseProperties(text string) (map[string]any, error) {
	if text == "" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	var list []userProperty
	if err := d.Decode(&list); err != nil {
		return nil, usageError(fmt.Sprintf("Invalid value for option '--properties': %v", err))
	}
	values := map[string]any{}
	for _, p := range list {
		v, err := p.value()
		if err != nil || p.Key == "" {
			return nil, usageError(fmt.Sprintf("Invalid value for option '--properties': '%s' of type '%s' for '%s'", p.Value, p.Type, p.Key))
		}
		values[p.Key] = v
	}
	return values, nil
}

func (p userProperty) value() (any, error) {
	integer := func(bits int) (int64, error) { return strconv.ParseInt(p.Value, 10, bits) }
	switch strings.ToLower(p.Type) {
	case "boolean":
		return strconv.ParseBool(strings.ToLower(p.Value))
	case "byte":
		n, err := integer(8)
		return int8(n), err
	case "short":
		n, err := integer(16)
		return int16(n), err
	case "int", "integer":
		n, err := integer(32)
		return int32(n), err
	case "long":
		return integer(64)
	case "float":
		f, err := strconv.ParseFloat(p.Value, 32)
		return float32(f), err
	case "double":
		return strconv.ParseFloat(p.Value, 64)
	case "string":
		return p.Value, nil
	}
	return nil, fmt.Errorf("type %q is unknown", p.Type)
}
