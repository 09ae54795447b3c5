package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/wire/core/server"
	"github.com/saranga-mq/saranga/wire/transport"
)

// A node is a running broker with everything around it: store, security, acceptors. It is made from an instance by
// openNode, serves after start, and ends with stop.
type node struct {
	in  *config.Instance
	log hclog.Logger

	settings *settings
	access   *security.Permissions
	auth     *security.Authenticator
	broker   *broker.Broker
	core     *server.Server
	remoting *transport.Remoting

	stopOnce sync.Once
	failed   chan error // the store failed; buffered
}

// openNode loads the instance's data. Nothing listens yet.
func openNode(in *config.Instance, log hclog.Logger) (*node, error) {
	n := &node{in: in, log: log, failed: make(chan error, 1)}
	c := in.Broker
	var err error
	if n.settings, err = newSettings(c); err != nil {
		return nil, err
	}
	if n.access, err = newPermissions(c); err != nil {
		return nil, err
	}
	if n.auth, err = newAuthenticator(in, log); err != nil {
		return nil, err
	}
	store, err := newStore(in, log)
	if err != nil {
		return nil, err
	}
	heap := config.Bytes(0)
	if in.Profile != nil {
		heap = in.Profile.MaxHeap
	}
	n.broker = broker.New(broker.Options{
		Store: store, Log: log, NodeID: "", Name: c.Name,
		Settings: n.settings.find, Wildcards: c.Wildcards, Access: n.access,
		OnFailure: func(err error) {
			select {
			case n.failed <- err:
			default:
			}
		},
		ManagementAddress: c.ManagementAddress, ManagementNotificationAddress: c.ManagementNotificationAddress,
		TemporaryQueueNamespace: c.TemporaryQueueNamespace,
		GlobalMaxBytes:          int64(c.EffectiveGlobalMaxSize(heap, config.Memory())), GlobalMaxMessages: c.GlobalMaxMessages,
		MaxRedeliveryRecords: c.MaxRedeliveryRecords, PersistDeliveryCountFirst: c.PersistDeliveryCountBeforeDeliver, PersistIDCache: c.PersistIDCache,
		TransactionTimeout: c.TransactionTimeout.Milliseconds(), TransactionScanPeriod: c.TransactionTimeoutScan.Milliseconds(),
		ExpiryScanPeriod: c.MessageExpiryScanPeriod.Milliseconds(), AddressScanPeriod: c.AddressQueueScanPeriod.Milliseconds(),
		PopulateValidatedUser: c.PopulateValidatedUser, RejectEmptyValidatedUser: c.RejectEmptyValidatedUser,
	})
	if err := n.broker.Load(); err != nil {
		return nil, err
	}
	if err := n.deploy(); err != nil {
		return nil, err
	}
	return n, nil
}

// newStore makes the store of an instance's data folders.
func newStore(in *config.Instance, log hclog.Logger) (*journal.Store, error) {
	c := in.Broker
	j := c.Journal
	for _, dir := range []string{in.Path(j.BindingsDirectory), in.Path(j.Directory), in.Path(j.LargeMessagesDirectory), in.Path(c.Paging.Directory)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make a data folder: %w", err)
		}
	}
	return journal.NewStore(journal.StoreOptions{
		FS: fs.OS{}, Bindings: in.Path(j.BindingsDirectory), Journal: in.Path(j.Directory), Paging: in.Path(c.Paging.Directory), Large: in.Path(j.LargeMessagesDirectory),
		FileSize: int(j.FileSize), MinFiles: j.MinFiles, PoolFiles: j.PoolFiles, CompactMinFiles: j.CompactMinFiles, CompactPercentage: j.CompactPercentage,
		BufferSize: int(j.BufferSize), MaxAttic: j.MaxAtticFiles, NoDatasync: !j.Datasync, Direct: j.Type == "ASYNCIO", BlockSize: j.DeviceBlockSize,
		SyncTransactional: j.SyncTransactions, SyncNonTransactional: j.SyncOthers, Log: log,
	}), nil
}

// settings are the address settings of the configuration, with those made by management on top.
type settings struct {
	mu          sync.RWMutex
	repository  *config.Repository[*config.AddressSetting]
	idCacheSize int
}

func newSettings(c *config.Config) (*settings, error) {
	r, err := c.AddressSettingRepository()
	if err != nil {
		return nil, err
	}
	return &settings{repository: r, idCacheSize: c.IDCacheSize}, nil
}

