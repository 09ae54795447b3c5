package core

// Version is the "incrementing version" of a connection. 0 means that the peer
// has not told it yet, and each predicate has its own answer to that.
type Version int32

// Versions served. A session with any other is refused with
// IncompatibleVersions.
const (
	VersionMin     Version = 121
	VersionCurrent Version = 136
)

// Compatible reports whether a session may be created with v.
func (v Version) Compatible() bool { return v >= VersionMin && v <= VersionCurrent }

// BeforeAddressChange: 1.x message form, names with the jms.queue. and
// jms.topic. prefixes (below 2.0.0).
func (v Version) BeforeAddressChange() bool { return v > 0 && v < 129 }

// BeforeAsyncResponseChange: no correlation ids (below 2.7.0).
func (v Version) BeforeAsyncResponseChange() bool { return v > 0 && v < 130 }

// ConsumerPriority: CREATECONSUMER has a priority.
func (v Version) ConsumerPriority() bool { return v >= 130 }

// NewFQQN: a binding query of address::queue is answered with bare queue names.
func (v Version) NewFQQN() bool { return v >= 130 }

// ClientID: CREATESESSION_V2 and connection routing.
func (v Version) ClientID() bool { return v >= 131 }

// CommitV2: SESS_COMMIT has a correlation id.
func (v Version) CommitV2() bool { return v >= 132 }

// LongPageNumbers: 64-bit page numbers in replication.
func (v Version) LongPageNumbers() bool { return v >= 133 }

// BeforeTwoEighteen: the operation of a replicated record is a bool.
func (v Version) BeforeTwoEighteen() bool { return v < 131 }

// BeforeProducerMetrics: no sender ids.
func (v Version) BeforeProducerMetrics() bool { return v < 134 }

// ConsumerKill: DISCONNECT_CONSUMER_KILL may be sent.
func (v Version) ConsumerKill() bool { return v >= 128 }

// QueueQueryForm returns the packet type that answers a queue query.
func (v Version) QueueQueryForm() Type {
	switch {
	case v == 0 || v >= 129:
		return TypeQueueQueryResponseV3
	case v >= 126:
		return TypeQueueQueryResponseV2
	}
	return TypeQueueQueryResponse
}

// BindingQueryForm returns the packet type that answers a binding query.
func (v Version) BindingQueryForm() Type {
	switch {
	case v >= 135:
		return TypeBindingQueryResponseV5
	case v == 0 || v >= 129:
		return TypeBindingQueryResponseV4
	case v >= 127:
		return TypeBindingQueryResponseV3
	case v >= 126:
		return TypeBindingQueryResponseV2
	}
	return TypeBindingQueryResponse
}

// TopologyForm returns the packet type that tells a node. An acceptor without
// a cluster connection uses V2 where this says V3.
func (v Version) TopologyForm() Type {
	switch {
	case v >= 131:
		return TypeClusterTopologyV4
	case v >= 125:
		return TypeClusterTopologyV3
	case v >= 122:
		return TypeClusterTopologyV2
	}
	return TypeClusterTopology
}

// DisconnectForm returns the packet type that ends a connection.
func (v Version) DisconnectForm() Type {
	switch {
	case v >= 131:
		return TypeDisconnectV3
	case v >= 125:
		return TypeDisconnectV2
	}
	return TypeDisconnect
}
