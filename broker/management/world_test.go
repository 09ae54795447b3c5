package management_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/management"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/broker/security"
)

// world is a broker in the state that the goldens were captured in, as far as it matters here.
type world struct {
	*brokertest.Broker
	g      *management.Registry
	access *security.Permissions
	audit  *auditLines
	admin  *brokertest.Client
	red    *brokertest.Sink
	dead   atomic.Bool // the node is not live any more
}

type auditLines struct {
	mu    sync.Mutex
	lines []string
}

func (a *auditLines) Enabled(management.AuditLevel) bool { return true }

func (a *auditLines) Log(_ management.AuditLevel, line string) {
	a.mu.Lock()
	a.lines = append(a.lines, line)
	a.mu.Unlock()
}

func (a *auditLines) take() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := strings.Join(a.lines, "\n")
	a.lines = nil
	return out
}

type acceptor struct{ started bool }

func (a *acceptor) Name() string { return "artemis" }
func (a *acceptor) Factory() string {
	return "org.apache.activemq.artemis.core.remoting.impl.netty.NettyAcceptorFactory"
}
func (a *acceptor) Params() map[string]any {
	return map[string]any{"scheme": "tcp", "host": "0.0.0.0", "port": "63316", "protocols": "CORE,AMQP,STOMP,HORNETQ,MQTT,OPENWIRE", "useEpoll": "true", "tcpReceiveBufferSize": "1048576", "tcpSendBufferSize": "1048576"}
}
func (a *acceptor) ExtraParams() map[string]any {
	return map[string]any{"amqpCredits": "1000", "amqpLowCredits": "300", "amqpMinLargeMessageSize": "102400", "amqpDuplicateDetection": "true", "supportAdvisory": "false", "suppressInternalManagementObjects": "false"}
}
func (a *acceptor) Started() bool { return a.started }
func (a *acceptor) Start() error  { a.started = true; return nil }
func (a *acceptor) Stop() error   { a.started = false; return nil }
func (a *acceptor) Reload() error { return nil }

// addressSettings are the settings of the test broker as management wants them.
type addressSettings struct{ b **brokertest.Broker }

func (s addressSettings) Find(address string) []*config.AddressSetting {
	return (*s.b).Settings.Find(address)
}
func (s addressSettings) Put(match string, a *config.AddressSetting) error {
	return (*s.b).Settings.Put(match, a)
}
func (s addressSettings) Remove(match string) { (*s.b).Settings.Remove(match) }

var everything = map[security.Permission][]string{}

func init() {
	for _, p := range []security.Permission{security.Send, security.Consume, security.CreateDurableQueue, security.DeleteDurableQueue, security.CreateNonDurableQueue,
		security.DeleteNonDurableQueue, security.Manage, security.Browse, security.CreateAddress, security.DeleteAddress} {
		everything[p] = []string{"amq"}
	}
}

// newWorld makes the broker; empty leaves out queues and messages. rbac asks for view and edit too.
func newWorld(t *testing.T, rbac bool) *world {
	t.Helper()
	access, err := security.NewPermissions(security.PermissionsOptions{}, []security.Setting{{Match: "#", Roles: everything}})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{access: access, audit: &auditLines{}}
	b := brokertest.New(t, func(o *broker.Options) {
		o.Name, o.Access = "mgmt0", access
		o.Live = func() bool { return !w.dead.Load() }
		o.Manage = func(s *broker.Session, m *message.Message) { w.g.Handle(s, m) }
	})
	w.Broker = b
	cfg := config.Default()
	cfg.Name = "mgmt0"
	a := &acceptor{started: true}
	env := management.Environment{Broker: b.Broker, Config: cfg, Settings: addressSettings{&w.Broker}, Access: access, Audit: w.audit,
		Acceptors: func() []management.Acceptor { return []management.Acceptor{a} }}
	if rbac {
		if env.RBAC, err = security.NewRBAC("", ""); err != nil {
			t.Fatal(err)
		}
	}
	w.g = management.New(env)
	o := brokertest.AutoCommit
	o.Principal = security.Principal{User: "admin", Roles: []string{"amq"}}
	w.admin = b.Connect(o)
	return w
}

