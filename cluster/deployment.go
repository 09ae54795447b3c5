package cluster

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/wire/core"
)

// DeployOptions are what broker.xml does not say about its cluster connections.
type DeployOptions struct {
	// NodeID is this node's id, whose announcements it does not listen to. "" for a node that has none yet.
	NodeID string
	// Login authenticates a peer: NodeOptions.Login.
	Login func(security.Credentials) (security.Principal, error)

	BackupGroupName, ScaleDownGroupName string // of the HA policy
	SplitBrainDetection                 bool   // the node is one of an HA pair

	Log hclog.Logger // nil: none
}

// A Deployment is all of broker.xml's cluster connections, with the groups they need.
type Deployment struct {
	Node        *Node
	Connections []*Connection // the default one first

	config      *config.Config
	log         hclog.Logger
	options     map[string]Options    // by name of the cluster connection
	groups      map[string]*Discovery // by name of the discovery group
	discoveries map[string]*Discovery // by name of the cluster connection
	broadcasts  []*Broadcaster
}

// Deploy makes the cluster connections of c and opens their discovery groups. Nothing is connected or sent before Activate.
// One that cannot be deployed is left out with a warning, as in Artemis; without any the Deployment is nil.
func Deploy(c *config.Config, o DeployOptions) (*Deployment, error) {
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	d := &Deployment{config: c, log: o.Log, options: map[string]Options{}, groups: map[string]*Discovery{}, discoveries: map[string]*Discovery{}}
	for i := range c.ClusterConnections {
		cc := &c.ClusterConnections[i]
		options, group, err := OptionsOf(c, cc)
		if errors.Is(err, ErrNotDeployed) {
			o.Log.Warn(err.Error())
			continue
		}
		if err == nil && group != nil && d.groups[group.Name] == nil {
			d.groups[group.Name], err = OpenDiscovery(*group, o.NodeID, o.Log)
		}
		if err != nil {
			d.closeGroups()
			return nil, fmt.Errorf("cluster-connection %s: %w", cc.Name, err)
		}
		options.User, options.Password = c.ClusterUser, c.ClusterPassword
		options.BackupGroupName, options.ScaleDownGroupName, options.SplitBrainDetection = o.BackupGroupName, o.ScaleDownGroupName, o.SplitBrainDetection
		options.Log = o.Log
		if group != nil {
			d.discoveries[cc.Name] = d.groups[group.Name]
		}
		d.options[cc.Name] = options
		d.Connections = append(d.Connections, NewConnection(options, d.discoveries[cc.Name]))
	}
	if len(d.Connections) == 0 {
		return nil, nil
	}
	d.Node = NewNode(NodeOptions{Connections: d.Connections, User: c.ClusterUser, Unsecured: !c.SecurityEnabled, Login: o.Login, Log: o.Log})
	return d, nil
}

// Connection is the cluster connection of that name (cluster-name of an HA policy), the default one for "" and, with a
// warning, for one that there is not.
func (d *Deployment) Connection(name string) *Connection {
	for _, c := range d.Connections {
		if c.Name() == name {
			return c
		}
	}
	if name != "" {
		d.log.Warn("there is no cluster connection of the policy's cluster-name: the default one is used", "cluster_name", name, "default", d.Connections[0].Name())
	}
	return d.Connections[0]
}

// NewController makes a controller for a cluster connection. It is the caller's to start and stop, before the Deployment.
func (d *Deployment) NewController(c *Connection) *Controller {
	return NewController(d.options[c.Name()], d.discoveries[c.Name()])
}

// AnnounceBackup announces this node as the backup of nodeID on a cluster connection, until the Announcer is stopped.
func (d *Deployment) AnnounceBackup(c *Connection, nodeID string) (*Announcer, error) {
	return AnnounceBackup(d.options[c.Name()], d.discoveries[c.Name()], nodeID, c.Nodes())
}

// Activate makes this node the primary of nodeID on all cluster connections and starts the broadcast groups.
func (d *Deployment) Activate(nodeID string) error {
	for _, g := range d.config.BroadcastGroups {
		var connectors []core.TransportConfiguration
		for _, name := range g.ConnectorRefs {
			t := d.config.Connector(name)
			if t == nil {
				d.log.Warn("a broadcast group names a connector that there is not", "broadcast_group", g.Name, "connector", name)
				continue
			}
			targets, err := TargetsOf(t)
			if err != nil {
				return fmt.Errorf("broadcast group %s: %w", g.Name, err)
			}
			connectors = append(connectors, targets[0].Connector)
		}
		b, err := StartBroadcast(g, nodeID, connectors, d.log)
		if err != nil {
			return err
		}
		d.broadcasts = append(d.broadcasts, b)
	}
	for _, c := range d.Connections {
		c.Activate(nodeID)
	}
	return nil
}

// Stop ends everything and waits. Call it when the acceptors' connections have been ended.
func (d *Deployment) Stop() {
	for _, b := range d.broadcasts {
		b.Stop()
	}
	for _, c := range d.Connections {
		c.Stop()
	}
	if d.Node != nil {
		d.Node.Close()
	}
	d.closeGroups()
}

func (d *Deployment) closeGroups() {
	for _, name := range slices.Sorted(maps.Keys(d.groups)) {
		if g := d.groups[name]; g != nil {
			g.Close()
		}
	}
}
