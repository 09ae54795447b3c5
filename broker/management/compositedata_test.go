package management_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/broker/management"
	"github.com/saranga-mq/saranga/broker/message"
)

func TestCompositeData(t *testing.T) {
	for file, items := range map[string]map[string]any{
		"text-message": {
			"address": "orders", "messageID": "4711", "userID": "", "type": 3, "durable": true, "expiration": int64(0), "priority": 4, "redelivered": false,
			"timestamp": int64(1796037749526), "largeMessage": false, "persistentSize": int64(187), "protocol": "CORE", "text": "hello é€😀",
			"PropertiesText":    "{b=true, color=blue, d=1.5, sh=9, f=2.5, by=7, l=5000000000, n=1}",
			"StringProperties":  map[string]any{"color": "blue"},
			"BooleanProperties": map[string]any{"b": true},
			"ByteProperties":    map[string]any{"by": int64(7)},
			"ShortProperties":   map[string]any{"sh": int64(9)},
			"IntProperties":     map[string]any{"n": int64(1)},
			"LongProperties":    map[string]any{"l": int64(5000000000)},
			"FloatProperties":   map[string]any{"f": float32(2.5)},
			"DoubleProperties":  map[string]any{"d": 1.5},
		},
		"bytes-message": {
			"address": "orders", "messageID": "4712", "userID": "", "type": 4, "durable": false, "expiration": int64(1796037750527), "priority": 9, "redelivered": true,
			"timestamp": int64(1796037749527), "largeMessage": false, "persistentSize": int64(54), "protocol": "CORE", "BodyPreview": []int{0, 1, 2, -1},
			"PropertiesText": "{}",
		},
	} {
		want, err := os.ReadFile("testdata/java/" + file + ".bin")
		if err != nil {
			t.Fatal(err)
		}
		got := management.Serialize(items)
		if !bytes.Equal(got, want) {
			n := 0
			for n < min(len(got), len(want)) && got[n] == want[n] {
				n++
			}
			t.Errorf("%s: %d bytes, want %d; they differ at %d\n got: %q\nwant: %q", file, len(got), len(want), n, got[n:min(n+60, len(got))], want[n:min(n+60, len(want))])
		}
	}
}

// A string of more than 65535 bytes has a tag of its own and a length of eight bytes; zero has two bytes in Java's UTF-8.
func TestLongText(t *testing.T) {
	got := management.Serialize(map[string]any{"text": "\x00" + strings.Repeat("é", 40000)})
	want := append([]byte{0x7C, 0, 0, 0, 0, 0, 1, 0x38, 0x82, 0xC0, 0x80}, strings.Repeat("é", 40000)...)
	if !bytes.Contains(got, want) {
		t.Error("the text is not there")
	}
}

// What browse shows of bodies and values that are special, in JSON.
func TestBrowsedBodies(t *testing.T) {
	w := newWorld(t, false)
	w.CreateAnycast("bodies")
	for _, c := range []struct {
		send func(*message.Builder) error
		m    message.Type
		body []byte
		item string
		want any
	}{
		{w.admin.Send, message.Text, message.AppendText(nil, "short"), "text", "short"},
		{w.admin.Send, message.Text, []byte{0}, "text", nil},
		{func(m *message.Builder) error { return w.admin.SendLarge(m, make([]byte, 300000)) }, message.Text, nil, "text", "[large message]"},
		{func(m *message.Builder) error { return w.admin.SendLarge(m, make([]byte, 300000)) }, message.Bytes, nil, "BodyPreview", []any{}},
		{w.admin.Send, message.Bytes, []byte{0x80, 0x7F}, "BodyPreview", []any{-128.0, 127.0}},
	} {
		m := message.New("bodies", c.m)
		m.Body = c.body
		m.Set("nan", float32(math.NaN()))
		m.Set("inf", math.Inf(-1))
		if err := c.send(m); err != nil {
			t.Fatal(err)
		}
		w.Store.Settle()
		var page []map[string]any
		if err := json.Unmarshal([]byte(management.JSON(w.call("queue.bodies", "browse"))), &page); err != nil || len(page) != 1 {
			t.Fatalf("%d messages, error %v", len(page), err)
		}
		if got, ok := page[0][c.item]; !ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s = %v, want %v", c.item, got, c.want)
		}
		if text := page[0]["PropertiesText"].(string); !strings.Contains(text, "nan=NaN") || !strings.Contains(text, "inf=-Infinity") {
			t.Errorf("properties %s", text)
		}
		if n := w.call("queue.bodies", "removeAllMessages"); n != int32(1) && n != 1 {
			t.Fatalf("removed %v", n)
		}
	}
}
