package config

import (
	"fmt"
	"sort"
	"strings"
)

// Effect says what an element of broker.xml does in this broker.
type Effect uint8

// Effects of an element.
const (
	// Effective does what it does in Artemis.
	Effective Effect = iota
	// WithoutEffect is read and checked, then nothing is done with it.
	WithoutEffect
	// Refused stops the start when it is used, because it would change what
	// happens to messages and this broker can't do it yet.
	Refused
)

func (e Effect) String() string { return [...]string{"effective", "without effect", "refused"}[e] }

// Element is a row of the element table.
type Element struct {
	// Path is the element below core, with @ before attributes.
	Path   string
	Effect Effect
	// Note says what is different, or why and what to do instead.
	Note string
	// used tells, for Refused, whether a configuration uses it; nil means its
	// presence counts.
	used func(*Config) bool
}

// Elements returns the table of elements, in the order of their paths. What
// isn't listed has the effect of the nearest element above it.
func Elements() []Element {
	rows := append([]Element(nil), elements...)
	for _, path := range effective {
		rows = append(rows, Element{Path: path})
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].Path < rows[j].Path })
	return rows
}

// Where several rows share a reason.
const (
	noPool     = "goroutines need no pool of a fixed size"
	noJVM      = "there is no Java heap to watch"
	withPaging = "comes with paging; until then PAGE acts as BLOCK"
	withAMQP   = "comes with AMQP"
	withMQTT   = "comes with MQTT"
	withMirror = "comes with AMQP mirrors"
	withHA     = "comes with HA pairs"
	withGroups = "comes with clusters that move messages"
	withFigure = "comes with the metrics endpoint"

	withoutJGroups   = "discovery by JGroups isn't supported; use group-address and group-port, or static connectors"
	withoutScaleDown = "messages can't be moved to another broker at a stop yet; set enabled to false or remove it"
	withoutColocated = "a broker can't host the backups of others; run each backup as a broker of its own"

	jmsFlags = "deprecated; auto-create-queues, auto-create-addresses, auto-delete-queues and auto-delete-addresses decide"
)

