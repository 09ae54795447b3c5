package core

import (
	"fmt"

	"github.com/saranga-mq/saranga/wire/buf"
)

// Class names that tell the kinds of a federation policy on the wire.
const (
	federationPolicySet     = "org.apache.activemq.artemis.core.config.federation.FederationPolicySet"
	federationQueuePolicy   = "org.apache.activemq.artemis.core.config.federation.FederationQueuePolicyConfiguration"
	federationAddressPolicy = "org.apache.activemq.artemis.core.config.federation.FederationAddressPolicyConfiguration"
)

// FederationDownstreamConnect asks a broker to federate from the sender. On
// the wire: STR name, bool has credentials and them, i32 n policies (each STR
// class name and its fields), i32 n transformers, stream, TransportConfiguration upstream.
type FederationDownstreamConnect struct {
	Name         string
	Credentials  *FederationCredentials
	Policies     []FederationPolicy // in the order of the wire
	Transformers []FederationTransformer
	Stream       FederationStream
	Upstream     TransportConfiguration
}

// FederationCredentials are nSTR user, nSTR password.
type FederationCredentials struct {
	User, Password buf.Null[string]
}

// FederationPolicy is one of *FederationPolicySet, *FederationQueuePolicy and
// *FederationAddressPolicy.
type FederationPolicy interface {
	class() string
	encode(dst []byte) []byte
	decode(r *buf.Reader)
}

// FederationPolicySet names other policies: STR name, i32 n, n STR.
type FederationPolicySet struct {
	Name       string
	PolicyRefs []string
}

// FederationQueuePolicy tells which queues to federate.
type FederationQueuePolicy struct {
	Name               string // STR
	IncludeFederated   bool
	PriorityAdjustment buf.Null[int32]
	TransformerRef     buf.Null[string] // STR
	Includes, Excludes []FederationMatcher
}

// FederationMatcher matches queues: nSTR address match, nSTR queue match.
type FederationMatcher struct {
	AddressMatch, QueueMatch buf.Null[string]
}

// FederationAddressPolicy tells which addresses to federate.
type FederationAddressPolicy struct {
	Name                   string // STR
	AutoDelete             buf.Null[bool]
	AutoDeleteDelay        buf.Null[int64] // ms
	AutoDeleteMessageCount buf.Null[int64]
	MaxHops                int32
	TransformerRef         buf.Null[string] // STR
	Includes, Excludes     []string         // i32 n, n STR: address matches
	EnableDivertBindings   bool
}

// FederationTransformer is STR name, STR class name, i32 n, n times STR key, STR value.
type FederationTransformer struct {
	Name, Class string
	Properties  [][2]string // in the order of the wire
}

// FederationStream is STR name, connection, i32 n, n STR policy references.
type FederationStream struct {
	Name       string
	Connection FederationConnection
	PolicyRefs []string
}

// FederationConnection tells how to connect. All times are in ms.
type FederationConnection struct {
	User, Password           buf.Null[string] // STR
	ShareConnection          bool
	PriorityAdjustment       int32
	ClientFailureCheckPeriod int64
	ConnectionTTL            int64
	RetryInterval            int64
	RetryIntervalMultiplier  float64
	MaxRetryInterval         int64 // Artemis puts RetryInterval here again
	InitialConnectAttempts   int32
	ReconnectAttempts        int32
	CallTimeout              int64
	CallFailoverTimeout      int64
}

func (*FederationDownstreamConnect) Type() Type { return TypeFederationDownstreamConnect }
func (p *FederationDownstreamConnect) decode(r *buf.Reader, _ Version) {
	p.Name = r.STR()
	if r.Bool() {
		p.Credentials = &FederationCredentials{User: r.NSTR(), Password: r.NSTR()}
	}
	p.Policies = readList(r, 8, func(r *buf.Reader) (policy FederationPolicy) {
		switch class := r.STR(); class {
		case federationPolicySet:
			policy = new(FederationPolicySet)
		case federationQueuePolicy:
			policy = new(FederationQueuePolicy)
		case federationAddressPolicy:
			policy = new(FederationAddressPolicy)
		default:
			r.Fail(fmt.Sprintf("federation policy class %q", class))
			return nil
		}
		policy.decode(r)
		return policy
	})
	p.Transformers = readList(r, 12, func(r *buf.Reader) FederationTransformer {
		return FederationTransformer{Name: r.STR(), Class: r.STR(),
			Properties: readList(r, 8, func(r *buf.Reader) [2]string { return [2]string{r.STR(), r.STR()} })}
	})
	p.Stream.decode(r)
	p.Upstream = *ReadTransportConfiguration(r)
}
func (p *FederationDownstreamConnect) encode(dst []byte, _ Version) []byte {
	dst = buf.AppendSTR(dst, p.Name)
	dst = buf.AppendBool(dst, p.Credentials != nil)
	if p.Credentials != nil {
		dst = buf.AppendNSTR(buf.AppendNSTR(dst, p.Credentials.User), p.Credentials.Password)
	}
	dst = appendList(dst, p.Policies, func(dst []byte, policy FederationPolicy) []byte {
		return policy.encode(buf.AppendSTR(dst, policy.class()))
	})
	dst = appendList(dst, p.Transformers, func(dst []byte, t FederationTransformer) []byte {
		dst = buf.AppendSTR(buf.AppendSTR(dst, t.Name), t.Class)
		return appendList(dst, t.Properties, func(dst []byte, kv [2]string) []byte {
			return buf.AppendSTR(buf.AppendSTR(dst, kv[0]), kv[1])
		})
	})
	return p.Upstream.Append(p.Stream.encode(dst))
}

