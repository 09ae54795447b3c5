package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/cluster"
	"github.com/saranga-mq/saranga/test/peers"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/server"
)

// flags make an instance a node of our cluster that connects to port.
func flags(port int, more ...string) peers.CreateOptions {
	return peers.CreateOptions{Flags: append([]string{"--clustered", "--cluster-user", "cu", "--cluster-password", "cp", "--staticCluster", fmt.Sprintf("tcp://127.0.0.1:%d", port)}, more...)}
}

// TestNodeOfArtemis: a real node is watched, asked for votes, replicated from as far as its first packet, and joined by a
// Saranga node; each notices the other one's end.
func TestNodeOfArtemis(t *testing.T) {
	artemis := peers.RealArtemis(t)
	port := freePort(t)
	instance := peers.NewInstance(t, artemis, flags(port, "--replicated"))
	process := peers.Run(t, artemis, instance)

	// As a passive node sees it.
	o := options(t, port, instance.Port)
	controller := cluster.NewController(o, nil)
	if err := controller.Start(); err != nil {
		t.Fatal(err)
	}
	defer controller.Stop()
	until(t, "the real node to be told", func() bool { return len(controller.Nodes().Members()) == 1 })
	real := controller.Nodes().Members()[0]
	if got, want := ports(real), fmt.Sprintf("%d/-", instance.Port); got != want {
		t.Errorf("the real node is %s, want %s", got, want)
	}
	if !cluster.SameParams(real.Primary, &o.Static[0].Connector) {
		t.Errorf("it says %s, we would say %s", cluster.ConnectorText(real.Primary), cluster.ConnectorText(&o.Static[0].Connector))
	}

	wrong := o
	wrong.Password = "wrong"
	ctl, err := cluster.Connect(t.Context(), wrong, wrong.Static[0], cluster.ControlOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := ctl.Authorize(t.Context()); !errors.Is(err, cluster.ErrUnauthorized) {
		t.Errorf("with a wrong password: %v", err)
	}
	ctl.Close()

	// The real node's answers are those that a Saranga node gives.
	vote := func(b *cluster.Ballot) (v core.ServerConnectVote) {
		t.Helper()
		ctl, err := controller.ConnectTo(t.Context(), cluster.Candidate{Connectors: []*core.TransportConfiguration{real.Primary}}, cluster.ControlOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer ctl.Close()
		q := b.Question()
		reply, err := ctl.Vote(t.Context(), cluster.PrimaryFailoverVote, q.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Decode(reply); err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := vote(cluster.GoneBallot("nobody", 2)); !v.Vote || v.NodeID != "nobody" || v.Connector.Valid {
		t.Errorf("about nobody: %+v", v)
	}
	if v := vote(cluster.GoneBallot(real.NodeID, 2)); v.Vote || v.Connector.V != cluster.ConnectorText(real.Primary) {
		t.Errorf("about itself: %+v, want %s", v, cluster.ConnectorText(real.Primary))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	stay := cluster.StayBallot(real.NodeID, real.Primary, 2)
	controller.Vote(ctx, "nobody", stay)
	cancel()
	if !stay.Positive() {
		t.Error("the real node may not stay active")
	}

	// Registered as a backup, the stream begins on the replication channel.
	ctl, err = controller.ConnectTo(t.Context(), real.Candidate(), cluster.ControlOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan core.Type, 1)
	ctl.Conn().HandleChannel(core.ChannelReplication, func(f core.Frame) error {
		select {
		case first <- f.Type:
		default:
		}
		return nil
	})
	refused := make(chan int32, 1)
	if err := ctl.RegisterBackup(t.Context(), false, func(problem int32) { refused <- problem }); err != nil {
		t.Fatal(err)
	}
	select {
	case kind := <-first:
		if kind != core.TypeReplicationStartFinishSync {
			t.Errorf("the stream begins with %v", kind)
		}
	case problem := <-refused:
		t.Errorf("the registration was refused: %d", problem)
	case <-time.After(patience):
		t.Error("no answer to the registration")
	}
	ctl.Close()

	// Announced as its backup.
	announcer, err := cluster.AnnounceBackup(o, nil, real.NodeID, nil)
	if err != nil {
		t.Fatal(err)
	}
	member(t, controller.Nodes(), real.NodeID, fmt.Sprintf("%d/%d", instance.Port, port))
	announcer.Stop()

	// A Saranga primary joins: the real node tells others of it, and connects to it, and it to the real node.
	const id = "5a4a4e47-0000-11f1-8000-000000000001"
	t.Run("joined", func(t *testing.T) {
		n := serve(t, id, port, instance.Port)
		member(t, n.connection.Nodes(), real.NodeID, fmt.Sprintf("%d/%d", instance.Port, port))
		member(t, controller.Nodes(), id, fmt.Sprintf("%d/-", port))
		until(t, "this node to be connected to the real one", func() bool { return n.connection.Linked()[real.NodeID] != "" })
		until(t, "the real node's bridge to be connected to this one", func() bool { return len(n.broker.Sessions()) > 0 })
	})
	gone(t, controller.Nodes(), id) // the real node noticed that it left

	// The real node stops and says so.
	if err := process.Stop(); err != nil {
		t.Error(err)
	}
	gone(t, controller.Nodes(), real.NodeID)
}

// TestKilledNode: a Saranga node notices that a real one is killed.
func TestKilledNode(t *testing.T) {
	artemis := peers.RealArtemis(t)
	port := freePort(t)
	instance := peers.NewInstance(t, artemis, flags(port))
	n := serve(t, "5a4a4e47-0000-11f1-8000-000000000001", port, instance.Port)
	process := peers.Run(t, artemis, instance)
	until(t, "the two to be connected", func() bool { return len(n.connection.Linked()) == 1 })
	if size := len(n.connection.Nodes().Members()); size != 2 {
		t.Errorf("%d members", size)
	}
	process.Kill()
	until(t, "the real node to be gone", func() bool { return len(n.connection.Nodes().Members()) == 1 })
}

// TestBackupOfArtemis: a real backup finds a Saranga primary and registers with it; refused because there is a backup already,
// it comes again.
func TestBackupOfArtemis(t *testing.T) {
	artemis := peers.RealArtemis(t)
	port := freePort(t)
	instance := peers.NewInstance(t, artemis, flags(port, "--replicated", "--backup"))
	n := serve(t, "5a4a4e47-0000-11f1-8000-000000000001", port, instance.Port)
	registrations := make(chan *core.BackupRegistration, 100)
	n.node.HandleBackups(func(_ server.Peer, r *core.BackupRegistration) error {
		select {
		case registrations <- r:
		default:
		}
		return cluster.ErrAlreadyReplicating
	})
	output := passive(t, instance)
	for range 2 {
		select {
		case r := <-registrations:
			if r.WantsFailBack || ports(cluster.Member{Primary: &r.Connector}) != fmt.Sprintf("%d/-", instance.Port) || r.User != "cu" {
				t.Errorf("%+v", r)
			}
		case <-time.After(patience):
			t.Fatalf("the backup did not register:\n%s", output())
		}
	}
	if text := output(); strings.Contains(text, "ERROR") || strings.Contains(text, "Exception") {
		t.Errorf("the backup complains:\n%s", text)
	}
}

// passive runs a real broker that opens no acceptor, until the test ends.
func passive(t *testing.T, i peers.Instance) (output func() string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "backup.log")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(filepath.Join(i.Dir, "bin", "artemis"), "run")
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	output = func() string {
		text, err := os.ReadFile(file)
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		cmd.Wait()
		kill.Stop()
		if t.Failed() {
			t.Logf("output of the backup:\n%s", output())
		}
	})
	return output
}

// TestClientOfArtemis: a real HA client is told of both connectors of a pair, when the backup comes, and of another node
// coming and going.
func TestClientOfArtemis(t *testing.T) {
	artemis := peers.RealArtemis(t)
	program := peers.CompileJava(t, artemis, "probe")
	const id, other = "5a4a4e47-0000-11f1-8000-000000000001", "5a4a4e47-0000-11f1-8000-000000000002"
	port, backup := freePort(t), freePort(t)
	n := serve(t, id, port, backup)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := program.Command(ctx, "TopologyProbe", fmt.Sprintf("tcp://127.0.0.1:%d?ha=true&initialConnectAttempts=5", port))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = testWriter{t}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	defer func() {
		in.Close()
		for range lines {
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}()
	says := func(want string) {
		t.Helper()
		var all []string
		for line := range lines {
			all = append(all, line)
			if line == want {
				return
			}
		}
		t.Fatalf("the client never said %q, but %q", want, all)
	}
	says(fmt.Sprintf("up %s %d - null", id, port))
	backupTarget := target(t, backup)
	if err := n.connection.BackupSynchronized(&backupTarget.Connector); err != nil {
		t.Fatal(err)
	}
	says(fmt.Sprintf("up %s %d %d null", id, port, backup))
	now := time.Now().UnixMilli()
	primary := target(t, freePort(t))
	_, third, _ := strings.Cut(cluster.Address(&primary.Connector), ":")
	if err := n.connection.Announced(&core.NodeAnnounce{NodeID: other, CurrentEventID: now, Connector: &primary.Connector}); err != nil {
		t.Fatal(err)
	}
	says(fmt.Sprintf("up %s %s - null", other, third))
	if err := n.connection.Nodes().Remove(other, now); err != nil {
		t.Fatal(err)
	}
	says("down " + other)
}
