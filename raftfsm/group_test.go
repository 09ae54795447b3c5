package raftfsm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/saranga-mq/saranga/raftfsm/tree"
)

// Whatever member a command is proposed on, its result comes from that member's own state machine.
func TestEveryMemberProposes(t *testing.T) {
	l := newLab(t, 3)
	l.startAll()
	for i, p := range l.peers {
		c := l.connect(l.member(p.ID), int64(i+1), 20*time.Second)
		path := "/" + p.ID
		if o := c.must(create(path, "from "+p.ID, tree.Persistent)); o.Path != path {
			t.Errorf("created %q, want %q", o.Path, path)
		}
		if data, code := l.get(p.ID, path); data != "from "+p.ID || code != tree.OK {
			t.Errorf("%s reads %q, %v right after its own create", p.ID, data, code)
		}
	}
	l.same()
}

// A group of one leads itself.
func TestStandalone(t *testing.T) {
	l := newLab(t, 1)
	l.startAll()
	c := l.connect(l.member("a"), 1, 20*time.Second)
	c.must(create("/x", "1", tree.Persistent))
	if role := l.member("a").Role(); role != "standalone" {
		t.Errorf("role %q", role)
	}
	l.stop("a")
	l.startAll()
	if data, code := l.get("a", "/x"); data != "1" || code != tree.OK {
		t.Errorf("after a restart: %q, %v", data, code)
	}
}

// Each member in turn is killed and started again; the group serves all the time and forgets nothing.
func TestKillEachInTurn(t *testing.T) {
	l := newLab(t, 3)
	l.startAll()
	session := int64(0)
	for round, p := range l.peers {
		l.kill(p.ID)
		for _, m := range l.all() {
			session++
			c := l.connect(m, session, 20*time.Second)
			c.must(create(fmt.Sprintf("/%d-%s", round, m.cfg.Member), "x", tree.Persistent))
		}
		l.start(p.ID)
	}
	l.leader()
	l.same()
	if n := len(l.children("a", "/")); n != 6+1 {
		t.Errorf("%d children, want 6 and zookeeper", n)
	}
}

// A leader that stops hands over, which takes less than an election.
func TestCleanStopHandsOver(t *testing.T) {
	l := newLab(t, 3)
	l.config = func(_ string, c *Config) { c.Timing.Heartbeat, c.Timing.Freshness = 5*time.Second, 10*time.Second }
	l.startAll()
	began := time.Now()
	l.stop(l.leader())
	until(t, "a leader", func() bool {
		for _, m := range l.all() {
			if _, _, ok := m.leads(); ok {
				return true
			}
		}
		return false
	})
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("handing over took %v, an election takes 5 s and more here", took)
	}
}

// Without a majority nothing is applied and nobody stays fresh; with it the group goes on.
func TestMajorityLostAndRegained(t *testing.T) {
	l := newLab(t, 3)
	l.startAll()
	c := l.connect(l.member("a"), 1, 60*time.Second)
	c.must(create("/x", "1", tree.Persistent))
	l.kill("b")
	l.kill("c")
	until(t, "the last member is not fresh", func() bool { return !l.member("a").Fresh() })
	ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond)
	defer cancel()
	if err := c.member.Propose(ctx, c.numbered(&tree.SetData{Path: "/x", Data: []byte("2"), Version: 0})); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a proposal without a majority: %v", err)
	}
	if data, _ := l.get("a", "/x"); data != "1" {
		t.Errorf("applied without a majority: %q", data)
	}
	l.start("b")
	until(t, "fresh again", func() bool { return l.member("a").Fresh() && l.member("b").Fresh() })
	c.request++ // the one before may be applied yet
	l.start("c")
	l.same()
}

// Sequential creates on a follower while the leader is killed: as many children as answers (spec/ha.md 7, 16c).
func TestCreatesWhileTheLeaderIsKilled(t *testing.T) {
	l := newLab(t, 3)
	l.startAll()
	leader, follower := l.leader(), l.followers()[0]
	c := l.connect(l.member(follower), 1, 60*time.Second)
	c.must(create("/locks", "", tree.Container))
	const n = 300
	for i := range n {
		if i == n/2 {
			l.kill(leader)
		}
		c.must(create("/locks/x-", "", tree.EphemeralSequential))
	}
	if got := len(l.children(follower, "/locks")); got != n {
		t.Errorf("%d children after %d answered creates", got, n)
	}
	l.start(leader)
	l.same()
}

