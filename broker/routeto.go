package broker

import (
	"encoding/binary"
	"slices"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/buf"
)

// routeTo are the queues that a message names itself, by their ids: its property _AMQ_ROUTE_TO, 8 bytes each, big-endian.
// A message with it goes to those queues of its address and to no others, whatever their filters; only the routing type has
// to fit, and exclusive diverts go first. What imports messages puts them into the right queues that way. The ids that are
// in _AMQ_ACK_ROUTE_TO too count as delivered and acknowledged: nothing of the message is left in those queues.
// Both properties are removed.
type routeTo struct {
	ids, acked []int64
}

// namedQueues returns the queues that a message names, nil if it does not.
func namedQueues(m *message.Message) (*routeTo, error) {
	v := m.Property(message.PropRouteTo)
	if v.Type == 0 || v.Type == buf.TypeNull {
		return nil, nil
	}
	var r routeTo
	var ok, okAcked bool
	r.ids, ok = idList(v)
	r.acked, okAcked = idList(m.Property(message.PropAckRouteTo))
	if !ok || !okAcked {
		return nil, errorf(InternalError, "%s and %s must be bytes, 8 for each queue", message.PropRouteTo, message.PropAckRouteTo)
	}
	return &r, nil
}

func idList(v buf.Value) ([]int64, bool) {
	if v.Type == 0 || v.Type == buf.TypeNull {
		return nil, true
	}
	b := v.Bytes()
	if v.Type != buf.TypeBytes || len(b)%8 != 0 {
		return nil, false
	}
	var ids []int64
	for id := range slices.Chunk(b, 8) {
		ids = append(ids, int64(binary.BigEndian.Uint64(id)))
	}
	return ids, true
}

// fillNamed is fill for a message that names its queues.
func (b *Broker) fillNamed(name string, r *route, s *send, to *routeTo, want message.RoutingType) error {
	s.queues = s.one[:0]
	x := &routing{b: b, send: s}
	for _, d := range r.only {
		if d.Matches(s.msg) {
			return b.fill(name, r, s, want)
		}
	}
	seen := map[*Queue]bool{}
	for _, id := range to.ids {
		q := b.boundQueue(bareAddress(name), id)
		if q == nil {
			b.log.Warn("AMQ222196: a message names a queue that its address does not have", "address", name, "id", id)
			continue
		}
		if seen[q] || want != message.Unspecified && want != q.Routing() {
			continue
		}
		seen[q] = true
		if slices.Contains(to.acked, id) {
			continue
		}
		q.Route(x, s.msg) // if the queue is being deleted, the message is as lost as if it had come before
	}
	return nil
}

// boundQueue returns the queue with an id if messages to an address can get into it.
func (b *Broker) boundQueue(address string, id int64) *Queue {
	b.mu.RLock()
	defer b.mu.RUnlock()
	q := b.queueIDs[id]
	if q == nil || q.address.name == address {
		return q
	}
	if from := q.address.name; b.wildcards.RoutingEnabled && b.isWild(from) && b.matchesWild(from, address) && !b.isWild(address) {
		return q
	}
	return nil
}

// routesItself tells whether routing takes a property away: the ids of queues, and what clusters write beside them.
func routesItself(name string) bool {
	return name == message.PropRouteTo || name == message.PropAckRouteTo || message.IsInternalProperty(name)
}
