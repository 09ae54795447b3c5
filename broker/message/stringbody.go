package message

import (
	"bytes"
	"compress/zlib"
	"io"

	"github.com/saranga-mq/saranga/wire/buf"
)

// StringBody is the body when it is a text: that of a Core text message, which its client may have compressed, and an AMQP
// value that is a string. It is false for other bodies, null, large messages, and a text that must be longer than limit bytes, which is not decoded.
func (m *Message) StringBody(limit int) (string, bool) {
	switch {
	case m.isLarge:
		return "", false
	case m.encoding == AMQP:
		code, value := bodySection(m.amqp.encoding[m.amqp.body:])
		if kind := value.code(); code != sectionValue || kind != amqpString8 && kind != amqpString32 {
			return "", false
		}
		text, ok := value.text()
		if !ok || len(text) > limit {
			return "", false
		}
		return string(text), true
	case m.kind != Text:
		return "", false
	}
	body := m.Body()
	most := 2*limit + 16 // two bytes for each of its UTF-16 units, which are at least a byte in UTF-8
	if m.Property(PropCompressed).Bool() {
		body = inflate(body, most+1)
	}
	if len(body) > most {
		return "", false
	}
	r := buf.NewReader(body)
	text := r.NSS()
	return text.V, text.Valid && r.Err() == nil
}

// inflate decompresses at most n bytes of a body, nil when it is damaged.
func inflate(body []byte, n int) []byte {
	r, err := zlib.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil
	}
	out, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err != nil {
		return nil
	}
	return out
}