// A command that is in the log twice is applied once, and the second proposal gets the first outcome.
func TestForcedRepeat(t *testing.T) {
	l := newLab(t, 3)
	l.startAll()
	c := l.connect(l.member(l.followers()[0]), 1, 60*time.Second)
	c.must(create("/q", "", tree.Persistent))
	q := c.numbered(create("/q/n-", "", tree.PersistentSequential))
	first, err := c.member.Do(long(t), q)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.member.Do(long(t), q)
	if err != nil || again.Path != first.Path || first.Path != "/q/n-0000000000" {
		t.Errorf("again: %q, %v; first %q", again.Path, err, first.Path)
	}
	if n := len(l.children(l.leader(), "/q")); n != 1 {
		t.Errorf("%d children", n)
	}
}

// Followers learn of a commit when it happens, not by hashicorp/raft's CommitTimeout, which is too long here for that to be the reason.
func TestFollowersLearnOfACommitAtOnce(t *testing.T) {
	l := newLab(t, 3)
	l.config = func(_ string, c *Config) { c.Timing.Commit = 5 * time.Second }
	l.startAll()
	c := l.connect(l.member(l.followers()[0]), 1, time.Minute)
	c.must(create("/x", "", tree.Persistent))
	began := time.Now()
	for range 10 {
		c.must(&tree.SetData{Path: "/x", Data: []byte("v"), Version: -1})
	}
	l.same()
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("10 writes on a follower took %v", took)
	}
}

// A member whose folder is gone is filled by snapshot and log, and is a full member again.
func TestWipedMemberIsFilled(t *testing.T) {
	l := newLab(t, 3)
	l.config = func(_ string, c *Config) {
		c.snapshot = snapshotting{Interval: 50 * time.Millisecond, Threshold: 20, Trailing: 5}
	}
	l.startAll()
	c := l.connect(l.member(l.leader()), 1, 60*time.Second)
	c.must(create("/n", "", tree.Persistent))
	for i := range 60 {
		c.must(create(fmt.Sprintf("/n/%d", i), "v", tree.Persistent))
	}
	wiped := l.followers()[0]
	r := c.member.raft.Load()
	until(t, "a snapshot of the leader", func() bool { return r.Stats()["last_snapshot_index"] > "40" })
	l.kill(wiped)
	if err := os.RemoveAll(l.folder(wiped)); err != nil {
		t.Fatal(err)
	}
	l.start(wiped)
	until(t, "the member is filled", func() bool { return l.member(wiped).Status().Phase == "member" })
	l.same()
	if n := len(l.children(wiped, "/n")); n != 60 {
		t.Errorf("%d children", n)
	}
	// Its vote counts again: the other follower may go.
	for _, id := range l.followers() {
		if id != wiped {
			l.kill(id)
		}
	}
	c.must(create("/after", "", tree.Persistent))
}

// A member that lost its folder gives no vote before it is filled: what was committed with its help cannot be undone.
func TestWipedMemberGivesNoVote(t *testing.T) {
	l := newLab(t, 3)
	l.startAll()
	leader := l.leader()
	behind, wiped := l.followers()[0], l.followers()[1]
	l.kill(behind)
	c := l.connect(l.member(leader), 1, 60*time.Second)
	c.must(create("/confirmed", "", tree.Persistent)) // by leader and wiped only
	l.kill(wiped)
	if err := os.RemoveAll(l.folder(wiped)); err != nil {
		t.Fatal(err)
	}
	l.kill(leader)
	l.start(behind, wiped)
	t0 := time.Now()
	for time.Since(t0) < 3*time.Second {
		for _, m := range l.all() {
			if _, _, ok := m.leads(); ok {
				t.Fatalf("%s leads without what was confirmed", m.cfg.Member)
			}
		}
		// Nor does it take entries of whoever may be a leader of before: it does not take part until both others are there.
		if m := l.member(wiped); m.raft.Load() != nil || m.Status().Phase != "founding" {
			t.Fatalf("the wiped member takes part: %+v", m.Status())
		}
		wait(20 * time.Millisecond)
	}
	l.start(leader)
	until(t, "the wiped member is filled", func() bool { return l.member(wiped).Status().Phase == "member" })
	if floor := l.member(wiped).Status().Term; floor < 2 {
		t.Errorf("it is in term %d", floor)
	}
	l.same()
	if _, code := l.get(wiped, "/confirmed"); code != tree.OK {
		t.Errorf("what was confirmed is gone: %v", code)
	}
}

