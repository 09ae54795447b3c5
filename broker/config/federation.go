package config

import "time"

// Federation takes messages from other brokers on demand, over Core.
type Federation struct {
	Name            string                  `cfg:"@name,required"`
	User            string                  `cfg:"@user"`
	Password        string                  `cfg:"@password" secret:"true"`
	Upstreams       []FederationStream      `cfg:"upstream"`
	Downstreams     []FederationStream      `cfg:"downstream"`
	PolicySets      []FederationPolicySet   `cfg:"policy-set"`
	QueuePolicies   []FederationPolicy      `cfg:"queue-policy"`
	AddressPolicies []FederationPolicy      `cfg:"address-policy"`
	Transformers    []FederationTransformer `cfg:"transformer"`
}

// FederationStream is one other broker and the policies in force with it.
type FederationStream struct {
	Name               string `cfg:"@name,required"`
	User               string `cfg:"@user"`
	Password           string `cfg:"@password" secret:"true"`
	PriorityAdjustment *int   `cfg:"@priority-adjustment"`
	Targets
	// UpstreamConnectorRef is what the other side connects to; downstreams only.
	UpstreamConnectorRef    string        `cfg:"upstream-connector-ref"`
	Policies                []PolicyRef   `cfg:"policy"`
	HA                      bool          `cfg:"ha"`
	ShareConnection         bool          `cfg:"share-connection"`
	CircuitBreakerTimeout   time.Duration `cfg:"circuit-breaker-timeout" unit:"ms"`
	ConnectionTTL           time.Duration `cfg:"connection-ttl" unit:"ms"`
	CallTimeout             time.Duration `cfg:"call-timeout" unit:"ms"`
	CallFailoverTimeout     time.Duration `cfg:"call-failover-timeout" unit:"ms"`
	CheckPeriod             time.Duration `cfg:"check-period" unit:"ms"`
	RetryInterval           time.Duration `cfg:"retry-interval" unit:"ms"`
	RetryIntervalMultiplier float64       `cfg:"retry-interval-multiplier"`
	MaxRetryInterval        time.Duration `cfg:"max-retry-interval" unit:"ms"`
	InitialConnectAttempts  int           `cfg:"initial-connect-attempts"`
	ReconnectAttempts       int           `cfg:"reconnect-attempts"`
}

func (s *FederationStream) defaults() {
	s.CircuitBreakerTimeout, s.ConnectionTTL, s.CallTimeout = 30*time.Second, time.Minute, 30*time.Second
	s.CallFailoverTimeout, s.CheckPeriod = -time.Millisecond, 30*time.Second
	s.RetryInterval, s.RetryIntervalMultiplier, s.MaxRetryInterval = 500*time.Millisecond, 1, 2*time.Second
	s.InitialConnectAttempts, s.ReconnectAttempts = -1, -1
}

// PolicyRef names a policy or policy set.
type PolicyRef struct {
	Ref string `cfg:"@ref,required"`
}

// FederationPolicySet groups policies under one name.
type FederationPolicySet struct {
	Name     string      `cfg:"@name,required"`
	Policies []PolicyRef `cfg:"policy"`
}

// FederationPolicy selects queues or addresses, of a Core federation or of an
// AMQP broker connection. Nil pointers mean the kind's own default.
type FederationPolicy struct {
	Name                    string            `cfg:"@name,required"`
	Includes                []FederationMatch `cfg:"include"`
	Excludes                []FederationMatch `cfg:"exclude"`
	TransformerRef          string            `cfg:"@transformer-ref"`
	Transformer             Transformer       `bean:"transformerConfiguration"`
	Properties              map[string]string `cfg:"property{key,value}"`
	PriorityAdjustment      *int              `cfg:"@priority-adjustment"`
	IncludeFederated        *bool             `cfg:"@include-federated"`
	AutoDelete              *bool             `cfg:"@auto-delete"`
	AutoDeleteDelay         *time.Duration    `cfg:"@auto-delete-delay" unit:"ms"`
	AutoDeleteMessageCount  *int64            `cfg:"@auto-delete-message-count"`
	MaxHops                 *int              `cfg:"@max-hops"`
	EnableDivertBindings    *bool             `cfg:"@enable-divert-bindings"`
	AllowWildcardGroupings  *bool             `cfg:"@allow-wildcard-groupings"`
	Priority                *int              `cfg:"@priority"`
	Filter                  string            `cfg:"@filter"`
	RemoteAddress           string            `cfg:"@remote-address"`
	RemoteAddressPrefix     string            `cfg:"@remote-address-prefix"`
	RemoteAddressSuffix     string            `cfg:"@remote-address-suffix"`
	RemoteCapabilities      string            `cfg:"@remote-terminus-capabilities"`
	UseDurableSubscriptions *bool             `cfg:"@use-durable-subscriptions"`
}

