package primary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/cluster"
	"github.com/saranga-mq/saranga/ha/replication/primary"
	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/server"
	"github.com/saranga-mq/saranga/wire/transport"
)

const (
	nodeID   = "5a4a4e47-0000-11f1-8000-000000000001"
	patience = 2 * time.Minute
)

// until waits for something that takes a JVM its time.
func until(t testing.TB, what string, f func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("waited %s for %s", patience, what)
		}
	}
}

// A node is an active Saranga node in this process.
type node struct {
	*brokertest.Broker
	store      *journal.Store
	primary    *primary.Primary
	channel    *primary.Channel
	server     *server.Server
	acceptor   *transport.Acceptor
	connection *cluster.Connection
	cluster    *cluster.Node
	synced     chan *primary.Sender
	lost       chan primary.Lost

	mu      sync.Mutex
	replica server.Peer
}

// target is a node's connector.
func target(t testing.TB, port int) cluster.Target {
	t.Helper()
	u, err := config.ParseTransportURL(fmt.Sprintf("tcp://127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	targets, err := cluster.TargetsOf(&config.Transport{Name: "artemis", URL: u})
	if err != nil {
		t.Fatal(err)
	}
	return targets[0]
}

// serve starts a node on port, of a cluster with a node on another. files is the journal's file size, which both have to have.
func serve(t *testing.T, port, other, files int) *node {
	t.Helper()
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: testWriter{t}})
	dir := t.TempDir()
	n := &node{synced: make(chan *primary.Sender, 10), lost: make(chan primary.Lost, 10)}
	n.store = journal.NewStore(journal.StoreOptions{FS: fs.OS{}, Bindings: dir + "/bindings", Journal: dir + "/journal", Paging: dir + "/paging", Large: dir + "/large-messages",
		FileSize: files, MinFiles: 2, PoolFiles: 10, CompactMinFiles: 10, CompactPercentage: 30, BufferSize: 501760, SyncTransactional: true, SyncNonTransactional: true})
	settings := config.NewRepository[*config.AddressSetting](config.DefaultWildcards(), "")
	all := &config.AddressSetting{Match: "#"}
	if err := json.Unmarshal([]byte(`{"deadLetterAddress":"DLQ","expiryAddress":"ExpiryQueue"}`), all); err != nil {
		t.Fatal(err)
	}
	if err := settings.Set("#", all); err != nil {
		t.Fatal(err)
	}
	n.Broker = &brokertest.Broker{T: t, Broker: broker.New(broker.Options{Store: n.store, NodeID: nodeID, Name: "primary", Log: log,
		Settings: func(address string) config.AddressSettings {
			return config.MergeSettings(settings.Find(config.SettingsAddress(address)), 20000)
		},
		Wildcards: config.DefaultWildcards(), ManagementAddress: "activemq.management", ManagementNotificationAddress: "activemq.notifications",
		GlobalMaxBytes: -1, GlobalMaxMessages: -1, MaxRedeliveryRecords: 10, PersistIDCache: true, TransactionTimeout: 300_000,
		OnFailure: func(err error) { t.Error(err) }})}
	if err := n.Load(); err != nil {
		t.Fatal(err)
	}
	n.Start()

	n.primary = primary.New(primary.Options{Store: n.store, NodeID: nodeID, Log: log, OnLost: func(l primary.Lost) { n.lost <- l }, OnSynchronised: func(s *primary.Sender) { n.synced <- s }})
	n.channel = primary.NewChannel(n.primary)
	own, to := target(t, port), target(t, other)
	o := cluster.Options{Name: "my-cluster", Own: own, Static: []cluster.Target{to}, User: "cu", Password: "cp", NotificationAttempts: 2, ReconnectAttempts: -1, SplitBrainDetection: true, Log: log}
	auth := security.NewAuthenticator(security.AuthenticatorOptions{ClusterUser: "cu", ClusterPassword: "cp", Log: log, Realm: nobody{}})
	login := func(c security.Credentials) (security.Principal, error) {
		return auth.Authenticate(context.Background(), c)
	}
	n.connection = cluster.NewConnection(o, nil)
	n.cluster = cluster.NewNode(cluster.NodeOptions{Connections: []*cluster.Connection{n.connection}, User: "cu", Login: login, Log: log})
	n.cluster.HandleServerConnectVotes()
	n.cluster.HandleBackups(func(peer server.Peer, r *core.BackupRegistration) error {
		_, err := n.channel.Register(peer, r.WantsFailBack)
		if primary.Problem(err) == core.BackupProblemAlreadyReplicating {
			return cluster.ErrAlreadyReplicating
		}
		n.mu.Lock()
		n.replica = peer
		n.mu.Unlock()
		return err
	})
	n.server = server.New(server.Options{Broker: n.Broker.Broker, NodeID: nodeID, TTLOverride: -1, TTLCheckInterval: 2000, Topology: n.cluster, Login: login, Log: log})
	n.server.HandleChannel(core.ChannelCluster, n.cluster)
	n.server.HandleChannel(core.ChannelReplication, n.channel)
	r := transport.NewRemoting(transport.Config{})
	for _, p := range n.server.Protocols() {
		r.Register(p)
	}
	ao, _, err := transport.ParseAcceptor("artemis", "127.0.0.1", port, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n.acceptor, err = r.Listen(ao); err != nil {
		t.Fatal(err)
	}
	n.connection.Activate(nodeID)
	return n
}

// withReplica waits until the backup is synchronised, and tells the cluster.
func (n *node) withReplica(backup cluster.Target) *primary.Sender {
	n.T.Helper()
	select {
	case s := <-n.synced:
		if err := n.connection.BackupSynchronized(&backup.Connector); err != nil {
			n.T.Error(err)
		}
		return s
	case l := <-n.lost:
		n.T.Fatalf("the replica was lost: %+v", l)
	case <-time.After(patience):
		n.T.Fatal("no replica")
	}
	return nil
}

// unplug has the node vanish: its connections break, its port is closed, nobody is told anything.
func (n *node) unplug() {
	n.acceptor.Pause()
	n.mu.Lock()
	n.replica.Close(errors.New("unplugged"))
	n.mu.Unlock()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	n.acceptor.Stop(ended)
	n.connection.Stop()
	n.cluster.Close()
}

// stop ends what is left after unplug.
func (n *node) stop() {
	n.primary.Close()
	if err := n.Broker.Broker.Stop(); err != nil {
		n.T.Error(err)
	}
}

// createQueue creates a durable anycast queue with an address of its name.
func (n *node) createQueue(name string) {
	n.T.Helper()
	cfg := n.DefaultQueue(name, name)
	cfg.Routing = message.Anycast
	if _, err := n.CreateQueue(cfg, broker.CreateOptions{AutoCreateAddress: true}); err != nil {
		n.T.Error(err)
	}
}

// nobody is a realm without users.
type nobody struct{}

func (nobody) Login(context.Context, security.Credentials) (security.Principal, error) {
	return security.Principal{}, errors.New("no such user")
}

// A testWriter writes to a test's log.
type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(string(p))
	return len(p), nil
}
