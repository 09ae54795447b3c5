package quorum

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/ha/quorum/file"
	"github.com/saranga-mq/saranga/ha/quorum/zookeeper"
)

// configuredID is the coordination-id of the real brokers, nodeID what they make of it.
const (
	configuredID = "d81f6a2c-ecb1-11f1-a88d-02fc00000001"
	nodeID       = "d81f6a2c.ecb1.11"
)

// manager makes a started manager; it is stopped with the test.
func manager(t *testing.T, class string, properties map[string]string) quorum.Manager {
	t.Helper()
	var out bytes.Buffer
	log := hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Debug})
	m, err := quorum.New(class, properties, zookeeper.Kind(log), file.Kind())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := m.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Stop()
		if t.Failed() {
			t.Logf("lock manager:\n%s", out.String())
		}
	})
	return m
}

// zkManager is a manager on the ensemble; session time 4 s.
func (e *ensemble) manager(more ...string) quorum.Manager {
	p := map[string]string{"connect-string": e.connectString(), "namespace": "pair", "session-ms": "4000"}
	for i := 0; i+1 < len(more); i += 2 {
		p[more[i]] = more[i+1]
	}
	return manager(e.t, "", p)
}

func lock(t *testing.T, m quorum.Manager) quorum.Lock {
	t.Helper()
	l, err := m.Lock(nodeID)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func long(t *testing.T, m quorum.Manager) quorum.Long {
	t.Helper()
	l, err := m.Long(nodeID)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func try(t *testing.T, l quorum.Lock, want bool) {
	t.Helper()
	if held, err := l.TryLock(t.Context()); err != nil || held != want {
		t.Fatalf("tryLock: %v, %v, want %v", held, err, want)
	}
}

func checkHeld(t *testing.T, l quorum.Lock, want bool) {
	t.Helper()
	if held, err := l.HeldByCaller(t.Context()); err != nil || held != want {
		t.Fatalf("heldByCaller: %v, %v, want %v", held, err, want)
	}
}

func checkSequence(t *testing.T, m quorum.Manager, want int64) {
	t.Helper()
	if s, err := long(t, m).Get(t.Context()); err != nil || s != want {
		t.Fatalf("coordinated sequence %d, %v, want %d", s, err, want)
	}
}

// TestZooKeeper goes through all operations of two managers on a real server.
func TestZooKeeper(t *testing.T) {
	e := startEnsemble(t, 1)
	a, b := e.manager(), e.manager()
	la, lb := lock(t, a), lock(t, b)
	try(t, la, true)
	try(t, lb, false)
	checkHeld(t, la, true)
	checkHeld(t, lb, false)
	if left := la.Lease().Sub(quorum.Now()); left <= 0 || left > 4*time.Second*5/8 {
		t.Errorf("%v are left of the lease", left)
	}
	checkSequence(t, a, 0)
	for _, c := range []struct {
		expected, value int64
		want            bool
	}{{5, 6, false}, {0, -1, true}, {-1, 1, true}, {-1, 2, false}} {
		if done, err := long(t, a).CompareAndSet(t.Context(), c.expected, c.value); err != nil || done != c.want {
			t.Errorf("compareAndSet %d %d: %v, %v", c.expected, c.value, done, err)
		}
	}
	checkSequence(t, b, 1)
	if err := long(t, b).Set(t.Context(), 7); err != nil {
		t.Error(err)
	}
	checkSequence(t, a, 7)

	// The tree as another client sees it.
	conn, _, err := zk.Connect([]string{e.servers[0].address}, 5*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	leases, _, err := conn.Children("/pair/" + nodeID + "/locks/leases")
	if err != nil || len(leases) != 1 || !strings.HasPrefix(leases[0], "_c_") || !strings.HasSuffix(leases[0], "-lease-0000000000") {
		t.Errorf("leases %q, %v", leases, err)
	}
	turns, _, err := conn.Children("/pair/" + nodeID + "/locks/locks")
	if err != nil || len(turns) != 0 {
		t.Errorf("turns %q, %v", turns, err)
	}
	data, _, err := conn.Get("/pair/" + nodeID + "/activation-sequence")
	if err != nil || !bytes.Equal(data, []byte{0, 0, 0, 0, 0, 0, 0, 7}) {
		t.Errorf("activation-sequence %x, %v", data, err)
	}

	// A lease is renewed while the server answers.
	first := la.Lease()
	await(t, "the lease to be renewed", 5*time.Second, func() bool { return la.Lease() > first })
	// A stop lets go at once.
	a.Stop()
	try(t, lb, true)
	// A node that somebody removes is a lock that is lost.
	lost := lb.Lost()
	leases, _, err = conn.Children("/pair/" + nodeID + "/locks/leases")
	if err != nil || len(leases) != 1 {
		t.Fatalf("leases %q, %v", leases, err)
	}
	if err := conn.Delete("/pair/"+nodeID+"/locks/leases/"+leases[0], -1); err != nil {
		t.Fatal(err)
	}
	select {
	case <-lost:
	case <-time.After(5 * time.Second):
		t.Error("the loss was not noticed")
	}
	try(t, lb, true)
	if err := lb.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestZooKeeperSession: a server that is away for less than the window costs nothing but the lease's renewals; away for
// longer, the manager is unavailable, before the store lets anybody else have the lock.
func TestZooKeeperSession(t *testing.T) {
	e := startEnsemble(t, 1)
	s := e.servers[0]
	m := e.manager("session-ms", "6000", "session-percent", "50")
	l := lock(t, m)
	try(t, l, true)
	lost := l.Lost()
	s.kill()
	e.start(s)
	await(t, "the server to serve again", startLimit, func() bool { return strings.Contains(s.ask("srvr"), "\nMode: ") })
	select {
	case <-m.Unavailable():
		// The JVM took longer than the window of 3 s; what follows shows the same.
	default:
		if err := long(t, m).Set(t.Context(), 1); err == nil {
			checkHeld(t, l, true)
			s.signal(syscall.SIGSTOP)
			defer s.signal(syscall.SIGCONT)
		}
	}
	began := time.Now()
	select {
	case <-lost:
	case <-time.After(20 * time.Second):
		t.Fatal("the lock is not lost")
	}
	if l.Lease() != 0 {
		t.Error("a lease without a session")
	}
	if d := time.Since(began); d > 6*time.Second {
		t.Errorf("it took %v, longer than the session", d)
	}
	<-m.Unavailable()
	s.signal(syscall.SIGCONT)
	if _, err := l.TryLock(t.Context()); !errors.Is(err, quorum.ErrUnavailable) {
		t.Errorf("tryLock: %v", err)
	}
	m.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := m.Start(ctx); err != nil {
		t.Fatal(err)
	}
	again := lock(t, m)
	if held, err := quorum.TryLockFor(ctx, again, 20*time.Second); !held || err != nil {
		t.Errorf("after a new start: %v, %v", held, err)
	}
}

// TestZooKeeperEnsemble kills the server that a holder is connected to: the session moves, the lock stays.
func TestZooKeeperEnsemble(t *testing.T) {
	e := startEnsemble(t, 3)
	// Long enough for an election among three JVMs on a busy machine.
	a, b := e.manager("session-ms", "10000", "session-percent", "100"), e.manager("session-ms", "10000", "session-percent", "100")
	la, lb := lock(t, a), lock(t, b)
	try(t, la, true)
	lost := la.Lost()
	var log []string
	for _, s := range slices.Clone(e.servers) {
		s.kill()
		log = append(log, s.address)
		if err := long(t, a).Set(t.Context(), int64(len(log))); err != nil {
			t.Fatalf("after the end of %v: %v", log, err)
		}
		checkHeld(t, la, true)
		try(t, lb, false)
		e.start(s)
		await(t, "the server to serve again", startLimit, func() bool { return strings.Contains(s.ask("srvr"), "\nMode: ") })
	}
	checkSequence(t, b, int64(len(log)))
	select {
	case <-lost:
		t.Error("the lock was lost")
	default:
	}
}
