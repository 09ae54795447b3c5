package raftfsm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// lab runs a group in this process, on loopback, with a network that can be cut between any two members.
type lab struct {
	t     testing.TB
	dir   string
	peers []Peer

	mu      sync.Mutex
	cut     map[[2]string]bool
	changed chan struct{}
	members map[string]*Member
	config  func(id string, c *Config)
	log     *text
}

// text is a log that can be read meanwhile.
type text struct {
	mu sync.Mutex
	b  strings.Builder
}

func (x *text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.Write(p)
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.String()
}

// watch keeps the warnings of members that are started from now on.
func (l *lab) watch() *text {
	l.log = &text{}
	return l.log
}

// newLab has n founders a, b, c … that are not started.
func newLab(t testing.TB, n int) *lab {
	l := &lab{t: t, dir: t.TempDir(), cut: map[[2]string]bool{}, changed: make(chan struct{}), members: map[string]*Member{}}
	for i := range n {
		l.peers = append(l.peers, Peer{string(rune('a' + i)), freeAddress(t)})
	}
	t.Cleanup(func() {
		l.heal()
		var stopping sync.WaitGroup
		for _, m := range l.all() {
			stopping.Go(m.Stop)
		}
		stopping.Wait()
	})
	return l
}

func freeAddress(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (l *lab) all() (out []*Member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.members {
		out = append(out, m)
	}
	return out
}

func (l *lab) folder(id string) string { return filepath.Join(l.dir, id) }

func (l *lab) configOf(id string) Config {
	o := hclog.LoggerOptions{Name: id, Level: hclog.Off, Output: os.Stderr, TimeFormat: "05.000"}
	switch {
	case os.Getenv("RAFTFSM_LOG") != "":
		o.Level = hclog.LevelFromString(os.Getenv("RAFTFSM_LOG"))
	case l.log != nil:
		o.Level, o.Output = hclog.Warn, l.log
	}
	c := Config{
		Cluster: "lab", Member: id, Folder: l.folder(id), Members: l.peers,
		Log:     hclog.New(&o),
		net:     labNetwork{l, id},
		storage: storage{segment: 1 << 20},
	}
	for _, p := range l.peers {
		if p.ID == id {
			c.Listen = p.Address
		}
	}
	if l.config != nil {
		l.config(id, &c)
	}
	return c
}

func (l *lab) start(ids ...string) {
	l.t.Helper()
	for _, id := range ids {
		m, err := Start(l.configOf(id))
		if err != nil {
			l.t.Fatalf("start %s: %v", id, err)
		}
		l.mu.Lock()
		l.members[id] = m
		l.mu.Unlock()
	}
}

// startAll starts the founders and waits for a leader.
func (l *lab) startAll() {
	l.t.Helper()
	for _, p := range l.peers {
		l.start(p.ID)
	}
	l.leader()
}

func (l *lab) member(id string) *Member {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.members[id]
}

var errKilled = errors.New("killed by the test")

// kill ends a member as kill -9 does: nothing leaves it any more, nobody is told.
func (l *lab) kill(id string) {
	l.mu.Lock()
	m := l.members[id]
	delete(l.members, id)
	l.mu.Unlock()
	m.fail(errKilled)
	m.Stop()
}

func (l *lab) stop(id string) {
	l.mu.Lock()
	m := l.members[id]
	delete(l.members, id)
	l.mu.Unlock()
	m.Stop()
}

// until waits for a condition.
func until(t testing.TB, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !f() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 30 s", what)
		}
		wait(5 * time.Millisecond)
	}
}

func wait(d time.Duration) { <-time.After(d) }

// leader waits for a member that leads and has begun its duties.
func (l *lab) leader() (id string) {
	l.t.Helper()
	until(l.t, "a leader", func() bool {
		id = ""
		for _, m := range l.all() {
			if _, term, ok := m.leads(); ok && m.beat.term() == term && m.Fresh() {
				id = m.cfg.Member
			}
		}
		return id != ""
	})
	return id
}

// followers are the running members but the leader.
func (l *lab) followers() (out []string) {
	leader := l.leader()
	for _, m := range l.all() {
		if m.cfg.Member != leader {
			out = append(out, m.cfg.Member)
		}
	}
	slices.Sort(out)
	return out
}

// isolate cuts a member off from all others.
func (l *lab) isolate(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.peers {
		l.cut[[2]string{id, p.ID}], l.cut[[2]string{p.ID, id}] = true, true
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// heal joins everything again.
func (l *lab) heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.cut)
	close(l.changed)
	l.changed = make(chan struct{})
}

// passable waits until from and to are joined; false if done or the deadline comes first.
func (l *lab) passable(from, to string, done <-chan struct{}, deadline time.Time) bool {
	for {
		l.mu.Lock()
		cut, changed := l.cut[[2]string{from, to}], l.changed
		l.mu.Unlock()
		if !cut {
			return true
		}
		var timeout <-chan time.Time
		if !deadline.IsZero() {
			timeout = time.After(time.Until(deadline))
		}
		select {
		case <-changed:
		case <-done:
			return false
		case <-timeout:
			return false
		}
	}
}

