package config

import "time"

// AddressFullPolicy says what happens to a message sent to a full address.
type AddressFullPolicy string

// Policies for a full address.
const (
	FullPage  AddressFullPolicy = "PAGE"
	FullDrop  AddressFullPolicy = "DROP"
	FullBlock AddressFullPolicy = "BLOCK"
	FullFail  AddressFullPolicy = "FAIL"
)

func (AddressFullPolicy) values() []string { return []string{"DROP", "FAIL", "PAGE", "BLOCK"} }

// PageFullPolicy says what happens to a message sent at the page limit; empty
// means the page limits are not applied.
type PageFullPolicy string

// Policies at the page limit.
const (
	PageFullDrop PageFullPolicy = "DROP"
	PageFullFail PageFullPolicy = "FAIL"
)

func (PageFullPolicy) values() []string { return []string{"DROP", "FAIL"} }

// DiskFullPolicy says what happens to a message sent while the disk is full.
type DiskFullPolicy string

// Policies for a full disk.
const (
	DiskFullBlock DiskFullPolicy = "BLOCK"
	DiskFullDrop  DiskFullPolicy = "DROP"
	DiskFullFail  DiskFullPolicy = "FAIL"
)

func (DiskFullPolicy) values() []string { return []string{"DROP", "FAIL", "BLOCK"} }

// SlowConsumerPolicy says what happens to a slow consumer.
type SlowConsumerPolicy string

// Policies for slow consumers.
const (
	SlowKill   SlowConsumerPolicy = "KILL"
	SlowNotify SlowConsumerPolicy = "NOTIFY"
)

func (SlowConsumerPolicy) values() []string { return []string{"KILL", "NOTIFY"} }

// SlowConsumerUnit is the unit of slow-consumer-threshold.
type SlowConsumerUnit string

// Units of the slow consumer threshold.
const (
	PerSecond SlowConsumerUnit = "MESSAGES_PER_SECOND"
	PerMinute SlowConsumerUnit = "MESSAGES_PER_MINUTE"
	PerHour   SlowConsumerUnit = "MESSAGES_PER_HOUR"
	PerDay    SlowConsumerUnit = "MESSAGES_PER_DAY"
)

func (SlowConsumerUnit) values() []string {
	return []string{"MESSAGES_PER_SECOND", "MESSAGES_PER_MINUTE", "MESSAGES_PER_HOUR", "MESSAGES_PER_DAY"}
}

// Seconds returns how many seconds the unit has.
func (u SlowConsumerUnit) Seconds() int64 {
	switch u {
	case PerMinute:
		return 60
	case PerHour:
		return 3600
	case PerDay:
		return 86400
	}
	return 1
}

// DeletionPolicy says whether what leaves the configuration file is deleted.
type DeletionPolicy string

// Deletion policies.
const (
	DeleteOff   DeletionPolicy = "OFF"
	DeleteForce DeletionPolicy = "FORCE"
)

func (DeletionPolicy) values() []string { return []string{"OFF", "FORCE"} }