// elements holds every row with something to say; effective the others.
var elements = []Element{
	{Path: "resolve-protocols", Effect: WithoutEffect, Note: "all protocols are in the one binary"},
	{Path: "amqp-use-core-subscription-naming", Effect: WithoutEffect, Note: withAMQP},
	{Path: "thread-pool-max-size", Effect: WithoutEffect, Note: noPool},
	{Path: "scheduled-thread-pool-max-size", Effect: WithoutEffect, Note: noPool},
	{Path: "async-connection-execution-enabled", Effect: WithoutEffect, Note: "deprecated in Artemis, too"},
	{Path: "message-expiry-thread-priority", Effect: WithoutEffect, Note: "goroutines have no priority"},
	{Path: "log-delegate-factory-class-name", Effect: WithoutEffect, Note: "Artemis ignores it, too"},
	{Path: "jmx-management-enabled", Effect: WithoutEffect, Note: "there is no JMX; management messages and Jolokia show the same objects"},
	{Path: "jmx-notification-enabled", Effect: WithoutEffect, Note: "there is no JMX; notifications go to the notification address"},
	{Path: "metrics", Effect: WithoutEffect, Note: withFigure},
	{Path: "metrics-plugin", Effect: WithoutEffect, Note: withFigure},
	{Path: "memory-warning-threshold", Effect: WithoutEffect, Note: noJVM},
	{Path: "memory-measure-interval", Effect: WithoutEffect, Note: noJVM},
	{Path: "server-dump-interval", Effect: WithoutEffect, Note: noJVM},
	{Path: "critical-analyzer", Note: "watches the journals and the locks of the engine; before the policy acts, what all goroutines are at is logged"},
	{Path: "critical-analyzer-timeout", Note: "0 turns the critical analyzer off"},
	{Path: "global-max-size", Note: "unset: global-max-size-percent-of-jvm-max-memory of -Xmx in artemis.profile, else a quarter of the smaller of machine and cgroup memory"},
	{Path: "global-max-size-percent-of-jvm-max-memory", Note: "percentage of -Xmx in artemis.profile"},

	{Path: "journal-type", Note: "the files are the same for all three; writing is always by one flusher with group commit"},
	{Path: "journal-buffer-timeout", Effect: WithoutEffect, Note: "group commit needs no timer"},
	{Path: "journal-buffer-size", Effect: WithoutEffect, Note: "the write buffer grows with the load up to its own bound"},
	{Path: "journal-max-io", Effect: WithoutEffect, Note: "one write is under way at a time"},
	{Path: "journal-file-open-timeout", Effect: WithoutEffect, Note: "files are opened ahead"},
	{Path: "log-journal-write-rate", Effect: WithoutEffect, Note: "deprecated in Artemis, too"},
	{Path: "journal-retention-directory", Effect: WithoutEffect, Note: "consumed journal files are not kept yet"},
	{Path: "journal-lock-monitor-timeout", Effect: WithoutEffect, Note: withHA},
	{Path: "journal-lock-monitor-max-retries", Effect: WithoutEffect, Note: withHA},
	{Path: "paging-directory", Note: "live pages in it stop the start until paging is built"},
	{Path: "page-max-concurrent-io", Effect: WithoutEffect, Note: withPaging},
	{Path: "read-whole-page", Effect: WithoutEffect, Note: withPaging},
	{Path: "page-sync-timeout", Effect: WithoutEffect, Note: withPaging},
	{Path: "purge-page-folders", Effect: WithoutEffect, Note: withPaging},
	{Path: "store/database-store", Effect: Refused, Note: "messages can't be kept in a database; remove the store element to keep them in files", used: func(c *Config) bool { return c.Store.Database != nil }},

	{Path: "mqtt-session-scan-interval", Effect: WithoutEffect, Note: withMQTT},
	{Path: "mqtt-session-state-persistence-timeout", Effect: WithoutEffect, Note: withMQTT},
	{Path: "mqtt-subscription-persistence-enabled", Effect: WithoutEffect, Note: withMQTT},
	{Path: "mirror-ack-manager-queue-attempts", Effect: WithoutEffect, Note: withMirror},
	{Path: "mirror-ack-manager-page-attempts", Effect: WithoutEffect, Note: withMirror},
	{Path: "mirror-ack-manager-retry-delay", Effect: WithoutEffect, Note: withMirror},
	{Path: "mirror-ack-manager-warn-unacked", Effect: WithoutEffect, Note: withMirror},
	{Path: "mirror-page-transaction", Effect: WithoutEffect, Note: withMirror},
	{Path: "network-check-list", Note: "while nothing answers, acceptors and connections are stopped, but the data stay loaded and locked"},
	{Path: "network-check-URL-list", Note: "http and https; as network-check-list"},

	{Path: "password-codec", Note: "only the default class is known, two-way; another one stops the start"},
	{Path: "cluster-password", Note: "a cluster connection with the default password stops the start"},
	{Path: "cluster-connections/cluster-connection", Note: "joins the control plane of a cluster: topology, announcement, votes, an HA pair. Messages don't move between primaries yet"},
	{Path: "cluster-connections/cluster-connection/message-load-balancing", Effect: Refused, Note: "messages don't move between nodes yet; set it to OFF. In an HA pair ON_DEMAND, the default, is accepted: there is no other node to move to (a warning says so when a second primary appears)", used: balances},
	{Path: "cluster-connections/cluster-connection/forward-when-no-consumers", Effect: Refused, Note: "as message-load-balancing: true is STRICT; remove it", used: func(*Config) bool { return false }},
	{Path: "cluster-connections/cluster-connection/address", Effect: WithoutEffect, Note: withGroups},
	{Path: "cluster-connections/cluster-connection/min-large-message-size", Effect: WithoutEffect, Note: withGroups},
	{Path: "cluster-connections/cluster-connection/use-duplicate-detection", Effect: WithoutEffect, Note: withGroups},
	{Path: "cluster-connections/cluster-connection/max-hops", Effect: WithoutEffect, Note: withGroups},
	{Path: "cluster-connections/cluster-connection/confirmation-window-size", Effect: WithoutEffect, Note: withGroups},
	{Path: "cluster-connections/cluster-connection/producer-window-size", Effect: WithoutEffect, Note: withGroups},
	{Path: "cluster-connections/cluster-connection/client-id", Effect: WithoutEffect, Note: withGroups},
	{Path: "cluster-connections/cluster-connection/scale-down-connector", Effect: WithoutEffect, Note: withGroups},
	{Path: "cluster-connections/cluster-connection/topology-scanner-attempts", Effect: WithoutEffect, Note: "each other primary is connected to, so nothing has to be scanned for"},
	{Path: "cluster-connections/cluster-connection-uri", Effect: Refused, Note: "write it as a cluster-connection element", used: func(c *Config) bool { return len(c.ClusterURIs) > 0 }},
	{Path: "cluster-connections/cluster-connection/@uri", Effect: Refused, Note: "write its settings as elements", used: func(c *Config) bool {
		return anyOf(c.ClusterConnections, func(cc *ClusterConnection) bool { return cc.URI != "" })
	}},
	{Path: "broadcast-groups", Note: "by UDP"},
	{Path: "broadcast-groups/broadcast-group/jgroups-file", Effect: Refused, Note: withoutJGroups, used: func(c *Config) bool {
		return anyOf(c.BroadcastGroups, func(g *BroadcastGroup) bool { return g.JGroupsFile != "" || g.JGroupsChannel != "" })
	}},
	{Path: "broadcast-groups/broadcast-group/jgroups-channel", Effect: Refused, Note: withoutJGroups, used: func(*Config) bool { return false }},
	{Path: "discovery-groups", Note: "by UDP"},
	{Path: "discovery-groups/discovery-group/jgroups-file", Effect: Refused, Note: withoutJGroups, used: func(c *Config) bool {
		return anyOf(c.DiscoveryGroups, func(g *DiscoveryGroup) bool { return g.JGroupsFile != "" || g.JGroupsChannel != "" })
	}},
	{Path: "discovery-groups/discovery-group/jgroups-channel", Effect: Refused, Note: withoutJGroups, used: func(*Config) bool { return false }},
	{Path: "grouping-handler", Effect: Refused, Note: "REMOTE needs a cluster that moves messages, which this broker can't yet; remove it (LOCAL is accepted: one node decides alone)", used: func(c *Config) bool { return c.GroupingHandler != nil && c.GroupingHandler.Type == "REMOTE" }},
	{Path: "ha-policy/primary-only/scale-down", Effect: Refused, Note: withoutScaleDown, used: func(c *Config) bool {
		p := c.HAPolicy.PrimaryOnly
		return p != nil && scalesDown(p.ScaleDown)
	}},
	{Path: "ha-policy/replication/backup/scale-down", Effect: Refused, Note: withoutScaleDown, used: replicaScalesDown},
	{Path: "ha-policy/replication/colocated", Effect: Refused, Note: withoutColocated, used: func(c *Config) bool { return c.HAPolicy.Replication != nil && c.HAPolicy.Replication.Colocated != nil }},
	{Path: "ha-policy/shared-store/backup/scale-down", Effect: Refused, Note: withoutScaleDown, used: sharedBackupScalesDown},
	{Path: "ha-policy/shared-store/colocated", Effect: Refused, Note: withoutColocated, used: func(c *Config) bool { return c.HAPolicy.SharedStore != nil && c.HAPolicy.SharedStore.Colocated != nil }},
	{Path: "lock-coordinators/lock-coordinator", Effect: Refused, Note: "lock coordinators aren't built yet; remove it and the lock-coordinator attributes", used: func(c *Config) bool { return len(c.LockCoordinators) > 0 }},
	{Path: "acceptors/acceptor/@lock-coordinator", Effect: Refused, Note: "the acceptor would start without holding the lock; remove the attribute", used: func(c *Config) bool { return anyLocked(c.Acceptors) }},
	{Path: "connectors/connector/@lock-coordinator", Effect: WithoutEffect, Note: "Artemis reads it for acceptors only"},

	{Path: "bridges/bridge", Effect: Refused, Note: "bridges aren't built yet; remove it", used: func(c *Config) bool { return len(c.Bridges) > 0 }},
	{Path: "federations/federation", Effect: Refused, Note: "federation isn't built yet; remove it", used: func(c *Config) bool { return len(c.Federations) > 0 }},
	{Path: "federations/@downstream-authorization", Effect: WithoutEffect, Note: "comes with federation"},
	{Path: "broker-connections/amqp-connection", Effect: Refused, Note: "broker connections aren't built yet; remove it", used: func(c *Config) bool { return len(c.AMQPConnections) > 0 }},
	{Path: "connection-routers/connection-router", Effect: Refused, Note: "clients would stay here instead of being sent on; remove it and the router parameter of acceptors", used: func(c *Config) bool { return len(c.ConnectionRouters) > 0 }},
	{Path: "connector-services/connector-service", Effect: Refused, Note: "Java classes can't be loaded; remove it", used: func(c *Config) bool { return len(c.ConnectorServices) > 0 }},
	{Path: "remoting-incoming-interceptors/class-name", Effect: Refused, Note: "Java classes can't be loaded; remove it", used: func(c *Config) bool { return len(c.IncomingInterceptors) > 0 }},
	{Path: "remoting-outgoing-interceptors/class-name", Effect: Refused, Note: "Java classes can't be loaded; remove it", used: func(c *Config) bool { return len(c.OutgoingInterceptors) > 0 }},
	{Path: "broker-plugins/broker-plugin", Effect: Refused, Note: "Java classes can't be loaded; remove it (LoggingActiveMQServerPlugin is accepted and does nothing)", used: usesPlugins},
	{Path: "security-settings/security-setting-plugin", Effect: Refused, Note: "Java classes can't be loaded; write the settings themselves", used: func(c *Config) bool { return c.SecuritySettingPlugin != nil }},
	{Path: "diverts/divert/transformer", Effect: Refused, Note: "Java classes can't be loaded, except that " + AddHeaders + " is known; remove it", used: transformsDiverts},
	{Path: "diverts/divert/transformer-class-name", Effect: Refused, Note: "as transformer", used: func(*Config) bool { return false }},
	{Path: "resource-limit-settings/resource-limit-setting/max-sessions", Effect: WithoutEffect, Note: "Artemis ignores it, too; max-connections limits sessions"},

	{Path: "queues", Note: "deprecated; each queue is MULTICAST on its address"},
	{Path: "address-settings/address-setting/address-full-policy", Note: "PAGE acts as BLOCK until paging is built, and says so in the log"},
	{Path: "address-settings/address-setting/page-size-bytes", Effect: WithoutEffect, Note: withPaging},
	{Path: "address-settings/address-setting/page-max-cache-size", Effect: WithoutEffect, Note: "Artemis ignores it, too"},
	{Path: "address-settings/address-setting/max-read-page-messages", Effect: WithoutEffect, Note: withPaging},
	{Path: "address-settings/address-setting/prefetch-page-messages", Effect: WithoutEffect, Note: withPaging},
	{Path: "address-settings/address-setting/max-read-page-bytes", Effect: WithoutEffect, Note: withPaging},
	{Path: "address-settings/address-setting/prefetch-page-bytes", Effect: WithoutEffect, Note: withPaging},
	{Path: "address-settings/address-setting/page-limit-bytes", Effect: WithoutEffect, Note: withPaging},
	{Path: "address-settings/address-setting/page-limit-messages", Effect: WithoutEffect, Note: withPaging},
	{Path: "address-settings/address-setting/page-full-policy", Effect: WithoutEffect, Note: withPaging},
	{Path: "address-settings/address-setting/max-size-bytes-reject-threshold", Effect: WithoutEffect, Note: withAMQP},
	{Path: "address-settings/address-setting/redistribution-delay", Effect: Refused, Note: "messages don't move between nodes yet; remove it, or set it to -1 (without a cluster it is accepted: there is no other node)", used: redistributes},
	{Path: "address-settings/address-setting/enable-metrics", Effect: WithoutEffect, Note: withFigure},
	{Path: "address-settings/address-setting/initial-queue-buffer-size", Effect: WithoutEffect, Note: "queues grow as needed"},
	{Path: "address-settings/address-setting/auto-create-jms-queues", Effect: WithoutEffect, Note: jmsFlags},
	{Path: "address-settings/address-setting/auto-delete-jms-queues", Effect: WithoutEffect, Note: jmsFlags},
	{Path: "address-settings/address-setting/auto-create-jms-topics", Effect: WithoutEffect, Note: jmsFlags},
	{Path: "address-settings/address-setting/auto-delete-jms-topics", Effect: WithoutEffect, Note: jmsFlags},
}

