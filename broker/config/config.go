package config

import "time"

// Config is the core section of broker.xml, with broker properties applied.
// Field comments name what a zero or negative value means where that isn't
// plain. The source of element names and defaults is spec/config.md §5.
type Config struct {
	// Name is the broker's name in management object names, metrics and the banner.
	Name                          string `cfg:"name"`
	SystemPropertyPrefix          string `cfg:"system-property-prefix" check:"nonempty"`
	InternalNamingPrefix          string `cfg:"internal-naming-prefix"`
	AMQPUseCoreSubscriptionNaming bool   `cfg:"amqp-use-core-subscription-naming"`
	ResolveProtocols              bool   `cfg:"resolve-protocols"`

	PersistenceEnabled bool `cfg:"persistence-enabled"`
	Journal            Journal
	Paging             Paging
	Store              Store `cfg:"store" bean:"storeConfiguration"`

	ScheduledThreadPoolMaxSize int `cfg:"scheduled-thread-pool-max-size" check:">0"`
	// ThreadPoolMaxSize is -1 for no bound.
	ThreadPoolMaxSize       int  `cfg:"thread-pool-max-size" check:"-1|>0"`
	GracefulShutdownEnabled bool `cfg:"graceful-shutdown-enabled"`
	// GracefulShutdownTimeout is negative to wait for ever.
	GracefulShutdownTimeout time.Duration `cfg:"graceful-shutdown-timeout" unit:"ms" check:"-1|>=0"`

	SecurityEnabled              bool          `cfg:"security-enabled"`
	SecurityInvalidationInterval time.Duration `cfg:"security-invalidation-interval" unit:"ms" check:">=0"`
	// AuthenticationCacheSize and AuthorizationCacheSize count entries; 0 is off.
	AuthenticationCacheSize   int64             `cfg:"authentication-cache-size" check:">=0"`
	AuthorizationCacheSize    int64             `cfg:"authorization-cache-size" check:">=0"`
	PopulateValidatedUser     bool              `cfg:"populate-validated-user"`
	RejectEmptyValidatedUser  bool              `cfg:"reject-empty-validated-user"`
	SecuritySettings          []SecuritySetting `cfg:"security-settings/security-setting" bean:"securityRoles"`
	RoleMappings              []RoleMapping     `cfg:"security-settings/role-mapping"`
	SecuritySettingPlugin     *Plugin           `cfg:"security-settings/security-setting-plugin"`
	ViewPermissionMethodMatch string            `cfg:"view-permission-method-match-pattern" bean:"viewPermissionMethodMatchPattern"`
	ManagementMessageRBAC     bool              `cfg:"management-message-rbac"`
	ManagementRBACPrefix      string            `cfg:"management-rbac-prefix"`
	// PasswordCodec is class;key=value;… of the codec for ENC(…) values.
	PasswordCodec string `cfg:"password-codec" check:"nonempty"`
	// MaskPassword nil lets ENC(…) decide, true decodes bare passwords too,
	// false takes every password literally.
	MaskPassword *bool `cfg:"mask-password"`

	ManagementAddress             string        `cfg:"management-address" check:"nonempty"`
	ManagementNotificationAddress string        `cfg:"management-notification-address" check:"nonempty"`
	SuppressSessionNotifications  bool          `cfg:"suppress-session-notifications"`
	JMXManagementEnabled          bool          `cfg:"jmx-management-enabled" bean:"JMXManagementEnabled"`
	JMXNotificationEnabled        bool          `cfg:"jmx-notification-enabled" bean:"JMXNotificationEnabled"`
	JMXDomain                     string        `cfg:"jmx-domain" check:"nonempty" bean:"JMXDomain"`
	JMXUseBrokerName              bool          `cfg:"jmx-use-broker-name" bean:"JMXUseBrokerName"`
	MessageCounterEnabled         bool          `cfg:"message-counter-enabled"`
	MessageCounterSamplePeriod    time.Duration `cfg:"message-counter-sample-period" unit:"ms" check:">0"`
	// MessageCounterMaxDayHistory counts days.
	MessageCounterMaxDayHistory int     `cfg:"message-counter-max-day-history" check:">0"`
	MetricsPlugin               *Plugin `cfg:"metrics-plugin"`
	Metrics                     Metrics `cfg:"metrics" bean:"metricsConfiguration"`

	// ConnectionTTLOverride is negative to keep the client's TTL.
	ConnectionTTLOverride      time.Duration `cfg:"connection-ttl-override" unit:"ms" check:"-1|>0" bean:"connectionTTLOverride"`
	ConnectionTTLCheckInterval time.Duration `cfg:"connection-ttl-check-interval" unit:"ms" check:">0"`
	AsyncConnectionExecution   bool          `cfg:"async-connection-execution-enabled"`
	// ConfigurationFileRefreshPeriod is negative to never reload.
	ConfigurationFileRefreshPeriod time.Duration `cfg:"configuration-file-refresh-period" unit:"ms" check:"-1|>0"`
	LogDelegateFactoryClassName    string        `cfg:"log-delegate-factory-class-name"`

	// TemporaryQueueNamespace and UUIDNamespace prefix the names of such
	// resources when their settings are looked up; empty is none.
	TemporaryQueueNamespace string        `cfg:"temporary-queue-namespace" check:"nonempty"`
	UUIDNamespace           string        `cfg:"uuid-namespace" check:"nonempty"`
	TransactionTimeout      time.Duration `cfg:"transaction-timeout" unit:"ms" check:">0"`
	TransactionTimeoutScan  time.Duration `cfg:"transaction-timeout-scan-period" unit:"ms" check:">0"`
	// MessageExpiryScanPeriod is negative to never scan.
	MessageExpiryScanPeriod     time.Duration `cfg:"message-expiry-scan-period" unit:"ms" check:"-1|>0"`
	MessageExpiryThreadPriority int           `cfg:"message-expiry-thread-priority" check:"1..10"`
	// AddressQueueScanPeriod is negative to never reap auto-delete resources.
	AddressQueueScanPeriod time.Duration `cfg:"address-queue-scan-period" unit:"ms" check:"-1|>0"`
	// IDCacheSize counts duplicate ids kept per address.
	IDCacheSize                       int  `cfg:"id-cache-size" check:">=0" bean:"IDCacheSize"`
	PersistIDCache                    bool `cfg:"persist-id-cache" bean:"persistIDCache"`
	PersistDeliveryCountBeforeDeliver bool `cfg:"persist-delivery-count-before-delivery"`
	// MaxRedeliveryRecords is -1 for no bound.
	MaxRedeliveryRecords int       `cfg:"max-redelivery-records" check:"-1|>=0"`
	WildcardRouting      bool      `cfg:"wild-card-routing-enabled" bean:"wildcardRoutingEnabled"`
	Wildcards            Wildcards `cfg:"wildcard-addresses" bean:"wildcardConfiguration"`
	// LiteralMatchMarkers is two characters that enclose a match to be taken
	// literally, or empty.
	LiteralMatchMarkers string           `cfg:"literal-match-markers" check:"len0or2"`
	AddressSettings     []AddressSetting `cfg:"address-settings/address-setting" bean:"addressSettings,addressesSettings"`
	Addresses           []Address        `cfg:"addresses/address" bean:"addressConfigurations"`
	// OldQueues is the deprecated form of queues; a loaded Config has them in
	// Addresses.
	OldQueues      []OldQueue      `cfg:"queues/queue" bean:"queueConfigs"`
	Diverts        []Divert        `cfg:"diverts/divert" bean:"divertConfigurations"`
	ResourceLimits []ResourceLimit `cfg:"resource-limit-settings/resource-limit-setting" bean:"resourceLimitSettings"`

	// GlobalMaxSize is -1 when unset: see EffectiveGlobalMaxSize.
	GlobalMaxSize              Bytes `cfg:"global-max-size" check:"-1|>0"`
	GlobalMaxSizePercentOfHeap int   `cfg:"global-max-size-percent-of-jvm-max-memory" check:">0" bean:"globalMaxSizePercentOfJvmMaxMemory"`
	// GlobalMaxMessages is -1 for no bound.
	GlobalMaxMessages int64 `cfg:"global-max-messages" check:"-1|>0"`
	// MaxDiskUsage is the used percentage at which producers block; -1 is off.
	MaxDiskUsage int `cfg:"max-disk-usage" check:"percent|-1"`
	// MinDiskFree wins over MaxDiskUsage when above zero.
	MinDiskFree            Bytes         `cfg:"min-disk-free" check:"-1|>0"`
	DiskScanPeriod         time.Duration `cfg:"disk-scan-period" unit:"ms" check:"-1|>0"`
	MemoryWarningThreshold int           `cfg:"memory-warning-threshold" check:"percent"`
	MemoryMeasureInterval  time.Duration `cfg:"memory-measure-interval" unit:"ms" check:"-1|>0"`
	ServerDumpInterval     time.Duration `cfg:"server-dump-interval" unit:"ms" check:"-1|>0"`

	CriticalAnalyzer            bool                   `cfg:"critical-analyzer"`
	CriticalAnalyzerTimeout     time.Duration          `cfg:"critical-analyzer-timeout" unit:"ms" check:">=0"`
	CriticalAnalyzerCheckPeriod time.Duration          `cfg:"critical-analyzer-check-period" unit:"ms" check:">=0"`
	CriticalAnalyzerPolicy      CriticalAnalyzerPolicy `cfg:"critical-analyzer-policy"`

	MQTTSessionScanInterval            time.Duration `cfg:"mqtt-session-scan-interval" unit:"ms" check:">0"`
	MQTTSessionStatePersistenceTimeout time.Duration `cfg:"mqtt-session-state-persistence-timeout" unit:"ms" check:">0"`
	MQTTSubscriptionPersistence        bool          `cfg:"mqtt-subscription-persistence-enabled"`

	Acceptors  []Transport `cfg:"acceptors/acceptor" bean:"acceptorConfigurations"`
	Connectors []Transport `cfg:"connectors/connector" bean:"connectorConfigurations"`

	ClusterUser string `cfg:"cluster-user"`
	// ClusterPassword is already decoded.
	ClusterPassword    string              `cfg:"cluster-password" secret:"true"`
	BroadcastGroups    []BroadcastGroup    `cfg:"broadcast-groups/broadcast-group"`
	DiscoveryGroups    []DiscoveryGroup    `cfg:"discovery-groups/discovery-group"`
	ClusterConnections []ClusterConnection `cfg:"cluster-connections/cluster-connection" bean:"clusterConfigurations"`
	ClusterURIs        []ClusterURI        `cfg:"cluster-connections/cluster-connection-uri"`
	GroupingHandler    *GroupingHandler    `cfg:"grouping-handler" bean:"groupingHandlerConfiguration"`
	HAPolicy           HAPolicy            `cfg:"ha-policy" bean:"HAPolicyConfiguration"`
	NetworkCheck       NetworkCheck
	LockCoordinators   []LockCoordinator `cfg:"lock-coordinators/lock-coordinator"`

	Bridges           []Bridge           `cfg:"bridges/bridge" bean:"bridgeConfigurations"`
	Federations       []Federation       `cfg:"federations/federation" bean:"federationConfigurations"`
	DownstreamAuth    string             `cfg:"federations/@downstream-authorization" bean:"federationDownstreamAuthorization"`
	AMQPConnections   []AMQPConnection   `cfg:"broker-connections/amqp-connection" bean:"AMQPConnections"`
	ConnectionRouters []ConnectionRouter `cfg:"connection-routers/connection-router"`
	ConnectorServices []ConnectorService `cfg:"connector-services/connector-service"`

	// IncomingInterceptors and OutgoingInterceptors are class names.
	IncomingInterceptors []string `cfg:"remoting-incoming-interceptors/class-name" bean:"incomingInterceptorClassNames"`
	OutgoingInterceptors []string `cfg:"remoting-outgoing-interceptors/class-name" bean:"outgoingInterceptorClassNames"`
	BrokerPlugins        []Plugin `cfg:"broker-plugins/broker-plugin"`

	// JAASConfigs are realms defined by broker properties; Instance.Login has
	// them merged with those of login.config.
	JAASConfigs []Realm `bean:"jaasConfigs"`

	Mirror Mirror
}

