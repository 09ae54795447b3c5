package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/logging"
	"github.com/saranga-mq/saranga/broker/management"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/cluster"
	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/server"
	"github.com/saranga-mq/saranga/wire/transport"
)

// A node is a running broker with everything around it: store, security, acceptors. It is made from an instance by
// openNode, serves after start, and ends with stop. Whoever makes one holds the locks of the data.
type node struct {
	in   *config.Instance
	logs *logging.Logging
	log  hclog.Logger
	o    nodeOptions

	registry *management.Registry
	notifier *management.Notifier

	settings *settings
	store    *journal.Store
	access   *security.Permissions
	realms   realms
	auth     *security.Authenticator
	broker   *broker.Broker
	core     *server.Server
	remoting *transport.Remoting

	acceptors startedAcceptors
	house     *housekeeping
	halt      func(code int) // ends the process at once

	replicates bool // the replication channel is served
	stopOnce   sync.Once
}

// nodeOptions are what a node's HA policy adds to its instance.
type nodeOptions struct {
	nodeID  string
	live    func() bool // broker.Options.Live
	fail    func(error) // the node can no longer keep what it acknowledges; called more than once
	guarded bool        // the network is looked after elsewhere
	fs      fs.FS       // of the data; nil: the system's
	manage  management.Node
}

// openNode loads the instance's data. Nothing listens yet.
func openNode(in *config.Instance, logs *logging.Logging, o nodeOptions) (_ *node, err error) {
	log := logs.Logger(logging.Server)
	n := &node{in: in, logs: logs, log: log, o: o, halt: func(code int) { logs.Flush(); os.Exit(code) }}
	c := in.Broker
	if n.settings, err = newSettings(c, nil, log); err != nil {
		return nil, err
	}
	if n.access, err = newPermissions(c, nil); err != nil {
		return nil, err
	}
	if n.auth, err = newAuthenticator(in, &n.realms, log); err != nil {
		return nil, err
	}
	if n.store, err = newStore(in, o.fs, logs.Logger(logging.Journal)); err != nil {
		return nil, err
	}
	n.notifier = management.NewNotifier(management.NotifierOptions{Address: c.ManagementNotificationAddress, SuppressSessions: c.SuppressSessionNotifications, ClusterUser: c.ClusterUser, Log: log})
	heap := config.Bytes(0)
	if in.Profile != nil {
		heap = in.Profile.MaxHeap
	}
	n.broker = broker.New(broker.Options{
		Store: n.store, Log: log, NodeID: o.nodeID, Name: c.Name, Notify: n.notifier.Notify, Live: o.live,
		Manage:   func(s *broker.Session, m *message.Message) { n.registry.Handle(s, m) },
		Settings: n.settings.find, Wildcards: c.Wildcards, Access: n.access, Limits: resourceLimits(c),
		OnFailure:            o.fail,
		InternalNamingPrefix: c.InternalNamingPrefix, ManagementAddress: c.ManagementAddress, ManagementNotificationAddress: c.ManagementNotificationAddress,
		TemporaryQueueNamespace: c.TemporaryQueueNamespace,
		GlobalMaxBytes:          int64(c.EffectiveGlobalMaxSize(heap, config.Memory())), GlobalMaxMessages: c.GlobalMaxMessages,
		MaxRedeliveryRecords: c.MaxRedeliveryRecords, PersistDeliveryCountFirst: c.PersistDeliveryCountBeforeDeliver, PersistIDCache: c.PersistIDCache,
		TransactionTimeout: c.TransactionTimeout.Milliseconds(), TransactionScanPeriod: c.TransactionTimeoutScan.Milliseconds(),
		ExpiryScanPeriod: c.MessageExpiryScanPeriod.Milliseconds(), AddressScanPeriod: c.AddressQueueScanPeriod.Milliseconds(),
		PopulateValidatedUser: c.PopulateValidatedUser, RejectEmptyValidatedUser: c.RejectEmptyValidatedUser,
	})
	if n.registry, err = n.newRegistry(); err != nil {
		return nil, err
	}
	if err = n.broker.Load(); err != nil {
		return nil, err
	}
	if err = n.realms.open(in, n.broker); err != nil {
		return nil, err
	}
	if err := n.applySettings(c); err != nil { // those that management has stored are known only now
		return nil, err
	}
	if err := n.deploy(c); err != nil {
		return nil, err
	}
	return n, nil
}

