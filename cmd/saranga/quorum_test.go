package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/ha"
	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/raftfsm"
)

// What etc/saranga.yaml may hold. Faults have file and line.
func TestQuorumConfig(t *testing.T) {
	const member = "quorum:\n  cluster: x\n  member: a\n  listen: 127.0.0.1:7000\n  members: [{id: a, address: 127.0.0.1:7000}]\n"
	for text, want := range map[string]string{
		"":     "",
		member: "",
		member + "zookeeper: {listen: 127.0.0.1:2181}\n":                         "",
		"quorum: {}\nbroker: {}\n":                                               "/i/etc/saranga.yaml:2: broker: unknown section; there are quorum, zookeeper",
		member + "quorum: {}\n":                                                  "/i/etc/saranga.yaml:6: quorum: is there twice",
		"zookeeper: {listen: 127.0.0.1:2181}\n":                                  "/i/etc/saranga.yaml: zookeeper: the endpoint serves what a quorum member has",
		member + "zookeeper:\n  listen: 10.0.0.1:2181\n":                         `/i/etc/saranga.yaml:7: zookeeper.listen: address "10.0.0.1:2181" is not loopback: name the networks that clients may come from in allow`,
		strings.Replace(member, "listen: 127.0.0.1:7000", "listen: :7000", 1):    `/i/etc/saranga.yaml:4: quorum.listen: ":7000" is not a loopback address: whoever reaches this port would be a member. Set tls`,
		strings.Replace(member, "[{id: a, address: 127.0.0.1:7000}]", "none", 1): `/i/etc/saranga.yaml:5: quorum.members: not a list`,
	} {
		c, err := readQuorum("/i/etc/saranga.yaml", "/i", []byte(text))
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)):
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		case want == "" && (c.member != nil) != (text != ""):
			t.Errorf("%s: member %v", text, c.member)
		case c.member != nil && c.member.Folder != "/i/data/quorum":
			t.Errorf("%s: state folder %s", text, c.member.Folder)
		}
	}
	if c, err := loadQuorum(t.TempDir(), "/i"); err != nil || c.member != nil {
		t.Errorf("without a file: %+v, %v", c, err)
	}
}

// Which lock manager is the member in this process, and which has nothing to ask.
func TestManagerOfMember(t *testing.T) {
	connect := map[string]string{"connect-string": "h:2181"}
	for _, c := range []struct {
		name    string
		manager *ha.LockManager
		member  bool // it is the member
		refused bool // without one
	}{
		{"the default class", &ha.LockManager{Properties: map[string]string{"namespace": "n"}}, true, true},
		{"Curator", &ha.LockManager{Class: quorum.ClassCurator}, true, true},
		{"Curator's old name", &ha.LockManager{Class: quorum.ClassCuratorOld}, true, true},
		{"servers", &ha.LockManager{Class: quorum.ClassCurator, Properties: connect}, false, false},
		{"no servers, but the property", &ha.LockManager{Properties: map[string]string{"connect-string": ""}}, false, false},
		{"a folder", &ha.LockManager{Class: quorum.ClassFile, Properties: map[string]string{"locks-folder": "/l"}}, false, false},
		{"voting", nil, false, false},
	} {
		if c.manager != nil && usesMember(c.manager) != c.member {
			t.Errorf("%s: usesMember is %v", c.name, !c.member)
		}
		in := &config.Instance{BrokerFile: "/i/etc/broker.xml"}
		err := checkManager(in, ha.ReplicationPolicy{Manager: c.manager, Backup: true}, quorumConfig{file: "/i/etc/saranga.yaml"})
		if (err != nil) != c.refused {
			t.Errorf("%s without a member: %v", c.name, err)
		}
		if err != nil && !strings.Contains(err.Error(), "create --quorum-member") {
			t.Errorf("%s: no way out in: %v", c.name, err)
		}
		if err := checkManager(in, ha.ReplicationPolicy{Manager: c.manager}, quorumConfig{member: &raftfsm.Config{}}); err != nil {
			t.Errorf("%s with a member: %v", c.name, err)
		}
	}
}

