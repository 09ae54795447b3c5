package management

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/saranga-mq/saranga/broker"
)

// defineLists are the operations that list things.
func defineLists(d *definition[*Registry]) {
	page := func(name, desc string, f func(*Registry, string, int, int) (string, error)) {
		d.op(name+"(options string, pageNumber int, pageSize int)", String, Info, desc, func(g *Registry, c *Call) (any, error) {
			return f(g, c.text(0), c.int(1), c.int(2))
		})
	}
	page("listConnections", "A page of the connections.", func(g *Registry, o string, n, size int) (string, error) {
		return connectionView.page(g.connections(), o, n, size)
	})
	page("listSessions", "A page of the sessions.", func(g *Registry, o string, n, size int) (string, error) {
		return sessionView.page(g.sessions(), o, n, size)
	})
	page("listConsumers", "A page of the consumers.", func(g *Registry, o string, n, size int) (string, error) {
		return consumerView.page(g.consumers(), o, n, size)
	})
	page("listProducers", "A page of the producers.", func(g *Registry, o string, n, size int) (string, error) {
		return producerView.page(g.producers(), o, n, size)
	})
	page("listAddresses", "A page of the addresses.", func(g *Registry, o string, n, size int) (string, error) {
		return addressView.page(g.addresses(), o, n, size)
	})
	page("listQueues", "A page of the queues.", func(g *Registry, o string, n, size int) (string, error) {
		return queueView.page(g.queueRows(), o, n, size)
	})

	d.op("listAddresses(separator string)", String, Info, "Names of all addresses in one text.", func(g *Registry, c *Call) (any, error) {
		names := g.addressNames()
		sort.SliceStable(names, func(i, j int) bool { return strings.ToLower(names[i]) < strings.ToLower(names[j]) })
		return strings.Join(names, c.text(0)), nil
	})
	d.op("getQueueNames(routingType string)", Strings, Info, "Names of the queues of a routing type.", func(g *Registry, c *Call) (any, error) {
		t, err := parseRouting(c.text(0))
		if err != nil {
			return nil, err
		}
		return g.queueNames(func(q *broker.Queue) bool { return q.Routing() == t }), nil
	})
	d.op("listConnectionIDs()", Strings, Info, "Ids of all connections.", func(g *Registry, _ *Call) (any, error) {
		return names(g.connections(), func(c *broker.Connection) string { return c.ID }), nil
	})
	d.op("listConnectionsAsJSON()", String, Info, "Connections, as JSON.", func(g *Registry, _ *Call) (any, error) {
		out := []Object{}
		for _, c := range g.connections() {
			out = append(out, Object{{"connectionID", c.ID}, {"clientAddress", c.Remote}, {"creationTime", c.Created}, {"implementation", implementation(c.Protocol)}, {"sessionCount", len(c.Sessions())}})
		}
		return JSON(out), nil
	})
	d.op("listSessions(connectionID string)", Strings, Info, "Ids of the sessions of a connection.", func(g *Registry, c *Call) (any, error) {
		if conn := g.connection(c.text(0)); conn != nil {
			return sessionNames(conn), nil
		}
		return []string{}, nil
	})
	session := func(s *broker.Session) Object {
		o := Object{{"sessionID", s.Name}, {"creationTime", s.Created}, {"consumerCount", len(s.Consumers())}}
		if u := s.Principal.User; u != "" {
			o = append(o, Object{{"validatedUser", u}, {"principal", u}}...)
		}
		if m := s.Metadata(); len(m) > 0 {
			o = append(o, Member{"metadata", m})
		}
		return o
	}
	d.op("listSessionsAsJSON(connectionID string)", String, Info, "Sessions of a connection, as JSON.", func(g *Registry, c *Call) (any, error) {
		out := []Object{}
		for _, s := range g.sessions() {
			if s.Conn().ID == c.text(0) {
				out = append(out, session(s))
			}
		}
		return JSON(out), nil
	})
	d.op("listAllSessionsAsJSON()", String, Info, "All sessions, as JSON.", func(g *Registry, _ *Call) (any, error) {
		out := []Object{}
		for _, s := range g.sessions() {
			out = append(out, session(s))
		}
		return JSON(out), nil
	})
	d.op("listConsumersAsJSON(connectionID string)", String, Info, "Consumers of a connection, as JSON.", func(g *Registry, c *Call) (any, error) {
		out := []Object{}
		for _, k := range g.consumers() {
			if k.Session.Conn().ID == c.text(0) {
				out = append(out, consumerObject(k, true))
			}
		}
		return JSON(out), nil
	})
	d.op("listAllConsumersAsJSON()", String, Info, "All consumers, as JSON.", func(g *Registry, _ *Call) (any, error) {
		out := []Object{}
		for _, k := range g.consumers() {
			out = append(out, consumerObject(k, true))
		}
		return JSON(out), nil
	})
	d.op("listProducersInfoAsJSON()", String, Info, "All producers, as JSON.", func(g *Registry, _ *Call) (any, error) {
		out := []Object{}
		for _, p := range g.producers() {
			out = append(out, producerObject(p))
		}
		return JSON(out), nil
	})
	remotes := func(g *Registry, ip string) []string {
		out := []string{}
		for _, c := range g.connections() {
			if strings.HasPrefix(c.Remote, ip) {
				out = append(out, c.Remote)
			}
		}
		return out
	}
	d.op("listRemoteAddresses()", Strings, Info, "Addresses that clients connect from.", func(g *Registry, _ *Call) (any, error) { return remotes(g, ""), nil })
	d.op("listRemoteAddresses(ipAddress string)", Strings, Info, "Addresses of a host that clients connect from.", func(g *Registry, c *Call) (any, error) { return remotes(g, c.text(0)), nil })
	d.op("listBindingsForAddress(address string)", String, Info, "What is bound to an address.", func(g *Registry, c *Call) (any, error) {
		a := g.b.Address(c.text(0))
		if a == nil {
			return "", nil
		}
		var out []string
		i := g.b.Info(a)
		for _, name := range i.Queues {
			if q := g.b.Queue(name); q != nil {
				out = append(out, bindingText(q))
			}
		}
		for _, name := range i.Diverts {
			out = append(out, "DivertBinding [name="+name+"]")
		}
		return strings.Join(out, ","), nil
	})
	d.op("listBrokerConnections()", String, Info, "Connections to other brokers, as JSON.", func(g *Registry, _ *Call) (any, error) {
		list := or(g.env.Node.BrokerConnections, nil)
		if list == nil {
			list = []Object{}
		}
		return JSON(list), nil
	})
	d.op("listNetworkTopology()", String, Info, "Brokers of the cluster, as JSON.", func(g *Registry, _ *Call) (any, error) {
		out := []Object{}
		for _, m := range or(g.env.Node.Topology, nil) {
			o := Object{{"nodeID", m.NodeID}}
			if m.Primary != "" {
				o = append(o, Object{{"live", m.Primary}, {"primary", m.Primary}}...)
			}
			if m.Backup != "" {
				o = append(o, Member{"backup", m.Backup})
			}
			out = append(out, o)
		}
		return JSON(out), nil
	})
	d.op("listDivertNames()", Strings, Info, "Names of all diverts.", func(g *Registry, _ *Call) (any, error) { return g.divertNames(), nil })
}

