package pair

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/test/peers"
)

// zookeeper runs a real ZooKeeper server until the test ends, and returns its address. It grants sessions from 1 to 10 s.
func zookeeper(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("../quorum/install-zookeeper.sh", peers.RealArtemis(t).Home).Output()
	if err != nil {
		t.Fatalf("install ZooKeeper: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	port, err := peers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "zoo.cfg")
	text := fmt.Sprintf("tickTime=500\ndataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n", dir, port)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command("java", "-Xmx128M", "-XX:TieredStopAtLevel=1", "-cp", lines[len(lines)-1], "org.apache.zookeeper.server.ZooKeeperServerMain", config)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address := fmt.Sprintf("127.0.0.1:%d", port)
	until(t, "ZooKeeper to serve", func() bool {
		c, err := net.Dial("tcp", address)
		return err == nil && c.Close() == nil
	})
	return address
}

// TestZooKeeper: the lock manager that is the default, on a real ZooKeeper. After a kill the backup waits for the end of the session.
func TestZooKeeper(t *testing.T) {
	matrix(t, func(t *testing.T) (primary, backup string) {
		m := `<manager><properties><property key="connect-string" value="` + zookeeper(t) + `"/><property key="namespace" value="pair"/><property key="session-ms" value="6000"/></properties></manager>`
		return "<replication><primary>" + m + "</primary></replication>", "<replication><backup><allow-failback>true</allow-failback>" + m + "</backup></replication>"
	}, 3)
}
