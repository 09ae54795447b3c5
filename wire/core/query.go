package core

import "github.com/saranga-mq/saranga/wire/buf"

// QueueQuery asks for a queue's state.
type QueueQuery struct {
	Name string // SS
}

func (*QueueQuery) Type() Type                            { return TypeQueueQuery }
func (p *QueueQuery) decode(r *buf.Reader, _ Version)     { p.Name = r.SS() }
func (p *QueueQuery) encode(dst []byte, _ Version) []byte { return buf.AppendSS(dst, p.Name) }

// QueueQueryResponse answers QueueQuery and CreateConsumer. Form is
// TypeQueueQueryResponse, …V2 or …V3; zero is the one the version calls for.
// In V3 the attributes are opt, in groups.
type QueueQueryResponse struct {
	Form          Type
	Exists        bool
	Durable       bool
	Temporary     bool
	ConsumerCount int32
	MessageCount  int64
	Filter        buf.Null[string] // SS
	Address       buf.Null[string] // SS
	Name          buf.Null[string] // SS

	AutoCreateQueues bool // V2

	AutoCreated               bool // from here on V3
	PurgeOnNoConsumers        bool
	RoutingType               RoutingType
	MaxConsumers              int32
	DefaultConsumerWindowSize buf.Null[int32] // bytes
	QueueAttributes
	ConfigurationManaged buf.Null[bool]
}

func (p *QueueQueryResponse) Type() Type { return p.form(VersionCurrent) }
func (p *QueueQueryResponse) form(v Version) Type {
	if p.Form != 0 {
		return p.Form
	}
	return v.QueueQueryForm()
}
func (p *QueueQueryResponse) decode(r *buf.Reader, _ Version) {
	p.Exists = r.Bool()
	p.Durable = r.Bool()
	p.Temporary = r.Bool()
	p.ConsumerCount = r.Int32()
	p.MessageCount = r.Int64()
	p.Filter = r.NSS()
	p.Address = r.NSS()
	p.Name = r.NSS()
	if p.Form == TypeQueueQueryResponse {
		return
	}
	p.AutoCreateQueues = r.Bool()
	if p.Form == TypeQueueQueryResponseV2 {
		return
	}
	p.AutoCreated = r.Bool()
	p.PurgeOnNoConsumers = r.Bool()
	p.RoutingType = RoutingType(r.Int8())
	p.MaxConsumers = r.Int32()
	if r.Len() > 0 {
		p.Exclusive = r.NBool()
		p.LastValue = r.NBool()
	}
	if r.Len() > 0 {
		p.DefaultConsumerWindowSize = r.NInt()
	}
	p.decodeTail(r)
	if r.Len() > 0 {
		p.ConfigurationManaged = r.NBool()
	}
}
func (p *QueueQueryResponse) encode(dst []byte, v Version) []byte {
	dst = buf.AppendBool(dst, p.Exists)
	dst = buf.AppendBool(dst, p.Durable)
	dst = buf.AppendBool(dst, p.Temporary)
	dst = buf.AppendInt32(dst, p.ConsumerCount)
	dst = buf.AppendInt64(dst, p.MessageCount)
	dst = buf.AppendNSS(dst, p.Filter)
	dst = buf.AppendNSS(dst, p.Address)
	dst = buf.AppendNSS(dst, p.Name)
	form := p.form(v)
	if form == TypeQueueQueryResponse {
		return dst
	}
	dst = buf.AppendBool(dst, p.AutoCreateQueues)
	if form == TypeQueueQueryResponseV2 {
		return dst
	}
	dst = buf.AppendBool(dst, p.AutoCreated)
	dst = buf.AppendBool(dst, p.PurgeOnNoConsumers)
	dst = buf.AppendInt8(dst, int8(p.RoutingType))
	dst = buf.AppendInt32(dst, p.MaxConsumers)
	dst = buf.AppendNBool(dst, p.Exclusive)
	dst = buf.AppendNBool(dst, p.LastValue)
	dst = buf.AppendNInt(dst, p.DefaultConsumerWindowSize)
	dst = p.encodeTail(dst)
	return buf.AppendNBool(dst, p.ConfigurationManaged)
}

// BindingQuery asks for an address's state.
type BindingQuery struct {
	Address string // SS
}

