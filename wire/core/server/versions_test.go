package server_test

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/wire/core"
)

// A replay sends what the clients of a capture sent and compares what comes back with the capture, packet by packet. Ids
// and times that a broker makes up are taken over from the capture before.
type replay struct {
	t     *testing.T
	w     *world
	ids   map[int64]int64 // message ids of the capture and those here
	early map[*peer][]core.Frame
}

// TestOldVersions replays a client of each version from 121 on, and of two that are refused, against Artemis 2.40.0:
// core-protocol §11 row 11.
func TestOldVersions(t *testing.T) {
	replayCapture(t, newWorld(t, nil, nil), "2.40.0-raw-client-versions.txt")
}

func replayCapture(t *testing.T, w *world, name string) {
	file, err := os.Open("../testdata/captures/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := &replay{t: t, w: w, ids: map[int64]int64{}, early: map[*peer][]core.Frame{}}
	peers := map[string]*peer{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		raw, err := hex.DecodeString(fields[2])
		if err != nil {
			t.Fatal(err)
		}
		p := peers[fields[0]]
		if p == nil {
			p = &peer{raw: dial(t, w.addr), w: w}
			peers[fields[0]] = p
		}
		f, _, _, err := core.Split(raw, len(raw))
		if err != nil {
			t.Fatal(err)
		}
		if fields[1] == ">" {
			r.send(p, f)
			continue
		}
		if !r.compare(p, f, r.on(p, f.Channel)) {
			t.Fatalf("line %d, connection %s, version %d", n, fields[0], p.v)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// send sends a frame of the capture with the ids that are right here.
func (r *replay) send(p *peer, f core.Frame) {
	x, err := core.Decode(f.Type, f.Payload, p.v)
	if err != nil {
		r.t.Fatal(err)
	}
	switch x := x.(type) {
	case *core.SubscribeTopology:
		p.v = x.ClientVersion
	case *core.CreateSession:
		if p.v == 0 {
			p.v = x.Version
		}
	case *core.Acknowledge:
		if id, ok := r.ids[x.MessageID]; ok {
			x.MessageID = id
			p.write(core.Append(nil, f.Channel, x, p.v))
			return
		}
	}
	p.write(f.Raw)
}

// on is the next frame on a channel: channels are independent of each other.
func (r *replay) on(p *peer, channel int64) core.Frame {
	for i, f := range r.early[p] {
		if f.Channel == channel {
			r.early[p] = append(r.early[p][:i:i], r.early[p][i+1:]...)
			return f
		}
	}
	for {
		f := p.nextFrame()
		raw := append([]byte(nil), f.Raw...)
		f, _, _, _ = core.Split(raw, len(raw))
		if f.Channel == channel {
			return f
		}
		r.early[p] = append(r.early[p], f)
	}
}

// compare compares a packet with the one captured.
func (r *replay) compare(p *peer, want, got core.Frame) bool {
	if want.Type != got.Type || want.Channel != got.Channel || len(want.Raw) != len(got.Raw) {
		r.t.Errorf("got %v on channel %d of %d bytes, want %v on channel %d of %d bytes\n got %x\nwant %x", got.Type, got.Channel, len(got.Raw), want.Type, want.Channel, len(want.Raw), got.Raw, want.Raw)
		return false
	}
	raw := append([]byte(nil), got.Payload...)
	x, err := core.Decode(want.Type, want.Payload, p.v)
	if err != nil {
		r.t.Fatal(err)
	}
	y, err := core.Decode(got.Type, raw, p.v)
	if err != nil {
		r.t.Errorf("%v: %v", got.Type, err)
		return false
	}
	switch x := x.(type) {
	case *core.ClusterTopology:
		y := y.(*core.ClusterTopology)
		x.NodeID, x.UniqueEventID = y.NodeID, y.UniqueEventID
	case *core.Receive:
		r.sameID(x, y.(*core.Receive), p.v)
	case *core.Disconnect:
		x.NodeID = y.(*core.Disconnect).NodeID
	}
	before := r.t.Failed()
	is(r.t, y, x)
	return before || !r.t.Failed()
}

// sameID notes the id of a message and puts it into the captured one.
func (r *replay) sameID(want, got *core.Receive, v core.Version) {
	at := func(block []byte) []byte { // right behind the body, and in the form of old versions behind one more length
		end := int(binary.BigEndian.Uint32(block))
		if v.BeforeAddressChange() {
			return block[end-17+4+4:]
		}
		return block[end-13+4:]
	}
	x, y := at(want.Message), at(got.Message)
	r.ids[int64(binary.BigEndian.Uint64(x))] = int64(binary.BigEndian.Uint64(y))
	want.Message = append([]byte(nil), want.Message...)
	copy(at(want.Message)[:8], y[:8])
}

func TestCaptures(t *testing.T) {
	list, _ := os.ReadDir("../testdata/captures")
	for _, e := range list {
		if strings.Contains(e.Name(), "-ha-") || strings.Contains(e.Name(), "cluster") {
			continue
		}
		t.Run(e.Name(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, nil)
			if err := w.Settings.Set("#", `{"autoDeleteQueues":false,"autoDeleteAddresses":false}`); err != nil {
				t.Fatal(err)
			}
			replayCapture(t, w, e.Name())
		})
	}
}
