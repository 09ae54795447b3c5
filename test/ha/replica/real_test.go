package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/ha/replication/replica"
	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/test/peers"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/client"
	"github.com/saranga-mq/saranga/wire/transport"
)

const clusterUser, clusterPassword = "cu", "cp"

// newPrimary creates a real primary with small journal files. paging makes addresses page early.
func newPrimary(t *testing.T, a peers.Artemis, paging bool) peers.Instance {
	t.Helper()
	i := peers.NewInstance(t, a, peers.CreateOptions{Flags: []string{"--replicated", "--clustered", "--cluster-user", clusterUser, "--cluster-password", clusterPassword,
		"--staticCluster", "tcp://127.0.0.1:1"}})
	b, err := os.ReadFile(i.Etc("broker.xml"))
	if err != nil {
		t.Fatal(err)
	}
	small := regexp.MustCompile(`<journal-file-size>[^<]*`).ReplaceAll(b, []byte("<journal-file-size>102400"))
	if paging {
		small = regexp.MustCompile(`<max-size-bytes>[^<]*`).ReplaceAll(small, []byte("<max-size-bytes>20000"))
		small = regexp.MustCompile(`<page-size-bytes>[^<]*`).ReplaceAll(small, []byte("<page-size-bytes>10000"))
	}
	if err := i.WriteEtc("broker.xml", string(small)); err != nil {
		t.Fatal(err)
	}
	return i
}

// link is the replica's connection.
type link struct {
	*client.Conn
	t *testing.T

	mu     sync.Mutex
	reason error
}

func (l *link) Send(frames []byte) error {
	for len(frames) > 0 {
		f, rest, need, err := core.Split(frames, 1<<20)
		if err != nil || need > 0 {
			return fmt.Errorf("not whole frames: %w", err)
		}
		p, err := core.Decode(f.Type, f.Payload, l.Version())
		if err != nil {
			return err
		}
		if err := l.Write(context.Background(), f.Channel, p); err != nil {
			return err
		}
		frames = rest
	}
	return l.Err()
}

func (l *link) Close(reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reason == nil && !errors.Is(reason, replica.ErrClosed) {
		l.reason = reason
		l.t.Logf("the replica closes the connection: %v", reason)
	}
}

// owner takes over when it is told.
type owner struct {
	upToDate chan int64
	ids      []string
}

func (o *owner) NodeID(id string, _ bool) error   { o.ids = append(o.ids, id); return nil }
func (o *owner) UpToDate(_ string, s int64) error { o.upToDate <- s; return nil }
func (o *owner) StopCalled()                      {}
func (o *owner) FailOver()                        {}
func (o *owner) Paging(string)                    {}

func storeOptions(dir string) journal.StoreOptions {
	in := func(name string) string { return filepath.Join(dir, name) }
	return journal.StoreOptions{FS: fs.OS{}, Bindings: in("bindings"), Journal: in("journal"), Paging: in("paging"), Large: in("large-messages"),
		FileSize: 102400, MinFiles: 2, PoolFiles: 10, CompactMinFiles: 10, CompactPercentage: 30, BufferSize: 501760, MaxAttic: 10,
		SyncTransactional: true, SyncNonTransactional: true}
}

