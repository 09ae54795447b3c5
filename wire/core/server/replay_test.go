package server_test

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// TestReplay sends what the clients of a capture sent to Artemis 2.40.0 and compares what comes back with what Artemis
// answered, packet by packet and byte by byte, but for ids and times that a broker makes up, the order of properties, and
// the order between channels and between deliveries and answers, which Artemis makes on different threads.
//
// raw-client-versions has a client of each version from 122 on, and of two that are refused: core-protocol §11 row 11. Not
// here are captures with cuts, with an operator's doings, and with limits or times of the broker they were taken from.
func TestReplay(t *testing.T) {
	for _, name := range strings.Fields(`raw-client-versions core-api core-errors jms-ack-modes jms-auth-fail jms-completion-listener
		jms-large-chunks jms-large-messages jms-ping jms-queue-basic jms-selector-browser-nowait jms-temp-destinations jms-topics
		jms-transacted jms-window-small jms-window-unlimited jms-window-zero jms-xa`) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, nil)
			if err := w.Settings.Set("#", `{"autoDeleteQueues":false,"autoDeleteAddresses":false}`); err != nil {
				t.Fatal(err)
			}
			file, err := os.Open("../testdata/captures/2.40.0-" + name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			r := &replay{t: t, w: w, peers: map[string]*peer{}, ids: map[int64]int64{}, early: map[*peer][]core.Frame{}}
			lines := bufio.NewScanner(file)
			lines.Buffer(nil, 1<<24)
			for n := 1; lines.Scan(); n++ {
				if !r.line(strings.Fields(lines.Text())) {
					t.Fatalf("line %d of the capture", n)
				}
			}
			if err := lines.Err(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

type replay struct {
	t     *testing.T
	w     *world
	peers map[string]*peer       // by connection of the capture
	ids   map[int64]int64        // message ids of the capture and those here
	early map[*peer][]core.Frame // what came before its turn
}

// line replays a line: connection, direction, frame in hex, and how many zeros follow in it.
func (r *replay) line(fields []string) bool {
	raw, err := hex.DecodeString(fields[2])
	if err != nil {
		r.t.Fatal(err)
	}
	if len(fields) > 3 {
		zeros := 0
		for _, c := range fields[3] {
			zeros = 10*zeros + int(c-'0')
		}
		raw = append(raw, make([]byte, zeros)...)
	}
	p := r.peers[fields[0]]
	if p == nil {
		p = &peer{raw: dial(r.t, r.w.addr), w: r.w}
		r.peers[fields[0]] = p
	}
	f, _, _, err := core.Split(raw, len(raw))
	if err != nil {
		r.t.Fatal(err)
	}
	if fields[1] == ">" {
		r.send(p, f)
		return true
	}
	return r.compare(p, f, r.next(p, f))
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

// next is the next frame that can stand in the place of want.
func (r *replay) next(p *peer, want core.Frame) core.Frame {
	r.t.Helper()
	for i, f := range r.early[p] {
		if sameLane(f, want) {
			r.early[p] = slices.Delete(r.early[p], i, i+1)
			return f
		}
	}
	for {
		raw := slices.Clone(p.nextFrame().Raw)
		f, _, _, err := core.Split(raw, len(raw))
		if err != nil {
			r.t.Fatal(err)
		}
		if sameLane(f, want) {
			return f
		}
		r.early[p] = append(r.early[p], f)
	}
}

// sameLane tells whether two frames have an order.
func sameLane(x, y core.Frame) bool {
	lane := func(t core.Type) core.Type {
		switch t {
		case core.TypeReceive, core.TypeReceiveLarge, core.TypeReceiveContinuation:
			return core.TypeReceive
		case core.TypeCredits, core.TypePing, core.TypeClusterTopologyV4:
			return t
		}
		return core.TypeNullResponse
	}
	return x.Channel == y.Channel && lane(x.Type) == lane(y.Type) && consumerOf(x) == consumerOf(y)
}

// consumerOf is the consumer that a frame is for, -1 if it is for none.
func consumerOf(f core.Frame) int64 {
	n := len(f.Payload)
	switch f.Type {
	case core.TypeReceive:
		return int64(binary.BigEndian.Uint64(f.Payload[n-12:]))
	case core.TypeReceiveContinuation:
		return int64(binary.BigEndian.Uint64(f.Payload[n-8:]))
	case core.TypeReceiveLarge:
		return int64(binary.BigEndian.Uint64(f.Payload))
	}
	return -1
}

// compare compares a packet with the one captured.
func (r *replay) compare(p *peer, want, got core.Frame) bool {
	if want.Type != got.Type || len(want.Raw) != len(got.Raw) && want.Type != core.TypeException && want.Type != core.TypeXAResponse {
		r.t.Errorf("got %v of %d bytes, want %v of %d bytes\n got %x\nwant %x", got.Type, len(got.Raw), want.Type, len(want.Raw), got.Raw, want.Raw)
		return false
	}
	x, err := core.Decode(want.Type, want.Payload, p.v)
	if err != nil {
		r.t.Fatal(err)
	}
	y, err := core.Decode(got.Type, got.Payload, p.v)
	if err != nil {
		r.t.Errorf("%v: %v", got.Type, err)
		return false
	}
	switch x := x.(type) {
	case *core.ClusterTopology:
		y := y.(*core.ClusterTopology)
		x.NodeID, x.UniqueEventID = y.NodeID, y.UniqueEventID
	case *core.BindingQueryResponse:
		slices.Sort(x.QueueNames)
		slices.Sort(y.(*core.BindingQueryResponse).QueueNames)
	case *core.Exception:
		if before, after, ok := strings.Cut(x.Message.V, "127.0.0.1:"); ok { // where the client came from
			x.Message.V = before + p.c.LocalAddr().String() + after[strings.IndexByte(after, '.'):]
		}
	case *core.XAResponse: // its text has a number that means nothing
		x.Message.V = number.ReplaceAllString(x.Message.V, "")
		y := y.(*core.XAResponse)
		y.Message.V = number.ReplaceAllString(y.Message.V, "")
	case *core.Receive:
		y := y.(*core.Receive)
		if !r.sameMessage(inForm(x.Message, p.v), inForm(y.Message, p.v), message.ParseCore) {
			return false
		}
		x.Message, y.Message = nil, nil
	case *core.ReceiveLarge:
		y := y.(*core.ReceiveLarge)
		if !r.sameMessage(x.Headers, y.Headers, message.ParseCoreHeaders) {
			return false
		}
		x.Headers, y.Headers = nil, nil
	}
	if !reflect.DeepEqual(x, y) {
		is(r.t, y, x)
		return false
	}
	return true
}

var number = regexp.MustCompile(`\(\d+ bq`)

// inForm is a message in the form of the current version.
func inForm(block []byte, v core.Version) []byte {
	if !v.BeforeAddressChange() {
		return block
	}
	end := int(binary.BigEndian.Uint32(block)) - 17 // of the body; one more length lies behind it
	return core.AppendMessage(nil, block[4:4+end], block[4+end+4:], core.VersionCurrent)
}

// sameMessage compares two messages but for their ids, which it notes.
func (r *replay) sameMessage(want, got []byte, parse func([]byte) (*message.Message, error)) bool {
	r.t.Helper()
	x, err := parse(want)
	if err != nil {
		r.t.Fatal(err)
	}
	y, err := parse(got)
	if err != nil {
		r.t.Errorf("%v", err)
		return false
	}
	r.ids[x.ID()] = y.ID()
	facts := func(m *message.Message) []any {
		props := map[string]any{}
		list := m.Properties()
		for key, v, ok := list.Next(); ok; key, v, ok = list.Next() {
			props[buf.StringFromSS(key)] = []any{v.Type, brokertest.Value(v)}
		}
		var body []byte
		if !m.IsLarge() {
			body = m.Body()
		}
		return []any{m.Address(), m.UserIDText(), m.Type(), m.IsDurable(), m.Expiration(), m.Timestamp(), m.Priority(), props, string(body)}
	}
	if a, b := facts(x), facts(y); !reflect.DeepEqual(a, b) {
		r.t.Errorf("got %v\nwant %v", b, a)
		return false
	}
	return true
}
