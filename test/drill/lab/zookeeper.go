package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
)

// A Tree is where lock managers find a tree of nodes: a ZooKeeper server, or the endpoints of Raft members.
type Tree struct{ Servers []string }

// ConnectString is what lock managers are given.
func (z Tree) ConnectString() string { return strings.Join(z.Servers, ",") }

// Manager is a lock manager on the tree with a namespace of its own. A session of 0 is the default's.
func (z Tree) Manager(namespace string, session time.Duration) string {
	list := []string{"connect-string", z.ConnectString(), "namespace", namespace}
	if session > 0 {
		list = append(list, "session-ms", fmt.Sprint(session.Milliseconds()))
	}
	return "<manager>" + properties(list...) + "</manager>"
}

// Policy is replication with that manager at both nodes, and failback.
func (z Tree) Policy(namespace string, session time.Duration) Policy {
	m := z.Manager(namespace, session)
	return Managed(m, m, true)
}

// StartZooKeeper runs a real ZooKeeper 3.9.3 server in a folder until the test ends. It grants sessions from 1 to 10 s.
func StartZooKeeper(t testing.TB, dir string) Tree {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	script := filepath.Join(filepath.Dir(file), "..", "..", "ha", "quorum", "install-zookeeper.sh")
	out, err := exec.Command(script, peers.RealArtemis(t).Home).Output()
	if err != nil {
		t.Fatalf("install ZooKeeper: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	port, err := peers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "zoo.cfg")
	text := fmt.Sprintf("tickTime=500\ndataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n", dir, port)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n := newNode(t, dir, "ZooKeeper", "", peers.Instance{Dir: dir, Port: port},
		"java", "-Xmx128M", "-XX:TieredStopAtLevel=1", "-cp", lines[len(lines)-1], "org.apache.zookeeper.server.ZooKeeperServerMain", config)
	n.Start()
	n.Serves()
	return Tree{Servers: []string{fmt.Sprintf("127.0.0.1:%d", port)}}
}
