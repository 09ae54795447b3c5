package config

import "time"

// LoadBalancing says which messages a cluster connection moves to other nodes.
type LoadBalancing string

// Ways to balance messages over a cluster.
const (
	BalanceOff                   LoadBalancing = "OFF"
	BalanceStrict                LoadBalancing = "STRICT"
	BalanceOnDemand              LoadBalancing = "ON_DEMAND"
	BalanceOffWithRedistribution LoadBalancing = "OFF_WITH_REDISTRIBUTION"
)

func (LoadBalancing) values() []string {
	return []string{"OFF", "STRICT", "ON_DEMAND", "OFF_WITH_REDISTRIBUTION"}
}

// Targets says how other brokers are found: by named connectors or by a
// discovery group. AllowDirectOnly counts for static connectors only.
type Targets struct {
	StaticConnectors []string `cfg:"static-connectors/connector-ref"`
	AllowDirectOnly  bool     `cfg:"static-connectors/@allow-direct-connections-only" bean:"allowDirectConnectionsOnly"`
	DiscoveryGroup   string   `cfg:"discovery-group-ref/@discovery-group-name" bean:"discoveryGroupName"`
}

// ClusterConnection joins this broker with others.
type ClusterConnection struct {
	Name string `cfg:"@name,required"`
	// URI holds the settings as a URI instead of elements; empty is none.
	URI          string `cfg:"@uri"`
	Address      string `cfg:"address"`
	ConnectorRef string `cfg:"connector-ref,required" bean:"connectorName"`
	Targets

	CheckPeriod             time.Duration `cfg:"check-period" unit:"ms" check:"-1|>0" bean:"clientFailureCheckPeriod"`
	ConnectionTTL           time.Duration `cfg:"connection-ttl" unit:"ms" check:">0" bean:"connectionTTL"`
	MinLargeMessageSize     Bytes         `cfg:"min-large-message-size" check:"size32"`
	CallTimeout             time.Duration `cfg:"call-timeout" unit:"ms" check:">0"`
	CallFailoverTimeout     time.Duration `cfg:"call-failover-timeout" unit:"ms" check:"-1|>0"`
	RetryInterval           time.Duration `cfg:"retry-interval" unit:"ms" check:">0"`
	RetryIntervalMultiplier float64       `cfg:"retry-interval-multiplier" check:">0"`
	MaxRetryInterval        time.Duration `cfg:"max-retry-interval" unit:"ms" check:">0"`
	InitialConnectAttempts  int           `cfg:"initial-connect-attempts" check:"-1|>=0"`
	ReconnectAttempts       int           `cfg:"reconnect-attempts" check:"-1|>=0"`
	UseDuplicateDetection   bool          `cfg:"use-duplicate-detection" bean:"duplicateDetection"`
	// ForwardWhenNoConsumers is the old form of LoadBalancing; nil if not written.
	ForwardWhenNoConsumers *bool          `cfg:"forward-when-no-consumers"`
	LoadBalancing          *LoadBalancing `cfg:"message-load-balancing" bean:"messageLoadBalancingType"`
	MaxHops                int            `cfg:"max-hops" check:">=0"`
	ConfirmationWindowSize Bytes          `cfg:"confirmation-window-size" check:"-1|size32"`
	ProducerWindowSize     Bytes          `cfg:"producer-window-size" check:"-1|size32"`
	NotificationInterval   time.Duration  `cfg:"notification-interval" unit:"ms" check:">0" bean:"clusterNotificationInterval"`
	NotificationAttempts   int            `cfg:"notification-attempts" check:">0" bean:"clusterNotificationAttempts"`
	ScaleDownConnector     string         `cfg:"scale-down-connector"`
	ClientID               string         `cfg:"client-id" bean:"clientId"`
	TopologyScanAttempts   int            `cfg:"topology-scanner-attempts"`
}

func (c *ClusterConnection) defaults() {
	c.CheckPeriod, c.ConnectionTTL, c.CallTimeout = 30*time.Second, time.Minute, 30*time.Second
	c.CallFailoverTimeout = -time.Millisecond
	c.RetryInterval, c.RetryIntervalMultiplier, c.MaxRetryInterval = 500*time.Millisecond, 1, 2*time.Second
	c.InitialConnectAttempts, c.ReconnectAttempts = -1, -1
	c.UseDuplicateDetection, c.MaxHops = true, 1
	c.ConfirmationWindowSize, c.ProducerWindowSize, c.MinLargeMessageSize = 10<<20, 1<<20, 100<<10
	c.NotificationInterval, c.NotificationAttempts, c.TopologyScanAttempts = time.Second, 2, 30
}