var effective = []string{
	"name", "system-property-prefix", "internal-naming-prefix", "persistence-enabled",
	"graceful-shutdown-enabled", "graceful-shutdown-timeout",
	"security-enabled", "security-invalidation-interval", "authentication-cache-size", "authorization-cache-size",
	"populate-validated-user", "reject-empty-validated-user",
	"security-settings/security-setting", "security-settings/role-mapping",
	"view-permission-method-match-pattern", "management-message-rbac", "management-rbac-prefix",
	"cluster-user", "mask-password",
	"management-address", "management-notification-address", "suppress-session-notifications",
	"jmx-domain", "jmx-use-broker-name",
	"message-counter-enabled", "message-counter-sample-period", "message-counter-max-day-history",
	"connection-ttl-override", "connection-ttl-check-interval", "configuration-file-refresh-period",
	"temporary-queue-namespace", "uuid-namespace",
	"transaction-timeout", "transaction-timeout-scan-period", "message-expiry-scan-period", "address-queue-scan-period",
	"id-cache-size", "persist-id-cache", "persist-delivery-count-before-delivery", "max-redelivery-records",
	"wild-card-routing-enabled", "wildcard-addresses", "literal-match-markers",
	"bindings-directory", "create-bindings-dir", "journal-directory", "create-journal-dir",
	"large-messages-directory", "node-manager-lock-directory", "large-message-sync",
	"journal-datasync", "journal-sync-transactional", "journal-sync-non-transactional",
	"journal-device-block-size", "journal-file-size", "journal-min-files", "journal-pool-files",
	"journal-compact-percentage", "journal-compact-min-files", "journal-lock-acquisition-timeout",
	"global-max-messages", "max-disk-usage", "min-disk-free", "disk-scan-period",
	"critical-analyzer-check-period", "critical-analyzer-policy",
	"network-check-period", "network-check-timeout", "network-check-NIC", "network-check-ping-command", "network-check-ping6-command",
	"acceptors/acceptor", "connectors/connector", "store", "store/file-store", "ha-policy", "ha-policy/primary-only", "ha-policy/replication", "ha-policy/shared-store",
	"addresses/address", "diverts/divert", "resource-limit-settings/resource-limit-setting",
	"address-settings/address-setting",
}

