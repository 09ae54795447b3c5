package management

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/saranga-mq/saranga/broker/security"
)

// defineSecurity are the operations on settings and users.
func defineSecurity(d *definition[*Registry]) {
	d.op("getRoles(addressMatch string)", Objects, Info, "Permissions on an address, by role.", func(g *Registry, c *Call) (any, error) { return roleRows(g.roles(c.text(0))), nil })
	d.op("getRolesAsJSON(addressMatch string)", String, Info, "Permissions on an address, by role, as JSON.", func(g *Registry, c *Call) (any, error) { return JSON(roleObjects(g.roles(c.text(0)))), nil })
	const base = "addressMatch string, sendRoles string, consumeRoles string, createDurableQueueRoles string, deleteDurableQueueRoles string, createNonDurableQueueRoles string, deleteNonDurableQueueRoles string, manageRoles string"
	for _, more := range []string{"", ", browseRoles string", ", browseRoles string, createAddressRoles string, deleteAddressRoles string",
		", browseRoles string, createAddressRoles string, deleteAddressRoles string, viewRoles string, editRoles string"} {
		d.op("addSecuritySettings("+base+more+")", Void, Action, "Sets the permissions of a match, as lists of roles.", func(g *Registry, c *Call) (any, error) {
			var lists []string
			for i := 1; i < len(c.args); i++ {
				lists = append(lists, c.text(i))
			}
			return nil, g.addSecuritySettings(c.text(0), lists)
		})
	}
	d.op("addSecuritySettings(addressMatch string, securitySettingsAsJson string)", Void, Action, "Sets the permissions of a match, as JSON: an array of roles.", func(g *Registry, c *Call) (any, error) {
		lists, err := roleLists(c.text(1))
		if err != nil {
			return nil, err
		}
		return nil, g.addSecuritySettings(c.text(0), lists)
	})
	d.op("removeSecuritySettings(addressMatch string)", Void, Action, "Removes the permissions of a match.", func(g *Registry, c *Call) (any, error) { return nil, g.removeSecuritySettings(c.text(0)) })

	d.op("getAddressSettingsAsJSON(addressMatch string)", String, Info, "Settings of an address that were set somewhere, as JSON.", func(g *Registry, c *Call) (any, error) { return g.addressSettings(c.text(0)), nil })
	d.op("addAddressSettings(address string, addressSettingsAsJson string)", String, Action, "Sets the settings of a match, as JSON.", func(g *Registry, c *Call) (any, error) {
		return g.addAddressSettings(c.text(0), c.text(1))
	})
	for _, n := range oldSettingsCounts {
		keys := make([]string, n)
		params := []string{"addressMatch string"}
		for i, s := range oldSettings[:n] {
			nameType := strings.Fields(s)
			name, key, renamed := strings.Cut(nameType[0], ":")
			if !renamed {
				key = name
			}
			keys[i] = key
			params = append(params, name+" "+nameType[1])
		}
		d.op("addAddressSettings("+strings.Join(params, ", ")+")", Void, Action, "Sets the settings of a match.", func(g *Registry, c *Call) (any, error) {
			o := Object{}
			for i, k := range keys {
				if v := c.args[i+1]; v != nil && v != "" {
					o = append(o, Member{k, v})
				}
			}
			_, err := g.addAddressSettings(c.text(0), JSON(o))
			return nil, err
		})
	}
	d.op("removeAddressSettings(addressMatch string)", Void, Action, "Removes the settings of a match.", func(g *Registry, c *Call) (any, error) { return nil, g.removeAddressSettings(c.text(0)) })

	users := func(do func(security.Users, *Call) error) func(*Registry, *Call) (any, error) {
		return func(g *Registry, c *Call) (any, error) {
			if g.env.Users == nil {
				return nil, notAvailable("users")
			}
			if err := do(g.env.Users, c); err != nil {
				return nil, err
			}
			if g.env.Auth != nil {
				g.env.Auth.Clear()
			}
			return nil, nil
		}
	}
	// a password is hashed unless it is to be kept as it is
	password := func(text string, plaintext bool) (string, error) {
		if plaintext || text == "" {
			return text, nil
		}
		return security.HashPassword(text)
	}
	d.op("addUser(username string, password string, roles string, plaintext bool)", Void, Action, "Adds a user.", users(func(u security.Users, c *Call) error {
		p, err := password(c.text(1), c.bool(3))
		if err != nil {
			return err
		}
		return u.AddUser(c.text(0), p, splitList(c.text(2)))
	}))
	d.op("removeUser(username string)", Void, Action, "Removes a user.", users(func(u security.Users, c *Call) error { return u.RemoveUser(c.text(0)) }))
	d.op("resetUser(username string, password string, roles string)", Void, Action, "Changes a user's password and roles.", users(func(u security.Users, c *Call) error {
		p, err := password(c.text(1), true)
		if err != nil {
			return err
		}
		return u.ResetUser(c.text(0), p, splitList(c.text(2)))
	}))
	d.op("resetUser(username string, password string, roles string, plaintext bool)", Void, Action, "Changes a user's password and roles.", users(func(u security.Users, c *Call) error {
		p, err := password(c.text(1), c.bool(3))
		if err != nil {
			return err
		}
		return u.ResetUser(c.text(0), p, splitList(c.text(2)))
	}))
	d.op("listUser(username string)", String, Action, "A user with its roles, or all, as JSON.", func(g *Registry, c *Call) (any, error) {
		if g.env.Users == nil {
			return nil, notAvailable("users")
		}
		list, err := g.env.Users.ListUsers(c.text(0))
		if err != nil {
			return nil, err
		}
		out := []Object{}
		for _, u := range list {
			out = append(out, Object{{"username", u.Name}, {"roles", orNone(u.Roles)}})
		}
		return JSON(out), nil
	})
	d.op("clearAuthenticationCache()", Void, Action, "Forgets all logins.", func(g *Registry, _ *Call) (any, error) {
		if g.env.Auth != nil {
			g.env.Auth.Clear()
		}
		return nil, nil
	})
	d.op("clearAuthorizationCache()", Void, Action, "Forgets which permissions apply where.", func(g *Registry, _ *Call) (any, error) {
		if g.env.Access != nil {
			g.env.Access.Clear()
		}
		return nil, nil
	})
}