// Balancing returns the load balancing in force: message-load-balancing if
// written, else what forward-when-no-consumers meant, else ON_DEMAND.
func (c *ClusterConnection) Balancing() LoadBalancing {
	switch {
	case c.LoadBalancing != nil:
		return *c.LoadBalancing
	case c.ForwardWhenNoConsumers != nil && *c.ForwardWhenNoConsumers:
		return BalanceStrict
	}
	return BalanceOnDemand
}

// ClusterURI is a cluster connection written as one URI.
type ClusterURI struct {
	Name    string `cfg:"@name,required"`
	Address string `cfg:"@address"`
	URI     string `cfg:"@uri"`
}

// BroadcastGroup announces connectors by UDP or JGroups.
type BroadcastGroup struct {
	Name             string        `cfg:"@name,required"`
	LocalBindAddress string        `cfg:"local-bind-address"`
	LocalBindPort    int           `cfg:"local-bind-port"`
	GroupAddress     string        `cfg:"group-address"`
	GroupPort        int           `cfg:"group-port"`
	BroadcastPeriod  time.Duration `cfg:"broadcast-period" unit:"ms" check:">0"`
	JGroupsFile      string        `cfg:"jgroups-file"`
	JGroupsChannel   string        `cfg:"jgroups-channel"`
	ConnectorRefs    []string      `cfg:"connector-ref" bean:"connectorInfos"`
}

func (b *BroadcastGroup) defaults() { b.LocalBindPort, b.BroadcastPeriod = -1, 2*time.Second }

// DiscoveryGroup listens for announcements.
type DiscoveryGroup struct {
	Name               string        `cfg:"@name,required"`
	LocalBindAddress   string        `cfg:"local-bind-address"`
	LocalBindPort      int           `cfg:"local-bind-port"`
	GroupAddress       string        `cfg:"group-address"`
	GroupPort          int           `cfg:"group-port"`
	JGroupsFile        string        `cfg:"jgroups-file"`
	JGroupsChannel     string        `cfg:"jgroups-channel"`
	RefreshTimeout     time.Duration `cfg:"refresh-timeout" unit:"ms" check:">0"`
	InitialWaitTimeout time.Duration `cfg:"initial-wait-timeout" unit:"ms" check:">0" bean:"discoveryInitialWaitTimeout"`
}

func (g *DiscoveryGroup) defaults() {
	g.LocalBindPort, g.RefreshTimeout, g.InitialWaitTimeout = -1, 10*time.Second, 10*time.Second
}

// GroupingKind says whether this node decides where a message group goes.
type GroupingKind string

func (GroupingKind) values() []string { return []string{"LOCAL", "REMOTE"} }

// GroupingHandler keeps each message group on one node of a cluster.
type GroupingHandler struct {
	Name         string        `cfg:"@name,required"`
	Type         GroupingKind  `cfg:"type,required"`
	Address      string        `cfg:"address"`
	Timeout      time.Duration `cfg:"timeout" unit:"ms"`
	GroupTimeout time.Duration `cfg:"group-timeout" unit:"ms"`
	ReaperPeriod time.Duration `cfg:"reaper-period" unit:"ms"`
}

func (g *GroupingHandler) defaults() {
	g.Timeout, g.GroupTimeout, g.ReaperPeriod = 5*time.Second, -time.Millisecond, 30*time.Second
}