// join registers a replica at a primary, as a minimal backup does: spec ha §6.0.
func join(t *testing.T, ctx context.Context, i peers.Instance, dir string) (*replica.Endpoint, *owner, *client.Conn) {
	t.Helper()
	conn, err := client.Dial(ctx, client.Config{Hosts: []transport.ConnectorOptions{{Host: "127.0.0.1", Port: i.Port}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	o := &owner{upToDate: make(chan int64, 1)}
	so := storeOptions(dir)
	if err := replica.MoveAway(so, 2, false); err != nil {
		t.Fatal(err)
	}
	log := hclog.New(&hclog.LoggerOptions{Output: logWriter{t}, Level: hclog.Debug})
	e, err := replica.New(replica.Options{Store: so, Owner: o, Link: &link{Conn: conn, t: t}, Version: conn.Version(), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	authorized := make(chan bool, 1)
	conn.HandleChannel(core.ChannelCluster, func(f core.Frame) error {
		p, err := core.Decode(f.Type, f.Payload, conn.Version())
		switch p := p.(type) {
		case *core.ClusterConnectReply:
			authorized <- p.Authorized
		case *core.BackupRegistrationFailed:
			return fmt.Errorf("registration refused: %+v", p)
		}
		return err
	})
	conn.HandleChannel(core.ChannelReplication, func(f core.Frame) error {
		defer e.EndOfBatch()
		return e.Handle(f)
	})
	write := func(p core.Packet) {
		if err := conn.Write(ctx, core.ChannelCluster, p); err != nil {
			t.Fatal(err)
		}
	}
	write(&core.ClusterConnect{User: clusterUser, Password: clusterPassword})
	select {
	case ok := <-authorized:
		if !ok {
			t.Fatal("not authorized")
		}
	case <-ctx.Done():
		t.Fatal("no answer to CLUSTER_CONNECT")
	}
	write(&core.BackupRegistration{User: clusterUser, Password: clusterPassword, Connector: core.TransportConfiguration{Name: "replica",
		Factory: core.NettyConnectorFactory, Params: []core.Param{{Key: "port", Value: "63426"}, {Key: "host", Value: "127.0.0.1"}}}})
	return e, o, conn
}

// logWriter prints to the test's log.
type logWriter struct{ t *testing.T }

func (w logWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}

// clients is what the clients of a broker do and are told.
type clients struct {
	t    *testing.T
	ctx  context.Context
	conn *client.Conn

	mu       sync.Mutex
	there    map[string]int // acknowledged messages and their sizes
	prepared map[string]int // to come with the commit of the branch
	unknown  map[string]bool
}

// newClients connects to a broker and makes the queue.
func newClients(t *testing.T, ctx context.Context, i peers.Instance) *clients {
	t.Helper()
	c := &clients{t: t, ctx: ctx, conn: dial(t, ctx, i), there: map[string]int{}, prepared: map[string]int{}, unknown: map[string]bool{}}
	c.must(c.session(client.SessionOptions{}).CreateQueue(ctx, client.QueueOptions{Name: queue, Durable: true, RoutingType: core.RoutingAnycast}))
	return c
}

func dial(t *testing.T, ctx context.Context, i peers.Instance) *client.Conn {
	t.Helper()
	conn, err := client.Dial(ctx, client.Config{Hosts: []transport.ConnectorOptions{{Host: "127.0.0.1", Port: i.Port}}, User: i.User, Password: i.Password, CallTimeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func (c *clients) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *clients) session(o client.SessionOptions) *client.Session {
	c.t.Helper()
	s, err := c.conn.NewSession(c.ctx, o)
	c.must(err)
	return s
}

const queue = "orders"

func named(name string, size int) *message.Builder {
	m := message.New(queue, message.Text)
	m.Durable = true
	m.Set("name", name)
	m.Body = message.AppendText(nil, strings.Repeat("x", size))
	return m
}

func (c *clients) send(s *client.Session, name string, size int) {
	c.t.Helper()
	p, err := s.NewProducer(c.ctx, queue)
	c.must(err)
	c.must(p.Send(c.ctx, named(name, size)))
}

func (c *clients) acknowledged(names map[string]int) {
	c.mu.Lock()
	maps.Copy(c.there, names)
	c.mu.Unlock()
}

// work is one round of everything: durable, transactional, XA and large messages, rollbacks and acknowledgements.
func (c *clients) work(round string) {
	c.t.Helper()
	auto := c.session(client.SessionOptions{AutoCommitSends: true, AutoCommitAcks: true})
	tx := c.session(client.SessionOptions{})
	xa := c.session(client.SessionOptions{XA: true})
	one := func(s *client.Session, kind string, k, size int) map[string]int {
		name := fmt.Sprintf("%s-%s-%d", round, kind, k)
		c.send(s, name, size)
		return map[string]int{name: size}
	}
	for k := range 20 {
		c.acknowledged(one(auto, "durable", k, 300*k))
	}
	for k := range 3 {
		c.acknowledged(one(auto, "large", k, 90_000+k*70_000))
	}
	for k := range 4 {
		in := one(tx, "tx", 2*k, 500)
		maps.Copy(in, one(tx, "tx", 2*k+1, 120_000))
		if k%2 == 0 {
			c.must(tx.Commit(c.ctx))
			c.acknowledged(in)
		} else {
			c.must(tx.Rollback(c.ctx, false))
		}
	}
	for k, end := range []string{"prepared", "committed", "rolled back"} {
		xid := buf.Xid{FormatID: 7, Branch: fmt.Sprint(k), Global: round + end}
		c.must(xa.XAStart(c.ctx, xid))
		in := one(xa, "xa", k, 100)
		c.must(xa.XAEnd(c.ctx, xid, false))
		c.must(xa.XAPrepare(c.ctx, xid))
		switch end {
		case "prepared":
			c.mu.Lock()
			maps.Copy(c.prepared, in)
			c.mu.Unlock()
		case "committed":
			c.must(xa.XACommit(c.ctx, xid, false))
			c.acknowledged(in)
		default:
			c.must(xa.XARollback(c.ctx, xid))
		}
	}
	// The first five are consumed, one large among them.
	consumer := c.session(client.SessionOptions{AutoCommitSends: true})
	c.must(consumer.Start(c.ctx))
	taken := c.receive(consumer, 25, func(name string) bool { return strings.HasPrefix(name, round) && strings.HasSuffix(name, "-1") })
	c.must(consumer.Commit(c.ctx))
	c.mu.Lock()
	for name := range taken {
		delete(c.there, name)
	}
	c.mu.Unlock()
	c.must(consumer.Close(c.ctx))
	// And a transaction that nobody ends.
	c.send(c.session(client.SessionOptions{}), round+"-open", 100)
}

// receive reads up to n messages and acknowledges those that are wanted.
func (c *clients) receive(s *client.Session, n int, want func(name string) bool) map[string]int {
	c.t.Helper()
	consumer, err := s.NewConsumer(c.ctx, queue, client.ConsumerOptions{})
	c.must(err)
	got := map[string]int{}
	for range n {
		m, err := consumer.ReceiveTimeout(c.ctx, 2*time.Second)
		c.must(err)
		if m == nil {
			break
		}
		v, err := m.Core()
		c.must(err)
		name, _ := v.Property("name").Text()
		r, err := m.Body()
		c.must(err)
		b, err := io.ReadAll(r)
		c.must(err)
		text := buf.NewReader(b)
		if body := text.NSS(); strings.Trim(body.V, "x") != "" || text.Err() != nil {
			c.t.Errorf("%s has another body", name)
		}
		if want(name) {
			c.must(m.AckIndividual())
			if _, twice := got[name]; twice {
				c.t.Errorf("%s came twice", name)
			}
			got[name] = (len(b) - 5) / 2
		}
	}
	c.must(consumer.Close(c.ctx))
	return got
}

// The primary is killed in the middle of everything.
func TestRealPrimaryKilled(t *testing.T) {
	artemis := peers.RealArtemis(t)
	saranga := peers.UnderTest(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	in := newPrimary(t, artemis, false)
	primary := peers.Run(t, artemis, in)
	c := newClients(t, ctx, in)
	c.work("before")

	// A client sends all the time, through the synchronisation and into the kill.
	steady := dial(t, ctx, in)
	sender, err := steady.NewSession(ctx, client.SessionOptions{AutoCommitSends: true})
	c.must(err)
	producer, err := sender.NewProducer(ctx, queue)
	c.must(err)
	var sending sync.WaitGroup
	sending.Go(func() {
		for k := 0; ; k++ {
			name, size := fmt.Sprint("steady-", k), 50+k%7*400
			if k%40 == 39 {
				size = 150_000
			}
			if err := producer.Send(ctx, named(name, size)); err != nil {
				c.mu.Lock()
				c.unknown[name] = true
				c.mu.Unlock()
				return
			}
			c.acknowledged(map[string]int{name: size})
		}
	})

	dir := t.TempDir()
	e, o, conn := join(t, ctx, in, dir)
	select {
	case s := <-o.upToDate:
		t.Logf("up to date, sequence %d, nodes %v, %+v", s, o.ids, e.Status())
	case <-ctx.Done():
		t.Fatalf("not up to date: %+v, connection %v", e.Status(), conn.Err())
	}
	c.work("after")
	before := e.Status()
	primary.Kill()
	sending.Wait()
	<-conn.Done()
	t.Logf("killed: %d packets, %d bytes; %d messages acknowledged, %d prepared", before.Packets, before.Bytes, len(c.there), len(c.prepared))
	if err := e.Activate(); err != nil {
		t.Fatal(err)
	}
	for _, b := range []peers.Broker{saranga, artemis} {
		t.Run(b.Name(), func(t *testing.T) { c.expect(t, ctx, takeOver(t, b, dir), "afterprepared", "beforeprepared") })
	}
}

// takeOver starts a broker on a copy of the replica's folders.
func takeOver(t *testing.T, b peers.Broker, dir string) peers.Instance {
	t.Helper()
	i := peers.NewInstance(t, b, peers.CreateOptions{})
	data := filepath.Join(i.Dir, "data")
	if err := errors.Join(os.RemoveAll(data), os.CopyFS(data, os.DirFS(dir))); err != nil {
		t.Fatal(err)
	}
	peers.Run(t, b, i)
	return i
}

// Messages in pages, before and after the synchronisation: this node refuses to take over, and a real broker finds them in the
// folders.
func TestRealPrimaryPages(t *testing.T) {
	artemis := peers.RealArtemis(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	in := newPrimary(t, artemis, true)
	primary := peers.Run(t, artemis, in)
	c := newClients(t, ctx, in)
	s := c.session(client.SessionOptions{AutoCommitSends: true})
	send := func(round string) {
		for k := range 60 {
			name, size := fmt.Sprint(round, k), 300+k%5*200
			if k%20 == 19 {
				size = 150_000
			}
			c.send(s, name, size)
			c.acknowledged(map[string]int{name: size})
		}
	}
	send("before")
	dir := t.TempDir()
	e, o, conn := join(t, ctx, in, dir)
	select {
	case <-o.upToDate:
	case <-ctx.Done():
		t.Fatalf("not up to date: %+v, connection %v", e.Status(), conn.Err())
	}
	send("after")
	primary.Kill()
	<-conn.Done()
	if s := e.Status(); !slices.Equal(s.Paging, []string{queue}) {
		t.Errorf("status %+v", s)
	}
	var live *journal.LivePagesError
	if err := e.Activate(); !errors.As(err, &live) || live.Address != queue {
		t.Errorf("activate: %v", err)
	}
	c.expect(t, ctx, takeOver(t, artemis, dir))
}

// expect checks what a broker has on the folders.
func (c *clients) expect(t *testing.T, ctx context.Context, i peers.Instance, prepared ...string) {
	d := &clients{t: t, ctx: ctx, conn: dial(t, ctx, i)}
	xa := d.session(client.SessionOptions{XA: true})
	xids, err := xa.XARecover(ctx)
	d.must(err)
	var branches []string
	for _, x := range xids {
		branches = append(branches, x.Global)
	}
	slices.Sort(branches)
	if !slices.Equal(branches, prepared) {
		t.Errorf("prepared branches %q, want %q", branches, prepared)
	}
	want := maps.Clone(c.there)
	for _, x := range xids {
		d.must(xa.XACommit(ctx, x, false))
	}
	maps.Copy(want, c.prepared)
	s := d.session(client.SessionOptions{AutoCommitSends: true, AutoCommitAcks: true})
	d.must(s.Start(ctx))
	got := d.receive(s, len(want)+len(c.unknown)+10, func(string) bool { return true })
	for name, size := range want {
		if g, ok := got[name]; !ok || g != size {
			t.Errorf("%s has %d bytes, found %v, want %d", name, g, ok, size)
		}
		delete(got, name)
	}
	for name := range c.unknown {
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("messages too many: %v", got)
	}
	t.Logf("%d messages and %d branches as acknowledged", len(want), len(xids))
}