// labNetwork is the network as one member sees it.
type labNetwork struct {
	lab  *lab
	self string
}

func (n labNetwork) Listen(a string) (net.Listener, error) { return net.Listen("tcp", a) }

func (n labNetwork) Dial(ctx context.Context, a string) (net.Conn, error) {
	to := ""
	for _, p := range n.lab.peers {
		if p.Address == a {
			to = p.ID
		}
	}
	deadline, _ := ctx.Deadline()
	if !n.lab.passable(n.self, to, ctx.Done(), deadline) {
		return nil, os.ErrDeadlineExceeded
	}
	c, err := tcp{}.Dial(ctx, a)
	if err != nil {
		return nil, err
	}
	return &labConn{Conn: c, lab: n.lab, from: n.self, to: to, done: make(chan struct{})}, nil
}

// labConn holds back what it carries while its two ends are cut.
type labConn struct {
	net.Conn
	lab      *lab
	from, to string
	done     chan struct{}
	once     sync.Once
	mu       sync.Mutex
	read     time.Time // deadlines
	write    time.Time
}

func (c *labConn) deadlines() (read, write time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read, c.write
}

func (c *labConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	deadline, _ := c.deadlines()
	if !c.lab.passable(c.to, c.from, c.done, deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	return n, err
}

func (c *labConn) Write(b []byte) (int, error) {
	_, deadline := c.deadlines()
	if !c.lab.passable(c.from, c.to, c.done, deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	return c.Conn.Write(b)
}

func (c *labConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *labConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = t
	return c.Conn.SetReadDeadline(t)
}

func (c *labConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write = t
	return c.Conn.SetWriteDeadline(t)
}

func (c *labConn) Close() error {
	c.once.Do(func() { close(c.done) })
	return c.Conn.Close()
}

// client is a session on one member, kept alive by touches while it is open.
type client struct {
	t       testing.TB
	member  *Member
	session int64
	owner   uint64
	request uint64
}

// connect makes a session.
func (l *lab) connect(m *Member, session int64, timeout time.Duration) *client {
	l.t.Helper()
	c := &client{t: l.t, member: m, session: session, owner: uint64(session)<<8 | 1}
	o, err := m.Do(long(l.t), c.command(&tree.NewSession{Password: [16]byte{1}, Timeout: int32(timeout.Milliseconds())}))
	if err != nil || o.Code != tree.OK {
		l.t.Fatalf("new session: %v, %v", o.Code, err)
	}
	return c
}

func long(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func (c *client) command(op tree.Op) *tree.Command {
	return &tree.Command{Session: c.session, Owner: c.owner, Caller: tree.Caller{Chroot: tree.ClientRoot}, Op: op}
}

// numbered is a command that may be repeated.
func (c *client) numbered(op tree.Op) *tree.Command {
	c.request++
	q := c.command(op)
	q.Request = c.request
	return q
}

func (c *client) do(op tree.Op) (tree.Outcome, error) {
	return c.member.Do(long(c.t), c.numbered(op))
}

// must does what must succeed.
func (c *client) must(op tree.Op) tree.Outcome {
	c.t.Helper()
	o, err := c.do(op)
	if err != nil || o.Failed() != tree.OK {
		c.t.Fatalf("%T: %v, %v", op, o.Failed(), err)
	}
	return o
}

func create(path, data string, mode tree.Mode) *tree.Create {
	return &tree.Create{Path: path, Data: []byte(data), ACL: tree.OpenACL(), Mode: mode}
}

var observer = tree.Caller{Admin: true, Chroot: tree.ClientRoot}

// get reads a node of the member's own state.
func (l *lab) get(id, path string) (data string, code tree.Code) {
	l.member(id).Read(func(v *tree.View) {
		var b []byte
		b, _, code = v.Get(&observer, path)
		data = string(b)
	})
	return data, code
}

func (l *lab) children(id, path string) (names []string) {
	l.member(id).Read(func(v *tree.View) { names, _, _ = v.Children(&observer, path) })
	return names
}

// same waits until all running members have applied the same, and compares their states byte for byte.
func (l *lab) same() {
	l.t.Helper()
	until(l.t, "all members have applied the same", func() bool {
		seen := map[int64]bool{}
		for _, m := range l.all() {
			seen[m.machine.applies.Load()] = true
		}
		return len(seen) == 1
	})
	states := map[string][]string{}
	for _, m := range l.all() {
		var b strings.Builder
		m.machine.mu.Lock()
		s := m.machine.state.Snapshot()
		m.machine.mu.Unlock()
		if _, err := s.WriteTo(&b); err != nil {
			l.t.Fatal(err)
		}
		states[b.String()] = append(states[b.String()], m.cfg.Member)
	}
	if len(states) != 1 {
		l.t.Fatalf("the states differ: %v", fmt.Sprint(states))
	}
}