func (s *settings) find(address string) config.AddressSettings {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return config.MergeSettings(s.repository.Find(config.SettingsAddress(address)), s.idCacheSize)
}

// newPermissions makes the permissions of the configuration.
func newPermissions(c *config.Config) (*security.Permissions, error) {
	return security.NewPermissions(security.PermissionsOptions{Disabled: !c.SecurityEnabled, Wildcards: security.Wildcards{Delimiter: c.Wildcards.Delimiter, AnyWords: c.Wildcards.AnyWords, SingleWord: c.Wildcards.SingleWord}, CacheSize: int(c.AuthorizationCacheSize)}, securitySettings(c))
}

func securitySettings(c *config.Config) []security.Setting {
	var list []security.Setting
	for _, s := range c.SecuritySettings {
		roles := map[security.Permission][]string{}
		for p, r := range s.Roles {
			if k, ok := security.ParsePermission(string(p)); ok {
				roles[k] = r
			}
		}
		list = append(list, security.Setting{Match: s.Match, Roles: roles})
	}
	return list
}

// newAuthenticator makes what checks logins: the realms that bootstrap.xml names.
func newAuthenticator(in *config.Instance, log hclog.Logger) (*security.Authenticator, error) {
	o := security.AuthenticatorOptions{Disabled: !in.Broker.SecurityEnabled, ClusterUser: in.Broker.ClusterUser, ClusterPassword: in.Broker.ClusterPassword,
		CacheSize: int(in.Broker.AuthenticationCacheSize), Invalidation: in.Broker.SecurityInvalidationInterval, Log: log}
	if !in.Broker.SecurityEnabled {
		return security.NewAuthenticator(o), nil
	}
	if j := in.Bootstrap.JAAS; j != nil {
		realm, err := newRealm(in, j.Domain, log)
		if err != nil {
			return nil, err
		}
		o.Realm = realm
		if j.CertificateDomain != "" {
			if realm, err = newRealm(in, j.CertificateDomain, log); err != nil {
				return nil, err
			}
			o.CertificateRealm = realm
		}
	}
	if o.Realm == nil {
		return nil, errors.New("bootstrap.xml names no realm for logins that this version knows")
	}
	return security.NewAuthenticator(o), nil
}

func newRealm(in *config.Instance, name string, log hclog.Logger) (security.Realm, error) {
	r := in.Login.Realm(name)
	if r == nil {
		return nil, fmt.Errorf("%s: bootstrap.xml names the realm %q, which login.config does not have", in.Etc, name)
	}
	var modules []security.ModuleConfig
	for _, m := range r.Modules {
		modules = append(modules, security.ModuleConfig{Class: m.Class, Flag: security.Flag(m.Flag), Options: m.Options})
	}
	return security.NewJAAS(name, modules, in.Login.Dir, log)
}

// deploy creates the addresses, queues and diverts of broker.xml that are not there yet.
func (n *node) deploy() error {
	b := n.broker
	for _, a := range n.in.Broker.Addresses {
		var types broker.RoutingTypes
		for _, t := range a.RoutingTypes {
			types |= broker.SetOf(routingType(t))
		}
		if have := b.Address(a.Name); have == nil {
			if _, err := b.CreateAddress(a.Name, types, false); err != nil {
				return fmt.Errorf("deploy address %s: %w", a.Name, err)
			}
		} else if want := b.Info(have).RoutingTypes | types; want != b.Info(have).RoutingTypes {
			if _, err := b.UpdateAddress(a.Name, want); err != nil {
				return fmt.Errorf("deploy address %s: %w", a.Name, err)
			}
		}
		for _, q := range a.Queues {
			if b.Queue(q.Name) != nil {
				continue
			}
			if _, err := b.CreateQueue(queueConfig(b, a.Name, q), broker.CreateOptions{AutoCreateAddress: true, IgnoreExisting: true}); err != nil {
				return fmt.Errorf("deploy queue %s: %w", q.Name, err)
			}
		}
	}
	for _, d := range n.in.Broker.Diverts {
		if err := b.CreateDivert(divertConfig(d), false); err != nil {
			return fmt.Errorf("deploy divert %s: %w", d.Name, err)
		}
	}
	return nil
}

func routingType(t config.RoutingType) message.RoutingType {
	if t == config.Anycast {
		return message.Anycast
	}
	return message.Multicast
}

func override[T any](dst *T, v *T) {
	if v != nil {
		*dst = *v
	}
}

