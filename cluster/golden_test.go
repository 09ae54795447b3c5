package cluster

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/wire/core"
)

// A goldenFrame is a line of testdata/control.jsonl.
type goldenFrame struct {
	File, Dir, Packet, Hex string
	Conn                   int
}

func (g goldenFrame) frame(t testing.TB) core.Frame {
	t.Helper()
	raw, err := hex.DecodeString(g.Hex)
	if err != nil {
		t.Fatal(err)
	}
	f, rest, need, err := core.Split(raw, 1<<20)
	if err != nil || need > 0 || len(rest) > 0 {
		t.Fatalf("%s: %v", g.Packet, err)
	}
	return f
}

func goldenFrames(t testing.TB) []goldenFrame {
	t.Helper()
	file, err := os.Open("testdata/control.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var list []goldenFrame
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var g goldenFrame
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		list = append(list, g)
	}
	if err := lines.Err(); err != nil || len(list) < 50 {
		t.Fatalf("%d frames: %v", len(list), err)
	}
	return list
}

// TestGoldenTopology feeds what real brokers told on each connection to a controller's topology, sends every member on, and
// compares: the frame is the one that came.
func TestGoldenTopology(t *testing.T) {
	type connection struct {
		file string
		conn int
	}
	topologies := map[connection]*Topology{}
	told := 0
	for _, g := range goldenFrames(t) {
		if g.Dir != "<" || !strings.HasPrefix(g.Packet, "CLUSTER_TOPOLOGY") {
			continue
		}
		told++
		f := g.frame(t)
		decoded, err := core.Decode(f.Type, f.Payload, core.VersionCurrent)
		if err != nil {
			t.Fatal(err)
		}
		p := decoded.(*core.ClusterTopology)
		c := connection{g.File, g.Conn}
		if topologies[c] == nil {
			topologies[c] = NewTopology(Own{})
		}
		topology := topologies[c]
		var change Change
		var again core.Packet
		m := memberOf(p, 0)
		if p.Exit {
			change, err = topology.Remove(m.NodeID, m.UniqueEventID)
			again = downPacket(m.NodeID, m.UniqueEventID, core.VersionCurrent)
		} else {
			known, was := topology.Member(m.NodeID)
			change, err = topology.Update(m)
			if was && known.UniqueEventID >= m.UniqueEventID { // told again, with what the first telling had not yet
				if change.Kind != NoChange {
					t.Errorf("%+v: the same event again is a change", c)
				}
				change.Kind = NodeUp
			}
			again = upPacket(m, p.Last, core.VersionCurrent)
		}
		if err != nil || change.Kind == NoChange {
			t.Errorf("%+v: %v is no change: %v", c, m, err)
		}
		if raw := core.Append(nil, core.ChannelPing, again, core.VersionCurrent); !bytes.Equal(raw, f.Raw) {
			t.Errorf("%+v:\n%x, want\n%x", c, raw, f.Raw)
		}
	}
	if told < 20 {
		t.Fatalf("%d frames", told)
	}
	// At the end of the failback the restarted primary is active and the old active one its backup.
	members := topologies[connection{"repl-legacy-failback", 12}].Members()
	if len(members) != 1 || Address(members[0].Primary) != "127.0.0.1:62817" || Address(members[0].Backup) != "127.0.0.1:62827" {
		t.Errorf("after the failback: %v", members)
	}
	// The voter has told that the failed node is gone.
	members = topologies[connection{"quorum-vote", 11}].Members()
	if len(members) != 1 || members[0].NodeID != "a5d37b08-ecb2-11f1-87e8-02fc00000001" {
		t.Errorf("after the vote: %v", members)
	}
}

