package cluster

import (
	"strings"

	"github.com/saranga-mq/saranga/wire/core"
)

// upPacket tells a member to a peer of that version. The packet's form is the one the version calls for.
func upPacket(m Member, last bool, v core.Version) *core.ClusterTopology {
	return &core.ClusterTopology{NodeID: m.NodeID, UniqueEventID: m.UniqueEventID, Primary: forVersion(m.Primary, v), Backup: forVersion(m.Backup, v), Last: last,
		BackupGroupName: m.BackupGroupName, ScaleDownGroupName: m.ScaleDownGroupName, ServerVersion: core.VersionCurrent}
}

// downPacket tells that a node is gone, in the second form even to peers that know later ones.
func downPacket(nodeID string, uniqueEventID int64, v core.Version) *core.ClusterTopology {
	form := core.TypeClusterTopologyV2
	if v < 122 {
		form = core.TypeClusterTopology
	}
	return &core.ClusterTopology{Form: form, Exit: true, NodeID: nodeID, UniqueEventID: uniqueEventID}
}

// memberOf is the member that a packet tells of. The first form has no event id: it counts as told now.
func memberOf(p *core.ClusterTopology, now int64) Member {
	m := Member{NodeID: p.NodeID, UniqueEventID: p.UniqueEventID, Primary: p.Primary, Backup: p.Backup, BackupGroupName: p.BackupGroupName, ScaleDownGroupName: p.ScaleDownGroupName}
	if p.Form == core.TypeClusterTopology {
		m.UniqueEventID = now
	}
	return m
}

// announced is the member that a NODE_ANNOUNCE tells of. The connector of a backup is its own.
func announced(p *core.NodeAnnounce) Member {
	m := Member{NodeID: p.NodeID, UniqueEventID: p.CurrentEventID, Primary: p.Connector, Backup: p.BackupConnector, BackupGroupName: p.BackupGroupName, ScaleDownGroupName: p.ScaleDownGroupName}
	if p.Backup {
		m.Primary, m.Backup = nil, p.Connector
	}
	return m
}

// forVersion gives a connector the names of HornetQ for peers from its time.
func forVersion(t *core.TransportConfiguration, v core.Version) *core.TransportConfiguration {
	if t == nil || v >= 126 {
		return t
	}
	old := &core.TransportConfiguration{Name: t.Name, Factory: strings.ReplaceAll(strings.ReplaceAll(t.Factory, "org.apache.activemq.artemis", "org.hornetq"), "ActiveMQ", "HornetQ")}
	for _, p := range t.Params {
		if name, ok := oldParams[p.Key]; ok {
			p.Key = name
		}
		old.Params = append(old.Params, p)
	}
	return old
}

// oldParams are the names that parameters of connectors had in HornetQ, where they differ.
var oldParams = map[string]string{
	"sslEnabled": "ssl-enabled", "httpEnabled": "http-enabled", "httpClientIdleTime": "http-client-idle-time",
	"useServlet": "use-servlet", "localAddress": "local-address", "localPort": "local-port",
	"keyStoreProvider": "key-store-provider", "keyStoreType": "key-store-type", "keyStorePath": "key-store-path", "keyStorePassword": "key-store-password",
	"trustStoreProvider": "trust-store-provider", "trustStoreType": "trust-store-type", "trustStorePath": "trust-store-path", "trustStorePassword": "trust-store-password",
	"tcpNoDelay": "tcp-no-delay", "tcpSendBufferSize": "tcp-send-buffer-size", "tcpReceiveBufferSize": "tcp-receive-buffer-size",
	"nioRemotingThreads": "nio-remoting-threads", "batchDelay": "batch-delay",
}