func (g *Registry) connection(id string) *broker.Connection {
	for _, c := range g.b.Connections() {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// defineAddresses are the operations on addresses.
func defineAddresses(d *definition[*Registry]) {
	text := func(g *Registry, a *broker.Address) string { return addressText(a.Name(), g.b.Info(a)) }
	d.op("createAddress(name string, routingTypes string)", String, Action, "Creates an address.", func(g *Registry, c *Call) (any, error) {
		types, err := parseRoutings(c.text(1))
		if err != nil {
			return nil, err
		}
		a, err := g.b.CreateAddress(c.text(0), types, false)
		if err != nil {
			return nil, err
		}
		return text(g, a), nil
	})
	d.op("updateAddress(name string, routingTypes string)", String, Action, "Changes the routing types of an address.", func(g *Registry, c *Call) (any, error) {
		types, err := parseRoutings(c.text(1))
		if err != nil {
			return nil, err
		}
		a, err := g.b.UpdateAddress(c.text(0), types)
		if err != nil {
			return nil, err
		}
		return text(g, a), nil
	})
	d.op("deleteAddress(name string)", Void, Action, "Deletes an address that nothing is bound to.", func(g *Registry, c *Call) (any, error) {
		return nil, g.work(func(w *broker.Work) error { return g.b.DeleteAddress(w, c.text(0), false) })
	})
	d.op("deleteAddress(name string, force bool)", Void, Action, "Deletes an address, if asked for with its queues.", func(g *Registry, c *Call) (any, error) {
		return nil, g.work(func(w *broker.Work) error { return g.b.DeleteAddress(w, c.text(0), c.bool(1)) })
	})
	d.op("getAddressInfo(address string)", String, Info, "Describes an address.", func(g *Registry, c *Call) (any, error) {
		a := g.b.Address(c.text(0))
		if a == nil {
			return nil, fmt.Errorf("AMQ229203: Address Does Not Exist: %s", c.text(0))
		}
		return text(g, a), nil
	})
}

// defineQueues are the operations on queues.
func defineQueues(d *definition[*Registry]) {
	create := func(g *Registry, text string, ignore bool) (any, error) {
		j, err := parseQueue(text)
		if err != nil {
			return nil, err
		}
		q, auto, err := g.createQueue(j, ignore)
		if err != nil {
			return nil, err
		}
		return JSON(queueObject(q.ID, q.Config(), auto, strings.Contains(j["name"], "::"))), nil
	}
	d.op("createQueue(queueConfiguration string)", String, Action, "Creates a queue from its configuration as JSON, which it returns complete.", func(g *Registry, c *Call) (any, error) {
		return create(g, c.text(0), false)
	})
	d.op("createQueue(queueConfiguration string, ignoreIfExists bool)", String, Action, "Creates a queue; one of that name may be there already.", func(g *Registry, c *Call) (any, error) {
		return create(g, c.text(0), c.bool(1))
	})
	// the older forms: parameters in the order of keys; "" stands for a key that is left to its default
	old := func(name, signature string, returns Type, keys ...string) {
		d.op(name+"("+signature+")", returns, Action, "Creates a queue.", func(g *Registry, c *Call) (any, error) {
			j := queueJSON{}
			for i, k := range keys {
				if v := c.args[i]; v != nil && v != "" {
					j[k] = fmt.Sprint(v)
				}
			}
			q, _, err := g.createQueue(j, name == "deployQueue")
			if err != nil || returns == Void {
				return nil, err
			}
			return queueText(q.Config()), nil
		})
	}
	old("createQueue", "address string, name string", Void, "address", "name")
	old("createQueue", "address string, name string, routingType string", Void, "address", "name", "routing-type")
	old("createQueue", "address string, name string, durable bool", Void, "address", "name", "durable")
	old("createQueue", "address string, name string, durable bool, routingType string", Void, "address", "name", "durable", "routing-type")
	old("createQueue", "address string, name string, filter string, durable bool", Void, "address", "name", "filter-string", "durable")
	old("createQueue", "address string, name string, filter string, durable bool, routingType string", Void, "address", "name", "filter-string", "durable", "routing-type")
	const (
		head     = "address string, routingType string, name string, filter string, durable bool, maxConsumers int, purgeOnNoConsumers bool, "
		groups   = "exclusive bool, groupRebalance bool, groupBuckets int, "
		first    = "groupFirstKey string, "
		values   = "lastValue bool, lastValueKey string, nonDestructive bool, consumersBeforeDispatch int, delayBeforeDispatch long, "
		deletion = "autoDelete bool, autoDeleteDelay long, autoDeleteMessageCount long, "
		address  = "autoCreateAddress bool"
	)
	keys := map[string][]string{
		head:     {"address", "routing-type", "name", "filter-string", "durable", "max-consumers", "purge-on-no-consumers"},
		groups:   {"exclusive", "group-rebalance", "group-buckets"},
		first:    {"group-first-key"},
		values:   {"last-value", "last-value-key", "non-destructive", "consumers-before-dispatch", "delay-before-dispatch"},
		deletion: {"auto-delete", "auto-delete-delay", "auto-delete-message-count"},
		address:  {"auto-create-address"},
	}
	long := func(parts ...string) {
		var k []string
		for _, p := range parts {
			k = append(k, keys[p]...)
		}
		old("createQueue", strings.Join(parts, ""), String, k...)
	}
	long(head, address)
	long(head, groups, values, address)
	long(head, groups, values, deletion, address)
	long(head, groups, first, values, deletion, address)
	const ring = "autoCreateAddress bool, ringSize long"
	keys[ring] = []string{"auto-create-address", "ring-size"}
	long(head, groups, first, values, deletion, ring)
	old("deployQueue", "address string, name string, filter string", Void, "address", "name", "filter-string")
	old("deployQueue", "address string, name string, filter string, durable bool", Void, "address", "name", "filter-string", "durable")

	d.op("updateQueue(queueConfiguration string)", String, Action, "Changes a queue; without filter-string its filter is removed.", func(g *Registry, c *Call) (any, error) {
		j, err := parseQueue(c.text(0))
		if err != nil {
			return nil, err
		}
		q, err := g.updateQueue(j)
		if q == nil || err != nil {
			return nil, err
		}
		return JSON(queueObject(q.ID, q.Config(), g.b.SettingsFor(q.Address().Name()).AutoCreateAddresses, strings.Contains(j["name"], "::"))), nil
	})
	update := func(signature string, keys ...string) {
		d.op("updateQueue("+signature+")", String, Action, "Changes a queue.", func(g *Registry, c *Call) (any, error) {
			j := queueJSON{}
			for i, k := range keys {
				if v := c.args[i]; v != nil {
					j[k] = fmt.Sprint(v)
				}
			}
			if q := g.b.Queue(j["name"]); q != nil && !slices.Contains(keys, "filter-string") {
				j["filter-string"] = q.Config().Filter
			}
			q, err := g.updateQueue(j)
			if err != nil {
				return nil, err
			}
			if q == nil {
				return nil, fmt.Errorf("AMQ229017: Queue %s does not exist", j["name"])
			}
			return queueText(q.Config()), nil
		})
	}
	update("name string, routingType string, maxConsumers Integer, purgeOnNoConsumers Boolean", "name", "routing-type", "max-consumers", "purge-on-no-consumers")
	update("name string, routingType string, maxConsumers Integer, purgeOnNoConsumers Boolean, exclusive Boolean", "name", "routing-type", "max-consumers", "purge-on-no-consumers", "exclusive")
	update("name string, routingType string, maxConsumers Integer, purgeOnNoConsumers Boolean, exclusive Boolean, user string", "name", "routing-type", "max-consumers", "purge-on-no-consumers", "exclusive", "user")
	update("name string, routingType string, filter string, maxConsumers Integer, purgeOnNoConsumers Boolean, exclusive Boolean, groupRebalance Boolean, groupBuckets Integer, nonDestructive Boolean, consumersBeforeDispatch Integer, delayBeforeDispatch Long, user string",
		"name", "routing-type", "filter-string", "max-consumers", "purge-on-no-consumers", "exclusive", "group-rebalance", "group-buckets", "non-destructive", "consumers-before-dispatch", "delay-before-dispatch", "user")
	update("name string, routingType string, filter string, maxConsumers Integer, purgeOnNoConsumers Boolean, exclusive Boolean, groupRebalance Boolean, groupBuckets Integer, groupFirstKey string, nonDestructive Boolean, consumersBeforeDispatch Integer, delayBeforeDispatch Long, user string",
		"name", "routing-type", "filter-string", "max-consumers", "purge-on-no-consumers", "exclusive", "group-rebalance", "group-buckets", "group-first-key", "non-destructive", "consumers-before-dispatch", "delay-before-dispatch", "user")
	update("name string, routingType string, filter string, maxConsumers Integer, purgeOnNoConsumers Boolean, exclusive Boolean, groupRebalance Boolean, groupBuckets Integer, groupFirstKey string, nonDestructive Boolean, consumersBeforeDispatch Integer, delayBeforeDispatch Long, user string, ringSize Long",
		"name", "routing-type", "filter-string", "max-consumers", "purge-on-no-consumers", "exclusive", "group-rebalance", "group-buckets", "group-first-key", "non-destructive", "consumers-before-dispatch", "delay-before-dispatch", "user", "ring-size")

	destroy := func(g *Registry, name string, o broker.DeleteQueueOptions) error {
		if g.b.Queue(name) == nil {
			return fmt.Errorf("AMQ229017: Queue %s does not exist", name)
		}
		o.CheckConsumers = !o.RemoveConsumers
		return g.work(func(w *broker.Work) error { return g.b.DeleteQueue(w, name, o) })
	}
	d.op("destroyQueue(name string)", Void, Action, "Deletes a queue without consumers, with its messages.", func(g *Registry, c *Call) (any, error) {
		return nil, destroy(g, c.text(0), broker.DeleteQueueOptions{})
	})
	d.op("destroyQueue(name string, removeConsumers bool)", Void, Action, "Deletes a queue with its messages, if asked for with its consumers too.", func(g *Registry, c *Call) (any, error) {
		return nil, destroy(g, c.text(0), broker.DeleteQueueOptions{RemoveConsumers: c.bool(1)})
	})
	d.op("destroyQueue(name string, removeConsumers bool, forceAutoDeleteAddress bool)", Void, Action, "Deletes a queue and, if asked for, its address when nothing is bound to it any more.", func(g *Registry, c *Call) (any, error) {
		q := g.b.Queue(c.text(0))
		if err := destroy(g, c.text(0), broker.DeleteQueueOptions{RemoveConsumers: c.bool(1), AutoDeleteAddress: c.bool(2)}); err != nil {
			return nil, err
		}
		if a := q.Address(); c.bool(2) && g.b.Address(a.Name()) == a && g.b.Info(a).AutoCreated {
			g.work(func(w *broker.Work) error { return g.b.DeleteAddress(w, a.Name(), false) }) // refused while something is bound
		}
		return nil, nil
	})
}

func (g *Registry) createQueue(j queueJSON, ignore bool) (q *broker.Queue, autoCreateAddress bool, err error) {
	cfg, auto, err := j.config(g.b)
	if err != nil {
		return nil, false, err
	}
	q, err = g.b.CreateQueue(cfg, broker.CreateOptions{AutoCreateAddress: auto, IgnoreExisting: ignore})
	return q, auto, err
}

// updateQueue changes a queue; nil when there is none of that name.
func (g *Registry) updateQueue(j queueJSON) (*broker.Queue, error) {
	u, err := j.update()
	if err != nil {
		return nil, err
	}
	name := j["name"]
	if _, n, ok := strings.Cut(name, "::"); ok {
		name = n
	}
	if g.b.Queue(name) == nil {
		return nil, nil
	}
	var q *broker.Queue
	err = g.work(func(w *broker.Work) (err error) {
		q, err = g.b.UpdateQueue(w, name, u)
		return err
	})
	return q, err
}

// defineDiverts are the operations on diverts.
func defineDiverts(d *definition[*Registry]) {
	d.op("createDivert(divertConfiguration string)", Void, Action, "Creates a divert from its configuration as JSON.", func(g *Registry, c *Call) (any, error) { return nil, g.createDivertJSON(c.text(0)) })
	create := func(signature string, props, routing int) {
		d.op("createDivert("+signature+")", Void, Action, "Creates a divert.", func(g *Registry, c *Call) (any, error) {
			cfg := broker.DivertConfig{Name: c.text(0), RoutingName: c.text(1), Address: c.text(2), ForwardAddress: c.text(3), Exclusive: c.bool(4), Filter: c.text(5),
				TransformerClass: c.text(6), RoutingType: broker.DivertStrip}
			if props > 0 {
				p, err := textMap(c.args[props])
				if err != nil {
					return nil, err
				}
				cfg.TransformerProps = p
			}
			if routing > 0 && !c.null(routing) {
				r, err := parseDivertRouting(c.text(routing))
				if err != nil {
					return nil, err
				}
				cfg.RoutingType = r
			}
			return nil, g.b.CreateDivert(cfg, true)
		})
	}
	const head = "name string, routingName string, address string, forwardingAddress string, exclusive bool, filterString string, transformerClassName string"
	create(head, 0, 0)
	create(head+", routingType string", 0, 7)
	create(head+", transformerProperties map, routingType string", 7, 8)
	create(head+", transformerPropertiesAsJSON string, routingType string", 7, 8)
	d.op("updateDivert(divertConfiguration string)", Void, Action, "Changes a divert.", func(g *Registry, c *Call) (any, error) { return nil, g.updateDivertJSON(c.text(0)) })
	d.op("updateDivert(name string, forwardingAddress string, filterString string, transformerClassName string, transformerProperties map, routingType string)", Void, Action, "Changes a divert.", func(g *Registry, c *Call) (any, error) {
		return nil, g.updateDivert(c.text(0), func(cfg *broker.DivertConfig) (err error) {
			cfg.ForwardAddress, cfg.Filter, cfg.TransformerClass = c.text(1), c.text(2), c.text(3)
			if cfg.TransformerProps, err = textMap(c.args[4]); err != nil || c.null(5) {
				return err
			}
			cfg.RoutingType, err = parseDivertRouting(c.text(5))
			return err
		})
	})
	d.op("destroyDivert(name string)", Void, Action, "Deletes a divert.", func(g *Registry, c *Call) (any, error) { return nil, g.b.DeleteDivert(c.text(0)) })
}

// textMap is a map of texts from a map or its JSON.
func textMap(v any) (map[string]string, error) {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]string{}
		for k, x := range v {
			out[k] = fmt.Sprint(x)
		}
		return out, nil
	case string:
		q, err := parseQueue(v)
		return q, err
	}
	return nil, nil
}