// FederationMatch is one include or exclude of a policy.
type FederationMatch struct {
	AddressMatch string `cfg:"@address-match"`
	QueueMatch   string `cfg:"@queue-match"`
}

// FederationTransformer is a named transformer.
type FederationTransformer struct {
	Name       string            `cfg:"@name,required"`
	ClassName  string            `cfg:"class-name,required"`
	Properties map[string]string `cfg:"property{key,value}"`
}

// AMQPConnection is an AMQP connection that this broker makes to another.
type AMQPConnection struct {
	Name              string           `cfg:"@name,required"`
	URI               string           `cfg:"@uri,required"`
	LockCoordinator   string           `cfg:"@lock-coordinator"`
	AutoStart         bool             `cfg:"@auto-start" bean:"autostart,autoStart"`
	ReconnectAttempts int              `cfg:"@reconnect-attempts"`
	RetryInterval     time.Duration    `cfg:"@retry-interval" unit:"ms"`
	User              string           `cfg:"@user"`
	Password          string           `cfg:"@password" secret:"true"`
	Senders           []AMQPMatch      `cfg:"sender"`
	Receivers         []AMQPMatch      `cfg:"receiver"`
	Peers             []AMQPMatch      `cfg:"peer"`
	Mirrors           []AMQPMirror     `cfg:"mirror"`
	Federations       []AMQPFederation `cfg:"federation"`
	Bridges           []AMQPBridge     `cfg:"bridge"`
}

func (c *AMQPConnection) defaults() {
	c.AutoStart, c.ReconnectAttempts, c.RetryInterval = true, -1, 5*time.Second
}

// AMQPMatch selects an address or queue to move messages of.
type AMQPMatch struct {
	AddressMatch string `cfg:"@address-match"`
	QueueName    string `cfg:"@queue-name"`
}

// AMQPMirror copies everything that happens here to the other broker.
type AMQPMirror struct {
	// Name is set by broker properties only.
	Name                    string            `bean:"name"`
	MessageAcknowledgements bool              `cfg:"@message-acknowledgements"`
	QueueCreation           bool              `cfg:"@queue-creation"`
	QueueRemoval            bool              `cfg:"@queue-removal"`
	Durable                 bool              `cfg:"@durable"`
	Sync                    bool              `cfg:"@sync"`
	AddressFilter           string            `cfg:"@address-filter"`
	Properties              map[string]string `cfg:"property{key,value}"`
}

func (m *AMQPMirror) defaults() {
	m.MessageAcknowledgements, m.QueueCreation, m.QueueRemoval, m.Durable = true, true, true, true
}

// AMQPFederation takes messages from the other broker on demand.
type AMQPFederation struct {
	Name                  string             `cfg:"@name"`
	LocalQueuePolicies    []FederationPolicy `cfg:"local-queue-policy"`
	LocalAddressPolicies  []FederationPolicy `cfg:"local-address-policy"`
	RemoteQueuePolicies   []FederationPolicy `cfg:"remote-queue-policy"`
	RemoteAddressPolicies []FederationPolicy `cfg:"remote-address-policy"`
	Properties            map[string]string  `cfg:"property{key,value}"`
}

// AMQPBridge moves messages between addresses or queues of two brokers.
type AMQPBridge struct {
	Name          string             `cfg:"@name"`
	FromAddresses []FederationPolicy `cfg:"bridge-from-address"`
	ToAddresses   []FederationPolicy `cfg:"bridge-to-address"`
	FromQueues    []FederationPolicy `cfg:"bridge-from-queue"`
	ToQueues      []FederationPolicy `cfg:"bridge-to-queue"`
	Properties    map[string]string  `cfg:"property{key,value}"`
}