// joiner is a member that is not of the founders, for start.
func (l *lab) joiner(id string, founders []Peer) {
	d := Peer{id, freeAddress(l.t)}
	l.peers = append(slices.Clone(founders), d)
	l.config = func(id string, cfg *Config) {
		cfg.Members = founders
		if cfg.Join = id == d.ID; cfg.Join {
			cfg.Listen = d.Address
		}
	}
}

func (l *lab) tool(id string) *Tool {
	l.t.Helper()
	tool, err := Connect(long(l.t), "lab", l.member(id).cfg.Listen, TLS{})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(tool.Close)
	return tool
}

// A member that joined later and lost its folder is not let in while the group knows it as a voter: it does not run at all.
func TestWipedJoinerWaits(t *testing.T) {
	l := newLab(t, 3)
	l.startAll()
	founders := l.peers
	l.joiner("d", founders)
	l.start("d")
	until(t, "d is a voter", func() bool { return l.member("d").Status().Phase == "member" })
	c := l.connect(l.member("d"), 1, 60*time.Second)
	c.must(create("/confirmed", "", tree.Persistent))
	l.kill("d")
	if err := os.RemoveAll(l.folder("d")); err != nil {
		t.Fatal(err)
	}
	log := l.watch()
	l.start("d")
	until(t, "d to say why it cannot join", func() bool { return strings.Contains(log.String(), "saranga quorum leave --member d") })
	if s := l.member("d").Status(); l.member("d").raft.Load() != nil || s.Phase != "joining" || s.LastIndex != 0 {
		t.Fatalf("d takes part: %+v", s)
	}
	l.stop("d") // neither does it after another start
	l.start("d")
	if err := l.tool(l.leader()).Remove(long(t), "d"); err != nil {
		t.Fatal(err)
	}
	until(t, "d is a voter again", func() bool { return l.member("d").Status().Phase == "member" })
	l.same()
	if _, code := l.get("d", "/confirmed"); code != tree.OK {
		t.Errorf("what was confirmed is gone: %v", code)
	}
}

// A member that was taken in and stopped before it knew that it has a vote goes on where it was, and gives none before.
func TestJoinerIsInterrupted(t *testing.T) {
	l := newLab(t, 3)
	l.startAll()
	l.joiner("d", l.peers)
	l.start("d")
	until(t, "d has entries", func() bool { r := l.member("d").raft.Load(); return r != nil && r.LastIndex() > 0 })
	for _, m := range l.all() {
		l.kill(m.cfg.Member)
	}
	d := l.configOf("d") // as it was before it was told
	f := folder{path: d.Folder}
	if err := f.write(marker{Cluster: d.Cluster, Member: "d", State: phaseJoining}); err != nil {
		t.Fatal(err)
	}
	l.start("d")
	m := l.member("d")
	q := raft.RequestVoteRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte("a"), Addr: []byte(l.peers[0].Address)}, Term: 1000, LastLogIndex: 1000, LastLogTerm: 999}
	answer := make(chan raft.RPCResponse, 1)
	m.transport.pass(raft.RPC{Command: &q, RespChan: answer})
	if r := (<-answer).Response.(*raft.RequestVoteResponse); r.Granted {
		t.Fatal("it gave its vote")
	}
	l.start("a", "b", "c")
	until(t, "d is a voter", func() bool { return m.Status().Phase == "member" && m.filled.Load() })
	l.same()
}

