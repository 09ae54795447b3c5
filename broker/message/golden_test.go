package message

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/wire/buf"
)

func gunzip(tb testing.TB, name string) []byte {
	tb.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		tb.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

type goldenRecord struct {
	dir     string
	id      int64
	kind    byte
	payload []byte
}

func goldenRecords(tb testing.TB) []goldenRecord {
	var rs []goldenRecord
	for line := range strings.Lines(string(gunzip(tb, "records.txt.gz"))) {
		f := strings.Fields(line)
		id, _ := strconv.ParseInt(f[1], 10, 64)
		kind, _ := strconv.Atoi(f[2])
		rs = append(rs, goldenRecord{f[0], id, byte(kind), unhex(f[3])})
	}
	return rs
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		panic(err)
	}
	return b
}

// Every record of a real journal is written again as it was.
func TestRecordRoundTrip(t *testing.T) {
	var pool Pool
	seen := map[byte]int{}
	for _, g := range goldenRecords(t) {
		m, err := pool.FromRecord(g.kind, g.payload)
		if err != nil {
			t.Fatalf("%s record %d: %v", g.dir, g.id, err)
		}
		if m.RecordType() != g.kind || m.RecordSize() != len(g.payload) {
			t.Errorf("%s %d: record type %d of %d bytes, want %d of %d", g.dir, g.id, m.RecordType(), m.RecordSize(), g.kind, len(g.payload))
		}
		if got := m.AppendRecord(nil); !bytes.Equal(got, g.payload) {
			t.Errorf("%s %d:\n got %x\nwant %x", g.dir, g.id, got, g.payload)
		}
		if m.ID() != g.id {
			t.Errorf("%s: id %d, want %d", g.dir, m.ID(), g.id)
		}
		if g.kind == RecordMessage {
			payload, rest, err := SplitRecord(append(g.payload[:len(g.payload):len(g.payload)], 1, 2, 3))
			if err != nil || !bytes.Equal(payload, g.payload) || !bytes.Equal(rest, []byte{1, 2, 3}) {
				t.Errorf("%s %d: split off %x and %x, %v", g.dir, g.id, payload, rest, err)
			}
			seen[g.payload[0]]++
		} else {
			seen[0]++
		}
		m.Release()
	}
	for _, persister := range []byte{0, persisterCore, persisterAMQP, persisterAMQPv2, persisterLarge, persisterAMQPv3} {
		if seen[persister] == 0 {
			t.Errorf("no record of persister %d", persister)
		}
	}
	assertDrained(t, &pool)
}

// clientView is a message as a Core client of the real broker saw it.
type clientView struct {
	Durable    bool                     `json:"durable"`
	Priority   uint8                    `json:"priority"`
	Type       Type                     `json:"type"`
	Timestamp  int64                    `json:"timestamp"`
	Expiration int64                    `json:"expiration"`
	Large      bool                     `json:"large"`
	UserID     *string                  `json:"userID"`
	BodyLength int                      `json:"bodyLength"`
	BodySHA256 string                   `json:"bodySha256"`
	Properties map[string]clientViewAny `json:"properties"`
}

type clientViewAny struct {
	Type  string `json:"type"`
	Value any    `json:"value"`
}

// Messages loaded from a real journal have the fields that a client of the broker which loaded it saw.
func TestRecordFields(t *testing.T) {
	var want map[string]map[string]clientView
	if err := json.Unmarshal(gunzip(t, "expected.json.gz"), &want); err != nil {
		t.Fatal(err)
	}
	var pool Pool
	compared := 0
	for _, g := range goldenRecords(t) {
		w, ok := want[g.dir][strconv.FormatInt(g.id, 10)]
		if !ok {
			continue
		}
		compared++
		name := fmt.Sprintf("%s %d", g.dir, g.id)
		m, err := pool.FromRecord(g.kind, g.payload)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if m.IsDurable() != w.Durable || m.Priority() != w.Priority || m.Type() != w.Type || m.Timestamp() != w.Timestamp || m.Expiration() != w.Expiration {
			t.Errorf("%s: durable %v priority %d type %d timestamp %d expiration %d, want %+v",
				name, m.IsDurable(), m.Priority(), m.Type(), m.Timestamp(), m.Expiration(), w)
		}
		switch {
		case m.Encoding() == AMQP: // the client saw it converted
			for k, p := range w.Properties {
				switch k {
				case "NATIVE_MESSAGE_ID":
					if m.UserIDText() != p.Value {
						t.Errorf("%s: user id %q, want %q", name, m.UserIDText(), p.Value)
					}
				case "_AMQ_ROUTING_TYPE":
					if float64(m.RoutingType()) != p.Value {
						t.Errorf("%s: routing type %v, want %v", name, m.RoutingType(), p.Value)
					}
				case "JMSCorrelationID", "k", "t", "n":
					checkValue(t, name+" "+k, m.Property(k), p)
				default:
					if a, ok := strings.CutPrefix(k, "JMS_AMQP_MA_"); ok {
						checkValue(t, name+" "+k, m.Property("m."+a), p)
					}
				}
			}
		default:
			if m.IsLarge() != w.Large {
				t.Errorf("%s: large %v, want %v", name, m.IsLarge(), w.Large)
			}
			id := ""
			if w.UserID != nil {
				id = "ID:" + *w.UserID
			}
			if m.UserIDText() != id {
				t.Errorf("%s: user id %q, want %q", name, m.UserIDText(), id)
			}
			if !w.Large {
				if sum := sha256.Sum256(m.Body()); len(m.Body()) != w.BodyLength || hex.EncodeToString(sum[:]) != w.BodySHA256 {
					t.Errorf("%s: body %x", name, m.Body())
				}
			}
			for k, p := range w.Properties {
				checkValue(t, name+" "+k, m.Property(k), p)
			}
			if n := m.Properties().Len(); n != len(w.Properties) {
				t.Errorf("%s: %d properties, want %d", name, n, len(w.Properties))
			}
		}
		m.Release()
	}
	if compared < 100 {
		t.Errorf("only %d messages compared", compared)
	}
}

