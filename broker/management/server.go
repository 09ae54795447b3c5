package management

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/config"
)

const (
	nettyAcceptor  = "org.apache.activemq.artemis.core.remoting.impl.netty.NettyAcceptorFactory"
	nettyConnector = "org.apache.activemq.artemis.core.remoting.impl.netty.NettyConnectorFactory"
	vmConnector    = "org.apache.activemq.artemis.core.remoting.impl.invm.InVMConnectorFactory"
)

// or calls f, or returns def when there is none.
func or[T any](f func() T, def T) T {
	if f == nil {
		return def
	}
	return f()
}

var serverClass = class("ActiveMQServerControl", "The broker.", func(d *definition[*Registry]) {
	defineServerState(d)
	defineServerConfig(d)
	defineLists(d)
	defineAddresses(d)
	defineQueues(d)
	defineDiverts(d)
	defineConnections(d)
	defineTransactions(d)
	defineSecurity(d)
	defineNode(d)
})

// defineServerState are the attributes that tell how the broker is.
func defineServerState(d *definition[*Registry]) {
	d.attr("Name", String, "Name of the broker.", func(g *Registry) any { return g.env.Config.Name })
	d.attr("Version", String, "Version of the broker.", func(g *Registry) any { return g.env.Version })
	d.attr("NodeID", String, "Identity of the broker's data.", func(g *Registry) any { return g.b.Options().NodeID })
	d.attr("Started", Bool, "Whether the broker is started.", func(g *Registry) any { return g.b.Started() })
	d.attr("Active", Bool, "Whether the broker serves clients.", func(g *Registry) any { return g.b.Started() })
	d.attr("Backup", Bool, "Whether the broker is a backup.", func(g *Registry) any { return or(g.env.Node.Backup, false) })
	d.attr("ReplicaSync", Bool, "Whether a replica has everything.", func(g *Registry) any { return or(g.env.Node.ReplicaSync, false) })
	d.attr("HAPolicy", String, "High-availability policy.", func(g *Registry) any { return or(g.env.Node.HAPolicy, "Primary Only") })
	d.attr("ActivationSequence", Long, "How often a pair has changed its active member, -1 without a lock manager.", func(g *Registry) any { return or(g.env.Node.ActivationSequence, -1) })
	d.attr("SharedStore", Bool, "Whether the data folder is shared with a backup.", func(g *Registry) any { return strings.Contains(string(g.env.Config.HAPolicy.Kind()), "shared") })
	d.attr("Clustered", Bool, "Whether the broker has cluster connections.", func(g *Registry) any { return len(g.env.Config.ClusterConnections) > 0 })
	d.attr("Uptime", String, "Time since the start.", func(g *Registry) any { return duration(g.b.Uptime()) })
	d.attr("UptimeMillis", Long, "Milliseconds since the start.", func(g *Registry) any { return g.b.Uptime() })
	d.attr("CurrentTimeMillis", Long, "Time of the broker's machine.", func(g *Registry) any { return g.b.Wheel().Now() })
	d.attr("Status", String, "State of the broker and its configuration, as JSON.", func(g *Registry) any { return JSON(g.status()) })
	d.attr("EmbeddedWebServerStarted", Bool, "Whether the web server is started.", func(g *Registry) any { return or(g.env.Node.WebServerStarted, false) })
	d.attr("DiskStoreUsage", Double, "Used share of the disk.", func(g *Registry) any { return or(g.env.Node.DiskStoreUsage, 0) })
	d.attr("AddressMemoryUsage", Long, "Estimated memory of all messages in bytes.", func(g *Registry) any { return g.b.Total().Bytes() })
	d.attr("AddressMemoryUsagePercentage", Int, "That memory as a share of the limit.", func(g *Registry) any {
		if max := g.b.Options().GlobalMaxBytes; max > 0 {
			return g.b.Total().Bytes() * 100 / max
		}
		return int64(0)
	})
	d.attr("PendingMirrorAcks", Int, "Acknowledgements a mirror has not confirmed.", func(*Registry) any { return 0 })

	d.attr("ConnectionCount", Int, "Connections.", func(g *Registry) any { return len(g.b.Connections()) })
	d.attr("TotalConnectionCount", Long, "Connections since the start.", func(g *Registry) any { c, _ := g.b.Opened(); return c })
	d.attr("SessionCount", Int, "Sessions.", func(g *Registry) any { return len(g.b.Sessions()) })
	d.attr("TotalSessionCount", Long, "Sessions since the start.", func(g *Registry) any { _, s := g.b.Opened(); return s })
	d.attr("TotalConsumerCount", Long, "Consumers.", func(g *Registry) any { return g.sum(func(c broker.Counts) int64 { return int64(c.Consumers) }) })
	d.attr("TotalMessageCount", Long, "Messages in all queues.", func(g *Registry) any { return g.sum(func(c broker.Counts) int64 { return c.Messages }) })
	d.attr("TotalMessagesAdded", Long, "Messages that came into queues.", func(g *Registry) any { return g.sum(func(c broker.Counts) int64 { return c.Stats.Added }) })
	d.attr("TotalMessagesAcknowledged", Long, "Messages acknowledged.", func(g *Registry) any { return g.sum(func(c broker.Counts) int64 { return c.Stats.Acknowledged }) })

	d.attr("AddressNames", Strings, "Names of all addresses.", func(g *Registry) any { return g.addressNames() })
	d.attr("AddressCount", Int, "Number of addresses.", func(g *Registry) any { return len(g.b.Addresses()) })
	d.attr("QueueNames", Strings, "Names of all queues.", func(g *Registry) any { return g.queueNames(nil) })
	d.attr("QueueCount", Int, "Number of queues.", func(g *Registry) any { return len(g.b.Queues()) })
	d.attr("DivertNames", Strings, "Names of all diverts.", func(g *Registry) any { return g.divertNames() })
	d.attr("BridgeNames", Strings, "Names of all bridges.", func(g *Registry) any {
		return names(g.env.Config.Bridges, func(b config.Bridge) string { return b.Name })
	})
	d.attr("ClusterConnectionNames", Strings, "Names of all cluster connections.", func(g *Registry) any {
		return names(g.env.Config.ClusterConnections, func(c config.ClusterConnection) string { return c.Name })
	})
	d.attr("ConnectorServices", Strings, "Names of all connector services.", func(g *Registry) any {
		return names(g.env.Config.ConnectorServices, func(c config.ConnectorService) string { return c.Name })
	})
	d.attr("BrokerPluginClassNames", Strings, "Classes of all plugins.", func(g *Registry) any {
		return names(g.env.Config.BrokerPlugins, func(p config.Plugin) string { return p.ClassName })
	})
	d.attr("IncomingInterceptorClassNames", Strings, "Classes that see what comes in.", func(g *Registry) any { return orNone(g.env.Config.IncomingInterceptors) })
	d.attr("OutgoingInterceptorClassNames", Strings, "Classes that see what goes out.", func(g *Registry) any { return orNone(g.env.Config.OutgoingInterceptors) })

	d.attr("Acceptors", Objects, "Acceptors as rows.", func(g *Registry) any {
		out := []any{}
		for _, a := range g.acceptors() {
			out = append(out, transportRow(a.Name(), a.Factory(), a.Params()))
		}
		return out
	})
	d.attr("AcceptorsAsJSON", String, "Acceptors, as JSON.", func(g *Registry) any {
		out := []Object{}
		for _, a := range g.acceptors() {
			out = append(out, transportObject(a.Name(), a.Factory(), a.Params(), a.ExtraParams()))
		}
		return JSON(out)
	})
	d.attr("Connectors", Objects, "Connectors as rows.", func(g *Registry) any {
		out := []any{}
		for _, c := range g.env.Config.Connectors {
			out = append(out, transportRow(c.Name, connectorFactory(c), connectorParams(c)))
		}
		return out
	})
	d.attr("ConnectorsAsJSON", String, "Connectors, as JSON.", func(g *Registry) any {
		out := []Object{}
		for _, c := range g.env.Config.Connectors {
			out = append(out, transportObject(c.Name, connectorFactory(c), connectorParams(c), nil))
		}
		return JSON(out)
	})

	d.attr("AuthenticationCacheSize", Long, "Number of remembered logins.", func(g *Registry) any {
		if g.env.Auth == nil {
			return int64(0)
		}
		return int64(g.env.Auth.CacheLen())
	})
	logins := func(g *Registry) (ok, failed int64) {
		if g.env.Auth != nil {
			ok, failed = g.env.Auth.Counts()
		}
		return ok, failed
	}
	d.attr("AuthenticationSuccessCount", Long, "Logins that succeeded.", func(g *Registry) any { n, _ := logins(g); return n })
	d.attr("AuthenticationFailureCount", Long, "Logins that failed.", func(g *Registry) any { _, n := logins(g); return n })
	d.attr("AuthorizationCacheSize", Long, "Number of remembered permissions.", func(*Registry) any { return int64(0) })
	d.attr("AuthorizationSuccessCount", Long, "Permissions that were granted.", func(*Registry) any { return int64(0) })
	d.attr("AuthorizationFailureCount", Long, "Permissions that were refused.", func(*Registry) any { return int64(0) })

	d.rw("FailoverOnServerShutdown", Bool, "Whether a stop makes the backup active.", func(g *Registry) any {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.failoverOnServerShutdown
	}, func(g *Registry, v any) error {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.failoverOnServerShutdown = v.(bool)
		return nil
	})
	d.attr("MessageCounterEnabled", Bool, "Whether message counters are sampled.", func(g *Registry) any { return g.counters.isEnabled() })
	d.rw("MessageCounterSamplePeriod", Long, "Milliseconds between samples.", func(g *Registry) any { return g.counters.samplePeriod() }, func(g *Registry, v any) error {
		return g.counters.setPeriod(v.(int64))
	})
	d.rw("MessageCounterMaxDayCount", Int, "How many days message counters keep.", func(g *Registry) any { return g.counters.days() }, func(g *Registry, v any) error {
		return g.counters.setDays(int(v.(int32)))
	})
}

