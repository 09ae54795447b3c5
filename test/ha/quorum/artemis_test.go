package quorum

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/test/peers"
)

// A primary is a real Artemis with replication and a lock manager. It has no backup: this test is the other node of the pair.
type primary struct {
	t        *testing.T
	artemis  peers.Artemis
	instance peers.Instance
	log      string

	end     context.CancelFunc
	started chan error // gets nil when it has become active
	process *peers.Process
}

// newPrimary creates the instance; its node id is the coordination-id.
func newPrimary(t *testing.T, class string, properties map[string]string) *primary {
	t.Helper()
	a := peers.RealArtemis(t)
	i := peers.NewInstance(t, a, peers.CreateOptions{Flags: []string{
		"--replicated", "--staticCluster", "tcp://127.0.0.1:1", "--cluster-user", "cu", "--cluster-password", "cp"}})
	config, err := os.ReadFile(i.Etc("broker.xml"))
	if err != nil {
		t.Fatal(err)
	}
	manager := "<manager><class-name>" + class + "</class-name><properties>"
	for key, value := range properties {
		manager += fmt.Sprintf(`<property key="%s" value="%s"/>`, key, value)
	}
	policy := "<ha-policy><replication><primary><coordination-id>" + configuredID + "</coordination-id>" + manager + "</properties></manager></primary></replication></ha-policy>"
	text := regexp.MustCompile(`(?s)<ha-policy>.*</ha-policy>`).ReplaceAllLiteralString(string(config), policy)
	if !strings.Contains(text, policy) {
		t.Fatal("broker.xml has no ha-policy")
	}
	if err := i.WriteEtc("broker.xml", text); err != nil {
		t.Fatal(err)
	}
	return &primary{t: t, artemis: a, instance: i, log: filepath.Join(t.TempDir(), "artemis.log")}
}

// start starts the broker; it need not become active.
func (p *primary) start() {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(p.t.Context()))
	p.end, p.started = cancel, make(chan error, 1)
	began, err := os.OpenFile(p.log, os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	began.Close()
	go func(started chan<- error) {
		var err error
		p.process, err = peers.Start(ctx, p.artemis, p.instance, p.log)
		started <- err
	}(p.started)
	p.t.Cleanup(p.kill)
}

// kill ends the broker as a crash does.
func (p *primary) kill() {
	if p.end == nil {
		return
	}
	p.end()
	p.end = nil
	if err := <-p.started; err == nil {
		p.process.Kill()
	}
	p.started = nil
}

// logged waits for a text in the log.
func (p *primary) logged(text string) {
	p.t.Helper()
	await(p.t, "the broker to log "+text, startLimit, func() bool {
		log, err := os.ReadFile(p.log)
		return err == nil && strings.Contains(string(log), text)
	})
}

// passive checks that the broker doesn't become active.
func (p *primary) passive(d time.Duration) {
	p.t.Helper()
	select {
	case err := <-p.started:
		p.started <- err
		p.t.Fatalf("the broker became active, or ended: %v", err)
	case <-time.After(d):
	}
}

// active waits until the broker is active.
func (p *primary) active() {
	p.t.Helper()
	err := <-p.started
	p.started <- err
	if err != nil {
		p.t.Fatal(err)
	}
}

// local is the broker's own activation sequence.
func (p *primary) local() quorum.FileSequence {
	return quorum.FileSequence{FS: fs.OS{}, Dir: filepath.Join(p.instance.Dir, "data", "journal")}
}

func (p *primary) checkLocal(want int64) {
	p.t.Helper()
	if got, err := p.local().Load(); err != nil || got != want {
		p.t.Fatalf("the broker's local sequence is %d, %v, want %d", got, err, want)
	}
}

