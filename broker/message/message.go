// Package message holds a message of the broker: its bytes as they came in, a parsed header, and views of the rest that
// are decoded only when somebody asks.
//
// A Core message is kept as the MSG block of the Core protocol (spec: core-protocol §5, journal §5.2):
//
//	i32 endOfBody = 13 + body length
//	body
//	HEADERS: i64 id, nSS address, user id (00 | 01 + 16 bytes), i8 type, bool durable,
//	         i64 expiration, i64 timestamp, i8 priority, PROPS
//
// A large Core message is the same block with an empty body; its body is a file (Body). An AMQP message is kept as the
// payload of its journal record (see amqp.go). Messages are converted only when a consumer's protocol needs another
// encoding.
//
// # Ownership
//
// A Message is the one owner of its pooled bytes. It starts with one holder; Retain adds one, Release takes one away, and
// the last Release returns the memory to the Pool. Only the broker retains and releases; protocol code borrows a message
// for the length of a call, unless it retains it for the output's reference list. From routing on a message is immutable:
// what differs per delivery lives in the reference. Its getters may then be called from any goroutine; the setters may
// not. No view of the bytes may outlive the holder it was taken under.
package message

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/saranga-mq/saranga/wire/buf"
)

// Encoding says how a message's bytes are laid out.
type Encoding uint8

const (
	Core Encoding = iota
	AMQP
)

// Type is the Core message type (core-protocol §5.4).
type Type uint8

const (
	Default       Type = 0
	Object        Type = 2
	Text          Type = 3
	Bytes         Type = 4
	Map           Type = 5
	Stream        Type = 6
	Embedded      Type = 7
	LargeEmbedded Type = 8
)

// RoutingType is the routing type a message asks for, and one that an address or queue has.
type RoutingType int8

const (
	Unspecified RoutingType = -1
	Multicast   RoutingType = 0
	Anycast     RoutingType = 1
)

func (r RoutingType) String() string {
	switch r {
	case Multicast:
		return "MULTICAST"
	case Anycast:
		return "ANYCAST"
	}
	return "UNSPECIFIED"
}

// Special tells which properties with a meaning to the broker a message carries, found while its header is parsed, so
// that the message path looks nothing up that is not there.
type Special uint8

const (
	HasGroupID      Special = 1 << iota // _AMQ_GROUP_ID; AMQP: group-id
	HasDuplicateID                      // _AMQ_DUPL_ID
	HasLastValue                        // _AMQ_LVQ_NAME
	HasScheduled                        // _AMQ_SCHED_DELIVERY, above zero; AMQP: x-opt-delivery-time or -delay
	HasInternal                         // _AMQ_ROUTE_TO…, _AMQ_ACK_ROUTE_TO…: read and removed by routing
	HasBridgeDupID                      // _AMQ_BRIDGE_DUP
	HasOrigMessage                      // _AMQ_ORIG_…: it was moved, expired or dead-lettered before
	HasValidatedUsr                     // _AMQ_VALIDATED_USER
)

// A Body is the file of a large message. Its life follows the message: the last holder's release closes it.
type Body interface {
	// Size is the stored size in bytes.
	Size() int64
	// ReadAt reads stored bytes; it may block on the disk.
	ReadAt(p []byte, off int64) (int, error)
	// Discard removes the file once nobody holds it: its message will not be sent.
	Discard()
	// Retain adds a hold on the file, Release takes one away: a deleted file stays readable until the last.
	Retain()
	Release()
}

// An Account counted the memory of a message when it was routed and takes it back with the last release. Give may be
// called under any of the broker's locks and must not block.
type Account interface {
	Give(bytes int64)
}