// defineServerConfig are the attributes that show the configuration.
func defineServerConfig(d *definition[*Registry]) {
	attr := func(name string, t Type, desc string, get func(*config.Config) any) {
		d.attr(name, t, desc, func(g *Registry) any { return get(g.env.Config) })
	}
	attr("AsyncConnectionExecutionEnabled", Bool, "Whether requests of a connection are handled on other threads; kept for compatibility.", func(c *config.Config) any { return c.AsyncConnectionExecution })
	attr("BindingsDirectory", String, "Folder of the bindings journal.", func(c *config.Config) any { return c.Journal.BindingsDirectory })
	attr("JournalDirectory", String, "Folder of the messages journal.", func(c *config.Config) any { return c.Journal.Directory })
	attr("LargeMessagesDirectory", String, "Folder of large messages.", func(c *config.Config) any { return c.Journal.LargeMessagesDirectory })
	attr("PagingDirectory", String, "Folder of page files.", func(c *config.Config) any { return c.Paging.Directory })
	attr("CreateBindingsDir", Bool, "Whether the bindings folder is made when it is missing.", func(c *config.Config) any { return c.Journal.CreateBindingsDir })
	attr("CreateJournalDir", Bool, "Whether the journal folder is made when it is missing.", func(c *config.Config) any { return c.Journal.CreateDir })
	attr("JournalBufferSize", Int, "Size of the journal's buffer in bytes.", func(c *config.Config) any { return int64(c.Journal.BufferSize) })
	attr("JournalBufferTimeout", Int, "Nanoseconds the journal gathers writes; without effect here.", func(c *config.Config) any {
		if t := c.Journal.BufferTimeout; t != nil {
			return int64(*t)
		}
		return int64(3333333)
	})
	attr("JournalCompactMinFiles", Int, "Number of files from which the journal is compacted.", func(c *config.Config) any { return c.Journal.CompactMinFiles })
	attr("JournalCompactPercentage", Int, "Share of live data below which the journal is compacted.", func(c *config.Config) any { return c.Journal.CompactPercentage })
	attr("JournalFileSize", Int, "Size of a journal file in bytes.", func(c *config.Config) any { return int64(c.Journal.FileSize) })
	attr("JournalMaxIO", Int, "Depth of the journal's write queue.", func(c *config.Config) any { return max(c.Journal.MaxIO, 1) })
	attr("JournalMinFiles", Int, "How many journal files there are at least.", func(c *config.Config) any { return c.Journal.MinFiles })
	attr("JournalPoolFiles", Int, "How many free journal files are kept.", func(c *config.Config) any { return c.Journal.PoolFiles })
	attr("JournalSyncNonTransactional", Bool, "Whether operations outside transactions wait for the disk.", func(c *config.Config) any { return c.Journal.SyncOthers })
	attr("JournalSyncTransactional", Bool, "Whether commits wait for the disk.", func(c *config.Config) any { return c.Journal.SyncTransactions })
	attr("JournalType", String, "How the journal writes.", func(c *config.Config) any { return string(c.Journal.Type) })
	attr("ConnectionTTLOverride", Long, "Milliseconds after which a silent connection is closed, -1 for what the client says.", func(c *config.Config) any { return millis(c.ConnectionTTLOverride) })
	attr("DiskScanPeriod", Int, "Milliseconds between looks at the disk.", func(c *config.Config) any { return millis(c.DiskScanPeriod) })
	attr("MaxDiskUsage", Int, "Used share of the disk in percent at which producers are stopped.", func(c *config.Config) any { return c.MaxDiskUsage })
	d.attr("GlobalMaxSize", Long, "Limit of the memory of all messages in bytes.", func(g *Registry) any { return g.b.Options().GlobalMaxBytes })
	attr("IDCacheSize", Int, "How many duplicate ids an address remembers.", func(c *config.Config) any { return c.IDCacheSize })
	attr("ManagementAddress", String, "Address of management messages.", func(c *config.Config) any { return c.ManagementAddress })
	attr("ManagementNotificationAddress", String, "Address of notifications.", func(c *config.Config) any { return c.ManagementNotificationAddress })
	attr("MessageExpiryScanPeriod", Long, "Milliseconds between looks for expired messages.", func(c *config.Config) any { return millis(c.MessageExpiryScanPeriod) })
	attr("MessageExpiryThreadPriority", Long, "Without effect; kept for compatibility.", func(c *config.Config) any { return c.MessageExpiryThreadPriority })
	attr("PersistDeliveryCountBeforeDelivery", Bool, "Whether delivery counts are stored before delivery.", func(c *config.Config) any { return c.PersistDeliveryCountBeforeDeliver })
	attr("PersistIDCache", Bool, "Whether duplicate ids outlive a restart.", func(c *config.Config) any { return c.PersistIDCache })
	attr("PersistenceEnabled", Bool, "Whether messages are stored.", func(c *config.Config) any { return c.PersistenceEnabled })
	attr("ScheduledThreadPoolMaxSize", Int, "Without effect; kept for compatibility.", func(c *config.Config) any { return c.ScheduledThreadPoolMaxSize })
	attr("ThreadPoolMaxSize", Int, "Without effect; kept for compatibility.", func(c *config.Config) any { return c.ThreadPoolMaxSize })
	attr("SecurityEnabled", Bool, "Whether logins and permissions are checked.", func(c *config.Config) any { return c.SecurityEnabled })
	attr("SecurityInvalidationInterval", Long, "Milliseconds a login is remembered.", func(c *config.Config) any { return millis(c.SecurityInvalidationInterval) })
	attr("TransactionTimeout", Long, "Milliseconds an unprepared XA transaction may take.", func(c *config.Config) any { return millis(c.TransactionTimeout) })
	attr("TransactionTimeoutScanPeriod", Long, "Milliseconds between looks for such transactions.", func(c *config.Config) any { return millis(c.TransactionTimeoutScan) })
	attr("WildcardRoutingEnabled", Bool, "Whether wildcard addresses get messages.", func(c *config.Config) any { return c.WildcardRouting && c.Wildcards.RoutingEnabled })
}

