package sharedstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/saranga-mq/saranga/journal/lock"
	"github.com/saranga-mq/saranga/test/peers"
)

// artemis is the other half: an instance that may run or not.
type artemis struct {
	t        *testing.T
	instance peers.Instance
	log      string
	cmd      *exec.Cmd
	exited   chan struct{}
}

const slow = 90 * time.Second // for a JVM on a busy machine

// newArtemis lays out an instance on the shared folder. flags say which half it is.
func newArtemis(t *testing.T, data string, flags ...string) *artemis {
	t.Helper()
	a := peers.RealArtemis(t)
	other, err := peers.FreePort() // of the half that is no whole broker here
	if err != nil {
		t.Fatal(err)
	}
	i := peers.NewInstance(t, a, peers.CreateOptions{Flags: append([]string{"--shared-store", "--data", data, "--clustered", "--cluster-user", "cu", "--cluster-password", "cp",
		"--staticCluster", fmt.Sprintf("tcp://127.0.0.1:%d", other)}, flags...)})
	return &artemis{t: t, instance: i, log: filepath.Join(t.TempDir(), "artemis.log")}
}

func (a *artemis) start() {
	a.t.Helper()
	out, err := os.OpenFile(a.log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		a.t.Fatal(err)
	}
	defer out.Close()
	a.cmd = exec.Command(filepath.Join(a.instance.Dir, "bin", "artemis"), "run")
	a.cmd.Stdout, a.cmd.Stderr = out, out
	if err := a.cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	exited, cmd := make(chan struct{}), a.cmd
	a.exited = exited
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	a.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
		if a.t.Failed() {
			text, _ := os.ReadFile(a.log)
			a.t.Logf("Artemis:\n%s", text)
		}
	})
}

func (a *artemis) end(s syscall.Signal) {
	a.t.Helper()
	if err := a.cmd.Process.Signal(s); err != nil {
		a.t.Fatal(err)
	}
	select {
	case <-a.exited:
	case <-time.After(slow):
		a.t.Fatalf("Artemis does not end by signal %v", s)
	}
}

func (a *artemis) said(code string) bool {
	text, err := os.ReadFile(a.log)
	return err == nil && bytes.Contains(text, []byte(code))
}

func (a *artemis) says(code string, within time.Duration) time.Duration {
	a.t.Helper()
	return eventually(a.t, "Artemis says "+code, within, func() bool { return a.said(code) })
}

func (a *artemis) lives() bool {
	select {
	case <-a.exited:
		return false
	default:
		return true
	}
}

// serves tells whether its acceptor is open.
func (a *artemis) serves() bool {
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", a.instance.Port))
	if err != nil {
		return false
	}
	return c.Close() == nil
}

// The codes that Artemis logs.
const (
	gotBackupLock  = "AMQ221033"
	passive        = "AMQ221109"
	backupActive   = "AMQ221010"
	awaitsLock     = "AMQ221034"
	active         = "AMQ221020"
	givesWay       = "AMQ221008"
	monitorPeriods = 5 * time.Second // more than two of 2 s
)

// Row 19: Saranga is active, Artemis waits; kill -9; then the primary fails back by state F.
func TestArtemisBackup(t *testing.T) {
	data := t.TempDir()
	dir := filepath.Join(data, "journal")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	n := startNode(t, dir)
	n.ok("primary", "activate")
	id := n.do("id")
	a := newArtemis(t, data, "--backup", "--failover-on-shutdown")
	a.start()
	a.says(gotBackupLock, slow)
	a.says(passive, slow)

	// It stays passive, and its coming is no takeover.
	n.waits(monitorPeriods)
	n.ok("check")
	if f := readLock(t, dir); f.state != lock.Live || f.id != id {
		t.Errorf("%+v, want state L and id %s", f, id)
	}
	if a.said(backupActive) || a.serves() {
		t.Fatal("Artemis is active beside the holder of the lock")
	}

	before := readLock(t, dir)
	n.kill()
	// It touches the file when it has the lock; how long a cold JVM then loads is not the lock's.
	took := eventually(t, "Artemis has the lock", slow, func() bool { return readLock(t, dir).at.After(before.at) })
	if took > 3*time.Second {
		t.Errorf("takeover took %v, want less than 3 s", took)
	}
	loaded := a.says(backupActive, slow)
	t.Logf("Artemis has the lock %v after kill -9, and is active %v later", took, loaded)
	if after := readLock(t, dir); after.state != lock.Live || after.id != id || !after.at.After(before.at) {
		t.Errorf("after the takeover %+v, before %+v: want state L, the same id, a later time", after, before)
	}
	eventually(t, "its acceptor is open", slow, a.serves)

	// Failback: state F and, in its topology, another backup for its id make it give way.
	n = startNode(t, dir)
	if n.do("id") != id {
		t.Error("another node id")
	}
	n.begin("primary")
	eventually(t, "state F", slow, func() bool { return readLock(t, dir).state == lock.FailingBack })
	n.waits(2 * time.Second) // it has not given way to a state alone
	announced := announceBackup(t, a.instance.Port, id)
	defer announced.Close()
	a.says(givesWay, slow)
	if answer := n.answer(slow); answer != "ok" {
		t.Fatal(answer)
	}
	expectState(t, dir, lock.FailingBack)
	n.ok("activate", "check")
	expectState(t, dir, lock.Live)

	// It has restarted as a backup when the state was L, and waits again.
	eventually(t, "Artemis is a backup again", slow, func() bool {
		text, _ := os.ReadFile(a.log)
		return strings.Count(string(text), passive) == 2
	})
	n.ok("check")

	// A clean stop writes P: it waits on.
	n.ok("pause")
	expectState(t, dir, lock.Paused)
	n.begin("id")
	n.answer(slow)
	n.waits(monitorPeriods)
	if a.serves() || !a.lives() {
		t.Error("Artemis does not wait for a primary that stopped in good order")
	}
	// A stop with failover leaves L.
	n.ok("primary", "activate", "release")
	eventually(t, "Artemis takes over after a stop with failover", slow, a.serves)
	expectState(t, dir, lock.Live)
	a.end(syscall.SIGTERM)
	expectState(t, dir, lock.Live) // failover-on-shutdown
}

