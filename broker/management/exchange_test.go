package management_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/management"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/wire/buf"
)

// exchange is a management message and its reply as they were captured.
type exchange struct {
	name     string
	props    map[string]string
	body     string // text of the body, "" for none
	hasBody  bool
	none     bool // no reply
	want     string
	wantBody []byte // nil when cut in the capture
	ok       string // "" when the property is absent
}

var property = regexp.MustCompile(`(_AMQ_\w+|JMSReplyTo)=(SimpleString|Boolean):([^,}]*)`)

func exchanges(t *testing.T) []exchange {
	data, err := os.ReadFile("testdata/core-management-exchanges.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []exchange
	for _, part := range strings.Split(string(data), "### ")[1:] {
		lines := strings.Split(part, "\n")
		x := exchange{name: lines[0], props: map[string]string{}}
		reply := false
		for _, l := range lines[1:] {
			l = strings.TrimSpace(l)
			text, isText := strings.CutPrefix(l, "bodyNullableSimpleString=")
			switch {
			case strings.HasPrefix(l, "REPLY none"):
				x.none = true
			case strings.HasPrefix(l, "REPLY"):
				reply = true
			case strings.HasPrefix(l, "props=") && !reply:
				for _, m := range property.FindAllStringSubmatch(l, -1) {
					x.props[m[1]] = m[3]
				}
			case strings.HasPrefix(l, "props="):
				for _, m := range property.FindAllStringSubmatch(l, -1) {
					if m[1] == management.PropSucceeded {
						x.ok = m[3]
					}
				}
			case isText && !reply:
				x.body, x.hasBody = text, true
			case isText:
				x.want = text
			case strings.HasPrefix(l, "body[") && reply && !strings.HasSuffix(l, "…"):
				_, h, _ := strings.Cut(l, "]=")
				if x.wantBody, err = hex.DecodeString(h); err != nil {
					t.Fatal(err)
				}
			}
		}
		out = append(out, x)
	}
	return out
}

// notHere are exchanges about parts that this broker does not have, or whose result is its own.
var notHere = map[string]bool{"attr bridge": true, "cc": true, "bg": true, "router": true, "bc": true, "attr broker.AddressNames": true,
	"op getQueueNames()": true, "op listConnectionIDs": true, "op getQueueNames(str)": true, "attr long": true}

// volatile are parts of results that differ from run to run.
var volatile = regexp.MustCompile(`\\?"(id|messageID)\\?":\d+`)

func TestExchanges(t *testing.T) {
	w := newWorld(t, false)
	w.orders()
	replies := w.replyQueue("replies")
	for _, x := range exchanges(t) {
		t.Run(x.name, func(t *testing.T) {
			if notHere[x.name] {
				return
			}
			if err := w.admin.Send(request(x, "replies")); err != nil {
				t.Fatal(err)
			}
			w.Store.Settle()
			got := replies.Take()
			if x.none {
				// "both" got no reply because it had no body, which an operation needs
				if len(got) != 0 {
					t.Fatalf("got a reply: %+v", got[0].Props)
				}
				return
			}
			if len(got) != 1 {
				t.Fatalf("got %d replies, want 1", len(got))
			}
			d := got[0]
			if d.Type != message.Text || d.Durable || d.Priority != 0 {
				t.Errorf("reply of type %d, durable %v, priority %d", d.Type, d.Durable, d.Priority)
			}
			if ok := d.Prop(management.PropSucceeded); ok != x.ok && (x.ok != "" || ok != "absent") {
				t.Errorf("succeeded is %s, want %q", ok, x.ok)
			}
			if to := d.Prop("JMSReplyTo"); to != "replies" {
				t.Errorf("JMSReplyTo is %s", to)
			}
			r := buf.NewReader(d.Body)
			text := r.NSS()
			if r.Err() != nil || r.Len() != 0 {
				t.Fatalf("body % x", d.Body)
			}
			if x.want == "null" {
				if text.Valid {
					t.Errorf("result %s, want none", text.V)
				}
				if len(d.Body) != 1 {
					t.Errorf("body % x, want 00", d.Body)
				}
				return
			}
			if begin, cut := strings.CutSuffix(x.want, "…"); cut {
				if !strings.HasPrefix(text.V, begin) {
					t.Errorf("result\n got: %s\nwant: %s", text.V, x.want)
				}
				return
			}
			if !sameJSON(volatile.ReplaceAllString(text.V, `"$1":0`), volatile.ReplaceAllString(x.want, `"$1":0`)) {
				t.Errorf("result\n got: %s\nwant: %s", text.V, x.want)
			}
		})
	}
}

func (w *world) replyQueue(name string) *brokertest.Sink {
	w.T.Helper()
	w.CreateAnycast(name)
	k, err := w.admin.Consume(broker.ConsumerOptions{Queue: name}, broker.Unlimited)
	if err != nil {
		w.T.Fatal(err)
	}
	return k
}

func request(x exchange, replyTo string) *message.Builder {
	m := message.New("activemq.management", message.Default)
	for _, k := range []string{management.PropResource, management.PropAttribute, management.PropOperation} {
		if v, ok := x.props[k]; ok {
			m.Set(k, v)
		}
	}
	m.Set("JMSReplyTo", replyTo)
	if x.hasBody {
		m.Body = message.AppendText(nil, x.body)
	}
	return m
}

// sameJSON compares JSON texts; texts inside that are JSON themselves are compared as such.
func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return reflect.DeepEqual(x, y)
}

