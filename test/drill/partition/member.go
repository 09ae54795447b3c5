//go:build linux

package partition

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/saranga-mq/saranga/raftfsm"
)

// Ports of services on their hosts.
const (
	raftPort = 61690
	zkPort   = 2181
	corePort = 61616
)

// members lays out all members: those that run in brokers get a file in the broker's instance, the others are processes of their own.
func (w *world) members() error {
	if w.setup.ZooKeeper != "" {
		return w.ensemble()
	}
	certificates, err := w.certificates()
	if err != nil {
		return fmt.Errorf("make certificates: %w", err)
	}
	for _, m := range memberNames {
		host := w.plan.host(m)
		file := filepath.Join(w.dir, host, "etc", "saranga.yaml")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(w.describe(m, certificates[m])), 0o600); err != nil {
			return err
		}
		if w.nodes[host] == nil {
			w.nodes[host] = newProcess(w.fabric, w.dir, host, func() *exec.Cmd { return exec.Command(w.setup.Binary, "quorum", "run", "--config", file) })
		}
	}
	return nil
}

// describe is the configuration of a member.
func (w *world) describe(member string, tls raftfsm.TLS) string {
	var b strings.Builder
	fmt.Fprintf(&b, "quorum:\n  cluster: pair\n  member: %s\n  listen: %s\n  members:\n", member, w.raft[member].listen)
	for _, m := range memberNames {
		fmt.Fprintf(&b, "    - {id: %s, address: %q}\n", m, w.raft[m].reach)
	}
	fmt.Fprintf(&b, "  tls: {certificate: %q, key: %q, ca: %q}\n", tls.Certificate, tls.Key, tls.CA)
	at := w.zk[member].listen
	fmt.Fprintf(&b, "zookeeper:\n  listen: %s\n", at)
	if a, err := netip.ParseAddrPort(at); err == nil && !a.Addr().IsLoopback() {
		fmt.Fprintf(&b, "  allow: [%s]\n", netip.PrefixFrom(a.Addr(), 24).Masked())
	}
	return b.String()
}

// connectString is where clients find the members.
func (w *world) connectString() string {
	var list []string
	for _, m := range memberNames {
		list = append(list, w.zk[m].reach)
	}
	return strings.Join(list, ",")
}