// Bridge sends the messages of a queue to another broker.
type Bridge struct {
	Name              string `cfg:"@name,required"`
	QueueName         string `cfg:"queue-name,required"`
	ForwardingAddress string `cfg:"forwarding-address"`
	Filter            string `cfg:"filter/@string" bean:"filterString"`
	Targets
	Transformer Transformer `bean:"transformerConfiguration"`

	HA                      bool                 `cfg:"ha" bean:"HA,ha"`
	MinLargeMessageSize     Bytes                `cfg:"min-large-message-size" check:"size32"`
	CheckPeriod             time.Duration        `cfg:"check-period" unit:"ms" check:"-1|>0" bean:"clientFailureCheckPeriod"`
	ConnectionTTL           time.Duration        `cfg:"connection-ttl" unit:"ms" check:">0" bean:"connectionTTL"`
	CallTimeout             time.Duration        `bean:"callTimeout" unit:"ms"`
	RetryInterval           time.Duration        `cfg:"retry-interval" unit:"ms" check:">0"`
	RetryIntervalMultiplier float64              `cfg:"retry-interval-multiplier" check:">0"`
	MaxRetryInterval        time.Duration        `cfg:"max-retry-interval" unit:"ms" check:">0"`
	InitialConnectAttempts  int                  `cfg:"initial-connect-attempts" check:"-1|>=0"`
	ReconnectAttempts       int                  `cfg:"reconnect-attempts" check:"-1|>=0"`
	ReconnectSameNode       int                  `cfg:"reconnect-attempts-same-node" bean:"reconnectAttemptsOnSameNode"`
	FailoverOnShutdown      bool                 `cfg:"failover-on-server-shutdown"`
	UseDuplicateDetection   bool                 `cfg:"use-duplicate-detection"`
	ConfirmationWindowSize  Bytes                `cfg:"confirmation-window-size" check:"size32"`
	ProducerWindowSize      Bytes                `cfg:"producer-window-size" check:"-1|size32"`
	User                    string               `cfg:"user"` // empty: the cluster user
	Password                string               `cfg:"password" secret:"true"`
	RoutingType             ComponentRoutingType `cfg:"routing-type"`
	Concurrency             int                  `cfg:"concurrency" check:">0"`
	PendingAckTimeout       time.Duration        `cfg:"pending-ack-timeout" unit:"ms" check:"-1|>0"`
	ClientID                string               `cfg:"client-id" bean:"clientId"`
}

func (b *Bridge) defaults() {
	b.CheckPeriod, b.ConnectionTTL, b.CallTimeout = 30*time.Second, time.Minute, 30*time.Second
	b.RetryInterval, b.RetryIntervalMultiplier, b.MaxRetryInterval = 2*time.Second, 1, 2*time.Second
	b.InitialConnectAttempts, b.ReconnectAttempts, b.ReconnectSameNode = -1, -1, 10
	b.ConfirmationWindowSize, b.ProducerWindowSize, b.MinLargeMessageSize = 10<<20, 1<<20, 100<<10
	b.UseDuplicateDetection, b.RoutingType, b.Concurrency = true, Pass, 1
	b.PendingAckTimeout = time.Minute
}

// ConnectionRouter sends clients to the node that owns their key.
type ConnectionRouter struct {
	Name              string           `cfg:"@name,required"`
	KeyType           RouterKey        `cfg:"key-type"`
	KeyFilter         string           `cfg:"key-filter"`
	LocalTargetFilter string           `cfg:"local-target-filter"`
	Cache             *RouterCache     `cfg:"cache" bean:"cacheConfiguration"`
	Policy            *NamedProperties `cfg:"policy" bean:"policyConfiguration"`
	Pool              *RouterPool      `cfg:"pool" bean:"poolConfiguration"`
	KeyTransformer    *NamedProperties `cfg:"key-transformer"`
}

func (r *ConnectionRouter) defaults() { r.KeyType = "SOURCE_IP" }

// RouterKey is what of a connection is the key.
type RouterKey string

func (RouterKey) values() []string {
	return []string{"CLIENT_ID", "SNI_HOST", "SOURCE_IP", "USER_NAME", "ROLE_NAME"}
}

// RouterCache remembers which node a key was sent to.
type RouterCache struct {
	Persisted bool          `cfg:"persisted"`
	Timeout   time.Duration `cfg:"timeout" unit:"ms"`
}

func (c *RouterCache) defaults() { c.Timeout = -time.Millisecond }

// RouterPool is the set of nodes a router sends to.
type RouterPool struct {
	Username           string        `cfg:"username"`
	Password           string        `cfg:"password" secret:"true"`
	CheckPeriod        time.Duration `cfg:"check-period" unit:"ms" check:">0"`
	QuorumSize         int           `cfg:"quorum-size" check:">0"`
	QuorumTimeout      time.Duration `cfg:"quorum-timeout" unit:"ms" check:">0"`
	LocalTargetEnabled bool          `cfg:"local-target-enabled"`
	ClusterConnection  string        `cfg:"cluster-connection"`
	Targets
}

func (p *RouterPool) defaults() {
	p.CheckPeriod, p.QuorumSize, p.QuorumTimeout = 5*time.Second, 1, 3*time.Second
}

// NamedProperties is a name with properties.
type NamedProperties struct {
	Name       string            `cfg:"@name,required"`
	Properties map[string]string `cfg:"property{key,value}"`
}
