package bindings

import (
	"fmt"
	"strings"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/buf"
)

// AppendQueue appends the payload of a QUEUE_BINDING.
func AppendQueue(dst []byte, q *broker.QueueRecord) []byte {
	dst = buf.AppendSS(dst, q.Name)
	dst = buf.AppendSS(dst, q.Address)
	dst = appendOptional(dst, q.Filter)
	metadata := ""
	if q.User != "" {
		metadata = "user=" + q.User + ";"
	}
	dst = buf.AppendNSS(dst, buf.Of(metadata))
	dst = buf.AppendBool01(dst, q.AutoCreated)
	dst = buf.AppendInt32(dst, q.MaxConsumers)
	dst = buf.AppendBool01(dst, q.PurgeOnNoConsumers)
	dst = buf.AppendInt8(dst, int8(q.Routing))
	dst = buf.AppendBool01(dst, q.Exclusive)
	dst = buf.AppendBool01(dst, q.LastValue)
	dst = buf.AppendBool01(dst, q.ConfigurationManaged)
	dst = buf.AppendInt32(dst, q.ConsumersBeforeDispatch)
	dst = buf.AppendInt64(dst, q.DelayBeforeDispatch)
	dst = appendOptional(dst, q.LastValueKey)
	dst = buf.AppendBool01(dst, q.NonDestructive)
	dst = buf.AppendBool01(dst, q.GroupRebalance)
	dst = buf.AppendInt32(dst, q.GroupBuckets)
	dst = buf.AppendBool01(dst, q.AutoDelete)
	dst = buf.AppendInt64(dst, q.AutoDeleteDelay)
	dst = buf.AppendInt64(dst, q.AutoDeleteMessageCount)
	dst = appendOptional(dst, q.GroupFirstKey)
	dst = buf.AppendInt64(dst, q.RingSize)
	dst = buf.AppendBool01(dst, q.Enabled)
	dst = buf.AppendBool01(dst, q.GroupRebalancePauseDisp)
	return buf.AppendBool01(dst, q.Internal)
}

// ReadQueue reads the payload of a QUEUE_BINDING; the record id is the queue's.
func ReadQueue(id int64, payload []byte) (broker.QueueRecord, error) {
	r := buf.NewReader(payload)
	q := broker.QueueRecord{ID: id, QueueConfig: broker.NewQueueConfig("")}
	q.Name, q.Address, q.Filter = r.SS(), r.SS(), r.NSS().V
	q.User = userOf(r.NSS().V)
	q.AutoCreated = r.Bool()
	if r.Len() > 0 {
		q.MaxConsumers, q.PurgeOnNoConsumers, q.Routing = r.Int32(), r.Bool(), message.RoutingType(r.Int8())
	}
	q.AutoDelete = q.AutoCreated
	boolean := func(p *bool) {
		if r.Len() > 0 {
			*p = r.Bool()
		}
	}
	number := func(p *int32) {
		if r.Len() > 0 {
			*p = r.Int32()
		}
	}
	long := func(p *int64) {
		if r.Len() > 0 {
			*p = r.Int64()
		}
	}
	text := func(p *string) {
		if r.Len() > 0 {
			*p = r.NSS().V
		}
	}
	boolean(&q.Exclusive)
	boolean(&q.LastValue)
	boolean(&q.ConfigurationManaged)
	number(&q.ConsumersBeforeDispatch)
	long(&q.DelayBeforeDispatch)
	text(&q.LastValueKey)
	boolean(&q.NonDestructive)
	boolean(&q.GroupRebalance)
	number(&q.GroupBuckets)
	boolean(&q.AutoDelete)
	long(&q.AutoDeleteDelay)
	long(&q.AutoDeleteMessageCount)
	text(&q.GroupFirstKey)
	long(&q.RingSize)
	boolean(&q.Enabled)
	boolean(&q.GroupRebalancePauseDisp)
	boolean(&q.Internal)
	if r.Err() != nil {
		return q, fmt.Errorf("queue binding: %w", r.Err())
	}
	if q.Routing != message.Multicast && q.Routing != message.Anycast {
		return q, fmt.Errorf("queue binding %s: routing type %d", q.Name, q.Routing)
	}
	return q, nil
}

// userOf finds the user in a binding's metadata, "key=value;" lists.
func userOf(metadata string) string {
	for _, part := range strings.Split(metadata, ";") {
		if user, ok := strings.CutPrefix(part, "user="); ok {
			return user
		}
	}
	return ""
}

func appendOptional(dst []byte, s string) []byte {
	return buf.AppendNSS(dst, buf.Null[string]{V: s, Valid: s != ""})
}

// AppendAddress appends the payload of an ADDRESS_BINDING.
func AppendAddress(dst []byte, a *broker.AddressRecord) []byte {
	dst = buf.AppendSS(dst, a.Name)
	types := a.RoutingTypes.List()
	dst = buf.AppendInt32(dst, int32(len(types)))
	for _, t := range types {
		dst = buf.AppendInt8(dst, int8(t))
	}
	dst = buf.AppendBool01(dst, a.AutoCreated)
	return buf.AppendBool01(dst, a.Internal)
}

// ReadAddress reads the payload of an ADDRESS_BINDING; the record id is the address'.
func ReadAddress(id int64, payload []byte) (broker.AddressRecord, error) {
	r := buf.NewReader(payload)
	a := broker.AddressRecord{ID: id, Name: r.SS()}
	for range r.Count(1) {
		t := message.RoutingType(r.Int8())
		if t != message.Multicast && t != message.Anycast {
			return a, fmt.Errorf("address binding %s: routing type %d", a.Name, t)
		}
		a.RoutingTypes |= broker.SetOf(t)
	}
	a.AutoCreated = r.Bool()
	if r.Len() > 0 {
		a.Internal = r.Bool()
	}
	if r.Err() != nil {
		return a, fmt.Errorf("address binding: %w", r.Err())
	}
	return a, nil
}

// Status is a QUEUE_STATUS or ADDRESS_STATUS.
type Status struct {
	Of     int64 // queue or address id
	Paused bool
}

// AppendStatus appends the payload of a status record.
func AppendStatus(dst []byte, s Status) []byte {
	dst = buf.AppendInt64(dst, s.Of)
	if s.Paused {
		return buf.AppendInt16(dst, 0)
	}
	return buf.AppendInt16(dst, 1)
}

// ReadStatus reads the payload of a status record.
func ReadStatus(payload []byte) (Status, error) {
	r := buf.NewReader(payload)
	s := Status{r.Int64(), r.Int16() == 0}
	if r.Err() != nil {
		return s, fmt.Errorf("status: %w", r.Err())
	}
	return s, nil
}
