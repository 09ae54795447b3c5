package management_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/management"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
)

// javaTypes are the types as testdata/operations.txt has them.
var javaTypes = map[string]management.Type{"String": management.String, "int": management.Int, "long": management.Long, "double": management.Double, "boolean": management.Bool,
	"Integer": management.NInt, "Long": management.NLong, "Boolean": management.NBool, "Map": management.Map, "void": management.Void, "String[]": management.Strings,
	"Object[]": management.Objects, "CompositeData[]": management.Composites, "Map[]": management.Maps}

// notYet are operations of parts that this broker does not have.
var notYet = []string{"startLockCoordinator", "stopLockCoordinator", "listLockCoordinatorsAsJSON", "createBridge"}

// Every operation of Artemis is there with its types.
func TestSignatures(t *testing.T) {
	w := newWorld(t, false)
	w.orders()
	data, err := os.ReadFile("testdata/operations.txt")
	if err != nil {
		t.Fatal(err)
	}
	resources := map[string]string{"broker": "broker", "address": "address.orders", "queue": "queue.orders", "acceptor": "acceptor.artemis", "component": "acceptor.artemis", "divert": "divert.div1"}
	n := 0
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		f := strings.Fields(line)
		name, rest, _ := strings.Cut(f[1], "(")
		if slices.Contains(notYet, name) && !strings.HasPrefix(f[1], "createBridge(String)") {
			continue
		}
		var params []string
		if list := strings.TrimSuffix(rest, ")"); list != "" {
			for _, p := range strings.Split(list, ",") {
				params = append(params, string(javaTypes[p]))
			}
		}
		signature := name + "(" + strings.Join(params, ",") + ")"
		r, err := w.g.Resource(resources[f[0]])
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.Class.Operations, func(o *management.Operation) bool { return o.Signature() == signature })
		if i < 0 {
			t.Errorf("%s has no %s", f[0], signature)
			continue
		}
		if got, want := r.Class.Operations[i].Returns, javaTypes[f[2]]; got != want {
			t.Errorf("%s of %s returns %s, want %s", signature, f[0], got, want)
		}
		n++
	}
	if n < 150 {
		t.Errorf("only %d operations were looked at", n)
	}
}

func (w *world) fails(resource, want, operation string, args ...any) {
	w.T.Helper()
	_, err := w.try(resource, operation, args...)
	if err == nil || err.Error() != want {
		w.T.Errorf("%s.%s: %v, want %s", resource, operation, err, want)
	}
}

func (w *world) is(want any, resource, operation string, args ...any) {
	w.T.Helper()
	if got := w.call(resource, operation, args...); got != want {
		w.T.Errorf("%s.%s%v = %v, want %v", resource, operation, args, got, want)
	}
}

func TestAddressOperations(t *testing.T) {
	w := newWorld(t, false)
	w.is("Address [name=cliaddr, routingTypes={ANYCAST}, autoCreated=false]", "broker", "createAddress", "cliaddr", "ANYCAST")
	w.fails("broker", "AMQ229204: Address already exists: cliaddr", "createAddress", "cliaddr", "ANYCAST")
	w.is("Address [name=cliaddr, routingTypes={MULTICAST,ANYCAST}, autoCreated=false]", "broker", "updateAddress", "cliaddr", "ANYCAST,MULTICAST")
	w.is("Address [name=cliaddr, routingTypes={MULTICAST,ANYCAST}, autoCreated=false]", "broker", "getAddressInfo", "cliaddr")
	w.fails("broker", "AMQ229203: Address Does Not Exist: nosuch", "getAddressInfo", "nosuch")
}

