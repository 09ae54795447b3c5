package broker

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/saranga-mq/saranga/broker/message"
)

// RoutingTypes is the set of routing types of an address.
type RoutingTypes uint8

const (
	MulticastSet RoutingTypes = 1 << message.Multicast
	AnycastSet   RoutingTypes = 1 << message.Anycast
)

// Has tells whether t is in the set; Unspecified is in every set.
func (r RoutingTypes) Has(t message.RoutingType) bool {
	return t == message.Unspecified || r&(1<<t) != 0
}

// SetOf returns the set of the given types.
func SetOf(types ...message.RoutingType) RoutingTypes {
	var r RoutingTypes
	for _, t := range types {
		if t != message.Unspecified {
			r |= 1 << t
		}
	}
	return r
}

// List returns the types in the order MULTICAST, ANYCAST.
func (r RoutingTypes) List() []message.RoutingType {
	var out []message.RoutingType
	for _, t := range []message.RoutingType{message.Multicast, message.Anycast} {
		if r&(1<<t) != 0 {
			out = append(out, t)
		}
	}
	return out
}

// QueueConfig is every attribute of a queue (queue-semantics §4). Its zero value is not the default: see NewQueueConfig.
type QueueConfig struct {
	Name                    string
	Address                 string
	Routing                 message.RoutingType
	Filter                  string
	Durable                 bool
	Temporary               bool // deleted with its connection
	AutoCreated             bool
	Internal                bool
	Transient               bool // deleted with its last consumer: a shared non-durable subscription
	ConfigurationManaged    bool
	User                    string
	MaxConsumers            int32 // -1: no limit
	PurgeOnNoConsumers      bool
	Exclusive               bool
	LastValue               bool
	LastValueKey            string
	NonDestructive          bool
	ConsumersBeforeDispatch int32
	DelayBeforeDispatch     int64 // ms, -1: none
	GroupRebalance          bool
	GroupRebalancePauseDisp bool
	GroupBuckets            int32 // -1: no limit, 0: no grouping
	GroupFirstKey           string
	AutoDelete              bool
	AutoDeleteDelay         int64 // ms
	AutoDeleteMessageCount  int64 // -1: any
	RingSize                int64 // -1: no limit
	Enabled                 bool
}

// NewQueueConfig returns a durable multicast queue of that name on the address of that name, everything else at the
// built-in defaults.
func NewQueueConfig(name string) QueueConfig {
	return QueueConfig{Name: name, Address: name, Routing: message.Multicast, Durable: true, MaxConsumers: -1,
		DelayBeforeDispatch: -1, GroupBuckets: -1, RingSize: -1, Enabled: true}
}

// DivertConfig describes a divert.
type DivertConfig struct {
	Name             string
	Address          string
	ForwardAddress   string
	RoutingName      string
	Exclusive        bool
	Filter           string
	RoutingType      DivertRouting
	TransformerClass string
	TransformerProps map[string]string
}

// DivertRouting says what a divert does to a message's routing type.
type DivertRouting int8

const (
	DivertMulticast DivertRouting = 0
	DivertAnycast   DivertRouting = 1
	DivertStrip     DivertRouting = 2
	DivertPass      DivertRouting = 3
)

// Base64 is the id as operators name it: the branch, the global id and the format, little-endian, in base64.
func (x Xid) Base64() string {
	b := append([]byte(x.Branch), x.Global...)
	return base64.StdEncoding.EncodeToString(binary.LittleEndian.AppendUint32(b, uint32(x.Format)))
}

// String is the id as Artemis prints it, which begins with a number that is of no use to anybody.
func (x Xid) String() string {
	dots := func(s string) string {
		parts := make([]string, len(s))
		for i := range s {
			parts[i] = strconv.Itoa(int(int8(s[i])))
		}
		return strings.Join(parts, ".")
	}
	h := fnv.New32a()
	h.Write([]byte(x.Branch + x.Global))
	return fmt.Sprintf("XidImpl (%d bq:%s formatID:%d gtxid:%s base64:%s", h.Sum32()&0x7fffffff, dots(x.Branch), x.Format, dots(x.Global), x.Base64())
}