// A node that has both, servers to connect to and a member of its own, asks the servers.
func TestServersComeFirst(t *testing.T) {
	for connect, want := range map[string]string{"": "property \"connect-string\" is missing", "h:99999": "h:99999"} {
		policy := ha.ReplicationPolicy{Manager: &ha.LockManager{Properties: map[string]string{"connect-string": connect}}}
		p := &pairNode{activation: newActivation(&scripted{}, quorum.Now, hclog.NewNullLogger()), policy: policy}
		if err := p.startManagerWith(&quorumMember{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", connect, err)
		}
	}
}

// answerOf is what a member answers.
func answerOf(id, role string, commit uint64, list string) memberAnswer {
	s := raftfsm.Status{Cluster: "x", Member: id, Phase: "member", Role: role, Fresh: true, CommitIndex: commit}
	for _, m := range list {
		s.Members = append(s.Members, raftfsm.MemberStatus{ID: strings.ToLower(string(m)), Address: strings.ToLower(string(m)) + ":1", Voter: m >= 'a'})
	}
	return memberAnswer{status: s}
}

// What is made of the members' answers. In a list a capital is a member without a vote.
func TestSurvey(t *testing.T) {
	away := memberAnswer{err: errors.New("connection refused")}
	configured := []raftfsm.Peer{{ID: "a", Address: "a:1"}, {ID: "b", Address: "b:1"}, {ID: "c", Address: "c:1"}}
	type answers map[string]memberAnswer
	for _, c := range []struct {
		name    string
		answers answers
		says    string
		leave   map[string]string // id: "" or what is said against it
	}{
		{"all are there", answers{"a:1": answerOf("a", "leader", 5, "abc"), "b:1": answerOf("b", "follower", 5, "abc"), "c:1": answerOf("c", "follower", 5, "abc")},
			"Group x: a leads, 3 of 3 voters are present. It survives the loss of 1.",
			map[string]string{"a": "", "c": "", "d": `"d" is no member of group x; there are a, b, c`}},
		{"one is away", answers{"a:1": answerOf("a", "leader", 5, "abc"), "b:1": answerOf("b", "follower", 5, "abc"), "c:1": away},
			"Group x: a leads, 2 of 3 voters are present. It does NOT survive the loss of another.",
			map[string]string{"c": "", "b": "has 2 voters, and of these 1 are present: it would have no majority"}},
		{"two are away", answers{"a:1": answerOf("a", "candidate", 5, "abc"), "b:1": away, "c:1": away},
			"Group x has NO MAJORITY: 1 of its 3 voters are present, 2 are needed. Start the others.",
			map[string]string{"b": "would have no majority", "a": "would have no majority"}},
		{"one joins", answers{"a:1": answerOf("a", "leader", 5, "abcD"), "b:1": answerOf("b", "follower", 4, "abc"), "c:1": away, "d:1": answerOf("d", "follower", 5, "abcD")},
			"Group x: a leads, 2 of 3 voters are present. It does NOT survive the loss of another.",
			map[string]string{"d": ""}},
		{"it was founded with others", answers{"a:1": answerOf("a", "leader", 9, "ade"), "b:1": answerOf("b", "candidate", 5, "abc"), "c:1": away, "d:1": answerOf("d", "follower", 9, "ade"), "e:1": away},
			"Group x: a leads, 2 of 3 voters are present. It does NOT survive the loss of another.",
			map[string]string{"b": "there are a, d, e"}},
		{"one leads itself only", answers{"a:1": answerOf("a", "leader", 5, "a"), "b:1": away, "c:1": away},
			"Group x: a leads, 1 of 1 voters are present. It does NOT survive the loss of another.",
			map[string]string{"a": "is the last voter"}},
		{"no election yet", answers{"a:1": answerOf("a", "follower", 0, "abc"), "b:1": answerOf("b", "follower", 0, "abc"), "c:1": away},
			"Group x has NO LEADER, but 2 of its 3 voters are present: it should have one in a moment.", nil},
		{"another member answers", answers{"a:1": answerOf("b", "follower", 0, "abc"), "b:1": answerOf("b", "follower", 0, "abc"), "c:1": away},
			"Group x has NO MAJORITY: 1 of its 3 voters are present, 2 are needed. Start the others.", nil},
		{"nobody answers", answers{"a:1": away, "b:1": away, "c:1": away}, "Group x has NO MAJORITY: 0 of its 3 voters are present, 2 are needed. Start the others.", nil},
	} {
		s := newSurvey("x", configured, c.answers)
		if got := s.sentence(); got != c.says {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.says)
		}
		for id, want := range c.leave {
			err := s.mayLeave(id, false)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: leave %s: got %v, want %q", c.name, id, err, want)
			}
			if err := s.mayLeave(id, true); (err == nil) != (want == "" || strings.Contains(want, "majority")) {
				t.Errorf("%s: leave %s with force: %v", c.name, id, err)
			}
		}
	}
}

