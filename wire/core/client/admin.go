package client

import (
	"context"

	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// QueueOptions describe a queue to create. Attributes left null follow the
// address settings.
type QueueOptions struct {
	Address      string // empty: the queue's name
	Name         string
	Filter       string
	Durable      bool
	Temporary    bool
	AutoCreated  bool
	RoutingType  core.RoutingType
	MaxConsumers int32 // 0 is -1: no limit
	Purge        bool  // purge on no consumers
	core.QueueAttributes
}

// CreateQueue creates a queue, and its address if that is permitted.
func (s *Session) CreateQueue(ctx context.Context, o QueueOptions) error {
	base := core.CreateQueue{Address: o.Address, Name: o.Name, Filter: optional(o.Filter), Durable: o.Durable, Temporary: o.Temporary, RequiresResponse: true}
	if base.Address == "" {
		base.Address = o.Name
	}
	maxConsumers := o.MaxConsumers
	if maxConsumers == 0 {
		maxConsumers = -1
	}
	var p core.Packet = &core.CreateQueueV2{CreateQueue: base, AutoCreated: o.AutoCreated, RoutingType: o.RoutingType,
		MaxConsumers: maxConsumers, PurgeOnNoConsumers: o.Purge, QueueAttributes: o.QueueAttributes}
	if s.c.wireVersion().BeforeAddressChange() {
		p = &base
	}
	return wrap(s.null(ctx, p), "create queue %s", o.Name)
}

// CreateSharedQueue creates a queue unless one of the same name, address and
// filter is there. Temporary and AutoCreated are not used.
func (s *Session) CreateSharedQueue(ctx context.Context, o QueueOptions) error {
	p := &core.CreateSharedQueueV2{Address: o.Address, Name: o.Name, Filter: optional(o.Filter), Durable: o.Durable, RoutingType: o.RoutingType,
		RequiresResponse: true, QueueAttributes: o.QueueAttributes}
	if p.Address == "" {
		p.Address = o.Name
	}
	if o.MaxConsumers != 0 {
		p.MaxConsumers = buf.Of(o.MaxConsumers)
	}
	if o.Purge {
		p.PurgeOnNoConsumers = buf.Of(true)
	}
	return wrap(s.null(ctx, p), "create shared queue %s", o.Name)
}

// DeleteQueue removes a queue that has no consumers.
func (s *Session) DeleteQueue(ctx context.Context, name string) error {
	return wrap(s.null(ctx, &core.DeleteQueue{Name: name}), "delete queue %s", name)
}

// CreateAddress creates an address.
func (s *Session) CreateAddress(ctx context.Context, address string, autoCreated bool, types ...core.RoutingType) error {
	return wrap(s.null(ctx, &core.CreateAddress{Address: address, RoutingTypes: types, RequiresResponse: true, AutoCreated: autoCreated}),
		"create address %s", address)
}

// QueueQuery returns the state of a queue. Of one that is not there Exists is false.
func (s *Session) QueueQuery(ctx context.Context, name string) (*core.QueueQueryResponse, error) {
	p, err := s.call(ctx, &core.QueueQuery{Name: name}, core.TypeQueueQueryResponseV3, nil)
	if err != nil {
		return nil, wrap(err, "query queue %s", name)
	}
	return p.(*core.QueueQueryResponse), nil
}

// AddressQuery returns the state of an address. Of one that is not there Exists is false.
func (s *Session) AddressQuery(ctx context.Context, address string) (*core.BindingQueryResponse, error) {
	p, err := s.call(ctx, &core.BindingQuery{Address: address}, core.TypeBindingQueryResponseV5, nil)
	if err != nil {
		return nil, wrap(err, "query address %s", address)
	}
	return p.(*core.BindingQueryResponse), nil
}

// optional makes an empty text null.
func optional(text string) buf.Null[string] { return buf.Null[string]{V: text, Valid: text != ""} }