// A group of one grows only when its founder knows of the new member: with an empty folder it asks that, instead of founding a
// second group.
func TestSoleFounder(t *testing.T) {
	l := newLab(t, 1)
	l.startAll()
	founder := l.peers
	l.joiner("b", founder)
	log := l.watch()
	l.start("b")
	until(t, "b to say why it cannot join", func() bool { return strings.Contains(log.String(), "add {id: b, address: "+l.peers[1].Address) })
	l.stop("a")
	joined := l.config
	l.config = func(id string, cfg *Config) {
		joined(id, cfg)
		if id == "a" {
			cfg.Members = l.peers
		}
	}
	l.start("a")
	until(t, "b is a voter", func() bool { return l.member("b").Status().Phase == "member" })
	c := l.connect(l.member("b"), 1, 60*time.Second)
	c.must(create("/x", "", tree.Persistent))

	// With a list of itself only it does not start any more: the empty folder would found a group.
	l.kill("a")
	alone := l.configOf("a")
	alone.Members = founder
	if m, err := Start(alone); err == nil {
		m.Stop()
		t.Fatal("it started with a list that names only itself")
	} else if want := "members: the group has 2 members but the list names this one only"; !strings.Contains(err.Error(), want) {
		t.Fatalf("got %v, want %s", err, want)
	}
	if err := os.RemoveAll(l.folder("a")); err != nil {
		t.Fatal(err)
	}
	l.start("a")
	until(t, "a knows that the group exists", func() bool { return l.member("a").Status().Phase == "refilling" })
	if s := l.member("a").Status(); s.Blank {
		t.Errorf("%+v", s)
	}
}

// A state folder that is put back from a copy is told of by the leader that had more from it, if that still leads.
func TestFolderFromACopy(t *testing.T) {
	l := newLab(t, 3)
	log := l.watch()
	l.startAll()
	c := l.connect(l.member(l.leader()), 1, 60*time.Second)
	c.must(create("/x", "", tree.Persistent))
	for range 10 {
		l.same()
		leader := l.leader()
		term := l.member(leader).Status().Term
		old := l.followers()[0]
		l.stop(old)
		copied := filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(copied, os.DirFS(l.folder(old))); err != nil {
			t.Fatal(err)
		}
		l.start(old)
		c.member = l.member(leader)
		c.must(&tree.SetData{Path: "/x", Data: []byte("new"), Version: -1})
		l.same()
		l.stop(old)
		if err := os.RemoveAll(l.folder(old)); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(l.folder(old), os.DirFS(copied)); err != nil {
			t.Fatal(err)
		}
		l.start(old)
		l.same()
		told := strings.Contains(log.String(), "put back from a copy")
		if told {
			return
		}
		if now := l.member(leader).Status(); now.Role == "leader" && now.Term == term {
			t.Fatal("the leader does not tell of it")
		}
	}
	t.Fatal("the leader changed each time")
}

// A fourth member joins without a vote, gets one, and leaves.
func TestMembersJoinAndLeave(t *testing.T) {
	l := newLab(t, 3)
	l.startAll()
	c := l.connect(l.member("a"), 1, 60*time.Second)
	c.must(create("/x", "1", tree.Persistent))
	l.joiner("d", l.peers)
	l.start("d")
	until(t, "d is a voter", func() bool {
		s := l.member("d").Status()
		return s.Phase == "member" && len(s.Members) == 4 && s.Members[3].Voter
	})
	l.same()
	l.kill("d")
	l.start("d")
	l.same()

	tool, err := Connect(long(t), "lab", l.peers[0].Address, TLS{})
	if err != nil {
		t.Fatal(err)
	}
	defer tool.Close()
	if err := tool.Remove(long(t), "d"); err != nil {
		t.Fatal(err)
	}
	until(t, "a knows three members", func() bool {
		s, err := tool.Status(long(t))
		return err == nil && len(s.Members) == 3
	})
	until(t, "d is not fresh", func() bool { return !l.member("d").Fresh() })
	// One that was away meanwhile finds out.
	log := l.watch()
	l.stop("d")
	l.start("d")
	until(t, "d finds out that it was removed", func() bool { return strings.Contains(log.String(), "this member was removed") })
	c.must(create("/y", "", tree.Persistent))
	if err := tool.Transfer(long(t)); err != nil {
		t.Errorf("transfer: %v", err)
	}
	l.leader()
}
