package main

import (
	"encoding/binary"
	"time"

	"github.com/saranga-mq/saranga/broker/message"
)

const (
	bodySize   = 1 << 10
	flowWindow = 1000
)

// stampAt is where the body stands in an encoded message, behind its length. The time of sending is there.
const stampAt = 4

// newBuilder describes a message of so many bytes.
func newBuilder(queue string, size int, durable bool) *message.Builder {
	m := message.New(queue, message.Bytes)
	m.Durable = durable
	m.Body = make([]byte, size)
	m.Set(message.PropRoutingType, int8(message.Anycast))
	return m
}

func stamp(encoded []byte, at time.Time) {
	binary.BigEndian.PutUint64(encoded[stampAt:], uint64(at.UnixNano()))
}

// stamped is the time since the message was stamped, 0 if it was not.
func stamped(encoded []byte, now time.Time) time.Duration {
	sent := binary.BigEndian.Uint64(encoded[stampAt:])
	if sent == 0 {
		return 0
	}
	return time.Duration(now.UnixNano() - int64(sent))
}
