package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/internal/golden"
)

func store(t *testing.T, name string) journal.StoreOptions {
	t.Helper()
	return journal.StoreOptions{FS: golden.Dir(t, filepath.Join("../testdata/golden", name)), Bindings: "/data/bindings", Journal: "/data/journal", Paging: "/data/paging",
		Large: "/data/large-messages", FileSize: 102400}
}

// read is a Handler that keeps everything.
type kept struct {
	addresses []Address
	queues    []Queue
	messages  []Message
	bodies    []string // digests
	sizes     []int
	partly    bool // reads only the beginning of a body
}

func (k *kept) Address(a Address) error { k.addresses = append(k.addresses, a); return nil }
func (k *kept) Queue(q Queue) error     { k.queues = append(k.queues, q); return nil }
func (k *kept) Message(m *Message) error {
	var b []byte
	var err error
	if k.partly {
		b = make([]byte, 10)
		_, _ = m.Body.Read(b)
	} else {
		b, err = io.ReadAll(m.Body)
	}
	sum := sha256.Sum256(b)
	c := *m
	c.Body = nil
	k.messages = append(k.messages, c)
	k.bodies = append(k.bodies, hex.EncodeToString(sum[:]))
	k.sizes = append(k.sizes, len(b))
	return err
}

// What is exported of a golden is what a client of the real broker saw in it.
func TestGoldens(t *testing.T) {
	for _, name := range []string{"basic", "tx", "topics", "large", "paging", "flows", "hand"} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			result, err := Write(&out, Options{Store: store(t, name)})
			if err != nil {
				t.Fatal(err)
			}
			var got kept
			if err := Read(bytes.NewReader(out.Bytes()), &got); err != nil {
				t.Fatal(err)
			}
			if len(got.messages) != result.Messages {
				t.Errorf("%d messages written, %d read", result.Messages, len(got.messages))
			}
			var want struct {
				Queues map[string]struct {
					Messages []struct {
						ID         int64
						Priority   uint8
						Type       message.Type
						Timestamp  int64
						Expiration int64
						UserID     *string
						BodyLength int
						BodySha256 string
						Properties map[string]struct {
							Type  string
							Value any
						}
					}
				}
			}
			if err := json.Unmarshal(golden.Gunzip(t, filepath.Join("../testdata/golden", name, "expected.json.gz")), &want); err != nil {
				t.Fatal(err)
			}
			missing := 0
			for queue, q := range want.Queues {
				for _, m := range q.Messages {
					i := slices.IndexFunc(got.messages, func(x Message) bool { return x.ID == m.ID })
					if i < 0 {
						missing++ // AMQP
						continue
					}
					x := got.messages[i]
					user := ""
					if m.UserID != nil {
						user = strings.ReplaceAll(*m.UserID, "-", "")
					}
					g := fmt.Sprint(x.Priority, x.Type, x.Timestamp, x.Expiration, hex.EncodeToString(x.UserID), got.sizes[i], got.bodies[i], slices.Contains(x.Queues, queue), len(x.Properties))
					w := fmt.Sprint(m.Priority, m.Type, m.Timestamp, m.Expiration, user, m.BodyLength, m.BodySha256, true, len(m.Properties))
					if g != w {
						t.Errorf("message %d:\n got  %s\n want %s", m.ID, g, w)
					}
					for _, p := range x.Properties {
						wp, ok := m.Properties[p.Name]
						value := p.Value
						if b, ok := value.([]byte); ok {
							value = hex.EncodeToString(b)
						}
						if !ok || wp.Type != "char" && fmt.Sprint(value) != fmt.Sprint(wp.Value) && fmt.Sprintf("%g", toFloat(value)) != fmt.Sprintf("%g", wp.Value) {
							t.Errorf("message %d: property %s is %v, want %v", m.ID, p.Name, p.Value, wp)
						}
					}
				}
			}
			if missing != result.Skipped {
				t.Errorf("%d messages are missing, %d were skipped", missing, result.Skipped)
			}
		})
	}
}

func toFloat(v any) any {
	switch n := v.(type) {
	case int8:
		return float64(n)
	case int16:
		return float64(n)
	case int32:
		return float64(n)
	case int64:
		return float64(n)
	case float32:
		return float64(n)
	}
	return v
}

