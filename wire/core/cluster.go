package core

import "github.com/saranga-mq/saranga/wire/buf"

// ClusterConnect authorizes the cluster channel.
type ClusterConnect struct {
	User, Password string // STR
}

func (*ClusterConnect) Type() Type { return TypeClusterConnect }
func (p *ClusterConnect) decode(r *buf.Reader, _ Version) {
	p.User = r.STR()
	p.Password = r.STR()
}
func (p *ClusterConnect) encode(dst []byte, _ Version) []byte {
	return buf.AppendSTR(buf.AppendSTR(dst, p.User), p.Password)
}

// ClusterConnectReply answers ClusterConnect.
type ClusterConnectReply struct {
	Authorized bool
}

func (*ClusterConnectReply) Type() Type                        { return TypeClusterConnectReply }
func (p *ClusterConnectReply) decode(r *buf.Reader, _ Version) { p.Authorized = r.Bool() }
func (p *ClusterConnectReply) encode(dst []byte, _ Version) []byte {
	return buf.AppendBool(dst, p.Authorized)
}

// NodeAnnounce makes a node, or a backup, known to another.
type NodeAnnounce struct {
	NodeID             string           // STR
	BackupGroupName    buf.Null[string] // STR
	Backup             bool
	CurrentEventID     int64 // ms
	Connector          *TransportConfiguration
	BackupConnector    *TransportConfiguration
	ScaleDownGroupName buf.Null[string] // STR
}

func (*NodeAnnounce) Type() Type { return TypeNodeAnnounce }
func (p *NodeAnnounce) decode(r *buf.Reader, _ Version) {
	p.NodeID = r.STR()
	p.BackupGroupName = r.NSTR()
	p.Backup = r.Bool()
	p.CurrentEventID = r.Int64()
	p.Connector = readOptTransport(r)
	p.BackupConnector = readOptTransport(r)
	p.ScaleDownGroupName = r.NSTR()
}
func (p *NodeAnnounce) encode(dst []byte, _ Version) []byte {
	dst = buf.AppendSTR(dst, p.NodeID)
	dst = buf.AppendNSTR(dst, p.BackupGroupName)
	dst = buf.AppendBool(dst, p.Backup)
	dst = buf.AppendInt64(dst, p.CurrentEventID)
	dst = appendOptTransport(dst, p.Connector)
	dst = appendOptTransport(dst, p.BackupConnector)
	return buf.AppendNSTR(dst, p.ScaleDownGroupName)
}

// BackupRequest asks a node to host a colocated backup.
type BackupRequest struct {
	BackupSize             int32
	JournalDirectory       buf.Null[string] // STR
	BindingsDirectory      buf.Null[string] // STR
	LargeMessagesDirectory buf.Null[string] // STR
	PagingDirectory        buf.Null[string] // STR
	NodeID                 buf.Null[string] // SS
}

func (*BackupRequest) Type() Type { return TypeBackupRequest }
func (p *BackupRequest) decode(r *buf.Reader, _ Version) {
	p.BackupSize = r.Int32()
	p.JournalDirectory = r.NSTR()
	p.BindingsDirectory = r.NSTR()
	p.LargeMessagesDirectory = r.NSTR()
	p.PagingDirectory = r.NSTR()
	p.NodeID = r.NSS()
}
func (p *BackupRequest) encode(dst []byte, _ Version) []byte {
	dst = buf.AppendInt32(dst, p.BackupSize)
	dst = buf.AppendNSTR(dst, p.JournalDirectory)
	dst = buf.AppendNSTR(dst, p.BindingsDirectory)
	dst = buf.AppendNSTR(dst, p.LargeMessagesDirectory)
	dst = buf.AppendNSTR(dst, p.PagingDirectory)
	return buf.AppendNSS(dst, p.NodeID)
}

// BackupRequestResponse answers BackupRequest.
type BackupRequestResponse struct {
	BackupStarted bool
}