// AddressSetting is one address-setting element or one setting stored by
// management: only what was written is set, the rest is nil and comes from less
// specific matches and at last from the defaults (see Merge and Resolve).
//
// Fields have the names of AddressSettings, which documents them. The order is
// that of the elements in the schema. As JSON it has Artemis' bean names, set
// fields only: the form of the bindings journal and of management.
type AddressSetting struct {
	Match string `cfg:"@match,required"`

	DeadLetterAddress             *string `cfg:"dead-letter-address"`
	AutoCreateDeadLetterResources *bool   `cfg:"auto-create-dead-letter-resources"`
	DeadLetterQueuePrefix         *string `cfg:"dead-letter-queue-prefix"`
	DeadLetterQueueSuffix         *string `cfg:"dead-letter-queue-suffix"`
	ExpiryAddress                 *string `cfg:"expiry-address"`
	AutoCreateExpiryResources     *bool   `cfg:"auto-create-expiry-resources"`
	ExpiryQueuePrefix             *string `cfg:"expiry-queue-prefix"`
	ExpiryQueueSuffix             *string `cfg:"expiry-queue-suffix"`
	NoExpiry                      *bool   `cfg:"no-expiry"`

	ExpiryDelay    *time.Duration `cfg:"expiry-delay" unit:"ms"`
	MinExpiryDelay *time.Duration `cfg:"min-expiry-delay" unit:"ms"`
	MaxExpiryDelay *time.Duration `cfg:"max-expiry-delay" unit:"ms"`

	RedeliveryDelay              *time.Duration `cfg:"redelivery-delay" unit:"ms"`
	RedeliveryMultiplier         *float64       `cfg:"redelivery-delay-multiplier" bean:"redeliveryMultiplier"`
	RedeliveryCollisionAvoidance *float64       `cfg:"redelivery-collision-avoidance-factor" check:"0..1" bean:"redeliveryCollisionAvoidanceFactor"`
	MaxRedeliveryDelay           *time.Duration `cfg:"max-redelivery-delay" unit:"ms"`
	MaxDeliveryAttempts          *int           `cfg:"max-delivery-attempts"`

	MaxSizeBytes                *Bytes `cfg:"max-size-bytes"`
	MaxSizeMessages             *int64 `cfg:"max-size-messages"`
	PageLimitBytes              *Bytes `cfg:"page-limit-bytes"`
	PageLimitMessages           *int64 `cfg:"page-limit-messages"`
	MaxSizeBytesRejectThreshold *Bytes `cfg:"max-size-bytes-reject-threshold"`

	PageSizeBytes        *Bytes             `cfg:"page-size-bytes" check:"size32"`
	PageMaxCacheSize     *int               `cfg:"page-max-cache-size" bean:"pageCacheMaxSize"`
	MaxReadPageMessages  *int               `cfg:"max-read-page-messages" check:"-1|>0"`
	PrefetchPageMessages *int               `cfg:"prefetch-page-messages" check:"-1|>0"`
	MaxReadPageBytes     *Bytes             `cfg:"max-read-page-bytes" check:"-1|>0"`
	PrefetchPageBytes    *Bytes             `cfg:"prefetch-page-bytes" check:"-1|>0"`
	AddressFullPolicy    *AddressFullPolicy `cfg:"address-full-policy" bean:"addressFullMessagePolicy"`
	DiskFullPolicy       *DiskFullPolicy    `cfg:"disk-full-policy" bean:"diskFullMessagePolicy"`
	PageFullPolicy       *PageFullPolicy    `cfg:"page-full-policy" bean:"pageFullMessagePolicy"`

	// MessageCounterHistoryDayLimit counts days.
	MessageCounterHistoryDayLimit *int `cfg:"message-counter-history-day-limit"`

	DefaultLastValueQueue              *bool          `cfg:"default-last-value-queue|last-value-queue" bean:"defaultLastValueQueue,lastValueQueue"`
	DefaultLastValueKey                *string        `cfg:"default-last-value-key"`
	DefaultNonDestructive              *bool          `cfg:"default-non-destructive"`
	DefaultExclusiveQueue              *bool          `cfg:"default-exclusive-queue"`
	DefaultGroupRebalance              *bool          `cfg:"default-group-rebalance"`
	DefaultGroupRebalancePauseDispatch *bool          `cfg:"default-group-rebalance-pause-dispatch"`
	DefaultGroupBuckets                *int           `cfg:"default-group-buckets"`
	DefaultGroupFirstKey               *string        `cfg:"default-group-first-key"`
	DefaultConsumersBeforeDispatch     *int           `cfg:"default-consumers-before-dispatch"`
	DefaultDelayBeforeDispatch         *time.Duration `cfg:"default-delay-before-dispatch" unit:"ms"`

	RedistributionDelay *time.Duration `cfg:"redistribution-delay" unit:"ms"`
	SendToDLAOnNoRoute  *bool          `cfg:"send-to-dla-on-no-route" bean:"sendToDLAOnNoRoute"`

	SlowConsumerThreshold   *int64              `cfg:"slow-consumer-threshold" check:"-1|>0"`
	SlowConsumerUnit        *SlowConsumerUnit   `cfg:"slow-consumer-threshold-measurement-unit" bean:"slowConsumerThresholdMeasurementUnit"`
	SlowConsumerPolicy      *SlowConsumerPolicy `cfg:"slow-consumer-policy"`
	SlowConsumerCheckPeriod *time.Duration      `cfg:"slow-consumer-check-period" unit:"s" check:">0"`

	AutoCreateJMSQueues           *bool           `cfg:"auto-create-jms-queues" bean:"autoCreateJmsQueues"`
	AutoDeleteJMSQueues           *bool           `cfg:"auto-delete-jms-queues" bean:"autoDeleteJmsQueues"`
	AutoCreateJMSTopics           *bool           `cfg:"auto-create-jms-topics" bean:"autoCreateJmsTopics"`
	AutoDeleteJMSTopics           *bool           `cfg:"auto-delete-jms-topics" bean:"autoDeleteJmsTopics"`
	AutoCreateQueues              *bool           `cfg:"auto-create-queues"`
	AutoDeleteQueues              *bool           `cfg:"auto-delete-queues"`
	AutoDeleteCreatedQueues       *bool           `cfg:"auto-delete-created-queues"`
	AutoDeleteQueuesDelay         *time.Duration  `cfg:"auto-delete-queues-delay" unit:"ms" check:">=0"`
	AutoDeleteQueuesMessageCount  *int64          `cfg:"auto-delete-queues-message-count" check:"-1|>=0"`
	AutoDeleteQueuesSkipUsage     *bool           `cfg:"auto-delete-queues-skip-usage-check" bean:"autoDeleteQueuesSkipUsageCheck"`
	ConfigDeleteQueues            *DeletionPolicy `cfg:"config-delete-queues"`
	AutoCreateAddresses           *bool           `cfg:"auto-create-addresses"`
	AutoDeleteAddresses           *bool           `cfg:"auto-delete-addresses"`
	AutoDeleteAddressesDelay      *time.Duration  `cfg:"auto-delete-addresses-delay" unit:"ms" check:">=0"`
	AutoDeleteAddressesSkipUsage  *bool           `cfg:"auto-delete-addresses-skip-usage-check" bean:"autoDeleteAddressesSkipUsageCheck"`
	ConfigDeleteAddresses         *DeletionPolicy `cfg:"config-delete-addresses"`
	ConfigDeleteDiverts           *DeletionPolicy `cfg:"config-delete-diverts"`
	ManagementBrowsePageSize      *int            `cfg:"management-browse-page-size" check:">0"`
	ManagementMessageAttributeMax *int            `cfg:"management-message-attribute-size-limit" bean:"managementMessageAttributeSizeLimit"`

	DefaultPurgeOnNoConsumers *bool        `cfg:"default-purge-on-no-consumers"`
	DefaultMaxConsumers       *int         `cfg:"default-max-consumers"`
	DefaultQueueRoutingType   *RoutingType `cfg:"default-queue-routing-type"`
	DefaultAddressRoutingType *RoutingType `cfg:"default-address-routing-type"`
	DefaultConsumerWindowSize *int         `cfg:"default-consumer-window-size"`
	DefaultRingSize           *int64       `cfg:"default-ring-size" check:"-1|>0"`
	RetroactiveMessageCount   *int64       `cfg:"retroactive-message-count" check:">=0"`
	EnableMetrics             *bool        `cfg:"enable-metrics"`
	EnableIngressTimestamp    *bool        `cfg:"enable-ingress-timestamp"`
	IDCacheSize               *int         `cfg:"id-cache-size" check:">=0"`
	InitialQueueBufferSize    *int         `cfg:"initial-queue-buffer-size" check:"pow2"`
	QueuePrefetch             *int         `bean:"queuePrefetch"`
}