// testPair lets a real broker and this process be the two nodes of a pair, on a store given by open and the broker's properties.
func testPair(t *testing.T, p *primary, m quorum.Manager, session time.Duration) {
	l := lock(t, m)

	// Our lock keeps the broker passive.
	try(t, l, true)
	p.start()
	p.logged("AMQ221000")
	p.passive(5 * time.Second)
	checkHeld(t, l, true)
	checkSequence(t, m, 0)
	if err := l.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.active()

	// Its lock keeps us passive; it has raised both sequences.
	try(t, l, false)
	checkHeld(t, l, false)
	checkSequence(t, m, 1)
	p.checkLocal(1)
	id, err := quorum.NodeID(nodeID)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(p.local().Dir, "server.lock")); err != nil || string(b[3:]) != string(id[:]) {
		t.Fatalf("server.lock %x, %v, want %x", b, err, id)
	}

	// It dies. We are a node that is in sync, with a sequence that it wrote, and become active after its session.
	p.kill()
	n := &quorum.Node{ID: nodeID, Manager: m, Local: p.local(), Log: hclog.NewNullLogger()}
	ctx, cancel := context.WithTimeout(t.Context(), session+time.Minute)
	defer cancel()
	if _, standing, err := n.TryActivate(ctx); err != nil || standing != quorum.InSync {
		t.Fatalf("activation: %v, %v", standing, err)
	}
	if s, err := n.Increment(ctx); err != nil || s != 2 {
		t.Fatalf("sequence %d, %v, want 2", s, err)
	}
	checkSequence(t, m, 2)
	p.checkLocal(2)
	if err := l.Unlock(ctx); err != nil {
		t.Fatal(err)
	}

	// The broker takes over the sequences that we wrote.
	p.start()
	p.active()
	checkSequence(t, m, 3)
	p.checkLocal(3)
	p.kill()

	// We take over with a file of our own: the broker is stale from then on, and knows it.
	own := quorum.FileSequence{FS: fs.OS{}, Dir: t.TempDir()}
	if err := own.Store(3); err != nil {
		t.Fatal(err)
	}
	n.Local = own
	ctx, cancel = context.WithTimeout(t.Context(), session+time.Minute)
	defer cancel()
	if _, _, err := n.TryActivate(ctx); err != nil {
		t.Fatal(err)
	}
	if s, err := n.Increment(ctx); err != nil || s != 4 {
		t.Fatalf("sequence %d, %v, want 4", s, err)
	}
	if err := l.Unlock(ctx); err != nil {
		t.Fatal(err)
	}
	p.start()
	p.logged("Not a candidate for NodeID = " + nodeID)
	p.passive(time.Second)
	p.kill()

	// And so are we with the sequence of before.
	if err := own.Store(2); err != nil {
		t.Fatal(err)
	}
	if got, standing, err := n.TryActivate(t.Context()); got != nil || standing != quorum.Stale || err != nil {
		t.Errorf("with an old sequence: %v, %v, %v", got, standing, err)
	}

	// The broker repairs what we claimed and did not commit. Its sequence it has moved away with its data; here it is again.
	if err := p.local().Store(3); err != nil {
		t.Fatal(err)
	}
	if err := long(t, m).Set(t.Context(), -4); err != nil {
		t.Fatal(err)
	}
	p.start()
	p.active()
	checkSequence(t, m, 5)
	p.checkLocal(5)
}

func TestArtemisOnZooKeeper(t *testing.T) {
	e := startEnsemble(t, 1)
	p := newPrimary(t, quorum.ClassCurator, map[string]string{"connect-string": e.connectString(), "namespace": "pair", "session-ms": "8000"})
	testPair(t, p, e.manager("session-ms", "8000"), 8*time.Second)
}

func TestArtemisOnAFolder(t *testing.T) {
	locks := map[string]string{"locks-folder": t.TempDir()}
	testPair(t, newPrimary(t, quorum.ClassFile, locks), manager(t, quorum.ClassFile, locks), 0)
}

// TestCoordinationID has a real broker write node ids that are not UUIDs into its server.lock.
func TestCoordinationID(t *testing.T) {
	for _, text := range []string{"ffffffff-ffff-ffff-ffff-ffffffffffff", "peers"} {
		id := quorum.CoordinationID(text)
		want, err := quorum.NodeID(id)
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		p := newPrimary(t, quorum.ClassFile, map[string]string{"locks-folder": folder})
		config, err := os.ReadFile(p.instance.Etc("broker.xml"))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.instance.WriteEtc("broker.xml", strings.Replace(string(config), configuredID, text, 1)); err != nil {
			t.Fatal(err)
		}
		p.start()
		p.active()
		b, err := os.ReadFile(filepath.Join(p.local().Dir, "server.lock"))
		if err != nil || len(b) != 19 || string(b[3:]) != string(want[:]) {
			t.Errorf("%q: server.lock %x, %v, want %x", text, b, err, want)
		}
		for _, name := range []string{id, "ML:" + id} { // the text is the id of lock and long
			if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
				t.Error(err)
			}
		}
		p.kill()
	}
}