func (*FederationPolicySet) class() string { return federationPolicySet }
func (p *FederationPolicySet) decode(r *buf.Reader) {
	p.Name = r.STR()
	p.PolicyRefs = readList(r, 4, (*buf.Reader).STR)
}
func (p *FederationPolicySet) encode(dst []byte) []byte {
	return appendList(buf.AppendSTR(dst, p.Name), p.PolicyRefs, buf.AppendSTR)
}

func (*FederationQueuePolicy) class() string { return federationQueuePolicy }
func (p *FederationQueuePolicy) decode(r *buf.Reader) {
	matcher := func(r *buf.Reader) FederationMatcher {
		return FederationMatcher{AddressMatch: r.NSTR(), QueueMatch: r.NSTR()}
	}
	p.Name = r.STR()
	p.IncludeFederated = r.Bool()
	p.PriorityAdjustment = r.NInt()
	p.TransformerRef = r.NSTR()
	p.Includes = readList(r, 2, matcher)
	p.Excludes = readList(r, 2, matcher)
}
func (p *FederationQueuePolicy) encode(dst []byte) []byte {
	matcher := func(dst []byte, m FederationMatcher) []byte {
		return buf.AppendNSTR(buf.AppendNSTR(dst, m.AddressMatch), m.QueueMatch)
	}
	dst = buf.AppendSTR(dst, p.Name)
	dst = buf.AppendBool(dst, p.IncludeFederated)
	dst = buf.AppendNInt01(dst, p.PriorityAdjustment)
	dst = buf.AppendNSTR(dst, p.TransformerRef)
	return appendList(appendList(dst, p.Includes, matcher), p.Excludes, matcher)
}

func (*FederationAddressPolicy) class() string { return federationAddressPolicy }
func (p *FederationAddressPolicy) decode(r *buf.Reader) {
	p.Name = r.STR()
	p.AutoDelete = r.NBool()
	p.AutoDeleteDelay = r.NLong()
	p.AutoDeleteMessageCount = r.NLong()
	p.MaxHops = r.Int32()
	p.TransformerRef = r.NSTR()
	p.Includes = readList(r, 4, (*buf.Reader).STR)
	p.Excludes = readList(r, 4, (*buf.Reader).STR)
	p.EnableDivertBindings = r.Bool()
}
func (p *FederationAddressPolicy) encode(dst []byte) []byte {
	dst = buf.AppendSTR(dst, p.Name)
	dst = buf.AppendNBool01(dst, p.AutoDelete)
	dst = buf.AppendNLong01(dst, p.AutoDeleteDelay)
	dst = buf.AppendNLong01(dst, p.AutoDeleteMessageCount)
	dst = buf.AppendInt32(dst, p.MaxHops)
	dst = buf.AppendNSTR(dst, p.TransformerRef)
	dst = appendList(appendList(dst, p.Includes, buf.AppendSTR), p.Excludes, buf.AppendSTR)
	return buf.AppendBool(dst, p.EnableDivertBindings)
}

func (s *FederationStream) decode(r *buf.Reader) {
	s.Name = r.STR()
	c := &s.Connection
	c.User = r.NSTR()
	c.Password = r.NSTR()
	c.ShareConnection = r.Bool()
	c.PriorityAdjustment = r.Int32()
	c.ClientFailureCheckPeriod = r.Int64()
	c.ConnectionTTL = r.Int64()
	c.RetryInterval = r.Int64()
	c.RetryIntervalMultiplier = r.Float64()
	c.MaxRetryInterval = r.Int64()
	c.InitialConnectAttempts = r.Int32()
	c.ReconnectAttempts = r.Int32()
	c.CallTimeout = r.Int64()
	c.CallFailoverTimeout = r.Int64()
	s.PolicyRefs = readList(r, 4, (*buf.Reader).STR)
}
func (s *FederationStream) encode(dst []byte) []byte {
	c := &s.Connection
	dst = buf.AppendSTR(dst, s.Name)
	dst = buf.AppendNSTR(buf.AppendNSTR(dst, c.User), c.Password)
	dst = buf.AppendBool(dst, c.ShareConnection)
	dst = buf.AppendInt32(dst, c.PriorityAdjustment)
	dst = buf.AppendInt64(dst, c.ClientFailureCheckPeriod)
	dst = buf.AppendInt64(dst, c.ConnectionTTL)
	dst = buf.AppendInt64(dst, c.RetryInterval)
	dst = buf.AppendFloat64(dst, c.RetryIntervalMultiplier)
	dst = buf.AppendInt64(dst, c.MaxRetryInterval)
	dst = buf.AppendInt32(dst, c.InitialConnectAttempts)
	dst = buf.AppendInt32(dst, c.ReconnectAttempts)
	dst = buf.AppendInt64(dst, c.CallTimeout)
	dst = buf.AppendInt64(dst, c.CallFailoverTimeout)
	return appendList(dst, s.PolicyRefs, buf.AppendSTR)
}

// readList reads i32 n and n items of at least size bytes each.
func readList[T any](r *buf.Reader, size int, read func(*buf.Reader) T) []T {
	var list []T
	n := r.Count(size)
	for i := 0; i < n && r.Err() == nil; i++ {
		list = append(list, read(r))
	}
	return list
}

func appendList[T any](dst []byte, list []T, write func([]byte, T) []byte) []byte {
	dst = buf.AppendInt32(dst, int32(len(list)))
	for _, item := range list {
		dst = write(dst, item)
	}
	return dst
}
