package core

import "github.com/saranga-mq/saranga/wire/buf"

// Ping tells that the sender lives. A server takes the TTL over and sends the
// packet back.
type Ping struct {
	TTL int64 // ms without a byte after which the connection counts as dead; -1: never
}

func (*Ping) Type() Type                            { return TypePing }
func (p *Ping) decode(r *buf.Reader, _ Version)     { p.TTL = r.Int64() }
func (p *Ping) encode(dst []byte, _ Version) []byte { return buf.AppendInt64(dst, p.TTL) }

// Exception answers a request that failed, or ends a session's request of
// another kind. The correlation id is there if the request had the field.
type Exception struct {
	Code          Code
	Message       buf.Null[string] // STR
	CorrelationID buf.Null[int64]  // opt
}

func (*Exception) Type() Type { return TypeException }
func (p *Exception) decode(r *buf.Reader, _ Version) {
	p.Code = Code(r.Int32())
	p.Message = r.NSTR()
	p.CorrelationID = optCorrelation(r)
}
func (p *Exception) encode(dst []byte, _ Version) []byte {
	dst = buf.AppendInt32(dst, int32(p.Code))
	dst = buf.AppendNSTR(dst, p.Message)
	return appendOptCorrelation(dst, p.CorrelationID)
}

// Err returns the exception as an error.
func (p *Exception) Err() *Error { return &Error{Code: p.Code, Message: p.Message.V} }

// optCorrelation reads a correlation id that may be left out.
func optCorrelation(r *buf.Reader) buf.Null[int64] {
	if r.Len() < 8 {
		return buf.Null[int64]{}
	}
	return buf.Of(r.Int64())
}

func appendOptCorrelation(dst []byte, id buf.Null[int64]) []byte {
	if !id.Valid {
		return dst
	}
	return buf.AppendInt64(dst, id.V)
}

// NoCorrelation is the correlation id of an answer to a request without one.
const NoCorrelation = -1

// NullResponse answers a request that has nothing to tell. From version 130 it
// carries the request's correlation id, or NoCorrelation.
type NullResponse struct {
	CorrelationID int64
}

func (*NullResponse) Type() Type { return TypeNullResponse }
func (p *NullResponse) decode(r *buf.Reader, _ Version) {
	p.CorrelationID = optCorrelation(r).Or(NoCorrelation)
}
func (p *NullResponse) encode(dst []byte, v Version) []byte {
	if v.BeforeAsyncResponseChange() {
		return dst
	}
	return buf.AppendInt64(dst, p.CorrelationID)
}

// Append appends the whole frame. It does not allocate.
func (p *NullResponse) Append(dst []byte, channel int64, v Version) []byte {
	dst, at := begin(dst, TypeNullResponse, channel)
	return end(p.encode(dst, v), at)
}

// Decode reads the payload. It does not allocate.
func (p *NullResponse) Decode(payload []byte, v Version) error {
	r := buf.NewReader(payload)
	p.decode(&r, v)
	return finish(&r, TypeNullResponse)
}

// PacketsConfirmed tells the last packet of the channel that was processed.
type PacketsConfirmed struct {
	CommandID int32
}

func (*PacketsConfirmed) Type() Type                        { return TypePacketsConfirmed }
func (p *PacketsConfirmed) decode(r *buf.Reader, _ Version) { p.CommandID = r.Int32() }
func (p *PacketsConfirmed) encode(dst []byte, _ Version) []byte {
	return buf.AppendInt32(dst, p.CommandID)
}

// Append appends the whole frame. It does not allocate.
func (p *PacketsConfirmed) Append(dst []byte, channel int64) []byte {
	return buf.AppendInt32(appendHeader(dst, TypePacketsConfirmed, channel, 4), p.CommandID)
}

// Decode reads the payload. It does not allocate.
func (p *PacketsConfirmed) Decode(payload []byte) error {
	r := buf.NewReader(payload)
	p.decode(&r, 0)
	return finish(&r, TypePacketsConfirmed)
}

// CreateSession asks for a session on a channel the client chose. Form is
// TypeCreateSession, or TypeCreateSessionV2 which has the client id; zero is
// the one the version calls for.
type CreateSession struct {
	Form                   Type
	Name                   string // STR; UUID text, the key of a reattachment
	ChannelID              int64
	Version                Version
	User                   buf.Null[string] // STR
	Password               buf.Null[string] // STR
	MinLargeMessageSize    int32            // bytes; also the chunk size of large messages delivered
	XA                     bool
	AutoCommitSends        bool
	AutoCommitAcks         bool
	ConfirmationWindowSize int32 // bytes, -1: off
	PreAcknowledge         bool
	DefaultAddress         buf.Null[string] // STR
	ClientID               buf.Null[string] // STR; V2 only
}