// CriticalAnalyzerPolicy says what happens when a part of the broker is stuck.
type CriticalAnalyzerPolicy string

// Policies of the critical analyzer.
const (
	CriticalLog      CriticalAnalyzerPolicy = "LOG"
	CriticalHalt     CriticalAnalyzerPolicy = "HALT"
	CriticalShutdown CriticalAnalyzerPolicy = "SHUTDOWN"
)

func (CriticalAnalyzerPolicy) values() []string { return []string{"LOG", "HALT", "SHUTDOWN"} }

// Mirror holds how acknowledgements that arrive over a mirror are retried.
type Mirror struct {
	AckManagerQueueAttempts int           `cfg:"mirror-ack-manager-queue-attempts" check:">0"`
	AckManagerPageAttempts  int           `cfg:"mirror-ack-manager-page-attempts" check:">0"`
	AckManagerRetryDelay    time.Duration `cfg:"mirror-ack-manager-retry-delay" unit:"ms" check:">0"`
	AckManagerWarnUnacked   bool          `cfg:"mirror-ack-manager-warn-unacked"`
	PageTransaction         bool          `cfg:"mirror-page-transaction"`
}

// NetworkCheck pings hosts or URLs to tell whether this node is isolated.
type NetworkCheck struct {
	List         string        `cfg:"network-check-list"`
	URLList      string        `cfg:"network-check-URL-list" bean:"networkCheckURLList"`
	Period       time.Duration `cfg:"network-check-period" unit:"ms" check:">0"`
	Timeout      time.Duration `cfg:"network-check-timeout" unit:"ms" check:">0"`
	NIC          string        `cfg:"network-check-NIC" bean:"networkCheckNIC"`
	PingCommand  string        `cfg:"network-check-ping-command"`
	Ping6Command string        `cfg:"network-check-ping6-command"`
}

