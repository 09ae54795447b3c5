package client

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"
	"sync"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// ErrRedelivered is what acknowledging a message returns whose session was
// made anew after it came: the broker delivers it again.
var ErrRedelivered error = &core.Error{Code: core.IllegalState, Message: "the message will be delivered again"}

// Message is a received message. One given to OnMessage is valid during the
// call; one from Receive is the caller's, who may give its memory back with
// Release. It is used by one goroutine at a time.
type Message struct {
	DeliveryCount int32 // 1 at the first delivery; of a browser the count of failed ones

	c       *Consumer
	epoch   int
	raw     []byte // MSG in the 2.x form; of a large message without the body
	size    int    // bytes of the frame, for credits
	large   *LargeBody
	view    message.Message
	parsed  bool
	parseEr error
}

var messagePool = sync.Pool{New: func() any { return new(Message) }}

// set makes m the message p, with its bytes at raw.
func (m *Message) set(c *Consumer, epoch int, raw []byte, deliveryCount int32, size int) {
	m.c, m.epoch, m.raw, m.DeliveryCount, m.size = c, epoch, raw, deliveryCount, size
	m.large, m.parsed, m.parseEr = nil, false, nil
}

// Release gives the memory of m back; m and all views of it must not be used
// any more. It may be left out.
func (m *Message) Release() {
	if m.large != nil || cap(m.raw) > 1<<20 {
		return
	}
	m.c = nil
	messagePool.Put(m)
}

// Consumer returns the consumer that got the message.
func (m *Message) Consumer() *Consumer { return m.c }

// ID returns the id the broker gave the message.
func (m *Message) ID() int64 {
	at := int(binary.BigEndian.Uint32(m.raw)) - core.HeaderSize + 4
	if at < 4 || at+8 > len(m.raw) {
		return 0
	}
	return int64(binary.BigEndian.Uint64(m.raw[at:]))
}

// Encoded returns the message as it came, a MSG in the 2.x form. Of a large
// message the body is missing.
func (m *Message) Encoded() []byte { return m.raw }

// Core returns a view of the message's header, properties and body (which of a
// large message is not there).
func (m *Message) Core() (*message.Message, error) {
	if !m.parsed {
		m.parsed = true
		m.parseEr = m.view.Reparse(m.raw)
	}
	return &m.view, m.parseEr
}

// IsLarge reports whether the body comes in chunks; see Body.
func (m *Message) IsLarge() bool { return m.large != nil }

// Body returns a reader of the body, of any message: chunks of a large one are
// read as they come, until the next message is received; a compressed one is
// inflated.
func (m *Message) Body() (io.Reader, error) {
	v, err := m.Core()
	if err != nil {
		return nil, err
	}
	var r io.Reader = m.large
	if m.large == nil {
		r = bytes.NewReader(v.Body())
	}
	if v.Property(message.PropCompressed).Bool() {
		z, err := zlib.NewReader(r)
		return z, wrap(err, "inflate message %d", m.ID())
	}
	return r, nil
}

// Text returns the body of a text message; ok is false when it is null or the
// message is none.
func (m *Message) Text() (text string, ok bool) {
	r, err := m.Body()
	if err != nil || m.view.Type() != message.Text {
		return "", false
	}
	all, err := io.ReadAll(r)
	if err != nil {
		return "", false
	}
	br := buf.NewReader(all)
	t := br.NSS()
	return t.V, t.Valid && br.Err() == nil
}

// Ack acknowledges the message and all that its consumer got before it. With
// Config.AckBatchSize it may wait for more; Commit, Rollback and Close send it.
// With Config.BlockOnAcknowledge it waits for the broker.
func (m *Message) Ack() error { return m.c.ack(m, false) }

// AckIndividual acknowledges the message alone.
func (m *Message) AckIndividual() error { return m.c.ack(m, true) }

// LargeBody is the body of a large message as its chunks come. Read waits for
// them; what is not read holds back the consumer's credits. It is used by one
// goroutine.
type LargeBody struct {
	c       *Consumer
	size    int64
	current []byte // rest of the chunk being read
	frame   int    // size of its frame
	isLast  bool

	// Guarded by the session's lock.
	chunks  []largeChunk
	discard bool
	err     error
}

type largeChunk struct {
	body  []byte
	frame int
	last  bool
}

// Size returns the bytes that are sent of the body: compressed ones if it is compressed.
func (b *LargeBody) Size() int64 { return b.size }

// Read reads the body.
func (b *LargeBody) Read(p []byte) (int, error) {
	for len(b.current) == 0 {
		if err := b.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.current)
	b.current = b.current[n:]
	return n, nil
}

// WriteTo writes the rest of the body to w.
func (b *LargeBody) WriteTo(w io.Writer) (total int64, err error) {
	for {
		n, err := w.Write(b.current)
		total += int64(n)
		b.current = b.current[n:]
		if err != nil {
			return total, err
		}
		if err := b.next(); err == io.EOF {
			return total, nil
		} else if err != nil {
			return total, err
		}
	}
}

// next makes the next chunk current, giving the credits of the last one back.
func (b *LargeBody) next() error {
	s := b.c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.frame > 0 {
		b.c.returnCredit(b.frame, b.isLast)
		b.frame = 0
	}
	if b.isLast {
		return io.EOF
	}
	for len(b.chunks) == 0 && b.err == nil {
		if l := s.link; l != nil {
			s.mu.Unlock()
			l.out.Flush()
			s.mu.Lock()
			if len(b.chunks) > 0 || b.err != nil {
				continue
			}
		}
		b.c.cond.Wait()
	}
	if len(b.chunks) == 0 {
		return b.err
	}
	k := b.chunks[0]
	b.chunks = b.chunks[1:]
	b.current, b.frame, b.isLast = k.body, k.frame, k.last
	return nil
}

// Close throws away what was not read.
func (b *LargeBody) Close() error {
	s := b.c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	b.discardLocked()
	return nil
}

func (b *LargeBody) discardLocked() {
	if b.discard {
		return
	}
	b.discard = true
	if b.frame > 0 {
		b.c.returnCredit(b.frame, b.isLast)
		b.frame = 0
	}
	for _, k := range b.chunks {
		b.c.returnCredit(k.frame, k.last)
	}
	b.chunks = nil
	if b.err == nil {
		b.err = ErrClosed
	}
}
