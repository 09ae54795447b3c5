package cluster

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/wire/core/client"
	"github.com/saranga-mq/saranga/wire/transport"
)

// Options are those of a cluster connection, for all its sides: Connection, Controller, Announcer and Locator. The zero
// value of a time is the default of broker.xml.
type Options struct {
	Name string
	Own  Target // what this node advertises
	// Static are the nodes to connect to, in this order; with a Discovery they are not looked at.
	Static          []Target
	AllowDirectOnly bool // connect to no primary but those in Static

	User, Password string // of the cluster

	CheckPeriod             time.Duration // between pings; 30 s; negative: none
	ConnectionTTL           time.Duration // 60 s; negative: for ever
	CallTimeout             time.Duration // 30 s
	RetryInterval           time.Duration // 500 ms
	RetryIntervalMultiplier float64       // 1
	MaxRetryInterval        time.Duration // 2 s
	ReconnectAttempts       int           // to another primary after its connection was lost; negative: without end
	NotificationInterval    time.Duration // 1 s
	NotificationAttempts    int           // how often this node is told again after it became active

	BackupGroupName, ScaleDownGroupName string // "": none
	SplitBrainDetection                 bool   // refuse that another connector is this node's primary

	Dialer *transport.Dialer // nil: a new one
	Log    hclog.Logger      // nil: none
	Now    func() int64      // the time in ms; nil: the system's
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&o.CheckPeriod, client.DefaultFailureCheckPeriod)
	def(&o.ConnectionTTL, client.DefaultConnectionTTL)
	def(&o.CallTimeout, client.DefaultCallTimeout)
	def(&o.RetryInterval, 500*time.Millisecond)
	def(&o.MaxRetryInterval, 2*time.Second)
	def(&o.NotificationInterval, time.Second)
	if o.Dialer == nil {
		o.Dialer = &transport.Dialer{Log: o.Log}
	}
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixMilli() }
	}
	return o
}

func (o *Options) backoff() Backoff {
	return Backoff{Interval: o.RetryInterval, Multiplier: o.RetryIntervalMultiplier, Max: o.MaxRetryInterval}
}

// ErrNotDeployed is what OptionsOf returns for a cluster connection that Artemis would warn about and leave out.
var ErrNotDeployed = errors.New("the cluster connection is not deployed")

// OptionsOf reads a cluster connection of broker.xml. User, Password, groups, SplitBrainDetection, Dialer and Log are left
// to the caller. group is its discovery group, nil if it has static connectors.
func OptionsOf(c *config.Config, cc *config.ClusterConnection) (o Options, group *config.DiscoveryGroup, err error) {
	own := c.Connector(cc.ConnectorRef)
	if own == nil {
		return o, nil, fmt.Errorf("AMQ222217: cluster-connection %s: there is no connector %s: %w", cc.Name, cc.ConnectorRef, ErrNotDeployed)
	}
	targets, err := TargetsOf(own)
	if err != nil {
		return o, nil, err
	}
	o = Options{Name: cc.Name, Own: targets[0], AllowDirectOnly: cc.AllowDirectOnly,
		CheckPeriod: cc.CheckPeriod, ConnectionTTL: cc.ConnectionTTL, CallTimeout: cc.CallTimeout,
		RetryInterval: cc.RetryInterval, RetryIntervalMultiplier: cc.RetryIntervalMultiplier, MaxRetryInterval: cc.MaxRetryInterval,
		ReconnectAttempts: cc.ReconnectAttempts, NotificationInterval: cc.NotificationInterval, NotificationAttempts: cc.NotificationAttempts}
	if cc.DiscoveryGroup != "" {
		for i := range c.DiscoveryGroups {
			if c.DiscoveryGroups[i].Name == cc.DiscoveryGroup {
				return o, &c.DiscoveryGroups[i], nil
			}
		}
		return o, nil, fmt.Errorf("AMQ222131: cluster-connection %s: there is no discovery group %s: %w", cc.Name, cc.DiscoveryGroup, ErrNotDeployed)
	}
	for _, name := range cc.StaticConnectors {
		t := c.Connector(name)
		if t == nil {
			return o, nil, fmt.Errorf("cluster-connection %s: static-connectors names the connector %s, which there is not: %w", cc.Name, name, ErrNotDeployed)
		}
		targets, err := TargetsOf(t)
		if err != nil {
			return o, nil, err
		}
		o.Static = append(o.Static, targets...)
	}
	return o, nil, nil
}