func (p *CreateSession) Type() Type { return p.form(VersionCurrent) }
func (p *CreateSession) form(v Version) Type {
	if p.Form != 0 {
		return p.Form
	}
	if v.ClientID() {
		return TypeCreateSessionV2
	}
	return TypeCreateSession
}
func (p *CreateSession) decode(r *buf.Reader, _ Version) {
	p.Name = r.STR()
	p.ChannelID = r.Int64()
	p.Version = Version(r.Int32())
	p.User = r.NSTR()
	p.Password = r.NSTR()
	p.MinLargeMessageSize = r.Int32()
	p.XA = r.Bool()
	p.AutoCommitSends = r.Bool()
	p.AutoCommitAcks = r.Bool()
	p.ConfirmationWindowSize = r.Int32()
	p.PreAcknowledge = r.Bool()
	p.DefaultAddress = r.NSTR()
	if p.Form == TypeCreateSessionV2 {
		p.ClientID = r.NSTR()
	}
}
func (p *CreateSession) encode(dst []byte, v Version) []byte {
	dst = buf.AppendSTR(dst, p.Name)
	dst = buf.AppendInt64(dst, p.ChannelID)
	dst = buf.AppendInt32(dst, int32(p.Version))
	dst = buf.AppendNSTR(dst, p.User)
	dst = buf.AppendNSTR(dst, p.Password)
	dst = buf.AppendInt32(dst, p.MinLargeMessageSize)
	dst = buf.AppendBool(dst, p.XA)
	dst = buf.AppendBool(dst, p.AutoCommitSends)
	dst = buf.AppendBool(dst, p.AutoCommitAcks)
	dst = buf.AppendInt32(dst, p.ConfirmationWindowSize)
	dst = buf.AppendBool(dst, p.PreAcknowledge)
	dst = buf.AppendNSTR(dst, p.DefaultAddress)
	if p.form(v) == TypeCreateSessionV2 {
		dst = buf.AppendNSTR(dst, p.ClientID)
	}
	return dst
}

// CreateSessionResponse tells the server's highest version, not the agreed one.
type CreateSessionResponse struct {
	ServerVersion Version
}

func (*CreateSessionResponse) Type() Type { return TypeCreateSessionResponse }
func (p *CreateSessionResponse) decode(r *buf.Reader, _ Version) {
	p.ServerVersion = Version(r.Int32())
}
func (p *CreateSessionResponse) encode(dst []byte, _ Version) []byte {
	return buf.AppendInt32(dst, int32(p.ServerVersion))
}

// ReattachSession asks to go on with a session after its connection was cut.
type ReattachSession struct {
	Name                   string // STR
	LastConfirmedCommandID int32  // -1: nothing received
}

func (*ReattachSession) Type() Type { return TypeReattachSession }
func (p *ReattachSession) decode(r *buf.Reader, _ Version) {
	p.Name = r.STR()
	p.LastConfirmedCommandID = r.Int32()
}
func (p *ReattachSession) encode(dst []byte, _ Version) []byte {
	return buf.AppendInt32(buf.AppendSTR(dst, p.Name), p.LastConfirmedCommandID)
}

// ReattachSessionResponse answers ReattachSession.
type ReattachSessionResponse struct {
	LastConfirmedCommandID int32
	Reattached             bool
}

func (*ReattachSessionResponse) Type() Type { return TypeReattachSessionResponse }
func (p *ReattachSessionResponse) decode(r *buf.Reader, _ Version) {
	p.LastConfirmedCommandID = r.Int32()
	p.Reattached = r.Bool()
}
func (p *ReattachSessionResponse) encode(dst []byte, _ Version) []byte {
	return buf.AppendBool(buf.AppendInt32(dst, p.LastConfirmedCommandID), p.Reattached)
}

// Start lets the session's consumers get messages.
type Start struct{}

func (*Start) Type() Type                          { return TypeStart }
func (*Start) decode(*buf.Reader, Version)         {}
func (*Start) encode(dst []byte, _ Version) []byte { return dst }

// Stop suspends delivery to the session's consumers.
type Stop struct{}

func (*Stop) Type() Type                          { return TypeStop }
func (*Stop) decode(*buf.Reader, Version)         {}
func (*Stop) encode(dst []byte, _ Version) []byte { return dst }

