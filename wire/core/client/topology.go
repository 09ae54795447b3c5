package client

import (
	"slices"

	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/transport"
)

// Node is a node of the cluster as the topology tells of it.
type Node struct {
	ID                 string
	UniqueEventID      int64
	Primary, Backup    *core.TransportConfiguration // nil: not told
	BackupGroupName    string
	ScaleDownGroupName string
}

// Topology returns the nodes known, in no order.
func (c *Conn) Topology() []Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	nodes := make([]Node, 0, len(c.nodes))
	for _, n := range c.nodes {
		nodes = append(nodes, n)
	}
	return nodes
}

// NodeID returns the id of the node this connection is to, "" if it did not
// tell.
func (c *Conn) NodeID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodeID
}

// OnTopology has f called for every node that comes, changes (up) or leaves,
// on the read goroutine. Nodes known already are told at once.
func (c *Conn) OnTopology(f func(n Node, up bool)) {
	c.mu.Lock()
	c.onTopology = f
	nodes := make([]Node, 0, len(c.nodes))
	for _, n := range c.nodes {
		nodes = append(nodes, n)
	}
	c.mu.Unlock()
	for _, n := range nodes {
		f(n, true)
	}
}

// learn takes over what a topology packet tells. An older event than the one
// known is ignored.
func (c *Conn) learn(p *core.ClusterTopology) {
	n := Node{ID: p.NodeID, UniqueEventID: p.UniqueEventID, Primary: p.Primary, Backup: p.Backup,
		BackupGroupName: p.BackupGroupName.V, ScaleDownGroupName: p.ScaleDownGroupName.V}
	c.mu.Lock()
	if p.ServerVersion != 0 && c.version.Load() == 0 {
		c.agree(p.ServerVersion)
	}
	old, known := c.nodes[n.ID]
	if known && old.UniqueEventID > n.UniqueEventID {
		c.mu.Unlock()
		return
	}
	if p.Exit {
		delete(c.nodes, n.ID)
	} else {
		c.nodes[n.ID] = n
	}
	f := c.onTopology
	c.mu.Unlock()
	if f != nil {
		f(n, !p.Exit)
	}
}

// disconnected notes what the broker says when it ends the connection.
func (c *Conn) disconnected(p *core.Disconnect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.Form == core.TypeDisconnectV3 && p.Reason <= core.ReasonRedirectOnCriticalError && p.Reason != core.ReasonNone {
		c.redirect = p.TargetConnector
	}
}

// candidates returns the hosts to try: where the broker redirected to, the
// hosts of the configuration, and with HA the node's other half.
func (c *Conn) candidates() []transport.ConnectorOptions {
	c.mu.Lock()
	defer c.mu.Unlock()
	var hosts []transport.ConnectorOptions
	add := func(t *core.TransportConfiguration) {
		if o, ok := connector(t, c.cfg.Hosts[0]); ok {
			hosts = append(hosts, o)
		}
	}
	add(c.redirect)
	c.redirect = nil
	hosts = append(hosts, c.cfg.Hosts...)
	if n, ok := c.nodes[c.nodeID]; ok && c.cfg.HA {
		add(n.Primary)
		add(n.Backup)
	}
	type endpoint struct {
		host string
		port int
	}
	seen := map[endpoint]bool{}
	return slices.DeleteFunc(hosts, func(o transport.ConnectorOptions) bool {
		e := endpoint{o.Host, o.Port}
		was := seen[e]
		seen[e] = true
		return was
	})
}

// identify notes which node l leads to: the one with that connector, else the
// only one there is.
func (c *Conn) identify(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	is := func(t *core.TransportConfiguration) bool {
		o, ok := connector(t, l.host)
		return ok && o.Host == l.host.Host && o.Port == l.host.Port
	}
	for id, n := range c.nodes {
		if is(n.Primary) || is(n.Backup) || len(c.nodes) == 1 {
			c.nodeID = id
		}
	}
}

// connector returns the options to reach t: those of like, which has the TLS
// and socket settings, with t's host and port.
func connector(t *core.TransportConfiguration, like transport.ConnectorOptions) (transport.ConnectorOptions, bool) {
	if t == nil {
		return like, false
	}
	host, ok := t.Text("host")
	port, isNumber := t.Int("port")
	if !ok || !isNumber || port < 1 || port > 65535 {
		return like, false
	}
	like.Name, like.Host, like.Port = t.Name, host, int(port)
	return like, true
}