// Row 19 the other way round, 20 and 21: Artemis is active, Saranga waits.
func TestArtemisPrimary(t *testing.T) {
	data := t.TempDir()
	dir := filepath.Join(data, "journal")
	a := newArtemis(t, data)
	a.start()
	a.says(active, slow)
	expectState(t, dir, lock.Live)
	id := readLock(t, dir).id

	n := startNode(t, dir)
	n.ok("backup")
	if n.do("id") != id {
		t.Error("another node id")
	}
	n.begin("await-primary")
	n.waits(monitorPeriods)
	if !a.serves() || !a.lives() {
		t.Fatal("Artemis' monitor does not bear our waiting")
	}

	before := readLock(t, dir)
	a.end(syscall.SIGKILL)
	began := time.Now()
	if answer := n.answer(slow); answer != "ok" {
		t.Fatal(answer)
	}
	took := time.Since(began)
	t.Logf("Saranga has the lock %v after kill -9", took)
	if took > 3*time.Second {
		t.Errorf("takeover took %v, want less than 3 s", took)
	}
	if after := readLock(t, dir); after.state != lock.Live || after.id != id || !after.at.After(before.at) {
		t.Errorf("after the takeover %+v, before %+v: want state L, the same id, a later time", after, before)
	}
	n.ok("release-backup", "check")
	if n.do("wanted") != "false" {
		t.Error("wanted back before the primary is there")
	}

	// Failback: F appears, and is no takeover; we give way, it writes L, we wait with the backup lock.
	a.start()
	a.says(awaitsLock, slow)
	eventually(t, "state F", slow, func() bool { return n.do("wanted") == "true" })
	n.ok("check")
	if a.serves() {
		t.Fatal("Artemis is active beside the holder of the lock")
	}
	n.ok("release")
	n.begin("await-active")
	a.says(active, slow)
	if answer := n.answer(slow); answer != "ok" {
		t.Fatal(answer)
	}
	expectState(t, dir, lock.Live)
	n.ok("backup")
	n.begin("await-primary")

	// A clean stop without failover-on-shutdown: P, and we wait on.
	a.end(syscall.SIGTERM)
	expectState(t, dir, lock.Paused)
	n.waits(monitorPeriods)
	a.start()
	a.says(active, slow)
	expectState(t, dir, lock.Live)
	n.waits(time.Second)
}

// announceBackup tells the broker of a backup for that node id, as spec ha §2.4 step 7 has it, and keeps the connection.
func announceBackup(t *testing.T, port int, nodeID string) io.Closer {
	t.Helper()
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	var connect, announce packet
	connect.str("cu").str("cp")
	announce.str(nodeID).byte(0).byte(1).long(time.Now().UnixMilli()) // no group, backup
	announce.byte(1).str("artemis").str("org.apache.activemq.artemis.core.remoting.impl.netty.NettyConnectorFactory")
	announce.int(2).str("host").byte(3).str("127.0.0.1").str("port").byte(3).str("1")
	announce.byte(0) // no other connector
	announce.byte(0) // no scale-down group
	out := []byte("ARTEMIS")
	out = append(out, connect.frame(125, 3)...)  // CLUSTER_CONNECT
	out = append(out, announce.frame(111, 3)...) // NODE_ANNOUNCE
	if _, err := c.Write(out); err != nil {
		t.Fatal(err)
	}
	return c
}

// packet is the body of a Core packet.
type packet struct{ b []byte }

func (p *packet) byte(v byte) *packet  { p.b = append(p.b, v); return p }
func (p *packet) int(v int32) *packet  { p.b = binary.BigEndian.AppendUint32(p.b, uint32(v)); return p }
func (p *packet) long(v int64) *packet { p.b = binary.BigEndian.AppendUint64(p.b, uint64(v)); return p }

// str is STR of spec ha §2.2, of ASCII.
func (p *packet) str(s string) *packet {
	p.int(int32(len(s)))
	if len(s) < 9 {
		for _, u := range utf16.Encode([]rune(s)) {
			p.b = binary.BigEndian.AppendUint16(p.b, u)
		}
		return p
	}
	p.b = binary.BigEndian.AppendUint16(p.b, uint16(len(s)))
	p.b = append(p.b, s...)
	return p
}

func (p *packet) frame(typ byte, channel int64) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(9+len(p.b)))
	out = binary.BigEndian.AppendUint64(append(out, typ), uint64(channel))
	return append(out, p.b...)
}
