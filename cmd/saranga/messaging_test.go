package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/broker/message"
)

func TestParseDestination(t *testing.T) {
	for text, want := range map[string]destination{
		"queue://a":    {address: "a", queue: "a", name: "a"},
		"a":            {address: "a", queue: "a", name: "a"},
		"topic://t":    {topic: true, address: "t", queue: "t", name: "t"},
		"a::q":         {address: "a", queue: "q", name: "a::q"},
		"topic://t::q": {topic: true, address: "t", queue: "q", name: "t::q"},
	} {
		if got, err := parseDestination(text); err != nil || got != want {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "queue://", "a::", "::q"} {
		if _, err := parseDestination(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestParseProperties(t *testing.T) {
	got, err := parseProperties(`[{"type":"boolean","key":"b","value":"TRUE"},{"type":"byte","key":"y","value":"-1"},{"type":"short","key":"s","value":"2"},{"type":"int","key":"i","value":"3"},
		{"type":"long","key":"l","value":"4"},{"type":"float","key":"f","value":"1.5"},{"type":"double","key":"d","value":"2.5"},{"type":"string","key":"t","value":"x"}]`)
	want := map[string]any{"b": true, "y": int8(-1), "s": int16(2), "i": int32(3), "l": int64(4), "f": float32(1.5), "d": 2.5, "t": "x"}
	if err != nil || len(got) != len(want) {
		t.Fatalf("%v %v", got, err)
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s: %v (%T), want %v (%T)", k, got[k], got[k], v, v)
		}
	}
	for _, bad := range []string{`{`, `[{"type":"int","key":"a","value":"x"}]`, `[{"type":"what","key":"a","value":"1"}]`, `[{"type":"int","value":"1"}]`, `[{"type":"byte","key":"a","value":"128"}]`} {
		if _, err := parseProperties(bad); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// A text as Java serialises it: the stream's magic and version, TC_STRING (or TC_LONGSTRING), its length.
func TestObjectBody(t *testing.T) {
	if got := string(objectBody(3)); got != "\x00\x00\x00\x0a\xac\xed\x00\x05\x74\x00\x03ooo" {
		t.Errorf("%q", got)
	}
	if got := string(objectBody(70000)[:17]); got != "\x00\x01\x11\x7d\xac\xed\x00\x05\x7c\x00\x00\x00\x00\x00\x01\x11\x70" {
		t.Errorf("%q", got)
	}
	if n := objectSize(objectBody(10)); n != 10 {
		t.Errorf("%d", n)
	}
	if n := objectSize([]byte{0, 0, 0, 2, 1, 2}); n != 2 {
		t.Errorf("%d", n)
	}
}

func TestSubscriptionName(t *testing.T) {
	if got := subscriptionName("c.1", `a\b`); got != `c\.1.a\\b` {
		t.Error(got)
	}
}

// What --verbose shows of a browsed message has the form that interop saw Artemis print.
func TestBrowserDetails(t *testing.T) {
	i := createInstance(t)
	i.serve(t)
	cli(t, "", append([]string{"producer", "--destination", "q", "--message-count", "1", "--message-size", "4", "--non-persistent"}, i.connection()...)...)
	r := cli(t, "", append([]string{"browser", "--destination", "q", "--verbose"}, i.connection()...)...)
	want := regexp.MustCompile(`(?m)^\.\.\.ActiveMQMessage\[ID:([0-9a-f-]{36})\]:NON-PERSISTENT/ClientMessageImpl\[messageID=\d+, durable=false, address=q,userID=([0-9a-f-]{36}),properties=TypedProperties\[.*count=0.*, ThreadSent=Producer ActiveMQQueue\[q\], thread=0.*\]\]$`)
	if m := want.FindStringSubmatch(r.out); m == nil || m[1] != m[2] {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(r.out, "Executing saranga browser --destination q --password **** ") {
		t.Errorf("the command line is not shown without its secrets:\n%s", r.out)
	}
}

func TestTransferKeepsMessages(t *testing.T) {
	i := createInstance(t)
	i.serve(t)
	c := i.connection()
	sides := []string{"--source-url", i.url(), "--source-user", "admin", "--source-password", "admin", "--target-url", i.url(), "--target-user", "admin", "--target-password", "admin", "--receive-timeout", "50"}
	cli(t, "", append([]string{"producer", "--destination", "a", "--message-count", "1", "--message", "hello", "--properties", `[{"type":"int","key":"n","value":"5"}]`}, c...)...)
	cli(t, "", append([]string{"producer", "--destination", "a", "--message-count", "1", "--text-size", "300000"}, c...)...)
	if r := cli(t, "", append([]string{"transfer", "--source-queue", "a", "--target-queue", "b", "--source-filter", "n = 5"}, sides...)...); r.code != 0 || !strings.HasSuffix(r.out, "Transferred a total of 1 messages\n") {
		t.Errorf("%+v", r)
	}
	if r := cli(t, "", append([]string{"transfer", "--source-queue", "a", "--target-topic", "b"}, sides...)...); r.code != 1 || r.err != "address b has no multicast routing\n" {
		t.Errorf("%+v", r)
	}
	if r := cli(t, "", append([]string{"transfer", "--source-queue", "a", "--target-topic", "t"}, sides...)...); r.code != 0 || !strings.HasSuffix(r.out, "Transferred a total of 1 messages\n") {
		t.Errorf("%+v", r)
	}
	if r := cli(t, "", append([]string{"consumer", "--destination", "b", "--filter", "n = 5", "--message-count", "1", "--verbose"}, c...)...); !strings.Contains(r.out, "thread=0 Received hello\n") {
		t.Errorf("%+v", r)
	}
	if r := cli(t, "", append([]string{"transfer", "--source-queue", "a"}, sides...)...); r.code != 1 {
		t.Errorf("no target: %+v", r)
	}
}

func TestNewMessage(t *testing.T) {
	m := newTextMessage(destination{name: "q"}, "x")
	if v := m.Get(message.PropRoutingType).Any(); v != int8(1) || !m.Durable || len(m.UserID) != 16 || m.Timestamp == 0 {
		t.Errorf("%v %+v", v, m)
	}
}