// orders fills the queue orders as it was when the goldens were captured.
func (w *world) orders() {
	t := w.T
	t.Helper()
	for name, types := range map[string]broker.RoutingTypes{"orders": broker.AnycastSet, "news": broker.MulticastSet} {
		if _, err := w.CreateAddress(name, types, false); err != nil {
			t.Fatal(err)
		}
	}
	w.CreateAnycast("orders")
	if err := w.CreateDivert(broker.DivertConfig{Name: "div1", Address: "orders", ForwardAddress: "orders.copy", Filter: "color='none'", RoutingType: broker.DivertStrip}, false); err != nil {
		t.Fatal(err)
	}
	var waiting, scheduled []map[string]any
	golden(t, "exec-queue/listMessagesAsJSON-empty", &waiting)
	golden(t, "exec-queue/listScheduledMessagesAsJSON", &scheduled)
	var delivering []struct{ Elements []map[string]any }
	golden(t, "exec-queue/listDeliveringMessagesAsJSON", &delivering)
	var bodies []map[string]any
	if err := json.Unmarshal(goldenFile(t, "exec-queue/browse").Response.Value, &bodies); err != nil {
		t.Fatal(err)
	}
	all := append(append(waiting, scheduled...), delivering[0].Elements...)
	sort.Slice(all, func(i, j int) bool { return all[i]["messageID"].(float64) < all[j]["messageID"].(float64) })
	var err error
	if w.red, err = w.admin.Consume(broker.ConsumerOptions{Queue: "orders", Filter: "color='red'"}, 100); err != nil {
		t.Fatal(err)
	}
	for _, flat := range all {
		m := fromFlat(t, flat)
		if size, ok := flat["_AMQ_LARGE_SIZE"]; ok {
			if err := w.admin.SendLarge(m, make([]byte, int(size.(float64)))); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for _, b := range bodies {
			if b["userID"] == flat["userID"] {
				if list, ok := b["BodyPreview"].([]any); ok {
					for _, c := range list {
						m.Body = append(m.Body, byte(int8(c.(float64))))
					}
				}
				if text, ok := b["text"].(string); ok {
					m.Body = message.AppendText(nil, text)
				}
			}
		}
		if flat["_AMQ_SCHED_DELIVERY"] != nil {
			m.Body = message.AppendText(nil, "sched")
		}
		if flat["color"] == "red" {
			m.Body = message.AppendText(nil, "hello 0")
		}
		if err := w.admin.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	w.red.Wait(3)
}

// fromFlat makes a message of what the goldens list of it.
func fromFlat(t testing.TB, flat map[string]any) *message.Builder {
	m := message.New("orders", message.Type(flat["type"].(float64)))
	m.Durable, m.Priority, m.Timestamp = true, 4, int64(flat["timestamp"].(float64))
	id, err := hex.DecodeString(strings.ReplaceAll(strings.TrimPrefix(flat["userID"].(string), "ID:"), "-", ""))
	if err != nil {
		t.Fatal(err)
	}
	m.UserID = id
	keys := []string{}
	for k := range flat {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		n, _ := flat[k].(float64)
		switch k {
		case "messageID", "userID", "address", "type", "durable", "expiration", "priority", "timestamp":
		case "sh":
			m.Set(k, int16(n))
		case "by", "_AMQ_ROUTING_TYPE":
			m.Set(k, int8(n))
		case "n":
			m.Set(k, int32(n))
		case "l", "_AMQ_LARGE_SIZE":
			m.Set(k, int64(n))
		case "_AMQ_SCHED_DELIVERY":
			m.Set(k, brokertest.Epoch+3600000)
		case "d":
			m.Set(k, n)
		case "f":
			m.Set(k, float32(n))
		default:
			m.Set(k, flat[k])
		}
	}
	return m
}

type goldenResult struct {
	Operation string
	Arguments []any
	Response  struct {
		Value  json.RawMessage
		Error  string
		Status int
	}
}

func goldenFile(t testing.TB, name string) goldenResult {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var r goldenResult
	if err := json.Unmarshal(data, &r); err != nil {
		// responses of read have no operation around them
		t.Fatal(err)
	}
	if r.Response.Value == nil {
		if err := json.Unmarshal(data, &r.Response); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// golden reads a result that is JSON in a string.
func golden(t testing.TB, name string, into any) string {
	t.Helper()
	var text string
	if err := json.Unmarshal(goldenFile(t, name).Response.Value, &text); err != nil {
		t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	return text
}

var someone = management.Caller{Who: security.Principal{User: "admin", Roles: []string{"amq"}}, Remote: "127.0.0.1:5"}

// call calls an operation and fails the test on an error.
func (w *world) call(resource, operation string, args ...any) any {
	w.T.Helper()
	v, err := w.try(resource, operation, args...)
	if err != nil {
		w.T.Fatalf("%s.%s: %v", resource, operation, err)
	}
	return v
}

func (w *world) try(resource, operation string, args ...any) (any, error) {
	r, err := w.g.Resource(resource)
	if err != nil {
		return nil, err
	}
	return r.Invoke(someone, operation, args)
}
