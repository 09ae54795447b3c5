package core

import "github.com/saranga-mq/saranga/wire/buf"

// RoutingType is the routing type byte of queues and addresses.
type RoutingType int8

// Routing types.
const (
	RoutingUnset     RoutingType = -1
	RoutingMulticast RoutingType = 0
	RoutingAnycast   RoutingType = 1
)

// QueueAttributes are the attributes of a queue that a request may leave to
// the address settings (null) and that a queue query answers.
type QueueAttributes struct {
	Exclusive                   buf.Null[bool]
	LastValue                   buf.Null[bool]
	LastValueKey                buf.Null[string] // SS
	NonDestructive              buf.Null[bool]
	ConsumersBeforeDispatch     buf.Null[int32]
	DelayBeforeDispatch         buf.Null[int64] // ms
	GroupRebalance              buf.Null[bool]
	GroupBuckets                buf.Null[int32]
	AutoDelete                  buf.Null[bool]
	AutoDeleteDelay             buf.Null[int64] // ms
	AutoDeleteMessageCount      buf.Null[int64]
	GroupFirstKey               buf.Null[string] // SS
	RingSize                    buf.Null[int64]
	Enabled                     buf.Null[bool]
	GroupRebalancePauseDispatch buf.Null[bool]
}

// decodeTail reads the optional groups from lastValueKey on.
func (a *QueueAttributes) decodeTail(r *buf.Reader) {
	if r.Len() > 0 {
		a.LastValueKey = r.NSS()
		a.NonDestructive = r.NBool()
		a.ConsumersBeforeDispatch = r.NInt()
		a.DelayBeforeDispatch = r.NLong()
		a.GroupRebalance = r.NBool()
		a.GroupBuckets = r.NInt()
		a.AutoDelete = r.NBool()
		a.AutoDeleteDelay = r.NLong()
		a.AutoDeleteMessageCount = r.NLong()
	}
	if r.Len() > 0 {
		a.GroupFirstKey = r.NSS()
	}
	if r.Len() > 0 {
		a.RingSize = r.NLong()
	}
	if r.Len() > 0 {
		a.Enabled = r.NBool()
	}
	if r.Len() > 0 {
		a.GroupRebalancePauseDispatch = r.NBool()
	}
}

func (a *QueueAttributes) encodeTail(dst []byte) []byte {
	dst = buf.AppendNSS(dst, a.LastValueKey)
	dst = buf.AppendNBool(dst, a.NonDestructive)
	dst = buf.AppendNInt(dst, a.ConsumersBeforeDispatch)
	dst = buf.AppendNLong(dst, a.DelayBeforeDispatch)
	dst = buf.AppendNBool(dst, a.GroupRebalance)
	dst = buf.AppendNInt(dst, a.GroupBuckets)
	dst = buf.AppendNBool(dst, a.AutoDelete)
	dst = buf.AppendNLong(dst, a.AutoDeleteDelay)
	dst = buf.AppendNLong(dst, a.AutoDeleteMessageCount)
	dst = buf.AppendNSS(dst, a.GroupFirstKey)
	dst = buf.AppendNLong(dst, a.RingSize)
	dst = buf.AppendNBool(dst, a.Enabled)
	return buf.AppendNBool(dst, a.GroupRebalancePauseDispatch)
}

// CreateQueue is the form of version 128 and below; on channel 1 it is never
// answered. The routing type follows from the prefix of the address.
type CreateQueue struct {
	Address          string           // SS
	Name             string           // SS
	Filter           buf.Null[string] // SS
	Durable          bool
	Temporary        bool
	RequiresResponse bool
}

func (*CreateQueue) Type() Type { return TypeCreateQueue }
func (p *CreateQueue) decode(r *buf.Reader, _ Version) {
	p.Address = r.SS()
	p.Name = r.SS()
	p.Filter = r.NSS()
	p.Durable = r.Bool()
	p.Temporary = r.Bool()
	p.RequiresResponse = r.Bool()
}
func (p *CreateQueue) encode(dst []byte, _ Version) []byte {
	dst = buf.AppendSS(dst, p.Address)
	dst = buf.AppendSS(dst, p.Name)
	dst = buf.AppendNSS(dst, p.Filter)
	dst = buf.AppendBool(dst, p.Durable)
	dst = buf.AppendBool(dst, p.Temporary)
	return buf.AppendBool(dst, p.RequiresResponse)
}

// CreateQueueV2 is CreateQueue from version 129 on. The attributes are opt, in groups.
type CreateQueueV2 struct {
	CreateQueue
	AutoCreated        bool
	RoutingType        RoutingType
	MaxConsumers       int32 // -1: no limit
	PurgeOnNoConsumers bool
	QueueAttributes
}