// witnesses are members in this process, with an instance folder each.
type witnesses struct {
	t    *testing.T
	dir  string
	ends map[string]func()
}

func (w *witnesses) instance(id string) string { return filepath.Join(w.dir, id) }

// start starts members whose files are there.
func (w *witnesses) start(ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		c, err := loadQuorum(filepath.Join(w.instance(id), "etc"), w.instance(id))
		if err != nil {
			w.t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- runWitness(ctx, c, hclog.NewNullLogger()) }()
		w.ends[id] = func() {
			cancel()
			if err := <-ended; err != nil {
				w.t.Errorf("%s: %v", id, err)
			}
		}
	}
}

func (w *witnesses) stop(id string) {
	w.ends[id]()
	delete(w.ends, id)
}

// says runs a command until it says something, or its time is over.
func (w *witnesses) says(want, command string, args ...string) {
	w.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		out, err := w.run(command, args...)
		if strings.Contains(out+fmt.Sprint(err), want) {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s %v says\n%s%v\nwant %s", command, args, out, err, want)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// run runs a quorum command.
func (w *witnesses) run(command string, args ...string) (string, error) {
	var out bytes.Buffer
	root := rootCommand()
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(append([]string{"quorum", command}, args...))
	err := root.ExecuteContext(w.t.Context())
	return out.String(), err
}

// startWitnesses has a group of a, b and c.
func startWitnesses(t *testing.T) *witnesses {
	w := &witnesses{t: t, dir: t.TempDir(), ends: map[string]func(){}}
	t.Cleanup(func() {
		for _, end := range w.ends {
			end()
		}
	})
	var flags []string
	for _, id := range []string{"a", "b", "c"} {
		flags = append(flags, "--quorum-member", id+"="+freeAddress(t))
	}
	for _, id := range []string{"a", "b", "c"} {
		root := rootCommand()
		root.SetOut(new(bytes.Buffer))
		root.SetArgs(append([]string{"create", w.instance(id), "--silent", "--no-autotune", "--require-login", "--quorum-id", id}, flags...))
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.start("a", "b", "c")
	return w
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestQuorumCommands goes through the life of a group: founded from created instances, a member replaced by another, all as an operator does it.
func TestQuorumCommands(t *testing.T) {
	w := startWitnesses(t)
	w.says("3 of 3 voters are present. It survives the loss of 1.", "status", "--instance", w.instance("b"))
	w.says("|a     |127.0.0.1:", "members", "--instance", w.instance("c"))
	out, err := w.run("status", "--json", "--instance", w.instance("a"))
	var s survey
	if err := errors.Join(err, json.Unmarshal([]byte(out), &s)); err != nil || s.Leader == "" || s.Voters != 3 || len(s.Members) != 3 || s.Members[2].Status.Member != "c" {
		t.Errorf("%+v, %v, of\n%s", s, err, out)
	}
	w.says("leads group saranga; it was "+s.Leader, "transfer", "--instance", w.instance("a"))

	// c is gone for good. Nobody else may leave meanwhile.
	w.stop("c")
	w.says("2 of 3 voters are present. It does NOT survive the loss of another.", "status", "--instance", w.instance("a"))
	w.says("it would have no majority", "leave", "--instance", w.instance("b"))
	w.says(`there are a, b, c`, "leave", "--member", "x", "--instance", w.instance("b"))
	w.says("c is no member of group saranga any more", "leave", "--member", "c", "--instance", w.instance("a"))

	// d takes its place.
	listen, file := freeAddress(t), filepath.Join(w.instance("d"), "etc", "saranga.yaml")
	join := []string{"--instance", w.instance("d"), "--member", "d", "--listen", listen, "--peer"}
	w.says("no member of group saranga answers", "join", append(join, listen)...)
	w.says(`has a member "a"`, "join", append(join, s.Members[1].Address, "--member", "a")...)
	w.says("is at "+s.Members[0].Address, "join", append(join, s.Members[1].Address, "--listen", s.Members[0].Address)...)
	w.says("is not a loopback address", "join", append(join, s.Members[1].Address, "--listen", "10.0.0.1:7000")...)
	if _, err := os.Stat(file); err == nil {
		t.Fatal("a join that was refused has left a file")
	}
	w.says("Member d joins group saranga when it is started", "join", append(join, s.Members[1].Address)...)
	w.says("is there already", "join", append(join, s.Members[1].Address)...)
	w.start("d")
	w.says("3 of 3 voters are present. It survives the loss of 1.", "status", "--config", file)
	w.says("|d     |"+listen+"|yes |present|", "members", "--instance", w.instance("a"))

	// The last of those that founded it leave, too, the leader among them.
	w.says("a is no member", "leave", "--instance", w.instance("a"))
	w.says("b is no member", "leave", "--instance", w.instance("b"))
	w.says("1 of 1 voters", "status", "--instance", w.instance("d"))
	w.says("d is the last voter of group saranga; to give the group up, stop it and remove its state folder", "leave", "--instance", w.instance("d"))
	for _, id := range []string{"a", "b", "d"} {
		w.stop(id)
	}
	w.says("no member of group saranga answers; saranga run, or saranga quorum run, starts one", "status", "--instance", w.instance("d"))
}

// Command lines that are wrong, and files that are not there.
func TestQuorumCommandErrors(t *testing.T) {
	noInstance(t)
	empty := t.TempDir()
	none := filepath.Join(empty, "none.yaml")
	if err := os.WriteFile(none, []byte("# nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &witnesses{t: t}
	for args, want := range map[string]string{
		"status":                                  "no member: run the command by bin/artemis of an instance, or name its folder with --instance or the file with --config",
		"status --instance " + empty:              "saranga.yaml: no such file or directory; saranga create --quorum-member or saranga quorum join writes that file",
		"run --config " + none:                    none + ": there is no section quorum",
		"join --instance " + empty:                "Missing required option: '--member'",
		"join --member d --instance " + empty:     "Missing required option: '--listen'",
		"join --member d --listen 127.0.0.1:1 -x": "Unknown option: '-x'",
		"leave d": "Unmatched argument at index 2: 'd'",
	} {
		words := strings.Fields(args)
		if out, err := w.run(words[0], words[1:]...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v %s\nwant %s", args, err, out, want)
		}
	}
}

// What create refuses.
func TestCreateQuorumErrors(t *testing.T) {
	noInstance(t)
	for args, want := range map[string]string{
		"--quorum-id a":                                                      "a quorum needs its members",
		"--quorum-member a=h:1":                                              "which of the quorum's members is this one?",
		"--quorum-member a=h:1 --quorum-id b":                                `"b", this one, is none of the quorum's members`,
		"--quorum-member a=h --quorum-id a":                                  `"a=h" is not of the form ID=HOST:PORT`,
		"--quorum-member h:1 --quorum-id a":                                  `"h:1" is not of the form ID=HOST:PORT`,
		"--quorum-member a=h:1 --quorum-member a=h:2 --quorum-id a":          "is there twice",
		"--quorum-member a=h:1 --quorum-id a --quorum-zookeeper 10.0.0.1:21": "which networks may its clients come from?",
	} {
		var out bytes.Buffer
		root := rootCommand()
		root.SetOut(&out)
		root.SetArgs(append([]string{"create", filepath.Join(t.TempDir(), "i"), "--silent", "--no-autotune", "--require-login"}, strings.Fields(args)...))
		if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", args, err, want)
		}
	}
}