// AddressSettings are the settings in force for one address: every match merged,
// defaults filled in. Negative durations and counts mean off or no bound.
// Strings are empty where nothing is set.
type AddressSettings struct {
	// DeadLetterAddress and ExpiryAddress empty: such messages are dropped.
	DeadLetterAddress             string
	AutoCreateDeadLetterResources bool
	DeadLetterQueuePrefix         string
	DeadLetterQueueSuffix         string
	ExpiryAddress                 string
	AutoCreateExpiryResources     bool
	ExpiryQueuePrefix             string
	ExpiryQueueSuffix             string
	NoExpiry                      bool

	// ExpiryDelay applies to messages without expiry, MinExpiryDelay raises a
	// shorter one, MaxExpiryDelay lowers a longer one (and sets a missing one).
	ExpiryDelay    time.Duration
	MinExpiryDelay time.Duration
	MaxExpiryDelay time.Duration

	RedeliveryDelay      time.Duration
	RedeliveryMultiplier float64
	// RedeliveryCollisionAvoidance is a fraction 0..1.
	RedeliveryCollisionAvoidance float64
	// MaxRedeliveryDelay is 10 × RedeliveryDelay unless set above zero.
	MaxRedeliveryDelay time.Duration
	// MaxDeliveryAttempts is 0 or less for no bound.
	MaxDeliveryAttempts int

	// MaxSizeBytes -1 leaves only the global limit; 0 is always full.
	MaxSizeBytes                Bytes
	MaxSizeMessages             int64
	PageLimitBytes              Bytes
	PageLimitMessages           int64
	MaxSizeBytesRejectThreshold Bytes

	PageSizeBytes        Bytes
	PageMaxCacheSize     int
	MaxReadPageMessages  int
	PrefetchPageMessages int // MaxReadPageMessages unless set
	MaxReadPageBytes     Bytes
	PrefetchPageBytes    Bytes // MaxReadPageBytes unless set
	AddressFullPolicy    AddressFullPolicy
	DiskFullPolicy       DiskFullPolicy
	PageFullPolicy       PageFullPolicy

	MessageCounterHistoryDayLimit int

	DefaultLastValueQueue              bool
	DefaultLastValueKey                string
	DefaultNonDestructive              bool
	DefaultExclusiveQueue              bool
	DefaultGroupRebalance              bool
	DefaultGroupRebalancePauseDispatch bool
	DefaultGroupBuckets                int
	DefaultGroupFirstKey               string
	DefaultConsumersBeforeDispatch     int
	DefaultDelayBeforeDispatch         time.Duration

	RedistributionDelay time.Duration
	SendToDLAOnNoRoute  bool

	SlowConsumerThreshold   int64
	SlowConsumerUnit        SlowConsumerUnit
	SlowConsumerPolicy      SlowConsumerPolicy
	SlowConsumerCheckPeriod time.Duration

	AutoCreateJMSQueues bool
	AutoDeleteJMSQueues bool
	AutoCreateJMSTopics bool
	AutoDeleteJMSTopics bool

	AutoCreateQueues        bool
	AutoDeleteQueues        bool
	AutoDeleteCreatedQueues bool
	AutoDeleteQueuesDelay   time.Duration
	// AutoDeleteQueuesMessageCount is the most messages a queue may have to be
	// deleted; -1 is any.
	AutoDeleteQueuesMessageCount int64
	AutoDeleteQueuesSkipUsage    bool
	ConfigDeleteQueues           DeletionPolicy
	AutoCreateAddresses          bool
	AutoDeleteAddresses          bool
	AutoDeleteAddressesDelay     time.Duration
	AutoDeleteAddressesSkipUsage bool
	ConfigDeleteAddresses        DeletionPolicy
	ConfigDeleteDiverts          DeletionPolicy

	ManagementBrowsePageSize int
	// ManagementMessageAttributeMax is in characters.
	ManagementMessageAttributeMax int

	DefaultPurgeOnNoConsumers bool
	DefaultMaxConsumers       int
	DefaultQueueRoutingType   RoutingType
	DefaultAddressRoutingType RoutingType
	// DefaultConsumerWindowSize is in bytes.
	DefaultConsumerWindowSize int
	DefaultRingSize           int64
	RetroactiveMessageCount   int64
	EnableMetrics             bool
	EnableIngressTimestamp    bool
	// IDCacheSize is 20000 unless set; Config.AddressSettingsFor puts the
	// broker's id-cache-size here.
	IDCacheSize            int
	InitialQueueBufferSize int
	QueuePrefetch          int
}

