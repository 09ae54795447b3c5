package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
)

// ensembleSize is how many servers of ZooKeeper, and how many Raft members, there are.
const ensembleSize = 3

// An ensemble is some real ZooKeeper servers, each a process.
type ensemble struct{ servers []*zkServer }

type zkServer struct {
	address string
	cmd     *exec.Cmd
	log     string
	exited  chan struct{}
}

// zookeeper starts the ensemble when it is needed first. Its tick time is the default of 2 s: sessions of 4 to 40 s.
func (b *bench) zookeeper(ctx context.Context) (*ensemble, error) {
	if b.ensemble != nil {
		return b.ensemble, nil
	}
	install := exec.CommandContext(ctx, filepath.Join("test", "ha", "quorum", "install-zookeeper.sh"), b.artemis.Home)
	install.Stderr = os.Stderr
	out, err := install.Output()
	if err != nil {
		return nil, fmt.Errorf("install ZooKeeper: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	classPath := lines[len(lines)-1]
	e := &ensemble{}
	b.ensemble = e
	var members strings.Builder
	for i := range ensembleSize {
		var ports [2]int
		for k := range ports {
			if ports[k], err = peers.FreePort(); err != nil {
				return nil, err
			}
		}
		fmt.Fprintf(&members, "server.%d=127.0.0.1:%d:%d\n", i+1, ports[0], ports[1])
	}
	for i := range ensembleSize {
		port, err := peers.FreePort()
		if err != nil {
			return nil, err
		}
		dir := filepath.Join(b.dir, fmt.Sprint("zookeeper-", i+1))
		if err := os.Mkdir(dir, 0o750); err != nil {
			return nil, err
		}
		config := fmt.Sprintf("tickTime=2000\ninitLimit=10\nsyncLimit=5\ndataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\n"+
			"admin.enableServer=false\nmaxClientCnxns=0\n4lw.commands.whitelist=*\n%s", dir, port, members.String())
		for name, content := range map[string]string{"zoo.cfg": config, "myid": fmt.Sprint(i + 1)} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				return nil, err
			}
		}
		s := &zkServer{address: fmt.Sprintf("127.0.0.1:%d", port), log: filepath.Join(dir, "log"), exited: make(chan struct{})}
		log, err := os.Create(s.log)
		if err != nil {
			return nil, err
		}
		s.cmd = exec.Command("java", "-Xmx512M", "-cp", classPath, "org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(dir, "zoo.cfg"))
		s.cmd.Stdout, s.cmd.Stderr = log, log
		err = s.cmd.Start()
		log.Close()
		if err != nil {
			return nil, fmt.Errorf("start ZooKeeper: %w", err)
		}
		go func() {
			_ = s.cmd.Wait()
			close(s.exited)
		}()
		e.servers = append(e.servers, s)
	}
	ctx, cancel := context.WithTimeout(ctx, haLimit)
	defer cancel()
	for _, s := range e.servers {
		for !strings.Contains(askFourLetters(s.address, "srvr"), "\nMode: ") {
			if !pause(ctx, 50*time.Millisecond) {
				text, _ := os.ReadFile(s.log)
				return nil, fmt.Errorf("ZooKeeper on %s does not serve:\n%s", s.address, text[max(0, len(text)-4<<10):])
			}
		}
	}
	return e, nil
}

// connectString lists all servers.
func (e *ensemble) connectString() string {
	var list []string
	for _, s := range e.servers {
		list = append(list, s.address)
	}
	return strings.Join(list, ",")
}

func (e *ensemble) close() {
	if e == nil {
		return
	}
	for _, s := range e.servers {
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
}