var typeNames = [...]string{buf.TypeNull: "null", buf.TypeBool: "boolean", buf.TypeByte: "byte", buf.TypeBytes: "bytes", buf.TypeShort: "short",
	buf.TypeInt: "int", buf.TypeLong: "long", buf.TypeFloat: "float", buf.TypeDouble: "double", buf.TypeString: "string", buf.TypeChar: "char"}

func checkValue(t *testing.T, name string, got buf.Value, want clientViewAny) {
	t.Helper()
	var text any
	switch v := got.Any().(type) {
	case []byte:
		text = hex.EncodeToString(v)
	case uint16:
		text = string(rune(v))
	case int8, int16, int32, int64:
		n, _ := got.Int64()
		text = float64(n)
	case float32:
		text = float64(v)
	default:
		text = v
	}
	if typeNames[got.Type] != want.Type || text != want.Value {
		t.Errorf("%s: %s %v, want %s %v", name, typeNames[got.Type], text, want.Type, want.Value)
	}
}

type capture struct {
	Capture string `json:"capture"`
	Seq     int    `json:"seq"`
	Form    string `json:"form"`
	Msg     string `json:"msg"`
	Want    struct {
		MessageID  int64             `json:"messageID"`
		Address    *string           `json:"address"`
		UserID     *string           `json:"userID"`
		Type       string            `json:"type"`
		Durable    bool              `json:"durable"`
		Expiration int64             `json:"expiration"`
		Timestamp  int64             `json:"timestamp"`
		Priority   uint8             `json:"priority"`
		Properties map[string][2]any `json:"properties"`
	} `json:"want"`
}

func captures(tb testing.TB) []capture {
	var cs []capture
	for line := range bytes.Lines(gunzip(tb, "core.jsonl.gz")) {
		var c capture
		if err := json.Unmarshal(line, &c); err != nil {
			tb.Fatal(err)
		}
		cs = append(cs, c)
	}
	return cs
}

var kindNames = map[string]Type{"default": Default, "object": Object, "text": Text, "bytes": Bytes, "map": Map, "stream": Stream}