// ErrMalformed is what every parse error of this package unwraps to.
var ErrMalformed = errors.New("malformed message")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// Message is one message. Fields are set while it is built or parsed and do not change once it has been routed, except
// the counters.
type Message struct {
	pool    *Pool
	slab    *slab
	slot    uint32
	holders atomic.Int32

	// Durable counts the references of this message that the store knows. The engine counts it down; who reaches zero
	// deletes the record.
	Durable atomic.Int32

	// Queued counts all references of a large message. Who reaches zero removes its body.
	Queued atomic.Int32

	buf           []byte
	hdr           int32 // Core: offset of HEADERS in buf
	props         int32 // Core: offset of PROPS in buf
	encoding      Encoding
	kind          Type // Core
	priority      uint8
	special       Special
	routing       RoutingType
	durable       bool
	isLarge       bool
	id            int64
	expiration    int64
	timestamp     int64
	scheduled     int64
	address       string // empty until UseAddress
	large         Body
	account       Account
	amqp          *amqpView   // nil for Core
	undeliverable atomic.Bool // see MarkUndeliverable
}

// NewCore copies a MSG block into memory of the pool and parses it.
func (p *Pool) NewCore(msg []byte) (*Message, error) {
	m := p.get(len(msg))
	copy(m.buf, msg)
	if err := m.parseCore(); err != nil {
		m.Release()
		return nil, err
	}
	return m, nil
}

// NewCoreLarge makes a large message from a HEADERS block; body may be set later, before the message is routed. On an
// error body stays with the caller.
func (p *Pool) NewCoreLarge(headers []byte, body Body) (*Message, error) {
	m := p.get(4 + len(headers))
	binary.BigEndian.PutUint32(m.buf, bodyOffset)
	copy(m.buf[4:], headers)
	if err := m.parseCore(); err != nil {
		m.Release()
		return nil, err
	}
	m.isLarge, m.large = true, body
	return m, nil
}

// ParseCore parses a MSG block in place: the message borrows b, belongs to no pool and must not be released.
func ParseCore(b []byte) (*Message, error) {
	m := &Message{}
	if err := m.Reparse(b); err != nil {
		return nil, err
	}
	return m, nil
}

// Reparse makes m a view of another MSG block, as ParseCore does, without an allocation. Not for messages of a pool.
func (m *Message) Reparse(b []byte) error {
	m.buf, m.address, m.large, m.isLarge, m.amqp = b, "", nil, false, nil
	return m.parseCore()
}

// ParseCoreHeaders parses a HEADERS block (a large message without its body) that it copies.
func ParseCoreHeaders(headers []byte) (*Message, error) {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(headers)), bodyOffset)
	m, err := ParseCore(append(b, headers...))
	if err != nil {
		return nil, err
	}
	m.isLarge = true
	return m, nil
}

func (p *Pool) get(n int) *Message {
	var m *Message
	if v := p.structs.Get(); v != nil && !p.broken.Load() {
		m = v.(*Message)
	} else {
		m = &Message{}
	}
	m.pool = p
	m.holders.Store(1)
	m.buf, m.slab, m.slot = p.alloc(n)
	return m
}

// Retain adds a holder. Only a holder may call it.
func (m *Message) Retain() {
	if m.holders.Add(1) <= 1 {
		m.breach("retained after its last release")
	}
}

// Release takes a holder away; the last one returns the memory.
func (m *Message) Release() {
	n := m.holders.Add(-1)
	if n > 0 {
		return
	}
	if n < 0 || m.pool == nil {
		m.breach("released more often than it was retained")
		return
	}
	if m.account != nil {
		m.account.Give(m.Memory())
	}
	if m.large != nil {
		m.large.Release()
	}
	p, b, s, slot := m.pool, m.buf, m.slab, m.slot
	if p.broken.Load() {
		p.free(b, s, slot, false) // m and its bytes are left to the collector
		return
	}
	// holders stays at zero and id as it was, so that a late release is still seen and named until m is used again
	m.buf, m.slab, m.large, m.account, m.amqp, m.address, m.isLarge = nil, nil, nil, nil, nil, "", false
	if m.Durable.Load() != 0 {
		m.Durable.Store(0)
	}
	if m.Queued.Load() != 0 {
		m.Queued.Store(0)
	}
	if m.undeliverable.Load() {
		m.undeliverable.Store(false)
	}
	p.free(b, s, slot, true)
	p.structs.Put(m)
}

func (m *Message) breach(what string) {
	if m.pool == nil {
		panic("message: a borrowed message was " + what)
	}
	m.pool.breach(fmt.Errorf("message: message %d was %s", m.id, what))
}

