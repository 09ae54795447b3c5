package core

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/saranga-mq/saranga/wire/buf"
)

// Preamble is what a client writes first on a connection.
const Preamble = "ARTEMIS"

// HeaderSize is the size in bytes of what precedes a payload.
const HeaderSize = 13

// Channels of a connection that are not sessions. Sessions have ids from
// FirstSessionChannel on, chosen by the client and not used again.
const (
	ChannelPing         int64 = 0 // PING, topology, DISCONNECT
	ChannelSession      int64 = 1 // session creation, reattachment, failover check
	ChannelReplication  int64 = 2
	ChannelCluster      int64 = 3
	ChannelFederation   int64 = 4
	FirstSessionChannel int64 = 10
)

// Errors of Split and Decode.
var (
	ErrFrameLength   = errors.New("core: frame length")
	ErrUnknownPacket = errors.New("core: unknown packet type")
)

// Frame is one packet as it stands in a read buffer.
type Frame struct {
	Type    Type
	Channel int64
	Payload []byte // view
	Raw     []byte // view of the whole frame; its length is what flow control counts
}

// Split takes the first frame off b. When b does not hold it whole, need is
// the size in bytes that b must have (HeaderSize as long as the length is
// unknown) and rest is b; else need is 0. A length that no frame can have, or
// that makes a frame larger than max bytes, is an error.
func Split(b []byte, max int) (f Frame, rest []byte, need int, err error) {
	if len(b) < 4 {
		return f, b, HeaderSize, nil
	}
	n := int(int32(binary.BigEndian.Uint32(b)))
	if n < HeaderSize-4 || n > max-4 {
		return f, b, 0, fmt.Errorf("%w %d: want %d to %d", ErrFrameLength, n, HeaderSize-4, max-4)
	}
	n += 4
	if len(b) < n {
		return f, b, n, nil
	}
	f = Frame{
		Type:    Type(b[4]),
		Channel: int64(binary.BigEndian.Uint64(b[5:])),
		Payload: b[HeaderSize:n:n],
		Raw:     b[:n:n],
	}
	return f, b[n:], 0, nil
}

// Packet is one of the packet structs of this package.
type Packet interface {
	// Type returns the packet type. Of a packet with a Form it is the Form.
	Type() Type
	// encode appends the payload.
	encode(dst []byte, v Version) []byte
	// decode reads the payload. Errors stick in r.
	decode(r *buf.Reader, v Version)
}

// former is a packet whose type depends on the version when its Form is zero.
type former interface{ form(v Version) Type }

// Append appends p as a whole frame.
func Append(dst []byte, channel int64, p Packet, v Version) []byte {
	t := p.Type()
	if f, ok := p.(former); ok {
		t = f.form(v)
	}
	dst, at := begin(dst, t, channel)
	return end(p.encode(dst, v), at)
}

// begin appends a frame header with the length left open; end fills it in.
func begin(dst []byte, t Type, channel int64) (out []byte, at int) {
	at = len(dst)
	dst = append(dst, 0, 0, 0, 0, byte(t))
	return buf.AppendInt64(dst, channel), at
}

func end(dst []byte, at int) []byte {
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// appendHeader appends the header of a frame whose payload size is known.
func appendHeader(dst []byte, t Type, channel int64, payload int) []byte {
	dst = buf.AppendInt32(dst, int32(HeaderSize-4+payload))
	return buf.AppendInt64(append(dst, byte(t)), channel)
}

// Decode reads the payload of a packet of type t.
func Decode(t Type, payload []byte, v Version) (Packet, error) {
	mk := typeTable[uint8(t)].make
	if mk == nil {
		return nil, fmt.Errorf("%w %d", ErrUnknownPacket, int8(t))
	}
	p := mk()
	r := buf.NewReader(payload)
	p.decode(&r, v)
	if err := finish(&r, t); err != nil {
		return nil, err
	}
	return p, nil
}

// finish returns the error of a reader that should have read everything.
func finish(r *buf.Reader, t Type) error {
	if r.Err() == nil && r.Len() > 0 {
		r.Fail(fmt.Sprintf("%d bytes left over", r.Len()))
	}
	if err := r.Err(); err != nil {
		return fmt.Errorf("core: decode %v: %w", t, err)
	}
	return nil
}
