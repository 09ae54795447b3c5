package management_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/management"
	"github.com/saranga-mq/saranga/broker/message"
)

// newer are attributes that came after 2.40.
var newer = map[string]bool{"Id": true, "QueueCount": true, "BlockedViaManagement": true, "PersistedPause": true}

// notComparable are attributes whose values depend on the run, on the configuration of the captured broker, or on parts
// that this broker does not have.
var notComparable = map[string]bool{}

func init() {
	for _, name := range strings.Fields(`ID FirstMessageAge FirstMessageAsJSON ConfigurationManaged
		AddressSize RoutedMessageCount PreparedTransactionMessageCount PrefetchPageBytes MaxPageReadBytes Filter ForwardingAddress RoutingName TransformerClassName
		TransformerProperties TransformerPropertiesAsJSON`) {
		notComparable[name] = true
	}
}

func TestAttributes(t *testing.T) {
	w := newWorld(t, false)
	w.orders()
	for resource, file := range map[string]string{"queue.orders": "QueueControl-orders", "address.orders": "AddressControl-orders", "divert.div1": "DivertControl",
		"acceptor.artemis": "AcceptorControl", "broker": "ActiveMQServerControl"} {
		t.Run(resource, func(t *testing.T) {
			data, err := os.ReadFile("testdata/read/" + file + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var want struct{ Value map[string]any }
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			r, err := w.g.Resource(resource)
			if err != nil {
				t.Fatal(err)
			}
			have := map[string]bool{}
			for _, a := range r.Class.Attributes {
				have[a.Name] = true
				v, err := r.Get(someone, a.Name)
				if err != nil {
					t.Errorf("%s: %v", a.Name, err)
					continue
				}
				x, known := want.Value[a.Name]
				if !known {
					if !newer[a.Name] {
						t.Errorf("%s is not an attribute of Artemis", a.Name)
					}
					continue
				}
				var got any
				if err := json.Unmarshal([]byte(management.JSON(v)), &got); err != nil {
					t.Errorf("%s: %v", a.Name, err)
				}
				if x != nil && got != nil && reflect.TypeOf(got) != reflect.TypeOf(x) {
					t.Errorf("%s is %T, want %T", a.Name, got, x)
				}
				if (resource == "queue.orders" || resource == "address.orders" || resource == "divert.div1") && !notComparable[a.Name] && !reflect.DeepEqual(got, x) {
					t.Errorf("%s = %v, want %v", a.Name, got, x)
				}
			}
			for name := range want.Value {
				if !have[name] {
					t.Errorf("attribute %s is missing", name)
				}
			}
		})
	}
}

// Every attribute and operation of the registry can be reached under its name, and operations have distinct signatures.
func TestClasses(t *testing.T) {
	w := newWorld(t, false)
	w.orders()
	names := w.g.Names()
	for _, want := range []string{"broker", "address.orders", "queue.orders", "divert.div1", "acceptor.artemis"} {
		if !slices.Contains(names, want) {
			t.Errorf("no resource %s", want)
		}
	}
	for _, name := range names {
		r, err := w.g.Resource(name)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, o := range r.Class.Operations {
			if seen[o.Signature()] {
				t.Errorf("%s: operation %s twice", name, o.Signature())
			}
			seen[o.Signature()] = true
			if o.Desc == "" || o.Impact == "" || o.Returns == "" {
				t.Errorf("%s: operation %s is not described", name, o.Signature())
			}
		}
	}
	for _, name := range []string{"", "queue.nope", "address.nope", "broker.x", "broker.", "queue", "divert.nope", "acceptor.nope", "bridge.b"} {
		if _, err := w.g.Resource(name); err == nil || err.Error() != "AMQ229067: Cannot find resource with name "+name {
			t.Errorf("resource %q: %v", name, err)
		}
	}
}

// keysOf are the keys of the first object in a JSON text, in order: that in "data", or in an array.
func keysOf(t testing.TB, text string) []string {
	t.Helper()
	if _, rest, ok := strings.Cut(text, `"data":`); ok {
		text = rest
	}
	d := json.NewDecoder(strings.NewReader(text))
	depth := 0
	var keys []string
	wantKey := false
	for {
		tok, err := d.Token()
		if err != nil {
			return keys
		}
		switch tok {
		case json.Delim('{'):
			depth++
			wantKey = depth == 1
			continue
		case json.Delim('}'):
			if depth--; depth == 0 {
				return keys
			}
			wantKey = depth == 1
			continue
		case json.Delim('['):
			if depth > 0 {
				depth++
			}
			continue
		case json.Delim(']'):
			if depth > 0 {
				depth--
				wantKey = depth == 1
			}
			continue
		}
		if depth == 1 {
			if wantKey {
				keys = append(keys, tok.(string))
			}
			wantKey = !wantKey
		}
	}
}

const anything = `{"field":"","operation":"","value":"","sortOrder":"","sortColumn":""}`

// Rows have the keys of Artemis in the same order.
func TestRows(t *testing.T) {
	w := newWorld(t, false)
	w.orders()
	w.admin.AddProducer("p1", "orders")
	if err := w.admin.SetMetadata("jms-session", "", false); err != nil {
		t.Fatal(err)
	}
	w.admin.Conn.SetClientID("core-client-1")
	for _, c := range []struct {
		golden, operation string
		args              []any
	}{
		{"listQueues-page", "listQueues", []any{anything, 1, 50}},
		{"listAddresses-page", "listAddresses", []any{anything, 1, 50}},
		{"listConnections-page", "listConnections", []any{anything, 1, 50}},
		{"listSessions-page", "listSessions", []any{anything, 1, 50}},
		{"listConsumers-page", "listConsumers", []any{anything, 1, 50}},
		{"listProducers-page", "listProducers", []any{anything, 1, 50}},
		{"listConnectionsAsJSON", "listConnectionsAsJSON", nil},
		{"listAllSessionsAsJSON", "listAllSessionsAsJSON", nil},
		{"listProducersInfoAsJSON", "listProducersInfoAsJSON", nil},
	} {
		got, want := keysOf(t, w.call("broker", c.operation, c.args...).(string)), keysOf(t, golden(t, "exec-server/"+c.golden, nil))
		if !slices.Equal(got, want) {
			t.Errorf("%s\n got: %v\nwant: %v", c.operation, got, want)
		}
	}
	// the consumer in the golden has no filter, which comes last
	got, want := keysOf(t, w.call("broker", "listAllConsumersAsJSON").(string)), append(keysOf(t, golden(t, "exec-server/listAllConsumersAsJSON", nil)), "filter")
	if !slices.Equal(got, want) {
		t.Errorf("listAllConsumersAsJSON\n got: %v\nwant: %v", got, want)
	}
	got, want = keysOf(t, w.call("queue.orders", "listConsumersAsJSON").(string)), keysOf(t, golden(t, "exec-queue/listConsumersAsJSON", nil))
	if !slices.Equal(got, want) {
		t.Errorf("queue listConsumersAsJSON\n got: %v\nwant: %v", got, want)
	}
	// values of the row of orders
	var rows, wantRows struct{ Data []map[string]any }
	golden(t, "exec-server/listQueues-messageCount-gt0", &wantRows)
	const byCount = `{"field":"messageCount","operation":"GREATER_THAN","value":"0","sortField":"messageCount","sortOrder":"desc"}`
	if err := json.Unmarshal([]byte(w.call("broker", "listQueues", byCount, 1, 100).(string)), &rows); err != nil {
		t.Fatal(err)
	}
	for k, v := range wantRows.Data[0] {
		if got := rows.Data[0][k]; got != v && k != "id" {
			t.Errorf("listQueues: %s = %v, want %v", k, got, v)
		}
	}
}

// volatileKeys are removed before messages are compared.
func strip(list []map[string]any) []map[string]any {
	for _, m := range list {
		delete(m, "messageID")
		if _, ok := m["_AMQ_SCHED_DELIVERY"]; ok {
			m["_AMQ_SCHED_DELIVERY"] = 0.0
		}
		if text, ok := m["PropertiesText"].(string); ok && strings.HasPrefix(text, "{") {
			parts := strings.Split(strings.Trim(text, "{}"), ", ")
			sort.Strings(parts) // Artemis has them in the order of a hash
			m["PropertiesText"] = strings.Join(parts, ", ")
		}
	}
	return list
}

func TestMessages(t *testing.T) {
	w := newWorld(t, false)
	w.orders()
	same := func(name, got string) {
		t.Helper()
		var a, b []map[string]any
		golden(t, "exec-queue/"+name, &b)
		if err := json.Unmarshal([]byte(got), &a); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(strip(a), strip(b)) {
			t.Errorf("%s\n got: %v\nwant: %v", name, a, b)
		}
	}
	same("listMessagesAsJSON-empty", w.call("queue.orders", "listMessagesAsJSON", "").(string))
	same("listScheduledMessagesAsJSON", w.call("queue.orders", "listScheduledMessagesAsJSON").(string))
	if list := w.call("queue.orders", "listMessages", nil).([]any); len(list) != 7 {
		t.Errorf("%d messages are listed, want 7", len(list))
	}
	var delivering, want []struct {
		ConsumerName string
		Elements     []map[string]any
	}
	golden(t, "exec-queue/listDeliveringMessagesAsJSON", &want)
	if err := json.Unmarshal([]byte(w.call("queue.orders", "listDeliveringMessagesAsJSON").(string)), &delivering); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(strip(delivering[0].Elements), strip(want[0].Elements)) {
		t.Errorf("delivering: %v", delivering)
	}
	var browsed, wantBrowsed []map[string]any
	if err := json.Unmarshal([]byte(management.JSON(w.call("queue.orders", "browse"))), &browsed); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(goldenFile(t, "exec-queue/browse").Response.Value, &wantBrowsed); err != nil {
		t.Fatal(err)
	}
	for i, m := range strip(browsed) {
		for k, v := range strip(wantBrowsed)[i] {
			if !reflect.DeepEqual(m[k], v) {
				t.Errorf("browse: message %d: %s = %v, want %v", i, k, m[k], v)
			}
		}
	}
	if n := reflect.ValueOf(w.call("queue.orders", "browse", 1, 2)).Len(); n != 2 {
		t.Errorf("a page of 2 has %d", n)
	}
	if n := reflect.ValueOf(w.call("queue.orders", "browse", 4, 2)).Len(); n != 1 {
		t.Errorf("the last page has %d", n)
	}
	if n := reflect.ValueOf(w.call("queue.orders", "browse", 1, 10, "color='blue'")).Len(); n != 2 {
		t.Errorf("%d blue ones", n)
	}
	if got, want := w.call("queue.orders", "countMessages", "", "color").(string), golden(t, "exec-queue/countMessages-empty-color", nil); !sameJSON(got, want) {
		t.Errorf("countMessages by color: %s, want %s", got, want)
	}
	if got, want := w.call("queue.orders", "countDeliveringMessages", "", "color").(string), golden(t, "exec-queue/countDeliveringMessages-empty-color", nil); got != want {
		t.Errorf("countDeliveringMessages by color: %s, want %s", got, want)
	}
	for _, c := range []struct {
		golden, operation string
		args              []any
	}{
		{"listMessages-bad", "listMessages", []any{"bad ==="}},
		{"changeMessagePriority-999999-13", "changeMessagePriority", []any{int64(999999), 13}},
	} {
		_, err := w.try("queue.orders", c.operation, c.args...)
		_, want, _ := strings.Cut(goldenFile(t, "exec-queue/"+c.golden).Response.Error, " : ")
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", c.operation, err, want)
		}
	}
}