func (*BackupRequestResponse) Type() Type                        { return TypeBackupRequestResponse }
func (p *BackupRequestResponse) decode(r *buf.Reader, _ Version) { p.BackupStarted = r.Bool() }
func (p *BackupRequestResponse) encode(dst []byte, _ Version) []byte {
	return buf.AppendBool(dst, p.BackupStarted)
}

// QuorumVote carries a vote, or its answer, for the handler it names, which
// alone knows what is in it: a BooleanVote is a bool, a ServerConnectVote what
// that type says.
type QuorumVote struct {
	Reply   bool   // QUORUM_VOTE_REPLY
	Handler string // SS
	Vote    []byte // the rest; view
}

func (p *QuorumVote) Type() Type {
	if p.Reply {
		return TypeQuorumVoteReply
	}
	return TypeQuorumVote
}
func (p *QuorumVote) decode(r *buf.Reader, _ Version) {
	p.Handler = r.SS()
	p.Vote = r.Bytes(r.Len())
}
func (p *QuorumVote) encode(dst []byte, _ Version) []byte {
	return append(buf.AppendSS(dst, p.Handler), p.Vote...)
}

// ServerConnectVote is the Vote that asks whether a node is still seen.
type ServerConnectVote struct {
	Vote      bool
	NodeID    string           // STR
	Connector buf.Null[string] // STR
}

// Decode reads the vote.
func (s *ServerConnectVote) Decode(vote []byte) error {
	r := buf.NewReader(vote)
	s.Vote = r.Bool()
	s.NodeID = r.STR()
	s.Connector = r.NSTR()
	return finish(&r, TypeQuorumVote)
}

// Append appends the vote.
func (s *ServerConnectVote) Append(dst []byte) []byte {
	return buf.AppendNSTR(buf.AppendSTR(buf.AppendBool(dst, s.Vote), s.NodeID), s.Connector)
}

// ScaleDownAnnouncement tells that a node's messages have gone to another.
type ScaleDownAnnouncement struct {
	TargetNodeID     string // SS
	ScaledDownNodeID string // SS
}

func (*ScaleDownAnnouncement) Type() Type { return TypeScaleDownAnnouncement }
func (p *ScaleDownAnnouncement) decode(r *buf.Reader, _ Version) {
	p.TargetNodeID = r.SS()
	p.ScaledDownNodeID = r.SS()
}
func (p *ScaleDownAnnouncement) encode(dst []byte, _ Version) []byte {
	return buf.AppendSS(buf.AppendSS(dst, p.TargetNodeID), p.ScaledDownNodeID)
}

// BackupRegistration asks a primary to replicate to the sender.
type BackupRegistration struct {
	User, Password string // STR; not checked again
	WantsFailBack  bool
	Connector      TransportConfiguration
}

func (*BackupRegistration) Type() Type { return TypeBackupRegistration }
func (p *BackupRegistration) decode(r *buf.Reader, _ Version) {
	p.User = r.STR()
	p.Password = r.STR()
	p.WantsFailBack = r.Bool()
	p.Connector = *ReadTransportConfiguration(r)
}
func (p *BackupRegistration) encode(dst []byte, _ Version) []byte {
	dst = buf.AppendSTR(buf.AppendSTR(dst, p.User), p.Password)
	return p.Connector.Append(buf.AppendBool(dst, p.WantsFailBack))
}

// Problems of a BackupRegistrationFailed.
const (
	BackupProblemException          int32 = 0
	BackupProblemAuthentication     int32 = 1
	BackupProblemAlreadyReplicating int32 = 2
)

// BackupRegistrationFailed refuses a BackupRegistration.
type BackupRegistrationFailed struct {
	Problem int32
}

func (*BackupRegistrationFailed) Type() Type                        { return TypeBackupRegistrationFailed }
func (p *BackupRegistrationFailed) decode(r *buf.Reader, _ Version) { p.Problem = r.Int32() }
func (p *BackupRegistrationFailed) encode(dst []byte, _ Version) []byte {
	return buf.AppendInt32(dst, p.Problem)
}
