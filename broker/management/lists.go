package management

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/saranga-mq/saranga/broker"
)

// A view is a paged list: rows with the fields that can be asked for.
type view[T any] struct {
	sort   string // field sorted by unless asked otherwise
	fields map[string]field[T]
	row    func(T) Object
}

// field is a field of a view that can be filtered and sorted by. Exactly one of the functions is set.
type field[T any] struct {
	text   func(T) string
	number func(T) float64
}

func textField[T any](f func(T) string) field[T] { return field[T]{text: f} }

func numField[T any, N int | int32 | int64](f func(T) N) field[T] {
	return field[T]{number: func(x T) float64 { return float64(f(x)) }}
}

// condition is one condition of a list's options.
type condition struct{ field, operation, value string }

// options are what a list is asked for.
type options struct {
	conditions []condition
	sort       string // "": the default
	sorted     bool   // false: no order was asked for by an empty field
	descending bool
}

// parseOptions reads the options of a list: a JSON object, or nothing.
func parseOptions(text, defaultSort string) (options, error) {
	o := options{sort: defaultSort, sorted: true}
	if strings.TrimSpace(text) == "" {
		return o, nil
	}
	var raw map[string]any
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return o, badJSON(text, err)
	}
	if list, ok := raw["searchFilters"].([]any); ok {
		for _, f := range list {
			m, _ := f.(map[string]any)
			c, err := parseCondition(m)
			if err != nil {
				return o, err
			}
			o.conditions = append(o.conditions, c)
		}
	} else {
		c, err := parseCondition(raw)
		if err != nil {
			return o, err
		}
		o.conditions = append(o.conditions, c)
	}
	by, hasField := raw["sortColumn"].(string)
	if !hasField {
		by, hasField = raw["sortField"].(string)
	}
	order, hasOrder := raw["sortOrder"].(string)
	if hasField && hasOrder {
		o.sort, o.sorted, o.descending = by, by != "", strings.EqualFold(order, "desc")
	}
	return o, nil
}

func parseCondition(m map[string]any) (condition, error) {
	var c condition
	for name, to := range map[string]*string{"field": &c.field, "operation": &c.operation, "value": &c.value} {
		v, ok := m[name].(string)
		if !ok {
			return c, fmt.Errorf("the options of a list need field, operation and value; %q is missing", name)
		}
		*to = v
	}
	switch c.operation {
	case "", "CONTAINS", "NOT_CONTAINS", "EQUALS", "NOT_EQUALS", "GREATER_THAN", "LESS_THAN":
		return c, nil
	}
	return c, fmt.Errorf("No enum constant org.apache.activemq.artemis.core.management.impl.view.predicate.PredicateFilterPart.Operation.%s", c.operation) //lint:ignore ST1005 the text of Java
}

func (v *view[T]) matches(x T, c condition) bool {
	f, known := v.fields[c.field]
	if !known {
		f, known = v.fields[camelCase(c.field)]
	}
	switch {
	case c.operation == "" || !known:
		return true
	case f.text != nil:
		s := f.text(x)
		switch c.operation {
		case "CONTAINS":
			return strings.Contains(s, c.value)
		case "NOT_CONTAINS":
			return !strings.Contains(s, c.value)
		case "EQUALS":
			return s == c.value
		case "NOT_EQUALS":
			return s != c.value
		}
		return false
	}
	n := f.number(x)
	want, err := strconv.ParseFloat(c.value, 64)
	switch c.operation {
	case "NOT_CONTAINS":
		return true
	case "NOT_EQUALS":
		return err != nil || n != want
	case "EQUALS":
		return err == nil && n == want
	case "GREATER_THAN":
		return err == nil && n > want
	case "LESS_THAN":
		return err == nil && n < want
	}
	return false
}