// millis is a duration in ms; a negative one is -1.
func millis(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return d.Milliseconds()
}

func names[T any](list []T, name func(T) string) []string {
	out := []string{}
	for _, x := range list {
		out = append(out, name(x))
	}
	return out
}

func (g *Registry) sum(f func(broker.Counts) int64) int64 {
	n := int64(0)
	for _, q := range g.b.Queues() {
		n += f(q.Counts())
	}
	return n
}

// addressNames leaves out the address of notifications, which Artemis makes without a resource of its own.
func (g *Registry) addressNames() []string {
	list := slices.DeleteFunc(g.b.Addresses(), func(a *broker.Address) bool { return a.Name() == g.b.Options().ManagementNotificationAddress })
	return names(list, (*broker.Address).Name)
}

func (g *Registry) queueNames(only func(*broker.Queue) bool) []string {
	list := g.b.Queues()
	if only != nil {
		list = slices.DeleteFunc(list, func(q *broker.Queue) bool { return !only(q) })
	}
	return names(list, (*broker.Queue).Name)
}

func (g *Registry) divertNames() []string { return names(g.b.Diverts(), (*broker.Divert).Name) }

func connectorFactory(c config.Transport) string {
	if c.URL.Scheme == "vm" {
		return vmConnector
	}
	return nettyConnector
}