// Metrics selects what the metrics endpoint shows.
type Metrics struct {
	JVMMemory        bool    `cfg:"jvm-memory" bean:"jvmMemory"`
	JVMThreads       bool    `cfg:"jvm-threads" bean:"jvmThread,jvmThreads"`
	JVMGC            bool    `cfg:"jvm-gc" bean:"jvmGc"`
	NettyPool        bool    `cfg:"netty-pool"`
	FileDescriptors  bool    `cfg:"file-descriptors"`
	Processor        bool    `cfg:"processor"`
	Uptime           bool    `cfg:"uptime"`
	Logging          bool    `cfg:"logging"`
	SecurityCaches   bool    `cfg:"security-caches"`
	ExecutorServices bool    `cfg:"executor-services"`
	Plugin           *Plugin `cfg:"plugin"`
}

// Plugin names a class and its properties.
type Plugin struct {
	ClassName  string            `cfg:"@class-name,required"`
	Properties map[string]string `cfg:"property{key,value}|setting{name,value}" bean:"init,properties"`
}

// ConnectorService names a service class with parameters.
type ConnectorService struct {
	Name         string            `cfg:"@name"`
	FactoryClass string            `cfg:"factory-class,required" bean:"factoryClassName"`
	Params       map[string]string `cfg:"param{key,value}"`
}

// ResourceLimit bounds what one user may hold; -1 is no bound.
type ResourceLimit struct {
	// Match is a user name.
	Match          string `cfg:"@match,required"`
	MaxConnections int    `cfg:"max-connections"`
	MaxSessions    int    `cfg:"max-sessions"`
	MaxQueues      int    `cfg:"max-queues"`
}

func (r *ResourceLimit) defaults() {
	r.MaxConnections, r.MaxSessions, r.MaxQueues = -1, -1, -1
}
