package lab

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
)

// memberIDs are those of the members of a quorum.
var memberIDs = []string{"a", "b", "c"}

// Members are three founders of a Raft quorum, each with an endpoint for ZooKeeper clients. A member is a process of its own, or runs in
// a broker that was created with its Flags.
type Members struct {
	Tree // their endpoints

	t     testing.TB
	dir   string
	raft  []string // ID=HOST:PORT
	alone []*Node
}

// NewMembers chooses their addresses. None of them runs.
func NewMembers(t testing.TB, dir string) *Members {
	t.Helper()
	m := &Members{t: t, dir: dir}
	port := func() int {
		p, err := peers.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, id := range memberIDs {
		m.raft = append(m.raft, fmt.Sprintf("%s=127.0.0.1:%d", id, port()))
		m.Servers = append(m.Servers, fmt.Sprintf("127.0.0.1:%d", port()))
	}
	return m
}

// StartMembers runs three members without brokers until the test ends.
func StartMembers(t testing.TB, dir string) *Members {
	t.Helper()
	m := NewMembers(t, dir)
	for i := range memberIDs {
		m.Alone(i).Start()
	}
	m.Ready()
	return m
}

// Flags are those of the create command for the instance in which a member runs.
func (m *Members) Flags(i int) []string {
	flags := []string{"--quorum-id", memberIDs[i], "--quorum-zookeeper", m.Servers[i]}
	for _, r := range m.raft {
		flags = append(flags, "--quorum-member", r)
	}
	return flags
}

// Alone lays out a member without a broker.
func (m *Members) Alone(i int) *Node {
	m.t.Helper()
	saranga := peers.UnderTest(m.t)
	laidOut := NewNode(m.t, m.dir, "member-"+memberIDs[i], Saranga, m.Flags(i)...).Instance
	if err := os.Remove(laidOut.Etc("broker.xml")); err != nil { // it needs none
		m.t.Fatal(err)
	}
	n := newNode(m.t, m.dir, "member "+memberIDs[i], Saranga, laidOut, saranga.Binary, "quorum", "run", "--instance", laidOut.Dir)
	m.alone = append(m.alone, n)
	return n
}

// Ready waits until a majority is there, as a member without a broker tells.
func (m *Members) Ready() {
	m.t.Helper()
	n := m.alone[0]
	n.runs("see a majority", func() bool {
		out, _ := exec.Command(peers.UnderTest(m.t).Binary, "quorum", "status", "--instance", n.Instance.Dir).CombinedOutput()
		return strings.Contains(string(out), "voters are present. It")
	})
}

// Embedded is a policy in which every node that is a Saranga has its lock with the member in its own process, and every Artemis with the
// endpoints; members that are in no broker are started.
func (m *Members) Embedded(primary, backup Product, session time.Duration) Policy {
	m.t.Helper()
	managers := make([]string, 2)
	flags := make([][]string, 2)
	for i := range memberIDs {
		if i < 2 {
			managers[i] = m.Manager("pair", session)
			if []Product{primary, backup}[i] == Saranga {
				managers[i], flags[i] = "<manager>"+properties("namespace", "pair")+"</manager>", m.Flags(i)
				continue
			}
		}
		m.Alone(i).Start()
	}
	p := Managed(managers[0], managers[1], true)
	p.PrimaryFlags, p.BackupFlags = flags[0], flags[1]
	return p
}