// effects indexes the table by path.
var effects = func() map[string]*Element {
	m := map[string]*Element{}
	for i := range elements {
		m[elements[i].Path] = &elements[i]
	}
	for _, path := range effective {
		m[path] = &Element{Path: path}
	}
	return m
}()

// effectOf returns the row for a path or the nearest one above it, or nil.
func effectOf(path string) *Element {
	for {
		if row := effects[path]; row != nil {
			return row
		}
		i := strings.LastIndexByte(path, '/')
		if i < 0 {
			return nil
		}
		path = path[:i]
	}
}

// balances tells whether a cluster connection would move messages to other nodes. With ON_DEMAND, the default, one of an HA
// pair does not as long as the pair is alone, which is what the pair is made for; elsewhere moving messages is what a
// cluster is made for.
func balances(c *Config) bool {
	return anyOf(c.ClusterConnections, func(cc *ClusterConnection) bool {
		if !c.joins(cc) {
			return false
		}
		switch cc.Balancing() {
		case BalanceOff:
			return false
		case BalanceOnDemand:
			return c.HAPolicy.Kind() == PrimaryOnly
		}
		return true
	})
}

// redistributes tells whether messages that wait would move to other nodes.
func redistributes(c *Config) bool {
	return anyOf(c.ClusterConnections, c.joins) &&
		anyOf(c.AddressSettings, func(s *AddressSetting) bool { return s.RedistributionDelay != nil && *s.RedistributionDelay >= 0 })
}

