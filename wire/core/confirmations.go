package core

import (
	"encoding/binary"
	"fmt"
)

// Confirmations is the state of one end of a session channel: which of the
// packets it got it has processed, and those it sent that the other end has
// not yet confirmed, to be sent again after a reattachment. Command ids are
// implicit: the first Counted packet of a direction is 0.
//
// Sent frames are kept as copies, back to back, in at most limit bytes. A
// frame that does not fit empties the cache for good: the channel goes on, but
// Resumable is false and a reattachment must be refused. An end that would
// rather wait looks at Full before it sends.
//
// Invariants: held frames are those of the ids first to next-1;
// cache[head:] holds exactly these.
//
// A Confirmations with window -1 does nothing. It is not safe for concurrent
// use. Source: core-protocol 4.5; Artemis ChannelImpl.
type Confirmations struct {
	window int32
	limit  int

	received     int32 // last command id processed, -1: none
	receivedSize int   // bytes since the last PACKETS_CONFIRMED

	first int32 // id of the oldest frame held
	next  int32 // id of the next frame sent
	cache []byte
	head  int
	lost  bool
}

// NewConfirmations returns the state of a channel whose peer wants a
// confirmation every window bytes (-1: never, 0: for each packet) and that
// keeps at most limit bytes of sent frames.
func NewConfirmations(window int32, limit int) Confirmations {
	return Confirmations{window: window, limit: limit, received: -1}
}

// Enabled reports whether the channel has a confirmation window.
func (c *Confirmations) Enabled() bool { return c.window != -1 }

// LastReceived returns the id of the last packet processed, -1 if there is
// none: what REATTACH_SESSION and its response tell.
func (c *Confirmations) LastReceived() int32 { return c.received }

// NextSent returns the id that the next Counted packet sent will have.
func (c *Confirmations) NextSent() int32 { return c.next }

// Received counts a Counted packet of size bytes, header included, once it is
// processed. When due is true, PACKETS_CONFIRMED(id) goes out now, before an
// answer to that packet.
func (c *Confirmations) Received(size int) (id int32, due bool) {
	if c.window == -1 {
		return 0, false
	}
	c.received++
	c.receivedSize += size
	if c.receivedSize < int(c.window) {
		return 0, false
	}
	c.receivedSize = 0
	return c.received, true
}

// Refused counts a packet of size bytes that is answered with EXCEPTION. It
// never makes a PACKETS_CONFIRMED due by itself, so that the client has the
// answer first. Artemis does not count it at all, and its clients send their
// last request twice after a reattachment.
func (c *Confirmations) Refused(size int) {
	if c.window != -1 {
		c.received++
		c.receivedSize += size
	}
}

// Flush tells whether a PACKETS_CONFIRMED(id) is owed, whatever the window. It
// is used at the end of a session and on every check of the TTL.
func (c *Confirmations) Flush() (id int32, due bool) {
	if c.window == -1 || c.receivedSize == 0 {
		return 0, false
	}
	c.receivedSize = 0
	return c.received, true
}

// Sent keeps a copy of a Counted frame that is sent.
func (c *Confirmations) Sent(frame []byte) {
	if c.window == -1 {
		return
	}
	c.next++
	if c.lost {
		c.first = c.next
		return
	}
	if c.Held()+len(frame) > c.limit {
		c.lost = true
		c.first, c.cache, c.head = c.next, nil, 0
		return
	}
	if c.head > 0 && len(c.cache)+len(frame) > cap(c.cache) {
		c.cache = c.cache[:copy(c.cache, c.cache[c.head:])]
		c.head = 0
	}
	c.cache = append(c.cache, frame...)
}

// Held returns the bytes of frames kept.
func (c *Confirmations) Held() int { return len(c.cache) - c.head }

// Full reports whether a frame of size bytes would not fit.
func (c *Confirmations) Full(size int) bool {
	return c.window != -1 && !c.lost && c.Held()+size > c.limit
}

// Resumable reports whether the channel can be reattached.
func (c *Confirmations) Resumable() bool { return c.window != -1 && !c.lost }

// Confirmed takes a PACKETS_CONFIRMED(id) of the other end and forgets the
// frames it covers. An old id changes nothing. One that was never sent is an
// error to log: the ends count differently, and the count goes on from id, as
// in Artemis.
func (c *Confirmations) Confirmed(id int32) error {
	if c.window == -1 {
		return nil
	}
	if id >= c.next {
		sent := c.next
		c.first, c.next = id+1, id+1
		c.cache, c.head = c.cache[:0], 0
		return fmt.Errorf("core: peer confirms packet %d, %d were sent", id, sent)
	}
	for c.first <= id && c.head < len(c.cache) {
		c.head += 4 + int(binary.BigEndian.Uint32(c.cache[c.head:]))
		c.first++
	}
	if c.head == len(c.cache) {
		c.cache, c.head = c.cache[:0], 0
	}
	return nil
}

// Replay forgets what the other end of a reattached channel has, up to id (-1:
// nothing), and returns the frames it has not, back to back. The view is valid
// until the next call. It fails when the cache does not reach back that far.
func (c *Confirmations) Replay(id int32) ([]byte, error) {
	if !c.Resumable() {
		return nil, fmt.Errorf("core: channel without resend cache cannot be reattached")
	}
	if err := c.Confirmed(id); err != nil {
		return nil, err
	}
	if id+1 < c.first {
		return nil, fmt.Errorf("core: peer wants packet %d again, which it had confirmed (%d is the first held)", id+1, c.first)
	}
	return c.cache[c.head:], nil
}
