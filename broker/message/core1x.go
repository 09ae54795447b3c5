package message

import (
	"encoding/binary"

	"github.com/saranga-mq/saranga/wire/buf"
)

// Clients below wire version 129 have another MSG block (core-protocol §5.1):
//
//	i32 endOfBody    = 17 + body length
//	body
//	i32 endOfMessage = 17 + body length + 4 + length of HEADERS
//	HEADERS
const bodyOffset1x = 17

// NewCore1x makes a message from the MSG block of a 1.x client, which it copies. The addresses in it stay as they are.
func (p *Pool) NewCore1x(msg []byte) (*Message, error) {
	r := buf.NewReader(msg)
	end := int64(r.Int32())
	n := end - bodyOffset1x
	if r.Err() != nil || n < 0 || n+8 > int64(len(msg)) {
		return nil, malformed("1.x end of body %d in a block of %d bytes", end, len(msg))
	}
	body := r.Bytes(int(n))
	r.Int32() // the end of the message, which the length of the block says better
	headers := r.Rest()
	m := p.get(4 + len(body) + len(headers))
	b := binary.BigEndian.AppendUint32(m.buf[:0], uint32(bodyOffset+n))
	m.buf = append(append(b, body...), headers...)
	if err := m.parseCore(); err != nil {
		m.Release()
		return nil, err
	}
	return m, nil
}

// Append1x appends the MSG block of a Core message, not a large one, as 1.x clients read it.
func (m *Message) Append1x(dst []byte) []byte {
	body, headers := m.Body(), m.Headers()
	dst = binary.BigEndian.AppendUint32(dst, uint32(bodyOffset1x+len(body)))
	dst = append(dst, body...)
	dst = binary.BigEndian.AppendUint32(dst, uint32(bodyOffset1x+len(body)+4+len(headers)))
	return append(dst, headers...)
}