// joins tells whether a cluster connection is deployed and leads to other nodes.
func (c *Config) joins(cc *ClusterConnection) bool {
	return c.Connector(cc.ConnectorRef) != nil && (len(cc.StaticConnectors) > 0 || cc.DiscoveryGroup != "")
}

func anyOf[T any](list []T, is func(*T) bool) bool {
	for i := range list {
		if is(&list[i]) {
			return true
		}
	}
	return false
}

func scalesDown(s *ScaleDown) bool { return s != nil && s.Enabled }

func replicaScalesDown(c *Config) bool {
	r := c.HAPolicy.Replication
	return r != nil && r.Colocated == nil && r.Backup != nil && scalesDown(r.Backup.ScaleDown)
}

func sharedBackupScalesDown(c *Config) bool {
	s := c.HAPolicy.SharedStore
	return s != nil && s.Colocated == nil && s.Backup != nil && scalesDown(s.Backup.ScaleDown)
}

func anyLocked(list []Transport) bool {
	for _, t := range list {
		if t.LockCoordinator != "" {
			return true
		}
	}
	return false
}

const loggingPlugin = "org.apache.activemq.artemis.core.server.plugin.impl.LoggingActiveMQServerPlugin"

func usesPlugins(c *Config) bool {
	for _, p := range c.BrokerPlugins {
		if p.ClassName != loggingPlugin {
			return true
		}
	}
	return false
}

