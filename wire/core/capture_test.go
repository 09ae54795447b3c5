package core

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/wire/buf"
)

// captured is a frame of testdata/captures with the version its connection had.
type captured struct {
	where    string
	conn     string
	toServer bool
	frame    Frame
	version  Version
}

// readCapture reads a capture and follows the version of its connections: set
// by SUBSCRIBE_TOPOLOGY_V2, else by the first CREATESESSION.
func readCapture(t testing.TB, path string) []captured {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var frames []captured
	versions := map[string]Version{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for n := 1; lines.Scan(); n++ {
		c := captured{where: fmt.Sprintf("%s:%d", filepath.Base(path), n)}
		fields := strings.Fields(lines.Text())
		c.conn, c.toServer = fields[0], fields[1] == ">"
		raw, err := hex.DecodeString(fields[2])
		if err != nil {
			t.Fatalf("%s: %v", c.where, err)
		}
		if len(fields) > 3 {
			zeros, err := strconv.Atoi(fields[3])
			if err != nil {
				t.Fatalf("%s: %v", c.where, err)
			}
			raw = append(raw, make([]byte, zeros)...)
		}
		var rest []byte
		var need int
		c.frame, rest, need, err = Split(raw, 1<<24)
		if err != nil || need != 0 || len(rest) != 0 {
			t.Fatalf("%s: not one frame: need %d, rest %d, %v", c.where, need, len(rest), err)
		}
		c.version = versions[c.conn]
		if p, err := Decode(c.frame.Type, c.frame.Payload, c.version); err == nil {
			switch p := p.(type) {
			case *SubscribeTopology:
				versions[c.conn] = p.ClientVersion
			case *CreateSession:
				if c.version == 0 {
					versions[c.conn] = p.Version
				}
			}
		}
		if c.version == 0 {
			c.version = VersionCurrent
		}
		frames = append(frames, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return frames
}

func captureFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/captures/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("captures: %d files, %v", len(files), err)
	}
	return files
}

// TestCaptures: every frame of real peers decodes to its last byte and is
// encoded to the same bytes again.
func TestCaptures(t *testing.T) {
	seen := map[Type]int{}
	total := 0
	for _, path := range captureFiles(t) {
		for _, c := range readCapture(t, path) {
			total++
			seen[c.frame.Type]++
			p, err := Decode(c.frame.Type, c.frame.Payload, c.version)
			if err != nil {
				t.Errorf("%s: version %d: %v", c.where, c.version, err)
				continue
			}
			if p.Type() != c.frame.Type {
				t.Errorf("%s: %v decodes to a packet of type %v", c.where, c.frame.Type, p.Type())
			}
			again := Append(nil, c.frame.Channel, p, c.version)
			if bytes.Equal(again, c.frame.Raw) {
				continue
			}
			if reason := differsRightly(p, c, again); reason == "" {
				t.Errorf("%s: version %d: %v\n got %x\nwant %x", c.where, c.version, c.frame.Type, again, c.frame.Raw)
			}
		}
	}
	if total != 4732 || len(seen) != 95 {
		t.Errorf("%d frames of %d types, want 4732 of 95", total, len(seen))
	}
}

// differsRightly tells why a frame may be encoded to other bytes than it came in.
func differsRightly(p Packet, c captured, again []byte) string {
	if s, ok := p.(*ReplicationSyncFile); ok && s.DataSize > 0 &&
		bytes.Equal(again[4:], c.frame.Raw[4:len(again)]) {
		return "the sender's buffer behind the data is not part of the packet"
	}
	if !strings.HasPrefix(c.where, "2.40.0-raw-client-versions") || !c.toServer {
		return ""
	}
	if c.frame.Type == TypeCreateQueueV2 && bytes.HasPrefix(again[4:], c.frame.Raw[4:]) {
		return "the scripted client leaves the optional tail out"
	}
	// The scripted client writes 01 for true.
	f, rest, need, err := Split(again, 1<<24)
	if err != nil || need != 0 || len(rest) != 0 {
		return ""
	}
	if q, err := Decode(f.Type, f.Payload, c.version); err == nil && reflect.DeepEqual(p, q) && len(again) == len(c.frame.Raw) {
		return "bool written as 01"
	}
	return ""
}

// TestCapturedMessages: the MSG of every captured message splits into a body and
// headers that end where the message does.
func TestCapturedMessages(t *testing.T) {
	n := 0
	for _, path := range captureFiles(t) {
		for _, c := range readCapture(t, path) {
			var msg []byte
			switch c.frame.Type {
			case TypeSend:
				var p Send
				if err := p.Decode(c.frame.Payload, c.version); err != nil {
					t.Fatalf("%s: %v", c.where, err)
				}
				msg = p.Message
			case TypeReceive:
				var p Receive
				if err := p.Decode(c.frame.Payload, c.version); err != nil {
					t.Fatalf("%s: %v", c.where, err)
				}
				msg = p.Message
			default:
				continue
			}
			n++
			body, headers, err := SplitMessage(msg, c.version)
			if err != nil {
				t.Errorf("%s: %v", c.where, err)
				continue
			}
			if again := AppendMessage(nil, body, headers, c.version); !bytes.Equal(again, msg) {
				t.Errorf("%s: message\n got %x\nwant %x", c.where, again, msg)
			}
			r := buf.NewReader(headers)
			r.Int64()
			r.NSSBytes()
			if r.Bool() {
				r.Skip(16)
			}
			r.Skip(1 + 1 + 8 + 8 + 1)
			r.Props()
			if r.Err() != nil || r.Len() != 0 {
				t.Errorf("%s: headers: %v, %d bytes left", c.where, r.Err(), r.Len())
			}
			if c.version.BeforeAddressChange() && c.frame.Type == TypeReceive {
				var p Receive
				if err := p.Decode(c.frame.Payload, c.version); err != nil {
					t.Fatal(err)
				}
				modern := AppendMessage(nil, body, headers, VersionCurrent)
				frame, err := AppendReceive1x(nil, c.frame.Channel, modern, p.ConsumerID, p.DeliveryCount)
				if err != nil || !bytes.Equal(frame, c.frame.Raw) {
					t.Errorf("%s: AppendReceive1x: %v\n got %x\nwant %x", c.where, err, frame, c.frame.Raw)
				}
			}
		}
	}
	if n < 500 {
		t.Errorf("%d messages, want more than 500", n)
	}
}