// roleLists reads permissions as JSON: an array of roles as getRolesAsJSON returns it.
func roleLists(text string) ([]string, error) {
	var roles []map[string]any
	if err := json.Unmarshal([]byte(text), &roles); err != nil {
		return nil, badJSON(text, err)
	}
	lists := make([]string, len(permissionOrder))
	for _, r := range roles {
		name, ok := r["name"].(string)
		if !ok {
			return nil, fmt.Errorf("a role without a name")
		}
		for i, p := range permissionOrder {
			if granted, _ := r[p.Type()].(bool); granted {
				if lists[i] != "" {
					lists[i] += ","
				}
				lists[i] += name
			}
		}
	}
	return lists, nil
}

// defineNode are the operations on the node as a whole.
func defineNode(d *definition[*Registry]) {
	plain := func(name, desc string, impact Impact, f func(Node) func() error) {
		d.op(name+"()", Void, impact, desc, func(g *Registry, _ *Call) (any, error) {
			if do := f(g.env.Node); do != nil {
				return nil, do()
			}
			return nil, notSupported(name)
		})
	}
	named := func(signature, desc string, impact Impact, f func(Node) func(string) error) {
		d.op(signature, Void, impact, desc, func(g *Registry, c *Call) (any, error) {
			if do := f(g.env.Node); do != nil {
				return nil, do(c.text(0))
			}
			return nil, notSupported(strings.SplitN(signature, "(", 2)[0])
		})
	}
	plain("reloadConfigurationFile", "Reads the configuration again.", Action, func(n Node) func() error { return n.ReloadConfiguration })
	plain("forceFailover", "Stops this broker so that its backup takes over.", Unknown, func(n Node) func() error { return n.ForceFailover })
	plain("exportConfigAsProperties", "Writes the configuration as properties.", Action, func(n Node) func() error { return n.ExportConfiguration })
	plain("restartEmbeddedWebServer", "Restarts the web server.", Action, func(n Node) func() error { return n.RestartWebServer })
	named("restartEmbeddedWebServer(timeout long)", "Restarts the web server.", Action, func(n Node) func(string) error {
		if n.RestartWebServer == nil {
			return nil
		}
		return func(string) error { return n.RestartWebServer() }
	})
	plain("startEmbeddedWebServer", "Starts the web server.", Action, func(Node) func() error { return nil })
	plain("stopEmbeddedWebServer", "Stops the web server.", Action, func(Node) func() error { return nil })
	d.op("freezeReplication()", Bool, Action, "Stops replication.", func(g *Registry, _ *Call) (any, error) {
		if g.env.Node.FreezeReplication == nil {
			return false, nil
		}
		err := g.env.Node.FreezeReplication()
		return err == nil, err
	})
	named("scaleDown(name string)", "Sends all messages to another broker and stops.", Unknown, func(n Node) func(string) error { return n.ScaleDown })
	d.op("addConnector(name string, url string)", Void, Action, "Adds a connector.", func(g *Registry, c *Call) (any, error) {
		if g.env.Node.AddConnector == nil {
			return nil, notSupported("addConnector")
		}
		return nil, g.env.Node.AddConnector(c.text(0), c.text(1))
	})
	named("removeConnector(name string)", "Removes a connector.", Action, func(n Node) func(string) error { return n.RemoveConnector })
	named("createBridge(bridgeConfiguration string)", "Creates a bridge from its configuration as JSON.", Action, func(n Node) func(string) error {
		return func(text string) error {
			var any map[string]any
			if err := json.Unmarshal([]byte(text), &any); err != nil {
				return badJSON(text, err)
			}
			if n.CreateBridge == nil {
				return notSupported("createBridge")
			}
			return n.CreateBridge(text)
		}
	})
	named("destroyBridge(name string)", "Deletes a bridge.", Action, func(n Node) func(string) error { return n.DestroyBridge })
	for _, s := range []string{"createConnectorService(name string, factoryClass string, parameters map)", "destroyConnectorService(name string)", "startBrokerConnection(name string)",
		"stopBrokerConnection(name string)", "replay(address string, target string, filter string)", "replay(startScanDate string, endScanDate string, address string, target string, filter string)"} {
		d.op(s, Void, Action, "Not supported by this broker yet.", func(*Registry, *Call) (any, error) { return nil, notSupported(strings.SplitN(s, "(", 2)[0]) })
	}
	d.op("rebuildPageCounters()", Void, Action, "Counts paged messages again.", func(*Registry, *Call) (any, error) { return nil, nil })

	d.op("enableMessageCounters()", Void, Action, "Begins to sample message counters.", func(g *Registry, _ *Call) (any, error) { g.counters.enable(true); return nil, nil })
	d.op("disableMessageCounters()", Void, Action, "Ends that.", func(g *Registry, _ *Call) (any, error) { g.counters.enable(false); return nil, nil })
	d.op("resetAllMessageCounters()", Void, Action, "Starts all message counters over.", func(g *Registry, _ *Call) (any, error) { g.counters.resetAll(); return nil, nil })
	d.op("resetAllMessageCounterHistories()", Void, Action, "Forgets the history of all message counters.", func(g *Registry, _ *Call) (any, error) { g.counters.forget(); return nil, nil })
}

func notSupported(name string) error {
	return fmt.Errorf("%s is not supported by this broker as it is configured", name)
}
