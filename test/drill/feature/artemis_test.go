package feature

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/drill"
	"github.com/saranga-mq/saranga/test/peers"
)

const patience = 2 * time.Minute // for a JVM on a busy machine

// A node is an Artemis of a pair.
type node struct {
	t        *testing.T
	instance peers.Instance
	log      string
	exited   chan struct{}
}

func newNode(t *testing.T, name, other, policy string) *node {
	t.Helper()
	n := &node{t: t, log: filepath.Join(t.TempDir(), name+".log")}
	n.instance = peers.NewInstance(t, peers.RealArtemis(t), peers.CreateOptions{Flags: []string{"--clustered", "--cluster-user", "cu", "--cluster-password", "cp", "--name", name, "--staticCluster", other}})
	n.edit("<acceptors>", "<ha-policy><replication>"+policy+"</replication></ha-policy>\n<acceptors>")
	return n
}

func (n *node) edit(old, new string) {
	n.t.Helper()
	text, err := os.ReadFile(n.instance.Etc("broker.xml"))
	if err != nil {
		n.t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		n.t.Fatalf("broker.xml has no %q", old)
	}
	if err := n.instance.WriteEtc("broker.xml", strings.ReplaceAll(string(text), old, new)); err != nil {
		n.t.Fatal(err)
	}
}

// start runs the node until the end of the test.
func (n *node) start() {
	n.t.Helper()
	out, err := os.Create(n.log)
	if err != nil {
		n.t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(filepath.Join(n.instance.Dir, "bin", "artemis"), "run")
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the script's JVM too
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	exited := make(chan struct{})
	n.exited = exited
	go func() {
		cmd.Wait()
		close(exited)
	}()
	n.t.Cleanup(func() {
		select {
		case <-exited:
		default:
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-exited
		}
		if n.t.Failed() {
			text, _ := os.ReadFile(n.log)
			n.t.Logf("output of %s:\n%s", n.instance.Dir, text)
		}
	})
}

// TestArtemisPair: a drill of a failover of two real Artemis passes: what the clients take for promises of the protocol is what that
// broker keeps.
func TestArtemisPair(t *testing.T) {
	locks := t.TempDir()
	manager := `<manager><class-name>org.apache.activemq.artemis.lockmanager.file.FileBasedLockManager</class-name><properties><property key="locks-folder" value="` + locks + `"/></properties></manager>`
	const nobody = "tcp://127.0.0.1:1"
	primary := newNode(t, "primary", nobody, "<primary>"+manager+"</primary>")
	backup := newNode(t, "backup", primary.instance.URL(), "<backup><allow-failback>true</allow-failback>"+manager+"</backup>")
	primary.edit(nobody+"<", backup.instance.URL()+"<")
	urls := []string{primary.instance.URL(), backup.instance.URL()}

	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	primary.start()
	backup.start()
	login := drill.Core{User: "admin", Password: "admin", CallTimeout: 20 * time.Second}
	again := login
	again.Reconnect, again.Others = true, urls
	admin := drill.Admin{User: "admin", Password: "admin", Timeout: 20 * time.Second}
	w := drill.Watch(ctx, admin, urls, time.Now())
	err := w.Await(ctx, func(_ []drill.Status, roles []drill.Role) bool {
		return roles[0] == drill.Active && roles[1] == drill.Backup
	})
	w.Stop()
	if err != nil {
		t.Fatalf("the pair is not in sync: %v", err)
	}
	c := drill.Conductor{
		Workload: drill.Workload{URLs: urls, Dialers: []drill.Dialer{login, again}, Rate: 30}, Admin: admin,
		Before: 5 * time.Second, After: 5 * time.Second, Timeout: patience, Log: func(line string) { t.Log(line) },
	}
	r, err := c.Run(ctx, drill.Failover)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + r.Text(100))
	if !r.Passed() {
		t.Error("it did not pass")
	}
	for i, s := range r.Nodes {
		if want := []int64{1, 0}[i]; s.Sequence != want {
			t.Errorf("activation sequence of %s is %d, want %d", s.URL, s.Sequence, want)
		}
	}
	if s := admin.Ask(ctx, urls[1]); s.Policy != "Replication Backup w/lock manager" || s.Sequence != 2 || !s.Active {
		t.Errorf("the backup that took over tells %+v", s)
	}
	if !strings.Contains(fmt.Sprint(r.Timeline.Nodes[1].Spans), "active") {
		t.Error("the backup was never seen active")
	}
}