func transformsDiverts(c *Config) bool {
	for _, d := range c.Diverts {
		if d.Transformer.ClassName != "" && d.Transformer.ClassName != AddHeaders {
			return true
		}
	}
	return false
}

// applyEffects reports refused elements that c uses and elements without effect
// that were written. fallback is where a refused thing stands that no file wrote
// as an element.
func (d *decoder) applyEffects(c *Config, fallback position) {
	rows := Elements()
	for i := range rows {
		row := &rows[i]
		at, written := d.seen[row.Path]
		switch row.Effect {
		case WithoutEffect:
			if written {
				d.warn(NoEffect, at, row.Path, "has no effect: "+row.Note, "")
			}
		case Refused:
			if row.used(c) {
				if !written {
					if at, written = d.near(row.Path); !written {
						at = fallback
					}
				}
				d.fail(at, row.Path, "is not supported by this broker", row.Note)
			}
		}
	}
}

// near returns where the first element under path stands, or the one around it,
// for elements that were written by an old name or a broker property.
func (d *decoder) near(path string) (position, bool) {
	best, found := position{}, false
	for p, at := range d.seen {
		if (strings.HasPrefix(p, path+"/") || strings.HasPrefix(p, path+"-")) && (!found || at.line < best.line) {
			best, found = at, true
		}
	}
	for i := strings.LastIndexByte(path, '/'); !found && i >= 0; i = strings.LastIndexByte(path, '/') {
		path = path[:i]
		best, found = d.seen[path]
	}
	return best, found
}

// ElementTable writes the table as Markdown: the part of docs/COMPAT.md between
// its config-table markers.
func ElementTable() string {
	var b strings.Builder
	rows := Elements()
	section := func(title string, effect Effect, lead string) {
		fmt.Fprintf(&b, "### %s\n\n%s\n\n| Element | Note |\n| --- | --- |\n", title, lead)
		for _, row := range rows {
			if row.Effect == effect && row.Note != "" {
				fmt.Fprintf(&b, "| `%s` | %s |\n", row.Path, strings.ReplaceAll(row.Note, "|", `\|`))
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("Elements of `broker.xml` below `<core>`, attributes with `@`. What isn't listed does what the element around it does.\n\n")
	section("Refused", Refused, "Using one of these stops the start with file, line and element, because it would change what happens to messages and isn't built yet.")
	section("Without effect", WithoutEffect, "These are read and checked, then nothing is done with them. One log line names those that are set.")
	section("Effective, with a difference", Effective, "")
	b.WriteString("### Effective\n\nThese do what they do in Artemis, with everything inside them that isn't named above:\n\n")
	for _, row := range rows {
		if row.Effect == Effective && row.Note == "" {
			fmt.Fprintf(&b, "- `%s`\n", row.Path)
		}
	}
	return b.String()
}