// TestGoldenAnnouncements: what a backup announces is what the primary tells next.
func TestGoldenAnnouncements(t *testing.T) {
	n := 0
	for _, g := range goldenFrames(t) {
		if g.Packet != "NODE_ANNOUNCE" {
			continue
		}
		n++
		f := g.frame(t)
		decoded, err := core.Decode(f.Type, f.Payload, core.VersionCurrent)
		if err != nil {
			t.Fatal(err)
		}
		p := decoded.(*core.NodeAnnounce)
		m := announced(p)
		if m.Primary != nil || !reflect.DeepEqual(m.Backup, p.Connector) {
			t.Errorf("%v is no backup", m)
		}
		topology := NewTopology(Own{NodeID: p.NodeID, Connector: tc(9), SplitBrainDetection: true})
		topology.UpdateAsPrimary(member(p.NodeID, 0, tc(9), nil), p.CurrentEventID-1000)
		change, err := topology.UpdateBackup(m, p.CurrentEventID+3)
		if err != nil || change.Kind != NodeUp || Address(change.Member.Backup) != Address(p.Connector) || !SameParams(change.Member.Primary, tc(9)) || change.Member.UniqueEventID != p.CurrentEventID+3 {
			t.Errorf("%+v, %v", change, err)
		}
	}
	if n == 0 {
		t.Fatal("no announcement")
	}
}

// TestGoldenVote answers the recorded question as the recorded voter did, and a question about a node that is there.
func TestGoldenVote(t *testing.T) {
	var voter *Topology
	asked := 0
	var question core.QuorumVote
	for _, g := range goldenFrames(t) {
		if g.File != "quorum-vote" {
			continue
		}
		f := g.frame(t)
		decoded, err := core.Decode(f.Type, f.Payload, core.VersionCurrent)
		if err != nil {
			t.Fatal(err)
		}
		switch p := decoded.(type) {
		case *core.ClusterTopology:
			if voter == nil {
				voter = NewTopology(Own{})
			}
			if m := memberOf(p, 0); p.Exit {
				voter.Remove(m.NodeID, m.UniqueEventID)
			} else {
				voter.Update(m)
			}
		case *core.QuorumVote:
			if !p.Reply {
				question = *p
				var v core.ServerConnectVote
				if err := v.Decode(p.Vote); err != nil {
					t.Fatal(err)
				}
				if own := (&core.QuorumVote{Handler: PrimaryFailoverVote, Vote: questionOf(GoneBallot(v.NodeID, 2))}); !bytes.Equal(core.Append(nil, core.ChannelCluster, own, 136), f.Raw) {
					t.Errorf("our question about %s is another one", v.NodeID)
				}
				continue
			}
			asked++
			var v core.ServerConnectVote
			if err := v.Decode(question.Vote); err != nil {
				t.Fatal(err)
			}
			m, known := voter.Member(v.NodeID)
			a := answer(v, m, known)
			raw := core.Append(nil, core.ChannelCluster, &core.QuorumVote{Reply: true, Handler: question.Handler, Vote: a.Append(nil)}, 136)
			if !bytes.Equal(raw, f.Raw) {
				t.Errorf("answer %x, want %x", raw, f.Raw)
			}
		}
	}
	if asked != 1 {
		t.Fatalf("%d votes", asked)
	}
	// ha §2.9 has the text of the other answer.
	const text = "TransportConfiguration(name=artemis, factory=org-apache-activemq-artemis-core-remoting-impl-netty-NettyConnectorFactory)?port=62816&host=127-0-0-1"
	a := answer(core.ServerConnectVote{NodeID: "n"}, member("n", 1, tc(62816), nil), true)
	if a.Vote || a.Connector.V != text {
		t.Errorf("%+v", a)
	}
	a = answer(core.ServerConnectVote{NodeID: "n", Vote: true}, member("n", 1, tc(62816), nil), true)
	if !a.Vote || a.Connector.V != text {
		t.Errorf("%+v", a)
	}
	if a = answer(core.ServerConnectVote{NodeID: "n", Vote: true}, member("n", 1, nil, tc(1)), true); a.Vote || a.Connector.Valid {
		t.Errorf("a node without a primary: %+v", a)
	}
}

func questionOf(b *Ballot) []byte {
	q := b.Question()
	return q.Append(nil)
}