// DefaultAddressSettings are the settings of an address that nothing matches.
func DefaultAddressSettings() AddressSettings {
	const off = -time.Millisecond
	return AddressSettings{
		DeadLetterQueuePrefix: "DLQ.", ExpiryQueuePrefix: "EXP.",
		ExpiryDelay: off, MinExpiryDelay: off, MaxExpiryDelay: off,
		RedeliveryMultiplier: 1, MaxDeliveryAttempts: 10,
		MaxSizeBytes: -1, MaxSizeMessages: -1, PageLimitBytes: -1, PageLimitMessages: -1,
		MaxSizeBytesRejectThreshold: -1,
		PageSizeBytes:               10 << 20, PageMaxCacheSize: 5,
		MaxReadPageMessages: -1, PrefetchPageMessages: -1,
		MaxReadPageBytes: 20 << 20, PrefetchPageBytes: 20 << 20,
		AddressFullPolicy: FullPage, DiskFullPolicy: DiskFullBlock,
		DefaultGroupBuckets: -1, DefaultDelayBeforeDispatch: off,
		RedistributionDelay:   off,
		SlowConsumerThreshold: -1, SlowConsumerUnit: PerSecond,
		SlowConsumerPolicy: SlowNotify, SlowConsumerCheckPeriod: 5 * time.Second,
		AutoCreateJMSQueues: true, AutoDeleteJMSQueues: true,
		AutoCreateJMSTopics: true, AutoDeleteJMSTopics: true,
		AutoCreateQueues: true, AutoDeleteQueues: true, ConfigDeleteQueues: DeleteOff,
		AutoCreateAddresses: true, AutoDeleteAddresses: true, ConfigDeleteAddresses: DeleteOff,
		ConfigDeleteDiverts:      DeleteOff,
		ManagementBrowsePageSize: 200, ManagementMessageAttributeMax: 256,
		DefaultMaxConsumers: -1, DefaultQueueRoutingType: Multicast, DefaultAddressRoutingType: Multicast,
		DefaultConsumerWindowSize: 1 << 20, DefaultRingSize: -1, EnableMetrics: true,
		IDCacheSize: 20000, InitialQueueBufferSize: 8192, QueuePrefetch: 1000,
	}
}
