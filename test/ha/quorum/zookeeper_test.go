package quorum

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
)

// startLimit bounds the wait for a JVM on a machine that is shared with other suites.
const startLimit = 3 * time.Minute

// tick is the ensemble's tickTime: it grants sessions from 1 to 10 s.
const tick = 500 * time.Millisecond

// An ensemble is some real ZooKeeper servers.
type ensemble struct {
	t       *testing.T
	servers []*zkServer
}

type zkServer struct {
	address string
	config  string
	class   string
	log     string
	path    string // class path

	mu  sync.Mutex
	cmd *exec.Cmd // nil: it does not run
}

// classPath installs ZooKeeper once per test process.
var classPath = sync.OnceValues(func() (string, error) {
	a, err := peers.InstallArtemis(context.Background())
	if err != nil {
		return "", err
	}
	out, err := exec.Command("./install-zookeeper.sh", a.Home).Output()
	if err != nil {
		return "", fmt.Errorf("install ZooKeeper: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1], nil
})

// startEnsemble starts n servers and waits until all serve.
func startEnsemble(t *testing.T, n int) *ensemble {
	t.Helper()
	path, err := classPath()
	if err != nil {
		t.Fatal(err)
	}
	e := &ensemble{t: t}
	class, members := "org.apache.zookeeper.server.ZooKeeperServerMain", ""
	if n > 1 {
		class = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
		for i := range n {
			members += fmt.Sprintf("server.%d=127.0.0.1:%d:%d\n", i+1, freePort(t), freePort(t))
		}
	}
	for i := range n {
		dir := t.TempDir()
		port := freePort(t)
		s := &zkServer{address: fmt.Sprintf("127.0.0.1:%d", port), config: filepath.Join(dir, "zoo.cfg"), class: class, log: filepath.Join(dir, "log"), path: path}
		config := fmt.Sprintf("tickTime=%d\ninitLimit=20\nsyncLimit=10\ndataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\n"+
			"admin.enableServer=false\n4lw.commands.whitelist=*\n%s", tick.Milliseconds(), dir, port, members)
		for name, content := range map[string]string{"zoo.cfg": config, "myid": fmt.Sprint(i + 1)} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		e.servers = append(e.servers, s)
		e.start(s)
	}
	t.Cleanup(func() {
		for _, s := range e.servers {
			s.kill()
			if text, err := os.ReadFile(s.log); t.Failed() && err == nil {
				t.Logf("ZooKeeper %s:\n%s", s.address, text[max(0, len(text)-4000):])
			}
		}
	})
	for _, s := range e.servers {
		await(t, "ZooKeeper "+s.address+" to serve", startLimit, func() bool { return strings.Contains(s.ask("srvr"), "\nMode: ") })
	}
	return e
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := peers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func (e *ensemble) start(s *zkServer) {
	e.t.Helper()
	out, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		e.t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command("java", "-Xmx96M", "-XX:+UseSerialGC", "-cp", s.path, s.class, s.config)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	s.mu.Lock()
	s.cmd = cmd
	s.mu.Unlock()
}

func (s *zkServer) signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(sig)
	}
}

func (s *zkServer) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// ask sends a four-letter word and returns the answer, "" if there is none.
func (s *zkServer) ask(word string) string {
	c, err := net.DialTimeout("tcp", s.address, time.Second)
	if err != nil {
		return ""
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := c.Write([]byte(word)); err != nil {
		return ""
	}
	var b strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := c.Read(buffer)
		b.Write(buffer[:n])
		if err != nil {
			return b.String()
		}
	}
}

// connectString lists all servers.
func (e *ensemble) connectString() string {
	var list []string
	for _, s := range e.servers {
		list = append(list, s.address)
	}
	return strings.Join(list, ",")
}

// await waits until a condition holds.
func await(t *testing.T, what string, limit time.Duration, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain for %s", limit, what)
		}
		<-poll.C
	}
}