// Filters, order and pages of lists.
func TestPages(t *testing.T) {
	w := newWorld(t, false)
	for i, name := range []string{"alpha", "beta", "gamma"} {
		w.CreateAnycast(name)
		for range i * 2 {
			if err := w.admin.Send(brokertest.Text(name, "x", message.Anycast)); err != nil {
				t.Fatal(err)
			}
		}
	}
	list := func(options string, page, size int) string {
		var r struct {
			Data  []struct{ Name string }
			Count int
		}
		if err := json.Unmarshal([]byte(w.call("broker", "listQueues", options, page, size).(string)), &r); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, x := range r.Data {
			out = append(out, x.Name)
		}
		return fmt.Sprintf("%s of %d", strings.Join(out, " "), r.Count)
	}
	one := func(field, operation, value string) string {
		return fmt.Sprintf(`{"field":%q,"operation":%q,"value":%q,"sortField":"name","sortOrder":"asc"}`, field, operation, value)
	}
	for _, c := range []struct {
		options    string
		page, size int
		want       string
	}{
		{"", 1, 50, "DLQ ExpiryQueue alpha beta gamma of 5"},
		{anything, -1, -1, "DLQ ExpiryQueue alpha beta gamma of 5"},
		{"", 2, 2, "alpha beta of 5"},
		{"", 9, 100, " of 5"},
		{one("name", "CONTAINS", "a"), 1, 50, "alpha beta gamma of 3"},
		{one("name", "NOT_CONTAINS", "a"), 1, 50, "DLQ ExpiryQueue of 2"},
		{one("name", "EQUALS", "beta"), 1, 50, "beta of 1"},
		{one("name", "NOT_EQUALS", "beta"), 1, 50, "DLQ ExpiryQueue alpha gamma of 4"},
		{one("name", "GREATER_THAN", "a"), 1, 50, " of 0"},
		{one("messageCount", "GREATER_THAN", "1"), 1, 50, "beta gamma of 2"},
		{one("messageCount", "LESS_THAN", "3"), 1, 50, "DLQ ExpiryQueue alpha beta of 4"},
		{one("messageCount", "EQUALS", "4"), 1, 50, "gamma of 1"},
		{one("messageCount", "CONTAINS", "4"), 1, 50, " of 0"},
		{one("messageCount", "NOT_CONTAINS", "4"), 1, 50, "DLQ ExpiryQueue alpha beta gamma of 5"},
		{one("messageCount", "EQUALS", "x"), 1, 50, " of 0"},
		{one("nope", "EQUALS", "x"), 1, 50, "DLQ ExpiryQueue alpha beta gamma of 5"},
		{`{"field":"messageCount","operation":"GREATER_THAN","value":"0","sortField":"messageCount","sortOrder":"desc"}`, 1, 1, "gamma of 2"},
		{`{"searchFilters":[{"field":"name","operation":"CONTAINS","value":"a"},{"field":"messageCount","operation":"LESS_THAN","value":"4"}],"sortColumn":"name","sortOrder":"desc"}`, 1, 50, "beta alpha of 2"},
	} {
		if got := list(c.options, c.page, c.size); got != c.want {
			t.Errorf("%s %d %d\n got: %s\nwant: %s", c.options, c.page, c.size, got, c.want)
		}
	}
	_, err := w.try("broker", "listQueues", "garbage", 1, 3)
	_, want, _ := strings.Cut(goldenFile(t, "exec-server/listQueues-bad-options").Response.Error, " : ")
	if err == nil || err.Error() != want {
		t.Errorf("bad options: %v\nwant %s", err, want)
	}
	for _, o := range []string{`{"field":"name"}`, `{"field":"name","operation":"IS","value":"x"}`} {
		if _, err := w.try("broker", "listQueues", o, 1, 3); err == nil {
			t.Errorf("options %s are taken", o)
		}
	}
}