func connectorParams(c config.Transport) map[string]any {
	out := map[string]any{}
	for k, v := range c.URL.Params {
		out[k] = v
	}
	if c.URL.Host != "" {
		out["host"] = c.URL.Host
	}
	if c.URL.Port != 0 {
		out["port"] = fmt.Sprint(c.URL.Port)
	}
	return out
}

// status is the state of the server and its configuration.
func (g *Registry) status() Object {
	state := "STOPPED"
	if g.b.Started() {
		state = "STARTED"
	}
	none := func() any { return Object{{"properties", Object{}}} }
	conf, jaas := none(), none()
	if f := g.env.Node.ConfigurationStatus; f != nil {
		conf = f()
	}
	if f := g.env.Node.JAASStatus; f != nil {
		jaas = f()
	}
	return Object{{"configuration", conf}, {"server", Object{{"jaas", jaas}, {"state", state}, {"version", g.env.Version}, {"nodeId", g.b.Options().NodeID},
		{"identity", nil}, {"uptime", duration(g.b.Uptime())}}}}
}

// duration is a time in ms as text: "7.198 seconds", "1 minute", "2 hours 5 minutes", "3 days 1 hour".
func duration(ms int64) string {
	count := func(n int64, unit string) string {
		if n == 1 {
			return fmt.Sprintf("%d %s", n, unit)
		}
		return fmt.Sprintf("%d %ss", n, unit)
	}
	pair := func(big int64, bigUnit string, small int64, smallUnit string) string {
		if small == 0 {
			return count(big, bigUnit)
		}
		return count(big, bigUnit) + " " + count(small, smallUnit)
	}
	minutes := ms / 60000
	switch {
	case minutes == 0:
		return fmt.Sprintf("%.3f seconds", float64(ms)/1000)
	case minutes < 60:
		return count(minutes, "minute")
	case minutes < 24*60:
		return pair(minutes/60, "hour", minutes%60, "minute")
	}
	return pair(minutes/60/24, "day", minutes/60%24, "hour")
}