// Close ends the session.
type Close struct{}

func (*Close) Type() Type                          { return TypeClose }
func (*Close) decode(*buf.Reader, Version)         {}
func (*Close) encode(dst []byte, _ Version) []byte { return dst }

// AddMetadata attaches a key and a value to the session. Form is
// TypeAddMetadata, which has no last field and is always answered,
// TypeAddMetadata2, or TypeUniqueAddMetadata, which fails when another session
// of the server has the pair. Zero is TypeAddMetadata2.
type AddMetadata struct {
	Form                 Type
	Key, Data            string // STR
	RequiresConfirmation bool
}

func (p *AddMetadata) Type() Type {
	if p.Form == 0 {
		return TypeAddMetadata2
	}
	return p.Form
}
func (p *AddMetadata) decode(r *buf.Reader, _ Version) {
	p.Key = r.STR()
	p.Data = r.STR()
	if p.Form != TypeAddMetadata {
		p.RequiresConfirmation = r.Bool()
	}
}
func (p *AddMetadata) encode(dst []byte, _ Version) []byte {
	dst = buf.AppendSTR(buf.AppendSTR(dst, p.Key), p.Data)
	if p.Form != TypeAddMetadata {
		dst = buf.AppendBool(dst, p.RequiresConfirmation)
	}
	return dst
}

// CheckForFailover asks whether a client of the node may go on here.
type CheckForFailover struct {
	NodeID buf.Null[string] // STR
}

func (*CheckForFailover) Type() Type                        { return TypeCheckForFailover }
func (p *CheckForFailover) decode(r *buf.Reader, _ Version) { p.NodeID = r.NSTR() }
func (p *CheckForFailover) encode(dst []byte, _ Version) []byte {
	return buf.AppendNSTR(dst, p.NodeID)
}

// CheckForFailoverReply answers CheckForFailover.
type CheckForFailoverReply struct {
	OK bool
}

func (*CheckForFailoverReply) Type() Type                        { return TypeCheckForFailoverReply }
func (p *CheckForFailoverReply) decode(r *buf.Reader, _ Version) { p.OK = r.Bool() }
func (p *CheckForFailoverReply) encode(dst []byte, _ Version) []byte {
	return buf.AppendBool(dst, p.OK)
}

// Reason tells why a connection ends.
type Reason int8

// Reasons of a Disconnect. A normal stop of a server is ScaleDown without a target.
const (
	ReasonNone                    Reason = -1
	ReasonRedirect                Reason = 0
	ReasonRedirectOnCriticalError Reason = 1
	ReasonScaleDown               Reason = 2
	ReasonScaleDownOnCritical     Reason = 3
	ReasonShutDown                Reason = 4
	ReasonShutDownOnCriticalError Reason = 5
)

// Disconnect announces the end of the connection. Form is TypeDisconnect (node
// id alone), TypeDisconnectV2 (with the target of a scale-down) or
// TypeDisconnectV3 (all but that); zero is the one the version calls for.
type Disconnect struct {
	Form            Type
	NodeID          buf.Null[string] // SS
	ScaleDownNodeID buf.Null[string] // SS; V2
	Reason          Reason           // V3
	TargetNodeID    buf.Null[string] // SS; V3
	TargetConnector *TransportConfiguration
}

func (p *Disconnect) Type() Type { return p.form(VersionCurrent) }
func (p *Disconnect) form(v Version) Type {
	if p.Form != 0 {
		return p.Form
	}
	return v.DisconnectForm()
}
func (p *Disconnect) decode(r *buf.Reader, _ Version) {
	p.NodeID = r.NSS()
	switch p.Form {
	case TypeDisconnectV2:
		p.ScaleDownNodeID = r.NSS()
	case TypeDisconnectV3:
		p.Reason = Reason(r.Int8())
		p.TargetNodeID = r.NSS()
		p.TargetConnector = readOptTransport(r)
	}
}
func (p *Disconnect) encode(dst []byte, v Version) []byte {
	dst = buf.AppendNSS(dst, p.NodeID)
	switch p.form(v) {
	case TypeDisconnectV2:
		dst = buf.AppendNSS(dst, p.ScaleDownNodeID)
	case TypeDisconnectV3:
		dst = buf.AppendInt8(dst, int8(p.Reason))
		dst = buf.AppendNSS(dst, p.TargetNodeID)
		dst = appendOptTransport(dst, p.TargetConnector)
	}
	return dst
}
