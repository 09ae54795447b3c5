package config

import (
	"reflect"
	"time"
)

// DefaultClusterPassword is the cluster password of a configuration that sets
// none; a cluster connection with it stops the start.
const DefaultClusterPassword = "CHANGE ME!!"

// Default returns the configuration of an empty core element.
func Default() *Config {
	c := blank()
	c.derive()
	return c
}

// blank returns a configuration with the defaults that stand by themselves.
func blank() *Config {
	c := &Config{}
	setDefaults(reflect.ValueOf(c))
	return c
}

// derive fills values whose default is made of others.
func (c *Config) derive() {
	if c.CriticalAnalyzerCheckPeriod <= 0 {
		c.CriticalAnalyzerCheckPeriod = c.CriticalAnalyzerTimeout / 2
	}
}

func (c *Config) defaults() {
	const off = -time.Millisecond
	c.Name = "localhost"
	c.SystemPropertyPrefix = "brokerconfig."
	c.InternalNamingPrefix = "$.artemis.internal."
	c.ResolveProtocols, c.PersistenceEnabled = true, true
	c.ScheduledThreadPoolMaxSize, c.ThreadPoolMaxSize = 5, 30
	c.GracefulShutdownTimeout = off
	c.SecurityEnabled = true
	c.SecurityInvalidationInterval = 10 * time.Second
	c.AuthenticationCacheSize, c.AuthorizationCacheSize = 1000, 1000
	c.ViewPermissionMethodMatch = "^(get|is|count|list|browse|query).*$"
	c.ManagementRBACPrefix = "mops"
	c.PasswordCodec = DefaultCodec
	c.ManagementAddress, c.ManagementNotificationAddress = "activemq.management", "activemq.notifications"
	c.JMXManagementEnabled, c.JMXNotificationEnabled, c.JMXUseBrokerName = true, true, true
	c.JMXDomain = "org.apache.activemq.artemis"
	c.MessageCounterSamplePeriod, c.MessageCounterMaxDayHistory = 10*time.Second, 10
	c.Metrics.JVMMemory = true
	c.ConnectionTTLOverride, c.ConnectionTTLCheckInterval = off, 2*time.Second
	c.AsyncConnectionExecution = true
	c.ConfigurationFileRefreshPeriod = 5 * time.Second
	c.TransactionTimeout, c.TransactionTimeoutScan = 5*time.Minute, time.Second
	c.MessageExpiryScanPeriod, c.AddressQueueScanPeriod = 30*time.Second, 30*time.Second
	c.MessageExpiryThreadPriority = 3
	c.IDCacheSize, c.PersistIDCache = 20000, true
	c.MaxRedeliveryRecords = 10
	c.WildcardRouting = true
	c.Wildcards = DefaultWildcards()
	c.GlobalMaxSize, c.GlobalMaxSizePercentOfHeap, c.GlobalMaxMessages = -1, 50, -1
	c.MaxDiskUsage, c.MinDiskFree, c.DiskScanPeriod = 90, -1, 5*time.Second
	c.MemoryWarningThreshold, c.MemoryMeasureInterval, c.ServerDumpInterval = 25, off, off
	c.CriticalAnalyzer, c.CriticalAnalyzerPolicy = true, CriticalLog
	c.CriticalAnalyzerTimeout = 2 * time.Minute
	c.MQTTSessionScanInterval, c.MQTTSessionStatePersistenceTimeout = 5*time.Second, 5*time.Second
	c.MQTTSubscriptionPersistence = true
	c.ClusterUser, c.ClusterPassword = "ACTIVEMQ.CLUSTER.ADMIN.USER", DefaultClusterPassword
	c.NetworkCheck = NetworkCheck{Period: 5 * time.Second, Timeout: time.Second,
		PingCommand: "ping -c 1 -w %d %s", Ping6Command: "ping6 -c 1 %2$s"}
	c.Mirror = Mirror{AckManagerQueueAttempts: 5, AckManagerPageAttempts: 2, AckManagerRetryDelay: 100 * time.Millisecond}
}

func (j *Journal) defaults() {
	j.BindingsDirectory, j.CreateBindingsDir = "data/bindings", true
	j.Directory, j.CreateDir = "data/journal", true
	j.LargeMessagesDirectory = "data/largemessages"
	j.Type, j.Datasync, j.SyncLarge = AsyncIO, true, true
	j.SyncTransactions, j.SyncOthers = true, true
	j.BufferSize, j.FileSize = 501760, 10<<20
	j.MinFiles, j.PoolFiles = 2, -1
	j.CompactPercentage, j.CompactMinFiles = 30, 10
	j.FileOpenTimeout, j.MaxAtticFiles = 5*time.Second, 10
	j.LockAcquisitionTimeout, j.LockMonitorTimeout = -time.Millisecond, 2*time.Second
}

func (p *Paging) defaults() { p.Directory, p.MaxConcurrentIO = "data/paging", 5 }

func (q *Queue) defaults() {
	// A queue in the file takes these two never from its address setting.
	q.Durable, q.PurgeOnNoConsumers, q.RingSize = true, new(bool), new(int64)
	*q.RingSize = -1
}
