package cluster

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

func goldenDatagram(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/udp-broadcast.hex")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestGoldenAnnouncement is cluster §19 rows 1 and 2.
func TestGoldenAnnouncement(t *testing.T) {
	raw := goldenDatagram(t)
	want := Announcement{NodeID: "d63e9216-ecb0-11f1-844b-02fc00000001", UniqueID: "d6797837-ecb0-11f1-844b-02fc00000001", Connectors: []core.TransportConfiguration{
		{Name: "self", Factory: core.NettyConnectorFactory, Params: []core.Param{{Key: "port", Value: "63246"}, {Key: "host", Value: "127.0.0.1"}}},
	}}
	for _, datagram := range [][]byte{raw, append(bytes.Clone(raw), 1, 2, 3)} { // what follows is ignored
		got, err := DecodeAnnouncement(datagram)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	if again := want.Append(nil); !bytes.Equal(again, raw) {
		t.Errorf("encoded %x, want %x", again, raw)
	}
}

func TestBadAnnouncements(t *testing.T) {
	raw := goldenDatagram(t)
	for i := range raw {
		if _, err := DecodeAnnouncement(raw[:i]); err == nil {
			t.Errorf("the first %d bytes were taken", i)
		}
	}
	head := buf.AppendSTR(buf.AppendSTR(nil, "n"), "u")
	many := buf.AppendInt32(bytes.Clone(head), maxConnectors+1)
	for range maxConnectors + 1 {
		many = (&core.TransportConfiguration{}).Append(many)
	}
	wide := &core.TransportConfiguration{}
	for range 257 {
		wide.Params = append(wide.Params, core.Param{Value: true})
	}
	for name, datagram := range map[string][]byte{
		"no node id":          (&Announcement{UniqueID: "u"}).Append(nil),
		"negative count":      buf.AppendInt32(bytes.Clone(head), -1),
		"count above the end": buf.AppendInt32(bytes.Clone(head), 1000),
		"too many connectors": many,
		"too many parameters": wide.Append(buf.AppendInt32(bytes.Clone(head), 1)),
		"parameter type 4":    append(buf.AppendSTR(buf.AppendInt32(buf.AppendSTR(buf.AppendSTR(buf.AppendInt32(bytes.Clone(head), 1), "c"), "f"), 1), "k"), 4, 0, 0, 0, 0),
	} {
		if _, err := DecodeAnnouncement(datagram); err == nil {
			t.Errorf("%s: was taken", name)
		}
	}
}

func TestAnnouncementsComeBack(t *testing.T) {
	text := rapid.StringMatching(`[a-zA-Z0-9.-]{1,20}`)
	rapid.Check(t, func(t *rapid.T) {
		a := Announcement{NodeID: text.Draw(t, "node"), UniqueID: text.Draw(t, "unique")}
		for i := range rapid.IntRange(0, 4).Draw(t, "connectors") {
			c := core.TransportConfiguration{Name: text.Draw(t, "name"), Factory: text.Draw(t, "factory")}
			for j := range rapid.IntRange(0, 5).Draw(t, "params") {
				p := core.Param{Key: fmt.Sprint(i, j), Extra: rapid.Bool().Draw(t, "extra")}
				switch rapid.IntRange(0, 3).Draw(t, "type") {
				case 0:
					p.Value = rapid.Bool().Draw(t, "value")
				case 1:
					p.Value = rapid.Int32().Draw(t, "value")
				case 2:
					p.Value = rapid.Int64().Draw(t, "value")
				case 3:
					p.Value = text.Draw(t, "value")
				}
				c.Params = append(c.Params, p)
			}
			a.Connectors = append(a.Connectors, c)
		}
		got, err := DecodeAnnouncement(a.Append(nil))
		if err != nil || !reflect.DeepEqual(got, a) {
			t.Fatalf("%+v, %v; want %+v", got, err, a)
		}
	})
}

// FuzzAnnouncement: no datagram does harm, and what was taken means the same again.
func FuzzAnnouncement(f *testing.F) {
	f.Add(goldenDatagram(f))
	f.Add([]byte{})
	f.Add(buf.AppendInt32(buf.AppendSTR(buf.AppendSTR(nil, "n"), "u"), 1<<30))
	f.Fuzz(func(t *testing.T, datagram []byte) {
		a, err := DecodeAnnouncement(datagram)
		if err != nil {
			return
		}
		if a.NodeID == "" || len(a.Connectors) > maxConnectors {
			t.Errorf("%+v", a)
		}
		again, err := DecodeAnnouncement(a.Append(nil))
		if err != nil || !reflect.DeepEqual(again, a) {
			t.Errorf("%+v, %v; want %+v", again, err, a)
		}
		NewDiscoveries("own", 1000).Heard(a, 1)
		for i := range a.Connectors {
			ConnectorText(&a.Connectors[i])
			(&Options{}).target(&a.Connectors[i])
		}
	})
}

// TestDiscoveries are the rules of a receiver (cluster §3.1).
func TestDiscoveries(t *testing.T) {
	d := NewDiscoveries("own", 1000)
	hear := func(node, unique string, now int64, ports ...int) (bool, bool) {
		a := Announcement{NodeID: node, UniqueID: unique}
		for _, p := range ports {
			a.Connectors = append(a.Connectors, *tc(p))
		}
		return d.Heard(a, now)
	}
	for i, s := range []struct {
		node, unique   string
		now            int64
		ports          []int
		changed, twice bool
		want           string
	}{
		{"a", "a1", 0, []int{1, 2}, true, false, "a:2"},    // the last connector counts
		{"a", "a1", 500, []int{3}, false, false, "a:3"},    // another connector is told to nobody
		{"b", "b1", 900, []int{4}, true, false, "a:3 b:4"}, // another node
		{"c", "c1", 900, nil, false, false, "a:3 b:4"},     // without connectors
		{"own", "o1", 1499, []int{9}, false, false, "a:3 b:4"},
		{"own", "o1", 1500, []int{9}, true, false, "b:4"}, // this node's own lets others expire
		{"own", "o2", 1501, []int{9}, false, true, "b:4"}, // two brokers with this node's id
		{"own", "o2", 1502, []int{9}, false, false, "b:4"},
		{"b", "b2", 1600, []int{4}, false, true, "b:4"}, // restarted
		{"a", "a2", 1601, []int{1}, true, true, "a:1 b:4"},
		{"b", "b2", 9000, []int{4}, true, false, "b:4"},
	} {
		changed, twice := hear(s.node, s.unique, s.now, s.ports...)
		var got []string
		for _, n := range d.Nodes() {
			port, _ := n.Connector.Text("port")
			got = append(got, n.NodeID+":"+port)
		}
		if changed != s.changed || twice != s.twice || strings.Join(got, " ") != s.want {
			t.Errorf("%d: changed %v, twice %v, %v; want %v, %v, %s", i, changed, twice, got, s.changed, s.twice, s.want)
		}
	}
	for i := range 2 * maxMembers {
		hear(fmt.Sprint(i), "u", 10000, 1)
	}
	if n := len(d.Nodes()); n > maxMembers || len(d.unique) > maxMembers {
		t.Errorf("%d nodes and %d unique ids are kept", n, len(d.unique))
	}
}