func (*BindingQuery) Type() Type                            { return TypeBindingQuery }
func (p *BindingQuery) decode(r *buf.Reader, _ Version)     { p.Address = r.SS() }
func (p *BindingQuery) encode(dst []byte, _ Version) []byte { return buf.AppendSS(dst, p.Address) }

// BindingQueryResponse answers BindingQuery. Form is TypeBindingQueryResponse,
// …V2 to …V5; zero is the one the version calls for.
type BindingQueryResponse struct {
	Form       Type
	Exists     bool
	QueueNames []string // SS

	AutoCreateQueues    bool // V2
	AutoCreateAddresses bool // V3

	DefaultPurgeOnNoConsumers      bool // from here on V4
	DefaultMaxConsumers            int32
	DefaultExclusive               buf.Null[bool] // opt with the next
	DefaultLastValue               buf.Null[bool]
	DefaultLastValueKey            buf.Null[string] // SS; opt with the next three
	DefaultNonDestructive          buf.Null[bool]
	DefaultConsumersBeforeDispatch buf.Null[int32]
	DefaultDelayBeforeDispatch     buf.Null[int64] // ms

	SupportsMulticast bool // V5, opt with the next
	SupportsAnycast   bool
}

func (p *BindingQueryResponse) Type() Type { return p.form(VersionCurrent) }
func (p *BindingQueryResponse) form(v Version) Type {
	if p.Form != 0 {
		return p.Form
	}
	return v.BindingQueryForm()
}

// bindingLevel returns how many versions of the response t includes.
func bindingLevel(t Type) int {
	switch t {
	case TypeBindingQueryResponseV2:
		return 2
	case TypeBindingQueryResponseV3:
		return 3
	case TypeBindingQueryResponseV4:
		return 4
	case TypeBindingQueryResponseV5:
		return 5
	}
	return 1
}

func (p *BindingQueryResponse) decode(r *buf.Reader, _ Version) {
	level := bindingLevel(p.Form)
	p.Exists = r.Bool()
	n := r.Count(4)
	for i := 0; i < n && r.Err() == nil; i++ {
		p.QueueNames = append(p.QueueNames, r.SS())
	}
	if level >= 2 {
		p.AutoCreateQueues = r.Bool()
	}
	if level >= 3 {
		p.AutoCreateAddresses = r.Bool()
	}
	if level < 4 {
		return
	}
	p.DefaultPurgeOnNoConsumers = r.Bool()
	p.DefaultMaxConsumers = r.Int32()
	if r.Len() > 0 {
		p.DefaultExclusive = r.NBool()
		p.DefaultLastValue = r.NBool()
	}
	if r.Len() > 0 {
		p.DefaultLastValueKey = r.NSS()
		p.DefaultNonDestructive = r.NBool()
		p.DefaultConsumersBeforeDispatch = r.NInt()
		p.DefaultDelayBeforeDispatch = r.NLong()
	}
	if level >= 5 && r.Len() > 0 {
		p.SupportsMulticast = r.Bool()
		p.SupportsAnycast = r.Bool()
	}
}
func (p *BindingQueryResponse) encode(dst []byte, v Version) []byte {
	level := bindingLevel(p.form(v))
	dst = buf.AppendBool(dst, p.Exists)
	dst = buf.AppendInt32(dst, int32(len(p.QueueNames)))
	for _, name := range p.QueueNames {
		dst = buf.AppendSS(dst, name)
	}
	if level >= 2 {
		dst = buf.AppendBool(dst, p.AutoCreateQueues)
	}
	if level >= 3 {
		dst = buf.AppendBool(dst, p.AutoCreateAddresses)
	}
	if level >= 4 {
		dst = buf.AppendBool(dst, p.DefaultPurgeOnNoConsumers)
		dst = buf.AppendInt32(dst, p.DefaultMaxConsumers)
		dst = buf.AppendNBool(dst, p.DefaultExclusive)
		dst = buf.AppendNBool(dst, p.DefaultLastValue)
		dst = buf.AppendNSS(dst, p.DefaultLastValueKey)
		dst = buf.AppendNBool(dst, p.DefaultNonDestructive)
		dst = buf.AppendNInt(dst, p.DefaultConsumersBeforeDispatch)
		dst = buf.AppendNLong(dst, p.DefaultDelayBeforeDispatch)
	}
	if level >= 5 {
		dst = buf.AppendBool(dst, p.SupportsMulticast)
		dst = buf.AppendBool(dst, p.SupportsAnycast)
	}
	return dst
}
