//go:build linux

package partition

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/saranga-mq/saranga/test/peers"
)

// A Setup is who takes part in a round.
type Setup struct {
	Binary    string            // Saranga's
	Artemis   string            // home of the distribution; needed where a broker is a real Artemis
	Products  map[string]string // of p and b: "artemis", or Saranga
	ZooKeeper string            // class path: the members are servers of a real ZooKeeper; empty: Saranga's members
}

// String names who takes part.
func (s Setup) String() string {
	name := func(broker string) string {
		if s.real(broker) {
			return "Artemis"
		}
		return "Saranga"
	}
	members := "Saranga's members"
	if s.ZooKeeper != "" {
		members = "ZooKeeper"
	}
	return name("p") + " and " + name("b") + " with " + members
}

// real tells whether a broker is a real Artemis.
func (s Setup) real(broker string) bool { return s.Products[broker] == "artemis" }

// anyReal tells whether one is.
func (s Setup) anyReal() bool { return s.real("p") || s.real("b") }

func (s Setup) broker(name string) peers.Broker {
	if s.real(name) {
		return peers.Artemis{Home: s.Artemis}
	}
	return peers.Saranga{Binary: s.Binary}
}

// run is the process of a broker.
func (s Setup) run(name, dir string) *exec.Cmd {
	if s.real(name) {
		return exec.Command(filepath.Join(dir, "bin", "artemis"), "run")
	}
	return exec.Command(s.Binary, "run", "--instance", dir)
}

// fit takes out of a plan what those who take part cannot do: a real Artemis has no member, and ZooKeeper's servers find each other without
// relays.
func (s Setup) fit(p Plan) Plan {
	first := p.Seed
	for seed := p.Seed; s.ZooKeeper != "" && (p.Relayed || p.Embedded) || s.anyReal() && p.Embedded; {
		seed += 1 << 32 // another plan, which follows from the same seed
		p = NewPlan(seed, p.Trouble)
	}
	p.Seed = first
	return p
}

// Ports of ZooKeeper's servers among themselves.
const (
	zkQuorumPort   = 2888
	zkElectionPort = 3888
)

// ensemble lays out three real ZooKeeper servers. They grant sessions from 1 s.
func (w *world) ensemble() error {
	var servers strings.Builder
	for i, m := range memberNames {
		fmt.Fprintf(&servers, "server.%d=%s:%d:%d\n", i+1, w.fabric.addr[m], zkQuorumPort, zkElectionPort)
	}
	for i, m := range memberNames {
		dir := filepath.Join(w.dir, m)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		file := filepath.Join(dir, "zoo.cfg")
		text := fmt.Sprintf("tickTime=500\ninitLimit=20\nsyncLimit=10\ndataDir=%s\nclientPort=%d\nclientPortAddress=%s\nadmin.enableServer=false\n%s",
			dir, zkPort, w.fabric.addr[m], servers.String())
		for name, content := range map[string]string{"zoo.cfg": text, "myid": fmt.Sprint(i + 1)} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				return err
			}
		}
		w.nodes[m] = newProcess(w.fabric, w.dir, m, func() *exec.Cmd {
			return exec.Command("java", "-Xmx128M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", w.setup.ZooKeeper,
				"org.apache.zookeeper.server.quorum.QuorumPeerMain", file)
		})
	}
	return nil
}