// The text of one message of a real export (Artemis 2.40.0), and the frame around it.
func TestText(t *testing.T) {
	var out bytes.Buffer
	if _, err := Write(&out, Options{Store: store(t, "basic")}); err != nil {
		t.Fatal(err)
	}
	s := out.String()
	if !strings.HasPrefix(s, "\n<activemq-journal>\n   <bindings>\n      <address-binding routing-types=\"ANYCAST\" name=\"DLQ\" id=\"2\"/>\n") || !strings.HasSuffix(s, "      </message>\n   </messages>\n</activemq-journal>") {
		t.Errorf("frame: %q … %q", s[:200], s[len(s)-100:])
	}
	for _, want := range []string{
		"      <queue-binding address=\"orders\" filter-string=\"\" name=\"orders\" id=\"19\" routing-type=\"ANYCAST\"/>\n",
		"      <message id=\"38\" priority=\"4\" expiration=\"0\" timestamp=\"1700000001000\" type=\"bytes\" user-id=\"01020304-0506-1708-890a-0b0c0d0e0f10\">\n         <properties>\n",
		"            <property name=\"l\" value=\"1099511627776\" type=\"long\"/>\n",
		"            <property name=\"bs\" value=\"AAEC_w==\" type=\"bytes\"/>\n",
		"            <property name=\"c\" value=\"Z\"/>\n",
		"            <property name=\"nul\" value=\"_AMQ_NULL\" type=\"bytes\"/>\n",
		"            <property name=\"f\" value=\"1.5\" type=\"float\"/>\n",
		"         </properties>\n         <queues>\n            <queue name=\"audit\"/>\n         </queues>\n         <body>\n            <![CDATA[",
		"]]>\n         </body>\n      </message>\n",
	} {
		if !strings.Contains(s, want) {
			t.Errorf("missing: %s", want)
		}
	}
}

func TestUndefinedQueue(t *testing.T) {
	var out bytes.Buffer
	if _, err := Write(&out, Options{Store: store(t, "handold")}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `<queue name="UndefinedQueue_777"/>`) {
		t.Error("the reference to a queue that does not exist is missing")
	}
}

func TestJavaFloat(t *testing.T) {
	for f, want := range map[float64]string{0: "0.0", 1: "1.0", -2.25: "-2.25", 1e7: "1.0E7", 9999999: "9999999.0", 1.5e-5: "1.5E-5", 0.001: "0.001", 1e300: "1.0E300"} {
		if got := javaFloat(f, 64); got != want {
			t.Errorf("%g: %s, want %s", f, got, want)
		}
	}
}

func TestReadForeign(t *testing.T) {
	in := `<?xml version="1.0"?><activemq-journal><bindings>
	<binding address="jms.topic.news" filter-string="" queue-name="jms.queue.q" id="2"/></bindings>
	<messages><message id="1" priority="9" expiration="0" timestamp="5" type="text"><properties>
	<property name="s" value="a &amp; b" type="string"/><property name="n" value="_AMQ_NULL" type="bytes"/><property name="c" value="Z"/></properties>
	<queues><queue name="q"/><queue name="r"/></queues><body isLarge="true"><![CDATA[YWJj]]><![CDATA[ZGVm]]></body></message>
	<message id="2" priority="0" expiration="0" timestamp="5" type="default"></message></messages></activemq-journal>`
	var k kept
	if err := Read(strings.NewReader(in), &k); err != nil {
		t.Fatal(err)
	}
	if want := []Queue{{ID: 2, Name: "jms.queue.q", Address: "jms.topic.news", Routing: message.Multicast, Legacy: true}}; !reflect.DeepEqual(k.queues, want) {
		t.Errorf("queues %+v", k.queues)
	}
	want := Message{ID: 1, Priority: 9, Timestamp: 5, Type: 3, Properties: []Property{{"s", "a & b"}, {"n", nil}, {"c", "Z"}}, Queues: []string{"q", "r"}, Large: true}
	if len(k.messages) != 2 || !reflect.DeepEqual(k.messages[0], want) || k.sizes[0] != 6 || k.sizes[1] != 0 {
		t.Errorf("messages %+v, %v", k.messages, k.sizes)
	}
	// A handler need not read a body.
	k = kept{partly: true}
	if err := Read(strings.NewReader(in), &k); err != nil || len(k.messages) != 2 {
		t.Errorf("%d messages, %v", len(k.messages), err)
	}
	for _, bad := range []string{`<message type="text" id="x">`, `<message type="new">`, `<message type="text"><property name="a" value="1" type="what"/>`, `<queue name="q"/>`,
		`<message type="text"><body><![CDATA[!!]]></body>`, `<message type="text"><body><![CDATA[YWJj]]>`, `<message type="text" priority="-3">`, `<body>`, `<property/>`,
		`<queue-binding routing-type="SOMECAST"/>`, `<message type="text" user-id="12">`, `<`} {
		if err := Read(strings.NewReader(bad), &kept{}); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`<activemq-journal><messages><message id="1" type="text"><body><![CDATA[YWJj]]></body></message></messages></activemq-journal>`))
	f.Fuzz(func(t *testing.T, b []byte) { _ = Read(bytes.NewReader(b), &kept{}) })
}