func TestListAddresses(t *testing.T) {
	w := newWorld(t, false)
	for _, name := range []string{"news", "amqpq", "$sys.mqtt.sessions", "orders"} {
		w.call("broker", "createAddress", name, "ANYCAST")
	}
	w.is("$sys.mqtt.sessions,amqpq,DLQ,ExpiryQueue,news,orders", "broker", "listAddresses", ",")
	w.CreateAnycast("orders")
	w.fails("broker", "AMQ229205: Address orders has bindings", "deleteAddress", "orders")
	w.call("broker", "deleteAddress", "orders", true)
	if w.Queue("orders") != nil {
		t.Error("the queue outlived its address")
	}
	w.fails("broker", "AMQ229203: Address Does Not Exist: orders", "deleteAddress", "orders")
}

func TestQueueOperations(t *testing.T) {
	w := newWorld(t, false)
	// what the command line calls: createQueue with 8 parameters
	w.is("Queue [name=cliq, address=cliaddr, routingType=ANYCAST, durable=true, purgeOnNoConsumers=false, autoCreateAddress=false, exclusive=false, lastValue=false, lastValueKey=null, nonDestructive=false, consumersBeforeDispatch=0, delayBeforeDispatch=-1, autoCreateAddress=false]",
		"broker", "createQueue", "cliaddr", "ANYCAST", "cliq", nil, true, -1, false, true)
	w.fails("broker", "AMQ229019: Queue cliq already exists on address cliaddr", "createQueue", "cliaddr", "ANYCAST", "cliq", nil, true, -1, false, true)
	w.fails("broker", "AMQ229203: Address Does Not Exist: other", "createQueue", "other", "ANYCAST", "q2", nil, true, -1, false, false)
	if got := w.call("broker", "updateQueue", "cliq", "ANYCAST", 4, nil).(string); !strings.Contains(got, "maxConsumers=4") || w.Queue("cliq").Config().MaxConsumers != 4 {
		t.Errorf("updateQueue: %s", got)
	}
	w.is(nil, "broker", "updateQueue", `{"name":"nope"}`)
	// overloads of the same count are told apart by types
	w.call("broker", "createQueue", "a1", "q1", false)
	if q := w.Queue("q1"); q.Config().Durable || q.Config().Address != "a1" {
		t.Errorf("createQueue(address, name, durable) made %+v", q.Config())
	}
	w.call("broker", "createQueue", "a1", "q2", "ANYCAST")
	if q := w.Queue("q2"); !q.Config().Durable || q.Routing() != message.Anycast {
		t.Errorf("createQueue(address, name, routingType) made %+v", q.Config())
	}
	w.call("broker", "createQueue", "a1", "q3", "n = 1", true)
	if q := w.Queue("q3"); q.Config().Filter != "n = 1" {
		t.Errorf("createQueue(address, name, filter, durable) made %+v", q.Config())
	}
	// JSON
	var made map[string]any
	if err := json.Unmarshal([]byte(w.call("broker", "createQueue", `{"name":"addr::jq","routing-type":"ANYCAST","max-consumers":"3","ring-size":7,"unknown":1,"filter-string":"n > 1"}`, true).(string)), &made); err != nil {
		t.Fatal(err)
	}
	if made["name"] != "jq" || made["address"] != "addr" || made["fqqn"] != true || made["max-consumers"] != 3.0 || made["ring-size"] != 7.0 || made["filter-string"] != "n > 1" {
		t.Errorf("made %v", made)
	}
	w.call("broker", "updateQueue", `{"name":"jq","ring-size":9}`)
	if c := w.Queue("jq").Config(); c.RingSize != 9 || c.Filter != "" || c.MaxConsumers != 3 {
		t.Errorf("updated to %+v", c)
	}
	w.fails("broker", `For input string: "x"`, "createQueue", `{"name":"z","ring-size":"x"}`)
	w.fails("broker", "AMQ229020: Invalid filter: a b", "createQueue", `{"name":"z","filter-string":"a b"}`)
	// destroy
	w.fails("broker", "AMQ229017: Queue nope does not exist", "destroyQueue", "nope")
	k, err := w.admin.Consume(broker.ConsumerOptions{Queue: "cliq"}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.try("broker", "destroyQueue", "cliq"); err == nil || !strings.HasPrefix(err.Error(), "AMQ229025: Cannot delete queue cliq on binding cliq") {
		t.Errorf("destroy with a consumer: %v", err)
	}
	w.call("broker", "destroyQueue", "cliq", true, true)
	if !k.Gone() || w.Queue("cliq") != nil || w.Address("cliaddr") != nil {
		t.Errorf("after destroyQueue with consumers and address: gone %v, queue %v, address %v", k.Gone(), w.Queue("cliq"), w.Address("cliaddr"))
	}
	w.fails("broker", "AMQ229069: no operation createQueue/0", "createQueue")
	w.fails("broker", "AMQ229069: no operation createQueue/1", "createQueue", 5)
}

func TestQueueControl(t *testing.T) {
	w := newWorld(t, false)
	w.orders()
	w.call("queue.orders", "pause", true)
	w.is(true, "queue.orders", "isPaused")
	w.is(true, "queue.orders", "isPersistedPause")
	w.call("queue.orders", "resume")
	w.is(false, "queue.orders", "isPaused")
	w.call("queue.orders", "disable")
	w.is(false, "queue.orders", "isEnabled")
	w.call("queue.orders", "enable")
	w.is(int64(11), "queue.orders", "getMessageCount")
	w.CreateAnycast("other")
	w.is(2, "queue.orders", "moveMessages", "color='blue'", "other")
	w.fails("queue.orders", "AMQ229049: No queue found for nowhere.q", "moveMessages", "", "nowhere.q")
	w.is(1, "queue.other", "moveMessages", 500, "n = 1", "orders", false, 1)
	w.is(1, "queue.other", "removeAllMessages")
	w.is(false, "queue.orders", "removeMessage", 999999)
	w.is(nil, "queue.orders", "deliverScheduledMessages", "")
	w.is(int64(0), "queue.orders", "getScheduledCount")
	w.is(7, "queue.orders", "expireMessages", nil)
	w.is(int64(7), "queue.ExpiryQueue", "getMessageCount")
	w.is(7, "queue.ExpiryQueue", "retryMessages")
	w.is(int64(10), "queue.orders", "getMessageCount")
	w.call("queue.orders", "resetMessagesExpired")
	w.is(int64(0), "queue.orders", "getMessagesExpired")
	w.is(int64(7), "address.orders", "purge")
	w.is(int64(3), "queue.orders", "getMessageCount")
	w.is("{}", "queue.orders", "peekFirstMessageAsJSON")
	w.is("[{}]", "queue.orders", "getFirstMessageAsJSON")
}

func TestSendMessage(t *testing.T) {
	w := newWorld(t, false)
	w.CreateAnycast("q")
	w.CreateQueue(broker.NewQueueConfig("q2"), broker.CreateOptions{AutoCreateAddress: true})
	id := w.call("queue.q", "sendMessage", map[string]any{"k": "v"}, 3, "hello", true, nil, nil).(string)
	raw := base64.StdEncoding.EncodeToString([]byte{1, 2, 3})
	w.call("address.q", "sendMessage", map[string]any{}, 4, raw, false, nil, nil, true)
	var list []map[string]any
	if err := json.Unmarshal([]byte(w.call("queue.q", "listMessagesAsJSON", "").(string)), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0]["k"] != "v" || list[0]["type"] != 3.0 || list[0]["durable"] != true || list[1]["userID"] == nil || list[1]["durable"] != false {
		t.Errorf("sent %v", list)
	}
	if got := management.JSON(list[0]["messageID"]); got != id {
		t.Errorf("id %s, listed as %s", id, got)
	}
	if _, err := w.try("queue.q", "sendMessage", map[string]any{}, 4, "not base64!", true, nil, nil); err == nil {
		t.Error("a body that is not base64 was taken")
	}
}

func TestDivertOperations(t *testing.T) {
	w := newWorld(t, false)
	w.CreateAnycast("from")
	w.CreateAnycast("to")
	w.CreateAnycast("to2")
	w.call("broker", "createDivert", `{"name":"d","address":"from","forwarding-address":"to","exclusive":true,"filter-string":"n = 1","transformer-configuration":{"class-name":"X","properties":{"a":"b"}}}`)
	w.is("n = 1", "divert.d", "getFilter")
	w.is("STRIP", "divert.d", "getRoutingType")
	w.is(`{"a":"b"}`, "divert.d", "getTransformerPropertiesAsJSON")
	send := func() {
		m := brokertest.Text("from", "x", message.Anycast)
		m.Set("n", int32(1))
		if err := w.admin.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	send()
	w.is(int64(1), "queue.to", "getMessageCount")
	w.call("broker", "updateDivert", `{"name":"d","forwarding-address":"to2"}`)
	send()
	w.is(int64(1), "queue.to", "getMessageCount")
	w.is(int64(1), "queue.to2", "getMessageCount")
	w.is("n = 1", "divert.d", "getFilter")
	w.fails("broker", "AMQ229223: Divert nope does not exist", "updateDivert", `{"name":"nope"}`)
	w.call("broker", "destroyDivert", "d")
	send()
	w.is(int64(1), "queue.from", "getMessageCount")
	w.call("broker", "createDivert", "d2", "r", "from", "to", false, nil, nil, "PASS")
	w.is("PASS", "divert.d2", "getRoutingType")
}

func TestSettings(t *testing.T) {
	w := newWorld(t, false)
	w.CreateAnycast("q")
	w.call("broker", "addAddressSettings", "q", `{"maxDeliveryAttempts":3,"unknownKey":1,"maxSizeBytes":"10K"}`)
	if s := w.Queue("q").Address().Settings(); s.MaxDeliveryAttempts != 3 || s.MaxSizeBytes != 10240 || s.DeadLetterAddress != "DLQ" {
		t.Errorf("settings in force: %+v", s)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(w.call("broker", "getAddressSettingsAsJSON", "q").(string)), &got); err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]any{"maxDeliveryAttempts": 3.0, "maxSizeBytes": 10240.0, "deadLetterAddress": "DLQ", "expiryAddress": "ExpiryQueue", "managementBrowsePageSize": 200.0,
		"slowConsumerThresholdMeasurementUnit": "MESSAGES_PER_SECOND"} {
		if got[k] != v {
			t.Errorf("%s = %v, want %v", k, got[k], v)
		}
	}
	if _, ok := got["redeliveryDelay"]; ok {
		t.Error("a setting that nobody has set is shown")
	}
	if c := w.Store.Configs(); len(c) != 1 || c[0].Kind != broker.AddressSettingConfig || c[0].Key != "q" {
		t.Errorf("stored: %+v", c)
	}
	w.call("broker", "removeAddressSettings", "q")
	if s := w.Queue("q").Address().Settings(); s.MaxDeliveryAttempts != 10 {
		t.Errorf("settings after removal: %d attempts", s.MaxDeliveryAttempts)
	}
	if c := w.Store.Configs(); len(c) != 0 {
		t.Errorf("stored after removal: %+v", c)
	}
	// the oldest form with single values
	w.call("broker", "addAddressSettings", "q", "DLA", "EXP", 5, false, 7, 100, 10, 5, 1, 2.0, 3, -1, false, "BLOCK", -1, 5, "KILL", true, true, true, true)
	if s := w.Queue("q").Address().Settings(); s.MaxDeliveryAttempts != 7 || s.DeadLetterAddress != "DLA" || s.AddressFullPolicy != "BLOCK" || s.RedeliveryMultiplier != 2 {
		t.Errorf("settings by single values: %+v", s)
	}
}

func TestSecuritySettings(t *testing.T) {
	w := newWorld(t, false)
	w.is(golden(t, "exec-server/getRolesAsJSON", nil), "broker", "getRolesAsJSON", "orders")
	w.call("broker", "addSecuritySettings", "s.#", "a,b", "a", "", "", "", "", "m")
	got := w.call("broker", "getRolesAsJSON", "s.x").(string)
	var roles []map[string]any
	if err := json.Unmarshal([]byte(got), &roles); err != nil {
		t.Fatal(err)
	}
	if len(roles) != 3 || roles[0]["send"] != true || roles[0]["consume"] != true || roles[1]["consume"] != false || roles[2]["manage"] != true {
		t.Errorf("roles %s", got)
	}
	if c := w.Store.Configs(); len(c) != 1 || !slices.Equal(c[0].Roles, []string{"a,b", "a", "", "", "", "", "m", "", "", "", "", ""}) {
		t.Errorf("stored: %+v", c)
	}
	w.call("broker", "addSecuritySettings", "s.#", got)
	if again := w.call("broker", "getRolesAsJSON", "s.x").(string); again != got {
		t.Errorf("after setting them from JSON: %s, want %s", again, got)
	}
	// what a session was granted is asked for again
	o := brokertest.AutoCommit
	o.Principal = security.Principal{User: "u", Roles: []string{"amq"}}
	c := w.Connect(o)
	w.CreateAnycast("t")
	if err := c.Send(brokertest.Text("t", "x", message.Anycast)); err != nil {
		t.Fatal(err)
	}
	w.call("broker", "addSecuritySettings", "t", "other", "", "", "", "", "", "")
	if err := c.Send(brokertest.Text("t", "x", message.Anycast)); err == nil || err.Error() != "AMQ229032: User: u does not have permission='SEND' on address t" {
		t.Errorf("after the permission was taken: %v", err)
	}
	w.call("broker", "removeSecuritySettings", "t")
	if err := c.Send(brokertest.Text("t", "x", message.Anycast)); err != nil {
		t.Error(err)
	}
}

func TestConnections(t *testing.T) {
	w := newWorld(t, false)
	w.CreateAnycast("q")
	c := w.Connect(brokertest.AutoCommit)
	k, err := c.Consume(broker.ConsumerOptions{Queue: "q"}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.admin.Send(brokertest.Text("q", "x", message.Anycast)); err != nil {
		t.Fatal(err)
	}
	k.Wait(1)
	w.is(false, "broker", "closeConsumerWithID", c.Name, "999")
	w.is(true, "broker", "closeConsumerWithID", c.Name, management.JSON(k.Sequence))
	if !k.Gone() || len(c.Consumers()) != 0 || w.Queue("q").Counts().Delivering != 0 || w.Queue("q").MessageCount() != 1 {
		t.Errorf("after the consumer was closed: gone %v, consumers %d, counts %+v", k.Gone(), len(c.Consumers()), w.Queue("q").Counts())
	}
	w.is(false, "broker", "closeConnectionWithID", "nope")
	w.is(true, "broker", "closeConnectionWithID", c.Conn.ID)
	if c.CloseReason() == "" {
		t.Error("the connection was not closed")
	}
	w.is(true, "broker", "closeConnectionsForUser", "admin")
	w.is(false, "broker", "closeConnectionsForAddress", "10.0.0.1")
	w.is(true, "broker", "closeConnectionsForAddress", "127.0.0.1")
	w.is(false, "broker", "closeConsumerConnectionsForAddress", "q")
}

func TestBlock(t *testing.T) {
	w := newWorld(t, false)
	w.CreateAnycast("q")
	granted := make(chan bool, 4)
	ask := func() bool {
		now, _ := w.admin.RequestCredits("q", 1, func(int32) { granted <- true })
		return now
	}
	if !ask() {
		t.Error("an address that is not blocked grants no credits")
	}
	w.is(true, "address.q", "block")
	w.is(true, "address.q", "isBlockedViaManagement")
	if ask() {
		t.Error("a blocked address grants credits")
	}
	w.call("address.q", "unblock")
	<-granted
}

func TestMessageCounters(t *testing.T) {
	w := newWorld(t, false)
	w.CreateAnycast("q")
	read := func() map[string]any {
		var c map[string]any
		if err := json.Unmarshal([]byte(w.call("queue.q", "listMessageCounter").(string)), &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	send := func() {
		if err := w.admin.Send(brokertest.Text("q", "x", message.Anycast)); err != nil {
			t.Fatal(err)
		}
	}
	var want map[string]any
	golden(t, "exec-queue/listMessageCounter", &want)
	for k := range want {
		if _, ok := read()[k]; !ok {
			t.Errorf("no key %s", k)
		}
	}
	send()
	if c := read(); c["count"] != 0.0 {
		t.Errorf("sampled without being enabled: %v", c)
	}
	w.call("broker", "enableMessageCounters")
	w.is(true, "broker", "isMessageCounterEnabled")
	if c := read(); c["count"] != 1.0 || c["countDelta"] != 1.0 || c["messageCount"] != 1.0 {
		t.Errorf("first reading: %v", c)
	}
	send()
	send()
	w.g.SampleCounters()
	if c := read(); c["count"] != 3.0 || c["countDelta"] != 2.0 || c["messageCountDelta"] != 2.0 {
		t.Errorf("second reading: %v", c)
	}
	if c := read(); c["countDelta"] != 0.0 {
		t.Errorf("third reading: %v", c)
	}
	var h, wantHistory struct {
		DayCounters []struct {
			Date     string
			Counters []int
		}
	}
	golden(t, "exec-queue/listMessageCounterHistory", &wantHistory)
	if err := json.Unmarshal([]byte(w.call("queue.q", "listMessageCounterHistory").(string)), &h); err != nil {
		t.Fatal(err)
	}
	if len(h.DayCounters) != 1 || len(h.DayCounters[0].Counters) != len(wantHistory.DayCounters[0].Counters) || slices.Max(h.DayCounters[0].Counters) != 3 {
		t.Errorf("history: %+v", h)
	}
	w.call("queue.q", "resetMessageCounter")
	if c := read(); c["count"] != 0.0 {
		t.Errorf("after a reset: %v", c)
	}
	w.call("broker", "setMessageCounterSamplePeriod", 2000)
	w.is(int64(2000), "broker", "getMessageCounterSamplePeriod")
	if _, err := w.try("broker", "setMessageCounterSamplePeriod", 10); err == nil {
		t.Error("a period of 10 ms was taken")
	}
}

func TestAudit(t *testing.T) {
	w := newWorld(t, false)
	w.CreateAnycast("orders")
	w.audit.take()
	for _, c := range []struct {
		resource, operation string
		args                []any
		want                []string
	}{
		{"broker", "getVersion", nil, []string{"AMQ601026: User admin(amq)@127.0.0.1:5 is getting version on target resource: broker"}},
		{"queue.orders", "getMessageCount", nil, []string{"AMQ601018: User admin(amq)@127.0.0.1:5 is getting message count on target resource: queue.orders"}},
		{"queue.orders", "pause", nil, []string{"AMQ601212: User admin(amq)@127.0.0.1:5 is calling pause on target resource: queue.orders", "AMQ601719: User admin(amq)@127.0.0.1:5 has paused queue orders"}},
		{"broker", "getRolesAsJSON", []any{"orders"}, []string{"AMQ601005: User admin(amq)@127.0.0.1:5 is getting roles as json on target resource: broker with parameters: [orders]"}},
		{"broker", "addUser", []any{"u", "secret", "r", true}, []string{"AMQ601152: User admin(amq)@127.0.0.1:5 is calling addUser on target resource: broker with parameters: [u, ****, r, true]"}},
	} {
		w.try(c.resource, c.operation, c.args...)
		got := strings.Split(w.audit.take(), "\n")
		for i := range got {
			got[i] = strings.TrimSuffix(got[i], " with parameters: []")
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s.%s\n got: %q\nwant: %q", c.resource, c.operation, got, c.want)
		}
	}
}
