package quorum

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/saranga-mq/saranga/test/peers"
)

// A site is what an operator lays out with the create command: members a, b and c of a quorum.
type site struct {
	t       *testing.T
	members []string // ID=HOST:PORT
	servers []string // the endpoints
	texts
}

func newSite(t *testing.T) *site {
	s := &site{t: t, texts: texts{t, map[string]bool{}}}
	for _, id := range []string{"a", "b", "c"} {
		s.members = append(s.members, fmt.Sprintf("%s=127.0.0.1:%d", id, port(t)))
		s.servers = append(s.servers, fmt.Sprintf("127.0.0.1:%d", port(t)))
	}
	return s
}

// port is free, and below those of outgoing connections.
func port(t *testing.T) int {
	p, err := peers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// flags of the create command for one of them.
func (s *site) flags(i int) []string {
	out := []string{"--quorum-id", strings.SplitN(s.members[i], "=", 2)[0], "--quorum-zookeeper", s.servers[i]}
	for _, m := range s.members {
		out = append(out, "--quorum-member", m)
	}
	return out
}

// witness lays out a member without a broker.
func (s *site) witness(i int) *node {
	s.t.Helper()
	in := peers.NewInstance(s.t, peers.UnderTest(s.t), peers.CreateOptions{Flags: s.flags(i)})
	if err := os.Remove(in.Etc("broker.xml")); err != nil { // it needs none
		s.t.Fatal(err)
	}
	return witness(s.t, s.members[i][:1], in.Dir)
}

const nobody = "tcp://127.0.0.1:1"

// patient is the lock manager with sessions that survive a machine on which too much runs at once.
const patient = `<manager><properties><property key="session-ms" value="6000"/></properties></manager>`

// cluster are the flags of a node of a pair that knows the other.
func cluster(other string, more ...string) []string {
	return append([]string{"--cluster-user", "cu", "--cluster-password", "cp", "--staticCluster", other}, more...)
}

// pair lays out primary and backup, members a and b.
func (s *site) pair() (primary, backup *node) {
	s.t.Helper()
	saranga := peers.UnderTest(s.t)
	p := peers.NewInstance(s.t, saranga, peers.CreateOptions{Flags: append(cluster(nobody, "--replicated"), s.flags(0)...)})
	primary = broker(s.t, "a", saranga, p)
	b := peers.NewInstance(s.t, saranga, peers.CreateOptions{Flags: append(cluster(p.URL(), "--replicated", "--backup"), s.flags(1)...)})
	backup = broker(s.t, "b", saranga, b)
	primary.edit("broker.xml", nobody+"<", b.URL()+"<")
	primary.edit("broker.xml", "<manager/>", patient)
	backup.edit("broker.xml", "<manager/>", patient)
	return primary, backup
}

// TestPairOnMembers: two brokers and a witness, as the create command lays them out. The active one is killed, first beside the Raft
// leader, then with it, and comes back; nothing that was acknowledged is lost.
func TestPairOnMembers(t *testing.T) {
	s := newSite(t)
	a, b := s.pair()
	c := s.witness(2)

	// A broker waits for the majority, and says so on request.
	a.start()
	a.shows("NO MAJORITY: 0 of its 3 voters are present, 2 are needed", "status")
	a.shows("waits for the others", "members")
	if a.open() {
		t.Fatal("a serves without a majority")
	}
	c.start()
	b.start()
	a.serves()
	b.says(synced)
	b.says(announced)
	a.shows("3 of 3 voters are present. It survives the loss of 1.", "status")
	s.put(a, 100)
	if b.open() {
		t.Fatal("both serve")
	}

	for i, leader := range []string{"c", "a"} {
		b.lead(leader)
		a.kill()
		b.serves()
		s.put(b, 100)
		b.shows("2 of 3 voters are present. It does NOT survive the loss of another.", "status")
		if out, err := b.quorum("members"); err != nil || !strings.Contains(out, "|does not answer|") || !strings.Contains(out, "a: connect to the member at 127.0.0.1:") {
			t.Errorf("members: %v\n%s", err, out)
		}
		b.forget()
		a.start()
		a.serves()
		b.says(announced)
		s.put(a, 100)
		if b.open() {
			t.Fatal("both serve")
		}
		if got, want := sequenceOf(t, a), fmt.Sprint(2*i+3); got != want {
			t.Errorf("activation sequence %s, want %s", got, want)
		}
	}
	s.take(a)

	// In good order: the backup takes nothing over from a primary that has the lock until it stops.
	b.stop()
	a.stop()
	c.shows("NO MAJORITY", "status")
	c.stop()
}

func sequenceOf(t *testing.T, n *node) string {
	t.Helper()
	p := primary{instance: n.instance}
	l, err := p.local().Load()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(l)
}

// TestArtemisOnEndpoint: the primary has its lock with the member in its process, its backup is a real Artemis that connects its unmodified lock
// manager to the endpoints of all members. Each takes over from the other.
func TestArtemisOnEndpoint(t *testing.T) {
	s := newSite(t)
	saranga, artemis := peers.UnderTest(t), peers.RealArtemis(t)
	p := peers.NewInstance(t, saranga, peers.CreateOptions{Flags: append(cluster(nobody, "--replicated"), s.flags(0)...)})
	a := broker(t, "a", saranga, p)
	r := broker(t, "artemis", artemis, peers.NewInstance(t, artemis, peers.CreateOptions{Flags: cluster(p.URL(), "--replicated", "--backup")}))
	a.edit("broker.xml", nobody+"<", r.instance.URL()+"<")
	a.edit("broker.xml", "<manager/>", patient)
	r.edit("broker.xml", "<backup/>", `<backup><allow-failback>true</allow-failback><manager><properties><property key="connect-string" value="`+strings.Join(s.servers, ",")+
		`"/><property key="session-ms" value="8000"/></properties></manager></backup>`)
	b, c := s.witness(1), s.witness(2)
	for _, n := range []*node{a, b, c} {
		n.start()
	}
	a.serves()
	r.start()
	r.says(synced)
	r.says(announced)
	s.put(a, 100)
	b.lead("a")
	a.kill()
	r.serves()
	s.put(r, 100)
	a.start()
	a.serves()
	s.put(a, 100)
	s.take(a)
	a.stop()
}

// TestNewLockService: the lock service of a pair is replaced by one that knows nothing, here because all members lost their folders, as docs/quorum.md says:
// with a new activation sequence. Everything is there.
func TestNewLockService(t *testing.T) {
	s := newSite(t)
	a, b := s.pair()
	c := s.witness(2)
	for _, n := range []*node{c, a, b} {
		n.start()
	}
	a.serves()
	b.says(announced)
	s.put(a, 50)
	for _, n := range []*node{b, a, c} {
		n.stop()
		if err := os.RemoveAll(filepath.Join(n.instance.Dir, "data", "quorum")); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []*node{b, a} {
		if err := os.Remove(filepath.Join(n.instance.Dir, "data", "journal", "server.activation.sequence")); err != nil {
			t.Fatal(err)
		}
	}
	// The group is new, and is founded when all three are there; b comes when a is active.
	m := witness(t, "member-b", b.instance.Dir)
	c.start()
	m.start()
	a.start()
	a.serves()
	m.stop()
	b.start()
	b.says(announced)
	s.put(a, 50)
	a.kill()
	b.serves()
	s.take(b)
}

// TestMemberFails fills the disk of the member of the active broker: the member ends, the broker stops in good order, its process ends with an
// error, and the backup takes over. The disk is a file system in a name space of the process.
func TestMemberFails(t *testing.T) {
	s := newSite(t)
	a, b := s.pair()
	c := s.witness(2)
	folder := filepath.Join(a.instance.Dir, "data", "quorum")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	run := a.command
	a.command = append([]string{"unshare", "-Urm", "sh", "-c", `mount -t tmpfs -o size=24m tmpfs "$0" && exec "$@"`, folder}, run...) // one file of the log fits
	for _, n := range []*node{c, a, b} {
		n.start()
	}
	a.serves()
	b.says(announced)
	s.put(a, 50)

	conn, _, err := zk.Connect([]string{s.servers[2]}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Create("/big", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	big := make([]byte, 900<<10)
	for written := 0; ; written += len(big) {
		if _, err := conn.Set("/big", big, -1); err != nil {
			t.Fatal(err)
		}
		if a.said("the quorum member of this node has ended: the node stops") {
			break
		}
		if written > 64<<20 {
			t.Fatal("the disk is not full")
		}
	}
	if code := a.ended(); code != 1 || !a.said("no space left on device") {
		t.Errorf("it ended with %d", code)
	}
	b.serves()
	s.take(b)
	c.shows("2 of 3 voters are present", "status")
}

// A manager without servers, where no member runs, has nothing to ask.
func TestManagerWithoutMember(t *testing.T) {
	s := newSite(t)
	a, _ := s.pair()
	if err := os.Rename(a.instance.Etc("saranga.yaml"), filepath.Join(t.TempDir(), "away")); err != nil {
		t.Fatal(err)
	}
	a.start()
	if code := a.ended(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"broker.xml:", "ha-policy/replication/primary/manager", "it has no property connect-string, and no quorum member runs in this process", "create --quorum-member"} {
		if !a.said(want) {
			t.Errorf("it does not say %q", want)
		}
	}
}