func (*CreateQueueV2) Type() Type { return TypeCreateQueueV2 }
func (p *CreateQueueV2) decode(r *buf.Reader, v Version) {
	p.CreateQueue.decode(r, v)
	p.AutoCreated = r.Bool()
	p.RoutingType = RoutingType(r.Int8())
	p.MaxConsumers = r.Int32()
	p.PurgeOnNoConsumers = r.Bool()
	if r.Len() > 0 {
		p.Exclusive = r.NBool()
		p.LastValue = r.NBool()
	}
	p.decodeTail(r)
}
func (p *CreateQueueV2) encode(dst []byte, v Version) []byte {
	dst = p.CreateQueue.encode(dst, v)
	dst = buf.AppendBool(dst, p.AutoCreated)
	dst = buf.AppendInt8(dst, int8(p.RoutingType))
	dst = buf.AppendInt32(dst, p.MaxConsumers)
	dst = buf.AppendBool(dst, p.PurgeOnNoConsumers)
	dst = buf.AppendNBool(dst, p.Exclusive)
	dst = buf.AppendNBool(dst, p.LastValue)
	return p.encodeTail(dst)
}

// CreateSharedQueue creates a queue unless one of the same name, address and
// filter is there.
type CreateSharedQueue struct {
	Address          string           // SS
	Name             string           // SS
	Filter           buf.Null[string] // SS
	Durable          bool
	RequiresResponse bool
}

func (*CreateSharedQueue) Type() Type { return TypeCreateSharedQueue }
func (p *CreateSharedQueue) decode(r *buf.Reader, _ Version) {
	p.Address = r.SS()
	p.Name = r.SS()
	p.Filter = r.NSS()
	p.Durable = r.Bool()
	p.RequiresResponse = r.Bool()
}
func (p *CreateSharedQueue) encode(dst []byte, _ Version) []byte {
	dst = buf.AppendSS(dst, p.Address)
	dst = buf.AppendSS(dst, p.Name)
	dst = buf.AppendNSS(dst, p.Filter)
	dst = buf.AppendBool(dst, p.Durable)
	return buf.AppendBool(dst, p.RequiresResponse)
}

// CreateSharedQueueV2 is CreateSharedQueue from version 129 on. What follows
// RequiresResponse is opt, in groups.
type CreateSharedQueueV2 struct {
	Address            string           // SS
	Name               string           // SS
	Filter             buf.Null[string] // SS
	Durable            bool
	RoutingType        RoutingType
	RequiresResponse   bool
	MaxConsumers       buf.Null[int32]
	PurgeOnNoConsumers buf.Null[bool]
	QueueAttributes
}

func (*CreateSharedQueueV2) Type() Type { return TypeCreateSharedQueueV2 }
func (p *CreateSharedQueueV2) decode(r *buf.Reader, _ Version) {
	p.Address = r.SS()
	p.Name = r.SS()
	p.Filter = r.NSS()
	p.Durable = r.Bool()
	p.RoutingType = RoutingType(r.Int8())
	p.RequiresResponse = r.Bool()
	if r.Len() > 0 {
		p.MaxConsumers = r.NInt()
		p.PurgeOnNoConsumers = r.NBool()
		p.Exclusive = r.NBool()
		p.LastValue = r.NBool()
	}
	p.decodeTail(r)
}
func (p *CreateSharedQueueV2) encode(dst []byte, _ Version) []byte {
	dst = buf.AppendSS(dst, p.Address)
	dst = buf.AppendSS(dst, p.Name)
	dst = buf.AppendNSS(dst, p.Filter)
	dst = buf.AppendBool(dst, p.Durable)
	dst = buf.AppendInt8(dst, int8(p.RoutingType))
	dst = buf.AppendBool(dst, p.RequiresResponse)
	dst = buf.AppendNInt(dst, p.MaxConsumers)
	dst = buf.AppendNBool(dst, p.PurgeOnNoConsumers)
	dst = buf.AppendNBool(dst, p.Exclusive)
	dst = buf.AppendNBool(dst, p.LastValue)
	return p.encodeTail(dst)
}

// DeleteQueue removes a queue that has no consumers.
type DeleteQueue struct {
	Name string // SS
}

func (*DeleteQueue) Type() Type                            { return TypeDeleteQueue }
func (p *DeleteQueue) decode(r *buf.Reader, _ Version)     { p.Name = r.SS() }
func (p *DeleteQueue) encode(dst []byte, _ Version) []byte { return buf.AppendSS(dst, p.Name) }

// CreateAddress creates an address.
type CreateAddress struct {
	Address          string // SS
	RoutingTypes     []RoutingType
	RequiresResponse bool
	AutoCreated      bool
}

func (*CreateAddress) Type() Type { return TypeCreateAddress }
func (p *CreateAddress) decode(r *buf.Reader, _ Version) {
	p.Address = r.SS()
	for _, t := range r.Bytes(r.Count(1)) {
		p.RoutingTypes = append(p.RoutingTypes, RoutingType(t))
	}
	p.RequiresResponse = r.Bool()
	p.AutoCreated = r.Bool()
}
func (p *CreateAddress) encode(dst []byte, _ Version) []byte {
	dst = buf.AppendSS(dst, p.Address)
	dst = buf.AppendInt32(dst, int32(len(p.RoutingTypes)))
	for _, t := range p.RoutingTypes {
		dst = append(dst, byte(t))
	}
	dst = buf.AppendBool(dst, p.RequiresResponse)
	return buf.AppendBool(dst, p.AutoCreated)
}