func override32(dst *int32, v *int) {
	if v != nil {
		*dst = int32(*v)
	}
}

// queueConfig is a queue of broker.xml with the defaults of its address.
func queueConfig(b *broker.Broker, address string, q config.Queue) broker.QueueConfig {
	c := b.DefaultQueue(address, q.Name)
	c.Routing = routingType(q.RoutingType)
	c.Filter, c.Durable, c.User, c.ConfigurationManaged = q.Filter, q.Durable, q.User, true
	override32(&c.MaxConsumers, q.MaxConsumers)
	override(&c.PurgeOnNoConsumers, q.PurgeOnNoConsumers)
	override(&c.Exclusive, q.Exclusive)
	override(&c.GroupRebalance, q.GroupRebalance)
	override(&c.GroupRebalancePauseDisp, q.GroupRebalancePauseDispatch)
	override32(&c.GroupBuckets, q.GroupBuckets)
	override(&c.GroupFirstKey, q.GroupFirstKey)
	override(&c.LastValue, q.LastValue)
	override(&c.LastValueKey, q.LastValueKey)
	override(&c.NonDestructive, q.NonDestructive)
	override32(&c.ConsumersBeforeDispatch, q.ConsumersBeforeDispatch)
	if q.DelayBeforeDispatch != nil {
		c.DelayBeforeDispatch = q.DelayBeforeDispatch.Milliseconds()
	}
	override(&c.RingSize, q.RingSize)
	override(&c.Enabled, q.Enabled)
	return c
}

func divertConfig(d config.Divert) broker.DivertConfig {
	out := broker.DivertConfig{Name: d.Name, Address: d.Address, ForwardAddress: d.ForwardingAddress, RoutingName: d.RoutingName, Exclusive: d.Exclusive, Filter: d.Filter,
		TransformerClass: d.Transformer.ClassName, TransformerProps: d.Transformer.Properties}
	switch d.RoutingType {
	case config.ToAnycast:
		out.RoutingType = broker.DivertAnycast
	case config.ToMulticast:
		out.RoutingType = broker.DivertMulticast
	case config.Pass:
		out.RoutingType = broker.DivertPass
	default:
		out.RoutingType = broker.DivertStrip
	}
	return out
}

// start serves clients.
func (n *node) start(nodeID string) error {
	n.broker.Start()
	c := n.in.Broker
	ttl := int64(-1)
	if c.ConnectionTTLOverride >= 0 {
		ttl = c.ConnectionTTLOverride.Milliseconds()
	}
	n.core = server.New(server.Options{Broker: n.broker, Log: n.log, NodeID: nodeID, TTLOverride: ttl, TTLCheckInterval: c.ConnectionTTLCheckInterval.Milliseconds(),
		Login: func(cr security.Credentials) (security.Principal, error) { return n.auth.Authenticate(context.Background(), cr) }})
	n.remoting = transport.NewRemoting(transport.Config{Log: n.log})
	for _, p := range n.core.Protocols() {
		n.remoting.Register(p)
	}
	for _, a := range c.Acceptors {
		if a.URL.Scheme != "tcp" {
			n.log.Warn("an acceptor that is not tcp is not started", "acceptor", a.Name, "scheme", a.URL.Scheme)
			continue
		}
		o, unknown, err := transport.ParseAcceptor(a.Name, a.URL.Host, a.URL.Port, a.URL.Params)
		if err != nil {
			return err
		}
		for _, p := range unknown {
			n.log.Warn("AMQ222203: unknown protocol of an acceptor", "acceptor", a.Name, "protocol", p)
		}
		started, err := n.remoting.Listen(o)
		if err != nil {
			return err
		}
		protocols := strings.Join(o.Protocols, ",")
		if protocols == "" {
			protocols = "CORE,MQTT,AMQP,STOMP,HORNETQ,OPENWIRE"
		}
		n.log.Info(fmt.Sprintf("AMQ221020: Started EPOLL Acceptor at %s for protocols [%s]", started.Addr(), protocols))
	}
	return nil
}

// stop ends the node in good order.
func (n *node) stop() error {
	var err error
	n.stopOnce.Do(func() {
		if n.remoting != nil {
			for _, a := range n.remoting.Acceptors() {
				a.Pause()
			}
			n.core.Disconnect()
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			for _, a := range n.remoting.Acceptors() {
				a.Stop(ctx)
			}
			cancel()
		}
		err = n.broker.Stop()
	})
	return err
}
