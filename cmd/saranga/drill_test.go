package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/drill"
)

// A member is one node of a pair of real processes.
type member struct {
	t    *testing.T
	dir  string
	port int
	out  *bytes.Buffer
	cmd  *exec.Cmd
}

// newPair lays out a primary and a backup with the lock manager on a folder. Neither runs.
func newPair(t *testing.T) (primary, backup *member, locks string) {
	t.Helper()
	noInstance(t)
	root := t.TempDir()
	locks = filepath.Join(root, "locks")
	if err := os.Mkdir(locks, 0o700); err != nil {
		t.Fatal(err)
	}
	manager := `<manager><class-name>org.apache.activemq.artemis.lockmanager.file.FileBasedLockManager</class-name><properties><property key="locks-folder" value="` + locks + `"/></properties></manager>`
	ports := make([]int, 2)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	create := func(name string, port, other int, policy string) *member {
		m := &member{t: t, dir: filepath.Join(root, name), port: port}
		r := cli(t, "", "create", m.dir, "--silent", "--user", "admin", "--password", "admin", "--require-login", "--host", "127.0.0.1", "--default-port", fmt.Sprint(port),
			"--no-autotune", "--no-web", "--no-amqp-acceptor", "--no-stomp-acceptor", "--no-mqtt-acceptor", "--no-hornetq-acceptor", "--java-memory", "256M",
			"--clustered", "--cluster-user", "cu", "--cluster-password", "cp", "--name", name, "--staticCluster", fmt.Sprintf("tcp://127.0.0.1:%d", other))
		if r.code != 0 {
			t.Fatalf("create: %+v", r)
		}
		file := filepath.Join(m.dir, "etc", "broker.xml")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		xml := regexp.MustCompile(`<journal-file-size>[^<]*<`).ReplaceAllString(string(text), "<journal-file-size>1M<")
		xml = strings.Replace(xml, "<acceptors>", "<ha-policy><replication>"+policy+"</replication></ha-policy>\n<acceptors>", 1)
		if err := os.WriteFile(file, []byte(xml), 0o600); err != nil {
			t.Fatal(err)
		}
		return m
	}
	primary = create("primary", ports[0], ports[1], "<primary>"+manager+"</primary>")
	backup = create("backup", ports[1], ports[0], "<backup><allow-failback>true</allow-failback>"+manager+"</backup>")
	return primary, backup, locks
}

func (m *member) url() string { return fmt.Sprintf("tcp://127.0.0.1:%d", m.port) }

// start runs the node in a process of its own, until stop, kill, or the end of the test.
func (m *member) start() {
	m.t.Helper()
	m.out = new(bytes.Buffer)
	m.cmd = exec.Command(os.Args[0], "run", "--instance", m.dir)
	m.cmd.Env = append(os.Environ(), asProgram+"=1")
	m.cmd.Stdout, m.cmd.Stderr = m.out, m.out
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	cmd, out := m.cmd, m.out
	m.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
		if m.t.Failed() {
			m.t.Logf("%s:\n%s", m.dir, out)
		}
	})
}

func (m *member) end(s syscall.Signal) {
	m.t.Helper()
	if err := m.cmd.Process.Signal(s); err != nil {
		m.t.Fatal(err)
	}
	m.cmd.Wait()
}

// operate runs a command line of drills and switches.
func operate(ctx context.Context, args ...string) result {
	var out, err bytes.Buffer
	root := group("saranga", "", drillCommand(), activationCommand())
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetFlagErrorFunc(flagError)
	root.SetIn(strings.NewReader(""))
	root.SetOut(&out)
	root.SetErr(&err)
	code := execute(ctx, root, args)
	return result{out.String(), err.String(), code}
}