// defineConnections are the operations that close what clients have.
func defineConnections(d *definition[*Registry]) {
	closing := func(signature, desc string, match func(*Registry, *broker.Connection, string) bool) {
		d.op(signature, Bool, Info, desc, func(g *Registry, c *Call) (any, error) {
			closed := false
			for _, conn := range g.b.Connections() {
				if match(g, conn, c.text(0)) && conn.Close != nil {
					g.env.Log.Warn("connection closed by management", "connection", conn.ID, "remote", conn.Remote, "caller", c.Caller.String())
					conn.Close("AMQ229079: connection closed by management")
					closed = true
				}
			}
			return closed, nil
		})
	}
	closing("closeConnectionsForAddress(ipAddress string)", "Closes the connections of a host.", func(_ *Registry, c *broker.Connection, ip string) bool { return strings.HasPrefix(c.Remote, ip) })
	closing("closeConnectionsForUser(userName string)", "Closes the connections of a user.", func(_ *Registry, c *broker.Connection, user string) bool {
		return slices.ContainsFunc(c.Sessions(), func(s *broker.Session) bool { return s.Principal.User == user })
	})
	closing("closeConsumerConnectionsForAddress(address string)", "Closes the connections that consume from an address.", func(g *Registry, c *broker.Connection, address string) bool {
		return slices.ContainsFunc(c.Sessions(), func(s *broker.Session) bool {
			return slices.ContainsFunc(s.Consumers(), func(k *broker.Consumer) bool { return g.b.AddressMatches(address, k.Queue.Address().Name()) })
		})
	})
	closing("closeConnectionWithID(ID string)", "Closes a connection.", func(_ *Registry, c *broker.Connection, id string) bool { return c.ID == id })
	closeSession := func(g *Registry, conn, id string) (any, error) {
		s := g.b.Session(id)
		if s == nil || s.Conn().ID != conn || s.CloseRemotely == nil {
			return false, nil
		}
		s.CloseRemotely()
		return true, nil
	}
	d.op("closeSessionWithID(connectionID string, ID string)", Bool, Info, "Closes a session.", func(g *Registry, c *Call) (any, error) { return closeSession(g, c.text(0), c.text(1)) })
	d.op("closeSessionWithID(connectionID string, ID string, force bool)", Bool, Info, "Closes a session.", func(g *Registry, c *Call) (any, error) { return closeSession(g, c.text(0), c.text(1)) })
	d.op("closeConsumerWithID(sessionID string, ID string)", Bool, Info, "Closes a consumer.", func(g *Registry, c *Call) (any, error) {
		if s := g.b.Session(c.text(0)); s != nil {
			for _, k := range s.Consumers() {
				if ftoa(k.Sequence) == c.text(1) {
					g.b.Detach(k)
					return true, nil
				}
			}
		}
		return false, nil
	})
}