func TestPreparedTransactions(t *testing.T) {
	w := newWorld(t, false)
	w.CreateAnycast("orders")
	o := broker.SessionOptions{XA: true}
	c := w.Connect(o)
	x := broker.Xid{Format: 1, Global: "global", Branch: "branch"}
	c.Act(func(k *broker.Work) { c.XAStart(k, x) })
	if err := c.Send(brokertest.Text("orders", "x", message.Anycast)); err != nil {
		t.Fatal(err)
	}
	c.XAEnd(x)
	c.Do(func(k *broker.Work, a broker.Answer) { c.XAPrepare(k, x, a) })
	var got, want []map[string]any
	golden(t, "exec-server/listPreparedTransactionDetailsAsJSON", &want)
	if err := json.Unmarshal([]byte(w.call("broker", "listPreparedTransactionDetailsAsJSON").(string)), &got); err != nil {
		t.Fatal(err)
	}
	for k, v := range want[0] {
		if k == "tx_related_messages" {
			a, b := got[0][k].([]any)[0].(map[string]any), v.([]any)[0].(map[string]any)
			if a["message_operation_type"] != b["message_operation_type"] || a["message_type"] != b["message_type"] {
				t.Errorf("messages %v, want %v", a, b)
			}
			continue
		}
		if got[0][k] != v && k != "creation_time" {
			t.Errorf("%s = %v, want %v", k, got[0][k], v)
		}
	}
	const id = "YnJhbmNoZ2xvYmFsAQAAAA=="
	var lines []string
	if err := json.Unmarshal(goldenFile(t, "exec-server/listPreparedTransactions").Response.Value, &lines); err != nil {
		t.Fatal(err)
	}
	ours := w.call("broker", "listPreparedTransactions").([]string)
	if a, b := ours[0][strings.Index(ours[0], " bq:"):], lines[0][strings.Index(lines[0], " bq:"):]; a != b {
		t.Errorf("listed as %s, want %s", a, b)
	}
	if w.call("broker", "commitPreparedTransaction", "bm9wZQ==") != false {
		t.Error("an unknown branch was committed")
	}
	if w.call("broker", "commitPreparedTransaction", id) != true || w.Queue("orders").MessageCount() != 1 {
		t.Error("the branch was not committed")
	}
	if got := w.call("broker", "listHeuristicCommittedTransactions").([]string); !slices.Equal(got, []string{id}) {
		t.Errorf("heuristically committed: %v", got)
	}
	if got := w.call("broker", "listHeuristicRolledBackTransactions").([]string); len(got) != 0 {
		t.Errorf("heuristically rolled back: %v", got)
	}
	if html := w.call("broker", "listPreparedTransactionDetailsAsHTML").(string); !bytes.Contains([]byte(html), []byte("<h3>")) {
		t.Errorf("html: %s", html)
	}
}