// newStore makes the store of an instance's data folders. files is the system's if nil.
func newStore(in *config.Instance, files fs.FS, log hclog.Logger) (*journal.Store, error) {
	c := in.Broker
	j := c.Journal
	for _, dir := range []string{in.Path(j.BindingsDirectory), in.Path(j.Directory), in.Path(j.LargeMessagesDirectory), in.Path(c.Paging.Directory)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make a data folder: %w", err)
		}
	}
	o := storeOptions(in, log)
	if files != nil {
		o.FS = files
	}
	return journal.NewStore(o), nil
}

// storeOptions are where an instance's data is and how it is kept.
func storeOptions(in *config.Instance, log hclog.Logger) journal.StoreOptions {
	c := in.Broker
	j := c.Journal
	return journal.StoreOptions{
		FS: fs.OS{}, Bindings: in.Path(j.BindingsDirectory), Journal: in.Path(j.Directory), Paging: in.Path(c.Paging.Directory), Large: in.Path(j.LargeMessagesDirectory),
		FileSize: int(j.FileSize), MinFiles: j.MinFiles, PoolFiles: j.PoolFiles, CompactMinFiles: j.CompactMinFiles, CompactPercentage: j.CompactPercentage,
		BufferSize: int(j.BufferSize), MaxAttic: j.MaxAtticFiles, NoDatasync: !j.Datasync, Direct: j.Type == "ASYNCIO", BlockSize: j.DeviceBlockSize,
		SyncTransactional: j.SyncTransactions, SyncNonTransactional: j.SyncOthers, Log: log,
	}
}

// start serves clients, and the other nodes of a cluster if there is one: replication takes the frames of a replica.
func (n *node) start(nodes *cluster.Node, replication server.ChannelHandler) error {
	nodeID := n.broker.Options().NodeID
	n.broker.Start()
	n.notifier.Start(n.broker)
	c := n.in.Broker
	ttl := int64(-1)
	if c.ConnectionTTLOverride >= 0 {
		ttl = c.ConnectionTTLOverride.Milliseconds()
	}
	o := server.Options{Broker: n.broker, Log: n.log, NodeID: nodeID, TTLOverride: ttl, TTLCheckInterval: c.ConnectionTTLCheckInterval.Milliseconds(),
		Login: n.login, Watch: n.auth.Watch}
	if nodes != nil {
		o.Topology = nodes
	}
	n.core = server.New(o)
	if nodes != nil {
		n.core.HandleChannel(core.ChannelCluster, nodes)
	}
	if n.replicates = replication != nil; n.replicates {
		n.core.HandleChannel(core.ChannelReplication, replication)
	}
	n.remoting = transport.NewRemoting(transport.Config{Log: n.log})
	for _, p := range n.core.Protocols() {
		n.remoting.Register(p)
	}
	n.house = startHousekeeping(n)
	return n.house.reload.listen(c.Acceptors)
}

// login authenticates a client.
func (n *node) login(c security.Credentials) (security.Principal, error) {
	who, err := n.auth.Authenticate(context.Background(), c)
	var refused *security.AuthenticationError
	if errors.As(err, &refused) {
		n.notifier.AuthenticationFailed(refused.User, refused.Remote, refused.SubjectDN)
	}
	return who, err
}

// goodbye is how long clients have to take what is left for them when the node stops.
const goodbye = 5 * time.Second

// stop ends the node in good order. A node that replicates keeps its connections to the replica: hangUp ends them.
func (n *node) stop() error {
	var err error
	n.stopOnce.Do(func() {
		if n.house != nil {
			n.house.stop()
		}
		if n.remoting != nil {
			for _, a := range n.remoting.Acceptors() {
				a.Pause()
			}
			n.core.Disconnect()
			ctx, cancel := context.WithTimeout(context.Background(), goodbye)
			if n.replicates {
				select { // the replica's connection is needed yet
				case <-n.core.Left():
				case <-ctx.Done():
				}
			} else {
				n.hangUp(ctx)
			}
			cancel()
		}
		n.notifier.Stop()
		err = n.broker.Stop()
	})
	return err
}

// hangUp ends all connections and waits. They have until ctx ends to do so by themselves.
func (n *node) hangUp(ctx context.Context) {
	for _, a := range n.remoting.Acceptors() {
		a.Stop(ctx)
	}
}
