package crash

import (
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// A message's id says everything about it: <sender>-<number>-<flags>. What it holds is made of the id and checked when
// the message is read, whoever has stored it meanwhile.
//
//	t text  b bytes  m map      the type; each holds the id
//	L large                     100 KiB and more
//	S scheduled                 visible later, so it has no place in the order of its sender
//	X of a branch               visible with its commit, so it hasn't either
//	D with a duplicate id       may be sent again by the next round
//	G of a group

// idProperty is the property that holds the id; checkProperty holds the CRC-32 of it.
const (
	idProperty    = "crashId"
	checkProperty = "crashCheck"
)

func messageID(sender string, n int, flags string) string {
	return fmt.Sprintf("%s-%d-%s", sender, n, flags)
}

func flags(id string) string { return id[strings.LastIndexByte(id, '-')+1:] }

func flagged(id string, flag byte) bool { return strings.IndexByte(flags(id), flag) >= 0 }

// placeOf returns a message's sender and its number there.
func placeOf(id string) (sender string, n int) {
	rest := strings.TrimSuffix(id, "-"+flags(id))
	at := strings.LastIndexByte(rest, '-')
	if at < 0 {
		return rest, 0
	}
	n, _ = strconv.Atoi(rest[at+1:])
	return rest[:at], n
}

func check32(id string) uint32 { return crc32.ChecksumIEEE([]byte(id)) }

// bodySize is how many bytes (or characters) the body of a text or bytes message has.
func bodySize(id string) int {
	n := int(check32(id) >> 8)
	if flagged(id, 'L') {
		return 100<<10 + n%(100<<10)
	}
	return n % 1500
}

func body(id string) string {
	size := bodySize(id)
	return strings.Repeat(id+" ", size/(len(id)+1)+1)[:size]
}

// priority leaves most messages at the default, so that order has something to say.
func priority(id string) uint8 {
	switch check32(id) % 8 {
	case 0:
		return 3
	case 1:
		return 6
	}
	return 4
}

// build makes a durable message of that id for an address; at is when it becomes visible, in ms since 1970, 0 at once.
func build(address, id string, routing message.RoutingType, at int64) *message.Builder {
	m := message.New(address, message.Bytes)
	m.Durable, m.Priority = true, priority(id)
	switch {
	case flagged(id, 't'):
		m.Type, m.Body = message.Text, message.AppendText(nil, body(id))
	case flagged(id, 'm'):
		m.Type = message.Map
		m.Body = buf.AppendPropsHeader(nil, 2)
		m.Body = buf.AppendPropString(m.Body, "id", id)
		m.Body = buf.AppendPropLong(m.Body, "check", int64(check32(id)))
	default:
		m.Body = []byte(body(id))
	}
	m.Set(idProperty, id)
	m.Set(checkProperty, int64(check32(id)))
	m.Set(message.PropRoutingType, int8(routing))
	if flagged(id, 'D') {
		m.Set(message.PropDuplicateID, id)
	}
	if flagged(id, 'G') {
		m.Set(message.PropGroupID, "group "+strconv.Itoa(int(check32(id)%3)))
	}
	if at != 0 {
		m.Set(message.PropScheduled, at)
	}
	return m
}

// read returns the id of a received message, and an error if it is not the message that was sent.
func read(m *client.Message) (string, error) {
	v, err := m.Core()
	if err != nil {
		return "", fmt.Errorf("message %d: %w", m.ID(), err)
	}
	id, ok := v.Property(idProperty).Text()
	if !ok {
		return "", fmt.Errorf("message %d (type %d to %s) has no id: it is none of ours", m.ID(), v.Type(), v.Address())
	}
	wrong := func(format string, args ...any) (string, error) {
		return id, fmt.Errorf("message %s (%d): %s", id, m.ID(), fmt.Sprintf(format, args...))
	}
	if n, _ := v.Property(checkProperty).Int64(); n != int64(check32(id)) {
		return wrong("check %d, want %d", n, check32(id))
	}
	if v.Priority() != priority(id) || !v.IsDurable() {
		return wrong("priority %d, durable %v", v.Priority(), v.IsDurable())
	}
	if group, ok := v.Property(message.PropGroupID).Text(); ok != flagged(id, 'G') || ok && group != "group "+strconv.Itoa(int(check32(id)%3)) {
		return wrong("group %q", group)
	}
	if flagged(id, 'm') {
		r := buf.NewReader(v.Body())
		props := r.Props()
		got, _ := props.Find("id")
		n, _ := props.Find("check")
		text, _ := got.Text()
		if c, _ := n.Int64(); r.Err() != nil || v.Type() != message.Map || text != id || c != int64(check32(id)) {
			return wrong("type %d, map with %q and %v, %v", v.Type(), text, n.Any(), r.Err())
		}
		return id, nil
	}
	want := body(id)
	if flagged(id, 't') {
		if got, ok := m.Text(); !ok || got != want {
			return wrong("text of %d characters is not the one of %d that was sent", len(got), len(want))
		}
		return id, nil
	}
	r, err := m.Body()
	if err != nil {
		return wrong("%v", err)
	}
	got, err := io.ReadAll(r)
	if err != nil {
		return wrong("%v", err)
	}
	if v.Type() != message.Bytes || string(got) != want {
		return wrong("type %d, body of %d bytes is not the one of %d that was sent", v.Type(), len(got), len(want))
	}
	return id, nil
}