// await waits until the pair is as ok wants it.
func await(t *testing.T, primary, backup *member, what string, ok func(primary, backup drill.Role) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w := drill.Watch(ctx, drill.Admin{User: "admin", Password: "admin"}, []string{primary.url(), backup.url()}, time.Now())
	defer w.Stop()
	if err := w.Await(ctx, func(_ []drill.Status, roles []drill.Role) bool { return ok(roles[0], roles[1]) }); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func inSync(primary, backup drill.Role) bool {
	return primary == drill.Active && backup == drill.Backup
}

// TestDrillOfRealPair goes the way of an operator: a drill of a failover, of the failback, a switch to and fro, and a drill in which
// everything is lost.
func TestDrillOfRealPair(t *testing.T) {
	primary, backup, locks := newPair(t)
	both := primary.url() + "," + backup.url()
	login := []string{"--user", "admin", "--password", "admin", "--silent"}
	command := func(args ...string) result { return operate(t.Context(), append(args, login...)...) }

	if r := command("drill", "failover", "--url", both); r.code != 2 || !strings.Contains(r.err, "no node is active") {
		t.Errorf("a drill of nothing: %+v", r)
	}
	primary.start()
	await(t, primary, backup, "the primary to be active", func(p, _ drill.Role) bool { return p == drill.Active })
	if r := command("drill", "failover", "--url", both); r.code != 2 || !strings.Contains(r.err, "no backup of it has everything") {
		t.Errorf("a drill without a backup: %+v", r)
	}
	if r := command("activation", "failover", "--url", both); r.code != 1 || !strings.Contains(r.err, "no replica has everything: it is not stopped") {
		t.Errorf("a switch without a backup: %+v", r)
	}
	backup.start()
	await(t, primary, backup, "the backup to be in sync", inSync)

	report := filepath.Join(t.TempDir(), "report.html")
	r := command("drill", "failover", "--url", both, "--before", "2", "--after", "2", "--report", report)
	t.Log(r.out)
	if r.code != 0 || !strings.Contains(r.out, "failover drill: PASSED") {
		t.Fatalf("failover: exit %d\n%s", r.code, r.err)
	}
	if page, err := os.ReadFile(report); err != nil || !bytes.Contains(page, []byte("PASSED")) {
		t.Errorf("report: %v", err)
	}
	primary.cmd.Wait()

	// Named by one node, the other is found by the topology only while it is there.
	if r := command("activation", "status", "--url", both); r.code != 0 || !regexp.MustCompile(`(?m)^\|127.0.0.1:\d+\|active\|backup *\|[-0-9a-f]+\|Replication Backup w/lock manager\|false +\|2 +\|`).MatchString(r.out) {
		t.Errorf("status: %d\n%s%s", r.code, r.out, r.err)
	}

	// The start of the former primary is the failback.
	start := filepath.Join(t.TempDir(), "start")
	failback := make(chan result, 1)
	go func() {
		failback <- command("drill", "failback", "--url", both, "--before", "1", "--after", "2", "--start", "touch "+start, "--json")
	}()
	waitForFile(t, start)
	primary.start()
	r = <-failback
	var verdict struct {
		Passed   bool
		Lost     int
		Timeline []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(r.out), &verdict); err != nil || r.code != 0 || !verdict.Passed || len(verdict.Timeline) != 2 {
		t.Fatalf("failback: exit %d, %v\n%s\n%s", r.code, err, r.out, r.err)
	}
	await(t, primary, backup, "the backup to be in sync after the failback", inSync)

	// One node is enough to name: the topology tells of the other.
	if r := command("activation", "failover", "--url", primary.url()); r.code != 0 || !strings.Contains(r.out, fmt.Sprintf("127.0.0.1:%d is active after ", backup.port)) {
		t.Errorf("switch: %+v", r)
	}
	primary.cmd.Wait()
	primary.start()
	await(t, primary, backup, "the primary to be active again, with a backup", inSync)
	if r := command("activation", "failback", "--url", both); r.code != 1 || !strings.Contains(r.err, "there is nothing to fail back") {
		t.Errorf("failback of what is not failed over: %+v", r)
	}

	// Both nodes lose all they have while the network is said to be parted.
	parted, whole := filepath.Join(t.TempDir(), "parted"), filepath.Join(t.TempDir(), "whole")
	partition := make(chan result, 1)
	go func() {
		partition <- command("drill", "partition", "--url", both, "--before", "2", "--after", "1", "--length", "0",
			"--cut", fmt.Sprintf("touch %s; while [ ! -e %s ]; do sleep 0.02; done", parted, whole), "--heal", "true")
	}()
	waitForFile(t, parted)
	backup.end(syscall.SIGKILL)
	primary.end(syscall.SIGKILL)
	for _, dir := range []string{filepath.Join(primary.dir, "data"), filepath.Join(backup.dir, "data")} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(locks, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range slices.Backward(files) {
		if err := os.RemoveAll(f); err != nil {
			t.Fatal(err)
		}
	}
	primary.start()
	await(t, primary, backup, "the primary to be active without its data", func(p, _ drill.Role) bool { return p == drill.Active })
	backup.start()
	if err := os.WriteFile(whole, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r = <-partition
	t.Log(r.out)
	if r.code != 1 || !strings.Contains(r.out, "partition drill: FAILED") || !regexp.MustCompile(`(?m)^lost +[1-9]`).MatchString(r.out) {
		t.Errorf("everything was lost: exit %d\n%s", r.code, r.err)
	}
	backup.end(syscall.SIGTERM)
	primary.end(syscall.SIGTERM)
}

// TestDrillCommandLine: command lines that cannot be followed, and commands that nobody answers.
func TestDrillCommandLine(t *testing.T) {
	noInstance(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "tcp://" + l.Addr().String()
	l.Close()
	for _, c := range []struct {
		args string
		code int
		err  string
	}{
		{"drill flood", 1, "Unmatched argument at index 1: 'flood'"},
		{"drill failover more", 1, "Unmatched argument at index 2: 'more'"},
		{"drill failover --streams topic,nope", 1, "Invalid value for option '--streams': 'nope' is none of durable, repeats, transactions, xa, large, topic"},
		{"drill failover --rate 0", 1, "Invalid value for option '--rate'"},
		{"drill failover --before -1", 1, "Invalid value for option '--before'"},
		{"drill failover --url amqp://a", 1, "scheme"},
		{"drill partition --restart x", 1, "Unknown option: '--restart'"},
		{"drill failover --url " + nobody, 2, "the drill could not be run: no node is active: "},
		{"activation failover --url " + nobody, 1, "no node is active: "},
		{"activation failback --url " + nobody, 1, "no node is active: "},
		{"activation status --url " + nobody, 1, "no node is active: "},
	} {
		t.Run(c.args, func(t *testing.T) {
			if r := operate(t.Context(), strings.Fields(c.args)...); r.code != c.code || !strings.Contains(r.err, c.err) {
				t.Errorf("exit %d, %q, want %d, %q", r.code, r.err, c.code, c.err)
			}
		})
	}
}

func waitForFile(t *testing.T, path string) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s did not come to be", path)
		}
	}
}
