package core

import "github.com/saranga-mq/saranga/wire/buf"

// SubscribeTopology asks for the nodes of the cluster, now and whenever they
// change. Form is TypeSubscribeTopology or TypeSubscribeTopologyV2, which
// tells the client's version; zero is V2.
type SubscribeTopology struct {
	Form              Type
	ClusterConnection bool
	ClientVersion     Version // V2
}

func (p *SubscribeTopology) Type() Type {
	if p.Form == 0 {
		return TypeSubscribeTopologyV2
	}
	return p.Form
}
func (p *SubscribeTopology) decode(r *buf.Reader, _ Version) {
	p.ClusterConnection = r.Bool()
	if p.Form == TypeSubscribeTopologyV2 {
		p.ClientVersion = Version(r.Int32())
	}
}
func (p *SubscribeTopology) encode(dst []byte, _ Version) []byte {
	dst = buf.AppendBool(dst, p.ClusterConnection)
	if p.Type() == TypeSubscribeTopologyV2 {
		dst = buf.AppendInt32(dst, int32(p.ClientVersion))
	}
	return dst
}

// ClusterTopology tells of one node. Form is TypeClusterTopology, …V2, …V3 or
// …V4; zero is the one the version calls for.
type ClusterTopology struct {
	Form               Type
	Exit               bool   // the node left; the four fields from Primary on are not sent
	NodeID             string // STR
	UniqueEventID      int64  // V2; ms
	Primary            *TransportConfiguration
	Backup             *TransportConfiguration
	Last               bool             // the last node of an answer to SubscribeTopology
	BackupGroupName    buf.Null[string] // STR; V2, opt
	ScaleDownGroupName buf.Null[string] // STR; V3
	ServerVersion      Version          // V4
}

func (p *ClusterTopology) Type() Type { return p.form(VersionCurrent) }
func (p *ClusterTopology) form(v Version) Type {
	if p.Form != 0 {
		return p.Form
	}
	return v.TopologyForm()
}

// topologyLevel returns how many versions of the packet t includes.
func topologyLevel(t Type) int {
	switch t {
	case TypeClusterTopologyV2:
		return 2
	case TypeClusterTopologyV3:
		return 3
	case TypeClusterTopologyV4:
		return 4
	}
	return 1
}

func (p *ClusterTopology) decode(r *buf.Reader, _ Version) {
	level := topologyLevel(p.Form)
	p.Exit = r.Bool()
	p.NodeID = r.STR()
	if level >= 2 {
		p.UniqueEventID = r.Int64()
	}
	if !p.Exit {
		p.Primary = readOptTransport(r)
		p.Backup = readOptTransport(r)
		p.Last = r.Bool()
	}
	if level >= 2 && r.Len() > 0 {
		p.BackupGroupName = r.NSTR()
	}
	if level >= 3 {
		p.ScaleDownGroupName = r.NSTR()
	}
	if level >= 4 {
		p.ServerVersion = Version(r.Int32())
	}
}
func (p *ClusterTopology) encode(dst []byte, v Version) []byte {
	level := topologyLevel(p.form(v))
	dst = buf.AppendBool(dst, p.Exit)
	dst = buf.AppendSTR(dst, p.NodeID)
	if level >= 2 {
		dst = buf.AppendInt64(dst, p.UniqueEventID)
	}
	if !p.Exit {
		dst = appendOptTransport(dst, p.Primary)
		dst = appendOptTransport(dst, p.Backup)
		dst = buf.AppendBool(dst, p.Last)
	}
	if level >= 2 {
		dst = buf.AppendNSTR(dst, p.BackupGroupName)
	}
	if level >= 3 {
		dst = buf.AppendNSTR(dst, p.ScaleDownGroupName)
	}
	if level >= 4 {
		dst = buf.AppendInt32(dst, int32(p.ServerVersion))
	}
	return dst
}