// Messages on the wire of real clients and brokers parse to the fields that an independent decoder found, and a Builder
// encodes them to the same bytes.
func TestCaptures(t *testing.T) {
	var pool Pool
	forms := map[string]int{}
	for _, c := range captures(t) {
		name := fmt.Sprintf("%s %d", c.Capture, c.Seq)
		forms[c.Form]++
		msg := unhex(c.Msg)
		var m *Message
		var err error
		switch c.Form {
		case "1x":
			m, err = pool.NewCore1x(msg)
		case "headers":
			m, err = pool.NewCoreLarge(msg, nil)
		default:
			m, err = pool.NewCore(msg)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		switch c.Form {
		case "1x":
			if got := m.Append1x(nil); !bytes.Equal(got, msg) {
				t.Errorf("%s: 1.x block\n got %x\nwant %x", name, got, msg)
			}
		case "headers":
			if !bytes.Equal(m.Headers(), msg) {
				t.Errorf("%s: headers %x, want %x", name, m.Headers(), msg)
			}
		default:
			if !bytes.Equal(m.Block(), msg) {
				t.Errorf("%s: block %x, want %x", name, m.Block(), msg)
			}
		}
		w := c.Want
		kind, known := kindNames[w.Type]
		if !known {
			t.Fatalf("%s: type %q", name, w.Type)
		}
		if m.ID() != w.MessageID || m.Type() != kind || m.IsDurable() != w.Durable || m.Expiration() != w.Expiration ||
			m.Timestamp() != w.Timestamp || m.Priority() != w.Priority || w.Address == nil || m.Address() != *w.Address {
			t.Errorf("%s: parsed %+v, want %+v", name, m, w)
		}
		if id := hex.EncodeToString(m.UserID()); w.UserID == nil && id != "" || w.UserID != nil && id != *w.UserID {
			t.Errorf("%s: user id %q", name, id)
		}
		for k, p := range w.Properties {
			kind, _ := p[0].(string)
			if n, ok := p[1].(float64); ok && math.Abs(n) > 1<<53 {
				continue // JSON cannot tell
			}
			checkValue(t, name+" "+k, m.Property(k), clientViewAny{kind, p[1]})
		}
		if n := m.Properties().Len(); n != len(w.Properties) {
			t.Errorf("%s: %d properties, want %d", name, n, len(w.Properties))
		}
		if typed, ok := w.Properties[PropRoutingType]; ok && float64(m.RoutingType()) != typed[1] {
			t.Errorf("%s: routing type %v, want %v", name, m.RoutingType(), typed[1])
		}

		b := m.Edit()
		copied, err := pool.Build(b)
		if err != nil {
			t.Fatalf("%s: build: %v", name, err)
		}
		copied.SetID(m.ID())
		if !bytes.Equal(copied.Block(), m.Block()) || copied.IsLarge() != m.IsLarge() {
			t.Errorf("%s: copy\n got %x\nwant %x", name, copied.Block(), m.Block())
		}
		copied.Release()
		m.Release()
	}
	if forms["1x"] == 0 || forms["2x"] == 0 || forms["headers"] == 0 {
		t.Errorf("captures by form: %v", forms)
	}
	assertDrained(t, &pool)
}

// The counter records beside these pages, written by Artemis, say how many bytes a queue had left in them: the persistent
// sizes of its messages. Queues 27 and 15 had acknowledged nothing.
func TestPageSizes(t *testing.T) {
	want := map[string]struct {
		queue    int64
		messages int
		bytes    int64
	}{
		"paging":      {27, 19, 20387},
		"e256-paging": {15, 19, 20387},
	}
	type sum struct {
		messages int
		bytes    int64
	}
	var pool Pool
	got := map[string]sum{}
	large := 0
	for line := range strings.Lines(string(gunzip(t, "pages.txt.gz"))) {
		f := append(strings.Fields(line), "") // a page may be empty
		dir, _, _ := strings.Cut(f[0], "/")
		for page := unhex(f[1]); len(page) >= 6 && page[0] == '{'; {
			r := buf.NewReader(page[1:])
			record := r.Block()
			if record == nil {
				break // the torn page of hand
			}
			page = page[1+4+len(record)+1:]
			r = buf.NewReader(record)
			r.Int64()
			var m *Message
			var err error
			if r.Int8() == 1 {
				large++
				m, err = pool.FromRecord(RecordLargeMessage, r.Block())
				if err == nil {
					m.SetLarge(&fakeBody{size: 150000})
					if n := int64(len(m.Headers())) + 150000; m.PersistentSize() != n || n != 150104 && dir != "hand" {
						t.Errorf("%s: persistent size of the large message %d", f[0], m.PersistentSize())
					}
				}
			} else {
				var payload, rest []byte
				payload, rest, err = SplitRecord(r.Rest())
				if err == nil {
					m, err = pool.FromRecord(RecordMessage, payload)
					r = buf.NewReader(rest)
				}
			}
			if err != nil {
				t.Fatalf("%s: %v", f[0], err)
			}
			for n := r.Count(8); n > 0; n-- {
				if r.Int64() == want[dir].queue {
					got[dir] = sum{got[dir].messages + 1, got[dir].bytes + m.PersistentSize()}
				}
			}
			if r.Err() != nil || r.Len() != 0 {
				t.Errorf("%s: %d bytes after the queues, %v", f[0], r.Len(), r.Err())
			}
			m.Release()
		}
	}
	for dir, w := range want {
		if got[dir] != (sum{w.messages, w.bytes}) {
			t.Errorf("%s: %+v, want %+v", dir, got[dir], w)
		}
	}
	if large == 0 {
		t.Error("no large message in the pages")
	}
	assertDrained(t, &pool)
}

// fakeBody is a body file that counts its holds.
type fakeBody struct {
	size  int64
	holds int
}

func (b *fakeBody) Size() int64                       { return b.size }
func (b *fakeBody) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }
func (b *fakeBody) Discard()                          {}
func (b *fakeBody) Retain()                           { b.holds++ }
func (b *fakeBody) Release()                          { b.holds-- }

func assertDrained(tb testing.TB, p *Pool) {
	tb.Helper()
	if p.Live() != 0 || p.Bytes() != 0 {
		tb.Errorf("%d messages and %d bytes are left", p.Live(), p.Bytes())
	}
}
