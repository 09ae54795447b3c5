package config

import "fmt"

// legacyJMS takes the queues and topics of a <jms xmlns="urn:activemq:jms">
// section: a queue is an ANYCAST address with one queue, a topic a MULTICAST
// address.
func (d *decoder) legacyJMS(jms *node, c *Config) {
	for _, n := range jms.children {
		name, ok := n.attr("name")
		switch {
		case n.name == "jmx-domain" || n.name == "domain":
			continue
		case n.name != "queue" && n.name != "topic":
			d.structural(n.at, "jms/"+n.name, "there is no such element", "remove it; known are: queue, topic")
			continue
		case !ok:
			d.structural(n.at, "jms/"+n.name, "attribute name is missing", "add it")
			continue
		}
		if n.name == "topic" {
			c.Addresses = append(c.Addresses, Address{Name: name, RoutingTypes: []RoutingType{Multicast}})
			continue
		}
		q := Queue{Name: name, Address: name, RoutingType: Anycast}
		q.defaults()
		for _, p := range n.children {
			switch p.name {
			case "selector":
				q.Filter, _ = p.attr("string")
			case "durable":
				durable, err := parseBool(p.text)
				if err != nil {
					d.fail(p.at, "jms/queue "+name+"/durable", err.Error(), "write true or false")
				}
				q.Durable = durable
			default:
				d.structural(p.at, fmt.Sprintf("jms/queue %s/%s", name, p.name), "there is no such element", "remove it; known are: durable, selector")
			}
		}
		c.Addresses = append(c.Addresses, Address{Name: name, RoutingTypes: []RoutingType{Anycast}, Queues: []Queue{q}})
	}
}