// camelCase is a field as it is spelled here; Artemis' command line asks for MESSAGE_COUNT.
func camelCase(constant string) string {
	first, rest, _ := strings.Cut(strings.ToLower(constant), "_")
	var b strings.Builder
	b.WriteString(first)
	for word := range strings.SplitSeq(rest, "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// page is one page of the elements that match, and how many match in all, as JSON.
func (v *view[T]) page(all []T, text string, page, size int) (string, error) {
	o, err := parseOptions(text, v.sort)
	if err != nil {
		return "", err
	}
	all = slices.DeleteFunc(all, func(x T) bool {
		return slices.ContainsFunc(o.conditions, func(c condition) bool { return !v.matches(x, c) })
	})
	if f, ok := v.fields[o.sort]; ok && o.sorted {
		slices.SortStableFunc(all, func(a, b T) int {
			var n int
			if f.text != nil {
				n = strings.Compare(f.text(a), f.text(b))
			} else {
				n = cmp.Compare(f.number(a), f.number(b))
			}
			if o.descending {
				return -n
			}
			return n
		})
	}
	count := len(all)
	if page != -1 && size != -1 {
		lo := min(max(0, (page-1)*size), count)
		all = all[lo:min(lo+max(0, size), count)]
	}
	rows := []Object{}
	for _, x := range all {
		rows = append(rows, v.row(x))
	}
	return JSON(Object{{"data", rows}, {"count", count}}), nil
}

func javaDate(ms int64) string { return time.UnixMilli(ms).Format("Mon Jan 02 15:04:05 MST 2006") }

func shortDate(ms int64) string { return time.UnixMilli(ms).Format("1/2/06, 3:04:05 PM") }

func ftoa[N int | int32 | int64](n N) string { return strconv.FormatInt(int64(n), 10) }

func btoa(b bool) string { return strconv.FormatBool(b) }

// implementation is the class that stands for a protocol's connections.
func implementation(protocol string) string {
	switch protocol {
	case "AMQP":
		return "ActiveMQProtonRemotingConnection"
	case "MQTT":
		return "MQTTConnection"
	case "STOMP":
		return "StompConnection"
	case "OPENWIRE":
		return "OpenWireConnection"
	}
	return "RemotingConnectionImpl"
}

func localAddress(c *broker.Connection) string {
	if c.Local == "" {
		return ""
	}
	return "tcp:///" + c.Local
}

func users(c *broker.Connection) string {
	seen := map[string]bool{}
	for _, s := range c.Sessions() {
		if u := s.Principal.User; u != "" {
			seen[u] = true
		}
	}
	return strings.Join(sortedKeys(seen), ",")
}

var connectionView = &view[*broker.Connection]{sort: "connectionID", fields: map[string]field[*broker.Connection]{
	"connectionID":   textField(func(c *broker.Connection) string { return c.ID }),
	"clientID":       textField((*broker.Connection).ClientID),
	"users":          textField(users),
	"protocol":       textField(func(c *broker.Connection) string { return c.Protocol }),
	"sessionCount":   numField(func(c *broker.Connection) int { return len(c.Sessions()) }),
	"remoteAddress":  textField(func(c *broker.Connection) string { return c.Remote }),
	"localAddress":   textField(localAddress),
	"sessionID":      textField(func(c *broker.Connection) string { return strings.Join(sessionNames(c), ",") }),
	"creationTime":   numField(func(c *broker.Connection) int64 { return c.Created }),
	"implementation": textField(func(c *broker.Connection) string { return implementation(c.Protocol) }),
}, row: func(c *broker.Connection) Object {
	return Object{{"connectionID", c.ID}, {"remoteAddress", c.Remote}, {"users", users(c)}, {"creationTime", javaDate(c.Created)},
		{"implementation", implementation(c.Protocol)}, {"protocol", c.Protocol}, {"clientID", c.ClientID()}, {"localAddress", localAddress(c)}, {"sessionCount", len(c.Sessions())}}
}}

func sessionNames(c *broker.Connection) []string {
	names := []string{}
	for _, s := range c.Sessions() {
		names = append(names, s.Name)
	}
	sort.Strings(names)
	return names
}

var sessionView = &view[*broker.Session]{sort: "id", fields: map[string]field[*broker.Session]{
	"id":            textField(func(s *broker.Session) string { return s.Name }),
	"connectionID":  textField(func(s *broker.Session) string { return s.Conn().ID }),
	"consumerCount": numField(func(s *broker.Session) int { return len(s.Consumers()) }),
	"producerCount": numField(func(s *broker.Session) int { return len(s.Producers()) }),
	"user":          textField(func(s *broker.Session) string { return s.Principal.User }),
	"validatedUser": textField(func(s *broker.Session) string { return s.Principal.User }),
	"protocol":      textField(func(s *broker.Session) string { return s.Conn().Protocol }),
	"clientID":      textField(func(s *broker.Session) string { return s.Conn().ClientID() }),
	"localAddress":  textField(func(s *broker.Session) string { return localAddress(s.Conn()) }),
	"remoteAddress": textField(func(s *broker.Session) string { return s.Conn().Remote }),
}, row: func(s *broker.Session) Object {
	return Object{{"id", s.Name}, {"user", s.Principal.User}, {"validatedUser", s.Principal.User}, {"creationTime", javaDate(s.Created)},
		{"consumerCount", len(s.Consumers())}, {"producerCount", len(s.Producers())}, {"connectionID", s.Conn().ID}, {"clientID", s.Conn().ClientID()}}
}}

func consumerFields() map[string]field[*broker.Consumer] {
	text := func(f func(*broker.Consumer) string) field[*broker.Consumer] { return textField(f) }
	stat := func(f func(broker.ConsumerStats) int64) field[*broker.Consumer] {
		return numField(func(c *broker.Consumer) int64 { return f(c.Stats()) })
	}
	f := map[string]field[*broker.Consumer]{
		"id":                                 numField(func(c *broker.Consumer) int64 { return c.Sequence }),
		"session":                            text(func(c *broker.Consumer) string { return c.Session.Name }),
		"connectionID":                       text(func(c *broker.Consumer) string { return c.Session.Conn().ID }),
		"user":                               text(func(c *broker.Consumer) string { return c.Session.Principal.User }),
		"validatedUser":                      text(func(c *broker.Consumer) string { return c.Session.Principal.User }),
		"address":                            text(func(c *broker.Consumer) string { return c.Queue.Address().Name() }),
		"queue":                              text(func(c *broker.Consumer) string { return c.Queue.Name() }),
		"filter":                             text((*broker.Consumer).Filter),
		"protocol":                           text(func(c *broker.Consumer) string { return c.Session.Conn().Protocol }),
		"clientID":                           text(func(c *broker.Consumer) string { return c.Session.Conn().ClientID() }),
		"localAddress":                       text(func(c *broker.Consumer) string { return localAddress(c.Session.Conn()) }),
		"remoteAddress":                      text(func(c *broker.Consumer) string { return c.Session.Conn().Remote }),
		"messagesInTransit":                  stat(func(s broker.ConsumerStats) int64 { return s.Outstanding }),
		"messagesInTransitSize":              numField((*broker.Consumer).OutstandingSize),
		"messagesDelivered":                  stat(func(s broker.ConsumerStats) int64 { return s.Delivered }),
		"messagesDeliveredSize":              stat(func(s broker.ConsumerStats) int64 { return s.DeliveredSize }),
		"messagesAcknowledged":               stat(func(s broker.ConsumerStats) int64 { return s.Acknowledged }),
		"messagesAcknowledgedAwaitingCommit": numField(func(*broker.Consumer) int { return 0 }),
		"lastDeliveredTime":                  stat(func(s broker.ConsumerStats) int64 { return s.LastDelivered }),
		"lastAcknowledgedTime":               stat(func(s broker.ConsumerStats) int64 { return s.LastAcknowledged }),
	}
	f["consumerID"], f["sessionID"], f["queueName"], f["deliveringCount"] = f["id"], f["session"], f["queue"], f["messagesInTransit"]
	return f
}

var consumerView = &view[*broker.Consumer]{sort: "id", fields: consumerFields(), row: func(c *broker.Consumer) Object {
	s := c.Stats()
	conn := c.Session.Conn()
	return Object{{"id", ftoa(c.Sequence)}, {"session", c.Session.Name}, {"clientID", conn.ClientID()}, {"user", c.Session.Principal.User}, {"validatedUser", c.Session.Principal.User},
		{"protocol", conn.Protocol}, {"queue", c.Queue.Name()}, {"queueType", strings.ToLower(c.Queue.Routing().String())}, {"filter", c.Filter()}, {"address", c.Queue.Address().Name()},
		{"localAddress", localAddress(conn)}, {"remoteAddress", conn.Remote}, {"creationTime", javaDate(c.Created)},
		{"messagesInTransit", ftoa(s.Outstanding)}, {"messagesInTransitSize", ftoa(c.OutstandingSize())}, {"messagesDelivered", ftoa(s.Delivered)},
		{"messagesDeliveredSize", ftoa(s.DeliveredSize)}, {"messagesAcknowledged", ftoa(s.Acknowledged)}, {"messagesAcknowledgedAwaitingCommit", "0"},
		{"lastDeliveredTime", s.LastDelivered}, {"lastAcknowledgedTime", s.LastAcknowledged}, {"status", consumerStatus(c)}}
}}

func consumerStatus(c *broker.Consumer) string {
	if c.Session.Closed() {
		return "Orphaned"
	}
	return "OK"
}

// consumerObject is a consumer in the lists that are not paged.
func consumerObject(c *broker.Consumer, withQueue bool) Object {
	s := c.Stats()
	o := Object{{"consumerID", c.ID}, {"sequentialId", c.Sequence}, {"connectionID", c.Session.Conn().ID}, {"sessionID", c.Session.Name}}
	if withQueue {
		o = append(o, Member{"queueName", c.Queue.Name()})
	}
	o = append(o, Object{{"browseOnly", c.Browse}, {"creationTime", c.Created}}...)
	if withQueue {
		o = append(o, Member{"deliveringCount", s.Outstanding})
	}
	o = append(o, Object{{"messagesInTransit", s.Outstanding}, {"messagesInTransitSize", c.OutstandingSize()}, {"messagesDelivered", s.Delivered}, {"messagesDeliveredSize", s.DeliveredSize},
		{"messagesAcknowledged", s.Acknowledged}, {"messagesAcknowledgedAwaitingCommit", 0}, {"lastDeliveredTime", s.LastDelivered}, {"lastAcknowledgedTime", s.LastAcknowledged},
		{"status", consumerStatus(c)}}...)
	if f := c.Filter(); f != "" && withQueue {
		o = append(o, Member{"filter", f})
	}
	return o
}

var producerView = &view[*broker.Producer]{sort: "creationTime", fields: map[string]field[*broker.Producer]{
	"id":            numField(func(p *broker.Producer) int64 { return p.ID }),
	"connectionID":  textField(func(p *broker.Producer) string { return p.Session.Conn().ID }),
	"session":       textField(func(p *broker.Producer) string { return p.Session.Name }),
	"user":          textField(func(p *broker.Producer) string { return p.Session.Principal.User }),
	"validatedUser": textField(func(p *broker.Producer) string { return p.Session.Principal.User }),
	"address":       textField(func(p *broker.Producer) string { return p.Address }),
	"protocol":      textField(func(p *broker.Producer) string { return p.Session.Conn().Protocol }),
	"clientID":      textField(func(p *broker.Producer) string { return p.Session.Conn().ClientID() }),
	"localAddress":  textField(func(p *broker.Producer) string { return localAddress(p.Session.Conn()) }),
	"remoteAddress": textField(func(p *broker.Producer) string { return p.Session.Conn().Remote }),
	"creationTime":  numField(func(p *broker.Producer) int64 { return p.Created }),
}, row: func(p *broker.Producer) Object {
	n, size, last := p.Sent()
	conn := p.Session.Conn()
	return Object{{"id", ftoa(p.ID)}, {"name", p.Name}, {"session", p.Session.Name}, {"clientID", conn.ClientID()}, {"user", p.Session.Principal.User}, {"validatedUser", p.Session.Principal.User},
		{"protocol", conn.Protocol}, {"address", p.Address}, {"localAddress", localAddress(conn)}, {"remoteAddress", conn.Remote}, {"creationTime", ftoa(p.Created)},
		{"msgSent", n}, {"msgSizeSent", size}, {"lastProducedMessageID", last}}
}}

func producerObject(p *broker.Producer) Object {
	n, size, last := p.Sent()
	return Object{{"id", ftoa(p.ID)}, {"name", p.Name}, {"connectionID", p.Session.Conn().ID}, {"sessionID", p.Session.Name}, {"creationTime", ftoa(p.Created)}, {"destination", p.Address},
		{"lastProducedMessageID", last}, {"msgSent", n}, {"msgSizeSent", size}}
}

var addressView = &view[address]{sort: "id", fields: map[string]field[address]{
	"id":           numField(func(x address) int64 { return x.info().ID }),
	"name":         textField(func(x address) string { return x.a.Name() }),
	"internal":     textField(func(x address) string { return btoa(x.info().Internal) }),
	"routingTypes": textField(func(x address) string { return "[" + strings.Join(routingNames(x.info().RoutingTypes), ", ") + "]" }),
	"queueCount":   numField(func(x address) int { return len(x.info().Queues) }),
}, row: func(x address) Object {
	i := x.info()
	return Object{{"id", ftoa(i.ID)}, {"name", x.a.Name()}, {"internal", btoa(i.Internal)}, {"routingTypes", "[" + strings.Join(routingNames(i.RoutingTypes), ", ") + "]"}, {"queueCount", ftoa(len(i.Queues))}}
}}

// queueRow is a queue with its numbers, read once per list.
type queueRow struct {
	q *broker.Queue
	broker.QueueConfig
	broker.Counts
}

func queueFields() map[string]field[queueRow] {
	flag := func(f func(queueRow) bool) field[queueRow] {
		return textField(func(r queueRow) string { return btoa(f(r)) })
	}
	return map[string]field[queueRow]{
		"id":                 numField(func(r queueRow) int64 { return r.q.ID }),
		"name":               textField(func(r queueRow) string { return r.Name }),
		"consumerID":         textField(func(r queueRow) string { return consumerIDs(r.q) }),
		"address":            textField(func(r queueRow) string { return r.QueueConfig.Address }),
		"maxConsumers":       numField(func(r queueRow) int32 { return r.MaxConsumers }),
		"filter":             textField(func(r queueRow) string { return r.Filter }),
		"messageCount":       numField(func(r queueRow) int64 { return r.Messages }),
		"consumerCount":      numField(func(r queueRow) int { return r.Consumers }),
		"deliveringCount":    numField(func(r queueRow) int64 { return r.Delivering }),
		"messagesAdded":      numField(func(r queueRow) int64 { return r.Stats.Added }),
		"messagesAcked":      numField(func(r queueRow) int64 { return r.Stats.Acknowledged }),
		"messagesExpired":    numField(func(r queueRow) int64 { return r.Stats.Expired }),
		"messagesKilled":     numField(func(r queueRow) int64 { return r.Stats.Killed }),
		"scheduledCount":     numField(func(r queueRow) int64 { return r.Scheduled }),
		"routingType":        textField(func(r queueRow) string { return r.Routing.String() }),
		"user":               textField(func(r queueRow) string { return r.User }),
		"autoCreated":        flag(func(r queueRow) bool { return r.AutoCreated }),
		"durable":            flag(func(r queueRow) bool { return r.QueueConfig.Durable }),
		"paused":             flag(func(r queueRow) bool { return r.Paused }),
		"temporary":          flag(func(r queueRow) bool { return r.Temporary }),
		"purgeOnNoConsumers": flag(func(r queueRow) bool { return r.PurgeOnNoConsumers }),
		"exclusive":          flag(func(r queueRow) bool { return r.Exclusive }),
		"lastValue":          flag(func(r queueRow) bool { return r.LastValue }),
		"internalQueue":      flag(func(r queueRow) bool { return r.Internal }),
	}
}

func consumerIDs(q *broker.Queue) string {
	var ids []string
	for _, c := range q.Consumers() {
		ids = append(ids, ftoa(c.Sequence))
	}
	return strings.Join(ids, ",")
}

var queueView = &view[queueRow]{sort: "name", fields: queueFields(), row: func(r queueRow) Object {
	c := r.QueueConfig
	return Object{{"id", ftoa(r.q.ID)}, {"name", c.Name}, {"address", c.Address}, {"filter", c.Filter}, {"durable", btoa(c.Durable)}, {"paused", btoa(r.Paused)},
		{"temporary", btoa(c.Temporary)}, {"purgeOnNoConsumers", btoa(c.PurgeOnNoConsumers)}, {"consumerCount", ftoa(r.Consumers)}, {"maxConsumers", ftoa(c.MaxConsumers)},
		{"autoCreated", btoa(c.AutoCreated)}, {"user", c.User}, {"routingType", c.Routing.String()}, {"messagesAdded", ftoa(r.Stats.Added)}, {"messageCount", ftoa(r.Messages)},
		{"messagesAcked", ftoa(r.Stats.Acknowledged)}, {"messagesExpired", ftoa(r.Stats.Expired)}, {"deliveringCount", ftoa(r.Delivering)}, {"messagesKilled", ftoa(r.Stats.Killed)},
		{"directDeliver", btoa(r.Consumers > 0 && r.Messages == r.Delivering)}, {"exclusive", btoa(c.Exclusive)}, {"lastValue", btoa(c.LastValue)}, {"lastValueKey", c.LastValueKey},
		{"scheduledCount", ftoa(r.Scheduled)}, {"groupRebalance", btoa(c.GroupRebalance)}, {"groupRebalancePauseDispatch", btoa(c.GroupRebalancePauseDisp)},
		{"groupBuckets", ftoa(c.GroupBuckets)}, {"groupFirstKey", c.GroupFirstKey}, {"enabled", btoa(c.Enabled)}, {"ringSize", ftoa(c.RingSize)},
		{"consumersBeforeDispatch", ftoa(c.ConsumersBeforeDispatch)}, {"delayBeforeDispatch", ftoa(c.DelayBeforeDispatch)}, {"autoDelete", btoa(c.AutoDelete)},
		{"internalQueue", btoa(c.Internal)}}
}}

func (g *Registry) connections() []*broker.Connection {
	list := g.b.Connections()
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	return list
}

func (g *Registry) sessions() []*broker.Session {
	list := g.b.Sessions()
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

func (g *Registry) consumers() []*broker.Consumer {
	var out []*broker.Consumer
	for _, s := range g.sessions() {
		out = append(out, s.Consumers()...)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Sequence < out[j].Sequence })
	return out
}

func (g *Registry) producers() []*broker.Producer {
	var out []*broker.Producer
	for _, s := range g.sessions() {
		out = append(out, s.Producers()...)
	}
	return out
}

func (g *Registry) addresses() []address {
	var out []address
	for _, a := range g.b.Addresses() {
		out = append(out, address{g, a})
	}
	return out
}

func (g *Registry) queueRows() []queueRow {
	var out []queueRow
	for _, q := range g.b.Queues() {
		out = append(out, queueRow{q, q.Config(), q.Counts()})
	}
	return out
}