func TestCorrelation(t *testing.T) {
	w := newWorld(t, false)
	replies := w.replyQueue("replies")
	ask := func(change func(*message.Builder)) string {
		m := request(exchange{props: map[string]string{management.PropResource: "broker", management.PropAttribute: "Version"}}, "replies")
		change(m)
		if err := w.admin.Send(m); err != nil {
			t.Fatal(err)
		}
		return replies.Wait(1)[0].Prop("JMSCorrelationID") + take(replies)
	}
	for _, c := range []struct {
		name   string
		change func(*message.Builder)
		want   string
	}{
		{"correlation id", func(m *message.Builder) { m.Set("JMSCorrelationID", "c1"); m.UserID = make([]byte, 16) }, "c1"},
		{"native id", func(m *message.Builder) { m.Set("NATIVE_MESSAGE_ID", "n1") }, "n1"},
		{"user id", func(m *message.Builder) { m.UserID = []byte("0123456789abcdef") }, "ID:30313233-3435-1637-b839-616263646566"},
		{"none", func(*message.Builder) {}, "absent"},
	} {
		if got := ask(c.change); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func take(k *brokertest.Sink) string {
	k.Take()
	return ""
}

// TestNoReplyFromTheDead: a node that is not live any more does what it is asked, and says nothing.
func TestNoReplyFromTheDead(t *testing.T) {
	w := newWorld(t, false)
	replies := w.replyQueue("replies")
	ask := func(resource string) {
		if err := w.admin.Send(request(exchange{props: map[string]string{management.PropResource: resource, management.PropAttribute: "Active"}}, "replies")); err != nil {
			t.Fatal(err)
		}
	}
	ask("broker")
	replies.Wait(1)
	replies.Take()
	w.dead.Store(true)
	w.admin.Act(func(work *broker.Work) {
		m, err := w.Pool().Build(request(exchange{props: map[string]string{management.PropResource: "broker", management.PropAttribute: "Active"}}, "replies"))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.admin.Session.Send(work, m, broker.SendOptions{Routing: message.Unspecified}); err != nil {
			t.Error(err)
		}
	})
	w.Store.Settle()
	w.dead.Store(false)
	ask("broker")
	if got := len(replies.Wait(1)); got != 1 {
		t.Errorf("%d replies, want only that of the live node", got)
	}
}

// A user needs manage on the management address, and with RBAC view or edit on what it asks for.
func TestPermissions(t *testing.T) {
	w := newWorld(t, true)
	w.orders()
	for match, roles := range map[string]map[security.Permission][]string{
		"mops.queue.orders.getMessageCount": {security.View: {"viewer"}},
		"mops.queue.orders.countMessages":   {security.View: {"viewer"}},
		"mops.queue.orders.pause":           {security.Edit: {"editor"}},
		"activemq.management":               {security.Manage: {"viewer", "editor"}},
		"replies":                           {security.Send: {"viewer"}, security.Consume: {"amq"}},
	} {
		if err := w.access.Put(security.Setting{Match: match, Roles: roles}); err != nil {
			t.Fatal(err)
		}
	}
	replies := w.replyQueue("replies")
	o := brokertest.AutoCommit
	o.Principal = security.Principal{User: "view1", Roles: []string{"viewer"}}
	viewer := w.Connect(o)
	for _, c := range []struct{ operation, attribute, body, want string }{
		{"", "MessageCount", "", `[11]`},
		{"", "Paused", "", `["Problem while retrieving attribute Paused"]`},
		{"countMessages", "", "[]", `[11]`},
		{"pause", "", "[]", `["AMQ229032: User: view1 does not have permission='EDIT' on address mops.queue.orders.pause"]`},
		{"listMessages", "", `[""]`, `["AMQ229032: User: view1 does not have permission='VIEW' on address mops.queue.orders.listMessages"]`},
	} {
		x := exchange{props: map[string]string{management.PropResource: "queue.orders"}, body: c.body, hasBody: c.body != ""}
		if c.operation != "" {
			x.props[management.PropOperation] = c.operation
		} else {
			x.props[management.PropAttribute] = c.attribute
		}
		if err := viewer.Send(request(x, "replies")); err != nil {
			t.Fatal(err)
		}
		if got := replies.Wait(1)[0].Text; got != c.want {
			t.Errorf("%+v: got %s", c, got)
		}
		replies.Take()
	}
	o.Principal = security.Principal{User: "norole"}
	err := w.Connect(o).Send(request(exchange{props: map[string]string{management.PropResource: "broker", management.PropAttribute: "Version"}}, "replies"))
	if err == nil || err.Error() != "AMQ229032: User: norole does not have permission='MANAGE' on address activemq.management" {
		t.Errorf("without permission: %v", err)
	}
}

// FuzzParameters feeds bodies of management messages.
func FuzzParameters(f *testing.F) {
	for _, body := range []string{"[]", `["x",1,true,null,{"a":[1.5]},[[]]]`, "not json", "[", strings.Repeat("[", 100000), `[1e999]`, `["\ud800"]`} {
		f.Add(message.AppendText(nil, body))
	}
	f.Add([]byte{})
	f.Add([]byte{0})
	f.Add([]byte{1, 0, 0, 0, 3, 'x', 0, 0})
	f.Fuzz(func(t *testing.T, body []byte) {
		m := message.New("activemq.management", message.Default)
		m.Body = body
		var pool message.Pool
		built, err := pool.Build(m)
		if err != nil {
			return
		}
		defer built.Release()
		management.Parameters(built)
	})
}
