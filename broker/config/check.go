package config

import (
	"fmt"
	"strings"
)

// unite merges what was written more than once: the last acceptor, connector,
// security setting or address setting of a name wins, addresses of one name are
// joined.
func (d *decoder) unite(c *Config) {
	c.Acceptors = lastWins(d, c.Acceptors, "acceptors/acceptor", func(t Transport) string { return t.Name })
	c.Connectors = lastWins(d, c.Connectors, "connectors/connector", func(t Transport) string { return t.Name })
	c.SecuritySettings = lastWins(d, c.SecuritySettings, "security-settings/security-setting", func(s SecuritySetting) string { return s.Match })
	c.AddressSettings = lastWins(d, c.AddressSettings, "address-settings/address-setting", func(s AddressSetting) string { return s.Match })
	for _, old := range c.OldQueues {
		q := old.Queue
		q.Address, q.RoutingType = orElse(old.On, q.Name), Multicast
		c.Addresses = append(c.Addresses, Address{Name: q.Address, RoutingTypes: []RoutingType{Multicast}, Queues: []Queue{q}})
	}
	c.OldQueues = nil
	c.Addresses = joinAddresses(c.Addresses)
	mapRoles(c.SecuritySettings, c.RoleMappings)
}

func lastWins[T any](d *decoder, list []T, path string, key func(T) string) []T {
	last := map[string]int{}
	for i, x := range list {
		if name := key(x); name != "" {
			if _, twice := last[name]; twice {
				d.warn(Odd, d.seen[path], path, fmt.Sprintf("%q is there twice, the last one counts", name), "keep one of them")
			}
			last[name] = i
		}
	}
	var out []T
	for i, x := range list {
		if name := key(x); name == "" || last[name] == i {
			out = append(out, x)
		}
	}
	return out
}

func joinAddresses(list []Address) []Address {
	index := map[string]int{}
	var out []Address
	for _, a := range list {
		i, ok := index[a.Name]
		if !ok {
			index[a.Name] = len(out)
			out = append(out, a)
			continue
		}
		for _, t := range a.RoutingTypes {
			if !hasRoutingType(out[i].RoutingTypes, t) {
				out[i].RoutingTypes = append(out[i].RoutingTypes, t)
			}
		}
		out[i].Queues = append(out[i].Queues, a.Queues...)
	}
	return out
}

func hasRoutingType(list []RoutingType, t RoutingType) bool {
	for _, x := range list {
		if x == t {
			return true
		}
	}
	return false
}

// mapRoles lets an external role have what the roles it is mapped to have.
func mapRoles(settings []SecuritySetting, mappings []RoleMapping) {
	for _, s := range settings {
		for p, roles := range s.Roles {
			for _, m := range mappings {
				for _, to := range m.To {
					if contains(roles, to) {
						roles = appendNew(roles, m.From)
					}
				}
			}
			s.Roles[p] = roles
		}
	}
}

// crossCheck looks at what concerns several elements.
func (d *decoder) crossCheck(c *Config, tool bool) {
	deployed := false
	for _, cc := range c.ClusterConnections {
		if cc.URI == "" && c.Connector(cc.ConnectorRef) == nil {
			d.warn(Odd, d.seen["cluster-connections/cluster-connection"], "cluster-connection "+cc.Name,
				"AMQ222217: there is no connector "+cc.ConnectorRef+", the cluster connection is not deployed", "define the connector, or name another one in connector-ref")
			continue
		}
		deployed = true
	}
	if (deployed || len(c.ClusterURIs) > 0) && c.ClusterPassword == DefaultClusterPassword && c.SecurityEnabled && !tool {
		at, ok := d.seen["cluster-password"]
		if !ok {
			at = d.seen["cluster-connections"]
		}
		d.fail(at, "cluster-password", "the default password is in use with a cluster connection", "set cluster-password to a secret that all nodes share")
	}
	for _, t := range c.Acceptors {
		if router := t.URL.Text("router", ""); router != "" && !tool {
			d.fail(d.seen["acceptors/acceptor"], "acceptor "+t.Name, "parameter router="+router+": connection routers are not supported by this broker", "remove the parameter")
		}
	}
	if !tool {
		for _, s := range c.AddressSettings {
			if s.AddressFullPolicy != nil && *s.AddressFullPolicy == FullPage {
				path := "address-settings/address-setting/address-full-policy"
				d.warn(Odd, d.seen[path], path, "PAGE acts as BLOCK: senders wait while an address is full", "choose BLOCK, DROP or FAIL to say so in the file")
				break
			}
		}
	}
	for _, b := range c.Bridges {
		if b.ForwardingAddress == "" {
			d.warn(Odd, d.seen["bridges/bridge"], "bridge "+b.Name, "AMQ222123: there is no forwarding-address, messages keep their address", "")
		}
	}
	if markers := c.LiteralMatchMarkers; markers != "" && strings.ContainsAny(markers, c.Wildcards.Delimiter+c.Wildcards.AnyWords+c.Wildcards.SingleWord) {
		d.warn(Odd, d.seen["literal-match-markers"], "literal-match-markers", "a marker is also a wildcard character", "choose other characters")
	}
}