// ID is the message id that the broker gave, 0 before that.
func (m *Message) ID() int64 { return m.id }

// SetID gives the message its id. Called once, before routing, or by the store when it assigns ids in its own order.
func (m *Message) SetID(id int64) {
	m.id = id
	at := m.hdr
	if m.encoding == AMQP {
		at = amqpIDOffset
	}
	binary.BigEndian.PutUint64(m.buf[at:], uint64(id))
}

// Encoding is the encoding the bytes are in.
func (m *Message) Encoding() Encoding { return m.encoding }

// IsDurable tells whether the message must survive a restart.
func (m *Message) IsDurable() bool { return m.durable }

// Priority is 0…9.
func (m *Message) Priority() uint8 { return m.priority }

// Expiration is when the message expires, in ms since the epoch, 0 never.
func (m *Message) Expiration() int64 { return m.expiration }

// Timestamp is when the client says it sent the message, in ms since the epoch.
func (m *Message) Timestamp() int64 { return m.timestamp }

// Type is the Core type; for an AMQP message the one a conversion would give.
func (m *Message) Type() Type {
	if m.encoding == AMQP {
		return m.amqp.coreType()
	}
	return m.kind
}

// RoutingType is the routing type the message asks for.
func (m *Message) RoutingType() RoutingType { return m.routing }

// Scheduled is the time before which the message must not be delivered, in ms since the epoch, 0 for at once.
func (m *Message) Scheduled() int64 { return m.scheduled }

// Special tells which properties with a meaning to the broker are present.
func (m *Message) Special() Special { return m.special }

// Has tells whether any of the special properties s is present.
func (m *Message) Has(s Special) bool { return m.special&s != 0 }

// IsLarge tells whether the body is, or is going to be, a file.
func (m *Message) IsLarge() bool { return m.isLarge }

// Large is the body file of a large message, nil for others and before SetLarge.
func (m *Message) Large() Body { return m.large }

// SetLarge attaches the body file of a large message, before routing. The message owns it from then on.
func (m *Message) SetLarge(b Body) { m.large = b }

// Charge ties the message's memory to the account that has just counted Memory() bytes of it. Once per message.
func (m *Message) Charge(a Account) { m.account = a }

// Charged is the account the message was counted on, nil before routing.
func (m *Message) Charged() Account { return m.account }

// Size is what filters see as AMQSize: the encoded size in bytes, without a large body. For a Core message that is the
// MSG block, for a large one HEADERS, for an AMQP message its encoding without delivery annotations; a large AMQP message
// lies in its file as a whole and has size 0.
func (m *Message) Size() int {
	switch {
	case m.encoding == AMQP:
		return m.amqp.size()
	case m.isLarge:
		return len(m.buf) - int(m.hdr)
	}
	return len(m.buf)
}

// PersistentSize is Size with a large body, in bytes: what page counters and the sizes of queues are made of.
func (m *Message) PersistentSize() int64 {
	n := int64(m.Size())
	if m.large != nil {
		n += m.large.Size()
	}
	return n
}

// Overhead is what a message costs in memory besides its bytes, in bytes: the accounts of addresses count it.
const Overhead = 320

// Memory is the estimate of the memory the message takes, which max-size-bytes and global-max-size count.
func (m *Message) Memory() int64 { return int64(len(m.buf)) + Overhead }

// Address is the text of the address the message was sent to, as the client wrote it (address::queue included). It is
// decoded at each call until UseAddress has been told.
func (m *Message) Address() string {
	switch {
	case m.address != "":
		return m.address
	case m.encoding == AMQP:
		return m.amqp.addressText()
	}
	return buf.StringFromSS(m.RawAddress())
}

// UseAddress gives the message the already decoded text of its address, so that all messages of an address share one
// string. The text must equal what the bytes say. Called before routing.
func (m *Message) UseAddress(s string) { m.address = s }

// MarkUndeliverable remembers that no consumer of the protocols built so far can take the message; it reports whether
// this is the first time.
func (m *Message) MarkUndeliverable() bool { return !m.undeliverable.Swap(true) }
