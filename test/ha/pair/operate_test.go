package pair

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// ended waits for the process and returns its exit code.
func (n *node) ended() int {
	n.t.Helper()
	select {
	case <-n.exited:
	case <-time.After(patience):
		n.t.Fatalf("the %s does not end", n.name)
	}
	return n.cmd.ProcessState.ExitCode()
}

// TestOperator: what management shows of a pair, forceFailover, and the stop command for a node that is passive.
func TestOperator(t *testing.T) {
	primary, backup := lockManager(t)
	p := newPair(t, "saranga", "saranga", primary, backup)
	p.primary.start()
	p.primary.serves()
	attribute := func(name string) string {
		t.Helper()
		ctx := background(t)
		conn, _, err := connect(ctx, p.primary.instance.Port, false)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		m, err := conn.NewManagement(ctx, client.ManagementAddress)
		if err != nil {
			t.Fatal(err)
		}
		v, err := m.Attribute(ctx, client.BrokerResource, name)
		if err != nil {
			t.Fatal(err)
		}
		return v.Text()
	}
	show := func(want map[string]string) {
		t.Helper()
		for name, value := range want {
			if got := attribute(name); got != value {
				t.Errorf("attribute %s is %s, want %s", name, got, value)
			}
		}
	}
	show(map[string]string{"Active": "true", "Backup": "false", "ReplicaSync": "false", "HAPolicy": "Replication Primary w/lock manager", "ActivationSequence": "1", "SharedStore": "false"})

	p.backup.start()
	p.backup.says(announced)
	until(t, "management to show the replica", func() bool { return attribute("ReplicaSync") == "true" })

	// A passive node takes the stop command.
	binary := p.backup.broker.(peers.Saranga).Binary
	if out, err := exec.Command(binary, "stop", "--instance", p.backup.instance.Dir).CombinedOutput(); err != nil {
		t.Fatalf("stop: %v\n%s", err, out)
	}
	if code := p.backup.ended(); code != 0 {
		t.Errorf("a passive node that was stopped ended with %d", code)
	}
	until(t, "management to show the loss", func() bool { return attribute("ReplicaSync") == "false" })
	show(map[string]string{"ActivationSequence": "2"})
	if _, err := os.Stat(filepath.Join(p.backup.instance.Dir, "etc", "STOP_ME")); !os.IsNotExist(err) {
		t.Errorf("the stop file is still there: %v", err)
	}

	p.backup.start()
	p.backup.says(announced)
	l := newLedger(t)
	l.produce(p.primary, "a")
	l.more(50)
	ctx := background(t)
	conn, _, err := connect(ctx, p.primary.instance.Port, false)
	if err != nil {
		t.Fatal(err)
	}
	m, err := conn.NewManagement(ctx, client.ManagementAddress)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Invoke(ctx, client.BrokerResource, "forceFailover"); err != nil {
		t.Logf("forceFailover, whose answer may be cut off: %v", err)
	}
	conn.Close()
	if code := p.primary.ended(); code != 0 {
		t.Errorf("the primary that was told to fail over ended with %d", code)
	}
	l.halt()
	p.backup.serves()
	l.check(p.backup)
	p.backup.stop()
	if got, want := fmt.Sprint(p.backup.sequence()), "3"; got != want {
		t.Errorf("activation sequence %s, want %s", got, want)
	}
}

// TestNetworkCheck: a node whose network is gone stops serving, the other one takes over, and it comes back when the network does.
func TestNetworkCheck(t *testing.T) {
	var gone atomic.Bool
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if gone.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(site.Close)
	for _, x := range []struct {
		name     string
		policies policies
	}{{"Voting", voting}, {"FileManager", lockManager}} {
		t.Run(x.name, func(t *testing.T) {
			gone.Store(false)
			primary, backup := x.policies(t)
			p := newPair(t, "saranga", "saranga", primary, backup)
			p.primary.edit("<acceptors>", "<network-check-URL-list>"+site.URL+"</network-check-URL-list><network-check-period>300</network-check-period>\n<acceptors>")
			l := newLedger(t)
			p.primary.start()
			p.primary.serves()
			p.backup.start()
			l.produce(p.primary, "a")
			p.backup.says(announced)
			l.more(100)
			gone.Store(true)
			p.primary.says("AMQ222213")
			l.halt()
			p.backup.serves()
			l.produce(p.backup, "b")
			l.more(50)
			if p.primary.open() {
				t.Error("the isolated node serves")
			}
			p.backup.forget()
			gone.Store(false)
			p.primary.serves() // it gets its place back
			l.halt()
			p.backup.says(announced)
			l.produce(p.primary, "c")
			l.more(50)
			l.halt()
			l.check(p.primary)
			p.backup.stop()
			p.primary.stop()
		})
	}
}
